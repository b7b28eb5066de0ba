/** Applies the gateway's reports to payments. No other code changes the state of a payment. */

import { constraintOf, type Sql } from "../../db/connection/database.ts";
import type { NewJob } from "../../db/jobs/jobs.ts";
import type { GatewayNotification } from "../../db/payments/notifications.ts";
import type { GatewayPayment, GatewayRefund } from "../../db/payments/payments.ts";
import { findPayment, findPaymentOfTransaction } from "../../db/payments/statements.ts";
import { lockPayments, moveRowsOfPayment, paymentWrites } from "../../db/writing/payment_writes.ts";
import { type GatewayError, unusableResponse } from "../gateway/errors.ts";
import { toStorableText } from "../gateway/json.ts";
import type { Transaction } from "../gateway/responses.ts";
import { buildWrite, dispatchAfterCommit } from "../records/change.ts";
import { nextCheck, UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import type { Service } from "../service.ts";
import {
  type AcceptedRefund,
  isPendingAtBank,
  type MergedRefunds,
  mergeRefunds,
  type ReportedRefunds,
  sumAmounts,
  sumByStatus,
} from "./merge_refunds.ts";
import { mergeCard } from "./card.ts";
import { changePayment, type PaymentChange, paymentKind } from "./payment_record.ts";
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
  /** The transaction, the amount or the currency of the report is not that of the payment. */
  isMismatch: boolean;
}

/** The decision about a report that is not applied. */
const NOT_APPLIED: Decision = { step: "duplicate", change: null, isMismatch: false };

/**
 * Applies what is new in the report. If nothing is new, only stores the reply of the report's key
 * and the time of the next check, if needed.
 */
export async function applyReport(
  service: Service,
  known: GatewayPayment,
  report: GatewayReport,
): Promise<AppliedReport> {
  let isOutdated = false;
  let decision = NOT_APPLIED;
  const decide = (current: GatewayPayment) => {
    isOutdated = report.isUnconfirmed === true && current.version !== known.version;
    decision = isOutdated ? NOT_APPLIED : decideChange(current, report, new Date(service.clock()));
    return decision.change;
  };
  const payment = await changeOrTakeOver(service, known, report, decide);
  const { step, change, isMismatch } = decision;
  if (change?.set?.unrecognized_status) {
    const error = new Error(describeUnrecognized(payment));
    service.log.error("unrecognized_status", error, { payment_id: payment.id });
  }
  if (isMismatch) {
    const error = new Error("The reported transaction or amount differs from the payment's");
    service.log.error("report_does_not_match", error, { payment_id: payment.id });
  }
  const notification = report.notification && withResult(report.notification, payment, step);
  const isNotificationWritten = change !== null && notification !== undefined;
  return { payment, step, notification, isNotificationWritten, isOutdated };
}

/**
 * If the reported transaction was adopted without an owner, it moves to this payment. Throws a
 * `GatewayError` if it belongs to another payment.
 */
async function changeOrTakeOver(
  service: Service,
  known: GatewayPayment,
  { answer, source }: GatewayReport,
  decide: (current: GatewayPayment) => PaymentChange | null,
): Promise<GatewayPayment> {
  try {
    return await changePayment(service, known, decide);
  } catch (cause) {
    if (constraintOf(cause) !== "payments_transaction_id_key") throw cause;
    const owner = await takeOverTransaction(service, known, answer.transaction_id!, source);
    if (owner) return await changePayment(service, owner, decide);
    const error = unusableResponse(
      "The gateway reported a transaction that belongs to another payment",
    );
    service.log.error("transaction_of_another_payment", error, { payment_id: known.id });
    throw error;
  }
}

/**
 * Moves a transaction from an adopted payment without an owner to the payment whose charge created
 * it. A transaction is adopted too early if the service could not tell that the charge created it.
 * Returns the payment with the transaction, in the state of the adopted payment, and with its
 * refunds and notifications. Null: the transaction belongs to another payment.
 */
async function takeOverTransaction(
  service: Service,
  { id }: GatewayPayment,
  transactionId: string,
  source: Source,
): Promise<GatewayPayment | null> {
  const written = await service.database.transaction(async (sql) => {
    const pair = await lockPair(sql, id, transactionId);
    if (!pair) return null;
    const { owner, adopted } = pair;
    // The release comes first: no two payments can have the same transaction id.
    const changes = [
      { current: adopted, change: buildRelease(owner, source) },
      { current: owner, change: buildTakeOver(owner, adopted, source) },
    ];
    const writes = changes.map(({ current, change }) =>
      buildWrite(service, paymentKind, current, change)
    );
    await moveRowsOfPayment(sql, adopted, owner);
    const results = [];
    for (const write of writes) {
      results.push({ write, ...(await paymentWrites.run(sql, [write]))[0]! });
    }
    return { results, payment: await findPayment(sql, id) };
  }, "take over transaction");
  for (const { write, ...result } of written?.results ?? []) {
    dispatchAfterCommit(service, write, result);
  }
  if (written) service.log.info("transaction_taken_over", { payment_id: id });
  return written?.payment ?? null;
}

/** Null: the transaction cannot move to this payment. */
async function lockPair(
  sql: Sql,
  id: string,
  transactionId: string,
): Promise<{ owner: GatewayPayment; adopted: GatewayPayment } | null> {
  const known = await findPaymentOfTransaction(sql, transactionId);
  if (!known || known.id === id || known.user_id !== null) return null;
  await lockPayments(sql, [id, known.id]);
  const owner = await findPayment(sql, id);
  const adopted = await findPayment(sql, known.id);
  // Both may have changed before they were locked.
  const canMove = owner && adopted && owner.transaction_id === null && !owner.is_refused &&
    adopted.transaction_id === transactionId && adopted.user_id === null &&
    adopted.order_id === owner.order_id;
  return canMove ? { owner, adopted } : null;
}

/** The change of the payment that takes over the transaction of an adopted payment. */
function buildTakeOver(
  current: GatewayPayment,
  adopted: GatewayPayment,
  source: Source,
): PaymentChange {
  const to = { ...knownState(adopted), isLatest: true };
  const events = states.eventsOf(knownState(current), to, current.paid_at !== null);
  const { captured_amount } = adopted;
  return {
    set: {
      ...Object.fromEntries(TRANSACTION_FIELDS.map((name) => [name, adopted[name]])),
      // The amount of the adopted payment may include a fee that the customer paid on top.
      captured_amount: captured_amount && Math.min(captured_amount, current.gross_amount),
    },
    transition: { to: { status: to.status, fraud: to.fraud }, events, source },
  };
}

/** The change of the adopted payment. There is no event, because the order did not fail. */
function buildRelease(owner: GatewayPayment, source: Source): PaymentChange {
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

/**
 * The gateway refused the charge: there is no transaction, and there never will be one. The event
 * `payment_failed` is omitted if the order may be paid by a transaction that is not of this
 * payment: a receiver of the event would cancel the order.
 */
export async function applyRefusal(
  service: Service,
  known: GatewayPayment,
  { statusCode, message }: GatewayError,
  { key, isEventNeeded }: { key: PaymentChange["key"]; isEventNeeded: boolean },
): Promise<GatewayPayment> {
  return await changePayment(service, known, (current) => {
    const set = { is_refused: true, status_code: statusCode, status_message: message };
    return buildFailure(current, "charge", { set, key }, isEventNeeded) ?? (key ? { key } : null);
  });
}

/** Sets the status `failure` if the grace period of the charge is over. */
export async function giveUpCharge(
  service: Service,
  known: GatewayPayment,
  source: Source,
): Promise<GatewayPayment> {
  return await changePayment(service, known, (current) => {
    // A retry may have sent the charge again, which starts a new grace period.
    const isOver = graceEnd(current).getTime() <= service.clock();
    return isOver ? buildFailure(current, source, {}) : null;
  });
}

/** Null: the charge was answered after all, or the payment cannot fail any more. */
function buildFailure(
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

const MINUTE = 60_000;

const GRACE_MS = 15 * MINUTE;

/**
 * DANA transactions cannot be found by order id, so a DANA charge that is not found may still
 * exist. It is given up only after a day, when the customer can no longer pay it.
 */
const DANA_GRACE_MS = 25 * 60 * MINUTE;

/** After this time, a charge that the gateway does not list is treated as never made. */
export function graceEnd(payment: { payment_type: string; sent_at: Date }): Date {
  const grace = payment.payment_type === "dana" ? DANA_GRACE_MS : GRACE_MS;
  return new Date(payment.sent_at.getTime() + grace);
}

/** What a report changes in the payment as it is now. */
function decideChange(
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
    ...(step === "duplicate" || isFirstUnrecognized) && addedCard(current, report, reported),
    ...unrecognizedMembers(current, reported, step, isApplied || to.isLatest),
  };
  const checkAt = report.followUp?.run_at ??
    checkTime({ ...current, ...set }, state, refunds.all, now);
  const isDue = current.check_at !== null && current.check_at <= now;
  if (isApplied || isDue || (checkAt === null) !== (current.check_at === null)) {
    set.check_at = checkAt;
  }
  // An accepted refund is stored even if the report's state is not applied.
  const refunded = set.refunded_amount ?? current.refunded_amount;
  const target = isApplied ? to : { ...to, ...knownState(current), refunded };
  const isEmpty = Object.keys(set).length === 0 && refunds.changed.length === 0;
  if (isEmpty && !report.key && !report.followUp) return null;
  return {
    set,
    jobs: report.followUp ? [report.followUp] : [],
    refunds: refunds.changed,
    key: report.key,
    notification: report.notification &&
      withResult(report.notification, { ...current, ...set }, step),
    ...(isApplied || refunded > current.refunded_amount) && {
      transition: {
        to: { status: target.status, fraud: target.fraud },
        events: states.eventsOf(knownState(current), target, current.paid_at !== null),
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
    ...addedCard(current, report, reported),
    transaction_id: current.transaction_id ?? reported.id,
    status_code: reported.statusCode ?? current.status_code,
    status_message: reported.statusMessage ?? current.status_message,
    refunded_amount: to.refunded ?? current.refunded_amount,
    captured_amount: isPaid ? current.captured_amount ?? capturedAmount(current, reported) : null,
    chargeback_amount: to.chargedBack ?? current.chargeback_amount,
    // A card on the gateway's own page is first reported as pending.
    ...to.status === "authorize" && { is_hold: true },
    paid_at: current.paid_at ?? (isPaid ? now : null),
  };
}

function addedCard(
  { card }: GatewayPayment,
  { isUnconfirmed = false }: GatewayReport,
  reported: ReportedTransaction,
): Pick<Partial<GatewayPayment>, "card"> {
  const merged = mergeCard(card, reported.card, isUnconfirmed);
  return merged === card ? {} : { card: merged };
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

/** The error text for the log and for the notification that reported the status. */
function describeUnrecognized({ unrecognized_status }: GatewayPayment): string {
  return `The gateway reports the status "${unrecognized_status}", which the service does not ` +
    "know. The payment keeps its status and is checked again.";
}
