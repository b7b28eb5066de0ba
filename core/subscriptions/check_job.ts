/** The job that looks what became of a subscription. */

import type { NewJob } from "../../db/jobs.ts";
import { type JobSubject, newJob } from "../outbox.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import type { Cause } from "../records/kind.ts";

export const CHECK_SUBSCRIPTION_STATUS = "check_subscription_status";

export function checkJob(subscription: JobSubject, now: Date): NewJob {
  const runAt = new Date(now.getTime() + UNANSWERED_CHECK_MS);
  const payload = { subscription_id: subscription.id };
  return newJob(CHECK_SUBSCRIPTION_STATUS, subscription, payload, { runAt, now });
}

/** A payment of it tells news. */
export function lookAtSubscription(
  id: string,
  payment: JobSubject,
  { now, notificationId }: Cause,
): NewJob {
  const subject = { id, user_id: payment.user_id };
  const payload = { subscription_id: id, payment_id: payment.id, notification_id: notificationId };
  return newJob(CHECK_SUBSCRIPTION_STATUS, subject, payload, { runAt: now, now });
}
