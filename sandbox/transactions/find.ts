/** Finds a transaction by its own id or by its order's. */

import { Refusal } from "../http/refusal.ts";
import type { World } from "../world/world.ts";
import type { Transaction } from "./transaction.ts";

/** An order id with any other character can be charged, but no path leads to it (G§3.1). */
const USABLE_IN_A_PATH = /^[\w~.-]+$/;

export function findTransaction(world: World, id: string): Transaction {
  const transaction = world.transactions.get(id) ?? byOrder(world, id);
  if (!transaction) throw new Refusal(404);
  return transaction;
}

function byOrder(world: World, orderId: string): Transaction | undefined {
  if (!USABLE_IN_A_PATH.test(orderId)) return undefined;
  const transaction = world.transactions.get(world.orders.get(orderId)?.id ?? "");
  // DANA's are found by their own id alone (G§3.11).
  return transaction?.method === "dana" ? undefined : transaction;
}
