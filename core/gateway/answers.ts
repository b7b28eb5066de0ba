/** The gateway's answers as types; no JSON object fails them, and fields that nobody knows are kept. */

import { z } from "zod";
import {
  bool,
  id,
  listOf,
  lowerCase,
  money,
  object,
  orNull,
  text,
  upperCase,
  wholeNumber,
} from "./fields.ts";
import type { JsonObject } from "./json.ts";

export interface Answer<T> {
  /** The body's own code where there is one, else the HTTP status. */
  statusCode: string;
  body: T;
  /** The body as it was received, untouched; it may hold a signature and tokens. */
  raw: JsonObject;
}

const common = { status_code: text, status_message: text };

const Action = z.looseObject({ name: text, method: text, url: text });

const Refund = z.looseObject({
  refund_chargeback_id: text,
  refund_amount: money,
  refund_key: id,
  refund_method: lowerCase,
  reason: text,
  created_at: text,
  bank_confirmed_at: text,
});

/** What charge, status and every action on a transaction answer with. */
export const Transaction = z.preprocess(
  withOneExpiryName,
  z.looseObject({
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
    va_numbers: listOf(z.looseObject({ bank: text, va_number: text })),
    permata_va_number: text,
    bill_key: text,
    biller_code: text,
    payment_code: text,
    store: text,
    acquirer: text,
    issuer: text,
    qr_string: text,
    redirect_url: text,
    actions: listOf(Action),
    masked_card: text,
    approval_code: text,
    installment_term: wholeNumber,
    saved_token_id: text,
    saved_token_id_expired_at: text,
    refund_chargeback_id: text,
    refund_amount: money,
    refund_key: id,
    refunds: listOf(Refund),
    custom_field1: text,
    custom_field2: text,
    custom_field3: text,
    metadata: object,
  }),
);
export type Transaction = z.output<typeof Transaction>;

/** QRIS says `expire_time`, all else `expiry_time`. */
function withOneExpiryName(body: unknown): unknown {
  const { expire_time, expiry_time } = body as JsonObject;
  return expire_time === undefined
    ? body
    : { ...body as JsonObject, expiry_time: expiry_time ?? expire_time };
}

export const TransactionList = z.looseObject({ ...common, transactions: listOf(Transaction) });

export const CardToken = z.looseObject({ ...common, token_id: text, hash: text });

export const RegisteredCard = z.looseObject({
  ...common,
  saved_token_id: text,
  transaction_id: text,
  masked_card: text,
});

export const Points = z.looseObject({
  ...common,
  transaction_time: text,
  point_balance_amount: money,
});

export const Bin = z.looseObject({
  data: orNull(z.looseObject({
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

export const PayAccount = z.looseObject({
  ...common,
  account_id: text,
  account_status: upperCase,
  payment_type: text,
  channel_response_code: text,
  channel_response_message: text,
  actions: listOf(Action),
  metadata: object,
});

export const Subscription = z.looseObject({
  id,
  name: text,
  status: lowerCase,
  amount: money,
  currency: text,
  payment_type: text,
  created_at: text,
  current_interval: wholeNumber,
  transaction_ids: listOf(z.string().min(1).max(255)),
  schedule: orNull(z.looseObject({
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
export type Subscription = z.output<typeof Subscription>;

/** What the actions on a subscription answer with. */
export const Message = z.looseObject({ status_message: text });
export type Message = z.output<typeof Message>;

export const Invoice = z.looseObject({
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
export type Invoice = z.output<typeof Invoice>;

export const Voided = z.looseObject({ success: bool });
export type Voided = z.output<typeof Voided>;
