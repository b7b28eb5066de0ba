/** The end of 3-D Secure: the customer proved to be the holder, or did not. */

import { move } from "../transactions/move.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { MINUTE } from "../world/time.ts";
import type { World } from "../world/world.ts";
import { cardDetails } from "./card_details.ts";
import { decide, deny } from "./decide.ts";

export const OTP = "112233";

export function findByRedirectToken(world: World, token: string): Transaction | undefined {
  for (const transaction of world.transactions.newest()) {
    if (cardDetails(transaction).threeDs?.token === token) return transaction;
  }
  return undefined;
}

/** Finishes the authentication of a pending card transaction. */
export function finishThreeDs(world: World, transaction: Transaction, isProven: boolean) {
  const { details, amount } = transaction;
  const { behaviour: { threeDs: flow }, threeDs } = cardDetails(transaction);
  const result = isProven ? flow === "otp" || flow === "slow" ? "otp" : flow : "failed";
  const proven = { ...details, threeDs: { ...threeDs, result } };
  if (!isProven || flow === "impossible") {
    const { says: _says, status, ...changes } = deny("deny", "3DS Authentication Denied");
    return move(world, transaction, status, "three_ds", { ...changes, details: proven });
  }
  if (flow === "slow") {
    return world.transactions.put({
      ...transaction,
      details: proven,
      decidesAt: world.clock.now() + MINUTE,
    });
  }
  const { says: _says, status, ...changes } = decide(details, amount, world);
  return move(world, transaction, status, "three_ds", { ...changes, details: proven });
}
