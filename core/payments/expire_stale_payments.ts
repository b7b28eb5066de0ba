/** `expire_stale_payments`: queues the end of every payment that its customer can no longer pay. */

import { listStalePayments } from "../../db/payment_statements.ts";
import { EXPIRY_GRACE_MS } from "../records/check_times.ts";
import { queueChecks, type QueueDeps } from "../records/queue_checks.ts";
import { EXPIRE_STALE_PAYMENT, expireJob } from "./expire_stale_payment.ts";

/** How many were queued. */
export async function expireStalePayments(deps: QueueDeps): Promise<number> {
  return await queueChecks(deps, {
    table: "payments",
    task: EXPIRE_STALE_PAYMENT,
    list: (sql, now, limit) => listStalePayments(sql, { now, staleSince: staleSince(now), limit }),
    job: expireJob,
  });
}

/** What could be paid until then, or not even as long, cannot be any more. */
export function staleSince(now: Date): Date {
  return new Date(now.getTime() - EXPIRY_GRACE_MS);
}
