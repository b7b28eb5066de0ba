/**
 * Channels that the gateway runs on its other API, BI-SNAP: DANA and the newer virtual accounts.
 * docs/gateway.md, "DANA and newer virtual accounts", describes how their responses differ.
 */

import type { GatewayResponse, Transaction } from "./responses.ts";

const BANKS = ["danamon", "bsi", "seabank", "saqu"];

/** `A1`, the time, a random part, and `ID`. */
const TRANSACTION_ID = /^A1\d{14}\w*ID$/;

export interface Channel {
  payment_type: string | null;
  bank: string | null;
  transaction_id: string | null;
}

export function isSnapApi({ payment_type, bank, transaction_id }: Channel): boolean {
  return payment_type === "dana" || (bank !== null && BANKS.includes(bank)) ||
    (transaction_id !== null && TRANSACTION_ID.test(transaction_id));
}

/** The channel of a transaction, from a response or a notification. */
export function channelOf(
  { payment_type, bank, va_numbers, transaction_id }: Transaction,
): Channel {
  return { payment_type, bank: bank ?? va_numbers[0]?.bank ?? null, transaction_id };
}

/** Marks a request about a transaction of these channels. */
export const SNAP_API_HEADERS = { "transaction-source": "SNAP_API" };

/**
 * A status response of these channels can have the transaction id in `order_id`. The order id is
 * then not known.
 */
export function withoutWrongOrder(
  response: GatewayResponse<Transaction>,
): GatewayResponse<Transaction> {
  const { body } = response;
  const isWrong = body.order_id !== null && body.order_id === body.transaction_id;
  return isWrong ? { ...response, body: { ...body, order_id: null } } : response;
}

/**
 * The response to an action can have the transaction id only in `order_id`, or no id at all. It is
 * then about the transaction that the request named.
 */
export function withRequestedId(
  response: GatewayResponse<Transaction>,
  transactionId: string,
): GatewayResponse<Transaction> {
  const { transaction_id, order_id } = response.body;
  const isUnnamed = transaction_id === null && (order_id ?? transactionId) === transactionId;
  const body = isUnnamed ? { ...response.body, transaction_id: transactionId } : response.body;
  return withoutWrongOrder({ ...response, body });
}
