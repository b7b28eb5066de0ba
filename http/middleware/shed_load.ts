/**
 * Rejects requests of callers while the instance is overloaded, before any work is done for them.
 */

import { ServiceError } from "../../core/errors.ts";
import type { Load } from "../../core/status/load.ts";
import { countRejectedRequest } from "../../core/telemetry/telemetry.ts";
import type { RequireCaller } from "./require_caller.ts";

export const RETRY_AFTER_SECONDS = 2;

/** Whether the next request of a caller or of a user of the console must be rejected. */
export function rejectsNext(load: Load): boolean {
  const isRejected = load.rejectsNext();
  if (isRejected) countRejectedRequest();
  return isRejected;
}

/** Runs before authentication, which may query the database. */
export function createLoadShedder(load: Load, requireCaller: RequireCaller): RequireCaller {
  return (c) => {
    if (!rejectsNext(load)) return requireCaller(c);
    throw new ServiceError("unavailable", {
      detail: "The server is overloaded. The request was not processed. " +
        `Retry in ${RETRY_AFTER_SECONDS} s.`,
      headers: { "Retry-After": String(RETRY_AFTER_SECONDS) },
      isExpected: true,
    });
  };
}
