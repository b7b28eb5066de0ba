/** The app of an instance that cannot serve requests yet: only the liveness probe works. */

import { ServiceError } from "../../core/errors.ts";
import { type Fetch, type WrapOptions, wrapRequests } from "../../http/middleware/wrap_requests.ts";
import { renderError } from "../../http/problems/render.ts";
import { LIVE } from "./health.ts";

export interface UnreadyReason {
  /** The `detail` of `/health/ready/`. */
  readiness: string;
  /** The `detail` of all other paths. */
  detail: string;
  /** What is not ready, and its state. */
  checks: Record<string, string>;
}

/**
 * The reason is read for each request, because it can change during a start. A path may have any
 * prefix: `BASE_PATH` can be one of the wrong settings.
 */
export function createUnreadyApp(
  readReason: () => UnreadyReason,
  options: Pick<WrapOptions, "log" | "clock">,
): Fetch {
  return wrapRequests((request, context) => {
    const path = new URL(request.url).pathname;
    if (LIVENESS.test(path)) return Response.json(LIVE);
    const { readiness, detail, checks } = readReason();
    const error = new ServiceError("unavailable", {
      ...READINESS.test(path) ? { detail: readiness, members: { checks } } : { detail },
      headers: { "Retry-After": "2" },
      isExpected: true,
    });
    return renderError(error, context);
    // No caller is authenticated, so there is nothing to record.
  }, { ...options, audit: () => {}, isDraining: () => false });
}

const LIVENESS = /\/health\/live\/?$/;
const READINESS = /\/health\/ready\/?$/;

export function isProbe(request: Request): boolean {
  const path = new URL(request.url).pathname;
  return LIVENESS.test(path) || READINESS.test(path);
}
