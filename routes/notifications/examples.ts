/** Example notifications for the OpenAPI document: as received, as acknowledged, as listed. */

import type { z } from "@hono/zod-openapi";
import type { Examples } from "../../core/fields/response.ts";
import { SETTLED_TRANSACTION } from "../payments/transaction_example.ts";
import type {
  NotificationPayloadSchema,
  NotificationReceiptSchema,
  NotificationSchema,
} from "./schemas.ts";

/** Signed with the sandbox's public server key, `SB-Mid-server-sandbox`, so it can be verified. */
export const PAYLOADS = {
  settlement: {
    summary: "A virtual account was paid",
    value: {
      ...SETTLED_TRANSACTION,
      signature_key:
        "0e2b63199ce53f7b5e306264061788fd12b5a0511a43c36cbaefb202b3164bcab0f37f657c0310449be0" +
        "3483626ebb51a68461509bf7750323ae6a97524164f2",
    },
  },
} satisfies Examples<z.output<typeof NotificationPayloadSchema>>;

export const RECEIPTS = {
  settlement: {
    summary: "Received and stored",
    value: { status: "ok", notification_id: "0197a3c5-90e4-7f28-8b6a-3d1c5e7f9a02" },
  },
  hint: {
    summary: "Notification without a signature; not stored",
    value: { status: "ok", notification_id: null },
  },
} satisfies Examples<z.output<typeof NotificationReceiptSchema>>;

type Notification = z.output<typeof NotificationSchema>;

const PROCESSED: Notification = {
  id: "0197a3c5-90e4-7f28-8b6a-3d1c5e7f9a02",
  payment_id: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  order_id: "order-1893",
  transaction_id: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  transaction_status: "settlement",
  fraud_status: "accept",
  payment_type: "bank_transfer",
  status_code: "200",
  gross_amount: "150000.00",
  status: "processed",
  error_message: null,
  raw_payload: SETTLED_TRANSACTION,
  created_at: "2026-03-05T04:15:40.852Z",
};

const UNMATCHED: Notification = {
  ...PROCESSED,
  id: "0197a3c4-11c9-7d50-9e83-6f2b4a8d0c17",
  payment_id: null,
  order_id: "order-of-another-shop",
  transaction_id: "0f9b7c53-6a1e-4d28-b7f4-2c8e5d1a9063",
  status: "unmatched",
  raw_payload: {
    ...PROCESSED.raw_payload,
    transaction_id: "0f9b7c53-6a1e-4d28-b7f4-2c8e5d1a9063",
    order_id: "order-of-another-shop",
    metadata: {},
  },
  created_at: "2026-03-05T04:14:02.337Z",
};

export const NOTIFICATIONS = {
  processed: { summary: "Changed the payment", value: PROCESSED },
  duplicate: {
    summary: "Contained nothing new",
    value: { ...PROCESSED, status: "duplicate" },
  },
} satisfies Examples<Notification>;

export const NOTIFICATION_PAGE = {
  page: { summary: "Two notifications", value: [PROCESSED, UNMATCHED] },
} satisfies Examples<Notification[]>;
