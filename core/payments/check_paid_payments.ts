/**
 * `check_paid_payments`: checks paid payments again, because the notification of a reversal, a
 * refund or a chargeback may have been lost. It calls the gateway itself instead of queuing jobs:
 * almost all of these checks find no change, and each job would cost several database writes.
 */

import { pause } from "../../concurrency/deadlines.ts";
import { hasDueJob, LANES } from "../../db/jobs/jobs.ts";
import {
  listPaidPayments,
  type PaidPayment,
  storeCompletedCohorts,
  storePaidChecks,
} from "../../db/payments/paid_checks.ts";
import { findPayment } from "../../db/payments/statements.ts";
import { scheduleCheck } from "../../db/records/records.ts";
import { gatewayPauseMs } from "../gateway/background_pause.ts";
import { GatewayError, isTransactionNotFound } from "../gateway/errors.ts";
import { inOneMinute } from "../records/check_times.ts";
import type { Service } from "../service.ts";
import { checkAtGateway } from "./check_at_gateway.ts";
import { paidCohorts } from "./paid_cohorts.ts";

const SOURCE = "check_paid_payments";

/** A run ends before the next one starts. */
const RUN_MS = 50_000;

/** Less than the limit of concurrent background calls, so that other work is not delayed. */
const CONCURRENT_CHECKS = 2;

/** Progress is stored after this many checks. After a crash, at most these are repeated. */
const BATCH = 100;

/**
 * A new cohort, for example after an upgrade, starts with payments that became due in the last day.
 */
const LOOK_BACK_SECONDS = 24 * 3_600;

/** If a job that checks a record has waited this long, the gateway or the service is busy. */
const BUSY_MS = 60_000;

export interface PaidChecksResult {
  unchanged: number;
  changed: number;
  /**
   * How many checks got no usable response. `check_pending_payments` repeats them. If the gateway
   * responded that it does not know the transaction, the check is not repeated.
   */
  failed: number;
  /** For how long the next payment has been due; 0: none is due, or these checks are disabled. */
  behind_seconds: number;
}

/**
 * Runs every minute, and makes at most `RECHECK_PER_MINUTE` checks, spread over the run. Ends early
 * if `stopping` is aborted. `wait` pauses between two checks.
 */
export async function checkPaidPayments(
  service: Service & { stopping?: AbortSignal },
  wait: Run["wait"] = pause,
): Promise<PaidChecksResult> {
  const { database, clock, recheck } = service;
  const cohorts = paidCohorts(recheck);
  const stopping = service.stopping ?? AbortSignal.any([]);
  const run: Run = { endsAt: performance.now() + RUN_MS, left: recheck.perMinute, stopping, wait };
  const result: PaidChecksResult = { unchanged: 0, changed: 0, failed: 0, behind_seconds: 0 };
  if (recheck.perMinute === 0) return result;
  while (true) {
    const now = new Date(clock());
    const range = { now, lookBackSeconds: LOOK_BACK_SECONDS, limit: BATCH };
    const due = await database.query(
      (sql) => listPaidPayments(sql, cohorts, range),
      "list paid payments",
    );
    if (due.length === 0) {
      await database.query((sql) => storeCompletedCohorts(sql, cohorts, now), "store paid checks");
      return result;
    }
    const done = await isBusy(service) ? 0 : await checkAll(service, due, run, result);
    if (done > 0) {
      await database.query((sql) => storePaidChecks(sql, due.slice(0, done)), "store paid checks");
    }
    if (done < due.length) {
      const lateMs = now.getTime() - due[done]!.due_at.getTime();
      return { ...result, behind_seconds: Math.round(lateMs / 1_000) };
    }
  }
}

/** Limits of one run. */
interface Run {
  /** By `performance.now()`. */
  endsAt: number;
  /** How many more checks it may make. */
  left: number;
  stopping: AbortSignal;
  wait(ms: number, signals: AbortSignal[]): Promise<unknown>;
}

/** Whether checks by jobs wait for too long. If so, the run ends: its checks are less urgent. */
async function isBusy({ database, clock }: Service): Promise<boolean> {
  const waitingSince = new Date(clock() - BUSY_MS);
  return await database.query(
    (sql) => hasDueJob(sql, LANES.checks, waitingSince),
    "find due job",
  );
}

/** Checks the payments in order until a limit is reached, and returns how many were checked. */
async function checkAll(
  service: Service,
  due: readonly PaidPayment[],
  run: Run,
  result: PaidChecksResult,
): Promise<number> {
  const intervalMs = CONCURRENT_CHECKS * RUN_MS / service.recheck.perMinute;
  let next = 0;
  async function checkInTurn(): Promise<void> {
    while (
      next < due.length && run.left > 0 && performance.now() < run.endsAt &&
      !run.stopping.aborted && gatewayPauseMs(service) === 0
    ) {
      run.left--;
      const { payment_id } = due[next++]!;
      const waitMs = Math.min(intervalMs, run.endsAt - performance.now());
      const waited = run.wait(waitMs, [run.stopping]);
      const [outcome] = await Promise.all([checkOne(service, payment_id), waited]);
      result[outcome]++;
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_CHECKS }, checkInTurn));
  return next;
}

async function checkOne(
  service: Service,
  id: string,
): Promise<"unchanged" | "changed" | "failed"> {
  const { database, clock, log } = service;
  const known = await database.query((sql) => findPayment(sql, id), "find payment");
  if (!known) return "unchanged";
  try {
    const { payment } = await checkAtGateway(service, known, SOURCE);
    return payment.version === known.version ? "unchanged" : "changed";
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    // A later check would get the same response; `checkAtGateway` has logged it.
    if (isTransactionNotFound(error)) return "failed";
    log.error("paid_check_failed", error, { payment_id: id });
    // Jobs repeat the check until it succeeds.
    const at = inOneMinute(clock());
    await database.query((sql) => scheduleCheck(sql, "payments", id, at), "schedule check");
    return "failed";
  }
}
