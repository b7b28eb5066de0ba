/**
 * The differences of a reconciliation: which are shown, and which are done. Staff mark and check
 * them, and they are exported.
 */

import type { FC } from "hono/jsx";
import { getStatus } from "../../core/payments/check_at_gateway.ts";
import {
  exportColumns,
  exportDifferences,
  type FileColumn,
  readDifferences,
} from "../../core/reports/exports.ts";
import {
  type DifferenceFilter as ListFilter,
  type DifferenceResult,
  DIFFERENCES,
  type DifferenceView,
  type ReconciliationSummaryView,
  reopenDifference,
  resolveDifference,
} from "../../core/reports/reconciliations.ts";
import { parseDifferenceId, parsePathId } from "../../http/paths.ts";
import type { ConsoleBase, ConsoleContext, Form } from "../shared/base.tsx";
import { amountCell, dayCell, ExportLink, sendList, timeCell } from "../shared/downloads.tsx";
import { FormToken, shorten, Table, Time } from "../shared/elements.tsx";
import { jakartaTime, rupiah } from "../shared/format.ts";
import { choose } from "../shared/list_page.tsx";
import type { SignedInView, View } from "../shared/session.ts";

const PATH = "/reconciliations/";

/** The gateway's order ids have 50 characters at most, but a file can contain anything. */
const MAX_TEXT = 60;

export function addDifferences(base: ConsoleBase): void {
  const { service, root, router, signedIn, actorForm } = base;

  router.get(`${PATH}:id/export/`, async (c) => {
    const view = await signedIn(c);
    const id = parsePathId(c.req.param("id"));
    const filter = listFilterOf(filterOf(c));
    const readList = readDifferences(service, view.session.caller, id, filter);
    return await sendList(c, service.exports, {
      name: `reconciliation_${id}_differences`,
      title: view.words.reconciliationPage.differences,
      excel: exportColumns(readList, fileColumns(view)),
      csv: exportDifferences(readList),
    });
  });

  router.post(`${PATH}:id/check/`, async (c) => {
    const { view: { session }, sent } = await actorForm(c);
    const id = parsePathId(c.req.param("id"));
    const payment = parsePathId(String(sent.payment_id));
    await getStatus(service, session.caller, payment);
    const search = searchAfter(sent, { done: "checked", payment });
    return c.redirect(`${root}${PATH}${id}/?${search}`, 303);
  });

  // Like the routes of the API, these forms need no Idempotency-Key: marked twice is marked once.
  for (const [action, { mark, done }] of Object.entries(MARKS)) {
    router.post(`${PATH}:id/${action}/`, async (c) => {
      const { view: { session }, sent } = await actorForm(c);
      const id = parsePathId(c.req.param("id"));
      const number = parseDifferenceId(String(sent.difference));
      const { isChanged } = await mark(service, session.caller, id, number);
      c.env.isAuditExempt = !isChanged;
      const message = { done: isChanged ? done : "unchanged", difference: String(number) };
      return c.redirect(`${root}${PATH}${id}/?${searchAfter(sent, message)}`, 303);
    });
  }
}

function fileColumns(view: SignedInView): FileColumn<DifferenceView>[] {
  const { words } = view;
  const texts = words.reconciliationPage;
  return [
    { name: texts.line, valueOf: ({ line }) => line },
    { name: words.result, valueOf: ({ result }) => texts.results[result] },
    { name: texts.columns.order_id, valueOf: ({ order_id }) => order_id },
    { name: texts.columns.transaction_id, valueOf: ({ transaction_id }) => transaction_id },
    { name: texts.kind, valueOf: ({ kind }) => texts.kinds[kind] },
    { name: texts.day, valueOf: ({ date }) => dayCell(date) },
    ...[
      { side: texts.inFile, amount: "amount", status: "status" } as const,
      { side: texts.here, amount: "known_amount", status: "known_status" } as const,
    ].flatMap(({ side, amount, status }) => [
      {
        name: `${words.amount} (${side})`,
        valueOf: (each: DifferenceView) => amountCell(each[amount]),
      },
      {
        name: `${words.status} (${side})`,
        valueOf: (each: DifferenceView) => nameOf(view, each[status]),
      },
    ]),
    { name: texts.doneBy, valueOf: ({ resolved_by }) => resolved_by },
    { name: `${texts.doneAt} (WIB)`, valueOf: ({ resolved_at }) => timeCell(resolved_at) },
  ];
}

const MARKS = {
  resolve: { mark: resolveDifference, done: "resolved" },
  reopen: { mark: reopenDifference, done: "reopened" },
};

/** The same page of differences, with a message. */
function searchAfter(sent: Form, message: Record<string, string>): URLSearchParams {
  const filter = ["result", "state", "cursor"].map((name) => [name, String(sent[name] ?? "")]);
  const chosen = filter.filter(([, value]) => value !== "");
  return new URLSearchParams([...chosen, ...Object.entries(message)]);
}

/** Which differences are shown. */
const STATES = ["open", "done", "all"] as const;

export interface DifferenceFilter {
  result: DifferenceResult | null;
  state: (typeof STATES)[number];
  /** The last line of the previous page. */
  after: number | null;
}

/** Invalid values are ignored. */
export function filterOf(c: ConsoleContext): DifferenceFilter {
  const cursor = c.req.query("cursor") ?? "";
  return {
    result: choose(DIFFERENCES, c.req.query("result")),
    state: choose(STATES, c.req.query("state")) ?? "open",
    after: /^-?[1-9]\d{0,8}$/.test(cursor) ? Number(cursor) : null,
  };
}

export function listFilterOf(
  { result, state }: DifferenceFilter,
): Pick<ListFilter, "result" | "isResolved"> {
  return { result, isResolved: state === "all" ? null : state === "done" };
}

/** Another user, or another tab, may have marked the difference before. */
export function markMessage(
  { words }: View,
  difference: DifferenceView,
  done: string | undefined,
): string | null {
  const { resolved, reopened, takenOver, alreadyDone, alreadyOpen } = words.reconciliationPage;
  const name = nameOfOrder(difference);
  if (done === "resolved") return resolved(name);
  if (done === "reopened") return reopened(name);
  if (done === "taken_over") return takenOver(name);
  if (done !== "unchanged") return null;
  const { resolved_at, resolved_by } = difference;
  return resolved_at === null
    ? alreadyOpen(name)
    : alreadyDone(name, resolved_by ?? "", jakartaTime(resolved_at, words.locale));
}

/** Open and done ones; null until the file is compared. */
export function countDifferences({ results }: ReconciliationSummaryView): number | null {
  if (results === null) return null;
  return DIFFERENCES.reduce((sum, name) => sum + (results[name] ?? 0), 0);
}

interface FilterProps {
  view: SignedInView;
  reconciliation: ReconciliationSummaryView;
  filter: DifferenceFilter;
}

/** The address of the differences with this filter. */
export function addressOf(
  { root }: View,
  { id }: ReconciliationSummaryView,
  filter: DifferenceFilter,
): string {
  const search = searchOf(filter);
  return `${root}${PATH}${id}/${search.size > 0 ? `?${search}` : ""}`;
}

function searchOf({ result, state, after }: DifferenceFilter): URLSearchParams {
  return new URLSearchParams({
    ...result && { result },
    ...state !== "open" && { state },
    ...after !== null && { cursor: String(after) },
  });
}

/** Exports all differences with this filter, not only the page. */
export const DifferenceExport: FC<FilterProps> = ({ view, reconciliation, filter }) => {
  if (countDifferences(reconciliation) === 0) return null;
  const search = searchOf({ ...filter, after: null });
  return <ExportLink view={view} path={`${PATH}${reconciliation.id}/`} search={search} />;
};

/** Chooses open differences, those that are done, or all. The counts are those of all kinds. */
export const States: FC<FilterProps> = ({ view, reconciliation, filter }) => {
  const { states, show } = view.words.reconciliationPage;
  const all = countDifferences(reconciliation) ?? 0;
  const open = reconciliation.open_differences ?? 0;
  const counts = { open, done: all - open, all };
  if (all === 0) return null;
  return (
    <nav class="tabs" aria-label={show}>
      {STATES.map((state) => (
        <a
          href={addressOf(view, reconciliation, { ...filter, state, after: null })}
          aria-current={state === filter.state ? "true" : undefined}
        >
          {states[state]}
          {filter.result === null && ` (${counts[state].toLocaleString(view.words.locale)})`}
        </a>
      ))}
    </nav>
  );
};

interface DifferencesProps {
  view: SignedInView;
  reconciliation: ReconciliationSummaryView;
  filter: DifferenceFilter;
  differences: DifferenceView[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
}

/** One form for all rows: the button of a row sends the id of its payment or of the difference. */
export const Differences: FC<DifferencesProps> = (props) => {
  const { view, reconciliation, filter, differences, next } = props;
  const { root, words } = view;
  const { result, state, after } = filter;
  const path = `${root}${PATH}${reconciliation.id}/`;
  const texts = words.reconciliationPage;
  if (differences.length === 0) {
    const total = result ? reconciliation.results?.[result] : countDifferences(reconciliation);
    const text = total && state !== "all" ? texts.noneOf[state] : texts.noDifferences;
    return <p class="empty">{text}</p>;
  }
  return (
    <form method="post" action={`${path}check/`}>
      <FormToken view={view} />
      <input type="hidden" name="result" value={result ?? ""} />
      <input type="hidden" name="state" value={state} />
      <input type="hidden" name="cursor" value={after ?? ""} />
      <Table
        label={texts.differences}
        class="cards"
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
        {differences.map((difference) => <Row view={view} path={path} difference={difference} />)}
      </Table>
      {next !== null && (
        <a
          class="next"
          href={addressOf(view, reconciliation, { ...filter, after: Number(next) })}
        >
          {words.nextPage}
        </a>
      )}
    </form>
  );
};

interface RowProps {
  view: SignedInView;
  /** The address of the reconciliation. */
  path: string;
  difference: DifferenceView;
}

const Row: FC<RowProps> = ({ view, path, difference }) => {
  const { line, result, kind, amount, status, known_amount, known_status } = difference;
  const texts = view.words.reconciliationPage;
  return (
    <tr>
      <td class="amount">{line ?? "–"}</td>
      <td>{texts.results[result]}</td>
      <td>
        <Order root={view.root} difference={difference} />
      </td>
      <td>{texts.kinds[kind]}</td>
      <Amount amount={amount} status={nameOf(view, status)} />
      <Amount amount={known_amount} status={nameOf(view, known_status)} />
      <td>
        <RowActions view={view} path={path} difference={difference} />
      </td>
    </tr>
  );
};

const RowActions: FC<RowProps> = ({ view, path, difference }) => {
  const { id, payment_id, resolved_at, resolved_by } = difference;
  const { isStaff } = view.session.caller;
  const texts = view.words.reconciliationPage;
  return (
    <div class="row-actions">
      {resolved_at !== null && (
        <small>
          {texts.doneBy} {resolved_by}, <Time view={view} at={resolved_at} />
        </small>
      )}
      {isStaff && payment_id && resolved_at === null && (
        <button type="submit" name="payment_id" value={payment_id}>{texts.check}</button>
      )}
      {isStaff && isOpenMissing(difference) && (
        <a class="button" href={`${path}take-over/?difference=${id}`}>{texts.takeOver}</a>
      )}
      {isStaff && (
        <button
          type="submit"
          formaction={`${path}${resolved_at === null ? "resolve" : "reopen"}/`}
          name="difference"
          value={String(id)}
        >
          {resolved_at === null ? texts.markDone : texts.reopen}
        </button>
      )}
    </div>
  );
};

function isOpenMissing({ result, resolved_at }: DifferenceView): boolean {
  return result === "missing_here" && resolved_at === null;
}

/** Takes over all open differences that are missing here, also those of other pages. */
export const TakeOverAll: FC<DifferencesProps> = ({ view, reconciliation, differences }) => {
  if (!view.session.caller.isStaff || !differences.some(isOpenMissing)) return null;
  return (
    <a class="button" href={`${view.root}${PATH}${reconciliation.id}/take-over/`}>
      {view.words.reconciliationPage.takeOverAll}
    </a>
  );
};

const Order: FC<{ root: string; difference: DifferenceView }> = ({ root, difference }) => {
  const { payment_id } = difference;
  const text = nameOfOrder(difference);
  return payment_id === null ? <>{text}</> : <a href={`${root}/payments/${payment_id}/`}>{text}</a>;
};

export function nameOfOrder({ order_id, transaction_id }: DifferenceView): string {
  return shorten(order_id ?? transaction_id!, MAX_TEXT);
}

const Amount: FC<{ amount: string | null; status: string | null }> = ({ amount, status }) => (
  <td class="amount">
    {amount === null ? "–" : rupiah(amount)}
    {status !== null && <small>{shorten(status, MAX_TEXT)}</small>}
  </td>
);

/** The name of the status of a payment or refund. */
function nameOf({ words }: View, status: string | null): string | null {
  const names: Record<string, string> = { ...words.refundStatuses, ...words.statuses };
  return status && (names[status] ?? status);
}
