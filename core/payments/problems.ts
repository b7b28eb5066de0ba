/** What went wrong with the gateway, in words for the caller. */

import { DatabaseUnavailable } from "../../db/database.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import { type ErrorCode, ServiceError, type ServiceErrorOptions } from "../errors.ts";
import * as gateway from "../gateway/errors.ts";

/** How long a caller is asked to wait where the gateway does not say. */
const RETRY_AFTER_SECONDS = 5;

/** `refused`: nothing happened; `unknown`: it may have. */
export function problemAbout(
  code: ErrorCode,
  payment: GatewayPayment,
  outcome: gateway.Outcome,
  options: ServiceErrorOptions = {},
): ServiceError {
  const { id, order_id } = payment;
  return new ServiceError(code, {
    ...options,
    members: { payment_id: id, order_id, outcome, ...options.members },
  });
}

/** `outcome` is that of the whole operation, where the call that failed was but a part of it. */
export function gatewayProblem(
  error: gateway.GatewayError,
  payment: GatewayPayment,
  outcome = error.outcome,
): ServiceError {
  return problemAbout(codeFor(error), payment, outcome, optionsFor(error));
}

/** The gateway was but asked, and not for a payment of the caller's. */
export function lookProblem(error: gateway.GatewayError): ServiceError {
  return new ServiceError(codeFor(error), optionsFor(error));
}

function optionsFor(error: gateway.GatewayError): ServiceErrorOptions {
  const { retryAfterSeconds, statusCode } = error;
  return {
    detail: detailOf(error),
    headers: codeFor(error) === "gateway_rate_limited"
      ? { "Retry-After": String(retryAfterSeconds ?? RETRY_AFTER_SECONDS) }
      : {},
    members: statusCode === null ? {} : { gateway_status_code: statusCode },
    cause: error,
  };
}

/** The gateway said something else than it was asked, so nobody knows what it did. */
export function unexplained(payment: GatewayPayment, statusCode: string): ServiceError {
  return problemAbout("gateway_error", payment, "unknown", {
    detail: "The gateway's answer does not say what became of it.",
    members: { gateway_status_code: statusCode },
  });
}

export function invalidState(payment: GatewayPayment, detail: string): ServiceError {
  return problemAbout("invalid_state", payment, "refused", {
    detail,
    members: { transaction_status: payment.transaction_status },
  });
}

/** The charge was not answered, and the gateway does not know of it so far. */
export function notYetKnown(payment: GatewayPayment): ServiceError {
  return problemAbout("invalid_state", payment, "refused", {
    detail: "The gateway does not know of this charge yet; try again later.",
    headers: { "Retry-After": String(RETRY_AFTER_SECONDS) },
    members: { transaction_status: payment.transaction_status },
  });
}

/** Once a payment is written, nobody is told of a failure without being told of the payment. */
export async function namingPayment<T>(
  payment: GatewayPayment,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (!(error instanceof DatabaseUnavailable)) {
      throw problemAbout("internal_error", payment, "unknown", { cause: error });
    }
    throw problemAbout("unavailable", payment, "unknown", {
      headers: { "Retry-After": "2" },
      cause: error,
    });
  }
}

/** With the breaker open nothing is written or sent. */
export function gatewayIsDown(): ServiceError {
  return new ServiceError("gateway_unreachable", {
    detail: "The gateway does not answer at the moment; nothing was done.",
    members: { outcome: "refused" },
  });
}

function codeFor(error: gateway.GatewayError): ErrorCode {
  if (error.failure === "unreachable") return "gateway_unreachable";
  if (error.failure !== "answered") return "gateway_timeout";
  if (error instanceof gateway.GatewayValidationError) return "gateway_validation";
  if (error instanceof gateway.GatewayAuthenticationError) return "gateway_authentication";
  if (error instanceof gateway.GatewayRateLimitError) return "gateway_rate_limited";
  return "gateway_error";
}

function detailOf({ message, validationMessages }: gateway.GatewayError): string {
  const said = validationMessages.filter((text) => !message.includes(text));
  return said.length > 0 ? `${message} ${said.join("; ")}` : message;
}
