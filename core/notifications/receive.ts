/**
 * Receives a signed notification: finds the payment, decides whether the notification is trusted,
 * applies it or asks the gateway for the transaction, and records the result.
 */

import { validate as isUuid } from "uuid";
import { batched } from "../../db/records/batched.ts";
import type { NewJob } from "../../db/jobs/jobs.ts";
import { type GatewayNotification, notificationWrites } from "../../db/payments/notifications.ts";
import { findPaymentOfTransaction, paymentLookups } from "../../db/payments/statements.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import { findCheckoutLink } from "../checkouts/link.ts";
import type { GatewayClient } from "../gateway/client.ts";
import {
  GatewayError,
  isTransactionNotFound,
  UnrecognizedStatusError,
  unusableResponse,
} from "../gateway/errors.ts";
import { object as objectField } from "../gateway/json.ts";
import { Transaction } from "../gateway/responses.ts";
import { type Channel, channelOf, isSnapApi } from "../gateway/snap_api.ts";
import { newId } from "../ids.ts";
import { checkInvoiceOfOrder, findInvoiceLink } from "../invoices/link.ts";
import { PROCESS_NOTIFICATION } from "../jobs/task_names.ts";
import { newJob } from "../records/new_job.ts";
import { adoptTransaction, isComplete } from "../payments/adopt.ts";
import { type AppliedReport, applyReport, type Source } from "../payments/apply_report.ts";
import { checkAtGateway } from "../payments/check_at_gateway.ts";
import { matchTransaction, mayStillMatch } from "../payments/match_transaction.ts";
import { isStatus } from "../payments/states.ts";
import type { Service } from "../service.ts";
import { checkSubscriptionsByName, findSubscriptionLink } from "../subscriptions/link.ts";
import { countNotification } from "../telemetry/telemetry.ts";
import { decideTrust } from "./decide_trust.ts";
import type { SignedNotification } from "./parse.ts";
import { isSelfTestOrder } from "./self_test.ts";

const SOURCE = "notification";

/** The gateway expects a response within 5 s. */
const RESPONSE_MS = 4_000;

/** Returns the notification as it is stored, with its result. */
export async function receiveNotification(
  service: Service,
  received: SignedNotification,
): Promise<GatewayNotification> {
  const { transaction } = received;
  const now = new Date(service.clock());
  const notification: GatewayNotification = {
    id: newId(now),
    payment_id: null,
    order_id: received.orderId,
    transaction_id: transaction.transaction_id,
    transaction_status: transaction.transaction_status ?? "",
    fraud_status: transaction.fraud_status,
    payment_type: transaction.payment_type,
    status_code: received.statusCode,
    gross_amount: received.grossAmount,
    status: "received",
    error_message: null,
    raw_payload: received.payload,
    created_at: now,
  };
  if (isSelfTestOrder(received.orderId)) return await recordSelfTest(service, notification);
  const payment = await findNotifiedPayment(service, notification);
  const applied = payment && await applyIfTrusted(service, received, notification, payment);
  return applied ?? await confirmInTime(service, notification);
}

/** Only stores it: no request to the gateway, no metrics. */
async function recordSelfTest(
  { database }: Service,
  received: GatewayNotification,
): Promise<GatewayNotification> {
  const notification: GatewayNotification = { ...received, status: "unmatched" };
  await batched(database, notificationWrites, { notification, jobs: [] });
  return notification;
}

/** Finds the payment by the ids in a notification, or in the gateway's response. */
export async function findNotifiedPayment(
  { database }: Service,
  { order_id, transaction_id, raw_payload }: Pick<
    GatewayNotification,
    "order_id" | "transaction_id" | "raw_payload"
  >,
): Promise<GatewayPayment | null> {
  const ref = metadataOf({ raw_payload })?.payment_ref;
  const payment_ref = typeof ref === "string" && isUuid(ref) ? ref : null;
  return await batched(database, paymentLookups, { order_id, transaction_id, payment_ref });
}

/** The signature of a notification does not cover its metadata. */
function metadataOf({ raw_payload }: Pick<GatewayNotification, "raw_payload">) {
  return objectField(raw_payload.metadata);
}

/** Null: the gateway has to confirm the notification first. */
async function applyIfTrusted(
  service: Service,
  received: SignedNotification,
  notification: GatewayNotification,
  known: GatewayPayment,
): Promise<GatewayNotification | null> {
  for (let payment = known;;) {
    const decision = decideTrust(payment, received, service.notificationConfirm);
    if (decision === "confirm") return null;
    if (decision !== "trust") {
      const result = { status: decision, payment_id: payment.id };
      return await recordNotification(service, { ...notification, ...result });
    }
    const applied = await applyReport(service, payment, {
      answer: received.transaction,
      source: SOURCE,
      askedAtVersion: null,
      notification,
      isUnconfirmed: true,
    });
    if (!applied.isOutdated) return await recordResult(service, applied);
    payment = applied.payment;
  }
}

/** If the gateway does not confirm the notification in time, a job confirms it later. */
async function confirmInTime(
  service: Service,
  notification: GatewayNotification,
): Promise<GatewayNotification> {
  const until = notification.created_at.getTime() + RESPONSE_MS;
  try {
    return await confirmNotification(
      { ...service, gateway: withDeadline(service, until) },
      notification,
    );
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const now = new Date(service.clock());
    const subject = { id: notification.id, user_id: null };
    const payload = { notification_id: notification.id };
    const job = newJob(PROCESS_NOTIFICATION, subject, payload, { runAt: now, now });
    const error_message = error.failure === "answered" ? error.message : null;
    return await recordNotification(service, { ...notification, error_message }, [job]);
  }
}

/** With a time limit for the two calls that a confirmation makes. */
function withDeadline({ background, clock }: Service, until: number): GatewayClient {
  const left = () => Math.max(until - clock(), 1);
  return {
    ...background,
    getStatus: (id, options) => background.getStatus(id, { ...options, deadlineMs: left() }),
    getInvoice: (id, options) => background.getInvoice(id, { ...options, deadlineMs: left() }),
  };
}

/**
 * Asks the gateway for the transaction and applies its response. Throws a `GatewayError` and writes
 * nothing if the gateway gives no usable response, or if the transaction may be that of a charge
 * which is not answered yet.
 */
export async function confirmNotification(
  service: Service,
  notification: GatewayNotification,
): Promise<GatewayNotification> {
  if (isSelfTestOrder(notification.order_id)) return notification;
  const payment = await findNotifiedPayment(service, notification);
  if (payment && payment.transaction_id !== null) {
    const { applied } = await checkAtGateway(service, payment, SOURCE, notification);
    return await recordResult(service, applied!);
  }
  // An order can have several transactions, so the one in the notification is requested.
  const channel = channelOf(Transaction.parse(notification.raw_payload));
  const id = notification.transaction_id ?? notification.order_id;
  const found = await requestTransaction(service, id, channel);
  if (!found || !await hasSameIds(service, notification, found)) {
    const error_message = found && "The gateway's record differs from the notification.";
    return await recordNotification(service, {
      ...notification,
      status: "unmatched",
      error_message,
    });
  }
  const { order_id } = notification;
  const applied = await applyFound(service, payment, found, {
    order_id,
    source: SOURCE,
    notification,
  });
  if (!applied) {
    const error_message = "The gateway's record of the transaction is incomplete.";
    return await recordNotification(service, {
      ...notification,
      status: "unmatched",
      error_message,
    });
  }
  return await recordResult(service, applied);
}

interface FoundFor {
  /** The order of the transaction, which the gateway's response may not name. */
  order_id: string;
  source: Source;
  /** The notification about the transaction. */
  notification?: GatewayNotification;
}

/**
 * Applies the gateway's response about a transaction to its payment, or adopts the transaction.
 * `payment`: the one of the order that has no transaction id yet. Null: the response is incomplete.
 * Throws a `GatewayError` and writes nothing if the transaction may be that of a charge which
 * is not answered yet.
 */
export async function applyFound(
  service: Service,
  payment: GatewayPayment | null,
  found: Transaction,
  { order_id, source, notification }: FoundFor,
): Promise<AppliedReport | null> {
  const answer = { ...found, order_id };
  const report = { answer, source, ...notification && { notification } };
  const notified = notification ? metadataOf(notification) : null;
  if (payment) {
    // The notification's metadata proves nothing if only the notification says which order it is.
    const trusted = found.order_id === null ? null : notified;
    const match = await matchTransaction(service, payment, answer, trusted);
    if (match.type === "ours") {
      return await applyReport(service, payment, { ...report, askedAtVersion: payment.version });
    }
    if (mayStillMatch(payment, match)) throw unclearOwner(payment);
  }
  if (!isComplete(answer)) return null;
  if (!isStatus(found.transaction_status)) {
    // Without a known status no payment can be created; the gateway may report another later.
    throw new UnrecognizedStatusError(
      `The gateway reports order ${order_id} in the status "${found.transaction_status}", which ` +
        "the service does not know",
      { failure: "answered", outcome: "unknown" },
    );
  }
  const link = await findSubscriptionLink(service, notified, answer) ??
    await findInvoiceLink(service, answer) ?? await findCheckoutLink(service, answer);
  const adopted = await adoptTransaction(service, report, link);
  await checkInvoiceOfOrder(service, adopted.payment);
  await checkSubscriptionsByName(service, adopted.payment);
  return adopted;
}

/** Null: the gateway has no such transaction. */
export async function requestTransaction(
  { gateway }: Service,
  id: string,
  channel: Channel,
): Promise<Transaction | null> {
  try {
    return (await gateway.getStatus(id, { isSnapApi: isSnapApi(channel) })).body;
  } catch (error) {
    if (isTransactionNotFound(error)) return null;
    throw error;
  }
}

/**
 * Compares both ids, because the signature of a notification does not cover the transaction id. If
 * the response names no order, no payment of another order may have the transaction.
 */
export async function hasSameIds(
  { database }: Service,
  { order_id, transaction_id }: Pick<GatewayNotification, "order_id" | "transaction_id">,
  found: Transaction,
): Promise<boolean> {
  const isSameTransaction =
    (transaction_id ?? found.transaction_id) === (found.transaction_id ?? transaction_id);
  if (!isSameTransaction || found.order_id !== null) {
    return isSameTransaction && found.order_id === order_id;
  }
  if (transaction_id === null || !isSnapApi(channelOf(found))) return false;
  const known = await database.query(
    (sql) => findPaymentOfTransaction(sql, transaction_id),
    "find payment",
  );
  return (known?.order_id ?? order_id) === order_id;
}

/** The state stays unknown, so the notification is processed again later. */
function unclearOwner({ id, order_id }: GatewayPayment): GatewayError {
  return unusableResponse(
    `It is not clear whether the transaction of order ${order_id} belongs to payment ${id}, ` +
      "whose charge the gateway has not answered",
  );
}

/** Writes the notification's result, unless it was written together with the payment's change. */
export async function recordResult(
  service: Service,
  { notification, isNotificationWritten }: AppliedReport,
): Promise<GatewayNotification> {
  if (!isNotificationWritten) return await recordNotification(service, notification!);
  countNotification(notification!.status);
  return notification!;
}

/** Writes a notification that changed no payment. */
export async function recordNotification(
  { database, jobQueue }: Service,
  notification: GatewayNotification,
  jobs: NewJob[] = [],
): Promise<GatewayNotification> {
  const waiting = await batched(database, notificationWrites, { notification, jobs });
  for (const job of waiting) jobQueue.enqueue(job);
  countNotification(notification.status);
  return notification;
}
