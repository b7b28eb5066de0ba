/** Schemas of the gateway's notifications: as received, as acknowledged, and as listed. */

import { z } from "@hono/zod-openapi";
import { id, nullableText, timestamp } from "../../core/fields/response.ts";
import { NOTIFICATION_STATUSES } from "../../core/notifications/read.ts";

/** As `parseNotification` requires: at most 255 characters, without NUL, and not `.` or `..`. */
function signedText() {
  const pattern = "^([^\\x00]*[^\\x00.][^\\x00]*|[.]{3,})$";
  return z.string().openapi({ minLength: 1, maxLength: 255, pattern });
}

/**
 * For the OpenAPI document only. `parseNotification` reads the payload as received, because the
 * signature covers the exact strings that were sent.
 */
export const NotificationPayloadSchema = z.looseObject({
  order_id: signedText().openapi({
    description: "Order id; signed.",
    example: "order-1893",
  }),
  transaction_status: signedText().openapi({
    description: "Transaction status; not signed.",
    example: "settlement",
  }),
  signature_key: z.string().openapi({
    description: "Hex SHA-512 of `order_id`, `status_code`, `gross_amount` and the server key, " +
      "concatenated.",
    example:
      "0e2b63199ce53f7b5e306264061788fd12b5a0511a43c36cbaefb202b3164bcab0f37f657c0310449be0" +
      "3483626ebb51a68461509bf7750323ae6a97524164f2",
  }),
  status_code: signedText().openapi({
    description: "The gateway's status code; signed.",
    example: "200",
  }),
  gross_amount: signedText().openapi({
    description: "Amount with two decimals; signed.",
    example: "150000.00",
  }),
  transaction_id: z.string().optional().openapi({
    description: "The gateway's transaction id; not signed.",
    example: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  }),
  fraud_status: z.string().optional().openapi({
    description: "Result of the gateway's fraud detection.",
    example: "accept",
  }),
  payment_type: z.string().optional().openapi({
    description: "Payment method.",
    example: "bank_transfer",
  }),
  currency: z.string().optional().openapi({
    description: "Currency; always `IDR`.",
    example: "IDR",
  }),
  merchant_id: z.string().optional().openapi({
    description: "Merchant account at the gateway.",
    example: "G812785002",
  }),
  status_message: z.string().optional().openapi({
    description: "Human-readable message.",
    example: "midtrans payment notification",
  }),
  transaction_time: z.string().optional().openapi({
    description: "When the transaction was created, in Western Indonesia Time (UTC+7), like all " +
      "times of the gateway.",
    example: "2026-03-05 11:12:09",
  }),
  settlement_time: z.string().optional().openapi({
    description: "When the transaction was settled.",
    example: "2026-03-05 11:15:40",
  }),
}).openapi("NotificationPayload", {
  description: "The gateway's notification of a transaction. Each payment type adds its own " +
    "fields; all of them are stored, except secrets and `customer_details`. Notifications of " +
    "subscriptions and linked accounts have a different structure and no signature. The service " +
    "does not store them; they only make it check the subscription at the gateway.",
});

export const NotificationReceiptSchema = z.object({
  status: z.literal("ok").openapi({ description: "The notification was received." }),
  notification_id: id.nullable().openapi({
    description: "Id of the stored notification; null for a notification without a signature, " +
      "which is not stored.",
  }),
}).openapi("NotificationReceipt", { description: "Acknowledges a notification." });

export const NotificationSchema = z.object({
  id,
  payment_id: id.nullable().openapi({
    description: "The payment that the notification reports on; null if the service has no such " +
      "payment.",
  }),
  order_id: z.string().openapi({
    description: "Order id in the notification.",
    example: "order-1893",
  }),
  transaction_id: nullableText.openapi({
    description: "The gateway's transaction id.",
    example: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  }),
  transaction_status: z.string().openapi({
    description: "Status in the notification. It is not signed, so the payment can have a " +
      "different status.",
    example: "settlement",
  }),
  fraud_status: nullableText.openapi({
    description: "Fraud status in the notification.",
    example: "accept",
  }),
  payment_type: nullableText.openapi({
    description: "Payment method in the notification.",
    example: "bank_transfer",
  }),
  status_code: z.string().openapi({
    description: "Status code in the notification.",
    example: "200",
  }),
  gross_amount: z.string().openapi({
    description: "Amount in the notification, exactly as signed.",
    example: "150000.00",
  }),
  status: z.enum(NOTIFICATION_STATUSES).openapi({
    description: [
      "Result of processing:",
      "- `received`: stored, not processed yet",
      "- `processed`: changed the payment, or reported a status that the service does not know",
      "- `duplicate`: contained nothing new",
      "- `stale`: out of date",
      "- `unmatched`: the gateway has no transaction that matches the notification",
      "- `failed`: could not be processed; its payment is checked again",
    ].join("\n"),
    example: "processed",
  }),
  error_message: nullableText.openapi({
    description: "Why it was not applied, or not yet, human-readable.",
    example: null,
  }),
  raw_payload: z.record(z.string(), z.unknown()).openapi({
    description: "The payload as received, without its signature, tokens, card numbers and " +
      "`customer_details`.",
    example: {
      order_id: "order-1893",
      transaction_status: "settlement",
      status_code: "200",
      gross_amount: "150000.00",
    },
  }),
  created_at: timestamp("When it was received."),
}).openapi("Notification", { description: "A notification received from the gateway." });
