/** The problem documents for failed gateway calls. */

import { DatabaseUnavailable } from "../../db/connection/database.ts";
import { ERROR_CODES, type ErrorCode, ServiceError, type ServiceErrorOptions } from "../errors.ts";
import * as gateway from "../gateway/errors.ts";

/** The `Retry-After` for callers if the gateway sends none. */
const RETRY_AFTER_SECONDS = 5;

export type Problems<R> = ReturnType<typeof createProblems<R>>;

/**
 * Problems of one type of record. `idsOf` returns the members that identify the record, `stateOf`
 * the members that show its state.
 */
export function createProblems<R>(idsOf: (record: R) => object, stateOf: (record: R) => object) {
  /** `refused`: nothing was changed at the gateway; `unknown`: something may have been changed. */
  function problemAbout(
    code: ErrorCode,
    record: R,
    outcome: gateway.GatewayOutcome,
    options: ServiceErrorOptions = {},
  ): ServiceError {
    return new ServiceError(code, {
      ...options,
      members: { ...idsOf(record), outcome, ...options.members },
    });
  }

  return {
    problemAbout,
    ...stateProblems(problemAbout, stateOf),
    ...gatewayProblems(problemAbout),
    ...interruptionProblems(problemAbout),
  };
}

type ProblemAbout<R> = (
  code: ErrorCode,
  record: R,
  outcome: gateway.GatewayOutcome,
  options?: ServiceErrorOptions,
) => ServiceError;

/** The state of the record does not allow the request. */
function stateProblems<R>(problemAbout: ProblemAbout<R>, stateOf: (record: R) => object) {
  return {
    invalidState: (record: R, detail: string) =>
      problemAbout("invalid_state", record, "refused", { detail, members: { ...stateOf(record) } }),

    /** The record is no longer as the form showed it. The console has its own text for this. */
    changed: (record: R) =>
      problemAbout("invalid_state", record, "refused", {
        detail: "The record has changed since it was shown. Nothing was done.",
        members: { ...stateOf(record), has_changed: true },
      }),

    /** The gateway did not answer the creation and does not list the object yet. */
    notAtGatewayYet: (record: R, detail: string) =>
      problemAbout("invalid_state", record, "refused", {
        detail,
        headers: { "Retry-After": String(RETRY_AFTER_SECONDS) },
        members: { ...stateOf(record) },
      }),
  };
}

/** The gateway rejected a call, did not answer it, or answered something unexpected. */
function gatewayProblems<R>(problemAbout: ProblemAbout<R>) {
  return {
    /** If the call was only a part of an operation, `outcome` is that of the whole operation. */
    gatewayProblem: (error: gateway.GatewayError, record: R, outcome = error.outcome) =>
      problemAbout(codeFor(error), record, outcome, optionsFor(error, outcome)),

    /** The gateway's response does not match the request, so its result is not known. */
    unclearAnswer: (record: R, statusCode: string) =>
      problemAbout("gateway_error", record, "unknown", {
        detail: "The gateway's response did not say whether the request succeeded. Read the " +
          "resource, or retry with the same Idempotency-Key.",
        members: { gateway_status_code: statusCode },
      }),

    orderIdInUse: (record: R, cause: gateway.GatewayError) =>
      problemAbout("duplicate_order", record, "refused", {
        detail: "The gateway already has a transaction with this order id. Send a new order_id.",
        cause,
      }),

    /** A check at the gateway failed; `outcome` is that of the operation that needed the check. */
    checkFailed: (record: R, outcome: gateway.GatewayOutcome, error: unknown) =>
      error instanceof gateway.GatewayError
        ? problemAbout(codeFor(error), record, outcome, optionsFor(error, outcome))
        : error,

    /**
     * The gateway offers no way to look up the object, and a second request could create another
     * one.
     */
    neverAnswered: (record: R) =>
      problemAbout("gateway_timeout", record, "unknown", {
        detail:
          "The gateway did not confirm whether it created this resource. The request was not " +
          "sent again, because that could create a second one. If the gateway created it, its " +
          "status changes when the gateway sends a notification: read it again before you " +
          "create another one.",
      }),
  };
}

/** The service could not finish the request. */
function interruptionProblems<R>(problemAbout: ProblemAbout<R>) {
  return {
    /** This process was paused before the call; another instance may have acted meanwhile. */
    sentTooLate: (record: R) =>
      problemAbout("gateway_timeout", record, "unknown", {
        detail:
          "The service was paused before it could call the gateway. Read the resource later, or " +
          "retry with the same Idempotency-Key.",
      }),

    /** Another request took over the key, because this request's instance seemed to be gone. */
    takenOver: (record: R) =>
      problemAbout("idempotency_in_progress", record, "unknown", {
        detail:
          "Another request with this Idempotency-Key has taken this one over. Retry with the same " +
          "key after the number of seconds in the Retry-After header to get its result.",
        headers: { "Retry-After": "1" },
      }),

    /** Replaces an unexpected error with one that names the record, so the caller can find it. */
    withRecord(record: R, error: unknown): ServiceError {
      if (error instanceof ServiceError) return error;
      if (!(error instanceof DatabaseUnavailable)) {
        return problemAbout("internal_error", record, "unknown", { cause: error });
      }
      return problemAbout("unavailable", record, "unknown", {
        headers: { "Retry-After": "2" },
        cause: error,
      });
    },
  };
}

/** For a check at the gateway that failed and is not about a record of the caller. */
export function checkProblem(error: gateway.GatewayError): ServiceError {
  return new ServiceError(codeFor(error), optionsFor(error));
}

/**
 * Thrown while the circuit breaker is open, before a record is written or a request is sent.
 * `unknown`: an earlier attempt of the request may have succeeded.
 */
export function gatewayDownProblem(outcome: gateway.GatewayOutcome = "refused"): ServiceError {
  return new ServiceError("gateway_unreachable", {
    detail: outcome === "refused"
      ? "The gateway is not responding. The request was not sent; retry later."
      : `The gateway is not responding. ${EARLIER_ATTEMPT} Retry later with the same key.`,
    members: { outcome },
  });
}

const EARLIER_ATTEMPT = "It is not known whether an earlier attempt succeeded.";

function optionsFor(
  error: gateway.GatewayError,
  outcome: gateway.GatewayOutcome = error.outcome,
): ServiceErrorOptions {
  const { retryAfterSeconds, statusCode } = error;
  const code = codeFor(error);
  const isEarlierUnknown = outcome === "unknown" && error.outcome === "refused";
  const text = detailOf(error);
  const detail = isEarlierUnknown ? `${text.replace(/\.$/, "")}. ${EARLIER_ATTEMPT}` : text;
  return {
    // For a timeout the message only repeats the title.
    detail: detail === ERROR_CODES[code].title ? undefined : detail,
    headers: code === "gateway_rate_limited"
      ? { "Retry-After": String(retryAfterSeconds ?? RETRY_AFTER_SECONDS) }
      : {},
    members: statusCode === null ? {} : { gateway_status_code: statusCode },
    cause: error,
  };
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
  const further = validationMessages.filter((text) => !message.includes(text));
  return further.length > 0 ? `${message} ${further.join("; ")}` : message;
}
