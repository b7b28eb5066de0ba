/**
 * Order ids that the service generates for requests with an idempotency key. They follow from the
 * key: if the database has lost the first request, the repeated one gets the same order id, and the
 * gateway does not charge twice.
 */

import { listReservedOrderIds } from "../../db/writing/record_writes.ts";
import type { Caller } from "../auth/caller.ts";
import { keyIdOf, type RequestKey } from "../idempotency/keys.ts";
import type { Service } from "../service.ts";

/** A caller who uses a key again each day, after it has expired, reaches this after two years. */
const MAX_USES = 750;

export interface GeneratedOrders {
  /** Undefined: the order id does not follow from a key. */
  current(): string | undefined;
  /** Call it if the order id is in use: the key was used before, and has expired since. */
  next(): Promise<void>;
}

/** `toOrderId` makes an order id from a UUID. */
export function generatedOrders(
  { database, deriveId }: Pick<Service, "database" | "deriveId">,
  caller: Caller,
  requestKey: RequestKey | null,
  toOrderId: (id: string) => string,
): GeneratedOrders {
  if (!requestKey) return { current: () => undefined, next: () => Promise.resolve() };
  const { user_id, scope, key } = keyIdOf(requestKey, caller);
  const orderOf = (use: number) => toOrderId(deriveId("order", user_id, scope, key, use));
  let use = 0;
  return {
    current: () => use < MAX_USES ? orderOf(use) : undefined,
    async next() {
      const orders = Array.from({ length: MAX_USES }, (_, each) => orderOf(each));
      const taken = new Set(
        await database.query((sql) => listReservedOrderIds(sql, orders), "list order ids"),
      );
      do use++; while (use < MAX_USES && taken.has(orders[use]!));
    },
  };
}
