/** Notifications as the gateway sends them. */

import type { z } from "@hono/zod-openapi";
import type { Examples } from "../schemas/common.ts";
import { SETTLED_TRANSACTION } from "../schemas/transaction_example.ts";
import type { NotificationPayloadSchema, NotificationReceiptSchema } from "./schemas.ts";

/** Signed with the sandbox's well-known key, `SB-Mid-server-sandbox`, so that it can be checked. */
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
  taken: {
    summary: "Taken, and kept",
    value: { status: "ok", notification_id: "0197a3c5-90e4-7f28-8b6a-3d1c5e7f9a02" },
  },
  hint: { summary: "But a hint, and not kept", value: { status: "ok", notification_id: null } },
} satisfies Examples<z.output<typeof NotificationReceiptSchema>>;
