/** `runOnce`: stores the result of an operation with the request's idempotency key. */

import type { Caller } from "../auth/caller.ts";
import { newId } from "../ids.ts";
import type { Service } from "../service.ts";
import { claimOrResume, finishKey, type RequestKey, type RequestResult } from "./keys.ts";
import { replyFor } from "./reply.ts";

/**
 * For operations that have the same effect if they run twice, such as marking a difference: after a
 * crash before the result is stored, a repeated request runs the operation again. Operations for
 * which this is wrong use `changeOnce`, or store their own state. The result must contain no
 * secret, because it is stored in clear text.
 */
export async function runOnce<T extends object>(
  service: Service,
  caller: Caller,
  requestKey: RequestKey,
  run: () => Promise<T>,
): Promise<RequestResult<T>> {
  const resourceId = newId(new Date(service.clock()));
  const claim = await claimOrResume(service, caller, requestKey, resourceId);
  if (claim.type === "replay") return { body: claim.body as T, isReplayed: true };
  let body: T;
  try {
    body = await run();
  } catch (error) {
    await finishKey(service, claim.key, replyFor(error));
    throw error;
  }
  await finishKey(service, claim.key, { body });
  return { body, isReplayed: false };
}
