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
  return textOf(max, /[\p{Cc}\p{Cs}]/u);
}

/** Text of several lines. */
export function note(max: number) {
  return textOf(max, /(?![\n\r\t])[\p{Cc}\p{Cs}]/u);
}

/** One check instead of three: a charge can have 6,000 texts, and each check costs time. */
function textOf(max: number, forbidden: RegExp) {
  const problemOf = (value: string) =>
    value === ""
      ? "must not be empty"
      : isLonger(value, max)
      ? `must be at most ${max} characters`
      : NOT_PRINTABLE_ASCII.test(value) && forbidden.test(value)
      ? "must not contain control characters"
      : null;
  const schema = z.string(must("must be a string")).check(({ value, issues }) => {
    const message = problemOf(value);
    if (message) issues.push({ code: "custom", input: value, message, continue: false });
  });
  return withQuickCheck(
    schema,
    (value) => typeof value === "string" && problemOf(value) === null,
  ).openapi({ minLength: 1, maxLength: max });
}

/** Most texts have none, and this is faster than a class of Unicode characters. */
const NOT_PRINTABLE_ASCII = /[^ -~]/;

/** In Unicode characters, each of which has one or two UTF-16 units. */
function isLonger(value: string, max: number): boolean {
  return value.length > max && (value.length > max * 2 || [...value].length > max);
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
  const message = `must be a whole number from ${min} to ${max}`;
  const schema = z.int(must(message)).check(({ value, issues }) => {
    if (value >= min && value <= max) return;
    issues.push({ code: "custom", input: value, message, continue: false });
  });
  const isValid = (value: unknown) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;
  return withQuickCheck(schema, isValid).openapi({ minimum: min, maximum: max });
}

type IsValid = (value: unknown) => boolean;

/** By the schema's definition, which stays the same when a description is added to the schema. */
const quickChecks = new WeakMap<object, IsValid>();

function withQuickCheck<T extends z.ZodType>(schema: T, isValid: IsValid): T {
  quickChecks.set(schema._zod.def, isValid);
  return schema;
}

type Values = Record<string, unknown>;

/**
 * Returns a function that copies the known members of a valid object, and returns null for any other
 * value. It is ten times as fast as the library, and gives no reasons. Null: the schema is not an object
 * of fields with quick checks.
 */
function quickCopyOf(schema: z.ZodType): ((value: unknown) => Values | null) | null {
  if (!(schema instanceof z.ZodObject)) return null;
  const { shape, checks = [], catchall } = schema._zod.def;
  if (checks.length > 0 || catchall) return null;
  const fields: { name: string; isValid: IsValid; isOptional: boolean }[] = [];
  for (const [name, field] of Object.entries(shape)) {
    const isOptional = field instanceof z.ZodOptional;
    const isValid = quickChecks.get((isOptional ? field.unwrap() : field)._zod.def);
    if (!isValid) return null;
    fields.push({ name, isValid, isOptional });
  }
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    const copy: Values = {};
    for (const { name, isValid, isOptional } of fields) {
      const member = (value as Values)[name];
      if (member === undefined && isOptional && !Object.hasOwn(value, name)) continue;
      if (!isValid(member)) return null;
      copy[name] = member;
    }
    return copy;
  };
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

/** A list that is too long is rejected before its elements are validated. */
export function list<T extends z.ZodType>(item: T, max: number) {
  return z.array(skippedAfterErrors(item), must("must be an array"))
    .min(1, must("must not be empty"))
    .max(max, must(`must have at most ${max} elements`));
}

/** As many invalid elements are described; more would only cost time. */
const MAX_INVALID_ELEMENTS = 20;

/**
 * Validates no more elements after 20 invalid ones, because the errors of an element cost more time
 * than a valid element.
 */
function skippedAfterErrors<T extends z.ZodType>(item: T): T {
  const { run } = item._zod;
  const quickCopy = quickCopyOf(item);
  let invalid = { input: {} as unknown, count: 0 };
  // Not a wrapping schema: the schema of the element must keep its name in the document. The
  // context is one object for the validation of one input.
  item._zod.run = (payload, context) => {
    if (invalid.input !== context) invalid = { input: context, count: 0 };
    if (invalid.count >= MAX_INVALID_ELEMENTS) return payload;
    const copy = quickCopy?.(payload.value);
    if (copy) return { ...payload, value: copy };
    const result = run(payload, context);
    if (!(result instanceof Promise) && result.issues.length > 0) invalid.count++;
    return result;
  };
  return item;
}

/** A JSON object with any content. Not a `z.record`, which would copy every member. */
export function anyObject() {
  const isObject = (value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  return z.custom<Record<string, unknown>>(isObject, must("must be an object"))
    .openapi({ type: "object", additionalProperties: {} });
}

/**
 * Treats null as an omitted field. Does not change `metadata`, which may contain null, or anything
 * deeper than `INPUT_DEPTH`, because a body can be nested arbitrarily deep.
 */
export function omitNulls<T extends z.ZodType>(schema: T) {
  return z.preprocess((body) => withoutNulls(body, INPUT_DEPTH), synchronous(schema));
}

/** No check of a body is asynchronous, and the library validates synchronously in half the time. */
function synchronous<T extends z.ZodType>(schema: T): T {
  const { run } = schema._zod;
  schema._zod.run = (payload, context) => run(payload, { ...context, async: false });
  return schema;
}

/** The deepest fields: `item_details[0].price` and `customer_details.billing_address.city`. */
const INPUT_DEPTH = 3;

/** Copies only what contains a null, because few bodies do. */
function withoutNulls(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return changedElements(value, depth);
  const object = value as Values;
  let copy: Values | null = null;
  for (const name in object) {
    const member = object[name];
    const kept = name === "metadata" ? member : withoutNulls(member, depth - 1);
    if (copy === null && kept === member && member !== null) continue;
    copy ??= membersBefore(object, name);
    // An assignment would set the prototype. No field has this name.
    if (name !== "__proto__" && member !== null) copy[name] = kept;
  }
  return copy ?? object;
}

function membersBefore(object: Values, end: string): Values {
  const copy: Values = {};
  for (const name in object) {
    if (name === end) break;
    if (name !== "__proto__") copy[name] = object[name];
  }
  return copy;
}

function changedElements(list: unknown[], depth: number): unknown[] {
  const changed = list.map((each) => withoutNulls(each, depth - 1));
  return changed.some((each, index) => each !== list[index]) ? changed : list;
}
