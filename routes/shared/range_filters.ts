/** Query parameters of lists: several values, a range of time, a range of amounts. */

import { z } from "@hono/zod-openapi";
import { list, oneOf, time } from "../../core/input_fields.ts";
import { MAX_AMOUNT } from "../../core/money.ts";
import { unsentExample } from "../../openapi/components.ts";

/** A parameter that can be repeated: the list contains items with any of the values. */
export function anyOf<const T extends readonly string[]>(
  values: T,
  description: string,
  example: T[number],
) {
  return z.preprocess(
    (sent) => typeof sent === "string" ? [sent] : sent,
    list(oneOf(values), values.length).optional(),
  ).openapi({
    type: "array",
    items: { type: "string", enum: [...values] },
    description: `${description} Repeat the parameter for several values.`,
    param: { examples: unsentExample([example]) },
  });
}

/** `created_from` and `created_to`. `items` names the listed items, such as "refunds". */
export function createdRange(items: string) {
  return {
    created_from: timeFilter(
      `Only ${items} created at or after this time (RFC 3339).`,
      "2026-03-05T00:00:00Z",
    ),
    created_to: timeFilter(
      `Only ${items} created before this time (RFC 3339).`,
      "2026-03-06T00:00:00Z",
    ),
  };
}

/** Times before 1970 become 1970: lists are filtered by ids, too, whose timestamps start there. */
function timeFilter(description: string, example: string) {
  return time().transform((time) => new Date(Math.max(0, time.getTime()))).optional().openapi({
    type: "string",
    format: "date-time",
    description,
    param: { examples: unsentExample(example) },
  });
}

const AMOUNT_RULE = `must be a whole number from 1 to ${MAX_AMOUNT}`;

/** An amount in rupiah. */
export function amountFilter(description: string, example: number) {
  return z.string(AMOUNT_RULE).regex(/^[1-9]\d{0,15}$/, AMOUNT_RULE).transform(Number)
    .refine((amount) => amount <= MAX_AMOUNT, AMOUNT_RULE).optional().openapi({
      type: "integer",
      format: "int64",
      minimum: 1,
      maximum: MAX_AMOUNT,
      description,
      param: { examples: unsentExample(example) },
    });
}
