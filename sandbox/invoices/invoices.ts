/** Invoices: create, read, void, convert; and payments from an invoice's payment page. */

import { isOrderIdFree, startTransaction } from "../charges/charge.ts";
import { METHODS } from "../charges/methods/methods.ts";
import { choosePayNumber } from "../charges/methods/pay_by_number.ts";
import { first } from "../engine/store.ts";
import { formatWibWithOffset, parseTime } from "../engine/time.ts";
import { invalid, Refusal } from "../http/refusal.ts";
import { object, text, validate } from "../http/validate.ts";
import type { Invoice } from "../world/records.ts";
import type { MethodName } from "../world/transaction.ts";
import type { Identity, World } from "../world/world.ts";
import { bankOf, BANKS, parseRequest } from "./request.ts";
import { taxes, total } from "./totals.ts";

export function createInvoice(world: World, body: unknown) {
  const request = parseRequest(body);
  if (first(world.invoices.find(`order:${request.order_id}`))) {
    throw new Refusal(409, "Duplicate order id");
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
        number: account.number ?? choosePayNumber(world, "", BANKS[bank]!.max),
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

export function markOverdue(world: World, invoice: Invoice): void {
  world.invoices.put({ ...invoice, status: "overdue" });
}

/** For each method that the payment page offers, its own fields in the charge request. */
const PAYABLE_BY: Partial<Record<MethodName, Record<string, unknown>>> = {
  bank_transfer: { bank_transfer: { bank: "bca" } },
  echannel: { echannel: { bill_info1: "Payment", bill_info2: "Invoice" } },
  gopay: {},
  shopeepay: {},
  qris: {},
  cstore: { cstore: { store: "indomaret" } },
};

export const INVOICE_METHODS = Object.keys(PAYABLE_BY) as MethodName[];

/** Starts the transaction after the customer has chosen a method on the payment page. */
export function startInvoicePayment(world: World, id: string, method: MethodName) {
  const invoice = findInvoice(world, id);
  if (!["pending", "overdue"].includes(invoice.status)) {
    throw new Refusal(409, "Invoice cannot be paid");
  }
  const methodFields = PAYABLE_BY[method];
  if (!methodFields) throw invalid("payment_type is not supported");
  // If an earlier attempt still uses the order id of the invoice, this attempt gets another one.
  const isFirst = isOrderIdFree(world, invoice.orderId);
  const order_id = isFirst ? invoice.orderId : `${invoice.orderId}-${world.random.digits(10)}`;
  const request = {
    ...methodFields,
    payment_type: method,
    transaction_details: { order_id, gross_amount: invoice.amount },
    metadata: { midtrans_invoice_id: invoice.id },
  };
  return startTransaction(world, METHODS[method], request, {
    cause: "invoice",
    invoiceId: invoice.id,
  }).transaction;
}

function describeInvoice(world: Identity, invoice: Invoice) {
  const { id, request, status, amount, documentType } = invoice;
  const url = world.publicUrl();
  return {
    ...request,
    id,
    status,
    document_type: documentType,
    gross_amount: amount,
    published_date: formatWibWithOffset(invoice.createdAt),
    pdf_url: `${url}/invoices/${id}.pdf`,
    ...invoice.paidAt !== null && { paid_pdf_url: `${url}/invoices/${id}.pdf?paid` },
    ...request.payment_type === "payment_link" && {
      payment_link_url: `${url}/payment-links/${id}`,
    },
    virtual_accounts: invoice.virtualAccounts,
    ...request.taxes !== undefined && { taxes: taxes(request) },
    ...invoice.voidReason !== null && { void_reason: invoice.voidReason },
    ...invoice.convertedAt !== null && {
      converted_at: formatWibWithOffset(invoice.convertedAt),
      created_as: "quotation",
    },
  };
}
