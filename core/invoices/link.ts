/** Finds the invoice that a transaction was made for. */

import {
  findInvoiceAtGateway,
  findInvoiceOfOrder,
  type GatewayInvoice,
} from "../../db/invoices.ts";
import { insertJobs } from "../../db/jobs.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import { isResourceNotFound } from "../gateway/errors.ts";
import { id as idField } from "../gateway/json.ts";
import type { Invoice, Transaction } from "../gateway/responses.ts";
import type { Link } from "../payments/gate.ts";
import type { RecordDeps } from "../records/deps.ts";
import { lookAtInvoice } from "./check_job.ts";
import { hear } from "./gate.ts";
import { isAbout } from "./recognize.ts";

export function linkTo({ id, user_id }: GatewayInvoice): Link {
  return { user_id, invoice_id: id, subscription_id: null };
}

/** The invoice that the gateway itself says a transaction is of, by its id there. */
export function invoiceNamedBy({ metadata }: Transaction): string | null {
  return idField(metadata?.midtrans_invoice_id);
}

/** Throws a `GatewayError` where the gateway has to be asked for it and does not answer. */
export async function findInvoiceOf(
  deps: RecordDeps,
  answer: Transaction,
): Promise<GatewayInvoice | null> {
  const gatewayId = invoiceNamedBy(answer);
  if (gatewayId === null) return null;
  const known = await deps.database.query(
    (sql) => findInvoiceAtGateway(sql, gatewayId),
    "find invoice",
  );
  return known ?? await findUnanswered(deps, gatewayId);
}

/** One whose creation was never answered may turn out to have been made after all. */
async function findUnanswered(
  deps: RecordDeps,
  gatewayId: string,
): Promise<GatewayInvoice | null> {
  const answer = await ask(deps, gatewayId);
  const order = answer?.order_id;
  if (!answer || !order) return null;
  const invoice = await deps.database.query(
    (sql) => findInvoiceOfOrder(sql, order),
    "find invoice",
  );
  if (!invoice || !isAbout(invoice, answer)) return null;
  const hearing = { answer, source: "notification", askedAt: invoice.version } as const;
  return (await hear(deps, invoice, hearing)).record;
}

async function ask({ gateway }: RecordDeps, gatewayId: string): Promise<Invoice | null> {
  try {
    return (await gateway.getInvoice(gatewayId)).body;
  } catch (error) {
    if (isResourceNotFound(error)) return null;
    throw error;
  }
}

/**
 * By its order alone a transaction is nobody's: order ids are callers' to choose, and others may have
 * used the same elsewhere. It is a reason to look, though.
 */
export async function lookAtInvoiceOfOrder(
  { database, jobQueue, clock }: RecordDeps,
  payment: GatewayPayment,
): Promise<void> {
  if (payment.user_id !== null) return;
  const { order_id } = payment;
  const invoice = await database.query((sql) => findInvoiceOfOrder(sql, order_id), "find invoice");
  if (!invoice) return;
  const cause = { now: new Date(clock()), notificationId: null };
  const look = lookAtInvoice(invoice.id, payment, cause);
  const waiting = await database.query((sql) => insertJobs(sql, [look]), "queue look");
  for (const each of waiting) jobQueue.enqueue(each);
}
