/** The records that the sandbox stores, except transactions and webhooks. */

import type { Stored } from "../engine/store.ts";
import type { Transaction } from "./transaction.ts";

/** A card token. The sandbox stores how the card behaves, never its number. */
export interface Card extends Stored {
  masked: string;
  brand: "visa" | "mastercard" | "jcb" | "amex";
  behaviour: CardBehaviour;
  /** Saved tokens are kept. One-time tokens are deleted after one charge or when they expire. */
  isSaved: boolean;
  expiresAt: number | null;
  /** The merchant's customer for whom a page of Snap saved the card. */
  userId?: string;
}

export interface CardBehaviour {
  outcome: "accept" | "challenge" | "deny_by_bank" | "deny_by_fds" | "insufficient_funds";
  /** Amounts up to this are accepted. */
  deniesAbove?: number;
  threeDs: ThreeDsFlow;
  /** The issuing bank, if the card has a specific one. */
  bank?: string;
  /** Whether the cardholder collects points. */
  hasPoints?: boolean;
}

/**
 * `otp`: the customer enters a code. `frictionless`, `attempted`: no code. `slow`: accepted after a
 * minute. `impossible`: the issuer rejects. `outdated`: 3-D Secure version 1, which is rejected.
 */
export type ThreeDsFlow =
  | "otp"
  | "frictionless"
  | "attempted"
  | "slow"
  | "impossible"
  | "outdated";

/** A linked GoPay account. */
export interface PayAccount extends Stored {
  status: "PENDING" | "ENABLED" | "DISABLED" | "EXPIRED";
  phone: string;
  balance: number;
  hasPayLater: boolean;
  redirectUrl: string | null;
  /** When the activation link expires. */
  expiresAt: number;
}

export interface Subscription extends Stored {
  name: string;
  amount: number;
  currency: "IDR";
  paymentType: "credit_card" | "gopay";
  token: string;
  accountId: string | null;
  status: "active" | "inactive";
  /** A cancelled subscription has no retries and cannot be enabled again. */
  isCancelled: boolean;
  createdAt: number;
  schedule: {
    interval: number;
    unit: "day" | "week" | "month";
    /** Maximum number of cycles; null for no limit. */
    maxInterval: number | null;
    startAt: number;
    /**
     * Cycle number n starts `n - 1 - cycle` intervals after `at`. Updating or enabling the
     * subscription changes the anchor.
     */
    anchor: { at: number; cycle: number };
    /** Number of cycles that have started. */
    current: number;
    previousAt: number | null;
    nextAt: number | null;
  };
  retry: {
    interval: number;
    unit: "minute" | "hour" | "day";
    maxInterval: number;
    /** Whether the merchant gave this schedule. If not, responses do not contain it. */
    isRequested?: boolean;
  };
  /** The scheduled retry of the current cycle. */
  retrying: { count: number; nextAt: number } | null;
  transactionIds: string[];
  metadata: Record<string, unknown>;
  customer: Record<string, unknown> | null;
}

export interface Invoice extends Stored {
  orderId: string;
  status: InvoiceStatus;
  amount: number;
  dueAt: number;
  createdAt: number;
  paidAt: number | null;
  documentType: "invoice" | "quotation";
  convertedAt: number | null;
  voidReason: string | null;
  /** The create request; responses echo it and add computed fields. */
  request: InvoiceRequest;
  virtualAccounts: { name: string; bank: string; number: string }[];
}

export type InvoiceStatus =
  | "pending"
  | "published"
  | "overdue"
  | "paid"
  | "voided"
  | "rejected"
  | "canceled";

/** A page on which a customer pays an order with Snap. Its id is the token. */
export interface SnapPage extends Stored {
  orderId: string;
  amount: number;
  createdAt: number;
  expiresAt: number;
  /** Null: none of these yet. A page with a payment can be `expired`, too: `snapState` decides. */
  ended: "expired" | "cancelled" | "replaced" | null;
  /** The language in which the customer last used the page; null: not used yet. */
  language: SnapLanguage | null;
  request: SnapRequest;
  /** Webhook URLs of the page's transactions. */
  notify: Transaction["notify"];
}

export type SnapLanguage = "en" | "id";

/** The fields of the create request that the sandbox uses. */
export interface SnapRequest {
  item_details?: { name: string; price: number; quantity: number }[] | null;
  customer_details?: Record<string, unknown> | null;
  enabled_payments?: string[] | null;
  credit_card?: SnapCardOptions | null;
  user_id?: string | null;
  callbacks?: { finish?: string | null; error?: string | null } | null;
  expiry?: SnapExpiry | null;
  page_expiry?: SnapExpiry | null;
  custom_field1?: string | null;
  custom_field2?: string | null;
  custom_field3?: string | null;
  metadata?: Record<string, unknown> | null;
}

export interface SnapCardOptions {
  /** Whether cards need 3-D Secure. */
  secure?: boolean | null;
  bank?: string | null;
  channel?: string | null;
  type?: "authorize" | "authorize_capture" | null;
  whitelist_bins?: string[] | null;
  blacklist_bins?: string[] | null;
  installment?: { required?: boolean | null } | null;
  /** Whether the page offers to save the card. */
  save_card?: boolean | null;
}

export interface SnapExpiry {
  /** Missing: the time starts when the customer confirms a payment method. */
  start_time?: string | null;
  duration: number;
  unit: "second" | "minute" | "hour" | "day";
}

export interface Replayable {
  /** Failed responses are not stored: a retry with the same key runs again. */
  isSuccess: boolean;
}

/** A response that is returned again for the same idempotency key. */
export interface StoredResponse extends Stored {
  until: number;
  answer: Replayable;
}

/** The fields of the create request that the sandbox reads; responses echo all known fields. */
export interface InvoiceRequest extends Priced {
  order_id: string;
  invoice_number: string;
  due_date: string;
  customer_details: { name: string; email?: string | null };
  payment_type: "payment_link" | "virtual_account";
  notes?: string | null;
  payment_link?: { callbacks?: { finish?: string | null } | null } | null;
}

export interface Priced {
  item_details: InvoiceItem[];
  amount?: { discount?: number | null; shipping?: number | null; vat?: number | null } | null;
  tax_mode?: "exclusive" | "inclusive" | null;
  taxes?: InvoiceTax[] | null;
}

export interface InvoiceItem {
  description: string;
  price: number;
  quantity: number;
  discount_percentage?: number | null;
}

export interface InvoiceTax {
  name: string;
  type: "percentage" | "fixed";
  value: number;
}
