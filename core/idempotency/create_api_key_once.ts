/** `createApiKeyOnce`: a form that is sent twice creates one API key. */

import { type ApiKey, ensureApiKey } from "../../db/api_keys.ts";
import { claimKey, endKey } from "../../db/idempotency_keys.ts";
import { type Caller, requireStaff } from "../auth/caller.ts";
import { type KeyView, type NewKeyInput, newKeyRow, viewKey } from "../auth/manage_keys.ts";
import { ServiceError } from "../errors.ts";
import { newId } from "../ids.ts";
import {
  findUsedKey,
  type KeyDeps,
  newKeyClaim,
  oldestValidKey,
  requestInProgress,
  type RequestKey,
  requireSameRequest,
} from "./keys.ts";
import { replay, replyFor } from "./reply.ts";

/**
 * The result contains the API key itself, which is not stored. So the stored reply for a repeated
 * request is a problem: `invalid_state`, with the `prefix` of the API key that the first request
 * created.
 */
export async function createApiKeyOnce(
  deps: KeyDeps,
  caller: Caller,
  input: NewKeyInput,
  requestKey: RequestKey,
): Promise<KeyView & { key: string }> {
  requireStaff(caller);
  const now = new Date(deps.clock());
  const { key, row } = newKeyRow(input);
  // The claim is visible only after the commit, together with the reply, so no lease has to be
  // held. A concurrent request with the same Idempotency-Key waits for the commit.
  const claim = newKeyClaim(requestKey, caller, newId(now), { now, holder: null });
  const stored = await deps.database.transaction(async (sql) => {
    if (!await claimKey(sql, claim, oldestValidKey(deps, now))) return null;
    const stored = await ensureApiKey(sql, row);
    await endKey(sql, claim, replyFor(alreadyCreated(stored)), now);
    return stored;
  }, "create key once");
  if (stored) return { ...viewKey(stored), key };

  const known = await findUsedKey(deps, caller, requestKey);
  // It was pruned meanwhile. A retry finds it unused.
  if (!known) throw requestInProgress(now, now);
  requireSameRequest(known, requestKey);
  replay(known.reply);
  throw new Error("The stored reply is not a problem");
}

function alreadyCreated({ prefix }: ApiKey): ServiceError {
  return new ServiceError("invalid_state", {
    detail:
      `This request has already created the key ${prefix}. The service does not store the key ` +
      "itself and cannot show it again. If it is lost, revoke it and create another one.",
    members: { prefix },
  });
}
