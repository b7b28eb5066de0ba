/** The end of 3-D Secure: the customer proved to be the holder, or did not. */

import { move } from "../transactions/move.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { MINUTE } from "../world/time.ts";
import type { World } from "../world/world.ts";
import type { CardBehaviour } from "./card.ts";
import { decide, deny } from "./decide.ts";

export const OTP = "112233";

export function findByRedirectToken(world: World, token: string): Transaction | undefined {
  for (const transaction of world.transactions.newest()) {
    const threeDs = transaction.details.threeDs as { token: string } | undefined;
    if (threeDs?.token === token) return transaction;
  }
  return undefined;
}

/** Finishes the authentication of a pending card transaction. */
export function finishThreeDs(world: World, transaction: Transaction, isProven: boolean) {
  const { details, amount } = transaction;
  const { threeDs } = details.behaviour as CardBehaviour;
  const result = isProven ? threeDs === "otp" || threeDs === "slow" ? "otp" : threeDs : "failed";
  const proven = { ...details, threeDs: { ...details.threeDs as object, result } };
  if (!isProven || threeDs === "impossible") {
    const { says: _says, status, ...changes } = deny("deny", "3DS Authentication Denied");
    return move(world, transaction, status, "three_ds", { ...changes, details: proven });
  }
  if (threeDs === "slow") {
    return world.transactions.put({
      ...transaction,
      details: proven,
      decidesAt: world.clock.now() + MINUTE,
    });
  }
  const { says: _says, status, ...changes } = decide(details, amount, world);
  return move(world, transaction, status, "three_ds", {
    ...changes,
    details: proven,
  });
}
