/** `check_payment_status`: checks one payment, and finishes its unanswered charge or refunds. */

import type { GatewayJob } from "../../db/jobs/jobs.ts";
import { findPayment } from "../../db/payments/statements.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import { canDecideByTime } from "../time/clock_check.ts";
import { ServiceError } from "../errors.ts";
import { PostponeJob, type Task } from "../jobs/task.ts";
import { stopChecks } from "../records/change.ts";
import { inOneMinute, UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { giveUpCharge, graceEnd } from "./apply_report.ts";
import { checkAtGateway } from "./check_at_gateway.ts";
import { type PaymentDeps, paymentKind } from "./payment_record.ts";
import { isUnansweredRefund, requestEnd } from "./merge_refunds.ts";
import { sendRefund } from "./refund.ts";

const SOURCE = "check_payment_status";

export function createCheckPaymentStatus(deps: PaymentDeps): Task {
  return {
    retries: 3,
    firstDelayMs: 60_000,
    run: async ({ subject_id }: GatewayJob) => await checkPaymentStatus(deps, subject_id!),
  };
}

/** The job's result. */
export interface CheckResult {
  transaction_status: string;
}

/**
 * Throws `PostponeJob` if the result is not known yet, a `GatewayError` if the check fails, and a
 * `ServiceError` if it stays unknown whether a refund was made.
 */
export async function checkPaymentStatus(
  deps: PaymentDeps,
  id: string,
): Promise<CheckResult | null> {
  const known = await deps.database.query((sql) => findPayment(sql, id), "find payment");
  if (!known) return null;
  const readAt = deps.clock();
  const { payment, isFound } = await checkAtGateway(deps, known, SOURCE);
  const { transaction_status } = isFound
    ? await resendPendingRefunds(deps, payment, readAt)
    : await endUnlistedCharge(deps, payment);
  return { transaction_status };
}

/** The gateway does not list the charge. After the grace period that means it was never made. */
async function endUnlistedCharge(
  deps: PaymentDeps,
  known: GatewayPayment,
): Promise<GatewayPayment> {
  if (!isUnanswered(known)) return await stopChecks(deps, paymentKind, known);
  const isGraceOver = deps.clock() >= graceEnd(known).getTime();
  if (isGraceOver && !await canGiveUp(deps)) throw new PostponeJob(inOneMinute(deps.clock()));
  const payment = isGraceOver ? await giveUpCharge(deps, known, SOURCE) : known;
  if (isUnanswered(payment)) throw new PostponeJob(graceEnd(payment));
  return payment;
}

/**
 * If the time is uncertain, the grace period may not be over yet. With the key of another account,
 * the gateway does not list the charge even if it was made.
 */
async function canGiveUp({ clockCheck, gateway }: PaymentDeps): Promise<boolean> {
  return canDecideByTime(await clockCheck.measure()) && await gateway.verifyAccount() === "same";
}

function isUnanswered({ transaction_id, transaction_status }: GatewayPayment): boolean {
  return transaction_id === null && transaction_status === "pending";
}

/** Resends, one at a time, the refunds with an unknown outcome that the gateway does not list. */
async function resendPendingRefunds(
  deps: PaymentDeps,
  known: GatewayPayment,
  knownSince: number,
): Promise<GatewayPayment> {
  let payment = known;
  let readAt = knownSince;
  const failures: unknown[] = [];
  for (const { id } of known.refunds.filter(isUnansweredRefund)) {
    try {
      await resendRefund(deps, payment, readAt, id);
    } catch (error) {
      // A refund that fails must not stop the others.
      failures.push(error);
    }
    readAt = deps.clock();
    payment = await deps.database.query((sql) => findPayment(sql, known.id), "find payment") ??
      payment;
  }
  const [first] = failures;
  if (first) throw failures.find((error) => !(error instanceof PostponeJob)) ?? first;
  return payment;
}

async function resendRefund(
  deps: PaymentDeps,
  payment: GatewayPayment,
  readAt: number,
  refundId: string,
): Promise<void> {
  const refund = payment.refunds.find(({ id }) => id === refundId);
  if (!refund || !isUnansweredRefund(refund)) return;
  // The request that created the refund may still be running.
  const end = requestEnd(refund);
  if (deps.clock() < end.getTime()) throw new PostponeJob(end);
  // If this process was paused, the refund may have ended, and another one may be made.
  if (deps.clock() >= readAt + UNANSWERED_CHECK_MS) {
    throw new PostponeJob(inOneMinute(deps.clock()));
  }
  try {
    await sendRefund(deps, { key: null, refundId, source: SOURCE, wasSentBefore: true }, payment);
  } catch (error) {
    // A final refusal is a result, too, and is stored with the refund.
    if (!(error instanceof ServiceError) || error.members.outcome !== "refused") throw error;
  }
}
