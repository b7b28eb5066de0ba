/** What the gateway sends, and what it gets back. */

import { z } from "@hono/zod-openapi";
import { id } from "../schemas/common.ts";

/**
 * For the document alone: what comes is judged by the core, which has to see it as it came. Its
 * signature is over the very strings that were sent.
 */
export const NotificationPayloadSchema = z.looseObject({
  order_id: z.string().openapi({
    description: "The order it is about; signed.",
    example: "order-1893",
  }),
  transaction_status: z.string().openapi({
    description: "What became of it; not signed.",
    example: "settlement",
  }),
  signature_key: z.string().openapi({
    description:
      "Hex SHA-512 of `order_id`, `status_code`, `gross_amount` and the server key, one " +
      "after the other.",
    example:
      "0e2b63199ce53f7b5e306264061788fd12b5a0511a43c36cbaefb202b3164bcab0f37f657c0310449be0" +
      "3483626ebb51a68461509bf7750323ae6a97524164f2",
  }),
  status_code: z.string().openapi({
    description: "The gateway's code of the state; signed.",
    example: "200",
  }),
  gross_amount: z.string().openapi({
    description: "With two decimals; signed.",
    example: "150000.00",
  }),
  transaction_id: z.string().optional().openapi({
    description: "The gateway's id of it; not signed.",
    example: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  }),
  fraud_status: z.string().optional().openapi({
    description: "What its fraud detection says.",
    example: "accept",
  }),
  payment_type: z.string().optional().openapi({
    description: "How it was, or is to be, paid.",
    example: "bank_transfer",
  }),
  currency: z.string().optional().openapi({
    description: "Always rupiah.",
    example: "IDR",
  }),
  merchant_id: z.string().optional().openapi({
    description: "Whose account it is.",
    example: "G812785002",
  }),
  status_message: z.string().optional().openapi({
    description: "For people.",
    example: "midtrans payment notification",
  }),
  transaction_time: z.string().optional().openapi({
    description: "Western Indonesian time, as all times of the gateway.",
    example: "2026-03-05 11:12:09",
  }),
  settlement_time: z.string().optional().openapi({
    description: "When it was paid.",
    example: "2026-03-05 11:15:40",
  }),
}).openapi("NotificationPayload", {
  description:
    "What the gateway tells of a transaction. Each payment type has members of its own " +
    "besides; all are kept. What it tells of subscriptions and accounts has another shape, and is " +
    "but a hint.",
});

export const NotificationReceiptSchema = z.object({
  status: z.literal("ok").openapi({ description: "It was taken." }),
  notification_id: id.nullable().openapi({
    description: "Of the record that was made; null for what is but a hint and not kept.",
  }),
}).openapi("NotificationReceipt", { description: "That a notification was taken." });
