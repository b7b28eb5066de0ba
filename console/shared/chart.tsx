/**
 * A chart of stacked columns as SVG, with a legend, and on request with a table of the same
 * figures.
 */

// @ts-types="@types/d3-scale"
import { scaleBand, scaleLinear } from "d3-scale";
// @ts-types="@types/d3-shape"
import { stack } from "d3-shape";
import type { FC } from "hono/jsx";
import { Table } from "./elements.tsx";
import { compactRupiah, rupiah } from "./format.ts";
import type { SignedInView } from "./session.ts";

export interface Series {
  name: string;
  /** Whole rupiah, one for each column. */
  values: bigint[];
}

/** The stylesheet has this many colours. */
export const MAX_SERIES = 6;

/** In pixels. Widths are percentages, so that the texts have the same size on all screens. */
const HEIGHT = 220;
const TOP = 10;
const LABELS = 26;

const TICKS = 4;

/** More columns would be thinner than a pixel on a telephone, and the page too large. */
export const MAX_COLUMNS = 62;

/** Columns between two labels, counted from the last column: a week, if there is room for that. */
function labelStep(columns: number): number {
  return columns > 31 ? Math.ceil(columns / 5) : 7;
}

interface ChartProps {
  view: SignedInView;
  /** Unique on the page. */
  id: string;
  title: string;
  /** What a column is, such as "Day", in the table; absent: the page has a table of its own. */
  columnName?: string;
  /** The label of each column. */
  columns: string[];
  /** At most `MAX_SERIES`, the lowest in the stack first. */
  series: Series[];
}

export const StackedChart: FC<ChartProps> = (props) => {
  const { view, id, title, columnName, columns, series } = props;
  const rows = columns.map((_, index) => series.map(({ values }) => Number(values[index])));
  const highest = Math.max(...rows.map((row) => row.reduce((sum, value) => sum + value, 0)));
  const x = scaleBand<number>().domain(columns.keys()).range([0, 100]).padding(0.25);
  const y = scaleLinear().domain([0, highest || 1]).nice(TICKS).range([HEIGHT, TOP]);
  const ticks = y.ticks(TICKS);
  const layers = stack<unknown, number[], number>().keys(series.keys())
    .value((row, key) => row[key]!)(rows);
  return (
    <>
      <ul class="legend">
        {series.map(({ name }, index) => (
          <li>
            <svg class={`series-${index + 1}`} width="12" height="12" aria-hidden="true">
              <rect width="12" height="12" rx="3" />
            </svg>
            {name}
          </li>
        ))}
      </ul>
      <div class="chart">
        <svg class="axis" width="72" height={HEIGHT + LABELS} aria-hidden="true">
          {ticks.map((tick) => (
            <text x="64" y={y(tick) + 4} text-anchor="end">
              {compactRupiah(tick, view.words.locale)}
            </text>
          ))}
        </svg>
        <svg class="plot" width="100%" height={HEIGHT + LABELS} role="img" aria-labelledby={id}>
          <title id={id}>{title}</title>
          {ticks.map((tick) => <line x1="0" x2="100%" y1={y(tick)} y2={y(tick)} />)}
          {columns.map((column, index) => (
            <g>
              <title>{`${column}: ${rupiah(`${totalOf(series, index)}`)}`}</title>
              {layers.map((layer) => {
                const [from, to] = layer[index]!;
                return to > from && (
                  <rect
                    class={`series-${layer.key + 1}`}
                    x={percent(x(index)!)}
                    width={percent(x.bandwidth())}
                    y={round(y(to))}
                    height={round(y(from) - y(to))}
                  />
                );
              })}
              {(columns.length - 1 - index) % labelStep(columns.length) === 0 && (
                <text
                  x={percent(x(index)! + x.bandwidth() / 2)}
                  y={HEIGHT + 20}
                  text-anchor="middle"
                >
                  {column}
                </text>
              )}
            </g>
          ))}
        </svg>
      </div>
      {columnName !== undefined && <ChartTable {...props} columnName={columnName} />}
    </>
  );
};

const ChartTable: FC<ChartProps & { columnName: string }> = (
  { view, id, title, columnName, columns, series },
) => {
  const { showTable, total } = view.words;
  const titles = [columnName, ...series.map(({ name }) => name), total];
  return (
    <details id={`${id}-table`} class="folded">
      <summary>{showTable}</summary>
      <Table label={title} columns={titles} amounts={[...titles.keys()].slice(1)}>
        {columns.map((column, index) => (
          <tr>
            <th scope="row">{column}</th>
            {series.map(({ values }) => <td class="amount">{rupiah(`${values[index]}`)}</td>)}
            <td class="amount">{rupiah(`${totalOf(series, index)}`)}</td>
          </tr>
        )).reverse()}
      </Table>
    </details>
  );
};

function totalOf(series: Series[], column: number): bigint {
  return series.reduce((sum, { values }) => sum + values[column]!, 0n);
}

function percent(value: number): string {
  return `${round(value)}%`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
