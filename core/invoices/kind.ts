/** Invoices as records. */

import { findInvoice, type GatewayInvoice, invoiceWrites } from "../../db/invoices.ts";
import type { Kind } from "../records/kind.ts";
import { checkJob, lookForItsPayment } from "./check_job.ts";
import { problems } from "./problems.ts";
import type { InvoiceStatus } from "./states.ts";
import { type InvoiceView, viewInvoice } from "./views.ts";

export const invoiceKind: Kind<GatewayInvoice, InvoiceView> = {
  resource: "invoice",
  find: findInvoice,
  writing: invoiceWrites,
  view: viewInvoice,
  stateOf: ({ status }) => ({ status, fraud: null }),
  apply: (current, { set, transition }) => ({
    ...current,
    ...set,
    ...transition && { status: transition.to.status as InvoiceStatus },
  }),
  isNews: (before, after) => before.status !== after.status,
  // The gateway says that it was paid, but not by what.
  followUps: (before, after, cause) =>
    before.status !== "paid" && after.status === "paid" ? [lookForItsPayment(after, cause)] : [],
  checkJob,
  problems,
};
