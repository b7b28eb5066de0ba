/** Ends, at the gateway, one payment that its customer can no longer pay. */

import type { GatewayJob, NewJob } from "../../db/jobs.ts";
import { findPayment } from "../../db/payment_statements.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import { GatewayError, meansUnknown } from "../gateway/errors.ts";
import { type JobSubject, newJob } from "../jobs/new_job.ts";
import type { Task } from "../jobs/task.ts";
import { EXPIRY_GRACE_MS } from "../records/check_times.ts";
import type { Check } from "./check_payment_status.ts";
import type { PaymentDeps } from "./deps.ts";
import { hear } from "./gate.ts";
import { isAbout } from "./recognize.ts";
import { refresh } from "./refresh.ts";

export const EXPIRE_STALE_PAYMENT = "expire_stale_payment";

const SOURCE = "expire_stale_payments";

export function expireJob(payment: JobSubject, now: Date): NewJob {
  const payload = { payment_id: payment.id };
  return newJob(EXPIRE_STALE_PAYMENT, payment, payload, { runAt: now, now });
}

export function createExpireStalePayment(deps: PaymentDeps): Task {
  return {
    retries: 3,
    firstDelayMs: 60_000,
    run: async ({ subject_id }: GatewayJob) => await expireStalePayment(deps, subject_id!),
  };
}

/** Throws a `GatewayError` where the gateway is of no use. */
export async function expireStalePayment(deps: PaymentDeps, id: string): Promise<Check | null> {
  const known = await deps.database.query((sql) => findPayment(sql, id), "find payment");
  if (!known) return null;
  // Somebody may have heard of it meanwhile.
  const { transaction_status } = isStale(known, deps.clock()) ? await end(deps, known) : known;
  return { transaction_status };
}

function isStale(
  { transaction_id, transaction_status, expiry_time }: GatewayPayment,
  now: number,
): boolean {
  return transaction_id !== null && transaction_status === "pending" && expiry_time !== null &&
    expiry_time.getTime() + EXPIRY_GRACE_MS <= now;
}

/** The gateway may have ended it by itself, or have seen it paid in the last second: then it says no. */
async function end(deps: PaymentDeps, known: GatewayPayment): Promise<GatewayPayment> {
  const isExpired = await tryToExpire(deps, known);
  return isExpired ?? (await refresh(deps, known, SOURCE)).payment;
}

/** Null: its state has to be asked for. */
async function tryToExpire(
  deps: PaymentDeps,
  known: GatewayPayment,
): Promise<GatewayPayment | null> {
  try {
    const { body } = await deps.gateway.expire(known.transaction_id!, {
      idempotencyKey: `${known.id}:exp`,
    });
    if (!isAbout(known, body) || body.transaction_status !== "expire") return null;
    return (await hear(deps, known, { answer: body, source: SOURCE, askedAt: null })).payment;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    // Of a transaction that it does not know the look tells whoever has to hear of that.
    if (error.statusCode === "412" || meansUnknown(error)) return null;
    throw error;
  }
}
