/** Payments as records. */

import { findPayment, paymentWrites } from "../../db/payment_statements.ts";
import type { GatewayPayment, GatewayRefund } from "../../db/payments.ts";
import { lookAtInvoice } from "../invoices/check_job.ts";
import type { Kind } from "../records/kind.ts";
import { lookAtSubscription } from "../subscriptions/check_job.ts";
import { checkJob } from "./check_job.ts";
import { problems } from "./problems.ts";
import type { PaymentStatus } from "./states.ts";
import { type PaymentView, viewPayment } from "./views.ts";

export const paymentKind: Kind<GatewayPayment, PaymentView> = {
  resource: "payment",
  find: findPayment,
  writing: paymentWrites,
  view: viewPayment,
  stateOf: ({ transaction_status, fraud_status }) => ({
    status: transaction_status,
    fraud: fraud_status,
  }),
  apply: (current, { set, transition, refunds = [] }) => ({
    ...current,
    ...set,
    ...transition && {
      transaction_status: transition.to.status as PaymentStatus,
      fraud_status: transition.to.fraud,
    },
    refunds: merge(current.refunds, refunds),
  }),
  isNews: (before, after) =>
    before.transaction_status !== after.transaction_status ||
    before.refunded_amount !== after.refunded_amount ||
    (before.fraud_status !== after.fraud_status && before.transaction_id !== null),
  followUps(before, after, cause) {
    const { invoice_id, subscription_id } = after;
    // A challenge that is accepted stays a capture, but is paid.
    const isNews = before.transaction_status !== after.transaction_status ||
      before.paid_at !== after.paid_at;
    return [
      ...invoice_id !== null && (isNews || before.invoice_id === null)
        ? [lookAtInvoice(invoice_id, after, cause)]
        : [],
      ...subscription_id !== null && isNews
        ? [lookAtSubscription(subscription_id, after, cause)]
        : [],
    ];
  },
  checkJob,
  problems,
};

function merge(known: GatewayRefund[], news: GatewayRefund[]): GatewayRefund[] {
  if (news.length === 0) return known;
  const byId = new Map([...known, ...news].map((refund) => [refund.id, refund]));
  // As they will be read.
  return [...byId.values()].sort((a, b) =>
    a.created_at.getTime() - b.created_at.getTime() || (a.id < b.id ? -1 : 1)
  );
}
