/** Notifications as the document shows them to staff. */

import type { z } from "@hono/zod-openapi";
import type { Examples } from "../schemas/common.ts";
import { SETTLED_TRANSACTION } from "../schemas/transaction_example.ts";
import type { NotificationSchema } from "./schemas.ts";

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
  processed: { summary: "It changed its payment", value: PROCESSED },
  duplicate: {
    summary: "It told nothing new",
    value: { ...PROCESSED, status: "duplicate" },
  },
} satisfies Examples<Notification>;

export const NOTIFICATION_PAGE = {
  page: { summary: "Two notifications", value: [PROCESSED, UNMATCHED] },
} satisfies Examples<Notification[]>;
