/** `createCharge`: a new payment, written before the gateway is asked and finished when it answered. */

import type { HeldKey } from "../../db/idempotency_keys.ts";
import { insertingPayments } from "../../db/insert_payment.ts";
import { findPayment, type GatewayPayment } from "../../db/payments.ts";
import { together } from "../../db/together.ts";
import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import * as keys from "../idempotency/keys.ts";
import { replyOf } from "../idempotency/reply.ts";
import { recordAddedLatency } from "../telemetry.ts";
import { changePayment } from "./change.ts";
import type { ChargeInput } from "./charge_input.ts";
import { UNANSWERED_CHECK_MS } from "./check_times.ts";
import type { PaymentDeps } from "./deps.ts";
import { newPayment } from "./new_payment.ts";
import { gatewayIsDown, namingPayment } from "./problems.ts";
import { lookForCharge, sendCharge, takeChargeOver } from "./send_charge.ts";
import { type PaymentView, viewPayment } from "./views.ts";

interface Request {
  caller: Caller;
  attempt: KeyedAttempt | null;
  input: ChargeInput;
}

/** An earlier payment of the same request, which came to nothing. */
type Replaced = Pick<GatewayPayment, "id"> & { order_id?: string };

export async function createCharge(
  deps: PaymentDeps,
  caller: Caller,
  input: ChargeInput,
  attempt: KeyedAttempt | null,
): Promise<Outcome<PaymentView>> {
  // A key that was used before may have an answer, or a charge that went through: no reason to say
  // that nothing was done.
  const isDown = deps.gateway.breakerState() === "open";
  if (isDown && !(attempt && await keys.isKnown(deps, caller, attempt))) throw gatewayIsDown();
  return await begin(deps, { caller, attempt, input }, null);
}

/** Writes the payment, and sends it unless the key was used before. */
async function begin(
  deps: PaymentDeps,
  request: Request,
  replaced: Replaced | null,
): Promise<Outcome<PaymentView>> {
  const { caller, attempt, input } = request;
  const began = performance.now();
  const now = new Date(deps.clock());
  // Under the same order id as before the gateway can have but one of them.
  const order_id = input.order_id ?? replaced?.order_id;
  const payment = newPayment({ ...input, order_id }, caller.userId, now);
  const key = attempt && keys.claimFor(attempt, caller, payment.id, now);
  const insert = { payment, key, keysSince: keys.keysSince(now), replaces: replaced?.id ?? null };
  const { isClaimed, isOrdered } = await together(deps.database, insertingPayments, insert);
  if (attempt && !isClaimed) return await resume(deps, request, attempt);
  if (!isOrdered) throw await refuseOrder(deps, key, payment);
  return await namingPayment(payment, async () => {
    const { body, gatewayMs } = await sendCharge(deps, { input, key }, payment, false);
    const addedMs = performance.now() - began - gatewayMs;
    recordAddedLatency(addedMs, { payment_type: input.payment_type });
    return { body, isReplayed: false };
  });
}

/** Goes on where an earlier request with the same key was cut short: the gateway is asked first. */
async function resume(
  deps: PaymentDeps,
  request: Request,
  attempt: KeyedAttempt,
): Promise<Outcome<PaymentView>> {
  const met = await keys.meetKey(deps, request.caller, attempt);
  if ("body" in met) return { body: met.body as PaymentView, isReplayed: true };
  const { key } = met;
  const paymentId = met.earlier?.paymentId;
  const payment = paymentId
    ? await deps.database.query((sql) => findPayment(sql, paymentId), "find payment")
    : null;
  // Not even its row was written: the order id was taken.
  if (!payment) return await begin(deps, request, paymentId ? { id: paymentId } : null);
  if (payment.is_refused) return await begin(deps, request, payment);
  return await namingPayment(payment, async () => {
    const body = await finish(deps, { input: request.input, key }, payment);
    return body ? { body, isReplayed: false } : await begin(deps, request, payment);
  });
}

/** Null: the charge was never made, and is given up. */
async function finish(
  deps: PaymentDeps,
  request: { input: ChargeInput; key: HeldKey },
  payment: GatewayPayment,
): Promise<PaymentView | null> {
  if (payment.transaction_id !== null) {
    const body = viewPayment(payment);
    await keys.endKeyed(deps, request.key, { body });
    return body;
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

async function refuseOrder(
  deps: PaymentDeps,
  key: HeldKey | null,
  { order_id }: GatewayPayment,
): Promise<ServiceError> {
  const problem = new ServiceError("duplicate_order", {
    detail: `The order id ${order_id} is taken.`,
    members: { order_id, outcome: "refused" },
  });
  if (key) await keys.endKeyed(deps, key, replyOf(problem));
  return problem;
}
