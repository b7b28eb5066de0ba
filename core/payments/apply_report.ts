/** Applies the gateway's reports to payments. No other code changes the state of a payment. */

import { constraintOf } from "../../db/connection/database.ts";
import type { GatewayNotification } from "../../db/payments/notifications.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import { type GatewayError, unusableResponse } from "../gateway/errors.ts";
import {
  buildFailure,
  decideChange,
  type Decision,
  describeUnrecognized,
  type GatewayReport,
  type Source,
  withResult,
} from "./decide_change.ts";
import { changePayment, type PaymentChange, type PaymentDeps } from "./payment_record.ts";
import type { Step } from "./states.ts";
import { takeOverTransaction } from "./take_over.ts";

export interface AppliedReport {
  payment: GatewayPayment;
  step: Step;
  /** The report's notification with its result. */
  notification: GatewayNotification | undefined;
  /** Whether the notification was written together with the change. */
  isNotificationWritten: boolean;
  /** An unconfirmed report was not applied, because the payment has changed meanwhile. */
  isOutdated: boolean;
}

/** The decision about a report that is not applied. */
const NOT_APPLIED: Decision = { step: "duplicate", change: null, isMismatch: false };

/**
 * Applies what is new in the report. If nothing is new, only stores the reply of the report's key
 * and the time of the next check, if needed.
 */
export async function applyReport(
  deps: PaymentDeps,
  known: GatewayPayment,
  report: GatewayReport,
): Promise<AppliedReport> {
  let isOutdated = false;
  let decision = NOT_APPLIED;
  const decide = (current: GatewayPayment) => {
    isOutdated = report.isUnconfirmed === true && current.version !== known.version;
    decision = isOutdated ? NOT_APPLIED : decideChange(current, report, new Date(deps.clock()));
    return decision.change;
  };
  const payment = await changeOrTakeOver(deps, known, report, decide);
  const { step, change, isMismatch } = decision;
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

/**
 * If the reported transaction was adopted without an owner, it moves to this payment. Throws a
 * `GatewayError` if it belongs to another payment.
 */
async function changeOrTakeOver(
  deps: PaymentDeps,
  known: GatewayPayment,
  { answer, source }: GatewayReport,
  decide: (current: GatewayPayment) => PaymentChange | null,
): Promise<GatewayPayment> {
  try {
    return await changePayment(deps, known, decide);
  } catch (cause) {
    if (constraintOf(cause) !== "payments_transaction_id_key") throw cause;
    const owner = await takeOverTransaction(deps, known, answer.transaction_id!, source);
    if (owner) return await changePayment(deps, owner, decide);
    const error = unusableResponse(
      "The gateway reported a transaction that belongs to another payment",
    );
    deps.log.error("transaction_of_another_payment", error, { payment_id: known.id });
    throw error;
  }
}

/**
 * The gateway refused the charge: there is no transaction, and there never will be one. The event
 * `payment_failed` is omitted if the order may be paid by a transaction that is not of this
 * payment: a receiver of the event would cancel the order.
 */
export async function applyRefusal(
  deps: PaymentDeps,
  known: GatewayPayment,
  { statusCode, message }: GatewayError,
  { key, isEventNeeded }: { key: PaymentChange["key"]; isEventNeeded: boolean },
): Promise<GatewayPayment> {
  return await changePayment(deps, known, (current) => {
    const set = { is_refused: true, status_code: statusCode, status_message: message };
    return buildFailure(current, "charge", { set, key }, isEventNeeded) ?? (key ? { key } : null);
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
