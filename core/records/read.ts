/** Reads stored records, restricted to what the caller may see. */

import type { OwnerFilter } from "../../db/records/records.ts";
import { type Caller, canReadAll } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { Service } from "../service.ts";
import type { GatewayRecord, RecordKind } from "./record.ts";

/** Throws `not_found` for a record of another user, as for one that does not exist. */
export async function findOwn<R extends GatewayRecord>(
  { database }: Service,
  { resource, find }: RecordKind<R>,
  caller: Caller,
  id: string,
): Promise<R> {
  const record = await database.query(
    (sql) => find(sql, id, ownerFor(caller)),
    `find ${resource}`,
  );
  if (!record) throw new ServiceError("not_found");
  return record;
}

export function ownerFor(caller: Caller): OwnerFilter {
  return canReadAll(caller) ? null : caller.userId;
}

/** The member `user_id` of a response: only staff and viewers see whose record it is. */
export function ownerShownTo(
  caller: Caller,
  { user_id }: Pick<GatewayRecord, "user_id">,
): { user_id?: string | null } {
  return canReadAll(caller) ? { user_id } : {};
}

/**
 * Whose records a list shows. A user sees only their own records. Staff and viewers see all
 * records, or those of the user in `userId`.
 */
export function ownerOfList(caller: Caller, userId: string | undefined): OwnerFilter {
  if (canReadAll(caller)) return userId ?? null;
  if (userId === undefined || userId === caller.userId) return caller.userId;
  throw new ServiceError("forbidden", {
    detail:
      "user_id: only staff and viewers can list the records of other users. Remove user_id, " +
      "or use a staff or viewer credential.",
  });
}
