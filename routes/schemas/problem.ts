/** How each error looks, for the document: once each, whichever operation gives it. */

import { ERROR_CODES, type ErrorCode } from "../../core/errors.ts";
import { EXAMPLE_REQUEST_ID } from "../../openapi/components.ts";
import { CHARGED, REFUND_RESULTS } from "./payment_examples.ts";
import type { Router } from "../shared/router.ts";

const { id, order_id } = CHARGED.authorized_card.value;
const OF_A_PAYMENT = { payment_id: id, order_id };

/** What they hold besides what they all do, where that helps to understand them. */
const MEMBERS: Partial<Record<ErrorCode, object>> = {
  validation_error: {
    detail: "gross_amount: must be a whole number above 0",
    errors: [{ field: "gross_amount", message: "must be a whole number above 0" }],
  },
  invalid_state: {
    detail: "A payment in settlement cannot be cancelled.",
    ...OF_A_PAYMENT,
    outcome: "refused",
    transaction_status: "settlement",
  },
  duplicate_order: {
    detail: `The order id ${order_id} is taken.`,
    order_id,
    outcome: "refused",
  },
  refund_denied: {
    detail: "Refund denied by the bank",
    ...OF_A_PAYMENT,
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
    ...OF_A_PAYMENT,
    outcome: "refused",
    payment: CHARGED.authorized_card.value,
  },
  gateway_validation: {
    detail: "One or more parameters in the payload is invalid.",
    ...OF_A_PAYMENT,
    outcome: "refused",
    gateway_status_code: "400",
  },
  gateway_error: {
    detail: "Sorry. Our system is recovering from unexpected issues. Please retry.",
    ...OF_A_PAYMENT,
    outcome: "unknown",
    gateway_status_code: "500",
  },
  gateway_authentication: {
    detail: "Unknown Merchant server_key/id",
    ...OF_A_PAYMENT,
    outcome: "refused",
    gateway_status_code: "401",
  },
  gateway_rate_limited: {
    detail: "API rate limit exceeded",
    ...OF_A_PAYMENT,
    outcome: "refused",
    gateway_status_code: "429",
  },
  gateway_unreachable: {
    detail: "The gateway does not answer at the moment; nothing was done.",
    outcome: "refused",
  },
  gateway_timeout: { ...OF_A_PAYMENT, outcome: "unknown" },
  idempotency_in_progress: {
    detail: "The first request with this Idempotency-Key is still running.",
  },
  idempotency_key_reused: {
    detail: "This Idempotency-Key was used for another request; take a new one.",
  },
  payload_too_large: { detail: "At most 256 KiB are taken." },
  rate_limited: { detail: "Try again in 1 s." },
};

export function describeProblems({ openAPIRegistry }: Router): void {
  for (const [code, { title, status }] of Object.entries(ERROR_CODES)) {
    // Of no operation, but of a path that has no such one.
    if (code === "method_not_allowed") continue;
    openAPIRegistry.registerComponent("examples", code, {
      summary: title,
      value: {
        type: `urn:payment-gateway:problem:${code}`,
        title,
        status,
        detail: null,
        instance: EXAMPLE_REQUEST_ID,
        code,
        ...MEMBERS[code as ErrorCode],
      },
    });
  }
}
