/** Problem details (RFC 9457): the one shape of every error answer. */

import { HTTPException } from "hono/http-exception";
import { z } from "@hono/zod-openapi";
import { ERROR_CODES, type ErrorCode, type FieldError, ServiceError } from "../../core/errors.ts";
import { DatabaseUnavailable } from "../../db/database.ts";
import { EXAMPLE_REQUEST_ID } from "../../openapi/components.ts";
import type { RequestContext } from "./request_context.ts";
import { InvoiceStatusSchema } from "../schemas/invoice.ts";
import { PaymentSchema, PaymentStatusSchema, RefundSchema } from "../schemas/payment.ts";
import { SubscriptionStatusSchema } from "../schemas/subscription.ts";

const CODES = Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]];

export const ProblemSchema = z.object({
  type: z.string().openapi({
    description: "`code` as a URN.",
    example: "urn:payment-gateway:problem:not_found",
  }),
  title: z.string().openapi({
    description: "What `code` means, for people.",
    example: "There is no such resource",
  }),
  status: z.int().openapi({ description: "The status of the answer.", example: 404 }),
  detail: z.string().nullable().openapi({
    description: "What it is in this case, for people; null where there is no more to say.",
    example: null,
  }),
  instance: z.string().openapi({
    description: "The id of the request, as in `X-Request-Id`; quote it when asking for help.",
    example: EXAMPLE_REQUEST_ID,
  }),
  code: z.enum(CODES).openapi({
    description: "What went wrong, stable and meant for programs:\n" +
      CODES.map((code) => `- \`${code}\`: ${ERROR_CODES[code].title}`).join("\n"),
    example: "not_found",
  }),
  errors: z.array(z.object({
    field: z.string().openapi({
      description: "Where in the input: `item_details.0.price`.",
      example: "gross_amount",
    }),
    message: z.string().openapi({
      description: "What is wrong with it, for people.",
      example: "must be a whole number above 0",
    }),
  })).optional().openapi({
    description: "With `validation_error`: each field that is wrong, by its path.",
    example: [{ field: "gross_amount", message: "must be a whole number above 0" }],
  }),
  payment_id: z.uuid().optional().openapi({
    description: "The payment it is about, once there is one.",
    example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  }),
  invoice_id: z.uuid().optional().openapi({
    description: "The invoice it is about, once there is one.",
  }),
  subscription_id: z.uuid().optional().openapi({
    description: "The subscription it is about, once there is one.",
  }),
  order_id: z.string().optional().openapi({
    description: "The order of that payment or invoice.",
    example: "order-1893",
  }),
  outcome: z.enum(["refused", "unknown"]).optional().openapi({
    description: "Of what the gateway was asked for. `refused`: nothing happened. `unknown`: it " +
      "may have; the service finds out, and the payment will tell.",
    example: "refused",
  }),
  transaction_status: PaymentStatusSchema.optional(),
  invoice_status: InvoiceStatusSchema.optional(),
  subscription_status: SubscriptionStatusSchema.optional(),
  gateway_status_code: z.string().optional().openapi({
    description: "What the gateway answered with, where it did.",
    example: "402",
  }),
  checks: z.record(z.string(), z.string()).optional().openapi({
    description: "Of `GET /health/ready/`: what the service needs, and how it stands.",
    example: { database: "up", migrations: "pending" },
  }),
  payment: PaymentSchema.optional(),
  refund: RefundSchema.optional(),
}).openapi("Problem", {
  description: "What went wrong (RFC 9457). With `invalid_state` of a payment, invoice or " +
    "subscription comes its `transaction_status`, `invoice_status` or `subscription_status`; `payment` with `capture_denied`, `refund` with " +
    "`refund_denied`.",
});

/** Turns whatever was thrown into the caller's answer; what nobody foresaw goes to the log alone. */
export function renderError(thrown: unknown, { requestId, log }: RequestContext): Response {
  const { code, status, detail, members, headers } = toServiceError(thrown);
  if (status >= 500) log.error(code, thrown, { request_id: requestId });
  const problem = {
    type: `urn:payment-gateway:problem:${code}`,
    title: ERROR_CODES[code].title,
    status,
    detail,
    instance: requestId,
    code,
    ...members,
  };
  return new Response(JSON.stringify(problem), {
    status,
    headers: { ...headers, "Content-Type": "application/problem+json" },
  });
}

/** Whoever has more than this wrong has the first of them to begin with. */
const MAX_FIELD_ERRORS = 20;

export function validationError(all: FieldError[]): ServiceError {
  const errors = all.slice(0, MAX_FIELD_ERRORS);
  const detail = errors.map(({ field, message }) => `${field}: ${message}`).join("; ");
  return new ServiceError("validation_error", { detail, members: { errors } });
}

function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (thrown instanceof DatabaseUnavailable) {
    return new ServiceError("unavailable", { headers: { "Retry-After": "2" } });
  }
  // The framework's own exceptions come from validators, of a body that is no JSON or not called so.
  if (thrown instanceof HTTPException && thrown.status < 500) {
    return new ServiceError(thrown.status === 415 ? "unsupported_media_type" : "malformed_json");
  }
  return new ServiceError("internal_error");
}
