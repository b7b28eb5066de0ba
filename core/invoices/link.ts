/** Finds the invoice that a transaction was made for. */

import {
  findInvoiceByGatewayId,
  findInvoiceOfOrder,
  type GatewayInvoice,
} from "../../db/billing/invoices.ts";
import { insertJobs } from "../../db/jobs/jobs.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import { isResourceNotFound } from "../gateway/errors.ts";
import { id as idField } from "../gateway/json.ts";
import type { Invoice, Transaction } from "../gateway/responses.ts";
import type { Link } from "../payments/adopt.ts";
import { checkInvoiceJob } from "../payments/payment_record.ts";
import type { Service } from "../service.ts";
import { applyReport, matchesInvoice } from "./apply_report.ts";

export function linkToInvoice({ id, user_id }: GatewayInvoice): Link {
  return { user_id, invoice_id: id, subscription_id: null, checkout_id: null };
}

/** The gateway's id of the invoice to which, according to the gateway, the transaction belongs. */
export function gatewayInvoiceId({ metadata }: Transaction): string | null {
  return idField(metadata?.midtrans_invoice_id);
}

/**
 * Throws a `GatewayError` if it has to ask the gateway for the invoice and gets no usable response.
 */
export async function findInvoiceLink(
  service: Service,
  answer: Transaction,
): Promise<Link | null> {
  const gatewayId = gatewayInvoiceId(answer);
  if (gatewayId === null) return null;
  const known = await service.database.query(
    (sql) => findInvoiceByGatewayId(sql, gatewayId),
    "find invoice",
  );
  const invoice = known ?? await findUnanswered(service, gatewayId);
  return invoice && linkToInvoice(invoice);
}

/** Finds an invoice that the gateway created although it did not answer the request for it. */
async function findUnanswered(
  service: Service,
  gatewayId: string,
): Promise<GatewayInvoice | null> {
  const answer = await requestInvoice(service, gatewayId);
  const order = answer?.order_id;
  if (!answer || !order) return null;
  const invoice = await service.database.query(
    (sql) => findInvoiceOfOrder(sql, order),
    "find invoice",
  );
  if (!invoice || !matchesInvoice(invoice, answer)) return null;
  const report = { answer, source: "notification", askedAtVersion: invoice.version } as const;
  return (await applyReport(service, invoice, report)).invoice;
}

/** Null: the gateway has no such invoice. */
async function requestInvoice({ gateway }: Service, gatewayId: string): Promise<Invoice | null> {
  try {
    return (await gateway.getInvoice(gatewayId)).body;
  } catch (error) {
    if (isResourceNotFound(error)) return null;
    throw error;
  }
}

/**
 * If the payment has no owner, enqueues a check of the invoice with the same order id. The order id
 * alone does not link them: callers choose order ids, and other systems may use the same order ids.
 */
export async function checkInvoiceOfOrder(
  { database, jobQueue, clock }: Service,
  payment: GatewayPayment,
): Promise<void> {
  if (payment.user_id !== null) return;
  const { order_id } = payment;
  const invoice = await database.query((sql) => findInvoiceOfOrder(sql, order_id), "find invoice");
  if (!invoice) return;
  const cause = { now: new Date(clock()), notificationId: null };
  const check = checkInvoiceJob(invoice.id, payment, cause);
  const waiting = await database.query((sql) => insertJobs(sql, [check]), "enqueue check");
  for (const job of waiting) jobQueue.enqueue(job);
}
