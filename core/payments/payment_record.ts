/**
 * Payments as records: how they are stored, changed and followed up, and their problem documents.
 */

import { fixedNames } from "../../db/records/columns.ts";
import type { NewJob } from "../../db/jobs/jobs.ts";
import { findPayment } from "../../db/payments/statements.ts";
import { paymentInserts, paymentWrites } from "../../db/writing/payment_writes.ts";
import {
  type GatewayPayment,
  type GatewayRefund,
  PAYMENT_COLUMNS,
} from "../../db/payments/payments.ts";
import { ServiceError } from "../errors.ts";
import type { PaymentEventName } from "../events/names.ts";
import type { GatewayError } from "../gateway/errors.ts";
import {
  CHECK_INVOICE_STATUS,
  CHECK_PAYMENT_STATUS,
  CHECK_SUBSCRIPTION_STATUS,
  SETTLE_CHECKOUT,
} from "../jobs/task_names.ts";
import { type JobSubject, newJob } from "../records/new_job.ts";
import { changeRecord } from "../records/change.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { isAmount } from "../money.ts";
import { createProblems } from "../records/problems.ts";
import * as records from "../records/record.ts";
import type { Service } from "../service.ts";
import { sumByStatus } from "./merge_refunds.ts";
import { canFollow, type PaymentStatus, type State } from "./states.ts";
import { type PaymentView, shownOf, viewPayment } from "./views.ts";

export const problems = createProblems<GatewayPayment>(
  ({ id, order_id }) => ({ payment_id: id, order_id }),
  ({ transaction_status }) => ({ transaction_status }),
);

export const { gatewayProblem, invalidState, problemAbout, unclearAnswer } = problems;

export function notAtGatewayYet(payment: GatewayPayment): ServiceError {
  const detail = "The gateway has not confirmed this charge yet. Retry later.";
  return problems.notAtGatewayYet(payment, detail);
}

/** The order may be paid at the gateway, so the text must not ask for another order id. */
export function orderExistsAtGateway(payment: GatewayPayment, cause: GatewayError): ServiceError {
  return problemAbout("duplicate_order", payment, "refused", {
    detail:
      "This order id exists at the gateway, and its transaction does not belong to this charge. " +
      "It may be paid: look it up at the gateway before you charge the order again.",
    cause,
  });
}

/** `limit` describes `max`, for example "the authorized amount". */
export function amountTooHigh(
  { id, order_id }: GatewayPayment,
  max: number,
  limit: string,
): ServiceError {
  const message = `must be at most ${max}, ${limit}`;
  return new ServiceError("validation_error", {
    detail: `amount: ${message}`,
    members: {
      errors: [{ field: "amount", message }],
      payment_id: id,
      order_id,
      outcome: "refused",
    },
  });
}

/**
 * The job that checks a payment. It runs after `UNANSWERED_CHECK_MS`, which is longer than any call
 * to the gateway takes.
 */
export function checkPaymentJob(payment: JobSubject, now: Date): NewJob {
  const runAt = new Date(now.getTime() + UNANSWERED_CHECK_MS);
  return newJob(CHECK_PAYMENT_STATUS, payment, { payment_id: payment.id }, { runAt, now });
}

export const paymentKind: records.CreatedKind<GatewayPayment, PaymentView> = {
  resource: "payment",
  find: findPayment,
  inserts: paymentInserts,
  writes: paymentWrites,
  view: viewPayment,
  shownOf,
  stateOf: ({ transaction_status, fraud_status }) => ({
    status: transaction_status,
    fraud: fraud_status,
  }),
  fixed: fixedNames(PAYMENT_COLUMNS),
  findViolation,
  apply: (current, { set, transition, refunds = [] }) => ({
    ...current,
    ...set,
    ...transition && {
      transaction_status: transition.to.status as PaymentStatus,
      fraud_status: transition.to.fraud,
    },
    refunds: replaceChanged(current.refunds, refunds),
  }),
  belongsInHistory: (before, after) =>
    before.transaction_status !== after.transaction_status ||
    before.refunded_amount !== after.refunded_amount ||
    before.chargeback_amount !== after.chargeback_amount ||
    (before.fraud_status !== after.fraud_status && before.transaction_id !== null),
  needsRecount: (before, after) =>
    before.user_id !== after.user_id ||
    countSucceeded(before) !== countSucceeded(after) ||
    // The gateway's first response often sets the bank, soon after the entry about the creation.
    (before.bank !== after.bank && before.transaction_id !== null),
  followUps: checkLinkedRecords,
  checkJob: checkPaymentJob,
  problems,
};

function countSucceeded({ refunds }: GatewayPayment): number {
  return refunds.filter(({ status }) => status === "succeeded").length;
}

/**
 * A change of a payment may also have changed its invoice or subscription at the gateway, and it
 * decides the state of its checkout.
 */
function checkLinkedRecords(
  before: GatewayPayment,
  after: GatewayPayment,
  cause: records.ChangeCause,
): NewJob[] {
  const { invoice_id, subscription_id, checkout_id } = after;
  // An accepted challenge keeps the status `capture`, but sets paid_at.
  const hasChanged = before.transaction_status !== after.transaction_status ||
    before.paid_at !== after.paid_at;
  const jobs: NewJob[] = [];
  if (invoice_id !== null && (hasChanged || before.invoice_id === null)) {
    jobs.push(checkInvoiceJob(invoice_id, after, cause));
  }
  if (subscription_id !== null && hasChanged) {
    const payload = {
      subscription_id,
      payment_id: after.id,
      notification_id: cause.notificationId,
    };
    const subject = { id: subscription_id, user_id: after.user_id };
    const times = { runAt: cause.now, now: cause.now };
    jobs.push(newJob(CHECK_SUBSCRIPTION_STATUS, subject, payload, times));
  }
  if (checkout_id !== null && (hasChanged || before.checkout_id === null)) {
    const subject = { id: checkout_id, user_id: after.user_id };
    const payload = { checkout_id, payment_id: after.id };
    jobs.push(newJob(SETTLE_CHECKOUT, subject, payload, { runAt: cause.now, now: cause.now }));
  }
  return jobs;
}

export function checkInvoiceJob(
  invoiceId: string,
  { id, user_id }: JobSubject,
  { now, notificationId }: records.ChangeCause,
): NewJob {
  const payload = { invoice_id: invoiceId, payment_id: id, notification_id: notificationId };
  const subject = { id: invoiceId, user_id };
  return newJob(CHECK_INVOICE_STATUS, subject, payload, { runAt: now, now });
}

function replaceChanged(known: GatewayRefund[], changed: GatewayRefund[]): GatewayRefund[] {
  if (changed.length === 0) return known;
  const byId = new Map([...known, ...changed].map((refund) => [refund.id, refund]));
  // The same order as in the database's results.
  return [...byId.values()].sort((a, b) =>
    a.created_at.getTime() - b.created_at.getTime() || (a.id < b.id ? -1 : 1)
  );
}

/** Only a transition sets these. */
type StateMember = "transaction_status" | "fraud_status" | "event_count";

/** No change sets these directly. */
type FixedMember = "id" | "version" | "created_at" | "updated_at" | "items" | "refunds";

export interface PaymentChange
  extends Omit<records.Change<GatewayPayment>, "charges" | "eventData"> {
  set?: Partial<Omit<GatewayPayment, StateMember | FixedMember>>;
  transition?: records.Transition & { to: State; events: PaymentEventName[] };
}

export async function changePayment(
  service: Service,
  known: GatewayPayment,
  decide: (current: GatewayPayment) => PaymentChange | null,
): Promise<GatewayPayment> {
  return await changeRecord(service, paymentKind, known, decide);
}

/**
 * What would be wrong with the payment and its refunds; null: nothing. `before` is null for a new
 * payment. A row that was already wrong does not stop a change: what the gateway reports must be
 * stored.
 */
function findViolation(
  payment: GatewayPayment,
  before: GatewayPayment | null,
): string | null {
  const { gross_amount, captured_amount, user_id } = payment;
  if (!isAmount(gross_amount)) return `gross_amount cannot be ${gross_amount}`;
  const isCaptured = captured_amount !== null && captured_amount !== before?.captured_amount;
  if (isCaptured && !(isAmount(captured_amount) && captured_amount <= gross_amount)) {
    return `captured_amount cannot be ${captured_amount} of ${gross_amount}`;
  }
  const owner = payment.invoice_id ?? payment.subscription_id ?? payment.checkout_id;
  if (user_id === null && owner !== null) {
    return "it belongs to an invoice, a subscription or a checkout, but to no user";
  }
  if (!before) return null;
  const ownerChange = records.findReset(payment, before, [
    "user_id",
    "invoice_id",
    "subscription_id",
    "checkout_id",
  ]);
  if (ownerChange) return ownerChange;
  const isReleased = before.transaction_id !== null && payment.transaction_id === null;
  return (isReleased ? findReleaseViolation(payment) : findStepViolation(payment, before)) ??
    (payment.refunds === before.refunds ? null : findRefundViolation(payment, before));
}

/** A payment that was adopted without an owner gives its transaction to the payment of an owner. */
function findReleaseViolation(payment: GatewayPayment): string | null {
  const { user_id, transaction_status, is_refused } = payment;
  if (user_id !== null) return "transaction_id is removed although it has a user";
  return transaction_status === "failure" && is_refused
    ? null
    : `transaction_id is removed although its status is ${transaction_status}`;
}

function findStepViolation(payment: GatewayPayment, before: GatewayPayment): string | null {
  const { transaction_status: to, refunded_amount } = payment;
  const from = before.transaction_status;
  if (!canFollow(from, to) || (before.is_refused && from !== to)) {
    return `its status cannot go from ${from} to ${to}`;
  }
  if (!(refunded_amount >= before.refunded_amount)) {
    return `refunded_amount cannot go from ${before.refunded_amount} to ${refunded_amount}`;
  }
  return records.findReset(payment, before, ["transaction_id", "paid_at"]);
}

function findRefundViolation(payment: GatewayPayment, before: GatewayPayment): string | null {
  const { gross_amount, captured_amount, refunded_amount, reserved_amount, refunds } = payment;
  const known = new Map(before.refunds.map((refund) => [refund.id, refund]));
  for (const refund of refunds) {
    const wrong = findWrongMember(payment, refund, known.get(refund.id));
    if (wrong) return `the ${wrong} of refund ${refund.id} is wrong`;
  }
  const pending = sumByStatus(refunds, "pending");
  const added = pending - sumByStatus(before.refunds, "pending");
  if (reserved_amount !== pending && reserved_amount - before.reserved_amount !== added) {
    return `reserved_amount is ${reserved_amount}, but its pending refunds are ${pending}`;
  }
  const limit = Math.min(captured_amount ?? 0, gross_amount);
  return added > 0 && refunded_amount + pending > limit
    ? `${refunded_amount + pending} of ${limit} would be refunded`
    : null;
}

/** The first member that contradicts the payment or the refund as it is stored. */
function findWrongMember(
  payment: GatewayPayment,
  refund: GatewayRefund,
  known: GatewayRefund | undefined,
): keyof GatewayRefund | null {
  if (refund.payment_id !== payment.id) return "payment_id";
  if (refund.user_id !== payment.user_id && refund.user_id !== known?.user_id) return "user_id";
  if (!isAmount(refund.amount) || (known && refund.amount !== known.amount)) return "amount";
  return known?.status === "succeeded" && refund.status !== "succeeded" ? "status" : null;
}
