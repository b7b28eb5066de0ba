/** A card behind a token: what the sandbox remembers is how it behaves, never its number. */

import type { Stored } from "../engine/table.ts";

export interface Card extends Stored {
  masked: string;
  brand: "visa" | "mastercard" | "jcb" | "amex";
  behaviour: CardBehaviour;
  /** A saved token stays; a one-time token goes with its use or its time. */
  isSaved: boolean;
  expiresAt: number | null;
}

export interface CardBehaviour {
  outcome: "accept" | "challenge" | "deny_by_bank" | "deny_by_fds" | "insufficient_funds";
  /** Amounts up to this are accepted all the same. */
  deniesAbove?: number;
  threeDs: ThreeDsFlow;
  /** The issuing bank, where the card is known for it. */
  bank?: string;
}

/**
 * `otp`: the customer types a code. `frictionless` and `attempted`: nothing to type. `slow`: accepted
 * after a minute. `impossible`: refused by the issuer. `outdated`: version 1, which is not taken.
 */
export type ThreeDsFlow =
  | "otp"
  | "frictionless"
  | "attempted"
  | "slow"
  | "impossible"
  | "outdated";

export interface PayAccount extends Stored {
  status: "PENDING" | "ENABLED" | "DISABLED" | "EXPIRED";
  phone: string;
  balance: number;
  hasPayLater: boolean;
  redirectUrl: string | null;
  /** A link nobody followed is of no use after this. */
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
  /** Ended for good: its retries are dropped, and it cannot be enabled again. */
  isCancelled: boolean;
  createdAt: number;
  schedule: {
    interval: number;
    unit: "day" | "week" | "month";
    /** Cycles at most; null: without end. */
    maxInterval: number | null;
    startAt: number;
    /** Where cycles are counted from; moves when the interval is changed. */
    anchor: { at: number; cycle: number };
    /** Cycles that are over. */
    current: number;
    previousAt: number | null;
    nextAt: number | null;
  };
  retry: { interval: number; unit: "minute" | "hour" | "day"; maxInterval: number };
  /** The retry that is under way in the present cycle. */
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
  /** The request as it came, less what is computed; answers echo it. */
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

export interface Kept {
  /** Failures are not kept: the same key then tries again. */
  isSuccess: boolean;
}

export interface KeptAnswer extends Stored {
  until: number;
  answer: Kept;
}

/** The members of the create request that the sandbox reads; responses echo all of them. */
export interface InvoiceRequest extends Priced {
  order_id: string;
  invoice_number: string;
  due_date: string;
  customer_details: { name: string; email?: string | null };
  payment_type: "payment_link" | "virtual_account";
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
