/** `check_pending_payments`: enqueues a check of each payment that is due for one. */

import { listDuePayments } from "../../db/payment_statements.ts";
import { queueChecks, type QueueDeps } from "../jobs/queue_checks.ts";
import { CHECK_PAYMENT_STATUS } from "../jobs/task_names.ts";
import { staleSince } from "./expire_stale_payments.ts";
import { checkPaymentJob } from "./payment_record.ts";

/** Stale payments are left to `expire_stale_payments` for this long. */
const PRECEDENCE_MS = 600_000;

/** Returns how many checks were enqueued. */
export async function checkPendingPayments(deps: QueueDeps): Promise<number> {
  return await queueChecks(deps, {
    table: "payments",
    task: CHECK_PAYMENT_STATUS,
    list: (sql, now, limit) => {
      const leftSince = new Date(now.getTime() - PRECEDENCE_MS);
      return listDuePayments(sql, { now, staleSince: staleSince(now), leftSince, limit });
    },
    job: checkPaymentJob,
  });
}
