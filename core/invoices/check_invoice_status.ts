/** `check_invoice_status`: fetches one invoice's state, and the payment that paid it. */

import { findInvoice, type GatewayInvoice } from "../../db/invoices.ts";
import type { GatewayJob } from "../../db/jobs.ts";
import { hasPaymentOfInvoice } from "../../db/payment_statements.ts";
import { meansUnknown } from "../gateway/errors.ts";
import { PostponeJob, type Task } from "../jobs/task.ts";
import { canBeTakenOver, takeOver } from "../payments/take_over.ts";
import { changeRecord } from "../records/change.ts";
import { SLOWNESS_MS, soon } from "../records/check_times.ts";
import { mayBeSentAgain, sendCreation } from "../records/send_creation.ts";
import type { InvoiceDeps } from "./deps.ts";
import { invoiceKind } from "./kind.ts";
import { invoiceNamedBy, linkTo } from "./link.ts";
import { refreshInvoice } from "./refresh.ts";
import { sendingInvoices } from "./send_invoice.ts";
import { isOpen } from "./states.ts";

const SOURCE = "check_invoice_status";

export function createCheckInvoiceStatus(deps: InvoiceDeps): Task {
  return {
    retries: 3,
    firstDelayMs: 60_000,
    run: async ({ subject_id, payload }: GatewayJob) =>
      await checkInvoiceStatus(
        deps,
        subject_id!,
        (payload.notification_id ?? null) as string | null,
      ),
  };
}

/** What it found, for the job's record. */
export interface Check {
  status: string;
}

export async function checkInvoiceStatus(
  deps: InvoiceDeps,
  id: string,
  notificationId: string | null = null,
): Promise<Check | null> {
  const known = await deps.database.query((sql) => findInvoice(sql, id), "find invoice");
  if (!known) return null;
  const { status } = await look(deps, known, notificationId);
  if (isOpen(status)) await waitForItsPayment(deps, id);
  return { status };
}

async function look(
  deps: InvoiceDeps,
  known: GatewayInvoice,
  notificationId: string | null,
): Promise<GatewayInvoice> {
  if (known.gateway_invoice_id === null) return await finishCreation(deps, known);
  if (known.status !== "paid") return await refreshInvoice(deps, known, SOURCE, notificationId);
  await findItsPayment(deps, known);
  return known;
}

/** What was paid a moment ago, the gateway may not have brought to the invoice yet. */
async function waitForItsPayment(deps: InvoiceDeps, id: string): Promise<void> {
  const now = deps.clock();
  if (await isPaidBy(deps, id, new Date(now - SLOWNESS_MS))) throw new PostponeJob(soon(now));
}

async function isPaidBy({ database }: InvoiceDeps, id: string, since: Date): Promise<boolean> {
  return await database.query(
    (sql) => hasPaymentOfInvoice(sql, id, since),
    "find payment of invoice",
  );
}

/** Its creation was not answered: while that is safe, it is sent again. */
async function finishCreation(
  deps: InvoiceDeps,
  invoice: GatewayInvoice,
): Promise<GatewayInvoice> {
  if (invoice.status !== "pending") return invoice;
  const sending = sendingInvoices(deps);
  if (mayBeSentAgain(invoice, sending, deps.clock())) {
    const again = { asker: { key: null }, isSentBefore: true };
    return await sendCreation(deps, invoiceKind, sending, again, invoice);
  }
  // All that is left is that the gateway tells of it by itself.
  return await changeRecord(
    deps,
    invoiceKind,
    invoice,
    ({ check_at }) => check_at ? { set: { check_at: null } } : null,
  );
}

/**
 * The gateway says that an invoice was paid, but not by what. Mostly that was told by a notification;
 * where that was lost, the first payment on an invoice has its order.
 */
async function findItsPayment(deps: InvoiceDeps, invoice: GatewayInvoice): Promise<void> {
  if (await isPaidBy(deps, invoice.id, new Date(0))) return;
  try {
    const { body } = await deps.gateway.getStatus(invoice.order_id);
    const isItsOwn = body.order_id === invoice.order_id &&
      invoiceNamedBy(body) === invoice.gateway_invoice_id;
    if (!isItsOwn || !canBeTakenOver(body)) return;
    await takeOver(deps, { answer: body, source: SOURCE }, linkTo(invoice));
  } catch (error) {
    if (!meansUnknown(error)) throw error;
  }
}
