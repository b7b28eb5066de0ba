/** A webhook as the sandbox stores it, its possible causes, and the interface of the notifier. */

import type { Stored } from "../engine/store.ts";
import type { PayAccount } from "./records.ts";
import type { Transaction } from "./transaction.ts";

export interface Webhook extends Stored {
  transactionId: string | null;
  cause: Cause;
  /** Event name, such as `settlement` or `subscription.charge`. */
  event: string;
  url: string;
  /** The exact body that is sent. */
  payload: string;
  createdAt: number;
  /**
   * `waiting` for its first or next attempt, `held` back to arrive out of order, `lost` on purpose,
   * `delivered`, or `failed` permanently.
   */
  state: "waiting" | "held" | "lost" | "delivered" | "failed";
  nextAt: number | null;
  /** Counted attempts: deliberate duplicates do not count, and a resend starts from 0. */
  tries: number;
  attempts: Attempt[];
}

export interface Attempt {
  at: number;
  /** HTTP status of the receiver; null if there was no response. */
  status: number | null;
  /** Start of the response body, or the error message. */
  answer: string;
}

export interface Notifier {
  /** Notifies the merchant of the transaction's current state. */
  notifyTransaction(transaction: Transaction, cause: Cause): void;
  /**
   * Sends a subscription, or the result of one of its cycles. Like the gateway, without a
   * signature.
   */
  notifySubscription(payload: Record<string, unknown>, event: string): void;
  notifyAccount(account: PayAccount): void;
  /** Delivers a webhook again, in any state. */
  resend(webhook: Webhook): void;
  /** Delivers a webhook whose retry is due. */
  retry(webhook: Webhook): void;
  /**
   * Runs `work`; `delivered` resolves after the first attempt of all webhooks that `work` caused.
   */
  trackDeliveries<T>(work: () => T): { result: T; delivered: Promise<void> };
  /** Resolves when no delivery attempt is running any more. */
  idle(): Promise<void>;
  /** Delivers webhooks whose attempt an earlier run did not make, or a rollback undid. */
  resume(): void;
  /** Delivers all webhooks that were held back. */
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
  "snap",
  "subscription",
  "subscription_charge",
  "account",
] as const;

export type Cause = (typeof CAUSES)[number];
