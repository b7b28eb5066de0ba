/** Reads what the gateway says about a transaction into what we keep of it. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { Transaction } from "../gateway/responses.ts";
import { parseTransactionTime } from "../gateway/times.ts";
import { parseMoney } from "../money.ts";

/** Members of a payment that come from the gateway. */
export type GatewayFields = Pick<
  GatewayPayment,
  | "bank"
  | "store"
  | "acquirer"
  | "va_number"
  | "bill_key"
  | "biller_code"
  | "payment_code"
  | "redirect_url"
  | "deeplink_url"
  | "qr_string"
  | "qr_url"
  | "transaction_time"
  | "settlement_time"
  | "expiry_time"
>;

/** Null where the answer says nothing. */
export function fieldsOf(answer: Transaction): GatewayFields {
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

function actionUrl({ actions }: Transaction, ...names: string[]): string | null {
  for (const name of names) {
    const url = actions.find((action) => action.name === name)?.url;
    if (url) return url;
  }
  return null;
}

export interface GatewayRefundWord {
  /** Null: nobody can tell whose it is. */
  refund_key: string | null;
  amount: number;
  reason: string | null;
  is_direct: boolean;
  created_at: Date | null;
}

export function refundsOf({ refunds }: Transaction): GatewayRefundWord[] {
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
 * The amount an answer is about, whole rupiah. Where the customer paid a fee on top, `gross_amount`
 * has it included and the original is beside it (G§9.1). Null: it does not say; NaN, which equals
 * nothing: it is not whole.
 */
export function amountOf(answer: Transaction): number | null {
  const info = (answer.metadata?.extra_info as { gross_amount_info?: unknown } | undefined)
    ?.gross_amount_info as { original_amount?: unknown } | undefined;
  const original = info?.original_amount;
  const isGiven = typeof original === "string" || typeof original === "number";
  const said = isGiven ? String(original) : answer.gross_amount;
  return said === null ? null : parseMoney(said) ?? NaN;
}
