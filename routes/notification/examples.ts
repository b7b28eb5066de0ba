/** Notifications as the gateway sends them. */

import type { z } from "@hono/zod-openapi";
import type { Examples } from "../example.ts";
import type { NotificationPayloadSchema, NotificationReceiptSchema } from "./schemas.ts";

/** Signed with the sandbox's well-known key, `SB-Mid-server-sandbox`, so that it can be checked. */
export const PAYLOADS = {
  settlement: {
    summary: "A virtual account was paid",
    value: {
      status_code: "200",
      status_message: "midtrans payment notification",
      transaction_id: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
      order_id: "order-1893",
      merchant_id: "G812785002",
      gross_amount: "150000.00",
      currency: "IDR",
      payment_type: "bank_transfer",
      transaction_time: "2026-03-05 11:12:09",
      transaction_status: "settlement",
      fraud_status: "accept",
      expiry_time: "2026-03-06 11:12:09",
      settlement_time: "2026-03-05 11:15:40",
      va_numbers: [{ bank: "bca", va_number: "812785002530231" }],
      payment_amounts: [],
      metadata: { payment_ref: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5" },
      signature_key:
        "0e2b63199ce53f7b5e306264061788fd12b5a0511a43c36cbaefb202b3164bcab0f37f657c0310449be0" +
        "3483626ebb51a68461509bf7750323ae6a97524164f2",
    },
  },
} satisfies Examples<z.output<typeof NotificationPayloadSchema>>;

export const RECEIPTS = {
  taken: {
    summary: "Taken, and kept",
    value: { status: "ok", notification_id: "0197a3c5-90e4-7f28-8b6a-3d1c5e7f9a02" },
  },
  hint: { summary: "But a hint, and not kept", value: { status: "ok", notification_id: null } },
} satisfies Examples<z.output<typeof NotificationReceiptSchema>>;
