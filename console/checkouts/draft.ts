/** The fields of the form that creates a checkout, and how they become the input of the core. */

import { METHOD_IDS, type MethodId } from "../../core/checkouts/methods.ts";
import { type CheckoutInput, CheckoutInputSchema } from "../../core/checkouts/schema.ts";
import type { FieldError } from "../../core/errors.ts";
import type { Form } from "../shared/base.tsx";
import { issuesOf } from "../shared/explain.ts";
import { parseAmount, readText } from "../shared/form_values.ts";

const CUSTOMER_FIELDS = ["first_name", "last_name", "email", "phone"] as const;

/** Named like the members of the request, so that errors name them, too. */
export const TEXT_FIELDS = [
  "gross_amount",
  "order_id",
  "expires_at",
  ...CUSTOMER_FIELDS.map((name) => `customer_details.${name}` as const),
  "language",
  "finish_url",
  "cancel_url",
] as const;

export type TextField = (typeof TEXT_FIELDS)[number];

/** The values as the user has entered them. */
export interface CheckoutDraft {
  texts: Record<TextField, string>;
  /** None: every method that can work. */
  methods: MethodId[];
}

/** Each method has a field of its own, because a form here has one value for each name. */
export function methodField(id: MethodId): string {
  return `enabled_payments.${id}`;
}

export function readDraft(form: Form): CheckoutDraft {
  const texts = Object.fromEntries(TEXT_FIELDS.map((name) => [name, readText(form, name)]));
  return {
    texts: texts as CheckoutDraft["texts"],
    methods: METHOD_IDS.filter((id) => form[methodField(id)] !== undefined),
  };
}

export type ParsedDraft =
  | { input: CheckoutInput; errors: null }
  | { input: null; errors: FieldError[] };

/** Leaves out empty fields. */
export function parseDraft({ texts, methods }: CheckoutDraft): ParsedDraft {
  const textOf = (name: TextField) => texts[name] === "" ? undefined : texts[name];
  const customer = CUSTOMER_FIELDS.map((name) => [name, textOf(`customer_details.${name}`)])
    .filter(([, value]) => value !== undefined);
  const parsed = CheckoutInputSchema.safeParse({
    gross_amount: parseAmount(texts.gross_amount),
    order_id: textOf("order_id"),
    expires_at: parseTime(texts.expires_at),
    customer_details: customer.length > 0 ? Object.fromEntries(customer) : undefined,
    enabled_payments: methods.length > 0 ? methods : undefined,
    language: textOf("language"),
    finish_url: textOf("finish_url"),
    cancel_url: textOf("cancel_url"),
  });
  if (parsed.success) return { input: parsed.data, errors: null };
  return { input: null, errors: issuesOf(parsed.error) };
}

/** A field for a time has the time in Jakarta, without seconds and without a zone. */
function parseTime(text: string): string | undefined {
  if (text === "") return undefined;
  return /^[\d-]+T\d\d:\d\d$/.test(text) ? `${text}:00+07:00` : text;
}
