/** The gateway's responses as types. Parsing never fails, and unknown fields are kept. */

import {
  bool,
  id,
  type JsonObject,
  listOf,
  looseObject,
  lowerCase,
  money,
  object,
  orNull,
  type ResponseSchema,
  text,
  upperCase,
  wholeNumber,
} from "./json.ts";

export interface GatewayResponse<T> {
  /** The body's `status_code` if it has one, else the HTTP status. */
  statusCode: string;
  body: T;
  /** The body as received. It may contain a signature and tokens: do not log or store it. */
  raw: JsonObject;
}

/**
 * Whether the response is a final refusal (code 202) by the bank, fraud detection or the wallet.
 */
export function isDenied({ statusCode, body }: GatewayResponse<Record<string, unknown>>): boolean {
  if (statusCode !== "202") return false;
  return body.transaction_status === "deny" ||
    isRefundDenied(body) ||
    // Only pay accounts have this field, and every 202 for a pay account is a refusal.
    "account_status" in body;
}

export function isRefundDenied({ status_message }: { status_message?: unknown }): boolean {
  return /^refund denied/i.test(String(status_message ?? ""));
}

/** Whether the response is a 202 because an earlier call with the same key is still running. */
export function isEarlierCallInProgress(
  response: GatewayResponse<Record<string, unknown>>,
): boolean {
  return response.statusCode === "202" && !isDenied(response);
}

const common = { status_code: text, status_message: text };

const Action = looseObject({ name: text, method: text, url: text });

const Refund = looseObject({
  refund_chargeback_id: text,
  refund_amount: money,
  refund_key: id,
  refund_method: lowerCase,
  reason: text,
  created_at: text,
  bank_confirmed_at: text,
});

/** The response to a charge, a status request and every action on a transaction. */
const TransactionFields = looseObject({
  ...common,
  transaction_id: id,
  order_id: id,
  merchant_id: text,
  gross_amount: money,
  currency: text,
  payment_type: text,
  transaction_status: lowerCase,
  fraud_status: lowerCase,
  transaction_time: text,
  settlement_time: text,
  expiry_time: text,
  channel_response_code: text,
  channel_response_message: text,
  bank: text,
  va_numbers: listOf(orNull(looseObject({ bank: text, va_number: text }))),
  permata_va_number: text,
  bill_key: text,
  biller_code: text,
  payment_code: text,
  store: text,
  acquirer: text,
  issuer: text,
  qr_string: text,
  redirect_url: text,
  actions: listOf(orNull(Action)),
  masked_card: text,
  approval_code: text,
  eci: text,
  three_ds_version: text,
  installment_term: wholeNumber,
  saved_token_id: text,
  saved_token_id_expired_at: text,
  refund_chargeback_id: text,
  refund_amount: money,
  refund_key: id,
  refunds: listOf(orNull(Refund)),
  chargeback_amount: money,
  custom_field1: text,
  custom_field2: text,
  custom_field3: text,
  metadata: object,
});

export type Transaction = ReturnType<typeof TransactionFields.parse>;

export const Transaction: ResponseSchema<Transaction> = {
  parse: (body) => TransactionFields.parse(withOneExpiryName(body)),
};

/** QRIS responses have `expire_time`, all others `expiry_time`. */
function withOneExpiryName(body: unknown): unknown {
  const { expire_time, expiry_time } = body as JsonObject;
  return expire_time === undefined
    ? body
    : { ...body as JsonObject, expiry_time: expiry_time ?? expire_time };
}

export const TransactionList = looseObject({
  ...common,
  transactions: listOf(orNull(Transaction)),
});

export const CardToken = looseObject({ ...common, token_id: text, hash: text });

export const RegisteredCard = looseObject({
  ...common,
  saved_token_id: text,
  transaction_id: text,
  masked_card: text,
});

export const Points = looseObject({
  ...common,
  transaction_time: text,
  point_balance_amount: money,
});

export const Bin = looseObject({
  data: orNull(looseObject({
    bin: text,
    bank: text,
    bank_code: text,
    brand: text,
    bin_type: text,
    bin_class: text,
    channel: text,
    country_code: text,
    country_name: text,
    registration_required: bool,
  })),
});

/** Which payment methods the account has. */
export const MerchantPreferences = looseObject({
  payment_channels: listOf(orNull(looseObject({ name: text, enabled: bool }))),
});

/** Snap, the gateway's own payment page. */
export const SnapPage = looseObject({ token: text, redirect_url: text });

export const CancelledSnapPage = looseObject({ canceled_at: text });

export const PayAccount = looseObject({
  ...common,
  account_id: text,
  account_status: upperCase,
  payment_type: text,
  channel_response_code: text,
  channel_response_message: text,
  actions: listOf(orNull(Action)),
  metadata: object,
});

export const Subscription = looseObject({
  id,
  name: text,
  status: lowerCase,
  amount: money,
  currency: text,
  payment_type: text,
  created_at: text,
  current_interval: wholeNumber,
  transaction_ids: listOf((value) => typeof value === "string" ? id(value) : null),
  schedule: orNull(looseObject({
    interval: wholeNumber,
    interval_unit: lowerCase,
    max_interval: wholeNumber,
    current_interval: wholeNumber,
    start_time: text,
    previous_execution_at: text,
    next_execution_at: text,
  })),
  metadata: object,
});
export type Subscription = ReturnType<typeof Subscription.parse>;

/** The response to actions on a subscription. */
export const Message = looseObject({ status_message: text });
export type Message = ReturnType<typeof Message.parse>;

export const Invoice = looseObject({
  id,
  order_id: id,
  invoice_number: text,
  status: lowerCase,
  gross_amount: money,
  due_date: text,
  invoice_date: text,
  published_date: text,
  payment_link_url: text,
  pdf_url: text,
  paid_pdf_url: text,
  void_reason: text,
  metadata: object,
});
export type Invoice = ReturnType<typeof Invoice.parse>;

export const Voided = looseObject({ success: bool });
export type Voided = ReturnType<typeof Voided.parse>;
