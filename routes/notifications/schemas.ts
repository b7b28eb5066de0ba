/** Notifications as staff see them. */

import { z } from "@hono/zod-openapi";
import { NOTIFICATION_STATUSES } from "../../db/notifications.ts";
import { id, nullableText, timestamp } from "../schemas/common.ts";

export const NotificationSchema = z.object({
  id,
  payment_id: id.nullable().openapi({
    description: "The payment it is about; null where none is known here.",
  }),
  order_id: z.string().openapi({
    description: "The order it is about.",
    example: "order-1893",
  }),
  transaction_id: nullableText.openapi({
    description: "The gateway's.",
    example: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  }),
  transaction_status: z.string().openapi({
    description: "What the gateway told, which need not be what was believed.",
    example: "settlement",
  }),
  fraud_status: nullableText.openapi({
    description: "What the gateway told.",
    example: "accept",
  }),
  payment_type: nullableText.openapi({
    description: "What the gateway told.",
    example: "bank_transfer",
  }),
  status_code: z.string().openapi({
    description: "What the gateway told.",
    example: "200",
  }),
  gross_amount: z.string().openapi({
    description: "As it was signed, word for word.",
    example: "150000.00",
  }),
  status: z.enum(NOTIFICATION_STATUSES).openapi({
    description: [
      "What came of it:",
      "- `received`: the gateway is still to be asked about it",
      "- `processed`: it changed something",
      "- `duplicate`: it told nothing new",
      "- `stale`: it told something that was over",
      "- `unmatched`: the gateway itself knows nothing of it",
      "- `failed`: nothing could be made of it",
    ].join("\n"),
    example: "processed",
  }),
  error_message: nullableText.openapi({
    description: "Why it was not processed, for people.",
    example: null,
  }),
  raw_payload: z.record(z.string(), z.unknown()).openapi({
    description: "All that was sent, without its signature and without tokens.",
    example: {
      order_id: "order-1893",
      transaction_status: "settlement",
      status_code: "200",
      gross_amount: "150000.00",
    },
  }),
  created_at: timestamp("When it came."),
}).openapi("Notification", { description: "One call of the gateway's that was accepted." });
