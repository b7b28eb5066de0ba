/** Confirms a notification: asks the gateway for the transaction and applies its response. */

import { validate as isUuid } from "uuid";
import { batched } from "../../db/batched.ts";
import type { NewJob } from "../../db/jobs.ts";
import { type GatewayNotification, notificationWrites } from "../../db/notifications.ts";
import { paymentLookups } from "../../db/payment_statements.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import { findSubscription } from "../../db/subscriptions.ts";
import {
  type GatewayError,
  isTransactionNotFound,
  UnrecognizedStatusError,
} from "../gateway/errors.ts";
import type { Transaction } from "../gateway/responses.ts";
import { checkInvoiceOfOrder, findInvoiceOf, linkToInvoice } from "../invoices/link.ts";
import { adoptTransaction, canAdopt, isComplete, type Link } from "../payments/adopt.ts";
import { type AppliedReport, applyReport } from "../payments/apply_report.ts";
import { checkAtGateway } from "../payments/check_at_gateway.ts";
import { matchTransaction } from "../payments/match_transaction.ts";
import type { PaymentDeps } from "../payments/payment_record.ts";
import { countNotification } from "../telemetry.ts";
import { checkSubscriptionsByName } from "../subscriptions/notified.ts";
import { isLikeCharge, linkToSubscription } from "../subscriptions/subscription_record.ts";

export type NotificationDeps = PaymentDeps;

const SOURCE = "notification";

/** Throws a `GatewayError` and writes nothing if the gateway gives no usable response. */
export async function confirmNotification(
  deps: NotificationDeps,
  notification: GatewayNotification,
): Promise<GatewayNotification> {
  const payment = await findNotifiedPayment(deps, notification);
  if (payment) {
    const { applied } = await checkAtGateway(deps, payment, SOURCE, notification);
    if (applied) return await recordResult(deps, applied);
  }
  // The gateway did not find the payment by its order id, which is normal for DANA; or there is no
  // payment, because the transaction was created outside the service.
  const answer = await requestTransaction(deps, notification);
  if (!answer || !matches(notification, answer)) {
    const error_message = answer && "The gateway's record differs from the notification.";
    return await recordNotification(deps, { ...notification, status: "unmatched", error_message });
  }
  const report = { answer, source: SOURCE, notification } as const;
  const isOurs = payment?.transaction_id === null &&
    (await matchTransaction(deps, payment, answer)).kind === "ours";
  if (isOurs) {
    const applied = await applyReport(deps, payment, {
      ...report,
      askedAtVersion: payment.version,
    });
    return await recordResult(deps, applied);
  }
  if (!canAdopt(answer)) throw unrecognizedStatus(answer);
  const adopted = await adoptTransaction(deps, report, await findLink(deps, notification, answer));
  await checkInvoiceOfOrder(deps, adopted.payment);
  await checkSubscriptionsByName(deps, adopted.payment);
  return await recordResult(deps, adopted);
}

/** Finds the payment by the ids in the notification. */
export async function findNotifiedPayment(
  { database }: NotificationDeps,
  { order_id, transaction_id, raw_payload }: GatewayNotification,
): Promise<GatewayPayment | null> {
  const metadata = raw_payload.metadata as { payment_ref?: unknown } | null | undefined;
  const ref = metadata?.payment_ref;
  const payment_ref = typeof ref === "string" && isUuid(ref) ? ref : null;
  return await batched(database, paymentLookups, { order_id, transaction_id, payment_ref });
}

/** Null: the gateway has no such transaction. */
async function requestTransaction(
  { gateway }: NotificationDeps,
  { transaction_id, order_id }: GatewayNotification,
): Promise<Transaction | null> {
  try {
    return (await gateway.getStatus(transaction_id ?? order_id)).body;
  } catch (error) {
    if (isTransactionNotFound(error)) return null;
    throw error;
  }
}

/** Compares both ids, because the signature does not cover the transaction id. */
function matches(
  { order_id, transaction_id }: GatewayNotification,
  answer: Transaction,
): boolean {
  return answer.order_id === order_id && isComplete(answer) &&
    answer.transaction_id === (transaction_id ?? answer.transaction_id);
}

/** Without a known status no payment can be created; the gateway may report another status later. */
function unrecognizedStatus({ order_id, transaction_status }: Transaction): GatewayError {
  return new UnrecognizedStatusError(
    `The gateway reports order ${order_id} in the status "${transaction_status}", which the ` +
      "service does not know",
    { failure: "answered", outcome: "unknown" },
  );
}

/** The subscription or invoice that the gateway says the transaction belongs to; null: neither. */
async function findLink(
  deps: NotificationDeps,
  { raw_payload }: GatewayNotification,
  answer: Transaction,
): Promise<Link | null> {
  // Callers cannot set `subscription_ref`, so only the service can have set it.
  const confirmed = answer.metadata?.subscription_ref ?? null;
  const notified = raw_payload.metadata as { subscription_ref?: unknown } | null | undefined;
  const ref = confirmed ?? notified?.subscription_ref;
  const subscription = typeof ref === "string" && isUuid(ref)
    ? await deps.database.query((sql) => findSubscription(sql, ref), "find subscription")
    : null;
  // A reference from the notification is not signed, so other fields must match, too.
  const isConfirmed = subscription !== null &&
    (confirmed !== null || isLikeCharge(subscription, answer));
  if (isConfirmed) return linkToSubscription(subscription);
  const invoice = await findInvoiceOf(deps, answer);
  return invoice && linkToInvoice(invoice);
}

/** Writes the notification's result, unless it was written together with the payment's change. */
export async function recordResult(
  deps: NotificationDeps,
  { notification, isNotificationWritten }: AppliedReport,
): Promise<GatewayNotification> {
  if (!isNotificationWritten) return await recordNotification(deps, notification!);
  countNotification(notification!.status);
  return notification!;
}

/** Writes a notification that changed no payment. */
export async function recordNotification(
  { database, jobQueue }: NotificationDeps,
  notification: GatewayNotification,
  jobs: NewJob[] = [],
): Promise<GatewayNotification> {
  const waiting = await batched(database, notificationWrites, { notification, jobs });
  for (const job of waiting) jobQueue.enqueue(job);
  countNotification(notification.status);
  return notification;
}
