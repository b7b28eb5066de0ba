/** Brings our refunds together with those that the gateway lists. */

import { v7 as uuidv7 } from "uuid";
import type { GatewayPayment, GatewayRefund } from "../../db/payments.ts";
import type { Transaction } from "../gateway/answers.ts";
import { refundsOf } from "./gateway_word.ts";

export interface RefundHearing {
  answer: Transaction;
  /** A refund of ours that the gateway has just accepted, listed in the answer or not. */
  acceptedRefund?: Pick<GatewayRefund, "id" | "status_code" | "status_message">;
}

export interface MergedRefunds {
  all: GatewayRefund[];
  /** Those that are new or changed. */
  changed: GatewayRefund[];
}

/** Our refunds that the gateway has made, and those that were made elsewhere. */
export function mergeRefunds(
  current: GatewayPayment,
  { answer, acceptedRefund }: RefundHearing,
  now: Date,
): MergedRefunds {
  const byKey = new Map(current.refunds.map((refund) => [refund.refund_key, refund]));
  const changed = new Map<string, GatewayRefund>();
  function succeed(refund: Omit<GatewayRefund, "status" | "updated_at">) {
    const made: GatewayRefund = { ...refund, status: "succeeded", updated_at: now };
    byKey.set(made.refund_key, made);
    changed.set(made.refund_key, made);
  }
  const accepted = current.refunds.find(({ id }) => id === acceptedRefund?.id);
  if (accepted && accepted.status !== "succeeded") succeed({ ...accepted, ...acceptedRefund });
  for (const { refund_key, ...made } of refundsOf(answer)) {
    if (refund_key === null) continue;
    const known = byKey.get(refund_key);
    if (known?.status === "succeeded") continue;
    succeed(
      known ?? {
        ...made,
        refund_key,
        id: uuidv7(),
        payment_id: current.id,
        status_code: null,
        status_message: null,
        created_at: made.created_at ?? now,
      },
    );
  }
  return { all: [...byKey.values()], changed: [...changed.values()] };
}

/** Of an answer that counts for nothing else, what it said about our own refund still does. */
export function onlyAccepted(
  { refunds }: GatewayPayment,
  { changed }: MergedRefunds,
  { acceptedRefund }: RefundHearing,
): MergedRefunds {
  const accepted = changed.filter(({ id }) => id === acceptedRefund?.id);
  const byId = new Map([...refunds, ...accepted].map((refund) => [refund.id, refund]));
  return { all: [...byId.values()], changed: accepted };
}

export function sumOf(refunds: GatewayRefund[], status: GatewayRefund["status"]): number {
  return sumUp(refunds.filter((refund) => refund.status === status));
}

export function sumUp(refunds: Pick<GatewayRefund, "amount">[]): number {
  return refunds.reduce((sum, { amount }) => sum + amount, 0);
}
