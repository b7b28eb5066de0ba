/**
 * Prefixes of order ids: a user with a prefix uses only order ids that begin with it, and no other
 * user can use those.
 */

import {
  type ApiKey,
  canReservePrefix,
  ensureApiKey,
  type NewApiKey,
  ORDER_PREFIX_LENGTH,
} from "../../db/access/api_keys.ts";
import type { Sql } from "../../db/connection/database.ts";
import { invalidField } from "../errors.ts";
import type { Caller } from "./caller.ts";

const { min, max } = ORDER_PREFIX_LENGTH;

/**
 * Begins with a letter, so that no generated order id of another user begins with it: those begin
 * with a digit. Short, because the gateway limits the length of generated order ids, too.
 */
export const ORDER_PREFIX = new RegExp(`^[A-Za-z][A-Za-z0-9_~.-]{${min - 1},${max - 1}}$`);

export const ORDER_PREFIX_RULE =
  `must have ${min} to ${max} letters, digits and - _ ~ . and begin with a letter`;

/** Inserts the key in a transaction. Throws if its prefix overlaps with that of another user. */
export async function storeApiKey(sql: Sql, key: NewApiKey): Promise<ApiKey> {
  const { user_id, order_prefix } = key;
  if (order_prefix === null || await canReservePrefix(sql, user_id, order_prefix)) {
    return await ensureApiKey(sql, key);
  }
  throw invalidField("order_prefix", "overlaps with the prefix of another user; choose another");
}

/** Throws if the order id does not begin with the caller's prefix. */
export function requireOrderPrefix(
  { orderPrefix = "" }: Caller,
  { order_id }: { order_id?: string },
): void {
  if (order_id === undefined || order_id.startsWith(orderPrefix)) return;
  throw invalidField("order_id", `must begin with ${orderPrefix}, the prefix of your API key`);
}
