/** `createInvoice`: creates an invoice at the gateway. */

import { v7 as uuidv7 } from "uuid";
import { codeOf, constraintOf, UNIQUE_VIOLATION } from "../../db/connection/database.ts";
import { type GatewayInvoice, INVOICE_NUMBER_INDEX } from "../../db/billing/invoices.ts";
import type { Caller } from "../auth/caller.ts";
import { requireOrderPrefix } from "../auth/order_prefix.ts";
import { invalidField } from "../errors.ts";
import type { Invoice } from "../gateway/responses.ts";
import { dayInWib, endOfDayInWib, formatWib } from "../gateway/times.ts";
import { isKeyUsed, type RequestKey, type RequestResult } from "../idempotency/keys.ts";
import { newId } from "../ids.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import {
  canResend,
  claimRecord,
  create,
  type Creation,
  type RecordClaim,
  sendCreation,
} from "../records/create.ts";
import { generatedOrders } from "../records/generated_orders.ts";
import { actAs } from "../records/record.ts";
import type { Service } from "../service.ts";
import { applyRefusal, applyReport, matchesInvoice } from "./apply_report.ts";
import { discountOf, type InvoiceInput, totalOf } from "./invoice_input.ts";
import { invoiceKind, problems } from "./invoice_record.ts";
import type { InvoiceView } from "./views.ts";

/** For how long the gateway remembers the idempotency key of a creation. */
const RESEND_WINDOW_MS = 5 * 60_000;

export async function createInvoice(
  service: Service,
  caller: Caller,
  input: InvoiceInput,
  requestKey: RequestKey | null,
): Promise<RequestResult<InvoiceView>> {
  const asCaller = actAs(service, caller);
  requireOrderPrefix(caller, input);
  await requireDueDate(asCaller, caller, input, requestKey);
  const claim = await claimInvoice(asCaller, caller, input, requestKey);
  return await create(asCaller, invoiceKind, claim, invoiceCreation(asCaller));
}

function invoiceCreation(service: Service): Creation<GatewayInvoice, Invoice> {
  return {
    resendWindowMs: RESEND_WINDOW_MS,
    isResentByTask: true,
    call: (invoice, options) =>
      service.gateway.createInvoice(invoicePayload(invoice, service.invoicePayments), options),
    answers: matchesInvoice,
    refusal: (invoice, error) =>
      error.statusCode === "409" ? problems.orderIdInUse(invoice, error) : null,
    applyRefusal: (invoice, key) => applyRefusal(service, invoice, key),
    async apply(invoice, answer, key) {
      const report = { answer, source: "create", askedAtVersion: invoice.version, key } as const;
      return (await applyReport(service, invoice, report)).invoice;
    },
  };
}

export function canResendInvoice(invoice: GatewayInvoice, now: number): boolean {
  return canResend(invoice, RESEND_WINDOW_MS, now);
}

/** Sends the creation of a pending invoice again. Null: that is no longer safe. */
export async function resendInvoice(
  service: Service,
  invoice: GatewayInvoice,
): Promise<GatewayInvoice | null> {
  if (!canResendInvoice(invoice, service.clock())) return null;
  const sent = { wasSentBefore: true };
  return await sendCreation(
    service,
    invoiceKind,
    { key: null },
    invoice,
    invoiceCreation(service),
    sent,
  );
}

/** Rejects a past date, except in a retry with a used key: the retry gets the stored reply. */
async function requireDueDate(
  service: Service,
  caller: Caller,
  { due_date }: InvoiceInput,
  requestKey: RequestKey | null,
): Promise<void> {
  const due = endOfDayInWib(due_date);
  if (!due) throw invalidField("due_date", "must be a date such as 2026-12-31");
  if (due.getTime() > service.clock()) return;
  if (requestKey && await isKeyUsed(service, caller, requestKey)) return;
  throw invalidField("due_date", "must be today or later in Western Indonesia Time (UTC+7)");
}

/** Inserts the invoice, or finds the one that an earlier request with the same key inserted. */
async function claimInvoice(
  service: Service,
  caller: Caller,
  input: InvoiceInput,
  requestKey: RequestKey | null,
): Promise<RecordClaim<GatewayInvoice, InvoiceView>> {
  // A new invoice that replaces a failed one gets the same order id and number. The gateway accepts
  // only one invoice for each order id and each number, so it cannot create both.
  const toOrderId = (id: string) => orderIdFrom(id, caller.orderPrefix);
  const orders = generatedOrders(service, caller, requestKey, toOrderId);
  const claim = () =>
    claimRecord(service, invoiceKind, { caller, requestKey }, (failed) => {
      const order_id = input.order_id ?? failed?.order_id ?? orders.current();
      const invoice_number = input.invoice_number ?? failed?.invoice_number;
      return newInvoice({ ...input, order_id, invoice_number }, caller, new Date(service.clock()));
    }, input.order_id === undefined ? orders : null);
  try {
    return await claim();
  } catch (error) {
    if (!isNumberTaken(error)) throw error;
    if (input.invoice_number === undefined) {
      // A generated number is random: try another one, once.
      return await claim();
    }
    throw invalidField(
      "invoice_number",
      "is already used by another invoice; send another number, or omit it",
    );
  }
}

function isNumberTaken(error: unknown): boolean {
  return codeOf(error) === UNIQUE_VIOLATION && constraintOf(error) === INVOICE_NUMBER_INDEX;
}

export function newInvoice(
  input: InvoiceInput,
  { userId, orderPrefix }: Pick<Caller, "userId" | "orderPrefix">,
  now: Date,
): GatewayInvoice {
  const id = newId(now);
  return {
    id,
    user_id: userId,
    invoice_number: input.invoice_number ?? generateNumber(now),
    order_id: input.order_id ?? orderIdFrom(id, orderPrefix),
    gateway_invoice_id: null,
    status: "pending",
    customer_name: input.customer_name,
    customer_email: input.customer_email ?? null,
    customer_phone: input.customer_phone ?? null,
    customer_id: input.customer_id ?? null,
    total_amount: Number(totalOf(input.items)),
    currency: "IDR",
    due_date: input.due_date,
    due_at: endOfDayInWib(input.due_date)!,
    paid_at: null,
    notes: input.notes ?? null,
    void_reason: null,
    payment_link_url: null,
    pdf_url: null,
    metadata: input.metadata ?? null,
    sent_at: now,
    check_at: new Date(now.getTime() + UNANSWERED_CHECK_MS),
    created_by: null,
    event_count: 0,
    version: 0,
    created_at: now,
    updated_at: now,
    items: input.items.map(({ item_id, description, price, quantity }, position) => ({
      id: uuidv7(),
      invoice_id: id,
      position,
      item_id: item_id ?? null,
      description,
      price,
      quantity,
    })),
  };
}

/**
 * The gateway allows 36 characters. The id ends in a letter: a notification signs the order id and
 * the status code as one text, and after digits it would not be clear where the order id ends.
 */
function orderIdFrom(id: string, orderPrefix?: string): string {
  const digits = id.replaceAll("-", "");
  // With a prefix, the 32 hexadecimal digits would be too long; in base 36, they are at most 25.
  return orderPrefix ? `${orderPrefix}${BigInt(`0x${digits}`).toString(36)}-i` : `${digits}-i`;
}

/** Letters and digits that are not mistaken for each other. */
const ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/** The date and random characters. The database makes sure that no number is used twice. */
function generateNumber(now: Date): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  const suffix = Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return `INV-${dayInWib(now).replaceAll("-", "")}-${suffix}`;
}

/** The gateway's request body. It must be the same each time the invoice is sent. */
function invoicePayload(invoice: GatewayInvoice, payments: readonly string[]): object {
  const { customer_id, customer_email, customer_phone, notes } = invoice;
  const discount = Number(discountOf(invoice.items));
  return {
    order_id: invoice.order_id,
    invoice_number: invoice.invoice_number,
    invoice_date: formatWib(invoice.created_at),
    due_date: formatWib(invoice.due_at),
    customer_details: {
      name: invoice.customer_name,
      ...customer_id !== null && { id: customer_id },
      ...customer_email !== null && { email: customer_email },
      ...customer_phone !== null && { phone: customer_phone },
    },
    item_details: invoice.items.filter(({ price }) => price >= 0)
      .map(({ item_id, description, price, quantity }) => ({
        ...item_id !== null && { item_id },
        description,
        price,
        quantity,
      })),
    // The gateway has no items with a negative price, but one discount of the whole invoice.
    ...discount > 0 && { amount: { discount } },
    ...notes !== null && { notes },
    payment_type: "payment_link",
    payment_link: { is_custom_expiry: false, enabled_payments: payments },
    metadata: { invoice_ref: invoice.id },
  };
}
