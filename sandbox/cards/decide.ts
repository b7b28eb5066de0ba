/** What the bank and the fraud check say to a card charge. */

import type { Start } from "../methods/method.ts";
import type { Details } from "../transactions/transaction.ts";
import type { World } from "../world/world.ts";
import { cardDetails } from "./card_details.ts";
import { HOLD } from "./hold.ts";

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
