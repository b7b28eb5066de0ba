/** Invoices: create, look, void, convert (G§8). */

import { Refusal } from "../http/refusal.ts";
import { object, text, validate } from "../http/validate.ts";
import { payNumber } from "../methods/pay_number.ts";
import { parseTime } from "../world/time.ts";
import type { World } from "../world/world.ts";
import { describeInvoice } from "./describe.ts";
import type { Invoice } from "./invoice.ts";
import { bankOf, BANKS, readRequest } from "./request.ts";
import { total } from "./totals.ts";

export function createInvoice(world: World, body: unknown) {
  const request = readRequest(body);
  for (const each of world.invoices.newest()) {
    if (each.orderId === request.order_id) throw new Refusal(409, "Duplicate order id");
  }
  const documentType = request.document_type ?? "invoice";
  const invoice = world.invoices.put({
    id: world.random.hex(24),
    orderId: request.order_id,
    status: documentType === "invoice" ? "pending" : "published",
    amount: total(request),
    dueAt: parseTime(request.due_date)!,
    createdAt: world.clock.now(),
    paidAt: null,
    documentType,
    convertedAt: null,
    voidReason: null,
    request,
    virtualAccounts: (request.virtual_accounts ?? []).map((account) => {
      const bank = bankOf(account);
      return {
        name: bank,
        bank,
        number: account.number ?? payNumber(world, "", BANKS[bank]!.most),
      };
    }),
  });
  return describeInvoice(world, invoice);
}

export function getInvoice(world: World, id: string) {
  return describeInvoice(world, findInvoice(world, id));
}

const Void = object({ void_reason: text(1000, 0).nullish(), cancel_as: text(20).nullish() });

export function voidInvoice(world: World, id: string, body: unknown) {
  const invoice = findInvoice(world, id);
  const { void_reason, cancel_as } = validate(Void, body ?? {});
  const { status } = invoice;
  const isOpen = invoice.documentType === "quotation"
    ? status === "published"
    : status === "pending" || status === "overdue";
  if (!isOpen) throw new Refusal(409, "Invoice cannot be canceled");
  world.invoices.put({
    ...invoice,
    status: invoice.documentType === "invoice"
      ? "voided"
      : cancel_as === "client"
      ? "rejected"
      : "canceled",
    voidReason: void_reason || null,
  });
  return { success: true };
}

export function convertInvoice(world: World, id: string) {
  const invoice = findInvoice(world, id);
  if (invoice.documentType !== "quotation" || invoice.status !== "published") {
    throw new Refusal(409, "Quotation cannot be converted");
  }
  const converted = world.invoices.put({
    ...invoice,
    documentType: "invoice",
    status: "pending",
    convertedAt: world.clock.now(),
  });
  return describeInvoice(world, converted);
}

export function findInvoice(world: World, id: string): Invoice {
  const invoice = world.invoices.get(id);
  if (!invoice) throw new Refusal(404, "Not Found");
  return invoice;
}

export function becomeOverdue(world: World, invoice: Invoice): void {
  world.invoices.put({ ...invoice, status: "overdue" });
}
