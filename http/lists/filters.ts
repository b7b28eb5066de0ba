/** Query parameters by which lists are filtered. */

import { z } from "@hono/zod-openapi";
import { oneOf, text, textLike, time, YEARS_RULE } from "../../core/fields/input.ts";
import { MAX_AMOUNT } from "../../core/money.ts";
import { unsentExample } from "../../openapi/components.ts";

/** A parameter with several values is repeated: `status=pending&status=settlement`. */
export function several<T extends z.ZodType<string, string>>(
  item: T,
  { max, items, description, example }: {
    max: number;
    /** The schema of a value in the document. */
    items: { $ref: string } | { type: "string"; enum?: string[] };
    description: string;
    example: string[];
  },
) {
  return z.union([z.string().transform((sent) => [sent]), z.array(z.string())])
    .transform((sent, context): z.output<T>[] => {
      const values = [...new Set(sent)];
      const problem = values.length > max
        ? `must have at most ${max} values`
        : values.flatMap((value) => item.safeParse(value).error?.issues ?? [])[0]?.message;
      if (problem === undefined) return values as z.output<T>[];
      context.addIssue({ code: "custom", message: problem });
      return z.NEVER;
    }).optional().openapi({
      type: "array",
      items,
      minItems: 1,
      maxItems: max,
      description: `${description} Repeat the parameter for several values.`,
      param: { examples: unsentExample(example) },
    });
}

/** Several of these values. `schema` is their name in the document; null: they have none. */
export function severalOf<const T extends readonly [string, ...string[]]>(
  values: T,
  schema: string | null,
  description: string,
  example: NoInfer<T[number]>[],
) {
  const items = schema === null
    ? { type: "string" as const, enum: [...values] }
    : { $ref: `#/components/schemas/${schema}` };
  return several(oneOf(values), { max: values.length, items, description, example });
}

/**
 * A time. Times before 1970 become 1970: lists are filtered by ids, whose timestamps start there.
 */
export function timeParameter(description: string, example: string) {
  // Not created for each request: the registry of the document keeps every schema.
  const schema = time();
  return z.string("must be sent only once").transform((text, context) => {
    // In a query, a plus sign that is not percent-encoded is a space.
    const parsed = schema.safeParse(text.replace(/ (?=\d\d:\d\d$)/, "+"));
    if (parsed.success) return new Date(Math.max(0, parsed.data.getTime()));
    context.addIssue({
      code: "custom",
      message: parsed.error.issues[0]!.message,
    });
    return z.NEVER;
  }).optional().openapi({
    type: "string",
    format: "date-time",
    description,
    param: { examples: unsentExample(example) },
  });
}

/** The parameters `created_from` and `created_to`. */
export function createdRange(records: string) {
  return {
    created_from: timeParameter(
      `Only ${records} created at or after this time (RFC 3339).`,
      "2026-03-01T00:00:00+07:00",
    ),
    created_to: timeParameter(
      `Only ${records} created before this time (RFC 3339).`,
      "2026-04-01T00:00:00+07:00",
    ),
  };
}

const AMOUNT_RULE = `must be a whole number of rupiah from 1 to ${MAX_AMOUNT}`;

export function amountParameter(description: string) {
  return z.string(AMOUNT_RULE).transform((text, context) => {
    const amount = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : NaN;
    if (amount <= MAX_AMOUNT) return amount;
    context.addIssue({ code: "custom", message: AMOUNT_RULE });
    return z.NEVER;
  }).optional().openapi({
    type: "integer",
    format: "int64",
    minimum: 1,
    maximum: MAX_AMOUNT,
    description,
    param: { examples: unsentExample(150_000) },
  });
}

/** One line of text, which must equal the value of the record. */
export function textParameter(description: string, example: string, max = 255) {
  return text(max).optional().openapi({
    description,
    param: { examples: unsentExample(example) },
  });
}

export function emailParameter(records: string) {
  return textLike(255, /^[^\s@]+@[^\s@]+$/, "must be an email address").optional().openapi({
    description: `Only ${records} of the customer with this email address. Case does not ` +
      "matter.",
    param: { examples: unsentExample("budi@example.com") },
  });
}

/** The parameter `user_id`, for staff and viewers. */
export function userParameter(records: string) {
  return textParameter(
    `For staff and viewers: only ${records} of this user. Other callers get \`forbidden\` for ` +
      "the id of another user.",
    "alice",
  );
}

/** A date without a time, which exists in the calendar, in the years 1970 to 9999. */
export function dateParameter(description: string, example: string) {
  const message = "must be a date such as 2026-12-31";
  return z.string(message).regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/, { message, abort: true })
    // `Date` accepts February 30 and makes it March 2.
    .refine((day) => new Date(`${day}T00:00Z`).toJSON()?.slice(0, 10) === day, {
      message,
      abort: true,
    })
    // PostgreSQL rejects the year 0000. No payment is older than 1970.
    .refine((day) => day >= "1970", YEARS_RULE)
    .optional().openapi({
      type: "string",
      format: "date",
      description,
      param: { examples: unsentExample(example) },
    });
}
