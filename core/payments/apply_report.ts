/** Applies the gateway's reports to payments. No other code changes the state of a payment. */

import { constraintOf } from "../../db/database.ts";
import type { NewJob } from "../../db/jobs.ts";
import type { GatewayNotification } from "../../db/notifications.ts";
import type { GatewayPayment, GatewayRefund } from "../../db/payments.ts";
import { GatewayAPIError, type GatewayError } from "../gateway/errors.ts";
import type { Transaction } from "../gateway/responses.ts";
import { nextCheck, UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import {
  type AcceptedRefund,
  isPendingAtBank,
  type MergedRefunds,
  mergeRefunds,
  sumAmounts,
  sumByStatus,
} from "./merge_refunds.ts";
import { changePayment, type PaymentChange, type PaymentDeps } from "./payment_record.ts";
import * as states from "./states.ts";
import {
  type GatewayFields,
  missingFields,
  partialChargeback,
  readTransaction,
  type ReportedTransaction,
  withoutNulls,
} from "./transaction.ts";
import { describeUnrecognized, unrecognizedMembers } from "./unrecognized.ts";

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
   * the payment has not changed since then, and never changes the fields that say how to pay.
   */
  isUnconfirmed?: boolean;
  /** A check that is still needed after this report. */
  followUp?: NewJob;
}

export interface AppliedReport {
  payment: GatewayPayment;
  step: states.Step;
  /** The report's notification with its result. */
  notification: GatewayNotification | undefined;
  /** Whether the notification was written together with the change. */
  isNotificationWritten: boolean;
  /** An unconfirmed report was not applied, because the payment has changed meanwhile. */
  isOutdated: boolean;
}

interface Decision {
  step: states.Step;
  change: PaymentChange | null;
  isOutdated: boolean;
  /** The report names another transaction or amount than the payment's. */
  isMismatch: boolean;
}

/** Applies what is new in the report; changes nothing if it contains nothing new. */
export async function applyReport(
  deps: PaymentDeps,
  known: GatewayPayment,
  report: GatewayReport,
): Promise<AppliedReport> {
  const reported = readTransaction(report.answer);
  let decision = undefined as Decision | undefined;
  const payment = await changeOrThrowConflict(deps, known, (current) => {
    const isOutdated = report.isUnconfirmed === true && current.version !== known.version;
    decision = isOutdated
      ? { step: "duplicate", change: null, isOutdated, isMismatch: false }
      : decide(current, report, reported, new Date(deps.clock()));
    return decision.change;
  });
  const { step, change, isOutdated, isMismatch } = decision!;
  if (change?.set?.unrecognized_status) {
    const error = new Error(describeUnrecognized(payment));
    deps.log.error("unrecognized_status", error, { payment_id: payment.id });
  }
  if (isMismatch) {
    const error = new Error("The reported transaction or amount differs from the payment's");
    deps.log.error("report_does_not_match", error, { payment_id: payment.id });
  }
  const notification = report.notification && withResult(report.notification, payment, step);
  const isNotificationWritten = change !== null && notification !== undefined;
  return { payment, step, notification, isNotificationWritten, isOutdated };
}

function decide(
  current: GatewayPayment,
  report: GatewayReport,
  reported: ReportedTransaction,
  now: Date,
): Decision {
  const refunds = mergeRefunds(current, reported.refunds, report.acceptedRefund, now);
  const known = knownState(current);
  const isMismatch = !hasSameTransaction(current, reported) ||
    !hasPlausibleAmount(current, reported);
  const to = {
    ...reportedState(current, report, reported, refunds.all),
    ...isMismatch && { isLatest: false },
  };
  const step = isMismatch ? "stale" : states.stepTo(known, to);
  const change = buildChange(current, report, reported, {
    step,
    to: step === "same" ? { ...to, ...states.sameState(known, to) } : to,
    refunds: step === "stale" || step === "unrecognized" ? refunds.acceptedOnly : refunds,
    now,
  });
  return { step, change, isOutdated: false, isMismatch };
}

/** The step that a report would lead to if it were the latest one. Changes nothing. */
export function previewTransition(current: GatewayPayment, answer: Transaction): states.Step {
  const report: GatewayReport = { answer, source: "notification", askedAtVersion: current.version };
  const to = reportedState(current, report, readTransaction(answer), current.refunds);
  return states.stepTo(knownState(current), to);
}

/** The change that a report makes to a payment that has just been created from that report. */
export function firstChange(
  payment: GatewayPayment,
  report: GatewayReport,
  now: Date,
): PaymentChange {
  const reported = readTransaction(report.answer);
  const refunds = mergeRefunds(payment, reported.refunds, report.acceptedRefund, now);
  const to = reportedState(payment, report, reported, refunds.all);
  return buildChange(payment, report, reported, { step: "forward", to, refunds, now })!;
}

/** The notification with its result, which depends on the step. */
function withResult(
  notification: GatewayNotification,
  payment: GatewayPayment,
  step: states.Step,
): GatewayNotification {
  const isIgnored = step === "duplicate" || step === "stale";
  const status = isIgnored ? step : "processed";
  const error_message = step === "unrecognized" ? describeUnrecognized(payment) : null;
  return { ...notification, payment_id: payment.id, status, error_message };
}

/** The gateway refused the charge: there is no transaction, and there never will be one. */
export async function applyRefusal(
  deps: PaymentDeps,
  known: GatewayPayment,
  { statusCode, message }: GatewayError,
  key: PaymentChange["key"],
): Promise<GatewayPayment> {
  return await changePayment(deps, known, (current) => {
    const set = { is_refused: true, status_code: statusCode, status_message: message };
    return buildFailure(current, "charge", { set, key }) ?? (key ? { key } : null);
  });
}

/** Sets the status `failure` if the grace period of the charge is over. */
export async function giveUpCharge(
  deps: PaymentDeps,
  known: GatewayPayment,
  source: Source,
): Promise<GatewayPayment> {
  return await changePayment(deps, known, (current) => {
    // A retry may have sent the charge again, which starts a new grace period.
    const isOver = graceEnd(current).getTime() <= deps.clock();
    return isOver ? buildFailure(current, source, {}) : null;
  });
}

/** Null: the charge was answered after all, or the payment cannot fail any more. */
function buildFailure(
  current: GatewayPayment,
  source: Source,
  { set, key }: PaymentChange,
): PaymentChange | null {
  const known = knownState(current);
  const to = { status: "failure", fraud: null, refunded: null, isLatest: false } as const;
  if (known.isAnswered || states.stepTo(known, to) !== "forward") return null;
  return {
    set: { ...set, check_at: null },
    transition: { to, events: states.eventsOf(known, to, false), source },
    key,
  };
}

const MINUTE = 60_000;

const GRACE_MS = 15 * MINUTE;

/**
 * DANA transactions cannot be found by order id, so a DANA charge that is not found may still exist. It
 * is given up only after a day, when the customer can no longer pay it.
 */
const DANA_GRACE_MS = 25 * 60 * MINUTE;

/** After this time, a charge that the gateway does not list is treated as never made. */
export function graceEnd(payment: { payment_type: string; sent_at: Date }): Date {
  const grace = payment.payment_type === "dana" ? DANA_GRACE_MS : GRACE_MS;
  return new Date(payment.sent_at.getTime() + grace);
}

/** Throws a `GatewayError` if the reported transaction already belongs to another payment. */
async function changeOrThrowConflict(
  ...[deps, known, decideChange]: Parameters<typeof changePayment>
): Promise<GatewayPayment> {
  try {
    return await changePayment(deps, known, decideChange);
  } catch (cause) {
    if (constraintOf(cause) !== "payments_transaction_id_key") throw cause;
    const error = new GatewayAPIError(
      "The gateway reported a transaction that belongs to another payment",
      { failure: "answered", outcome: "unknown" },
    );
    deps.log.error("transaction_of_another_payment", error, { payment_id: known.id });
    throw error;
  }
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
  // The customer can pay a new charge with an unknown status, so the payment instructions are stored.
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

/** A payment is one transaction. Once its id is known, reports about other transactions are ignored. */
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
  { askedAtVersion }: GatewayReport,
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

/** Only the settlement time of an unconfirmed notification is used: the others could be forged. */
function reportedFields(
  { isUnconfirmed }: GatewayReport,
  { fields }: ReportedTransaction,
): Partial<GatewayFields> {
  return isUnconfirmed ? { settlement_time: fields.settlement_time } : fields;
}
