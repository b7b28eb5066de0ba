/** `/console/reports/`: totals of payments by time and group, with a chart and a CSV file. */

import type { FC } from "hono/jsx";
import { ServiceError } from "../../core/errors.ts";
import { formatCents, minusFees } from "../../core/money.ts";
import { writeCsv } from "../../core/reports/csv.ts";
import {
  readPaymentStats,
  STATS_GROUPS,
  STATS_INTERVALS,
  type StatsInput,
  type StatsView,
} from "../../core/reports/stats.ts";
import { recordError } from "../../http/problems/render.ts";
import type { ConsoleBase, ConsoleContext } from "../shared/base.tsx";
import { MAX_COLUMNS, MAX_SERIES, StackedChart } from "../shared/chart.tsx";
import { ExportMenu, sendCsv, sendExcel } from "../shared/downloads.tsx";
import { Card, Table, Time } from "../shared/elements.tsx";
import { explain, type FieldLabels } from "../shared/explain.ts";
import { Choice } from "../shared/fields.tsx";
import { bankName, methodName, paymentStatusName, rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import { choose } from "../shared/list_page.tsx";
import { QuickRanges } from "../shared/quick_ranges.tsx";
import type { SignedInView, View } from "../shared/session.ts";
import { addUp, csvRows, startCell, startsOf, type Totals, totalsByGroup } from "./totals.ts";

const PATH = "/reports/";

/** The time zones of Indonesia, and UTC. */
const ZONES = {
  "Asia/Jakarta": "WIB",
  "Asia/Makassar": "WITA",
  "Asia/Jayapura": "WIT",
  UTC: "UTC",
};

function zoneName(zone: string): string {
  return ZONES[zone as keyof typeof ZONES];
}

const GROUPS = [...STATS_GROUPS, "none"] as const;

const DEFAULT_DAYS = 30;

/** Rows of a page of the table, and groups that the page shows; the CSV file has all. */
const PAGE_ROWS = 40;
const MAX_GROUPS = 20;

export function addReports({ service, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const query = readReportQuery(c, service.clock());
    try {
      const stats = await readPaymentStats(service, view.session.caller, toInput(query));
      const interval = chartInterval(stats);
      const chart = interval === query.interval || interval === null
        ? stats
        : await readPaymentStats(service, view.session.caller, { ...toInput(query), interval });
      return page(c, <ReportsPage {...{ view, query, stats, chart }} error={null} />);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError) || thrown.code !== "validation_error") throw thrown;
      const error = explain(view, recordError(thrown, c.env), labelsOf(view));
      return page(c, <ReportsPage {...{ view, query, error }} stats={null} chart={null} />, 400);
    }
  });

  router.get(`${PATH}totals.csv/`, async (c) => {
    const { session } = await signedIn(c);
    const query = readReportQuery(c, service.clock());
    const stats = await readPaymentStats(service, session.caller, toInput(query));
    return sendCsv(c, fileName(query), writeCsv(csvRows(stats)));
  });

  router.get(`${PATH}totals.xlsx/`, async (c) => {
    const view = await signedIn(c);
    const query = readReportQuery(c, service.clock());
    const stats = await readPaymentStats(service, view.session.caller, toInput(query));
    return sendExcel(c, fileName(query), excelTable(view, query, stats));
  });
}

function fileName({ from, to }: ReportQuery): string {
  return `totals_${from}_${to}`;
}

/** The table of the page, with all rows, oldest first. */
function excelTable(view: View, query: ReportQuery, stats: StatsView) {
  const words = view.words.reportsPage;
  const isGrouped = query.group !== "none";
  const zone = zoneName(stats.time_zone);
  return {
    title: words.title,
    columns: [
      `${words.begin} (${zone})`,
      ...isGrouped ? [words.groups[query.group]] : [],
      ...[words.payments, words.paid, `${words.successRate} (%)`],
      ...[words.gross, words.refunded, words.chargedBack, words.net, words.fees, words.payout],
    ],
    rows: stats.rows.map((row) => {
      const { count, paid, gross, refunded, chargedBack, net, feeCents } = addUp([row]);
      const successRate = count === 0 ? null : Math.round(paid / count * 1000) / 10;
      return [
        startCell(stats, row.start),
        ...isGrouped ? [groupName(view, query, row)] : [],
        ...[count, paid, successRate, gross, refunded, chargedBack, net],
        ...[feeCents / 100, Number(minusFees(net, feeCents))],
      ];
    }),
  };
}

function labelsOf({ words }: View): FieldLabels {
  const { interval, groupBy, zone } = words.reportsPage;
  return { from: words.from, to: words.to, interval, group_by: groupBy, time_zone: zone };
}

/** The values of the form, as in the page's URL. */
interface ReportQuery {
  /** Days of the time zone, such as `2026-11-16`; both are included. */
  from: string;
  to: string;
  interval: (typeof STATS_INTERVALS)[number];
  group: (typeof GROUPS)[number];
  zone: string;
  /** The page of the table, from 1. */
  page: number;
}

function readReportQuery(c: ConsoleContext, now: number): ReportQuery {
  const zone = choose(Object.keys(ZONES), c.req.query("zone")) ?? "Asia/Jakarta";
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate();
  return {
    from: c.req.query("from") || today.subtract({ days: DEFAULT_DAYS - 1 }).toString(),
    to: c.req.query("to") || today.toString(),
    interval: choose(STATS_INTERVALS, c.req.query("interval")) ?? "day",
    group: choose(GROUPS, c.req.query("group")) ?? "payment_type",
    zone,
    page: Math.max(1, parseInt(c.req.query("page") ?? "") || 1),
  };
}

/** The chosen interval, or the next longer one that fits into the chart; null: none fits. */
function chartInterval(stats: StatsView): StatsView["interval"] | null {
  return STATS_INTERVALS.slice(STATS_INTERVALS.indexOf(stats.interval))
    .find((interval) => startsOf({ ...stats, interval }).length <= MAX_COLUMNS) ?? null;
}

/** The core excludes `to`, so `to` becomes the next day. The core refuses an invalid day. */
function toInput({ from, to, interval, group, zone }: ReportQuery): StatsInput {
  const group_by = group === "none" ? [] : [group];
  return { from, to: dayAfter(to), interval, time_zone: zone, group_by };
}

function dayAfter(day: string): string {
  try {
    return Temporal.PlainDate.from(day).add({ days: 1 }).toString();
  } catch {
    return day;
  }
}

function reportSearch(
  { page: _, ...query }: ReportQuery,
  more: Record<string, string> = {},
): string {
  return `?${new URLSearchParams({ ...query, ...more })}`;
}

interface ReportProps {
  view: SignedInView;
  query: ReportQuery;
  stats: StatsView;
}

type PageProps = Omit<ReportProps, "stats"> & {
  stats: StatsView | null;
  /** The figures of the chart, whose intervals may be longer. */
  chart: StatsView | null;
  error: string | null;
};

const ReportsPage: FC<PageProps> = ({ view, query, stats, chart, error }) => {
  const words = view.words.reportsPage;
  const files = (extension: string) =>
    `${view.root}${PATH}totals.${extension}${reportSearch(query)}`;
  const zone = zoneName(query.zone);
  return (
    <Frame view={view} title={words.title} path={PATH}>
      <h1>{words.title}</h1>
      {stats && <p class="subtitle print-only">{periodText(view, stats)}</p>}
      <ReportForm view={view} query={query} />
      {error && <p role="alert" class="error">{error}</p>}
      {stats?.rows.length === 0 && <p class="empty">{words.empty}</p>}
      {stats && stats.rows.length > 0 && (
        <>
          <Tiles view={view} totals={addUp(stats.rows)} />
          <GrossChart {...{ view, query }} stats={chart!} />
          {query.group !== "none" && <GroupTable {...{ view, query, stats }} />}
          <div class="heading">
            <h2>{words.byInterval[query.interval]}</h2>
            <ExportMenu
              view={view}
              excel={files("xlsx")}
              csv={files("csv")}
              zones={{ excel: zone, csv: zone }}
            />
          </div>
          <div class="dense">
            <DetailTable {...{ view, query, stats }} />
          </div>
        </>
      )}
      {stats && (
        <p class="help">
          {words.asOf} <Time view={view} at={stats.as_of} />. {words.explanation}
        </p>
      )}
    </Frame>
  );
};

const ReportForm: FC<Omit<ReportProps, "stats">> = ({ view, query }) => {
  const { root, words } = view;
  const { intervals, groups, interval, groupBy, zone } = words.reportsPage;
  return (
    <>
      <form class="filters" action={root + PATH}>
        <div>
          <label for="from">{words.from}</label>
          <input id="from" name="from" type="date" value={query.from} required />
        </div>
        <div>
          <label for="to">{words.to}</label>
          <input id="to" name="to" type="date" value={query.to} required />
        </div>
        <Choice name="interval" label={interval} value={query.interval} options={intervals} />
        <Choice name="group" label={groupBy} value={query.group} options={groups} />
        <Choice name="zone" label={zone} value={query.zone} options={ZONES} />
        <button type="submit" class="primary">{words.reportsPage.show}</button>
        <a href={root + PATH}>{words.reset}</a>
      </form>
      <QuickRanges
        view={view}
        days={query}
        linkTo={(days) => root + PATH + reportSearch({ ...query, ...days })}
      />
    </>
  );
};

const Tiles: FC<{ view: View; totals: Totals }> = ({ view, totals }) => {
  const words = view.words.reportsPage;
  const tiles = {
    [words.gross]: money(totals.gross),
    [words.refunded]: money(totals.refunded),
    [words.chargedBack]: money(totals.chargedBack),
    [words.net]: money(totals.net),
    ...totals.feeCents !== 0 && {
      [words.fees]: rupiah(formatCents(totals.feeCents)),
      [words.payout]: rupiah(minusFees(totals.net, totals.feeCents)),
    },
    [words.payments]: totals.count.toLocaleString(view.words.locale),
    [words.successRate]: rate(view, totals),
  };
  return (
    <ul class="tiles">
      {Object.entries(tiles).map(([name, value]) => (
        <li>
          <span>{name}</span>
          <strong>{value}</strong>
        </li>
      ))}
    </ul>
  );
};

const GrossChart: FC<ReportProps> = ({ view, query, stats }) => {
  const words = view.words.reportsPage;
  const starts = startsOf(stats);
  if (starts.length > MAX_COLUMNS) return <p class="help">{words.noChart}</p>;
  const nameOf = (row: StatsView["rows"][number]) => groupName(view, query, row);
  const names = totalsByGroup(stats.rows, nameOf).map(({ name }) => name);
  const shown = names.length > MAX_SERIES ? names.slice(0, MAX_SERIES - 1) : names;
  const byColumn = Map.groupBy(
    stats.rows,
    (row) => `${row.start} ${shown.includes(nameOf(row)) ? nameOf(row) : words.other}`,
  );
  const series = [...shown, ...shown.length < names.length ? [words.other] : []]
    .map((name) => ({
      name,
      values: starts.map((start) => BigInt(addUp(byColumn.get(`${start} ${name}`) ?? []).gross)),
    }));
  const title = `${words.gross}, ${words.byInterval[stats.interval].toLowerCase()}`;
  return (
    <Card id="amounts" title={title}>
      <StackedChart
        view={view}
        id="chart"
        title={title}
        columns={starts.map((start) => startText(view, stats, start, false))}
        series={series}
      />
    </Card>
  );
};

const GroupTable: FC<ReportProps> = ({ view, query, stats }) => {
  const words = view.words.reportsPage;
  const groups = totalsByGroup(stats.rows, (row) => groupName(view, query, row));
  return (
    <section class="dense" aria-labelledby="groups">
      <h2 id="groups">{words.totals}</h2>
      <Table
        label={words.totals}
        class="cards"
        columns={[words.groups[query.group], ...figureNames(view)]}
        amounts={figureColumns(1)}
      >
        {groups.slice(0, MAX_GROUPS).map(({ name, totals }) => (
          <tr>
            <td>{name}</td>
            <Figures view={view} totals={totals} />
          </tr>
        ))}
      </Table>
      {groups.length > MAX_GROUPS && <p class="help">{words.moreGroups}</p>}
    </section>
  );
};

/** Newest first. */
const DetailTable: FC<ReportProps> = ({ view, query, stats }) => {
  const words = view.words.reportsPage;
  const isGrouped = query.group !== "none";
  const end = query.page * PAGE_ROWS;
  const rows = stats.rows.toReversed().slice(end - PAGE_ROWS, end);
  return (
    <>
      <Table
        label={words.byInterval[query.interval]}
        class="cards"
        columns={[
          words.begin,
          ...isGrouped ? [words.groups[query.group]] : [],
          ...figureNames(view),
        ]}
        amounts={figureColumns(isGrouped ? 2 : 1)}
      >
        {rows.map((row) => (
          <tr>
            <td>{startText(view, stats, row.start, true)}</td>
            {isGrouped && <td>{groupName(view, query, row)}</td>}
            <Figures view={view} totals={addUp([row])} />
          </tr>
        ))}
      </Table>
      {end < stats.rows.length && (
        <a class="next" href={reportSearch(query, { page: `${query.page + 1}` })}>
          {view.words.nextPage}
        </a>
      )}
    </>
  );
};

function figureNames({ words }: View): string[] {
  const { payments, paid, successRate, gross, refunded, chargedBack, net } = words.reportsPage;
  const { fees, payout } = words.reportsPage;
  return [payments, paid, successRate, gross, refunded, chargedBack, net, fees, payout];
}

/** The indexes of the nine columns of figures; the first of them is `first`. */
function figureColumns(first: number): number[] {
  return Array.from({ length: 9 }, (_, index) => first + index);
}

const Figures: FC<{ view: View; totals: Totals }> = ({ view, totals }) => {
  const { locale } = view.words;
  const cells = [
    totals.count.toLocaleString(locale),
    totals.paid.toLocaleString(locale),
    rate(view, totals),
    ...[totals.gross, totals.refunded, totals.chargedBack, totals.net].map(money),
    rupiah(formatCents(totals.feeCents)),
    rupiah(minusFees(totals.net, totals.feeCents)),
  ];
  return <>{cells.map((cell) => <td class="amount">{cell}</td>)}</>;
};

function money(amount: number): string {
  return rupiah(String(amount));
}

function rate({ words }: View, { count, paid }: Totals): string {
  if (count === 0) return "–";
  return (paid / count).toLocaleString(words.locale, {
    style: "percent",
    maximumFractionDigits: 1,
  });
}

function groupName({ words }: View, { group }: ReportQuery, row: StatsView["rows"][number]) {
  switch (group) {
    case "none":
      return words.reportsPage.gross;
    case "payment_type":
      return methodName(words, row.payment_type!);
    case "bank":
      return row.bank ? bankName(row.bank) : words.reportsPage.noBank;
    case "transaction_status":
      return paymentStatusName(words, row.transaction_status!);
    case "user_id":
      return row.user_id ?? words.reportsPage.noUser;
  }
}

/** The first and the last day, for the printed report, which does not show the form. */
function periodText(view: View, stats: StatsView): string {
  const last = new Date(Date.parse(stats.to) - 1).toISOString();
  const [from, to] = [stats.from, last].map((at) =>
    startText(view, { ...stats, interval: "day" }, at, true)
  );
  return `${from} – ${to} (${zoneName(stats.time_zone)})`;
}

/** When an interval begins, in the time zone of the report. */
function startText(
  { words }: View,
  { interval, time_zone: timeZone }: StatsView,
  start: string,
  hasYear: boolean,
): string {
  const year = hasYear || interval === "month" ? { year: "numeric" } as const : {};
  const options: Intl.DateTimeFormatOptions = {
    month: "short",
    ...year,
    ...interval !== "month" && { day: "numeric" },
    ...interval === "hour" && { hour: "2-digit", minute: "2-digit" },
  };
  return new Date(start).toLocaleString(words.locale, { ...options, timeZone });
}
