/** Operations on transactions. */

import { Transaction, TransactionList } from "../answers.ts";
import type { Ask, CallOptions } from "../ask.ts";
import { type Draft, get, path, post, wholeAmount } from "../draft.ts";

export interface ChargePayload {
  payment_type: string;
  transaction_details: { order_id: string; gross_amount: number; [name: string]: unknown };
  [name: string]: unknown;
}

export interface PageOptions extends CallOptions {
  /** From 0 on; the gateway's default is 0. */
  page?: number;
  /** The gateway's default is 10. */
  perPage?: number;
}

/** Some banks take their time, and a charge given up too early may have gone through. */
const CHARGE_DEADLINE_MS = 15_000;

export function paymentOperations(ask: Ask) {
  return {
    async charge(payload: ChargePayload, options: CallOptions = {}) {
      wholeAmount(payload.transaction_details.gross_amount);
      const deadlineMs = options.deadlineMs ?? CHARGE_DEADLINE_MS;
      return await ask(Transaction, keyed("/v2/charge", payload), { ...options, deadlineMs });
    },
    async getStatus(orderId: string, options?: CallOptions) {
      return await ask(Transaction, get(path`/v2/${orderId}/status`), options);
    },
    async getStatusB2b(orderId: string, options: PageOptions = {}) {
      const query = { page: options.page, per_page: options.perPage };
      return await ask(TransactionList, get(path`/v2/${orderId}/status/b2b`, query), options);
    },
    async cancel(orderId: string, options?: CallOptions) {
      return await ask(Transaction, keyed(path`/v2/${orderId}/cancel`), options);
    },
    async expire(orderId: string, options?: CallOptions) {
      return await ask(Transaction, keyed(path`/v2/${orderId}/expire`), options);
    },
    async capture(transactionId: string, grossAmount: number, options?: CallOptions) {
      const body = { transaction_id: transactionId, gross_amount: wholeAmount(grossAmount) };
      return await ask(Transaction, keyed("/v2/capture", body), options);
    },
    async refund(
      orderId: string,
      refundKey: string,
      amount: number,
      reason = "",
      options?: CallOptions,
    ) {
      const body = refundBody(refundKey, amount, reason);
      return await ask(Transaction, keyed(path`/v2/${orderId}/refund`, body), options);
    },
    async directRefund(
      orderId: string,
      refundKey: string,
      amount: number,
      reason = "",
      options?: CallOptions,
    ) {
      const body = refundBody(refundKey, amount, reason);
      return await ask(
        Transaction,
        keyed(path`/v2/${orderId}/refund/online/direct`, body),
        options,
      );
    },
    async approve(orderId: string, options?: CallOptions) {
      return await ask(Transaction, keyed(path`/v2/${orderId}/approve`), options);
    },
    async deny(orderId: string, options?: CallOptions) {
      return await ask(Transaction, keyed(path`/v2/${orderId}/deny`), options);
    },
  };
}

function keyed(path: string, body?: object): Draft {
  return { ...post(path, body), keyHeader: "Idempotency-Key" };
}

function refundBody(refundKey: string, amount: number, reason: string) {
  return {
    refund_key: refundKey,
    amount: wholeAmount(amount),
    ...reason !== "" && { reason },
  };
}
