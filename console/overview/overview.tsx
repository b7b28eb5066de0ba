/** `/console/`: the figures of today, what needs attention, and the newest payments. */

import type { FC } from "hono/jsx";
import type { Caller } from "../../core/auth/caller.ts";
import { listPayments } from "../../core/payments/read.ts";
import type { PaymentSummary } from "../../core/payments/views.ts";
import { readStatsTime } from "../../core/reports/stats.ts";
import { type Attention, MAX_ATTENTION, readAttention } from "../../core/status/attention.ts";
import { listAttention } from "./attention.ts";
import type { ConsoleBase, ConsoleService } from "../shared/base.tsx";
import { StackedChart } from "../shared/chart.tsx";
import { Card } from "../shared/elements.tsx";
import { jakartaTime, methodName, rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import {
  type Comparison,
  type DayFigures,
  readComparison,
  readVolumes,
  type Volumes,
  ZONE,
} from "./figures.ts";
import { DEFAULT_COLUMNS } from "../payments/query.ts";
import { PaymentTable } from "../payments/table.tsx";
import type { SignedInView } from "../shared/session.ts";

const NEWEST = 10;

const HOUR_MS = 3_600_000;

export function addOverview({ service, router, signedIn, page }: ConsoleBase): void {
  const readStats = cacheStats(service);

  router.get("/", async (c) => {
    const view = await signedIn(c);
    const { caller } = view.session;
    const stats = await readStats(caller);
    const attention = await readAttention(service, caller);
    const { payments } = await listPayments(service, caller, { limit: NEWEST, after: null });
    return page(c, <OverviewPage {...{ view, stats, attention, payments }} />);
  });
}

interface Stats {
  comparison: Comparison;
  volumes: Volumes;
}

/**
 * Adding up 30 days takes most of the time of the page. So the sums are computed again only after
 * an update of the statistics (once a minute), or when a new hour begins. All staff and viewers
 * see the same figures.
 */
function cacheStats(service: ConsoleService): (caller: Caller) => Promise<Stats | null> {
  let known: { key: string; stats: Promise<Stats> } | null = null;

  async function read(caller: Caller): Promise<Stats> {
    const comparison = await readComparison(service, caller);
    return { comparison, volumes: await readVolumes(service, caller) };
  }

  /** Null while the service counts all payments, at first or after a reset. */
  return async (caller) => {
    const asOf = await readStatsTime(service, caller);
    if (asOf === null) return null;
    const key = `${asOf.toISOString()} ${Math.floor(service.clock() / HOUR_MS)}`;
    if (known?.key !== key) {
      const reading = { key, stats: read(caller) };
      known = reading;
      // A failed reading is not kept.
      reading.stats.catch(() => known = known === reading ? null : known);
    }
    return await known.stats;
  };
}

interface OverviewProps {
  view: SignedInView;
  stats: Stats | null;
  attention: Attention;
  payments: PaymentSummary[];
}

const OverviewPage: FC<OverviewProps> = ({ view, stats, attention, payments }) => {
  const { root, words } = view;
  const { title, computing, newest, allPayments } = words.overviewPage;
  return (
    <Frame view={view} title={title} path="/" live="*">
      <h1>{title}</h1>
      {stats
        ? <Today view={view} comparison={stats.comparison} />
        : <p class="card">{computing}</p>}
      <div class="columns">
        <div>{stats && <VolumeChart view={view} volumes={stats.volumes} />}</div>
        <div>
          <NeedsAttention view={view} attention={attention} />
        </div>
      </div>
      <section aria-labelledby="newest">
        <div class="heading">
          <h2 id="newest">{newest}</h2>
          <a href={`${root}/payments/`}>{allPayments}</a>
        </div>
        {payments.length === 0
          ? <p class="empty">{words.noPayments}</p>
          : <PaymentTable view={view} payments={payments} columns={DEFAULT_COLUMNS} />}
      </section>
    </Frame>
  );
};

interface Figure {
  label: string;
  /** The figure as text. */
  show(figures: DayFigures): string;
  /** The figure as a number, for the change in percent; null: no change is shown. */
  value(figures: DayFigures): number | null;
}

const Today: FC<{ view: SignedInView; comparison: Comparison }> = ({ view, comparison }) => {
  const { words } = view;
  const { today, wholeHours, asOf } = comparison;
  const texts = words.overviewPage;
  const until = wholeHours?.until.replace(":", words.timeSeparator);
  const percent = new Intl.NumberFormat(words.locale, {
    style: "percent",
    maximumFractionDigits: 1,
  });
  const rate = ({ count, paidCount }: DayFigures) => count === 0 ? null : paidCount / count;
  const amount = (name: "paid" | "refunds" | "chargebacks") => ({
    show: (figures: DayFigures) => rupiah(`${figures[name]}`),
    value: (figures: DayFigures) => Number(figures[name]),
  });
  const number = (name: "paidCount" | "pending") => ({
    show: (figures: DayFigures) => figures[name].toLocaleString(words.locale),
    value: (figures: DayFigures) => figures[name],
  });
  const figures: Figure[] = [
    { label: texts.paid, ...amount("paid") },
    { label: texts.paidCount, ...number("paidCount") },
    {
      label: texts.successRate,
      show: (figures) => rate(figures) === null ? "–" : percent.format(rate(figures)!),
      // A change of a percentage in percent would be misunderstood.
      value: () => null,
    },
    { label: words.statuses.pending, ...number("pending") },
    { label: words.refunds, ...amount("refunds") },
    { label: texts.chargebacks, ...amount("chargebacks") },
  ];
  return (
    <section aria-labelledby="today">
      <h2 id="today">{texts.today}</h2>
      <p class="help">
        {texts.asOf} {jakartaTime(asOf, words.locale)}.{" "}
        {wholeHours ? `${texts.comparison} ${until} WIB.` : texts.noComparison}
      </p>
      <div class="figures">
        {figures.map((figure) => (
          <div class="figure">
            <h3>{figure.label}</h3>
            <p>{figure.show(today)}</p>
            {wholeHours && (
              <dl>
                {figure.show(wholeHours.today) !== figure.show(today) && (
                  <div>
                    <dt>{`${texts.todayUntil} ${until}`}</dt>
                    <dd>{figure.show(wholeHours.today)}</dd>
                  </div>
                )}
                {(["yesterday", "lastWeek"] as const).map((day) => (
                  <Earlier
                    {...{ view, figure }}
                    label={texts[day]}
                    today={wholeHours.today}
                    earlier={wholeHours[day]}
                  />
                ))}
              </dl>
            )}
          </div>
        ))}
      </div>
    </section>
  );
};

interface EarlierProps {
  view: SignedInView;
  figure: Figure;
  label: string;
  today: DayFigures;
  earlier: DayFigures;
}

/** The figure of an earlier day, and how much it has changed since. */
const Earlier: FC<EarlierProps> = ({ view, figure, label, today, earlier }) => {
  const [now, before] = [figure.value(today), figure.value(earlier)];
  const format = new Intl.NumberFormat(view.words.locale, {
    style: "percent",
    maximumFractionDigits: 0,
    signDisplay: "exceptZero",
  });
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {figure.show(earlier)}
        {now !== null && before ? <small>{format.format((now - before) / before)}</small> : ""}
      </dd>
    </div>
  );
};

const VolumeChart: FC<{ view: SignedInView; volumes: Volumes }> = ({ view, volumes }) => {
  const { words } = view;
  const { chart, otherMethods, day, nothingPaid } = words.overviewPage;
  const format = new Intl.DateTimeFormat(words.locale, {
    day: "numeric",
    month: "short",
    timeZone: ZONE,
  });
  const series = volumes.series.map(({ type, values }) => ({
    name: type === null ? otherMethods : methodName(words, type),
    values,
  }));
  return (
    <Card id="volumes" title={chart}>
      {series.length === 0 ? <p class="empty">{nothingPaid}</p> : (
        <StackedChart
          view={view}
          id="chart"
          title={chart}
          columnName={day}
          columns={volumes.days.map((each) => format.format(each))}
          series={series}
        />
      )}
    </Card>
  );
};

const NeedsAttention: FC<{ view: SignedInView; attention: Attention }> = ({ view, attention }) => {
  const { root, words } = view;
  const texts = words.overviewPage;
  const found = listAttention(attention);
  return (
    <Card id="attention" title={texts.attention}>
      {found.length === 0 ? <p class="help">{texts.nothing}</p> : (
        <ul class="attention">
          {found.map(({ reason, count, path }) => (
            <li>
              <a href={root + path}>{texts.reasons[reason]}</a>
              {count !== null && (
                <strong>
                  {count > MAX_ATTENTION ? `${MAX_ATTENTION} ${texts.orMore}` : count}
                </strong>
              )}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
};
