/** The table of payments, and the status of a payment as a label. */

import type { Child, FC } from "hono/jsx";
import type { PaymentSummary } from "../../core/payments/views.ts";
import { Table, Time } from "../shared/elements.tsx";
import { fraudStatusName, methodName, rupiah } from "../shared/format.ts";
import type { Column } from "./query.ts";
import type { SignedInView, View } from "../shared/session.ts";

interface PaymentTableProps {
  view: SignedInView;
  payments: PaymentSummary[];
  columns: readonly Column[];
}

export const PaymentTable: FC<PaymentTableProps> = ({ view, payments, columns }) => {
  const { words } = view;
  return (
    <Table
      label={words.payments}
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
  order: ({ root }, { id, order_id }) => <a href={`${root}/payments/${id}/`}>{order_id}</a>,
  customer: (_, { customer_email }) => customer_email ?? "–",
  name: (_, { customer_first_name }) => customer_first_name ?? "–",
  method: ({ words }, { payment_type }) => methodName(words, payment_type),
  amount: (_, { gross_amount }) => rupiah(gross_amount),
  refunded: (_, { refund_amount }) => rupiah(refund_amount),
  net: (_, { net_amount }) => rupiah(net_amount),
  status: (view, payment) => <PaymentStatusLabel view={view} payment={payment} />,
  fraud: ({ words }, { fraud_status }) => fraud_status ? fraudStatusName(words, fraud_status) : "–",
  settled: (view, { settlement_time }) => <Time view={view} at={settlement_time} />,
  user: (_, { user_id }) => user_id ?? "–",
  id: (_, { id }) => <code>{id}</code>,
};

interface PaymentStatusProps {
  view: View;
  payment: Pick<PaymentSummary, "transaction_status" | "fraud_status">;
}

/** The state as a coloured label. A challenged card payment is shown as such. */
export const PaymentStatusLabel: FC<PaymentStatusProps> = ({ view, payment }) => {
  const { transaction_status: status, fraud_status } = payment;
  const isChallenged = fraud_status === "challenge" &&
    (status === "capture" || status === "authorize");
  return (
    <span class={`status ${isChallenged ? "challenge" : status}`}>
      {isChallenged ? view.words.challenged : view.words.statuses[status]}
    </span>
  );
};
