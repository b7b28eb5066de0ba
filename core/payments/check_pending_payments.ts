/** `check_pending_payments`: queues a look at every payment whose time for one has come. */

import { listDuePayments } from "../../db/payment_statements.ts";
import { queueChecks, type QueueDeps } from "../records/queue_checks.ts";
import { CHECK_PAYMENT_STATUS, checkJob } from "./check_job.ts";
import { staleSince } from "./expire_stale_payments.ts";

/** What is past its time is the other task's for so long; what that one leaves is looked at here. */
const PRECEDENCE_MS = 600_000;

/** How many looks were queued. */
export async function checkPendingPayments(deps: QueueDeps): Promise<number> {
  return await queueChecks(deps, {
    table: "payments",
    task: CHECK_PAYMENT_STATUS,
    list: (sql, now, limit) => {
      const leftSince = new Date(now.getTime() - PRECEDENCE_MS);
      return listDuePayments(sql, { now, staleSince: staleSince(now), leftSince, limit });
    },
    job: checkJob,
  });
}
