/** Lets an error end a request's key as well. */

import { ServiceError } from "../errors.ts";
import { endKeyed } from "../idempotency/keys.ts";
import { replyOf } from "../idempotency/reply.ts";
import type { RecordDeps } from "./deps.ts";
import type { Asker } from "./keyed_change.ts";
import type { GatewayRecord, Kind } from "./kind.ts";

/** It is kept where it is certain; else another try with the key is free. */
export async function keepingErrors<R extends GatewayRecord, T>(
  deps: RecordDeps,
  { problems }: Kind<R>,
  { key }: Asker,
  record: R,
  work: () => Promise<T>,
): Promise<T> {
  return await problems.naming(record, async () => {
    try {
      return await work();
    } catch (error) {
      if (key && error instanceof ServiceError) await endKeyed(deps, key, replyOf(error));
      throw error;
    }
  });
}
