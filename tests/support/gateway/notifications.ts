/** The gateway's notifications in tests, built and signed as the gateway does. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { findNotification, type GatewayNotification } from "../../../db/payments/notifications.ts";
import type { Payment, TestPayments } from "../payments/payments.ts";
import { type Json, SERVER_KEY } from "./sandbox.ts";

/** Adds the signature that the gateway would send. */
export function sign(body: Json, serverKey = SERVER_KEY): Json {
  const signed = [body.order_id, body.status_code, body.gross_amount].map(asText).join("");
  const signature_key = createHash("sha512").update(signed + serverKey).digest("hex");
  return { ...body, signature_key };
}

/** Accepts any value: some tests sign values that `String` cannot convert. */
function asText(value: Json): string {
  return typeof value === "string" ? value : String(JSON.stringify(value));
}

/** The fields that depend on the transaction status. */
const STATUS_FIELDS: Record<string, Json> = {
  pending: { status_code: "201" },
  authorize: { status_code: "200", fraud_status: "accept" },
  capture: { status_code: "200", fraud_status: "accept" },
  challenge: { status_code: "201", transaction_status: "capture", fraud_status: "challenge" },
  settlement: { status_code: "200", settlement_time: "2026-03-05 11:12:09" },
  deny: { status_code: "202" },
  cancel: { status_code: "202" },
  expire: { status_code: "202" },
};

/** A signed notification that reports this transaction status of a payment. */
export function buildNotification(
  payment: Pick<Payment, "id" | "order_id" | "transaction_id" | "gross_amount" | "payment_type">,
  state: string,
  more: Json = {},
): Json {
  return sign({
    transaction_time: "2026-03-05 11:02:09",
    transaction_status: state,
    transaction_id: payment.transaction_id,
    status_message: "midtrans payment notification",
    payment_type: payment.payment_type,
    order_id: payment.order_id,
    merchant_id: "G141532850",
    gross_amount: payment.gross_amount,
    currency: "IDR",
    metadata: { payment_ref: payment.id },
    status_code: "200",
    ...STATUS_FIELDS[state],
    ...more,
  });
}

/** Sends a notification as the gateway does: without a credential. */
export async function notify({ app }: TestPayments, body: Json): Promise<Response> {
  return await app.request("/notification/", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** Sends a notification that must be accepted, and returns the stored row. */
export async function notifyAndRead(
  payments: TestPayments,
  body: Json,
): Promise<GatewayNotification> {
  const response = await notify(payments, body);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { status, notification_id } = JSON.parse(text);
  assert.equal(status, "ok");
  const found = await payments.app.database.query((sql) => findNotification(sql, notification_id));
  assert.ok(found, "the notification is stored");
  return found;
}

/** The last notification that the gateway sent with this order id and transaction status. */
export async function findSentNotification(
  { sandbox }: TestPayments,
  orderId: string,
  status: string,
): Promise<Json> {
  await sandbox.waitForWebhooks();
  const found = sandbox.hooks.map(({ body }) => body).findLast((body) =>
    body.order_id === orderId && body.transaction_status === status
  );
  assert.ok(found, `the gateway sent ${status} for ${orderId}`);
  return found;
}
