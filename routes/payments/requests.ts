/** Path parameters and bodies of requests for a payment, with their examples. */

import { z } from "@hono/zod-openapi";
import {
  GATEWAY_CAPTURE,
  GATEWAY_REFUND,
  rejectGatewayFields,
} from "../../core/fields/gateway_fields.ts";
import { amount, flag, object, omitNulls, optionalText } from "../../core/fields/input.ts";
import type { Examples } from "../../core/fields/response.ts";
import { parsePathId, pathId } from "../../http/paths.ts";

export const PaymentPath = z.object({ pk: pathId("The payment's `id`.") });

export function paymentIdOf({ pk }: z.output<typeof PaymentPath>): string {
  return parsePathId(pk);
}

const CaptureFields = object({
  amount: amount().optional().openapi({
    description: "Amount to capture, at most the authorized amount; defaults to the full " +
      "authorized amount. Any uncaptured remainder is released.",
    example: 120000,
  }),
});

export const CaptureSchema = omitNulls(rejectGatewayFields(CaptureFields, GATEWAY_CAPTURE))
  .openapi("CaptureRequest", { description: "How much of an authorization to capture." });

export const CAPTURES = {
  whole: { summary: "Full capture", value: {} },
  part: { summary: "Partial capture; the remainder is released", value: { amount: 120000 } },
} satisfies Examples<z.input<typeof CaptureSchema>>;

const RefundFields = object({
  amount: amount().optional().openapi({
    description: "Amount to refund; defaults to the full remaining amount.",
    example: 50000,
  }),
  reason: optionalText(255).openapi({
    description: "Reason for the refund; stored with it and sent to the gateway.",
    example: "Out of stock",
  }),
  direct: flag().default(false).openapi({
    description: "Refund synchronously through the customer's bank or wallet. Not all banks and " +
      "wallets support it.",
  }),
});

export const RefundInputSchema = omitNulls(rejectGatewayFields(RefundFields, GATEWAY_REFUND))
  .openapi("RefundRequest", { description: "How much to refund, and why." });

export const REFUND_REQUESTS = {
  part: { summary: "Partial refund", value: { amount: 50000, reason: "Out of stock" } },
  whole: { summary: "Refund of the full remaining amount", value: { reason: "Sent back" } },
  direct: {
    summary: "Partial refund, synchronously through the bank or wallet",
    value: { amount: 50000, reason: "Out of stock", direct: true },
  },
} satisfies Examples<z.input<typeof RefundInputSchema>>;
