/**
 * The turns of large statements of searches. Such a statement can take a second. More than two at a
 * time would take connections from charges, and a caller has one at a time, so that one caller with
 * many searches does not delay the searches of others.
 */

import { createLimiter } from "../../concurrency/limiter.ts";
import { serializeByKey } from "../../concurrency/serialize_by_key.ts";
import { ServiceError } from "../errors.ts";

const largeStatements = createLimiter(2);

/**
 * Runs `work` when it is its turn. Throws `rate_limited` if its turn has not come after `maxWaitMs`
 * and the statement before it, which ends at the deadline of the database at the latest.
 */
export async function inTurn<T>(
  userId: string,
  maxWaitMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const timeUp = AbortSignal.timeout(maxWaitMs);
  return await serializeByKey(`search by ${userId}`, async () => {
    const release = await largeStatements.acquire(timeUp).catch(rejectSearch);
    try {
      return await work();
    } finally {
      release();
    }
  });
}

const RETRY_SECONDS = 2;

function rejectSearch(): never {
  throw new ServiceError("rate_limited", {
    detail: `Too many searches run at the same time. Retry in ${RETRY_SECONDS} s.`,
    headers: {
      "Retry-After": String(RETRY_SECONDS),
      "RateLimit": `"searches";r=0;t=${RETRY_SECONDS}`,
      "RateLimit-Policy": `"searches";q=1`,
    },
  });
}
