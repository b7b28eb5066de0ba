/** Reads a transaction of the gateway: what it reports, and whether it answers a request. */

import type { CardDetails, GatewayPayment } from "../../db/payments/payments.ts";
import { isRefundDenied, type Transaction } from "../gateway/responses.ts";
import { isSnapApi } from "../gateway/snap_api.ts";
import { parseTransactionTime } from "../gateway/times.ts";
import { parseMoney } from "../money.ts";
import { cardOf } from "./card.ts";
import { isStatus } from "./states.ts";

/** Members of a payment that come from the gateway. */
export const GATEWAY_FIELDS = [
  "bank",
  "store",
  "acquirer",
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
] as const;

export type GatewayFields = Pick<GatewayPayment, (typeof GATEWAY_FIELDS)[number]>;

/** What a payment has from its transaction, apart from the state. */
export const TRANSACTION_FIELDS = [
  ...GATEWAY_FIELDS,
  "transaction_id",
  "captured_amount",
  "refunded_amount",
  "chargeback_amount",
  "reserved_amount",
  "unrecognized_status",
  "card",
  "status_code",
  "status_message",
  "paid_at",
  "denied_captures",
  "check_at",
] as const;

export interface ListedRefund {
  /** Null: the refund cannot be matched to a stored refund. */
  refund_key: string | null;
  amount: number;
  reason: string | null;
  is_direct: boolean;
  created_at: Date | null;
}

/** A transaction with the types and names of a payment. Null: the gateway sent no such value. */
export interface ReportedTransaction {
  id: string | null;
  status: string | null;
  fraud: string | null;
  statusCode: string | null;
  statusMessage: string | null;
  currency: string | null;
  /** NaN if the value is not a whole number: NaN equals no amount. */
  amount: number | null;
  refunds: ListedRefund[];
  /** The key of the refund that the bank has refused; null: the report is not about a refusal. */
  deniedRefundKey: string | null;
  /** The sum of all refunds, which a status response contains even if it does not list them. */
  refundTotal: number | null;
  /** The sum of all chargebacks; the gateway's documentation does not mention this value. */
  chargebackTotal: number | null;
  fields: GatewayFields;
  card: CardDetails | null;
}

/** A cache: a notification is read when it is verified, and again when it is applied. */
const alreadyRead = new WeakMap<Transaction, ReportedTransaction>();

export function readTransaction(answer: Transaction): ReportedTransaction {
  // Not `getOrInsertComputed`: Deno Deploy runs Deno 2.5, which does not have it.
  const known = alreadyRead.get(answer);
  if (known) return known;
  const read = readFields(answer);
  alreadyRead.set(answer, read);
  return read;
}

function readFields(answer: Transaction): ReportedTransaction {
  return {
    id: answer.transaction_id,
    status: answer.transaction_status,
    fraud: answer.fraud_status,
    statusCode: answer.status_code,
    statusMessage: answer.status_message,
    currency: answer.currency,
    amount: amountOf(answer),
    refunds: refundsOf(answer),
    deniedRefundKey: isRefundDenied(answer) ? answer.refund_key : null,
    refundTotal: parseMoney(answer.refund_amount),
    chargebackTotal: parseMoney(answer.chargeback_amount),
    fields: fieldsOf(answer),
    card: cardOf(answer),
  };
}

function fieldsOf(answer: Transaction): GatewayFields {
  const [account] = answer.va_numbers;
  const isPermata = answer.permata_va_number !== null;
  return {
    bank: answer.bank ?? account?.bank ?? (isPermata ? "permata" : null),
    store: answer.store,
    acquirer: answer.acquirer,
    va_number: account?.va_number ?? answer.permata_va_number,
    bill_key: answer.bill_key,
    biller_code: answer.biller_code,
    payment_code: answer.payment_code,
    redirect_url: answer.redirect_url ?? actionUrl(answer, "verification-link-url"),
    deeplink_url: actionUrl(answer, "deeplink-redirect", "verification-link-app"),
    qr_string: answer.qr_string,
    qr_url: actionUrl(answer, "generate-qr-code-v2", "generate-qr-code"),
    transaction_time: parseTransactionTime(answer.transaction_time),
    settlement_time: parseTransactionTime(answer.settlement_time),
    expiry_time: parseTransactionTime(answer.expiry_time),
  };
}

export function withoutNulls(fields: Partial<GatewayFields>): Partial<GatewayFields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** The fields that the payment does not have yet. */
export function missingFields(
  current: GatewayPayment,
  fields: Partial<GatewayFields>,
): Partial<GatewayFields> {
  const isMissing = (name: string) => current[name as keyof GatewayFields] === null;
  return Object.fromEntries(
    Object.entries(withoutNulls(fields)).filter(([name]) => isMissing(name)),
  );
}

function actionUrl({ actions }: Transaction, ...names: string[]): string | null {
  for (const name of names) {
    const url = actions.find((action) => action.name === name)?.url;
    if (url) return url;
  }
  return null;
}

export function refundsOf({ refunds }: Transaction): ListedRefund[] {
  return refunds.flatMap((refund) => {
    const amount = parseMoney(refund.refund_amount);
    if (!amount) return [];
    return [{
      refund_key: refund.refund_key,
      amount,
      reason: refund.reason,
      is_direct: refund.refund_method === "online",
      created_at: parseTransactionTime(refund.created_at),
    }];
  });
}

/**
 * The amount of a transaction in whole rupiah. If the customer paid a fee on top, `gross_amount`
 * includes the fee, and `extra_info` contains the original amount: one page of the gateway shows it
 * in the metadata, another next to it. Null: the gateway sent no amount. NaN if the value is not a
 * whole number: NaN equals no amount.
 */
export function amountOf(answer: Transaction): number | null {
  const original = originalAmount(answer.metadata?.extra_info) ??
    originalAmount((answer as { extra_info?: unknown }).extra_info);
  const hasOriginal = typeof original === "string" || typeof original === "number";
  const text = hasOriginal ? String(original) : answer.gross_amount;
  return text === null ? null : parseMoney(text) ?? NaN;
}

function originalAmount(extraInfo: unknown): unknown {
  const info = extraInfo as
    | { gross_amount_info?: { original_amount?: unknown } }
    | null
    | undefined;
  return info?.gross_amount_info?.original_amount;
}

/** The options of every call to the gateway about the transaction of a payment. */
export function callOptions(payment: GatewayPayment): { isSnapApi: boolean } {
  return { isSnapApi: isSnapApi(payment) };
}

/** Whether a charge's response has a transaction of this order and amount, in any status. */
export function answersCharge(payment: GatewayPayment, answer: Transaction): boolean {
  return Boolean(answer.transaction_id) && Boolean(answer.transaction_status) &&
    (answer.order_id ?? payment.order_id) === payment.order_id &&
    (answer.currency ?? payment.currency) === payment.currency &&
    (amountOf(answer) ?? payment.gross_amount) === payment.gross_amount;
}

/** Whether a response is about the transaction of this payment, in any status. */
export function isAboutPayment(payment: GatewayPayment, answer: Transaction): boolean {
  return answer.transaction_id !== null && answer.transaction_id === payment.transaction_id &&
    (answer.order_id ?? payment.order_id) === payment.order_id &&
    Boolean(answer.transaction_status);
}

/** Whether a response is about the transaction of this payment, in a status the service knows. */
export function matchesPayment(payment: GatewayPayment, answer: Transaction): boolean {
  return isAboutPayment(payment, answer) && isStatus(answer.transaction_status);
}
