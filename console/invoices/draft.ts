/** The fields of the form that creates an invoice, and how they become the input of the core. */

import type { FieldError } from "../../core/errors.ts";
import { type InvoiceInput, InvoiceInputSchema } from "../../core/invoices/invoice_input.ts";
import type { Form } from "../shared/base.tsx";
import { issuesOf } from "../shared/explain.ts";
import { parseNumber, parsePhone, parseSignedAmount, readText } from "../shared/form_values.ts";

export const TEXT_FIELDS = [
  "customer_name",
  "customer_email",
  "customer_phone",
  "due_date",
  "invoice_number",
  "order_id",
  "notes",
] as const;

export const LINE_FIELDS = ["description", "price", "quantity"] as const;

export interface Line extends Record<(typeof LINE_FIELDS)[number], string> {
  /** Added as a discount: its price is subtracted, also if it is entered without a minus. */
  isDiscount: boolean;
}

/** The values as the user has entered them. */
export interface InvoiceDraft {
  texts: Record<(typeof TEXT_FIELDS)[number], string>;
  lines: Line[];
}

export const MAX_LINES = 30;

const EMPTY_LINE: Line = { description: "", price: "", quantity: "1", isDiscount: false };

/** A discount begins with its name and a minus. */
export function withLine(draft: InvoiceDraft, discountName: string | null = null): InvoiceDraft {
  if (draft.lines.length >= MAX_LINES) return draft;
  const discount = discountName !== null &&
    { description: discountName, price: "-", isDiscount: true };
  return { ...draft, lines: [...draft.lines, { ...EMPTY_LINE, ...discount }] };
}

/** What the lines add up to so far, in whole rupiah. Lines that are not complete count nothing. */
export function totalSoFar({ lines }: InvoiceDraft): bigint {
  return lines.reduce((sum, line) => {
    const factors = [parsePrice(line), parseNumber(line.quantity)];
    const [each, count] = factors.map((value) => typeof value === "number" ? BigInt(value) : 0n);
    return sum + each! * count!;
  }, 0n);
}

export function newDraft(dueDate: string): InvoiceDraft {
  const texts = Object.fromEntries(TEXT_FIELDS.map((name) => [name, ""]));
  const draft = { texts: texts as InvoiceDraft["texts"], lines: [] };
  draft.texts.due_date = dueDate;
  return withLine(draft);
}

function parsePrice({ price, isDiscount }: Line): number | string | undefined {
  const amount = parseSignedAmount(price);
  return isDiscount && typeof amount === "number" && amount > 0 ? -amount : amount;
}

export function lineField(index: number, name: (typeof LINE_FIELDS)[number] | "discount"): string {
  return `items.${index}.${name}`;
}

export function readDraft(form: Form): InvoiceDraft {
  const textOf = (name: string) => readText(form, name);
  const lines: Line[] = [];
  while (lines.length < MAX_LINES && form[lineField(lines.length, "description")] !== undefined) {
    const index = lines.length;
    const entries = LINE_FIELDS.map((name) => [name, textOf(lineField(index, name))]);
    const isDiscount = textOf(lineField(index, "discount")) === "yes";
    lines.push({ ...EMPTY_LINE, ...Object.fromEntries(entries), isDiscount });
  }
  const texts = Object.fromEntries(TEXT_FIELDS.map((name) => [name, textOf(name)]));
  return { texts: texts as InvoiceDraft["texts"], lines };
}

export type ParsedDraft =
  | { input: InvoiceInput; errors: null }
  | { input: null; errors: FieldError[] };

/** Leaves out empty lines. Errors name the lines of the form, not those of the invoice. */
export function parseDraft({ texts, lines }: InvoiceDraft): ParsedDraft {
  const filled = lines.map((line, index) => ({ line, index }))
    .filter(({ line }) => line.description !== "" || line.price !== "");
  const given = Object.entries(texts).filter(([, value]) => value !== "");
  const parsed = InvoiceInputSchema.safeParse({
    ...Object.fromEntries(given),
    ...texts.customer_phone !== "" && { customer_phone: parsePhone(texts.customer_phone) },
    items: filled.map(({ line }) => ({
      ...line.description !== "" && { description: line.description },
      price: parsePrice(line),
      quantity: parseNumber(line.quantity),
    })),
  });
  if (parsed.success) return { input: parsed.data, errors: null };
  const errors = issuesOf(parsed.error).map(({ field, message }) => ({
    field: field.replace(/^items\.(\d+)/, (_, index) => `items.${filled[Number(index)]!.index}`),
    message: isPriceRule(field, message) ? PRICE_RULE : message,
  }));
  return { input: null, errors };
}

/** The limit of the gateway, as the form writes amounts. */
const PRICE_RULE = "must be an amount of at most Rp 99.999.999, such as 75.000";

function isPriceRule(field: string, message: string): boolean {
  return field.endsWith(".price") && message.startsWith("must be a whole number");
}
