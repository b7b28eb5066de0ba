/**
 * Decides how a payment changes after a report of the gateway, or after its charge was refused or
 * given up. The functions only compute: `apply_report.ts` writes the changes.
 */

import type { NewJob } from "../../db/jobs/jobs.ts";
import type { GatewayNotification } from "../../db/payments/notifications.ts";
import type { GatewayPayment, GatewayRefund } from "../../db/payments/payments.ts";
import { toStorableText } from "../gateway/json.ts";
import type { Transaction } from "../gateway/responses.ts";
import { nextCheck, UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import {
  type AcceptedRefund,
  isPendingAtBank,
  type MergedRefunds,
  mergeRefunds,
  type ReportedRefunds,
  sumAmounts,
  sumByStatus,
} from "./merge_refunds.ts";
import type { PaymentChange } from "./payment_record.ts";
import * as states from "./states.ts";
import {
  type GatewayFields,
  missingFields,
  readTransaction,
  type ReportedTransaction,
  TRANSACTION_FIELDS,
  withoutNulls,
} from "./transaction.ts";

/** What caused the report; stored in the payment's history. */
export type Source =
  | "charge"
  | "cancel"
  | "expire"
  | "capture"
  | "refund"
  | "approve"
  | "deny"
  | "check_status"
  | "check_payment_status"
  | "expire_stale_payments"
  | "check_paid_payments"
  | "check_invoice_status"
  | "check_subscription_status"
  | "take_over"
  | "notification";

/** What the gateway says about a payment. */
export interface GatewayReport {
  answer: Transaction;
  source: Source;
  /**
   * The version of the payment when its status was requested from the gateway. Null: the report is
   * not the response to a status request. It then revives an ended payment only if that payment has
   * no transaction id yet.
   */
  askedAtVersion: number | null;
  acceptedRefund?: AcceptedRefund;
  key?: PaymentChange["key"];
  /** The notification that contained the report. */
  notification?: GatewayNotification;
  /**
   * The report is a notification that was trusted without a status request. It is applied only if
   * the payment has not changed since the notification was trusted. It never changes the fields
   * that say how to pay.
   */
  isUnconfirmed?: boolean;
  /** A check that is still needed after this report. */
  followUp?: NewJob;
}

export interface Decision {
  step: states.Step;
  change: PaymentChange | null;
  /** The transaction, the amount or the currency of the report is not that of the payment. */
  isMismatch: boolean;
}

/** What a report changes in the payment as it is now. */
export function decideChange(
  current: GatewayPayment,
  report: GatewayReport,
  now: Date,
): Decision {
  const reported = readTransaction(report.answer);
  const refunds = mergeRefunds(current, reportedRefunds(report, reported), now);
  const known = knownState(current);
  const isMismatch = !hasSameTransaction(current, reported) ||
    !hasPlausibleAmount(current, reported);
  const to = {
    ...reportedState(current, report.askedAtVersion, reported, refunds.all),
    ...isMismatch && { isLatest: false },
  };
  const step = isMismatch ? "stale" : states.stepTo(known, to);
  const change = buildChange(current, report, reported, {
    step,
    to: step === "same" ? { ...to, ...states.sameState(known, to) } : to,
    refunds: step === "stale" || step === "unrecognized" ? refunds.acceptedOnly : refunds,
    now,
  });
  return { step, change, isMismatch };
}

/** The change that a report makes to a payment that has just been created from that report. */
export function firstChange(
  payment: GatewayPayment,
  report: GatewayReport,
  now: Date,
): PaymentChange {
  const reported = readTransaction(report.answer);
  const refunds = mergeRefunds(payment, reportedRefunds(report, reported), now);
  const to = reportedState(payment, report.askedAtVersion, reported, refunds.all);
  return buildChange(payment, report, reported, { step: "forward", to, refunds, now })!;
}

/** The step that a report would lead to if it were the latest one. Changes nothing. */
export function previewStep(current: GatewayPayment, answer: Transaction): states.Step {
  const to = reportedState(current, current.version, readTransaction(answer), current.refunds);
  return states.stepTo(knownState(current), to);
}

function reportedRefunds(
  { acceptedRefund, isUnconfirmed }: GatewayReport,
  { refunds, deniedRefundKey }: ReportedTransaction,
): ReportedRefunds {
  // The signature of a notification does not cover the key.
  return { listed: refunds, deniedKey: isUnconfirmed ? null : deniedRefundKey, acceptedRefund };
}

interface StepDetails {
  step: states.Step;
  to: states.ReportedState;
  refunds: MergedRefunds;
  now: Date;
}

/** Null: the report contains nothing to write. */
function buildChange(
  current: GatewayPayment,
  report: GatewayReport,
  reported: ReportedTransaction,
  { step, to, refunds, now }: StepDetails,
): PaymentChange | null {
  const isApplied = step === "forward" || step === "revived" || step === "same";
  const state = isApplied ? to : knownState(current);
  // A new charge with an unrecognized status may be payable, so its instructions are stored.
  const isFirstUnrecognized = step === "unrecognized" && current.transaction_id === null;
  const set: PaymentChange["set"] = {
    ...refunds.changed.length > 0 && {
      reserved_amount: sumByStatus(refunds.all, "pending"),
      refunded_amount: isApplied || step === "duplicate"
        ? to.refunded ?? current.refunded_amount
        : Math.max(current.refunded_amount, sumByStatus(refunds.all, "succeeded")),
    },
    ...isApplied && appliedMembers(current, report, reported, to, now),
    ...(step === "duplicate" || isFirstUnrecognized) &&
      missingFields(current, reportedFields(report, reported)),
    ...unrecognizedMembers(current, reported, step, isApplied || to.isLatest),
  };
  const checkAt = report.followUp?.run_at ??
    checkTime({ ...current, ...set }, state, refunds.all, now);
  const isDue = current.check_at !== null && current.check_at <= now;
  if (isApplied || isDue || (checkAt === null) !== (current.check_at === null)) {
    set.check_at = checkAt;
  }
  const isEmpty = Object.keys(set).length === 0 && refunds.changed.length === 0;
  if (isEmpty && !report.key && !report.followUp) return null;
  return {
    set,
    jobs: report.followUp ? [report.followUp] : [],
    refunds: refunds.changed,
    key: report.key,
    notification: report.notification &&
      withResult(report.notification, { ...current, ...set }, step),
    ...isApplied && {
      transition: {
        to: { status: to.status, fraud: to.fraud },
        events: states.eventsOf(knownState(current), to, current.paid_at !== null),
        source: report.source,
      },
    },
  };
}

/** The members that a report sets if its state is applied. */
function appliedMembers(
  current: GatewayPayment,
  report: GatewayReport,
  reported: ReportedTransaction,
  to: states.ReportedState,
  now: Date,
): PaymentChange["set"] {
  const isPaid = states.impliesPaid(to);
  const fields = reportedFields(report, reported);
  return {
    ...report.isUnconfirmed ? missingFields(current, fields) : withoutNulls(fields),
    transaction_id: current.transaction_id ?? reported.id,
    status_code: reported.statusCode ?? current.status_code,
    status_message: reported.statusMessage ?? current.status_message,
    refunded_amount: to.refunded ?? current.refunded_amount,
    captured_amount: isPaid ? current.captured_amount ?? capturedAmount(current, reported) : null,
    chargeback_amount: to.chargedBack ?? current.chargeback_amount,
    paid_at: current.paid_at ?? (isPaid ? now : null),
  };
}

/** The full amount, or a part of it if an authorization was captured in part. */
function capturedAmount({ gross_amount }: GatewayPayment, reported: ReportedTransaction): number {
  return Math.min(reported.amount ?? gross_amount, gross_amount);
}

/** Once the transaction of a payment is known, reports about other transactions are ignored. */
function hasSameTransaction(payment: GatewayPayment, reported: ReportedTransaction): boolean {
  return payment.transaction_id === null || reported.id === payment.transaction_id;
}

/** The amount may be higher (a fee on top), or lower if an authorization was captured in part. */
function hasPlausibleAmount(payment: GatewayPayment, reported: ReportedTransaction): boolean {
  const { amount, currency } = reported;
  if (currency !== null && currency !== payment.currency) return false;
  if (amount === null || amount >= payment.gross_amount) return true;
  return payment.is_hold && amount > 0;
}

function checkTime(
  payment: GatewayPayment,
  state: states.State,
  refunds: GatewayRefund[],
  now: Date,
): Date | null {
  const pending = refunds.filter(({ status }) => status === "pending");
  if (pending.length > 0) {
    // A bank can take days to make a refund. A refund with an unknown outcome is sent again soon.
    return pending.every(isPendingAtBank)
      ? nextCheck(pending[0]!.created_at, now)
      : new Date(now.getTime() + UNANSWERED_CHECK_MS);
  }
  return states.canCancel(state.status) || payment.unrecognized_status !== null
    ? nextCheck(payment.created_at, now, payment.expiry_time)
    : null;
}

function knownState(payment: GatewayPayment): states.KnownState {
  return {
    status: payment.transaction_status,
    fraud: payment.fraud_status,
    refunded: payment.refunded_amount,
    chargedBack: payment.chargeback_amount,
    isAnswered: payment.transaction_id !== null,
    isRefused: payment.is_refused,
  };
}

function reportedState(
  current: GatewayPayment,
  askedAtVersion: GatewayReport["askedAtVersion"],
  reported: ReportedTransaction,
  refunds: GatewayRefund[],
): states.ReportedState {
  const made = Math.max(sumAmounts(reported.refunds), sumByStatus(refunds, "succeeded"));
  // Only a status response states the sums of all refunds and chargebacks.
  const isStatusResponse = askedAtVersion !== null;
  const total = isStatusResponse ? reported.refundTotal : null;
  const refunded = Math.max(made, total ?? 0, current.refunded_amount);
  return {
    status: reported.status as states.PaymentStatus,
    fraud: reported.fraud ?? current.fraud_status,
    refunded,
    chargedBack: isStatusResponse ? partialChargeback(current, reported, refunded) : null,
    isLatest: askedAtVersion === current.version,
  };
}

/**
 * The signature of a notification does not cover these fields. So an unconfirmed report sets only
 * the settlement time, and none of the fields that say how to pay.
 */
function reportedFields(
  { isUnconfirmed }: GatewayReport,
  { fields }: ReportedTransaction,
): Partial<GatewayFields> {
  return isUnconfirmed ? { settlement_time: fields.settlement_time } : fields;
}

/**
 * The amount of a partial chargeback. Null: there is none, its amount is not reported, or the
 * reported amount is not possible.
 */
function partialChargeback(
  { gross_amount, captured_amount }: GatewayPayment,
  { status, chargebackTotal }: ReportedTransaction,
  refunded: number,
): number | null {
  if (status !== "partial_chargeback" || chargebackTotal === null) return null;
  const isPossible = chargebackTotal > 0 &&
    chargebackTotal <= (captured_amount ?? gross_amount) - refunded;
  return isPossible ? chargebackTotal : null;
}

/** Longer than every status of the gateway. */
const MAX_STATUS_LENGTH = 50;

/**
 * With a status that the service does not know, a payment keeps its last known status and is
 * checked again until the gateway reports a known one. The transaction id is stored too, so that
 * these checks find the transaction. A report of a known status clears the unrecognized status if
 * the report was applied or is the latest one (`isDecisive`).
 */
function unrecognizedMembers(
  { transaction_id, unrecognized_status }: GatewayPayment,
  { id, status }: ReportedTransaction,
  step: states.Step,
  isDecisive: boolean,
): Partial<Pick<GatewayPayment, "transaction_id" | "unrecognized_status">> {
  if (step === "unrecognized") {
    const text = toStorableText(status!.slice(0, MAX_STATUS_LENGTH));
    return text === unrecognized_status
      ? {}
      : { unrecognized_status: text, transaction_id: transaction_id ?? id };
  }
  return isDecisive && unrecognized_status !== null ? { unrecognized_status: null } : {};
}

/** The notification with its result, which depends on the step. */
export function withResult(
  notification: GatewayNotification,
  payment: GatewayPayment,
  step: states.Step,
): GatewayNotification {
  const isIgnored = step === "duplicate" || step === "stale";
  const status = isIgnored ? step : "processed";
  const error_message = step === "unrecognized" ? describeUnrecognized(payment) : null;
  return { ...notification, payment_id: payment.id, status, error_message };
}

/** The error text for the log and for the notification that reported the status. */
export function describeUnrecognized({ unrecognized_status }: GatewayPayment): string {
  return `The gateway reports the status "${unrecognized_status}", which the service does not ` +
    "know. The payment keeps its status and is checked again.";
}

/** Null: the charge was answered after all, or the payment cannot fail any more. */
export function buildFailure(
  current: GatewayPayment,
  source: Source,
  { set, key }: PaymentChange,
  isEventNeeded = true,
): PaymentChange | null {
  const known = knownState(current);
  const to = { status: "failure", fraud: null, refunded: null, isLatest: false } as const;
  if (known.isAnswered || states.stepTo(known, to) !== "forward") return null;
  return {
    set: { ...set, check_at: null },
    transition: { to, events: isEventNeeded ? states.eventsOf(known, to, false) : [], source },
    key,
  };
}

/** The change of the payment that takes over the transaction of an adopted payment. */
export function buildTakeOver(
  current: GatewayPayment,
  adopted: GatewayPayment,
  source: Source,
): PaymentChange {
  const to = { ...knownState(adopted), isLatest: true };
  const events = states.eventsOf(knownState(current), to, current.paid_at !== null);
  return {
    set: Object.fromEntries(TRANSACTION_FIELDS.map((name) => [name, adopted[name]])),
    transition: { to: { status: to.status, fraud: to.fraud }, events, source },
  };
}

/** The change of the adopted payment. There is no event, because the order did not fail. */
export function buildRelease(owner: GatewayPayment, source: Source): PaymentChange {
  return {
    set: {
      transaction_id: null,
      captured_amount: null,
      refunded_amount: 0,
      chargeback_amount: null,
      reserved_amount: 0,
      unrecognized_status: null,
      settlement_time: null,
      paid_at: null,
      check_at: null,
      is_refused: true,
      status_message: `The transaction belongs to payment ${owner.id}.`,
    },
    transition: { to: { status: "failure", fraud: null }, events: [], source },
  };
}
