/** The payments of an invoice or a subscription, as links. */

import type { FC } from "hono/jsx";
import type { PaymentSummary } from "../../core/payments/views.ts";
import { Card } from "../shared/elements.tsx";
import { DEFAULT_COLUMNS } from "./query.ts";
import { PaymentTable } from "./table.tsx";
import type { SignedInView } from "../shared/session.ts";

interface LinkedPaymentsProps {
  view: SignedInView;
  title: string;
  payments: PaymentSummary[];
  /** Shown if there are none. */
  none: string;
}

const COLUMNS = DEFAULT_COLUMNS.filter((column) => column !== "customer");

export const LinkedPayments: FC<LinkedPaymentsProps> = ({ view, title, payments, none }) => (
  <Card id="payments" title={title}>
    {payments.length === 0
      ? <p class="help">{none}</p>
      : <PaymentTable view={view} payments={payments} columns={COLUMNS} />}
  </Card>
);
