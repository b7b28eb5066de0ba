/** A transaction as the sandbox stores it, and its statuses. */

import type { Stored } from "../engine/store.ts";

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
  /** Whole rupiah: the amount due, or the captured amount. */
  amount: number;
  method: MethodName;
  status: Status;
  /** Null for methods without fraud detection. */
  fraud: Fraud | null;
  createdAt: number;
  /** When a pending transaction or an authorization expires. */
  expiresAt: number | null;
  capturedAt: number | null;
  settledAt: number | null;
  /** When a scheduled decision about the payment is due, such as that of a slow card issuer. */
  decidesAt: number | null;
  /** Why the bank or provider denied the payment. */
  message: string | null;
  refunds: Refund[];
  /** Missing if there are no chargebacks. */
  chargebacks?: { amount: number; at: number }[];
  /** Data of the payment method. */
  details: Details;
  customFields: Record<string, string>;
  metadata: Record<string, unknown> | null;
  /** Only webhooks contain `customer` and `popId`. */
  customer: { email?: string; full_name?: string } | null;
  popId: string;
  /**
   * Webhook URLs of this transaction: `override` replaces the merchant's, `append` adds to them.
   */
  notify: { override: string[]; append: string[] };
  /** For a repeated payment to a virtual account, the id of the first payment; otherwise null. */
  parentId: string | null;
  subscriptionId: string | null;
  invoiceId: string | null;
  /** The token of the Snap page on which the customer pays; missing for other transactions. */
  snapToken?: string;
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
  /** When the bank will confirm the refund. */
  confirmsAt: number;
  /** When the bank confirmed it; null: not yet. */
  confirmedAt: number | null;
  /** True until the bank has made the refund. Until then responses do not list it. */
  isPending?: boolean;
}

/** The sum of all refunds, including those that the bank has not made yet. */
export function sumRefunds({ refunds }: Pick<Transaction, "refunds">): number {
  return refunds.reduce((sum, { amount }) => sum + amount, 0);
}

/** An amount in the gateway's format. */
export function formatMoney(amount: number): string {
  return `${amount}.00`;
}

/** The fields of a new transaction that its payment method determines. */
export interface InitialTransaction extends Partial<Transaction> {
  status: Transaction["status"];
  fraud: Transaction["fraud"];
  /** `status_message` of the response. */
  statusMessage: string;
  details: Details;
}
