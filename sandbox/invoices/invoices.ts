/** Invoices: create, look, void, convert, and being paid (G§8). */

import { z } from "zod";
import { invalid, Refusal } from "../http/refusal.ts";
import {
  count,
  flag,
  freeObject,
  list,
  object,
  oneOf,
  rupiah,
  text,
  validate,
} from "../http/validate.ts";
import { METHODS } from "../methods/methods.ts";
import { payNumber } from "../methods/pay_number.ts";
import { isFree, startTransaction } from "../transactions/charge.ts";
import type { MethodName } from "../transactions/transaction.ts";
import { parseTime, wibWithOffset } from "../world/time.ts";
import type { World } from "../world/world.ts";
import type { Invoice } from "./invoice.ts";
import { type Priced, taxes, total } from "./totals.ts";

const MOST = 99_999_999;
const MOST_TOTAL = Number.MAX_SAFE_INTEGER;
const time = text(30).refine((value) => parseTime(value) !== null, "format is invalid");

/** How many digits a number of the merchant's choice may have at each bank. */
const BANKS: Record<string, { least: number; most: number }> = {
  bca_va: { least: 11, most: 11 },
  mandiri_bill: { least: 1, most: 12 },
  bni_va: { least: 1, most: 8 },
  bri_va: { least: 1, most: 13 },
  cimb_va: { least: 1, most: 16 },
  permata_va: { least: 10, most: 10 },
};

const Create = object({
  order_id: text(36).regex(/^[\w~.-]+$/, "must have only letters, digits and - _ ~ ."),
  invoice_number: text(40),
  due_date: time,
  invoice_date: time,
  invoice_title: text(20).nullish(),
  invoice_paid_title: text(20).nullish(),
  customer_details: object({
    id: text(36).nullish(),
    name: text(40),
    email: text(255).nullish(),
    phone: text(15).regex(/^[^0]/, "must not start with 0").nullish(),
  }),
  item_details: list(
    object({
      item_id: text(30).nullish(),
      description: text(150),
      quantity: count(1, MOST),
      price: rupiah(0, MOST),
      discount_percentage: z.number("must be a number").min(0, "must be 0 to 100")
        .max(100, "must be 0 to 100").nullish(),
    }),
    100,
  ),
  payment_type: oneOf(["payment_link", "virtual_account"]),
  payment_link: object({
    is_custom_expiry: flag().nullish(),
    enabled_payments: list(text(50), 50),
    callbacks: object({ finish: text(2000).regex(/^https:/, "must be https").nullish() }).nullish(),
    expiry: freeObject(500).nullish(),
    credit_card: freeObject(2000).nullish(),
  }).nullish(),
  virtual_accounts: list(
    object({
      name: text(20).nullish(),
      bank: text(20).nullish(),
      number: text(16).regex(/^\d+$/, "must be numeric digits").nullish(),
    }),
    10,
  ).nullish(),
  amount: object({
    vat: rupiah(0).nullish(),
    discount: rupiah(0, 99_999_999_999).nullish(),
    shipping: rupiah(0, 99_999_999_999).nullish(),
  }).nullish(),
  tax_mode: oneOf(["exclusive", "inclusive"]).nullish(),
  taxes: list(
    object({
      name: text(50),
      type: oneOf(["percentage", "fixed"]),
      value: z.number("must be a number").min(0, "must not be negative").max(MOST, "is too large"),
    }),
    10,
  ).nullish(),
  reference: text(90, 0).nullish(),
  notes: text(1000, 0).nullish(),
  document_type: oneOf(["invoice", "quotation"]).nullish(),
  quotation_date: time.nullish(),
  quotation_validity_date: time.nullish(),
  metadata: freeObject(4096).nullish(),
});

export function createInvoice(world: World, body: unknown) {
  const request = validate(Create, body);
  const amount = total(request as Priced);
  const problems = [
    ...request.item_details.length > 0 ? [] : ["item must not be empty"],
    ...request.payment_type === "payment_link" && !request.payment_link
      ? ["payment_link is required"]
      : [],
    ...request.payment_type === "virtual_account" && !request.virtual_accounts?.length
      ? ["virtual_accounts is required"]
      : [],
    ...request.tax_mode === "inclusive" && !request.taxes?.length ? ["taxes is required"] : [],
    ...request.amount?.vat && request.taxes ? ["vat and taxes exclude each other"] : [],
    ...(request.virtual_accounts ?? []).flatMap(checkAccount),
    ...amount > 0 ? [] : ["gross_amount must be more than 0"],
    ...amount > MOST_TOTAL ? ["gross_amount is too large"] : [],
    ...parseTime(request.due_date)! > parseTime(request.invoice_date)!
      ? []
      : ["due_date must be after invoice_date"],
  ];
  if (problems.length > 0) throw invalid(...problems);
  for (const each of world.invoices.newest()) {
    if (each.orderId === request.order_id) throw new Refusal(409, "Duplicate order id");
  }
  const documentType = request.document_type ?? "invoice";
  const invoice = world.invoices.put({
    id: world.random.hex(24),
    orderId: request.order_id,
    status: documentType === "invoice" ? "pending" : "published",
    amount,
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

interface Account {
  name?: string | null;
  bank?: string | null;
  number?: string | null;
}

/** The gateway's table calls it one thing, its samples the other. */
function bankOf({ bank, name }: Account): string {
  return bank ?? name ?? "";
}

function checkAccount(account: Account): string[] {
  const bank = bankOf(account);
  if (!Object.hasOwn(BANKS, bank)) return ["virtual_accounts.bank is not supported"];
  const { least, most } = BANKS[bank]!;
  const digits = account.number?.length ?? most;
  if (digits >= least && digits <= most) return [];
  return [`virtual_accounts.number of ${bank} must have ${least} to ${most} digits`];
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

/** Requests of the payment page, by the method that the customer chooses there. */
const PAYABLE_BY: Partial<Record<MethodName, Record<string, unknown>>> = {
  bank_transfer: { bank_transfer: { bank: "bca" } },
  echannel: { echannel: { bill_info1: "Payment", bill_info2: "Invoice" } },
  gopay: {},
  shopeepay: {},
  qris: {},
  cstore: { cstore: { store: "indomaret" } },
};

export const INVOICE_METHODS = Object.keys(PAYABLE_BY) as MethodName[];

/** A customer follows the invoice's link and chooses how to pay. */
export function startPayment(world: World, id: string, method: MethodName) {
  const invoice = findInvoice(world, id);
  if (!["pending", "overdue"].includes(invoice.status)) {
    throw new Refusal(409, "Invoice cannot be paid");
  }
  const own = PAYABLE_BY[method];
  if (!own) throw invalid("payment_type is not supported");
  // A second try while the first can still be paid is a transaction of its own.
  const isFirst = isFree(world, invoice.orderId);
  const order_id = isFirst ? invoice.orderId : `${invoice.orderId}-${world.random.digits(10)}`;
  const request = {
    ...own,
    payment_type: method,
    transaction_details: { order_id, gross_amount: invoice.amount },
    metadata: { midtrans_invoice_id: invoice.id },
  };
  return startTransaction(world, METHODS[method], request, {
    cause: "invoice",
    invoiceId: invoice.id,
  }).transaction;
}

function describeInvoice(world: World, invoice: Invoice) {
  const { id, request, status, amount, documentType } = invoice;
  const url = world.publicUrl();
  return {
    ...request,
    id,
    status,
    document_type: documentType,
    gross_amount: amount,
    published_date: wibWithOffset(invoice.createdAt),
    pdf_url: `${url}/invoices/${id}.pdf`,
    ...invoice.paidAt !== null && { paid_pdf_url: `${url}/invoices/${id}.pdf?paid` },
    ...request.payment_type === "payment_link" && {
      payment_link_url: `${url}/payment-links/${id}`,
    },
    virtual_accounts: invoice.virtualAccounts,
    ...request.taxes !== undefined && { taxes: taxes(request as unknown as Priced) },
    ...invoice.voidReason !== null && { void_reason: invoice.voidReason },
    ...invoice.convertedAt !== null && {
      converted_at: wibWithOffset(invoice.convertedAt),
      created_as: "quotation",
    },
  };
}
