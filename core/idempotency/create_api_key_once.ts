/** `createApiKeyOnce`: a request that is sent twice creates one API key. */

import type { ApiKey } from "../../db/access/api_keys.ts";
import { type Caller, requireStaff } from "../auth/caller.ts";
import { type KeyView, type NewKeyInput, newKeyRow, viewKey } from "../auth/manage_keys.ts";
import { storeApiKey } from "../auth/order_prefix.ts";
import { ServiceError } from "../errors.ts";
import type { Service } from "../service.ts";
import { changeOnce } from "./change_once.ts";
import type { RequestKey } from "./keys.ts";
import { replyFor } from "./reply.ts";

/**
 * The result contains the API key itself, which is not stored. So the stored reply for a repeated
 * request is a problem: `invalid_state`, with the `prefix` of the API key that the first request
 * created.
 */
export async function createApiKeyOnce(
  service: Service,
  caller: Caller,
  input: NewKeyInput,
  requestKey: RequestKey | null,
): Promise<KeyView & { key: string }> {
  requireStaff(caller);
  const { key, row } = newKeyRow(input);
  const changed = await changeOnce(service, caller, requestKey, async (sql) => {
    const result = await storeApiKey(sql, row);
    return { result, reply: replyFor(alreadyCreated(result))! };
  }, "create key");
  if ("result" in changed) return { ...viewKey(changed.result), key };
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
