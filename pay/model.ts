/** What the customer's page shows. The page is a pure function of this. */

import type { ChargedMethodId, MethodId } from "../core/checkouts/methods.ts";

export interface PageModel {
  language: "id" | "en";
  /** The path of this page, such as `/pay/<token>`; forms and links go there and below it. */
  path: string;
  merchant: { name: string; color: string | null; logoPath: string | null };
  order: {
    order_id: string;
    gross_amount: number;
    items: { name: string; price: number; quantity: number }[];
    customer_name: string | null;
  };
  /** When the customer can no longer pay; null: unknown. */
  expiresAt: Date | null;
  /** The service's time, for the countdown. */
  now: Date;
  /** Back to the shop without paying; null: the page has no way back. */
  cancelUrl: string | null;
  /** Changes whenever the page would look different; for live updates. */
  stateKey: string;
  screen: Screen;
}

export type Screen =
  | {
    type: "choose";
    methods: ChoosableMethod[];
    /** Why the customer is here again; null: the first visit. */
    notice:
      | "method_refused"
      | "method_failed"
      | "attempt_expired"
      | "phone_unknown"
      | "closed"
      | "cards_denied"
      | null;
    /** The method that the notice is about. */
    noticeMethod: MethodId | null;
    /** The customer's phone number, prefilled for OVO. */
    phone: string | null;
  }
  /** The service waits for the gateway: a charge or the closing of one is not confirmed yet. */
  | {
    type: "waiting";
    reason: "starting" | "closing";
    method: MethodId;
    /** The fields of the form that continues an interrupted charge; null: there is no such form. */
    repeat: { phone: string | null } | null;
  }
  /** The bank asks the customer to confirm a card, or DANA a payment, on a page of its own. */
  | { type: "confirm"; by: "bank" | "dana"; url: string; endsAt: Date | null }
  | {
    type: "card";
    /** The gateway's page, where the customer enters the card; without the language. */
    url: string;
    endsAt: Date;
    /**
     * `failed`: the last card was declined, or not confirmed in time; `in_process`: the bank asks
     * the customer, or decides.
     */
    state: "ready" | "failed" | "in_process";
    change: "now" | "never";
  }
  | {
    type: "instructions";
    method: ChargedMethodId;
    payment: ShownPayment;
    /** Whether the customer can choose another method; `later`: when this attempt has ended. */
    change: "now" | "later" | "never";
  }
  /** Authorized or being reviewed: nothing can be changed. */
  | { type: "processing"; method: MethodId | null }
  | {
    type: "paid";
    method: string;
    /** Whole rupiah: less than the total if only a part of an authorized card was captured. */
    amount: number;
    paidAt: Date;
    isLate: boolean;
    paymentId: string;
    /** Back to the shop; null: none was given. */
    finishUrl: string | null;
  }
  | { type: "expired" | "cancelled" | "failed" };

export interface ChoosableMethod {
  id: MethodId;
  /** Whole rupiah; null: no limit is known. */
  min: number | null;
  max: number | null;
}

export interface ShownPayment {
  va_number: string | null;
  bill_key: string | null;
  biller_code: string | null;
  payment_code: string | null;
  /** The text of the QR code, which the page draws as SVG. */
  qr_string: string | null;
  /** The path of an image of the QR code, where there is no text. */
  qrPath: string | null;
  deeplink_url: string | null;
  redirect_url: string | null;
  expiry_time: Date | null;
}
