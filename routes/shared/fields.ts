/** What request schemas are made of; each says what is wrong with its value in words for people. */

import { z } from "@hono/zod-openapi";
import { MAX_AMOUNT } from "../../core/money.ts";
import { unsent } from "../../openapi/components.ts";

/** Says that a value is missing, or else what it has to be; one complaint a value is enough. */
function must(be: string) {
  return {
    error: ({ input }: { input?: unknown }) => input === undefined ? "is required" : be,
    abort: true,
  };
}

/** One line of text: neither control characters nor half characters, which no database stores. */
export function text(most: number) {
  return z.string(must("must be text"))
    .min(1, must("must not be empty"))
    .max(most, must(`must have at most ${most} characters`))
    .refine((value) => !/[\p{Cc}\p{Cs}]/u.test(value), must("must not hold control characters"));
}

/** Text of several lines. */
export function note(most: number) {
  return z.string(must("must be text"))
    .min(1, must("must not be empty"))
    .max(most, must(`must have at most ${most} characters`))
    .refine(
      (value) => !/[\p{Cc}\p{Cs}]/u.test(value.replace(/[\n\r\t]/g, "")),
      must("must not hold control characters"),
    );
}

export function email() {
  return text(255).regex(/^[^\s@]+@[^\s@]+$/, must("must be an e-mail address"))
    .openapi({ format: "email", example: "budi@example.com" });
}

/** An address that a browser or a phone can follow, an app's own (`shop://done`) included. */
export function link() {
  return text(2000).refine(URL.canParse, must("must be an address such as https://shop.example/"))
    .openapi({ format: "uri" });
}

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, must(`must be one of ${values.join(", ")}`));
}

export function flag() {
  return z.boolean(must("must be true or false"));
}

export function wholeNumber(least: number, most: number) {
  const be = must(`must be a whole number from ${least} to ${most}`);
  return z.int(be).min(least, be).max(most, be);
}

/** Rupiah to be paid, or paid back. */
export function amount() {
  const tooMuch = `must be at most ${MAX_AMOUNT}`;
  const be = must("must be a whole number above 0");
  return z.int({
    ...be,
    error: (issue) => issue.code === "too_big" ? tooMuch : be.error(issue),
  }).min(1, be).max(MAX_AMOUNT, tooMuch);
}

export function object<const T extends z.ZodRawShape>(shape: T) {
  return z.object(shape, must("must be an object"));
}

export function list<T extends z.ZodType>(item: T, most: number) {
  return z.array(item, must("must be a list"))
    .min(1, must("must not be empty"))
    .max(most, must(`must have at most ${most} entries`));
}

/** An id in a query or a header; in a path what is none is 404, see `pathId`. */
export function anId(description: string) {
  return z.guid("must be an id").toLowerCase().optional().openapi({
    type: "string",
    format: "uuid",
    description,
    param: { examples: unsent("0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5") },
  });
}

/** A JSON object of the caller's own. */
export function anyObject() {
  return z.record(z.string(), z.unknown(), must("must be an object"));
}

/**
 * Reads a body in which null stands for what is left out. `metadata` is the caller's own and stays
 * as it is; so does what lies deeper than any input goes, for a body can be nested without end.
 */
export function nullIsLeftOut<T extends z.ZodType>(schema: T) {
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
