/** The job that looks into a call whose end is unknown. */

import type { NewJob } from "../../db/jobs.ts";
import { type JobSubject, newJob } from "../outbox.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";

export const CHECK_PAYMENT_STATUS = "check_payment_status";

export function checkJob(payment: JobSubject, now: Date): NewJob {
  const runAt = new Date(now.getTime() + UNANSWERED_CHECK_MS);
  return newJob(CHECK_PAYMENT_STATUS, payment, { payment_id: payment.id }, { runAt, now });
}
