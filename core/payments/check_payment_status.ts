/** `check_payment_status`: fetches one payment's state, and brings what was left open to its end. */

import type { GatewayJob } from "../../db/jobs.ts";
import { findPayment } from "../../db/payment_statements.ts";
import type { GatewayPayment, GatewayRefund } from "../../db/payments.ts";
import { ServiceError } from "../errors.ts";
import { PostponeJob, type Task } from "../jobs/task.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { changePayment } from "./change.ts";
import type { PaymentDeps } from "./deps.ts";
import { giveUp } from "./gate.ts";
import { graceEnd } from "./grace.ts";
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
async function settleUnknown(deps: PaymentDeps, known: GatewayPayment): Promise<GatewayPayment> {
  if (!isWaiting(known)) return await stopLooking(deps, known);
  const payment = deps.clock() < graceEnd(known).getTime()
    ? known
    : await giveUp(deps, known, SOURCE);
  if (isWaiting(payment)) throw new PostponeJob(graceEnd(payment));
  return payment;
}

function isWaiting({ transaction_id, transaction_status }: GatewayPayment): boolean {
  return transaction_id === null && transaction_status === "pending";
}

async function stopLooking(deps: PaymentDeps, payment: GatewayPayment): Promise<GatewayPayment> {
  return await changePayment(
    deps,
    payment,
    ({ check_at }) => check_at ? { set: { check_at: null } } : null,
  );
}

/** A refund that is still open and not listed by the gateway is sent again; one at a time. */
async function finishRefunds(deps: PaymentDeps, known: GatewayPayment): Promise<GatewayPayment> {
  let payment = known;
  const failures: unknown[] = [];
  for (const { id } of known.refunds.filter(isPending)) {
    try {
      await sendAgain(deps, payment, id);
    } catch (error) {
      // The next one may have better luck.
      failures.push(error);
    }
    payment = await deps.database.query((sql) => findPayment(sql, known.id), "find payment") ??
      payment;
  }
  const [first] = failures;
  if (first) throw failures.find((error) => !(error instanceof PostponeJob)) ?? first;
  return payment;
}

async function sendAgain(
  deps: PaymentDeps,
  payment: GatewayPayment,
  refundId: string,
): Promise<void> {
  const refund = payment.refunds.find(({ id }) => id === refundId);
  if (!refund || !isPending(refund)) return;
  // Whoever asked for it may still be at it.
  const sentLongAgo = new Date(refund.updated_at.getTime() + UNANSWERED_CHECK_MS);
  if (deps.clock() < sentLongAgo.getTime()) throw new PostponeJob(sentLongAgo);
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
