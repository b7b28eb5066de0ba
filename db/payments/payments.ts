/**
 * Payments, their items and their refunds: the model. `statements.ts` reads it, and
 * `payment_writes.ts` writes it.
 */

import { fixed, mutable, type RowOf } from "../records/columns.ts";

/** All values of `transaction_status`. */
export const PAYMENT_STATUSES = [
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

export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

/** What the gateway says about a card; null: it did not say. */
export interface CardDetails {
  masked_number: string | null;
  /** The bank's code of the authorization. */
  approval_code: string | null;
  /** The result of 3-D Secure, as the card scheme writes it. */
  eci: string | null;
  three_ds_version: string | null;
}

/**
 * To add a column: write a migration and add a line here. The row type, the statements and the
 * defaults of a new payment derive from that line. If the API shows the column, also add a field to
 * `core/payments/schema.ts`; `viewPayment` then does not compile until it fills the field.
 */
export const PAYMENT_COLUMNS = {
  id: fixed<string>(),
  /** Null: created outside of the service and linked to no user; only staff and viewers see it. */
  user_id: mutable<string | null>(),
  order_id: fixed<string>(),
  /** Null until the gateway has responded for the first time. */
  transaction_id: mutable<string | null>(null),
  payment_type: fixed<string>(),
  bank: mutable<string | null>(null),
  store: mutable<string | null>(null),
  acquirer: mutable<string | null>(null),
  gross_amount: fixed<number>(),
  /** Null until something is captured. */
  captured_amount: mutable<number | null>(null),
  refunded_amount: mutable<number>(0),
  /** The amount of a partial chargeback, as the gateway reported it; null: not reported. */
  chargeback_amount: mutable<number | null>(null),
  /** The sum of the pending refunds. */
  reserved_amount: mutable<number>(0),
  currency: fixed<string>("IDR"),
  transaction_status: mutable<PaymentStatus>("pending"),
  fraud_status: mutable<string | null>(null),
  /** The status at the gateway, if the service does not know that status; otherwise null. */
  unrecognized_status: mutable<string | null>(null),
  status_code: mutable<string | null>(null),
  status_message: mutable<string | null>(null),
  customer_first_name: fixed<string | null>(null),
  customer_last_name: fixed<string | null>(null),
  customer_email: fixed<string | null>(null),
  customer_phone: fixed<string | null>(null),
  va_number: mutable<string | null>(null),
  bill_key: mutable<string | null>(null),
  biller_code: mutable<string | null>(null),
  payment_code: mutable<string | null>(null),
  redirect_url: mutable<string | null>(null),
  deeplink_url: mutable<string | null>(null),
  qr_string: mutable<string | null>(null),
  qr_url: mutable<string | null>(null),
  card: mutable<CardDetails | null>(null),
  transaction_time: mutable<Date | null>(null),
  settlement_time: mutable<Date | null>(null),
  expiry_time: mutable<Date | null>(null),
  metadata: fixed<Record<string, unknown> | null>(null),
  custom_field1: fixed<string | null>(null),
  custom_field2: fixed<string | null>(null),
  custom_field3: fixed<string | null>(null),
  invoice_id: mutable<string | null>(null),
  checkout_id: mutable<string | null>(null),
  subscription_id: mutable<string | null>(null),
  /** The card was authorized without capture, so a part of the amount can be captured. */
  is_hold: mutable<boolean>(false),
  /** The gateway rejected the charge: no transaction exists, and none will be created. */
  is_refused: mutable<boolean>(false),
  /** When the service first learned that the payment is paid. */
  paid_at: mutable<Date | null>(null),
  /** How often the bank declined a capture. */
  denied_captures: mutable<number>(0),
  /** When the charge was last sent (written just before sending), or when a job will send it. */
  sent_at: mutable<Date>(),
  /** When to check at the gateway if no report arrives earlier; null: never. */
  check_at: mutable<Date | null>(),
  /** The actor that created it (`core/auth/caller.ts`); null: no caller did. */
  created_by: fixed<string | null>(null),
  event_count: mutable<number>(0),
  /** Incremented by every update. An update that was based on another version writes nothing. */
  version: fixed<number>(0),
  created_at: fixed<Date>(),
  updated_at: mutable<Date>(),
};

export interface GatewayPayment extends RowOf<typeof PAYMENT_COLUMNS> {
  items: GatewayPaymentItem[];
  /** Oldest first. */
  refunds: GatewayRefund[];
  /** The sum of the known fees of the gateway; null: none is known; absent: not read. */
  fee_cents?: number | null;
}

export const PAYMENT_ITEM_COLUMNS = {
  id: fixed<string>(),
  payment_id: fixed<string>(),
  position: fixed<number>(),
  item_id: fixed<string | null>(),
  name: fixed<string>(),
  price: fixed<number>(),
  quantity: fixed<number>(),
  brand: fixed<string | null>(),
  category: fixed<string | null>(),
  merchant_name: fixed<string | null>(),
  url: fixed<string | null>(),
};

export interface GatewayPaymentItem extends RowOf<typeof PAYMENT_ITEM_COLUMNS> {}

export const REFUND_STATUSES = ["pending", "succeeded", "denied", "failed"] as const;

export type RefundStatus = (typeof REFUND_STATUSES)[number];

/** Refunds are written in the same statement as their payment, by `side_effects.ts`. */
export const REFUND_COLUMNS = {
  id: fixed<string>(),
  payment_id: fixed<string>(),
  /** The owner of the payment. */
  user_id: mutable<string | null>(),
  /** The gateway makes one refund per key, however often it is requested. */
  refund_key: fixed<string>(),
  amount: fixed<number>(),
  reason: fixed<string | null>(),
  is_direct: fixed<boolean>(),
  status: mutable<RefundStatus>(),
  status_code: mutable<string | null>(),
  status_message: mutable<string | null>(),
  /** The actor that requested it; null: not requested here. */
  created_by: fixed<string | null>(),
  created_at: fixed<Date>(),
  updated_at: mutable<Date>(),
};

export interface GatewayRefund extends RowOf<typeof REFUND_COLUMNS> {}
