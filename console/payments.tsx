/** `/console/payments/`: finds payments. */

import type { Child, FC } from "hono/jsx";
import type { FieldError } from "../core/errors.ts";
import type { Position } from "../core/page.ts";
import type { PaymentSummary } from "../core/payments/views.ts";
import { exportPayments } from "../core/reports/exports.ts";
import { EXPORT_PAGE } from "../core/reports/export_stream.ts";
import { sendFile } from "../routes/exports/routes.ts";
import { encodePosition } from "../routes/shared/page.ts";
import { validationError } from "../routes/shared/router.ts";
import { type ConsoleBase, EVENT_NAMES } from "./base.tsx";
import { explainField, type FieldLabels } from "./explain.ts";
import { methodName, rupiah } from "./format.ts";
import { Frame, Table, Time } from "./frame.tsx";
import { ExportLink, PAGE_SIZE } from "./lists.tsx";
import { PaymentFilters } from "./payment_filters.tsx";
import {
  type Column,
  errorsOf,
  parseView,
  type PaymentQuery,
  readQuery,
  searchOf,
} from "./payment_query.ts";
import type { SignedInView, View } from "./session.ts";

const PATH = "/payments/";

export function addPayments({ deps, router, signedIn, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const query = readQuery(c.req.url);
    const found = await find(view, query);
    return page(c, <PaymentsPage {...{ view, query }} {...found} />, found.errors ? 400 : 200);
  });

  router.get(`${PATH}export/`, async (c) => {
    const { session } = await signedIn(c);
    const parsed = parseView(deps, session.caller, { ...readQuery(c.req.url), cursor: "" });
    if ("errors" in parsed) throw validationError(parsed.errors);
    const source = exportPayments(deps, session.caller, async (after: Position | null) => {
      const { payments, next } = await parsed.readView(EXPORT_PAGE, after);
      return { items: payments, next };
    });
    return await sendFile(c, deps.exports, "payments", { ...source, hasByteOrderMark: true });
  });

  async function find({ session }: SignedInView, query: PaymentQuery): Promise<Found> {
    const parsed = parseView(deps, session.caller, query);
    if ("errors" in parsed) return { payments: [], next: null, errors: parsed.errors };
    try {
      const { payments, next } = await parsed.readView(PAGE_SIZE, parsed.start);
      return { payments, next: next && encodePosition(next), errors: null };
    } catch (thrown) {
      return { payments: [], next: null, errors: errorsOf(thrown) };
    }
  }
}

interface Found {
  payments: PaymentSummary[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
  /** What is wrong with the filters. */
  errors: FieldError[] | null;
}

/** The core has other names for some of the filters. */
function labelsOf({ words }: SignedInView): FieldLabels {
  const { labels } = words.paymentsPage;
  return { ...labels, created_from: labels.from, created_to: labels.to };
}

const PaymentsPage: FC<Found & { view: SignedInView; query: PaymentQuery }> = (props) => {
  const { view, query, payments, next, errors } = props;
  const { root, words } = view;
  return (
    <Frame
      view={view}
      title={words.payments}
      path={PATH}
      live={query.cursor === "" ? "*" : undefined}
      events={EVENT_NAMES}
    >
      <div class="heading">
        <h1>{words.payments}</h1>
        {!errors && (
          <ExportLink view={view} path={PATH} search={searchOf({ ...query, cursor: "" })} />
        )}
      </div>
      <PaymentFilters view={view} query={query} />
      {errors && (
        <div role="alert" class="error">
          <p>{words.invalidFilter}</p>
          <ul>{errors.map((each) => <li>{explainField(view, each, labelsOf(view))}</li>)}</ul>
        </div>
      )}
      <div data-part="payments">
        {payments.length > 0 && (
          <PaymentTable view={view} payments={payments} columns={query.columns} />
        )}
        {payments.length === 0 && !errors && (
          <p class="empty">{next === null ? words.noPayments : words.noPaymentsOnPage}</p>
        )}
        {next !== null && (
          <a class="next" href={`${root}${PATH}?${searchOf({ ...query, cursor: next })}`}>
            {words.nextPage}
          </a>
        )}
      </div>
    </Frame>
  );
};

interface PaymentTableProps {
  view: SignedInView;
  payments: PaymentSummary[];
  columns: readonly Column[];
}

export const PaymentTable: FC<PaymentTableProps> = ({ view, payments, columns }) => {
  const { words } = view;
  return (
    <Table
      class="payments"
      columns={columns.map((column) => words.paymentsPage.columnNames[column])}
      amounts={columns.flatMap((column, index) => AMOUNTS.includes(column) ? [index] : [])}
    >
      {payments.map((payment) => (
        <tr>
          {columns.map((column) => {
            const cell = CELLS[column](view, payment);
            return AMOUNTS.includes(column) ? <td class="amount">{cell}</td> : <td>{cell}</td>;
          })}
        </tr>
      ))}
    </Table>
  );
};

const AMOUNTS: readonly Column[] = ["amount", "refunded", "net"];

const CELLS: Record<Column, (view: SignedInView, payment: PaymentSummary) => Child> = {
  created: (view, { created_at }) => <Time view={view} at={created_at} />,
  order: ({ root }, { id, order_id }) => <a href={`${root}${PATH}${id}/`}>{order_id}</a>,
  customer: (_, { customer_email }) => customer_email ?? "–",
  name: (_, { customer_first_name }) => customer_first_name ?? "–",
  method: (_, { payment_type }) => methodName(payment_type),
  amount: (_, { gross_amount }) => rupiah(gross_amount),
  refunded: (_, { refund_amount }) => rupiah(refund_amount),
  net: (_, { net_amount }) => rupiah(net_amount),
  status: (view, payment) => <Status view={view} payment={payment} />,
  fraud: ({ words }, { fraud_status }) =>
    fraud_status ? words.paymentsPage.fraudStatuses[fraud_status] ?? fraud_status : "–",
  settled: (view, { settlement_time }) => <Time view={view} at={settlement_time} />,
  user: (_, { user_id }) => user_id ?? "–",
  id: (_, { id }) => <code>{id}</code>,
};

interface StatusProps {
  view: View;
  payment: Pick<PaymentSummary, "transaction_status" | "fraud_status">;
}

/** The state as a coloured label. A challenged card payment is shown as such. */
export const Status: FC<StatusProps> = ({ view, payment }) => {
  const { transaction_status: status, fraud_status } = payment;
  const isChallenged = fraud_status === "challenge" &&
    (status === "capture" || status === "authorize");
  return (
    <span class={`status ${isChallenged ? "challenge" : status}`}>
      {isChallenged ? view.words.challenged : view.words.statuses[status]}
    </span>
  );
};
