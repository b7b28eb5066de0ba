/** A transaction as the sandbox keeps it, and the states it can be in. */

import type { Stored } from "../engine/table.ts";

export const STATUSES = [
  "pending",
  "authorize",
  "capture",
  "settlement",
  "deny",
  "cancel",
  "expire",
  "failure",
  "refund",
  "partial_refund",
  "chargeback",
  "partial_chargeback",
] as const;

export type Status = (typeof STATUSES)[number];
export type Fraud = "accept" | "challenge" | "deny";

export interface Transaction extends Stored {
  orderId: string;
  /** Whole rupiah: what is to be paid, or was captured. */
  amount: number;
  method: MethodName;
  status: Status;
  /** Some channels know no fraud check. */
  fraud: Fraud | null;
  createdAt: number;
  /** When a pending one expires, or an authorized one is let go. */
  expiresAt: number | null;
  capturedAt: number | null;
  settledAt: number | null;
  /** When something is decided without anybody's doing, such as a phone that is never picked up. */
  decidesAt: number | null;
  /** What the bank or the provider said of a denial. */
  message: string | null;
  refunds: Refund[];
  /** What the method itself has to remember. */
  details: Details;
  customFields: Record<string, string>;
  metadata: Record<string, unknown> | null;
  /** Where its webhooks go, besides or instead of the merchant's own address. */
  notify: { override: string[]; append: string[] };
  /** A number that can be paid again and again makes a new transaction each time. */
  parentId: string | null;
  subscriptionId: string | null;
  invoiceId: string | null;
}

export type MethodName =
  | "credit_card"
  | "bank_transfer"
  | "permata"
  | "echannel"
  | "gopay"
  | "shopeepay"
  | "ovo"
  | "dana"
  | "qris"
  | "cstore"
  | "akulaku"
  | "kredivo";

export type Details = Record<string, unknown>;

export interface Refund {
  id: number;
  key: string;
  amount: number;
  reason: string;
  isDirect: boolean;
  createdAt: number;
  /** When the bank will confirm it, and when it has. */
  confirmsAt: number;
  confirmedAt: number | null;
}

export function refundedSum({ refunds }: Pick<Transaction, "refunds">): number {
  return refunds.reduce((sum, { amount }) => sum + amount, 0);
}

/** Money as the gateway writes it. */
export function money(amount: number): string {
  return `${amount}.00`;
}

export interface Start extends Partial<Transaction> {
  status: Transaction["status"];
  fraud: Transaction["fraud"];
  /** The answer's `status_message`. */
  says: string;
  details: Details;
}
