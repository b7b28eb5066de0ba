/** What the gateway sends, and what it gets back. */

import { z } from "@hono/zod-openapi";
import { id } from "../representations.ts";

/**
 * For the document alone: what comes is judged by the core, which has to see it as it came. Its
 * signature is over the very strings that were sent.
 */
export const NotificationPayloadSchema = z.looseObject({
  order_id: z.string().openapi({ example: "order-1893" }),
  transaction_status: z.string().openapi({ example: "settlement" }),
  signature_key: z.string().openapi({
    description:
      "Hex SHA-512 of `order_id`, `status_code`, `gross_amount` and the server key, one " +
      "after the other.",
    example:
      "f483fae02dc0f08b6f270b52323ede9ee629f396f11c2819cc57e128c5f69286b1f89d259bdd552abaa2" +
      "70f8f021e4abcfe2a54d2c3331481458f9532d7c7c62",
  }),
  status_code: z.string().openapi({ example: "200" }),
  gross_amount: z.string().openapi({ example: "150000.00" }),
  transaction_id: z.string().optional().openapi({
    example: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  }),
  fraud_status: z.string().optional().openapi({ example: "accept" }),
  payment_type: z.string().optional().openapi({ example: "bank_transfer" }),
  currency: z.string().optional().openapi({ example: "IDR" }),
  merchant_id: z.string().optional().openapi({ example: "G812785002" }),
  status_message: z.string().optional().openapi({ example: "midtrans payment notification" }),
  transaction_time: z.string().optional().openapi({
    description: "Western Indonesian time, as all times of the gateway.",
    example: "2026-03-05 11:12:09",
  }),
  settlement_time: z.string().optional().openapi({ example: "2026-03-05 11:15:40" }),
}).openapi("NotificationPayload", {
  description:
    "What the gateway tells of a transaction. Each payment type has members of its own " +
    "besides; all are kept. What it tells of subscriptions and accounts has another shape, and is " +
    "but a hint.",
});

export const NotificationReceiptSchema = z.object({
  status: z.literal("ok"),
  notification_id: id.nullable().openapi({
    description: "Of the record that was made; null for what is but a hint and not kept.",
  }),
}).openapi("NotificationReceipt");
