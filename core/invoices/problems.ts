/** What went wrong with an invoice, in words for the caller. */

import type { GatewayInvoice } from "../../db/invoices.ts";
import { createProblems } from "../records/problems.ts";

export const problems = createProblems<GatewayInvoice>(
  ({ id, order_id }) => ({ invoice_id: id, order_id }),
  ({ status }) => ({ invoice_status: status }),
);
