/** The fields of the form that creates an invoice, and how they become the input of the core. */

import type { FieldError } from "../../core/errors.ts";
import { type InvoiceInput, InvoiceInputSchema } from "../../core/invoices/invoice_input.ts";
import type { Form } from "../shared/base.tsx";
import { issuesOf } from "../shared/explain.ts";
import { parseNumber, readText } from "../shared/form_values.ts";

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

export type Line = Record<(typeof LINE_FIELDS)[number], string>;

/** The values as the user has entered them. */
export interface InvoiceDraft {
  texts: Record<(typeof TEXT_FIELDS)[number], string>;
  lines: Line[];
}

/** Lines of a new form, and lines that are added at a time. */
export const NEW_LINES = 5;

export const MAX_LINES = 30;

const EMPTY_LINE: Line = { description: "", price: "", quantity: "1" };

export function withLines(draft: InvoiceDraft, count: number): InvoiceDraft {
  const missing = Math.max(0, Math.min(count, MAX_LINES) - draft.lines.length);
  return { ...draft, lines: [...draft.lines, ...Array<Line>(missing).fill(EMPTY_LINE)] };
}

export function newDraft(dueDate: string): InvoiceDraft {
  const texts = Object.fromEntries(TEXT_FIELDS.map((name) => [name, ""]));
  const draft = { texts: texts as InvoiceDraft["texts"], lines: [] };
  draft.texts.due_date = dueDate;
  return withLines(draft, NEW_LINES);
}

export function lineField(index: number, name: keyof Line): string {
  return `items.${index}.${name}`;
}

export function readDraft(form: Form): InvoiceDraft {
  const textOf = (name: string) => readText(form, name);
  const lines: Line[] = [];
  while (lines.length < MAX_LINES && form[lineField(lines.length, "description")] !== undefined) {
    const index = lines.length;
    const entries = LINE_FIELDS.map((name) => [name, textOf(lineField(index, name))]);
    lines.push(Object.fromEntries(entries) as Line);
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
    items: filled.map(({ line: { description, price, quantity } }) => ({
      ...description !== "" && { description },
      price: parseNumber(price),
      quantity: parseNumber(quantity),
    })),
  });
  if (parsed.success) return { input: parsed.data, errors: null };
  const errors = issuesOf(parsed.error).map(({ field, message }) => ({
    field: field.replace(/^items\.(\d+)/, (_, index) => `items.${filled[Number(index)]!.index}`),
    message,
  }));
  return { input: null, errors };
}
