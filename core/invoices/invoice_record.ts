/** Invoices as records: how they are stored and followed up, and their problem documents. */

import { fixedNames } from "../../db/records/columns.ts";
import {
  findInvoice,
  type GatewayInvoice,
  INVOICE_COLUMNS,
  invoiceInserts,
  invoiceWrites,
} from "../../db/billing/invoices.ts";
import type { NewJob } from "../../db/jobs/jobs.ts";
import { CHECK_INVOICE_STATUS } from "../jobs/task_names.ts";
import { isAmount } from "../money.ts";
import { type JobSubject, newJob } from "../records/new_job.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { createProblems } from "../records/problems.ts";
import { type CreatedKind, findReset } from "../records/record.ts";
import { canBecome, type InvoiceStatus } from "./states.ts";
import { type InvoiceView, shownOf, viewInvoice } from "./views.ts";

export const problems = createProblems<GatewayInvoice>(
  ({ id, order_id }) => ({ invoice_id: id, order_id }),
  ({ status }) => ({ invoice_status: status }),
);

/** A job that checks the invoice in a minute, for example after a call with an unknown outcome. */
export function checkInvoiceLaterJob(invoice: JobSubject, now: Date): NewJob {
  const runAt = new Date(now.getTime() + UNANSWERED_CHECK_MS);
  return newJob(CHECK_INVOICE_STATUS, invoice, { invoice_id: invoice.id }, { runAt, now });
}

export const invoiceKind: CreatedKind<GatewayInvoice, InvoiceView> = {
  resource: "invoice",
  find: findInvoice,
  inserts: invoiceInserts,
  writes: invoiceWrites,
  view: viewInvoice,
  shownOf,
  stateOf: ({ status }) => ({ status, fraud: null }),
  fixed: fixedNames(INVOICE_COLUMNS),
  findViolation,
  apply: (current, { set, transition }) => ({
    ...current,
    ...set,
    ...transition && { status: transition.to.status as InvoiceStatus },
  }),
  belongsInHistory: (before, after) => before.status !== after.status,
  followUps(before, after, { now }) {
    // The gateway says that an invoice was paid, but not by which transaction: a check finds it.
    const isPaidNow = before.status !== "paid" && after.status === "paid";
    return isPaidNow ? [{ ...checkInvoiceLaterJob(after, now), run_at: now }] : [];
  },
  checkJob: checkInvoiceLaterJob,
  problems,
};

function findViolation(invoice: GatewayInvoice, before: GatewayInvoice | null): string | null {
  const { total_amount, status, paid_at } = invoice;
  if (!isAmount(total_amount)) return `total_amount cannot be ${total_amount}`;
  if (status === "paid" && paid_at === null) return "it is paid, but has no paid_at";
  if (!before) return null;
  if (status !== before.status && !canBecome(before.status, status)) {
    return `its status cannot go from ${before.status} to ${status}`;
  }
  return findReset(invoice, before, ["gateway_invoice_id", "paid_at"]);
}
