/** What the bank and the fraud check say to a card charge. */

import { DAY, MINUTE } from "../engine/time.ts";
import { move } from "../transactions/transactions.ts";
import type { CardBehaviour } from "../world/records.ts";
import type { Details, Start, Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";

const SUCCESS = "Success, Credit Card transaction is successful";

/** Charges the card of a transaction whose holder is known, or need not be. */
export function decide(details: Details, amount: number, world: World): Omit<Start, "details"> {
  const { behaviour: { outcome, deniesAbove = 0 }, bank, isPreAuth } = cardDetails({ details });
  const isSmall = deniesAbove > 0 && amount <= deniesAbove;
  if (outcome === "deny_by_fds") {
    return deny("deny", "Denied by Veritrans Fraud Detection System");
  }
  if (outcome === "deny_by_bank") {
    return deny("accept", byBank(bank, "05", "Do not honour"));
  }
  if (outcome === "insufficient_funds" && !isSmall) {
    return deny("accept", byBank(bank, "51", "Insufficient funds"));
  }
  const now = world.clock.now();
  return {
    status: isPreAuth ? "authorize" : "capture",
    fraud: outcome === "challenge" ? "challenge" : "accept",
    says: outcome === "challenge"
      ? "Success, Credit Card transaction is challenged by FDS"
      : SUCCESS,
    capturedAt: isPreAuth ? null : now,
    expiresAt: now + HOLD,
  };
}

export function deny(fraud: "accept" | "deny", message: string): Omit<Start, "details"> {
  return { status: "deny", fraud, says: message, message };
}

function byBank(bank: string, code: string, message: string): string {
  return `Deny by Bank [${bank.toUpperCase()}] with code [${code}] and message [${message}]`;
}

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

export interface CardDetails {
  masked: string;
  behaviour: CardBehaviour;
  /** The acquirer. */
  bank: string;
  channel?: string;
  isOnUs?: boolean;
  isPreAuth?: boolean;
  installment?: number | null;
  /** Where 3-D Secure was asked for; `result` is null until the customer is back. */
  threeDs?: { token: string; result: string | null };
  savedTokenId?: string;
  savedUntil?: number;
}

/** Every method has details of its own; those of a card transaction are these. */
export function cardDetails({ details }: { details: Details }): CardDetails {
  return details as unknown as CardDetails;
}

export const HOLD = 8 * DAY;

/** The customer has been sent to the bank, and the bank has heard nothing yet. */
export function isWaitingForThreeDs(transaction: Transaction): boolean {
  return transaction.status === "pending" && transaction.method === "credit_card" &&
    cardDetails(transaction).threeDs?.result === null;
}
