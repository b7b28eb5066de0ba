/**
 * The error response (RFC 9457 problem details): its schema, and an example for each error code.
 */

import { z } from "@hono/zod-openapi";
import { ERROR_CODES, type ErrorCode } from "../../core/errors.ts";
import { PaymentSchema, PaymentStatusSchema, RefundSchema } from "../../core/payments/schema.ts";
import { EXAMPLE_REQUEST_ID } from "../../openapi/components.ts";
import { CheckoutStatusSchema } from "../../core/checkouts/schema.ts";
import { InvoiceStatusSchema } from "../../core/invoices/schema.ts";
import { CHARGED, REFUND_RESULTS } from "../../core/payments/examples.ts";
import { SubscriptionStatusSchema } from "../../core/subscriptions/schema.ts";

const CODES = Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]];

export const ProblemSchema = z.object({
  type: z.string().openapi({
    description: "`code` as a URN.",
    example: "urn:payment-gateway:problem:not_found",
  }),
  title: z.string().openapi({
    description: "Human-readable summary of `code`.",
    example: ERROR_CODES.not_found.title,
  }),
  status: z.int().openapi({ description: "HTTP status of the response.", example: 404 }),
  detail: z.string().nullable().openapi({
    description: "Human-readable explanation of this error, often the gateway's message; null if " +
      "`title` says everything.",
    example: null,
  }),
  instance: z.string().openapi({
    description: "Request id, as in `X-Request-Id`. Include it when you contact support.",
    example: EXAMPLE_REQUEST_ID,
  }),
  code: z.enum(CODES).openapi({
    description: "Stable, machine-readable error code:\n" +
      CODES.map((code) => `- \`${code}\`: ${ERROR_CODES[code].title}`).join("\n"),
    example: "not_found",
  }),
  errors: z.array(z.object({
    field: z.string().openapi({
      description: "Path of the field, such as `item_details.0.price`.",
      example: "gross_amount",
    }),
    message: z.string().openapi({
      description: "Human-readable description of the problem.",
      example: "must be a whole number above 0",
    }),
  })).optional().openapi({
    description: "With `validation_error`: the invalid fields.",
    example: [{ field: "gross_amount", message: "must be a whole number above 0" }],
  }),
  payment_id: z.uuid().optional().openapi({
    description: "The payment that the error refers to, if it exists.",
    example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  }),
  invoice_id: z.uuid().optional().openapi({
    description: "The invoice that the error refers to, if it exists.",
  }),
  subscription_id: z.uuid().optional().openapi({
    description: "The subscription that the error refers to, if it exists.",
  }),
  checkout_id: z.uuid().optional().openapi({
    description: "The checkout that the error refers to, if it exists.",
  }),
  order_id: z.string().optional().openapi({
    description:
      "Order id of that payment, invoice or checkout; with `duplicate_order`, the order id that " +
      "is already in use.",
    example: "order-1893",
  }),
  prefix: z.string().optional().openapi({
    description: "From `POST /keys/`: the API key that the first request with this " +
      "`Idempotency-Key` created.",
    example: "gk_q83vEjRW",
  }),
  outcome: z.enum(["refused", "unknown"]).optional().openapi({
    description:
      "Outcome of the operation at the gateway. `refused`: the gateway did not perform it. " +
      "`unknown`: the gateway may have performed it; the service checks this and updates the " +
      "resource. Read the resource, or retry with the same `Idempotency-Key`.",
    example: "refused",
  }),
  transaction_status: PaymentStatusSchema.optional(),
  invoice_status: InvoiceStatusSchema.optional(),
  subscription_status: SubscriptionStatusSchema.optional(),
  checkout_status: CheckoutStatusSchema.optional(),
  setting: z.string().optional().openapi({
    description: "With `unavailable`: the setting that this operation needs.",
    example: "PUBLIC_URL",
  }),
  gateway_status_code: z.string().optional().openapi({
    description: "Status code of the gateway's response, if there was one.",
    example: "402",
  }),
  checks: z.record(z.string(), z.string()).optional().openapi({
    description: "From `GET /health/ready/`: the checks that ran, and their results.",
    example: { database: "up", migrations: "pending" },
  }),
  payment: PaymentSchema.optional(),
  refund: RefundSchema.optional(),
}).openapi("Problem", {
  description: "Error response (RFC 9457). `invalid_state` errors of a payment, an invoice, a " +
    "subscription or a checkout include its current `transaction_status`, `invoice_status`, " +
    "`subscription_status` or `checkout_status`; `capture_denied` includes `payment`, and `refund_denied` includes " +
    "`refund`.",
});

const { id, order_id } = CHARGED.authorized_card.value;
const PAYMENT_IDS = { payment_id: id, order_id };

/** Example values of `detail` and of the members that depend on the error code. */
export const PROBLEM_MEMBERS: Partial<Record<ErrorCode, object>> = {
  validation_error: {
    detail: "gross_amount: must be a whole number above 0",
    errors: [{ field: "gross_amount", message: "must be a whole number above 0" }],
  },
  invalid_state: {
    detail: "A payment with status settlement cannot be cancelled. Refund it instead.",
    ...PAYMENT_IDS,
    outcome: "refused",
    transaction_status: "settlement",
  },
  unauthenticated: {
    detail: "Send a valid API key or JWT in the Authorization header: Bearer <credential>.",
  },
  signature_invalid: {
    detail:
      "The signature does not match the signed fields. Check that GATEWAY_SERVER_KEY is the " +
      "server key of the gateway account that sent the notification.",
  },
  duplicate_order: {
    detail: `Order id ${order_id} is already in use. Send a new order_id, or retry with the ` +
      "original Idempotency-Key.",
    order_id,
    outcome: "refused",
  },
  refund_denied: {
    detail: "Refund denied by the bank",
    ...PAYMENT_IDS,
    outcome: "refused",
    refund: {
      ...REFUND_RESULTS.part.value.refund,
      is_direct: true,
      status: "denied",
      status_code: "202",
      status_message: "Refund denied by the bank",
    },
  },
  capture_denied: {
    detail: "Deny by Bank [BNI] with code [05] and message [Do not honour]",
    ...PAYMENT_IDS,
    outcome: "refused",
    payment: CHARGED.authorized_card.value,
  },
  gateway_validation: {
    detail: "One or more parameters in the payload is invalid.",
    ...PAYMENT_IDS,
    outcome: "refused",
    gateway_status_code: "400",
  },
  gateway_error: {
    detail: "Sorry. Our system is recovering from unexpected issues. Please retry.",
    ...PAYMENT_IDS,
    outcome: "unknown",
    gateway_status_code: "500",
  },
  gateway_authentication: {
    detail: "Unknown Merchant server_key/id",
    ...PAYMENT_IDS,
    outcome: "refused",
    gateway_status_code: "401",
  },
  gateway_rate_limited: {
    detail: "API rate limit exceeded",
    ...PAYMENT_IDS,
    outcome: "refused",
    gateway_status_code: "429",
  },
  gateway_unreachable: {
    detail: "The gateway is not responding. The request was not sent; retry later.",
    outcome: "refused",
  },
  gateway_timeout: { ...PAYMENT_IDS, outcome: "unknown" },
  idempotency_in_progress: {
    detail: "The first request with this Idempotency-Key is still in progress. Retry after the " +
      "number of seconds in the Retry-After header.",
  },
  idempotency_key_reused: {
    detail: "This Idempotency-Key was used with a different request body. Send a new key.",
  },
  payload_too_large: { detail: "Maximum body size is 256 KiB." },
  unsupported_media_type: {
    detail: "Send the body as JSON, with Content-Type: application/json.",
  },
  rate_limited: { detail: "Retry in 1 s." },
};
