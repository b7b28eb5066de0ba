/** Reserves the amount of a refund before the gateway is asked for it. */

import type { GatewayPayment, GatewayRefund } from "../../db/payments/payments.ts";
import { type ActionRequest, requireAsShown } from "../records/act.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { type KeyedRequest, keyStillHeld } from "../records/keyed_request.ts";
import {
  amountTooHigh,
  changePayment,
  invalidState,
  type PaymentDeps,
  paymentKind,
} from "./payment_record.ts";
import { REFUNDABLE } from "./states.ts";

export interface RefundInput {
  /** Defaults to the full remaining amount. */
  amount?: number;
  reason?: string;
  /** Refund synchronously through the bank, which not every bank supports. */
  direct: boolean;
}

/**
 * Inserts the refund and reserves its amount before the call. Each reservation is valid only for
 * the version of the payment it was decided on, so reserved and refunded amounts never exceed the
 * amount paid.
 */
export async function reserveAmount(
  deps: PaymentDeps,
  request: KeyedRequest & { refundId: string },
  known: GatewayPayment,
  { amount, reason, direct, shown }: RefundInput & Pick<ActionRequest, "shown">,
): Promise<GatewayPayment> {
  return await changePayment(deps, known, (payment) => {
    requireAsShown(paymentKind, { shown }, payment);
    requireRefundable(payment);
    const now = new Date(deps.clock());
    const { captured_amount, refunded_amount, reserved_amount } = payment;
    const remaining = (captured_amount ?? 0) - refunded_amount - reserved_amount;
    if (remaining <= 0) {
      throw invalidState(payment, "The full amount is already refunded or being refunded.");
    }
    const wanted = amount ?? remaining;
    if (wanted > remaining) throw amountTooHigh(payment, remaining, "the amount left to refund");
    const refund: GatewayRefund = {
      id: request.refundId,
      payment_id: payment.id,
      user_id: payment.user_id,
      refund_key: request.refundId,
      amount: wanted,
      reason: reason ?? null,
      is_direct: direct,
      status: "pending",
      status_code: null,
      status_message: null,
      created_by: deps.actor ?? null,
      created_at: now,
      updated_at: now,
    };
    return {
      set: {
        reserved_amount: reserved_amount + wanted,
        check_at: new Date(now.getTime() + UNANSWERED_CHECK_MS),
      },
      refunds: [refund],
      // Fails if another request has taken over the key: that request makes the refund.
      key: keyStillHeld(request),
    };
  });
}

export function requireRefundable(payment: GatewayPayment): void {
  const status = payment.transaction_status;
  if (REFUNDABLE.includes(status)) return;
  throw invalidState(
    payment,
    status === "capture"
      ? "A captured payment cannot be refunded before it is settled. Cancel it instead."
      : `A payment with status ${status} cannot be refunded.`,
  );
}
