/** Reads records: what is stored here, and of that what is the caller's to see. */

import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { RecordDeps } from "./deps.ts";
import type { GatewayRecord, Kind, Owner } from "./kind.ts";

/** The record, if it is the caller's to see; to everybody else it does not exist. */
export async function findOwn<R extends GatewayRecord>(
  { database }: RecordDeps,
  { resource, find }: Kind<R>,
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

export function ownerFor({ isStaff, userId }: Caller): Owner {
  return isStaff ? null : userId;
}
