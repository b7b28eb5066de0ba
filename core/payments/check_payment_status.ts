/** `check_payment_status`: fetches one payment's state, and brings what was left open to its end. */

import type { GatewayJob } from "../../db/jobs.ts";
import { findPayment, type GatewayPayment } from "../../db/payments.ts";
import type { GatewayRefund } from "../../db/refunds.ts";
import { ServiceError } from "../errors.ts";
import { PutOff, type Task } from "../jobs/task.ts";
import { graceEnd, UNANSWERED_CHECK_MS } from "./check_times.ts";
import type { PaymentDeps } from "./deps.ts";
import { giveUp } from "./gate.ts";
import { refresh } from "./refresh.ts";
import { sendRefund } from "./send_refund.ts";

const SOURCE = "check_payment_status";

export function createCheckPaymentStatus(deps: PaymentDeps): Task {
  return {
    retries: 3,
    firstDelayMs: 60_000,
    run: async ({ subject_id }: GatewayJob) => await checkPaymentStatus(deps, subject_id!),
  };
}

/** What it found, for the job's record. */
export interface Check {
  transaction_status: string;
}

/** Throws `PutOff` where it is too early to tell, and a `GatewayError` where the gateway is of no use. */
export async function checkPaymentStatus(deps: PaymentDeps, id: string): Promise<Check | null> {
  const known = await deps.database.query((sql) => findPayment(sql, id), "find payment");
  if (!known) return null;
  const { payment, isKnown } = await refresh(deps, known, SOURCE);
  const settle = isKnown ? finishRefunds : settleUnknown;
  const { transaction_status } = await settle(deps, payment);
  return { transaction_status };
}

/** The gateway knows nothing of the charge: after a while that means that it was never made. */
async function settleUnknown(deps: PaymentDeps, payment: GatewayPayment): Promise<GatewayPayment> {
  const isWaiting = payment.transaction_id === null && payment.transaction_status === "pending";
  if (!isWaiting) return payment;
  const end = graceEnd(payment);
  if (deps.clock() < end.getTime()) throw new PutOff(end);
  return await giveUp(deps, payment, SOURCE);
}

/** A refund that the gateway does not list was not made, and is sent again. */
async function finishRefunds(deps: PaymentDeps, known: GatewayPayment): Promise<GatewayPayment> {
  let payment = known;
  for (const { id } of known.refunds.filter(isPending)) {
    const refund = payment.refunds.find((each) => each.id === id);
    if (!refund || !isPending(refund)) continue;
    // Whoever asked for it may still be at it.
    const sentLongAgo = new Date(refund.updated_at.getTime() + UNANSWERED_CHECK_MS);
    if (deps.clock() < sentLongAgo.getTime()) throw new PutOff(sentLongAgo);
    await sendAgain(deps, payment, id);
    payment = await deps.database.query((sql) => findPayment(sql, payment.id)) ?? payment;
  }
  return payment;
}

async function sendAgain(deps: PaymentDeps, payment: GatewayPayment, refundId: string) {
  try {
    await sendRefund(deps, { key: null, refundId, source: SOURCE, isSentBefore: true }, payment);
  } catch (error) {
    // Refused for good is an end, too, and written down.
    if (!(error instanceof ServiceError) || error.members.outcome !== "refused") throw error;
  }
}

function isPending({ status }: GatewayRefund): boolean {
  return status === "pending";
}
