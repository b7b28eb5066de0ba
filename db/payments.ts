/** Payments, their items and their refunds: the model. */

export interface GatewayPayment {
  id: string;
  /** Null: it belongs to nobody, and staff alone see it. */
  user_id: string | null;
  order_id: string;
  /** Null until the gateway has answered for the first time. */
  transaction_id: string | null;
  payment_type: string;
  bank: string | null;
  store: string | null;
  acquirer: string | null;
  gross_amount: number;
  /** What was taken of it; null while nothing is. */
  captured_amount: number | null;
  refunded_amount: number;
  /** The sum of the refunds that are under way. */
  reserved_amount: number;
  currency: string;
  transaction_status: PaymentStatus;
  fraud_status: string | null;
  status_code: string | null;
  status_message: string | null;
  customer_first_name: string | null;
  customer_last_name: string | null;
  customer_email: string | null;
  customer_phone: string | null;
  va_number: string | null;
  bill_key: string | null;
  biller_code: string | null;
  payment_code: string | null;
  redirect_url: string | null;
  deeplink_url: string | null;
  qr_string: string | null;
  qr_url: string | null;
  transaction_time: Date | null;
  settlement_time: Date | null;
  expiry_time: Date | null;
  metadata: Record<string, unknown> | null;
  custom_field1: string | null;
  custom_field2: string | null;
  custom_field3: string | null;
  invoice_id: string | null;
  subscription_id: string | null;
  /** A card's amount was only to be held: it can be captured in part. */
  is_hold: boolean;
  /** The gateway refused the charge: no transaction exists, and none will. */
  is_refused: boolean;
  /** When it was first known to be paid. */
  paid_at: Date | null;
  /** How often the bank refused to capture it. */
  denied_captures: number;
  /** When its charge was last sent, or about to be. */
  sent_at: Date;
  /** When to ask the gateway, should nobody have heard from it until then. */
  check_at: Date | null;
  event_count: number;
  /** Each change raises it, and holds only for the version it was made of. */
  version: number;
  created_at: Date;
  updated_at: Date;
  items: GatewayPaymentItem[];
  /** In the order of their making. */
  refunds: GatewayRefund[];
}

export interface GatewayPaymentItem {
  id: string;
  payment_id: string;
  position: number;
  item_id: string | null;
  name: string;
  price: number;
  quantity: number;
  brand: string | null;
  category: string | null;
  merchant_name: string | null;
  url: string | null;
}

/** What never changes of a payment once it is there. */
const FIXED_COLUMNS = [
  "id",
  "order_id",
  "payment_type",
  "gross_amount",
  "currency",
  "customer_first_name",
  "customer_last_name",
  "customer_email",
  "customer_phone",
  "metadata",
  "custom_field1",
  "custom_field2",
  "custom_field3",
  "is_hold",
  "created_at",
] as const;

/** What can change, along with its version. */
export const CHANGING_COLUMNS = [
  // Of one that was made outside of the service, once it is known whose it is.
  "user_id",
  "invoice_id",
  "subscription_id",
  "transaction_id",
  "bank",
  "store",
  "acquirer",
  "captured_amount",
  "refunded_amount",
  "reserved_amount",
  "transaction_status",
  "fraud_status",
  "status_code",
  "status_message",
  "va_number",
  "bill_key",
  "biller_code",
  "payment_code",
  "redirect_url",
  "deeplink_url",
  "qr_string",
  "qr_url",
  "transaction_time",
  "settlement_time",
  "expiry_time",
  "is_refused",
  "paid_at",
  "denied_captures",
  "sent_at",
  "check_at",
  "event_count",
  "updated_at",
] as const;

type Column = Exclude<keyof GatewayPayment, "items" | "refunds">;

/**
 * All of them, and none else: one that a later release adds keeps its default while this one still
 * runs beside it.
 */
export const PAYMENT_COLUMNS = [
  ...FIXED_COLUMNS,
  ...CHANGING_COLUMNS,
  "version",
] as const satisfies readonly Column[];

export const ITEM_COLUMNS = [
  "id",
  "payment_id",
  "position",
  "item_id",
  "name",
  "price",
  "quantity",
  "brand",
  "category",
  "merchant_name",
  "url",
] as const satisfies readonly (keyof GatewayPaymentItem)[];

// Does not compile when one is missing.
const _isComplete: Column extends (typeof PAYMENT_COLUMNS)[number] ? true : never = true;

/** Every `transaction_status` there is. */
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

/** Whose payments may be touched; null: everybody's. */
export type Owner = string | null;

export interface GatewayRefund {
  id: string;
  payment_id: string;
  /** The gateway makes one refund of a key, however often it is asked. */
  refund_key: string;
  amount: number;
  reason: string | null;
  is_direct: boolean;
  status: RefundStatus;
  status_code: string | null;
  status_message: string | null;
  created_at: Date;
  updated_at: Date;
}

export const REFUND_STATUSES = ["pending", "succeeded", "denied", "failed"] as const;

export type RefundStatus = (typeof REFUND_STATUSES)[number];

/** As it comes in a payment's row: JSON, whose times are text. */
export function readRefund(row: GatewayRefund): GatewayRefund {
  return { ...row, created_at: new Date(row.created_at), updated_at: new Date(row.updated_at) };
}
