/** `/console/reconciliations/{id}/`: how a report agrees with the payments, and the differences. */

import type { Child, FC } from "hono/jsx";
import type { Caller } from "../core/auth/caller.ts";
import { ServiceError } from "../core/errors.ts";
import { type JobView, readJob } from "../core/jobs/read.ts";
import { getStatus } from "../core/payments/check_at_gateway.ts";
import type { PaymentDeps } from "../core/payments/payment_record.ts";
import { writeCsv } from "../core/reports/csv.ts";
import {
  type DifferenceResult,
  DIFFERENCES,
  type DifferenceView,
  listDifferences,
  readReconciliation,
  type ReconciliationSummaryView,
  type ReconciliationView,
} from "../core/reports/reconciliations.ts";
import { parsePathId } from "../routes/shared/paths.ts";
import { type ConsoleBase, type ConsoleContext, requireActor } from "./base.tsx";
import { rupiah } from "./format.ts";
import { FormToken, Frame, Table, Time } from "./frame.tsx";
import { choose, PAGE_SIZE } from "./lists.tsx";
import { readFor } from "./payment.tsx";
import { sendCsv } from "./reports.tsx";
import type { SignedInView, View } from "./session.ts";

const PATH = "/reconciliations/";

/** Days that the page shows; the CSV file has all. */
const MAX_DAYS = 62;

export function addReconciliation(base: ConsoleBase): void {
  const { deps, root, router, signedIn, formOf, page } = base;

  router.get(`${PATH}:id/`, async (c) => {
    const view = await signedIn(c);
    const { caller } = view.session;
    const id = parsePathId(c.req.param("id"));
    const reconciliation = await readReconciliation(deps, caller, id);
    if (reconciliation.status !== "succeeded") {
      const job = await findJob(deps, caller, reconciliation.job_id);
      return page(c, <ProgressPage {...{ view, reconciliation, job }} />);
    }
    const filter = filterOf(c);
    const found = await listDifferences(deps, caller, id, { ...filter, limit: PAGE_SIZE });
    const message = await messageOf(deps, view, c);
    return page(c, <ResultPage {...{ view, reconciliation, filter, message, ...found }} />);
  });

  router.get(`${PATH}:id/days.csv/`, async (c) => {
    const { session } = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const { days } = await readReconciliation(deps, session.caller, id);
    const rows = (days ?? []).map(({ date, lines, gross_amount, fee, net_amount }) => [
      date,
      lines,
      ...[gross_amount, fee, net_amount].map(Number),
    ]);
    const header = ["date", "lines", "gross_amount", "fee", "net_amount"];
    return sendCsv(c, `reconciliation_${id}_days`, writeCsv([header, ...rows]));
  });

  router.post(`${PATH}:id/check/`, async (c) => {
    const { session } = await signedIn(c);
    const { payment_id, result, cursor } = await formOf(c, session);
    requireActor(session);
    const id = parsePathId(c.req.param("id"));
    const payment = parsePathId(String(payment_id));
    await getStatus(deps, session.caller, payment);
    const sent = { result: String(result ?? ""), cursor: String(cursor ?? "") };
    const search = new URLSearchParams({ ...sent, done: "checked", payment });
    return c.redirect(`${root}${PATH}${id}/?${search}`, 303);
  });
}

/** Null: the job was deleted after its retention period. */
async function findJob(deps: PaymentDeps, caller: Caller, id: string): Promise<JobView | null> {
  try {
    return await readJob(deps, caller, id);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "not_found") return null;
    throw error;
  }
}

interface Filter {
  result: DifferenceResult | null;
  /** The last line of the previous page. */
  after: number | null;
}

/** Invalid values are ignored. */
function filterOf(c: ConsoleContext): Filter {
  const cursor = c.req.query("cursor") ?? "";
  return {
    result: choose(DIFFERENCES, c.req.query("result")),
    after: /^-?[1-9]\d{0,8}$/.test(cursor) ? Number(cursor) : null,
  };
}

/** What the last form did. */
async function messageOf(
  deps: PaymentDeps,
  view: SignedInView,
  c: ConsoleContext,
): Promise<string | null> {
  const words = view.words.reconciliationPage;
  const { done, payment: id } = c.req.query();
  if (done === "known") return words.known;
  if (done !== "checked" || id === undefined) return null;
  const payment = await readFor(deps, view, parsePathId(id));
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
  return [...new Set([first_day, last_day])].map((day) => dayText(words.locale, day)).join(" – ");
}

function dayText(locale: string, day: string): string {
  return new Date(day).toLocaleDateString(locale, { dateStyle: "medium", timeZone: "UTC" });
}

interface StatusProps {
  view: View;
  reconciliation: ReconciliationSummaryView;
}

export const ReconciliationStatus: FC<StatusProps> = ({ view, reconciliation }) => {
  const { statuses, agrees, differs } = view.words.reconciliationPage;
  const { status, results } = reconciliation;
  if (results === null) return <span class="status pending">{statuses[status]}</span>;
  const isEqual = DIFFERENCES.every((name) => !results[name]);
  return isEqual
    ? <span class="status settlement">{agrees}</span>
    : <span class="status failure">{differs}</span>;
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
      <p>
        <a href={view.root + PATH}>← {words.title}</a>
      </p>
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
  filter: Filter;
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
      <Results view={view} reconciliation={reconciliation} chosen={filter.result} />
      {queued_checks > 0 && (
        <p class="help">
          {words.queuedChecks}: {queued_checks.toLocaleString(view.words.locale)}
        </p>
      )}
      <h2>{filter.result ? words.results[filter.result] : words.differences}</h2>
      {filter.result && <p class="help">{words.meanings[filter.result]}</p>}
      <Differences {...props} />
      <Days view={view} reconciliation={reconciliation} />
    </ResultFrame>
  );
};

interface ResultsProps extends StatusProps {
  chosen: DifferenceResult | null;
}

/** The counts. Each count of differences is a link to the list of only these. */
const Results: FC<ResultsProps> = ({ view, reconciliation, chosen }) => {
  const { root, words } = view;
  const { results: names } = words.reconciliationPage;
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
            href={`${root}${PATH}${reconciliation.id}/${chosen === name ? "" : `?result=${name}`}`}
            aria-current={chosen === name ? "true" : undefined}
          >
            <span>{names[name]}</span>
            <strong class={results[name] ? "bad" : undefined}>{text(results[name])}</strong>
          </a>
        </li>
      ))}
    </ul>
  );
};

/** One form for all rows: the button of a row sends the id of its payment. */
const Differences: FC<ResultProps> = (props) => {
  const { view, reconciliation, filter: { result, after }, differences, next } = props;
  const { root, words, session } = view;
  const path = `${root}${PATH}${reconciliation.id}/`;
  const texts = words.reconciliationPage;
  if (differences.length === 0) return <p class="empty">{texts.noDifferences}</p>;
  return (
    <form method="post" action={`${path}check/`}>
      <FormToken view={view} />
      <input type="hidden" name="result" value={result ?? ""} />
      <input type="hidden" name="cursor" value={after ?? ""} />
      <Table
        columns={[
          texts.line,
          words.result,
          words.order,
          texts.kind,
          texts.inFile,
          texts.here,
          "",
        ]}
        amounts={[0, 4, 5]}
      >
        {differences.map((each) => (
          <tr>
            <td class="amount">{each.line ?? "–"}</td>
            <td>{texts.results[each.result]}</td>
            <td>
              <Order root={root} difference={each} />
            </td>
            <td>{texts.kinds[each.kind]}</td>
            <Amount amount={each.amount} status={each.status} />
            <Amount amount={each.known_amount} status={nameOf(view, each.known_status)} />
            <td>
              {each.payment_id && session.caller.isStaff && (
                <button type="submit" name="payment_id" value={each.payment_id}>
                  {texts.check}
                </button>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {next !== null && (
        <a
          class="next"
          href={`${path}?${new URLSearchParams({ ...result && { result }, cursor: next })}`}
        >
          {words.nextPage}
        </a>
      )}
    </form>
  );
};

const Order: FC<{ root: string; difference: DifferenceView }> = ({ root, difference }) => {
  const { order_id, transaction_id, payment_id } = difference;
  const text = shorten(order_id ?? transaction_id!);
  return payment_id === null ? <>{text}</> : <a href={`${root}/payments/${payment_id}/`}>{text}</a>;
};

const Amount: FC<{ amount: string | null; status: string | null }> = ({ amount, status }) => (
  <td class="amount">
    {amount === null ? "–" : rupiah(amount)}
    {status !== null && <small>{shorten(status)}</small>}
  </td>
);

/** The name of the status of a payment or refund. */
function nameOf({ words }: View, status: string | null): string | null {
  const names: Record<string, string> = { ...words.refundStatuses, ...words.statuses };
  return status && (names[status] ?? status);
}

/** The gateway's order ids have 50 characters at most, but a file can contain anything. */
function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60).toWellFormed()}…` : text;
}

const Days: FC<StatusProps & { reconciliation: ReconciliationView }> = (props) => {
  const { view, reconciliation: { id, days } } = props;
  const { root, words } = view;
  const { byDay, day, noDay, lines, gross, fee, net, moreDays, download } =
    words.reconciliationPage;
  const all = days as NonNullable<ReconciliationView["days"]>;
  if (all.length === 0) return null;
  return (
    <>
      <div class="heading">
        <h2>{byDay}</h2>
        <a class="button" href={`${root}${PATH}${id}/days.csv`} download="">{download}</a>
      </div>
      <Table columns={[day, lines, gross, fee, net]} amounts={[1, 2, 3, 4]}>
        {all.slice(0, MAX_DAYS).map((each) => (
          <tr>
            <td>{each.date === null ? noDay : dayText(words.locale, each.date)}</td>
            <td class="amount">{each.lines.toLocaleString(words.locale)}</td>
            {[each.gross_amount, each.fee, each.net_amount].map((amount) => (
              <td class="amount">{rupiah(amount)}</td>
            ))}
          </tr>
        ))}
      </Table>
      {all.length > MAX_DAYS && <p class="help">{moreDays}</p>}
    </>
  );
};
