/**
 * Receives a notification that `parseNotification` has accepted: finds the payment, decides whether
 * the notification is trusted, applies it or asks the gateway for the transaction, and records the
 * result.
 */

import { validate as isUuid } from "uuid";
import { batched } from "../../db/batched.ts";
import type { NewJob } from "../../db/jobs.ts";
import { type GatewayNotification, notificationWrites } from "../../db/notifications.ts";
import { paymentLookups } from "../../db/payment_statements.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import { findSubscription } from "../../db/subscriptions.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { GatewayError, isTransactionNotFound, UnrecognizedStatusError } from "../gateway/errors.ts";
import type { Transaction } from "../gateway/responses.ts";
import { checkInvoiceOfOrder, findInvoiceOf, linkToInvoice } from "../invoices/link.ts";
import { PROCESS_NOTIFICATION } from "../jobs/task_names.ts";
import { newJob } from "../outbox.ts";
import { adoptTransaction, canAdopt, isComplete, type Link } from "../payments/adopt.ts";
import { type AppliedReport, applyReport } from "../payments/apply_report.ts";
import { checkAtGateway } from "../payments/check_at_gateway.ts";
import { matchTransaction } from "../payments/match_transaction.ts";
import type { PaymentDeps } from "../payments/payment_record.ts";
import { checkNotifiedSubscription, checkSubscriptionsByName } from "../subscriptions/notified.ts";
import { isLikeCharge, linkToSubscription } from "../subscriptions/subscription_record.ts";
import { countNotification } from "../telemetry.ts";
import { decideTrust } from "./decide_trust.ts";
import { newNotification, type SignedNotification, type UnsignedNotification } from "./parse.ts";

const SOURCE = "notification";

export type NotificationDeps = PaymentDeps;

/** The gateway expects a response within 5 s. */
const RESPONSE_MS = 4_000;

export interface Receipt {
  /** Null: the notification is not stored. */
  notificationId: string | null;
}

export interface ReceiveDeps extends NotificationDeps {
  /**
   * A client of the same gateway with its own limiter, so that notifications do not delay callers.
   */
  background: GatewayClient;
  /**
   * `paid`: the gateway has to confirm every notification that a payment is paid. `fit`: only those
   * that the signature does not prove.
   */
  confirm: "fit" | "paid";
}

export async function receiveNotification(
  deps: ReceiveDeps,
  received: SignedNotification | UnsignedNotification,
): Promise<Receipt> {
  if (received.kind === "unsigned") {
    await checkNotifiedSubscription(deps, received.body);
    return { notificationId: null };
  }
  const startedAt = deps.clock();
  const notification = newNotification(received, new Date(startedAt));
  const payment = await findNotifiedPayment(deps, notification);
  const isFinished = payment !== null &&
    await applyIfTrusted(deps, received, notification, payment);
  if (!isFinished) await confirmInTime(deps, notification, startedAt + RESPONSE_MS);
  return { notificationId: notification.id };
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

/** False: the gateway has to confirm the notification first. */
async function applyIfTrusted(
  deps: ReceiveDeps,
  received: SignedNotification,
  notification: GatewayNotification,
  known: GatewayPayment,
): Promise<boolean> {
  for (let payment = known;;) {
    const decision = decideTrust(payment, received, deps.confirm);
    if (decision === "confirm") return false;
    if (decision !== "trust") {
      await recordNotification(deps, { ...notification, status: decision, payment_id: payment.id });
      return true;
    }
    const applied = await applyReport(deps, payment, {
      answer: received.transaction,
      source: SOURCE,
      askedAtVersion: null,
      notification,
      isUnconfirmed: true,
    });
    if (!applied.isOutdated) {
      await recordResult(deps, applied);
      return true;
    }
    payment = applied.payment;
  }
}

/** If the gateway does not answer in time, a job confirms the notification later. */
async function confirmInTime(
  deps: ReceiveDeps,
  notification: GatewayNotification,
  until: number,
): Promise<void> {
  try {
    await confirmNotification({ ...deps, gateway: withDeadline(deps, until) }, notification);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const now = new Date(deps.clock());
    const subject = { id: notification.id, user_id: null };
    const payload = { notification_id: notification.id };
    const job = newJob(PROCESS_NOTIFICATION, subject, payload, { runAt: now, now });
    await recordNotification(deps, notification, [job]);
  }
}

/** With a time limit for the two calls that a confirmation makes. */
function withDeadline({ background, clock }: ReceiveDeps, until: number): GatewayClient {
  const left = () => Math.max(until - clock(), 1);
  return {
    ...background,
    getStatus: (id) => background.getStatus(id, { deadlineMs: left() }),
    getInvoice: (id) => background.getInvoice(id, { deadlineMs: left() }),
  };
}

/**
 * Asks the gateway for the transaction and applies its response. Throws a `GatewayError` and writes
 * nothing if the gateway gives no usable response.
 */
export async function confirmNotification(
  deps: NotificationDeps,
  notification: GatewayNotification,
): Promise<GatewayNotification> {
  const payment = await findNotifiedPayment(deps, notification);
  if (payment) {
    const { applied } = await checkAtGateway(deps, payment, SOURCE, notification);
    if (applied) return await recordResult(deps, applied);
  }
  // The gateway did not find the payment by its order id, which is normal for DANA; or its
  // transaction of that order is not this payment's; or there is no payment, because the
  // transaction was created outside the service.
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

/**
 * Without a known status no payment can be created; the gateway may report another status later.
 */
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
