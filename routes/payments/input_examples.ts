/** Requests for actions on a payment, as the document shows them. */

import type { z } from "@hono/zod-openapi";
import type { Examples } from "../schemas/common.ts";
import type { CaptureSchema, RefundInputSchema } from "./input.ts";

export const CAPTURES = {
  whole: { summary: "All that is held", value: {} },
  part: { summary: "A part; the rest is let go", value: { amount: 120000 } },
} satisfies Examples<z.input<typeof CaptureSchema>>;

export const REFUND_REQUESTS = {
  part: { summary: "A part", value: { amount: 50000, reason: "Out of stock" } },
  whole: { summary: "All that is left", value: { reason: "Sent back" } },
  direct: {
    summary: "A part, asked of the customer's bank or wallet itself",
    value: { amount: 50000, reason: "Out of stock", direct: true },
  },
} satisfies Examples<z.input<typeof RefundInputSchema>>;
