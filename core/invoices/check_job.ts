/** The job that looks what became of an invoice. */

import type { NewJob } from "../../db/jobs.ts";
import { type JobSubject, newJob } from "../outbox.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import type { Cause } from "../records/kind.ts";

export const CHECK_INVOICE_STATUS = "check_invoice_status";

export function checkJob(invoice: JobSubject, now: Date): NewJob {
  const runAt = new Date(now.getTime() + UNANSWERED_CHECK_MS);
  return newJob(CHECK_INVOICE_STATUS, invoice, { invoice_id: invoice.id }, { runAt, now });
}

/** It was paid. */
export function lookForItsPayment(invoice: JobSubject, { now }: Cause): NewJob {
  return { ...checkJob(invoice, now), run_at: now };
}

/** A payment of it tells news. */
export function lookAtInvoice(
  id: string,
  payment: JobSubject,
  { now, notificationId }: Cause,
): NewJob {
  const subject = { id, user_id: payment.user_id };
  const payload = { invoice_id: id, payment_id: payment.id, notification_id: notificationId };
  return newJob(CHECK_INVOICE_STATUS, subject, payload, { runAt: now, now });
}
