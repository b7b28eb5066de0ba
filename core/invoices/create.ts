/** `createInvoice`: a new invoice, written before the gateway is asked and finished when it answered. */

import { codeOf, constraintOf, UNIQUE_VIOLATION } from "../../db/database.ts";
import { INVOICE_NUMBER, invoiceInserts } from "../../db/invoices.ts";
import type { Caller } from "../auth/caller.ts";
import { invalidField } from "../errors.ts";
import { endOfDayInWib } from "../gateway/times.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import * as keys from "../idempotency/keys.ts";
import { create } from "../records/create.ts";
import { sendingBy } from "../records/send_creation.ts";
import type { InvoiceDeps } from "./deps.ts";
import type { InvoiceInput } from "./invoice_input.ts";
import { invoiceKind } from "./kind.ts";
import { newInvoice } from "./new_invoice.ts";
import { sendingInvoices } from "./send_invoice.ts";
import type { InvoiceView } from "./views.ts";

export async function createInvoice(
  deps: InvoiceDeps,
  caller: Caller,
  input: InvoiceInput,
  attempt: KeyedAttempt | null,
): Promise<Outcome<InvoiceView>> {
  const due = endOfDayInWib(input.due_date);
  if (!due) throw invalidField("due_date", "must be a date such as 2026-12-31");
  if (due.getTime() <= deps.clock() && !(attempt && await keys.isKnown(deps, caller, attempt))) {
    throw invalidField("due_date", "is over; today is the earliest");
  }
  try {
    return await tryCreate(deps, caller, input, attempt);
  } catch (error) {
    const isTaken = codeOf(error) === UNIQUE_VIOLATION && constraintOf(error) === INVOICE_NUMBER;
    if (!isTaken) throw error;
    // One that was made up is made up anew.
    if (input.invoice_number === undefined) return await tryCreate(deps, caller, input, attempt);
    throw invalidField("invoice_number", "is another invoice's");
  }
}

async function tryCreate(
  deps: InvoiceDeps,
  caller: Caller,
  input: InvoiceInput,
  attempt: KeyedAttempt | null,
): Promise<Outcome<InvoiceView>> {
  return await create(deps, caller, attempt, {
    kind: invoiceKind,
    inserting: invoiceInserts,
    draw(now, replaced) {
      // Under the same names as before the gateway can have but one of them.
      const order_id = input.order_id ?? replaced?.order_id;
      const invoice_number = input.invoice_number ?? replaced?.invoice_number;
      return newInvoice({ ...input, order_id, invoice_number }, caller.userId, now);
    },
    ...sendingBy(deps, invoiceKind, sendingInvoices(deps)),
  });
}
