/** What problem documents hold besides what they all do, where that helps to understand them. */

import type { ErrorCode } from "../core/errors.ts";

const ID = "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5";

const OF_A_PAYMENT = { payment_id: ID, order_id: "order-1893" };

export const PROBLEM_EXAMPLES: Partial<Record<ErrorCode, object>> = {
  validation_error: {
    detail: "gross_amount: must be a whole number above 0",
    errors: [{ field: "gross_amount", message: "must be a whole number above 0" }],
  },
  invalid_state: {
    detail: "A payment that is settlement cannot be cancelled.",
    ...OF_A_PAYMENT,
    outcome: "refused",
    transaction_status: "settlement",
  },
  duplicate_order: {
    detail: "There is a payment with this order id.",
    order_id: "order-1893",
    outcome: "refused",
  },
  gateway_validation: {
    detail: "One or more parameters in the payload is invalid.",
    ...OF_A_PAYMENT,
    outcome: "refused",
    gateway_status_code: "400",
  },
  gateway_error: {
    detail: "Payment provider is not available.",
    ...OF_A_PAYMENT,
    outcome: "refused",
    gateway_status_code: "500",
  },
  gateway_authentication: { ...OF_A_PAYMENT, outcome: "refused", gateway_status_code: "401" },
  gateway_rate_limited: { ...OF_A_PAYMENT, outcome: "refused", gateway_status_code: "429" },
  gateway_unreachable: { ...OF_A_PAYMENT, outcome: "unknown" },
  gateway_timeout: { ...OF_A_PAYMENT, outcome: "unknown" },
  idempotency_in_progress: {
    detail: "The first request with this Idempotency-Key is still running.",
  },
  payload_too_large: { detail: "At most 256 KiB are taken." },
  rate_limited: { detail: "Try again in 1 s." },
};
