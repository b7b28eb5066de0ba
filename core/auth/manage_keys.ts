/** `listKeys`, for staff and viewers; `newKeyRow` and `revokeKey`, for staff. */

import {
  type ApiKey,
  listApiKeyPage,
  type NewApiKey,
  revokeUnlessLastStaff,
} from "../../db/access/api_keys.ts";
import { displayPrefix, generateApiKey, hashApiKey } from "../secrets/api_key.ts";
import { ServiceError } from "../errors.ts";
import type { Service } from "../service.ts";
import { type Caller, requireReadAll, requireStaff, type Role, roleOf } from "./caller.ts";

export type KeyView = ReturnType<typeof viewKey>;

export function viewKey(key: ApiKey) {
  return {
    prefix: key.prefix,
    user_id: key.user_id,
    role: roleOf({ isStaff: key.is_staff, isViewer: key.is_viewer }),
    is_development: key.is_development,
    name: key.name,
    order_prefix: key.order_prefix,
    created_at: key.created_at.toISOString(),
    last_used_at: key.last_used_at?.toISOString() ?? null,
    revoked_at: key.revoked_at?.toISOString() ?? null,
  };
}

export interface KeyPage {
  keys: KeyView[];
  /** The prefix to pass as `before`; null on the last page. */
  next: string | null;
}

export async function listKeys(
  { database }: Service,
  caller: Caller,
  { limit, before }: { limit: number; before: string | null },
): Promise<KeyPage> {
  requireReadAll(caller);
  const found = await database.query(
    (sql) => listApiKeyPage(sql, { before, limit: limit + 1 }),
    "list keys",
  );
  const keys = found.slice(0, limit).map(viewKey);
  return { keys, next: found.length > limit ? keys.at(-1)!.prefix : null };
}

export interface NewKeyInput {
  user_id: string;
  /** Not `staff`: the API cannot create staff keys, but the command `keys create` can. */
  role: Exclude<Role, "staff">;
  name: string | null;
  /** Only for the role `user`. */
  order_prefix: string | null;
}

/** A new key, and what is stored of it. */
export function newKeyRow(
  { user_id, role, name, order_prefix }: NewKeyInput,
): { key: string; row: NewApiKey } {
  const key = generateApiKey();
  const row = {
    hash: hashApiKey(key),
    prefix: displayPrefix(key),
    user_id,
    is_staff: false,
    is_viewer: role === "viewer",
    is_development: false,
    name,
    order_prefix,
  };
  return { key, row };
}

/** Does nothing if the key is already revoked. The last staff key cannot be revoked. */
export async function revokeKey(
  { database, acceptDevelopmentKeys }: Service,
  caller: Caller,
  prefix: string,
): Promise<void> {
  requireStaff(caller);
  const { key, isRevoked } = await database.transaction(
    (sql) => revokeUnlessLastStaff(sql, prefix, acceptDevelopmentKeys),
    "revoke key",
  );
  if (!key) throw new ServiceError("not_found");
  if (isRevoked) return;
  throw new ServiceError("invalid_state", {
    detail: `${prefix} is the last valid staff key. Create another one first, with the command ` +
      "`keys create --user ID --staff`.",
  });
}
