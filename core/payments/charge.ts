/** `createCharge`: a new payment, written before the gateway is asked and finished when it answered. */

import { paymentInserts } from "../../db/payment_statements.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import type { Caller } from "../auth/caller.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import { answerAgain } from "../records/answer_again.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { create } from "../records/create.ts";
import type { Asker } from "../records/keyed_change.ts";
import { recordAddedLatency } from "../telemetry.ts";
import { changePayment } from "./change.ts";
import type { ChargeInput } from "./charge_input.ts";
import type { PaymentDeps } from "./deps.ts";
import { paymentKind } from "./kind.ts";
import { newPayment } from "./new_payment.ts";
import { lookForCharge, sendCharge, takeChargeOver } from "./send_charge.ts";
import type { PaymentView } from "./views.ts";

export async function createCharge(
  deps: PaymentDeps,
  caller: Caller,
  input: ChargeInput,
  attempt: KeyedAttempt | null,
): Promise<Outcome<PaymentView>> {
  let began = 0;
  const isTriedAgain = attempt?.isTriedAgain;
  return await create(deps, caller, attempt, {
    kind: paymentKind,
    inserting: paymentInserts,
    draw(now, replaced) {
      began = performance.now();
      // Under the same order id as before the gateway can have but one of them.
      const order_id = input.order_id ?? replaced?.order_id;
      return newPayment({ ...input, order_id }, caller.userId, now);
    },
    async send(payment, asker) {
      const request = { ...asker, input, isTriedAgain };
      const { body, gatewayMs } = await sendCharge(deps, request, payment, false);
      const addedMs = performance.now() - began - gatewayMs;
      recordAddedLatency(addedMs, { payment_type: input.payment_type });
      return body;
    },
    isRefused: ({ is_refused }) => is_refused,
    finish: (payment, asker) => finish(deps, { ...asker, input, isTriedAgain }, payment),
  });
}

/** Null: the charge was never made, and is given up. */
async function finish(
  deps: PaymentDeps,
  request: Asker & { input: ChargeInput },
  payment: GatewayPayment,
): Promise<PaymentView | null> {
  if (payment.transaction_id !== null) {
    return await answerAgain(deps, paymentKind, request, payment);
  }
  const found = await lookForCharge(deps, request, payment);
  if (found.whose === "ours") {
    return await takeChargeOver(deps, request, payment, found.answer.body, payment.version);
  }
  if (payment.transaction_status !== "pending") return null;
  const marked = await markSent(deps, payment);
  return (await sendCharge(deps, request, marked, true)).body;
}

/** From now on the gateway has its time again to know of it. */
async function markSent(deps: PaymentDeps, payment: GatewayPayment): Promise<GatewayPayment> {
  const now = deps.clock();
  return await changePayment(deps, payment, () => ({
    set: { sent_at: new Date(now), check_at: new Date(now + UNANSWERED_CHECK_MS) },
  }));
}
