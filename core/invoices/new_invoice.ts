/** An invoice before anybody else knows of it. */

import { v7 as uuidv7 } from "uuid";
import type { GatewayInvoice } from "../../db/invoices.ts";
import { dayInWib, endOfDayInWib } from "../gateway/times.ts";
import { newId } from "../ids.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { type InvoiceInput, totalOf } from "./invoice_input.ts";

export function newInvoice(input: InvoiceInput, userId: string, now: Date): GatewayInvoice {
  const id = newId(now);
  return {
    id,
    user_id: userId,
    invoice_number: input.invoice_number ?? madeUpNumber(now),
    order_id: input.order_id ?? madeUpOrder(id),
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

/** The gateway takes 36 characters; with a letter at its end its signatures have but one reading. */
function madeUpOrder(id: string): string {
  return `${id.replaceAll("-", "")}-i`;
}

/** Letters and digits that nobody takes for each other. */
const ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/** By the day and by chance; that no two are the same the database sees to. */
function madeUpNumber(now: Date): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  const word = Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return `INV-${dayInWib(now).replaceAll("-", "")}-${word}`;
}
