/** Building blocks of request schemas. Each reports one validation message per value. */

import { z } from "@hono/zod-openapi";
import { MAX_AMOUNT } from "../../core/money.ts";
import { unsentExample } from "../../openapi/components.ts";

/** Reports a missing value as required, any other with `message`, and skips further checks. */
function must(message: string) {
  return {
    error: ({ input }: { input?: unknown }) => input === undefined ? "is required" : message,
    abort: true,
  };
}

/** One line of text. PostgreSQL cannot store NUL or lone surrogates. */
export function text(most: number) {
  return z.string(must("must be a string"))
    .min(1, must("must not be empty"))
    .max(most, must(`must have at most ${most} characters`))
    .refine((value) => !/[\p{Cc}\p{Cs}]/u.test(value), must("must not contain control characters"));
}

/** Text that may contain line breaks and tabs. */
export function note(most: number) {
  return z.string(must("must be a string"))
    .min(1, must("must not be empty"))
    .max(most, must(`must have at most ${most} characters`))
    .refine(
      (value) => !/[\p{Cc}\p{Cs}]/u.test(value.replace(/[\n\r\t]/g, "")),
      must("must not contain control characters"),
    );
}

export function email() {
  return text(255).regex(/^[^\s@]+@[^\s@]+$/, must("must be an email address"))
    .openapi({ format: "email", example: "budi@example.com" });
}

/** A URL that a browser or phone can open, including an app's own scheme (`shop://done`). */
export function link() {
  return text(2000).refine(URL.canParse, must("must be a URL such as https://shop.example/"))
    .openapi({ format: "uri" });
}

/** The merchant's order id. */
export function orderId(most: number) {
  // The gateway has the order id in its paths, where `.` and `..` would be resolved away.
  return text(most).regex(
    /^(?!\.{1,2}$)[A-Za-z0-9_~.-]+$/,
    "may contain only letters, digits, - _ ~ and ., and must not be . or ..",
  );
}

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, must(`must be one of ${values.join(", ")}`));
}

export function flag() {
  return z.boolean(must("must be true or false"));
}

export function wholeNumber(least: number, most: number) {
  const rule = must(`must be a whole number from ${least} to ${most}`);
  return z.int(rule).min(least, rule).max(most, rule);
}

/** An amount in rupiah. */
export function amount() {
  const tooMuch = `must be at most ${MAX_AMOUNT}`;
  const rule = must("must be a whole number greater than 0");
  return z.int({
    ...rule,
    error: (issue) => issue.code === "too_big" ? tooMuch : rule.error(issue),
  }).min(1, rule).max(MAX_AMOUNT, tooMuch);
}

export function object<const T extends z.ZodRawShape>(shape: T) {
  return z.object(shape, must("must be an object"));
}

export function list<T extends z.ZodType>(item: T, most: number) {
  return z.array(item, must("must be an array"))
    .min(1, must("must not be empty"))
    .max(most, must(`must have at most ${most} items`));
}

/** An optional id in a query or a header. For an id in a path see `pathId`. */
export function optionalId(description: string) {
  return z.guid("must be a UUID").toLowerCase().optional().openapi({
    type: "string",
    format: "uuid",
    description,
    param: { examples: unsentExample("0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5") },
  });
}

/** Any JSON object. */
export function anyObject() {
  return z.record(z.string(), z.unknown(), must("must be an object"));
}

/**
 * Removes null members before validation, so that null means absent. Leaves `metadata` alone, which
 * belongs to the caller, and values below `INPUT_DEPTH`, because a body can be nested arbitrarily.
 */
export function dropNulls<T extends z.ZodType>(schema: T) {
  return z.preprocess((body) => withoutNulls(body, INPUT_DEPTH), schema);
}

/** As deep as `item_details[0].price` and `customer_details.billing_address.city`. */
const INPUT_DEPTH = 3;

function withoutNulls(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => withoutNulls(each, depth - 1));
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(
    members.map(([name, member]) => [
      name,
      name === "metadata" ? member : withoutNulls(member, depth - 1),
    ]),
  );
}
