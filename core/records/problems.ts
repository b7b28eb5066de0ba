/** What went wrong with the gateway, in words for the caller. */

import { DatabaseUnavailable } from "../../db/database.ts";
import { ERROR_CODES, type ErrorCode, ServiceError, type ServiceErrorOptions } from "../errors.ts";
import * as gateway from "../gateway/errors.ts";

/** How long a caller is asked to wait where the gateway does not say. */
const RETRY_AFTER_SECONDS = 5;

export type Problems<R> = ReturnType<typeof createProblems<R>>;

/** Problems of one kind of records: `namesOf` tells which it is about, `stateOf` how it stands. */
export function createProblems<R>(namesOf: (record: R) => object, stateOf: (record: R) => object) {
  /** `refused`: nothing happened; `unknown`: it may have. */
  function problemAbout(
    code: ErrorCode,
    record: R,
    outcome: gateway.GatewayOutcome,
    options: ServiceErrorOptions = {},
  ): ServiceError {
    return new ServiceError(code, {
      ...options,
      members: { ...namesOf(record), outcome, ...options.members },
    });
  }

  return {
    problemAbout,

    /** `outcome` is that of the whole operation, where the call that failed was but a part of it. */
    gatewayProblem: (error: gateway.GatewayError, record: R, outcome = error.outcome) =>
      problemAbout(codeFor(error), record, outcome, optionsFor(error)),

    /** The gateway said something else than it was asked, so nobody knows what it did. */
    unexplained: (record: R, statusCode: string) =>
      problemAbout("gateway_error", record, "unknown", {
        detail: "The gateway's answer does not say what became of it.",
        members: { gateway_status_code: statusCode },
      }),

    invalidState: (record: R, detail: string) =>
      problemAbout("invalid_state", record, "refused", { detail, members: { ...stateOf(record) } }),

    /** The gateway never answered when it was made, and does not know of it so far. */
    notYetKnown: (record: R, detail: string) =>
      problemAbout("invalid_state", record, "refused", {
        detail,
        headers: { "Retry-After": String(RETRY_AFTER_SECONDS) },
        members: { ...stateOf(record) },
      }),

    orderTaken: (record: R, cause: gateway.GatewayError) =>
      problemAbout("duplicate_order", record, "refused", {
        detail: "The order id is taken at the gateway.",
        cause,
      }),

    /** The gateway was to be asked; `outcome` is that of what it was asked for. */
    async asking<T>(
      record: R,
      outcome: gateway.GatewayOutcome,
      work: () => Promise<T>,
    ): Promise<T> {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof gateway.GatewayError)) throw error;
        throw problemAbout(codeFor(error), record, outcome, optionsFor(error));
      }
    },

    /** There is no way to ask for it, nor a safe one to make it again. */
    neverAnswered: (record: R) =>
      problemAbout("gateway_timeout", record, "unknown", {
        detail: "The gateway never said what became of it, and asking it again could make a " +
          "second one. Should it have been made, it is taken over when the gateway tells of it.",
      }),

    /** Once a record is written, nobody is told of a failure without being told of the record. */
    async naming<T>(record: R, work: () => Promise<T>): Promise<T> {
      try {
        return await work();
      } catch (error) {
        if (error instanceof ServiceError) throw error;
        if (!(error instanceof DatabaseUnavailable)) {
          throw problemAbout("internal_error", record, "unknown", { cause: error });
        }
        throw problemAbout("unavailable", record, "unknown", {
          headers: { "Retry-After": "2" },
          cause: error,
        });
      }
    },
  };
}

/** The gateway was but asked, and not for a record of the caller's. */
export function lookProblem(error: gateway.GatewayError): ServiceError {
  return new ServiceError(codeFor(error), optionsFor(error));
}

/** With the breaker open nothing is written or sent. */
export function gatewayIsDown(): ServiceError {
  return new ServiceError("gateway_unreachable", {
    detail: "The gateway does not answer at the moment; nothing was done.",
    members: { outcome: "refused" },
  });
}

function optionsFor(error: gateway.GatewayError): ServiceErrorOptions {
  const { retryAfterSeconds, statusCode } = error;
  const code = codeFor(error);
  const detail = detailOf(error);
  return {
    // Of silence there is no more to say than what the code is called.
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
  const said = validationMessages.filter((text) => !message.includes(text));
  return said.length > 0 ? `${message} ${said.join("; ")}` : message;
}
