/** `check_payment_status`: checks one payment, and finishes its unanswered charge or refunds. */

import type { GatewayJob } from "../../db/jobs/jobs.ts";
import { findPayment } from "../../db/payments/statements.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { Service } from "../service.ts";
import { canDecideByTime } from "../time/clock_check.ts";
import { ServiceError } from "../errors.ts";
import { PostponeJob, type Task } from "../jobs/task.ts";
import { stopChecks } from "../records/change.ts";
import { inOneMinute, UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { giveUpCharge, graceEnd } from "./apply_report.ts";
import { checkAtGateway } from "./check_at_gateway.ts";
import { paymentKind } from "./payment_record.ts";
import { isUnansweredRefund, requestEnd } from "./merge_refunds.ts";
import { sendRefund } from "./refund.ts";

const SOURCE = "check_payment_status";

export function createCheckPaymentStatus(service: Service): Task {
  return {
    retries: 3,
    firstDelayMs: 60_000,
    run: async ({ subject_id }: GatewayJob) => await checkPaymentStatus(service, subject_id!),
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
  service: Service,
  id: string,
): Promise<CheckResult | null> {
  const known = await service.database.query((sql) => findPayment(sql, id), "find payment");
  if (!known) return null;
  const readAt = service.clock();
  const { payment, isFound } = await checkAtGateway(service, known, SOURCE);
  const { transaction_status } = isFound
    ? await resendPendingRefunds(service, payment, readAt)
    : await endUnlistedCharge(service, payment);
  return { transaction_status };
}

/** The gateway does not list the charge. After the grace period that means it was never made. */
async function endUnlistedCharge(
  service: Service,
  known: GatewayPayment,
): Promise<GatewayPayment> {
  if (!isUnanswered(known)) return await stopChecks(service, paymentKind, known);
  const isGraceOver = service.clock() >= graceEnd(known).getTime();
  if (isGraceOver && !await canGiveUp(service)) throw new PostponeJob(inOneMinute(service.clock()));
  const payment = isGraceOver ? await giveUpCharge(service, known, SOURCE) : known;
  if (isUnanswered(payment)) throw new PostponeJob(graceEnd(payment));
  return payment;
}

/**
 * If the time is uncertain, the grace period may not be over yet. With the key of another account,
 * the gateway does not list the charge even if it was made.
 */
export async function canGiveUp({ clockCheck, gateway }: Service): Promise<boolean> {
  return canDecideByTime(await clockCheck.measure()) && await gateway.verifyAccount() === "same";
}

function isUnanswered({ transaction_id, transaction_status }: GatewayPayment): boolean {
  return transaction_id === null && transaction_status === "pending";
}

/** Resends, one at a time, the refunds with an unknown outcome that the gateway does not list. */
async function resendPendingRefunds(
  service: Service,
  known: GatewayPayment,
  knownSince: number,
): Promise<GatewayPayment> {
  let payment = known;
  let readAt = knownSince;
  const failures: unknown[] = [];
  for (const { id } of known.refunds.filter(isUnansweredRefund)) {
    try {
      await resendRefund(service, payment, readAt, id);
    } catch (error) {
      // A refund that fails must not stop the others.
      failures.push(error);
    }
    readAt = service.clock();
    payment = await service.database.query((sql) => findPayment(sql, known.id), "find payment") ??
      payment;
  }
  const [first] = failures;
  if (first) throw failures.find((error) => !(error instanceof PostponeJob)) ?? first;
  return payment;
}

async function resendRefund(
  service: Service,
  payment: GatewayPayment,
  readAt: number,
  refundId: string,
): Promise<void> {
  const refund = payment.refunds.find(({ id }) => id === refundId);
  if (!refund || !isUnansweredRefund(refund)) return;
  // The request that created the refund may still be running.
  const end = requestEnd(refund);
  if (service.clock() < end.getTime()) throw new PostponeJob(end);
  // If this process was paused, the refund may have ended, and another one may be made.
  if (service.clock() >= readAt + UNANSWERED_CHECK_MS) {
    throw new PostponeJob(inOneMinute(service.clock()));
  }
  try {
    await sendRefund(
      service,
      { key: null, refundId, source: SOURCE, wasSentBefore: true },
      payment,
    );
  } catch (error) {
    // A final refusal is a result, too, and is stored with the refund.
    if (!(error instanceof ServiceError) || error.members.outcome !== "refused") throw error;
  }
}
