/** `check_pending_payments`: enqueues a job for each payment whose check is due. */

import { listDuePayments } from "../../db/payments/statements.ts";
import { enqueueChecks } from "../jobs/enqueue_checks.ts";
import { CHECK_PAYMENT_STATUS } from "../jobs/task_names.ts";
import type { Service } from "../service.ts";
import { staleSince } from "./expire_stale_payments.ts";
import { checkPaymentJob } from "./payment_record.ts";

/**
 * A stale payment is left to `expire_stale_payments` at first. If its check is overdue by this
 * much, this sweep enqueues the check.
 */
const EXPIRE_FIRST_MS = 600_000;

/** Returns how many checks were enqueued. */
export async function checkPendingPayments(service: Service): Promise<number> {
  return await enqueueChecks(service, {
    table: "payments",
    task: CHECK_PAYMENT_STATUS,
    list: (sql, now, limit) => {
      const overdueSince = new Date(now.getTime() - EXPIRE_FIRST_MS);
      return listDuePayments(sql, { now, staleSince: staleSince(now), overdueSince, limit });
    },
    job: checkPaymentJob,
  });
}
