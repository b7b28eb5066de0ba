/** `/console/reconciliations/{id}/`: how a report agrees with the payments, and the differences. */

import type { Child, FC } from "hono/jsx";
import type { Caller } from "../../core/auth/caller.ts";
import { ServiceError } from "../../core/errors.ts";
import { type JobView, readJob } from "../../core/jobs/read.ts";
import { writeCsv } from "../../core/reports/csv.ts";
import {
  type DifferenceResult,
  DIFFERENCES,
  type DifferenceView,
  listDifferences,
  readDifference,
  readReconciliation,
  type ReconciliationSummaryView,
  type ReconciliationView,
} from "../../core/reports/reconciliations.ts";
import type { ReportColumn } from "../../core/reports/report_file.ts";
import { parseDifferenceId, parsePathId } from "../../http/paths.ts";
import { readPaymentFor } from "../payments/payment.tsx";
import type { ConsoleBase, ConsoleContext } from "../shared/base.tsx";
import { dayCell, ExportMenu, sendCsv, sendExcel } from "../shared/downloads.tsx";
import { BackLink, Table, Time } from "../shared/elements.tsx";
import { dayName, rupiah } from "../shared/format.ts";
import { Frame } from "../shared/frame.tsx";
import { PAGE_SIZE } from "../shared/list_page.tsx";
import type { SignedInView, View } from "../shared/session.ts";
import type { Service } from "../../core/service.ts";
import {
  addressOf,
  countDifferences,
  DifferenceExport,
  type DifferenceFilter,
  Differences,
  filterOf,
  listFilterOf,
  markMessage,
  States,
  TakeOverAll,
} from "./differences.tsx";

const PATH = "/reconciliations/";

/** Days that the page shows; the CSV file has all. */
const MAX_DAYS = 62;

export function addReconciliation(base: ConsoleBase): void {
  const { service, router, signedIn, page } = base;

  router.get(`${PATH}:id/`, async (c) => {
    const view = await signedIn(c);
    const { caller } = view.session;
    const id = parsePathId(c.req.param("id"));
    const reconciliation = await readReconciliation(service, caller, id);
    if (reconciliation.status !== "succeeded") {
      const job = await findJob(service, caller, reconciliation.job_id);
      return page(c, <ProgressPage {...{ view, reconciliation, job }} />);
    }
    const filter = filterOf(c);
    const found = await listDifferences(service, caller, id, {
      ...listFilterOf(filter),
      after: filter.after,
      limit: PAGE_SIZE,
    });
    const message = await messageOf(service, view, c, id);
    return page(c, <ResultPage {...{ view, reconciliation, filter, message, ...found }} />);
  });

  router.get(`${PATH}:id/days.csv/`, async (c) => {
    const { session } = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const reconciliation = await readReconciliation(service, session.caller, id);
    const { days } = reconciliation;
    // A file without fees or net amounts has empty cells, so that its columns are always the same.
    const sum = (column: ReportColumn, amount: string) =>
      hasColumn(reconciliation, column) ? Number(amount) : null;
    const rows = (days ?? []).map(({ date, lines, gross_amount, fee, net_amount }) => [
      date,
      lines,
      Number(gross_amount),
      sum("fee", fee),
      sum("net", net_amount),
    ]);
    const header = ["date", "lines", "gross_amount", "fee", "net_amount"];
    return sendCsv(c, `reconciliation_${id}_days`, writeCsv([header, ...rows]));
  });

  router.get(`${PATH}:id/days.xlsx/`, async (c) => {
    const { session, words } = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const reconciliation = await readReconciliation(service, session.caller, id);
    const texts = words.reconciliationPage;
    const sums = sumsOf(texts).filter(({ column }) => hasColumn(reconciliation, column));
    return sendExcel(c, `reconciliation_${id}_days`, {
      title: texts.byDay,
      columns: [texts.day, texts.lines, ...sums.map(({ name }) => name)],
      rows: (reconciliation.days ?? []).map((day) => [
        dayCell(day.date),
        day.lines,
        ...sums.map(({ member }) => Number(day[member])),
      ]),
    });
  });
}

/** The sums of a day. */
function sumsOf({ gross, fee, net }: View["words"]["reconciliationPage"]) {
  return [
    { column: "amount", name: gross, member: "gross_amount" },
    { column: "fee", name: fee, member: "fee" },
    { column: "net", name: net, member: "net_amount" },
  ] as const;
}

/** True also if the columns of the file are not known. */
function hasColumn({ columns }: ReconciliationView, column: ReportColumn): boolean {
  return columns === null || columns.includes(column);
}

/** Null: the job was deleted after its retention period. */
async function findJob(service: Service, caller: Caller, id: string): Promise<JobView | null> {
  try {
    return await readJob(service, caller, id);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "not_found") return null;
    throw error;
  }
}

/** What the last form did. */
async function messageOf(
  service: Service,
  view: SignedInView,
  c: ConsoleContext,
  id: string,
): Promise<string | null> {
  const words = view.words.reconciliationPage;
  const { done, payment: paymentId, difference } = c.req.query();
  if (done === "known") return words.known;
  if (done === "taking_over") return words.takingOver;
  if (difference !== undefined) {
    const number = parseDifferenceId(difference);
    return markMessage(view, await readDifference(service, view.session.caller, id, number), done);
  }
  if (done !== "checked" || paymentId === undefined) return null;
  const payment = await readPaymentFor(service, view, parsePathId(paymentId));
  const amount = payment.captured_amount ?? payment.gross_amount;
  const status = view.words.statuses[payment.transaction_status];
  return `${words.checked} ${payment.order_id}: ${status}, ${rupiah(amount)}.`;
}

/** The days of the file. */
export function periodOf(
  { words }: View,
  { first_day, last_day }: Pick<ReconciliationSummaryView, "first_day" | "last_day">,
): string {
  if (first_day === null || last_day === null) return words.reconciliationPage.noDays;
  return [...new Set([first_day, last_day])].map((day) => dayName(day, words.locale)).join(" – ");
}

interface StatusProps {
  view: View;
  reconciliation: ReconciliationSummaryView;
}

export const ReconciliationStatus: FC<StatusProps> = ({ view, reconciliation }) => {
  const { statuses, agrees, differs, allDone } = view.words.reconciliationPage;
  const { status, results, open_differences } = reconciliation;
  if (results === null) return <span class="status pending">{statuses[status]}</span>;
  if (open_differences !== 0) return <span class="status failure">{differs}</span>;
  return (
    <span class="status settlement">
      {countDifferences(reconciliation) === 0 ? agrees : allDone}
    </span>
  );
};

interface ProgressProps {
  view: SignedInView;
  reconciliation: ReconciliationView;
  job: JobView | null;
}

const ProgressPage: FC<ProgressProps> = ({ view, reconciliation, job }) => {
  const { root, words } = view;
  const { comparing, comparedLines, comparisonFailed, reload } = words.reconciliationPage;
  const { id, lines } = reconciliation;
  const done = Number(job?.result?.compared_lines ?? 0);
  const hasFailed = job === null || job.status === "failed";
  return (
    <ResultFrame view={view} reconciliation={reconciliation}>
      {hasFailed
        ? (
          <p role="alert" class="error">
            {comparisonFailed} {job?.error} <a href={`${root}/jobs/?status=failed`}>{words.jobs}</a>
          </p>
        )
        : (
          <section class="card" data-poll="">
            <h2>{comparing}</h2>
            <progress max={Math.max(1, lines)} value={done} aria-label={comparing}></progress>
            <p>
              {comparedLines}: {done.toLocaleString(words.locale)} /{" "}
              {lines.toLocaleString(words.locale)}
            </p>
            <a class="button" href={`${root}${PATH}${id}/`}>{reload}</a>
          </section>
        )}
      <script src={`${root}/upload.js`} defer></script>
    </ResultFrame>
  );
};

interface FrameProps {
  view: SignedInView;
  reconciliation: ReconciliationView;
  message?: string | null;
  children?: Child;
}

const ResultFrame: FC<FrameProps> = ({ view, reconciliation, message, children }) => {
  const words = view.words.reconciliationPage;
  const { id, lines, user_id, created_at } = reconciliation;
  const title = `${words.report} ${periodOf(view, reconciliation)}`;
  return (
    <Frame view={view} title={title} path={`${PATH}${id}/`}>
      <BackLink view={view} to={PATH}>{words.title}</BackLink>
      {message && <p role="status" class="done">{message}</p>}
      <h1>
        {title} <ReconciliationStatus view={view} reconciliation={reconciliation} />
      </h1>
      <p class="subtitle">
        {words.lines}: {lines.toLocaleString(view.words.locale)} · {words.by}: {user_id} ·{" "}
        <Time view={view} at={created_at} />
      </p>
      {children}
    </Frame>
  );
};

interface ResultProps {
  view: SignedInView;
  reconciliation: ReconciliationView;
  filter: DifferenceFilter;
  differences: DifferenceView[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  message: string | null;
}

const ResultPage: FC<ResultProps> = (props) => {
  const { view, reconciliation, filter, message } = props;
  const words = view.words.reconciliationPage;
  const { queued_checks } = reconciliation;
  return (
    <ResultFrame view={view} reconciliation={reconciliation} message={message}>
      <Results view={view} reconciliation={reconciliation} filter={filter} />
      {queued_checks > 0 && (
        <p class="help">
          {words.queuedChecks}: {queued_checks.toLocaleString(view.words.locale)}
        </p>
      )}
      <div class="heading">
        <h2>{filter.result ? words.results[filter.result] : words.differences}</h2>
        <TakeOverAll {...props} />
        <DifferenceExport view={view} reconciliation={reconciliation} filter={filter} />
      </div>
      {filter.result && <p class="help">{words.meanings[filter.result]}</p>}
      <States view={view} reconciliation={reconciliation} filter={filter} />
      <Differences {...props} />
      <Days view={view} reconciliation={reconciliation} />
    </ResultFrame>
  );
};

/** The counts. Each count of differences is a link to the list of only these. */
const Results: FC<StatusProps & { filter: DifferenceFilter }> = (
  { view, reconciliation, filter },
) => {
  const { words } = view;
  const { results: names } = words.reconciliationPage;
  const isChosen = (name: DifferenceResult) => filter.result === name;
  const results = reconciliation.results as NonNullable<ReconciliationView["results"]>;
  const text = (count: number | null) => count?.toLocaleString(words.locale) ?? "–";
  return (
    <ul class="tiles">
      <li>
        <span>{names.matched}</span>
        <strong>{text(results.matched)}</strong>
      </li>
      {DIFFERENCES.map((name) => (
        <li>
          <a
            href={addressOf(view, reconciliation, {
              ...filter,
              result: isChosen(name) ? null : name,
              after: null,
            })}
            aria-current={isChosen(name) ? "true" : undefined}
          >
            <span>{names[name]}</span>
            <strong class={results[name] ? "bad" : undefined}>{text(results[name])}</strong>
          </a>
        </li>
      ))}
    </ul>
  );
};

const Days: FC<StatusProps & { reconciliation: ReconciliationView }> = (props) => {
  const { view, reconciliation } = props;
  const { id, days } = reconciliation;
  const { root, words } = view;
  const texts = words.reconciliationPage;
  const all = days as NonNullable<ReconciliationView["days"]>;
  if (all.length === 0) return null;
  const sums = sumsOf(texts);
  const files = `${root}${PATH}${id}/days`;
  const shown = sums.filter(({ column }) => hasColumn(reconciliation, column));
  const absent = sums.filter((sum) => !shown.includes(sum));
  return (
    <>
      <div class="heading">
        <h2>{texts.byDay}</h2>
        <ExportMenu view={view} excel={`${files}.xlsx`} csv={`${files}.csv`} zones={null} />
      </div>
      <Table
        label={texts.byDay}
        class="cards"
        columns={[texts.day, texts.lines, ...shown.map(({ name }) => name)]}
        amounts={[1, 2, 3, 4]}
      >
        {all.slice(0, MAX_DAYS).map((each) => (
          <tr>
            <td>{each.date === null ? texts.noDay : dayName(each.date, words.locale)}</td>
            <td class="amount">{each.lines.toLocaleString(words.locale)}</td>
            {shown.map(({ member }) => <td class="amount">{rupiah(each[member])}</td>)}
          </tr>
        ))}
      </Table>
      {absent.length > 0 && (
        <p class="help">
          {texts.notInReport}: {absent.map(({ name }) => name).join(", ")}
        </p>
      )}
      {all.length > MAX_DAYS && <p class="help">{texts.moreDays}</p>}
    </>
  );
};
