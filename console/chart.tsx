/** Charts as SVG. Their labels are HTML, so that they stay readable on narrow screens. */

// @ts-types="@types/d3-path"
import { pathRound } from "d3-path";
// @ts-types="@types/d3-scale"
import { scaleBand, scaleLinear } from "d3-scale";
// @ts-types="@types/d3-shape"
import { type Series as Layer, stack } from "d3-shape";
import type { FC } from "hono/jsx";

export interface Series {
  name: string;
  /** One for each label; not negative. */
  values: number[];
}

interface ChartProps {
  /** What the bars show; for screen readers. */
  title: string;
  /** The names of the bars. */
  labels: string[];
  /** From bottom to top; at most `MAX_SERIES`. */
  series: Series[];
  format(value: number): string;
}

/** The stylesheet has a colour for each. */
export const MAX_SERIES = 6;

/** More bars would be thinner than a pixel on a telephone, and the page too large. */
export const MAX_BARS = 200;

/** Up to this number, pointing at a bar shows its values. */
const MAX_TOOLTIPS = 62;

/** Units of the drawing, which is stretched to the width of the page. */
const WIDTH = 1_000;
const HEIGHT = 220;

const TICKS = 4;

export const StackedBars: FC<ChartProps> = ({ title, labels, series, format }) => {
  const bars = labels.map((_, index) => index);
  const layers = stack<number, number>().keys(series.map((_, index) => index))
    .value((bar, key) => series[key]!.values[bar]!)(bars);
  const x = scaleBand<number>().domain(bars).range([0, WIDTH]).padding(0.25);
  const highest = Math.max(1, ...layers.flatMap((layer) => layer.map(([, top]) => top)));
  const y = scaleLinear().domain([0, highest]).nice(TICKS).range([HEIGHT, 0]);
  const ticks = y.ticks(TICKS);
  return (
    <figure class="bars">
      <ul class="y-axis" aria-hidden="true">
        {ticks.toReversed().map((tick) => <li>{format(tick)}</li>)}
      </ul>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={title}
      >
        {ticks.map((tick) => <line x1="0" x2={WIDTH} y1={y(tick)} y2={y(tick)} />)}
        {layers.map((layer, key) => <path class={`series-${key + 1}`} d={drawLayer(layer)} />)}
        {bars.length <= MAX_TOOLTIPS &&
          bars.map((bar) => (
            <rect x={round(x(bar)!)} y="0" width={round(x.bandwidth())} height={HEIGHT}>
              <title>{tooltip(bar)}</title>
            </rect>
          ))}
      </svg>
      <ul class="x-axis" aria-hidden="true">
        {[...new Set([labels[0], labels[labels.length >> 1], labels.at(-1)])]
          .map((label) => <li>{label}</li>)}
      </ul>
      <figcaption>
        <ul class="legend">
          {series.map(({ name }, key) => (
            <li>
              <span class={`swatch series-${key + 1}`}></span>
              {name}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );

  /** All bars of a series as one path. */
  function drawLayer(layer: Layer<number, number>): string {
    const shape = pathRound(1);
    for (const [bar, [bottom, top]] of layer.entries()) {
      if (top > bottom) shape.rect(x(bar)!, y(top), x.bandwidth(), y(bottom) - y(top));
    }
    return shape.toString();
  }

  function tooltip(bar: number): string {
    const values = series.filter(({ values }) => values[bar]! > 0)
      .map(({ name, values }) => `${name}: ${format(values[bar]!)}`);
    return [labels[bar], ...values.reverse()].join("\n");
  }
};

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
