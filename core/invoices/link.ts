/** Finds the invoice that a transaction was made for. */

import {
  findInvoiceAtGateway,
  findInvoiceOfOrder,
  type GatewayInvoice,
} from "../../db/invoices.ts";
import type { Invoice, Transaction } from "../gateway/answers.ts";
import { id as idField } from "../gateway/fields.ts";
import { meansNoSuch } from "../gateway/errors.ts";
import type { Link } from "../payments/gate.ts";
import type { RecordDeps } from "../records/deps.ts";
import { hear } from "./gate.ts";
import { isAbout } from "./recognize.ts";

export function linkTo({ id, user_id }: GatewayInvoice): Link {
  return { user_id, invoice_id: id, subscription_id: null };
}

/**
 * By what the gateway itself says of the transaction: the invoice's id there, or its order. Throws a
 * `GatewayError` where that has to be asked for and does not answer.
 */
export async function findInvoiceOf(
  deps: RecordDeps,
  { metadata, order_id }: Transaction,
): Promise<GatewayInvoice | null> {
  const { database } = deps;
  const gatewayId = idField.parse(metadata?.midtrans_invoice_id);
  if (gatewayId === null) {
    return await database.query((sql) => findInvoiceOfOrder(sql, order_id!), "find invoice");
  }
  const known = await database.query(
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
  return (await hear(deps, invoice, hearing)).invoice;
}

async function ask({ gateway }: RecordDeps, gatewayId: string): Promise<Invoice | null> {
  try {
    return (await gateway.getInvoice(gatewayId)).body;
  } catch (error) {
    if (meansNoSuch(error)) return null;
    throw error;
  }
}
