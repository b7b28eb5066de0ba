/** The table of payments, and the status of a payment as a label. */

import type { Child, FC } from "hono/jsx";
import type { PaymentSummary, PaymentView } from "../../core/payments/views.ts";
import { breakEmail } from "../shared/customer_link.tsx";
import { Table, Time } from "../shared/elements.tsx";
import { cardName, fraudStatusName, methodName, rupiah } from "../shared/format.ts";
import { type Column, paymentCode } from "./query.ts";
import type { SignedInView, View } from "../shared/session.ts";
import type { Words } from "../words/words.ts";

/** Other columns than those of the summary need the whole payment. */
export type ListedPayment = PaymentSummary & Partial<PaymentView>;

interface PaymentTableProps {
  view: SignedInView;
  payments: ListedPayment[];
  columns: readonly Column[];
}

export const PaymentTable: FC<PaymentTableProps> = ({ view, payments, columns }) => {
  const { words } = view;
  return (
    <Table
      label={words.payments}
      class="payments cards"
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

const AMOUNTS: readonly Column[] = ["amount", "refunded", "net", "fee", "payout"];

const CELLS: Record<Column, (view: SignedInView, payment: ListedPayment) => Child> = {
  created: (view, { created_at }) => <Time view={view} at={created_at} />,
  order: ({ root }, { id, order_id }) => <a href={`${root}/payments/${id}/`}>{order_id}</a>,
  customer: (_, { customer_email }) => breakEmail(customer_email) ?? "–",
  name: (_, { customer_first_name, customer_last_name }) =>
    [customer_first_name, customer_last_name].filter(Boolean).join(" ") || "–",
  phone: (_, { customer_phone }) => customer_phone ?? "–",
  method: ({ words }, { payment_type }) => methodName(words, payment_type),
  code: (_, payment) => paymentCode(payment) ?? "–",
  card: (_, { card }) => card ? cardName(card) || "–" : "–",
  approval: (_, { card }) => card?.approval_code ?? "–",
  amount: (_, { gross_amount }) => rupiah(gross_amount),
  refunded: (_, { refund_amount }) => rupiah(refund_amount),
  net: (_, { net_amount }) => rupiah(net_amount),
  fee: (_, { fee_amount }) => fee_amount ? rupiah(fee_amount) : "–",
  payout: (_, { payout_amount }) => payout_amount ? rupiah(payout_amount) : "–",
  status: (view, payment) => <PaymentStatusLabel view={view} payment={payment} />,
  fraud: ({ words }, { fraud_status }) => fraud_status ? fraudStatusName(words, fraud_status) : "–",
  settled: (view, { settlement_time }) => <Time view={view} at={settlement_time} />,
  transaction: (_, { transaction_id }) => transaction_id ? <code>{transaction_id}</code> : "–",
  user: (_, { user_id }) => user_id ?? "–",
  id: (_, { id }) => <code>{id}</code>,
};

interface PaymentStatusProps {
  view: View;
  payment: Pick<PaymentSummary, "transaction_status" | "fraud_status">;
}

/** The state as a coloured label. A challenged card payment is shown as such. */
export const PaymentStatusLabel: FC<PaymentStatusProps> = ({ view, payment }) => (
  <span class={`status ${isChallenged(payment) ? "challenge" : payment.transaction_status}`}>
    {paymentStatusText(view.words, payment)}
  </span>
);

export function paymentStatusText(words: Words, payment: PaymentStatusProps["payment"]): string {
  return isChallenged(payment) ? words.challenged : words.statuses[payment.transaction_status];
}

function isChallenged(payment: PaymentStatusProps["payment"]): boolean {
  const { transaction_status: status, fraud_status } = payment;
  return fraud_status === "challenge" && (status === "capture" || status === "authorize");
}
