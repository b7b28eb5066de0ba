/** Invoices as records. */

import { findInvoice, type GatewayInvoice, writingInvoices } from "../../db/invoices.ts";
import type { Kind } from "../records/kind.ts";
import { checkJob, findItsPayment } from "./check_job.ts";
import { problems } from "./problems.ts";
import type { InvoiceStatus } from "./states.ts";
import { viewInvoice } from "./views.ts";

export const invoiceKind: Kind<GatewayInvoice> = {
  resource: "invoice",
  find: findInvoice,
  writing: writingInvoices,
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
    before.status !== "paid" && after.status === "paid" ? [findItsPayment(after, cause)] : [],
  checkJob,
  problems,
};
