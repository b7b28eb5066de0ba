/** Building blocks of request schemas, each with a message that says what a valid value is. */

import { z } from "@hono/zod-openapi";
import { MAX_AMOUNT } from "./money.ts";

/** "is required" for a missing value, else the message. Later checks of the field are skipped. */
function must(message: string) {
  return {
    error: ({ input }: { input?: unknown }) => input === undefined ? "is required" : message,
    abort: true,
  };
}

/** One line of text. Lone surrogates are rejected, too: PostgreSQL cannot store them. */
export function text(max: number) {
  return z.string(must("must be a string"))
    .min(1, must("must not be empty"))
    .max(max, must(`must be at most ${max} characters`))
    .refine((value) => !/[\p{Cc}\p{Cs}]/u.test(value), must("must not contain control characters"));
}

/** Text of several lines. */
export function note(max: number) {
  return z.string(must("must be a string"))
    .min(1, must("must not be empty"))
    .max(max, must(`must be at most ${max} characters`))
    .refine(
      (value) => !/[\p{Cc}\p{Cs}]/u.test(value.replace(/[\n\r\t]/g, "")),
      must("must not contain control characters"),
    );
}

export function email() {
  return text(255).regex(/^[^\s@]+@[^\s@]+$/, must("must be an email address"))
    .openapi({ format: "email", example: "budi@example.com" });
}

/** A URL; custom schemes of mobile apps (`shop://done`) are allowed. */
export function url() {
  return text(2000).refine(URL.canParse, must("must be a URL such as https://shop.example/"))
    .openapi({ format: "uri" });
}

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, must(`must be one of ${values.join(", ")}`));
}

export function flag() {
  return z.boolean(must("must be true or false"));
}

export function wholeNumber(min: number, max: number) {
  const rule = must(`must be a whole number from ${min} to ${max}`);
  return z.int(rule).min(min, rule).max(max, rule);
}

export function orderId(max: number) {
  // The id is part of a gateway path, where "." and ".." would lead to another path.
  return text(max).regex(
    /^(?!\.{1,2}$)[A-Za-z0-9_~.-]+$/,
    "must contain only letters, digits and - _ ~ . and must not be only dots",
  );
}

/** An amount to charge, capture or refund, in rupiah. */
export function amount() {
  const tooLarge = `must be at most ${MAX_AMOUNT}`;
  const rule = must("must be a whole number above 0");
  return z.int({
    ...rule,
    error: (issue) => issue.code === "too_big" ? tooLarge : rule.error(issue),
  }).min(1, rule).max(MAX_AMOUNT, tooLarge);
}

export function object<const T extends z.ZodRawShape>(shape: T) {
  return z.object(shape, must("must be an object"));
}

export function list<T extends z.ZodType>(item: T, max: number) {
  return z.array(item, must("must be an array"))
    .min(1, must("must not be empty"))
    .max(max, must(`must have at most ${max} elements`));
}

/** A JSON object with any content. */
export function anyObject() {
  return z.record(z.string(), z.unknown(), must("must be an object"));
}

/**
 * Treats null as an omitted field. Does not change `metadata`, which may contain null, or anything
 * deeper than `INPUT_DEPTH`, because a body can be nested arbitrarily deep.
 */
export function omitNulls<T extends z.ZodType>(schema: T) {
  return z.preprocess((body) => withoutNulls(body, INPUT_DEPTH), schema);
}

/** The deepest fields: `item_details[0].price` and `customer_details.billing_address.city`. */
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
