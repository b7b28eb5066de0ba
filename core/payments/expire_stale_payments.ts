/** `expire_stale_payments`: tells the gateway to expire payments that can no longer be paid. */

import type { GatewayJob, NewJob } from "../../db/jobs/jobs.ts";
import { findPayment, listStalePayments } from "../../db/payments/statements.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { Service } from "../service.ts";
import { ClockSkewed, requireAccurateClock } from "../time/clock_check.ts";
import type { CallType } from "../gateway/circuit_breaker.ts";
import { GatewayError, isTransactionNotFound } from "../gateway/errors.ts";
import { enqueueChecks } from "../jobs/enqueue_checks.ts";
import type { Task } from "../jobs/task.ts";
import { type JobSubject, newJob } from "../records/new_job.ts";
import { EXPIRY_GRACE_MS } from "../records/check_times.ts";
import { applyReport } from "./apply_report.ts";
import { checkAtGateway } from "./check_at_gateway.ts";
import type { CheckResult } from "./check_payment_status.ts";
import { callOptions, matchesPayment } from "./transaction.ts";

export const EXPIRE_STALE_PAYMENT = "expire_stale_payment";

const SOURCE = "expire_stale_payments";

/** Includes reads: if the gateway refuses to expire a payment, the task requests its status. */
export const EXPIRE_CALLS: readonly CallType[] = ["read", "write"];

/**
 * Enqueues a job for each stale payment. Returns how many. Throws `ClockSkewed` if the
 * service's time is uncertain: otherwise it could expire payments that the customer can still pay.
 */
export async function expireStalePayments(service: Service): Promise<number> {
  await requireAccurateClock(service.clockCheck);
  return await enqueueChecks(service, {
    table: "payments",
    task: EXPIRE_STALE_PAYMENT,
    list: (sql, now, limit) => listStalePayments(sql, { now, staleSince: staleSince(now), limit }),
    job: expireJob,
    calls: EXPIRE_CALLS,
  });
}

/** A pending payment is stale if its expiry time is before this time. */
export function staleSince(now: Date): Date {
  return new Date(now.getTime() - EXPIRY_GRACE_MS);
}

function expireJob(payment: JobSubject, now: Date): NewJob {
  const payload = { payment_id: payment.id };
  return newJob(EXPIRE_STALE_PAYMENT, payment, payload, { runAt: now, now });
}

export function createExpireStalePayment(service: Service): Task {
  return {
    retries: 3,
    firstDelayMs: 60_000,
    run: async ({ subject_id }: GatewayJob) => await expireStalePayment(service, subject_id!),
  };
}

/** Throws a `GatewayError` if the gateway gives no usable response. */
export async function expireStalePayment(
  service: Service,
  id: string,
): Promise<CheckResult | null> {
  const stored = await service.database.query((sql) => findPayment(sql, id), "find payment");
  if (!stored) return null;
  const known = isStale(stored, service.clock()) ? await learnGatewayTime(service, stored) : stored;
  // A report may have ended the payment since the job was enqueued.
  if (!isStale(known, service.clock())) return { transaction_status: known.transaction_status };
  const expired = await isClockAccurate(service) ? await expireAtGateway(service, known) : null;
  const payment = expired ?? (await checkAtGateway(service, known, SOURCE)).payment;
  return { transaction_status: payment.transaction_status };
}

/**
 * The clock check compares the service's time with the time in the gateway's responses. If this
 * instance has received no response yet, this function checks the payment to get one.
 */
async function learnGatewayTime(
  service: Service,
  known: GatewayPayment,
): Promise<GatewayPayment> {
  if (service.gateway.time() !== null) return known;
  return (await checkAtGateway(service, known, SOURCE)).payment;
}

async function isClockAccurate({ clockCheck, log }: Service): Promise<boolean> {
  try {
    await requireAccurateClock(clockCheck);
    return true;
  } catch (error) {
    if (!(error instanceof ClockSkewed)) throw error;
    log.error("clock_skewed", error);
    return false;
  }
}

function isStale(
  { transaction_id, transaction_status, unrecognized_status, expiry_time }: GatewayPayment,
  now: number,
): boolean {
  return transaction_id !== null && transaction_status === "pending" &&
    unrecognized_status === null && expiry_time !== null &&
    expiry_time.getTime() + EXPIRY_GRACE_MS <= now;
}

/**
 * Null: the gateway did not expire the payment, so the state has to be checked. The gateway refuses
 * if it has expired the payment itself, or if the customer paid in the last second.
 */
async function expireAtGateway(
  service: Service,
  known: GatewayPayment,
): Promise<GatewayPayment | null> {
  try {
    const { body } = await service.gateway.expire(known.transaction_id!, {
      ...callOptions(known),
      idempotencyKey: `${known.id}:exp`,
    });
    if (!matchesPayment(known, body) || body.transaction_status !== "expire") return null;
    const report = { answer: body, source: SOURCE, askedAtVersion: null } as const;
    return (await applyReport(service, known, report)).payment;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    // If the gateway does not know the transaction, the check that follows logs this.
    if (error.statusCode === "412" || isTransactionNotFound(error)) return null;
    throw error;
  }
}
