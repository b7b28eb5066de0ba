/** `check_invoice_status`: checks an invoice at the gateway; if it is paid, finds its payment. */

import { findInvoice, type GatewayInvoice } from "../../db/billing/invoices.ts";
import type { GatewayJob } from "../../db/jobs/jobs.ts";
import { isInvoicePaidSince } from "../../db/payments/statements.ts";
import { isTransactionNotFound } from "../gateway/errors.ts";
import { PostponeJob, type Task } from "../jobs/task.ts";
import { adoptTransaction, canAdopt } from "../payments/adopt.ts";
import { stopChecks } from "../records/change.ts";
import { inOneMinute, PROPAGATION_MS } from "../records/check_times.ts";
import type { Service } from "../service.ts";
import { checkAtGateway } from "./check_at_gateway.ts";
import { resendInvoice } from "./create.ts";
import { invoiceKind } from "./invoice_record.ts";
import { gatewayInvoiceId, linkToInvoice } from "./link.ts";
import { canBecome } from "./states.ts";

const SOURCE = "check_invoice_status";

export function createCheckInvoiceStatus(service: Service): Task {
  return {
    retries: 3,
    firstDelayMs: 60_000,
    run: async ({ subject_id, payload }: GatewayJob) =>
      await checkInvoiceStatus(
        service,
        subject_id!,
        (payload.notification_id ?? null) as string | null,
      ),
  };
}

/** The job's result. */
export interface CheckResult {
  status: string;
}

export async function checkInvoiceStatus(
  service: Service,
  id: string,
  notificationId: string | null = null,
): Promise<CheckResult | null> {
  const known = await service.database.query((sql) => findInvoice(sql, id), "find invoice");
  if (!known) return null;
  const { status } = await checkInvoice(service, known, notificationId);
  // A recent payment may not show on the invoice at the gateway yet.
  const now = service.clock();
  const canBePaid = canBecome(status, "paid");
  if (canBePaid && await isPaidSince(service, id, new Date(now - PROPAGATION_MS))) {
    throw new PostponeJob(inOneMinute(now));
  }
  return { status };
}

async function checkInvoice(
  service: Service,
  known: GatewayInvoice,
  notificationId: string | null,
): Promise<GatewayInvoice> {
  if (known.gateway_invoice_id === null) return await finishCreation(service, known);
  if (known.status !== "paid") {
    return (await checkAtGateway(service, known, SOURCE, notificationId)).invoice;
  }
  await findPayment(service, known);
  return known;
}

async function isPaidSince({ database }: Service, id: string, since: Date): Promise<boolean> {
  return await database.query(
    (sql) => isInvoicePaidSince(sql, id, since),
    "find payment of invoice",
  );
}

/** Sends the creation again if the gateway has not answered it and a resend is still safe. */
async function finishCreation(
  service: Service,
  invoice: GatewayInvoice,
): Promise<GatewayInvoice> {
  if (invoice.status !== "pending") return invoice;
  // Without a resend, only a notification can show that the gateway created the invoice.
  return await resendInvoice(service, invoice) ?? await stopChecks(service, invoiceKind, invoice);
}

/**
 * The gateway says that an invoice was paid, but not by which transaction. Usually a notification
 * names the transaction. If the notification was lost, the transaction is requested by the
 * invoice's order id, which the gateway gives to the first transaction of an invoice.
 */
async function findPayment(service: Service, invoice: GatewayInvoice): Promise<void> {
  if (await isPaidSince(service, invoice.id, new Date(0))) return;
  try {
    const { body } = await service.gateway.getStatus(invoice.order_id);
    const isOfInvoice = body.order_id === invoice.order_id &&
      gatewayInvoiceId(body) === invoice.gateway_invoice_id;
    if (!isOfInvoice || !canAdopt(body)) return;
    await adoptTransaction(service, { answer: body, source: SOURCE }, linkToInvoice(invoice));
  } catch (error) {
    if (!isTransactionNotFound(error)) throw error;
  }
}
