/** A webhook as the sandbox keeps it, and what the rest of the sandbox may ask of the sender. */

import type { PayAccount } from "./records.ts";
import type { Transaction } from "./transaction.ts";
import type { Stored } from "../engine/table.ts";

export interface Webhook extends Stored {
  transactionId: string | null;
  cause: Cause;
  /** What it tells, such as `settlement` or `subscription.charge`. */
  event: string;
  url: string;
  /** The exact text that is sent. */
  payload: string;
  createdAt: number;
  /**
   * `waiting` for its first or next attempt, `held` back to arrive out of order, `lost` on purpose,
   * `delivered`, or `failed` for good.
   */
  state: "waiting" | "held" | "lost" | "delivered" | "failed";
  nextAt: number | null;
  /** Attempts that count: duplicates on purpose do not, and a resend begins anew. */
  tries: number;
  attempts: Attempt[];
}

export interface Attempt {
  at: number;
  /** The receiver's HTTP status; null where there was no answer. */
  status: number | null;
  /** The beginning of its answer, or why there was none. */
  answer: string;
}

export interface Notifier {
  /** Tells the merchant of a transaction's state as it is now. */
  transaction(transaction: Transaction, cause: Cause): void;
  /** Tells of a subscription: the bare object, or a cycle's outcome. Unsigned, as with the gateway. */
  recurring(payload: Record<string, unknown>, event: string): void;
  account(account: PayAccount): void;
  /** Sends one again, whatever came of it before. */
  resend(webhook: Webhook): void;
  /** Tries one again whose time has come. */
  retry(webhook: Webhook): void;
  /** Does something at once; `told` comes true when the webhooks it caused have been tried. */
  during<T>(work: () => T): { result: T; told: Promise<void> };
  /** Comes true when everything that is under way now has been tried. */
  idle(): Promise<void>;
  /** Lets go what was held back, for those who wait for everything to arrive. */
  release(): void;
  close(): Promise<void>;
}

export const CAUSES = [
  "charge",
  "cancel",
  "expire",
  "approve",
  "deny",
  "capture",
  "refund",
  "direct_refund",
  "confirm_refund",
  "pay",
  "three_ds",
  "fail",
  "expiry",
  "settle",
  "chargeback",
  "reverse",
  "invoice",
  "subscription",
  "subscription_charge",
  "account",
] as const;

export type Cause = (typeof CAUSES)[number];
