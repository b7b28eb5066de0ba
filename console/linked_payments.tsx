/** The payments of an invoice or a subscription, as links. */

import type { FC } from "hono/jsx";
import type { PaymentSummary } from "../core/payments/views.ts";
import { methodName, rupiah } from "./format.ts";
import { Table, Time } from "./frame.tsx";
import { Status } from "./payments.tsx";
import type { View } from "./session.ts";

interface LinkedPaymentsProps {
  view: View;
  title: string;
  payments: PaymentSummary[];
  /** Shown if there are none. */
  none: string;
}

export const LinkedPayments: FC<LinkedPaymentsProps> = ({ view, title, payments, none }) => {
  const { root, words } = view;
  return (
    <section class="card" aria-labelledby="payments">
      <h2 id="payments">{title}</h2>
      {payments.length === 0 ? <p class="help">{none}</p> : (
        <Table
          columns={[
            words.created,
            words.order,
            words.method,
            <span class="amount">{words.amount}</span>,
            words.status,
          ]}
        >
          {payments.map((payment) => (
            <tr>
              <td>
                <Time view={view} at={payment.created_at} />
              </td>
              <td>
                <a href={`${root}/payments/${payment.id}/`}>{payment.order_id}</a>
              </td>
              <td>{methodName(payment.payment_type)}</td>
              <td class="amount">{rupiah(payment.gross_amount)}</td>
              <td>
                <Status view={view} payment={payment} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
};
