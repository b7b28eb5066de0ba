/** `changeOnce`: a change of the database that runs once for each idempotency key. */

import type { Sql } from "../../db/connection/database.ts";
import { claimKey, endKey } from "../../db/records/idempotency_keys.ts";
import { NO_LOCK } from "../../db/connection/instance_lock.ts";
import type { Caller } from "../auth/caller.ts";
import { newId } from "../ids.ts";
import type { Service } from "../service.ts";
import {
  findUsedKey,
  newKeyClaim,
  oldestValidKey,
  requestInProgress,
  type RequestKey,
  requireSameRequest,
} from "./keys.ts";
import { replay, type Reply } from "./reply.ts";

export interface Change<T> {
  result: T;
  /** What a repeated request gets. It must contain no secret in clear text. */
  reply: Reply;
}

export type ChangedOnce<T> = { result: T } | { replayed: object };

/**
 * Makes the change and stores the key and the reply in one transaction, so that a crash cannot
 * separate them. A repeated request returns the stored body, or throws the stored problem. Without
 * a key, every request makes the change.
 */
export async function changeOnce<T>(
  service: Service,
  caller: Caller,
  requestKey: RequestKey | null,
  change: (sql: Sql) => Promise<Change<T>>,
  name: string,
): Promise<ChangedOnce<T>> {
  if (!requestKey) return { result: (await service.database.transaction(change, name)).result };
  const now = new Date(service.clock());
  // The claim is visible only after the commit, together with the reply, so no lease has to be
  // held. A concurrent request with the same Idempotency-Key waits for the commit.
  const claim = newKeyClaim(requestKey, caller, newId(now), { now, thisInstance: NO_LOCK });
  const changed = await service.database.transaction(async (sql) => {
    if (!await claimKey(sql, claim, oldestValidKey(service, now))) return null;
    const changed = await change(sql);
    await endKey(sql, claim, changed.reply);
    return changed;
  }, name);
  if (changed) return { result: changed.result };

  const known = await findUsedKey(service, caller, requestKey);
  // It was pruned meanwhile. A retry finds it unused.
  if (!known) throw requestInProgress(1);
  requireSameRequest(known, requestKey);
  return { replayed: replay(known.reply) };
}
