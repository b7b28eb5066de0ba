/** Authorization of card charges: the decision of bank and fraud detection, and 3-D Secure. */

import { first } from "../engine/store.ts";
import { DAY, MINUTE } from "../engine/time.ts";
import { transitionTo } from "../transactions/transactions.ts";
import type { CardBehaviour } from "../world/records.ts";
import type { Details, InitialTransaction, Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";

/** The code that every 3-D Secure page and wallet of the sandbox accepts. */
export const OTP = "112233";

/** When an authorization that was not captured expires. */
export const AUTHORIZATION_HOLD = 8 * DAY;

const SUCCESS = "Success, Credit Card transaction is successful";

export interface CardDetails {
  masked: string;
  behaviour: CardBehaviour;
  /** The acquiring bank. */
  bank: string;
  channel?: string;
  isOnUs?: boolean;
  isPreAuth?: boolean;
  installment?: number | null;
  /** Set if 3-D Secure was requested; `result` is null until the customer has finished. */
  threeDs?: { token: string; result: string | null };
  savedTokenId?: string;
  savedUntil?: number;
}

/** Each payment method has its own type of `details`. Returns them with the type for cards. */
export function cardDetails({ details }: { details: Details }): CardDetails {
  return details as unknown as CardDetails;
}

/** Decides about a card charge that needs no authentication, or whose authentication succeeded. */
export function authorizeCard(
  details: Details,
  amount: number,
  world: World,
): Omit<InitialTransaction, "details"> {
  const { behaviour: { outcome, deniesAbove = 0 }, bank, isPreAuth } = cardDetails({ details });
  const isSmall = deniesAbove > 0 && amount <= deniesAbove;
  if (outcome === "deny_by_fds") {
    return denial("deny", "Denied by Veritrans Fraud Detection System");
  }
  if (outcome === "deny_by_bank") {
    return denial("accept", bankDenial(bank, "05", "Do not honour"));
  }
  if (outcome === "insufficient_funds" && !isSmall) {
    return denial("accept", bankDenial(bank, "51", "Insufficient funds"));
  }
  const now = world.clock.now();
  return {
    status: isPreAuth ? "authorize" : "capture",
    fraud: outcome === "challenge" ? "challenge" : "accept",
    statusMessage: outcome === "challenge"
      ? "Success, Credit Card transaction is challenged by FDS"
      : SUCCESS,
    capturedAt: isPreAuth ? null : now,
    expiresAt: now + AUTHORIZATION_HOLD,
  };
}

export function denial(
  fraud: "accept" | "deny",
  message: string,
): Omit<InitialTransaction, "details"> {
  return { status: "deny", fraud, statusMessage: message, message };
}

function bankDenial(bank: string, code: string, message: string): string {
  return `Deny by Bank [${bank.toUpperCase()}] with code [${code}] and message [${message}]`;
}

export function findByRedirectToken(world: World, token: string): Transaction | undefined {
  return first(world.transactions.find(`redirect:${token}`));
}

/** Ends the 3-D Secure authentication of a pending card transaction. */
export function finishThreeDs(world: World, transaction: Transaction, isAuthenticated: boolean) {
  const { details, amount } = transaction;
  const { behaviour: { threeDs: flow }, threeDs } = cardDetails(transaction);
  const result = isAuthenticated ? flow === "otp" || flow === "slow" ? "otp" : flow : "failed";
  const authenticated = { ...details, threeDs: { ...threeDs, result } };
  if (!isAuthenticated || flow === "impossible") {
    const { statusMessage: _statusMessage, status, ...changes } = denial(
      "deny",
      "3DS Authentication Denied",
    );
    return transitionTo(world, transaction, status, "three_ds", {
      ...changes,
      details: authenticated,
    });
  }
  if (flow === "slow") {
    return world.transactions.put({
      ...transaction,
      details: authenticated,
      decidesAt: world.clock.now() + MINUTE,
    });
  }
  const { statusMessage: _statusMessage, status, ...changes } = authorizeCard(
    details,
    amount,
    world,
  );
  return transitionTo(world, transaction, status, "three_ds", {
    ...changes,
    details: authenticated,
  });
}

/** Whether the customer still has to finish 3-D Secure. */
export function isWaitingForThreeDs(transaction: Transaction): boolean {
  return transaction.status === "pending" && transaction.method === "credit_card" &&
    cardDetails(transaction).threeDs?.result === null;
}
