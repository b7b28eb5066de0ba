/** `getInvoiceStatus`: an invoice as the gateway sees it now. */

import type { Caller } from "../auth/caller.ts";
import type { RecordDeps } from "../records/deps.ts";
import { findOwn } from "../records/read.ts";
import { invoiceKind } from "./kind.ts";
import { problems } from "./problems.ts";
import { refreshInvoice } from "./refresh.ts";
import { type InvoiceView, viewInvoice } from "./views.ts";

export async function getInvoiceStatus(
  deps: RecordDeps,
  caller: Caller,
  id: string,
): Promise<InvoiceView> {
  const known = await findOwn(deps, invoiceKind, caller, id);
  return await problems.asking(
    known,
    "refused",
    async () => viewInvoice(await refreshInvoice(deps, known, "get_invoice_status")),
  );
}
