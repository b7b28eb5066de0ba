/** `refundPayment`: gives money back; its amount is reserved before the gateway is asked. */

import { v7 as uuidv7 } from "uuid";
import type { GatewayPayment, GatewayRefund } from "../../db/payments.ts";
import type { Caller } from "../auth/caller.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import * as keys from "../idempotency/keys.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { keepingErrors } from "../records/keeping_errors.ts";
import { type Asker, goesOn } from "../records/keyed_change.ts";
import { gatewayIsDown } from "../records/problems.ts";
import { changePayment } from "./change.ts";
import type { PaymentDeps } from "./deps.ts";
import { refreshed, transactionOf } from "./find_transaction.ts";
import { paymentKind } from "./kind.ts";
import { invalidState } from "./problems.ts";
import { findOwn } from "./read.ts";
import { refundDenied, type RefundedPayment, sendRefund } from "./send_refund.ts";
import { REFUNDABLE } from "./states.ts";
import { tooMuch } from "./too_much.ts";
import { viewPayment, viewRefund } from "./views.ts";

export interface RefundInput {
  /** All that is left where left out. */
  amount?: number;
  reason?: string;
  /** By the bank at once, where it can. */
  direct: boolean;
}

export async function refundPayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  input: RefundInput,
  attempt: KeyedAttempt | null,
): Promise<Outcome<RefundedPayment>> {
  const seen = await findOwn(deps, caller, id);
  const begun = attempt && await keys.beginKeyed(deps, caller, attempt, id);
  if (begun && "body" in begun) return { body: begun.body as RefundedPayment, isReplayed: true };
  const key = begun?.key ?? null;
  const refundId = begun?.earlier?.refundId ?? undefined;
  const asker: Asker = { key, refundId, isTriedAgain: attempt?.isTriedAgain };
  const body = await keepingErrors(deps, paymentKind, asker, seen, async () => {
    // What was seen before the key was ours may lack what its last holder did.
    const known = begun?.earlier ? await findOwn(deps, caller, id) : seen;
    const left = known.refunds.find((refund) => refund.id === refundId);
    if (left && left.status !== "failed") return await goOn(deps, asker, known, left);
    return await begin(deps, asker, known, input);
  });
  return { body, isReplayed: false };
}

async function begin(
  deps: PaymentDeps,
  asker: Asker,
  known: GatewayPayment,
  input: RefundInput,
): Promise<RefundedPayment> {
  checkRefundable(known);
  if (deps.gateway.breakerState() === "open") throw gatewayIsDown();
  const payment = await transactionOf(deps, known, "refund");
  const begun = { ...asker, refundId: uuidv7() };
  const reserved = await reserve(deps, begun, payment, input);
  return await sendRefund(deps, { ...begun, source: "refund", isSentBefore: false }, reserved);
}

/** A request that was cut short: its refund may have been made, so the gateway is asked first. */
async function goOn(
  deps: PaymentDeps,
  asker: Asker,
  known: GatewayPayment,
  begun: GatewayRefund,
): Promise<RefundedPayment> {
  const payment = await refreshed(deps, known, "refund", "unknown");
  const refund = payment.refunds.find(({ id }) => id === begun.id) ?? begun;
  if (refund.status === "denied") throw refundDenied(payment, refund);
  if (refund.status === "pending") {
    const sending = {
      ...asker,
      refundId: refund.id,
      source: "refund",
      isSentBefore: true,
    } as const;
    return await sendRefund(deps, sending, payment);
  }
  const body = { payment: viewPayment(payment), refund: viewRefund(refund) };
  if (asker.key) await keys.endKeyed(deps, asker.key, { body });
  return body;
}

/**
 * The row before the call, with what it takes of the payment: what is reserved and what was refunded
 * never exceed what was paid, since each reservation holds only for the payment it was made of.
 */
async function reserve(
  deps: PaymentDeps,
  asker: Asker & { refundId: string },
  known: GatewayPayment,
  { amount, reason, direct }: RefundInput,
): Promise<GatewayPayment> {
  return await changePayment(deps, known, (payment) => {
    checkRefundable(payment);
    const now = new Date(deps.clock());
    const left = (payment.captured_amount ?? 0) - payment.refunded_amount -
      payment.reserved_amount;
    if (left <= 0) throw invalidState(payment, "All of it is refunded, or about to be.");
    const wanted = amount ?? left;
    if (wanted > left) throw tooMuch(payment, left);
    const refund: GatewayRefund = {
      id: asker.refundId,
      payment_id: payment.id,
      refund_key: asker.refundId,
      amount: wanted,
      reason: reason ?? null,
      is_direct: direct,
      status: "pending",
      status_code: null,
      status_message: null,
      created_at: now,
      updated_at: now,
    };
    return {
      set: {
        reserved_amount: payment.reserved_amount + wanted,
        check_at: new Date(now.getTime() + UNANSWERED_CHECK_MS),
      },
      refunds: [refund],
      key: goesOn(asker),
      // Who lost the key lost it to another who refunds by it.
      isFenced: asker.key !== null,
    };
  });
}

function checkRefundable(payment: GatewayPayment): void {
  const status = payment.transaction_status;
  if (REFUNDABLE.includes(status)) return;
  const isCapture = status === "capture";
  throw invalidState(
    payment,
    isCapture
      ? "A capture that is not settled yet is cancelled, not refunded."
      : `A payment in ${status} cannot be refunded.`,
  );
}
