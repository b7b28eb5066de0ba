/** Building blocks of request schemas, each with a message that says what a valid value is. */

import { z } from "@hono/zod-openapi";
import { closest, distance } from "fastest-levenshtein";
import { MAX_AMOUNT } from "../money.ts";

/** The largest JSON body of a request, and of a notification. */
export const MAX_BODY_BYTES = 256 * 1024;

/** The error is "is required" if the value is missing, else `message`. It skips later checks. */
function must(message: string) {
  return {
    error: ({ input }: { input?: unknown }) => input === undefined ? "is required" : message,
    abort: true,
  };
}

/** One line of text. Lone surrogates are rejected, too: PostgreSQL cannot store them. */
export function text(max: number) {
  return textOf(max, CONTROL_CHARACTERS).openapi({ minLength: 1, pattern: ONE_LINE });
}

const CONTROL_CHARACTERS = /[\p{Cc}\p{Cs}]/u;

// For the OpenAPI document: the same rule without Unicode classes, which some languages lack.
const ONE_LINE = "^[^\\x00-\\x1f\\x7f-\\x9f]*$";
const SEVERAL_LINES = "^[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]*$";

/** One line of text that matches a regular expression, which the OpenAPI document shows. */
export function textLike(max: number, format: RegExp, message: string) {
  return textOf(max, CONTROL_CHARACTERS).regex(format, must(message)).openapi({ minLength: 1 });
}

/** Like `textLike`, for text that may be omitted. The expression must also match empty text. */
export function optionalTextLike(max: number, format: RegExp, message: string) {
  return optionalIfEmpty(textOf(max, CONTROL_CHARACTERS).regex(format, must(message)));
}

/** One line of text that may be omitted. */
export function optionalText(max: number) {
  return optionalIfEmpty(textOf(max, CONTROL_CHARACTERS).openapi({ pattern: ONE_LINE }));
}

/** Text that may have several lines, and may be omitted. */
export function optionalNote(max: number) {
  const note = textOf(max, /(?![\n\r\t])[\p{Cc}\p{Cs}]/u);
  return optionalIfEmpty(note.openapi({ pattern: SEVERAL_LINES }));
}

/** Empty text counts as omitted, because forms send it for a field that was not filled in. */
export function optionalIfEmpty<T extends z.ZodType<string, string>>(schema: T) {
  const { run } = schema._zod;
  // Changes the schema instead of wrapping it: a charge can have 6,000 texts, and each wrapper
  // costs time.
  schema._zod.run = (payload, context) => {
    if (payload.value !== "") return run(payload, context);
    return { ...payload, value: undefined };
  };
  return schema.optional();
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
  ).openapi({ maxLength: max });
}

/** Tested first, because most texts do not match and a test for Unicode classes is slower. */
const NOT_PRINTABLE_ASCII = /[^ -~]/;

/** Counts Unicode characters; `value.length` counts UTF-16 units, one or two per character. */
function isLonger(value: string, max: number): boolean {
  return value.length > max && (value.length > max * 2 || [...value].length > max);
}

export function email() {
  return textLike(255, /^[^\s@]+@[^\s@]+$/, "must be an email address")
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
  return withQuickCheck(schema, isValid).openapi({
    minimum: min,
    maximum: max,
    ...max > MAX_INT32 && { format: "int64" },
  });
}

/** Generated clients use 32 bits for integers without a format. */
const MAX_INT32 = 2 ** 31 - 1;

/** The end of the years that PostgreSQL and the gateway accept: later years have five digits. */
export const END_OF_TIMES = new Date(Date.UTC(10_000, 0, 1));

export const YEARS_RULE = "must be in the years 1970 to 9999";

/**
 * A time as in RFC 3339, which also allows lower-case letters and leap seconds. Times before 1970
 * are allowed; the caller of this function must handle them.
 */
export function time() {
  const message = "must be a time such as 2026-12-31T09:00:00Z";
  return z.string(must(message)).transform((text, context) => {
    const time = parseTime(text);
    if (time && time < END_OF_TIMES) return time;
    context.addIssue({ code: "custom", message: time ? YEARS_RULE : message });
    return z.NEVER;
  }).openapi({ type: "string", format: "date-time" });
}

const TIME = /^(\d{4}-\d\d-\d\d)t(\d\d:\d\d):(\d\d)(\.\d{1,9})?(z|[+-]\d\d:\d\d)$/i;

function parseTime(text: string): Date | null {
  const [, day, minute, second, fraction = "", zone] = TIME.exec(text) ?? [];
  // `Date` accepts February 30 and makes it March 2.
  if (!day || new Date(`${day}T00:00Z`).toJSON()?.slice(0, 10) !== day) return null;
  const isLeapSecond = second === "60";
  const time = Date.parse(
    `${day}T${minute}:${isLeapSecond ? "59" : second}${fraction}${zone!.toUpperCase()}`,
  );
  return Number.isNaN(time) ? null : new Date(isLeapSecond ? time + 1000 : time);
}

type IsValid = (value: unknown) => boolean;

/** The key is the schema's definition, which stays the same when a description is added. */
const quickChecks = new WeakMap<object, IsValid>();

function withQuickCheck<T extends z.ZodType>(schema: T, isValid: IsValid): T {
  quickChecks.set(schema._zod.def, isValid);
  return schema;
}

type Values = Record<string, unknown>;

/**
 * Returns a function that copies the known members of a valid object. For any other value the
 * function returns null and does not say what is wrong. It is ten times as fast as the library.
 * `quickCopyOf` itself returns null if the schema is not an object, if it has checks of its own, or
 * if one of its fields has no quick check.
 */
function quickCopyOf(schema: z.ZodType): ((value: unknown) => Values | null) | null {
  if (!(schema instanceof z.ZodObject)) return null;
  const { shape, checks = [] } = schema._zod.def;
  if (checks.length > 0) return null;
  const names = new Set(Object.keys(shape));
  const fields: { name: string; isValid: IsValid; isOptional: boolean }[] = [];
  for (const [name, field] of Object.entries(shape)) {
    const isOptional = field instanceof z.ZodOptional;
    const isValid = quickChecks.get((isOptional ? field.unwrap() : field)._zod.def);
    if (!isValid) return null;
    fields.push({ name, isValid, isOptional });
  }
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    for (const name in value) if (!names.has(name)) return null;
    const copy: Values = {};
    for (const { name, isValid, isOptional } of fields) {
      const member = (value as Values)[name];
      if (member === undefined && isOptional) continue;
      if (!isValid(member)) return null;
      copy[name] = member;
    }
    return copy;
  };
}

export function orderId(max: number) {
  // The id is part of a gateway path, where "." and ".." would lead to another path. Written
  // without a look-ahead, which the regular expressions of some languages do not have.
  return textLike(
    max,
    /^(\.{3,}|\.*[A-Za-z0-9_~-][A-Za-z0-9_~.-]*)$/,
    "must contain only letters, digits and - _ ~ . and must not be . or ..",
  );
}

/** An amount to charge, capture or refund, in rupiah. */
export function amount() {
  const tooLarge = `must be at most ${MAX_AMOUNT}`;
  const rule = must("must be a whole number above 0");
  return z.int({
    ...rule,
    error: (issue) => issue.code === "too_big" ? tooLarge : rule.error(issue),
  }).min(1, rule).max(MAX_AMOUNT, tooLarge).openapi({ format: "int64" });
}

/** An object with these members; other members are ignored. */
export function openObject<const T extends z.ZodRawShape>(shape: T) {
  return z.object(shape, must("must be an object"));
}

/** An object that has only these members. */
export function object<const T extends z.ZodRawShape>(shape: T) {
  const names = Object.keys(shape);
  const rule = must("must be an object");
  return z.strictObject(shape, {
    ...rule,
    error: (issue) =>
      issue.code === "unrecognized_keys" ? unknownMembers(issue.keys, names) : rule.error(issue),
  });
}

/** One line for each of the unknown members. `createRouter` makes one error of each line. */
export function unknownMembers(unknown: string[], known: string[]): string {
  return unknown.slice(0, MAX_UNKNOWN).map((name) => describeUnknown(name, known)).join("\n");
}

/** How many unknown members are described. More errors would cost time and help no caller. */
export const MAX_UNKNOWN = 20;

/** The error text for a field or parameter that does not exist. */
export function describeUnknown(name: string, known: string[]): string {
  const meant = nearestName(name, known);
  return meant === null ? "is not known; remove it" : `is not known; did you mean ${meant}?`;
}

/**
 * The known name of which `name` is a misspelling: in another case, with letters swapped, or with
 * one wrong letter in each three, at most three. Null: none. Two wrong letters of four make another
 * word, such as `dana` of `bank`, and so do five of 16: `customer_details` of `seller_details`.
 */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (known.length === 0) return null;
  const written = name.slice(0, LONGEST_NAME).toLowerCase();
  const nearest = closest(written, known);
  const wrongLetters = distance(written, nearest);
  const isSwapped = wrongLetters === 2 && sortedLetters(written) === sortedLetters(nearest);
  const isTypo = wrongLetters <= Math.min(MAX_WRONG_LETTERS, Math.floor(nearest.length / 3));
  return isSwapped || isTypo ? nearest : null;
}

const MAX_WRONG_LETTERS = 3;

function sortedLetters(name: string): string {
  return [...name].toSorted().join("");
}

/** Longer than every known name. Comparing a very long name would only cost time. */
const LONGEST_NAME = 64;

/** A list that is too long is rejected before its elements are validated. */
export function list<T extends z.ZodType>(item: T, max: number) {
  return z.array(skippedAfterErrors(item), must("must be an array"))
    .min(1, must("must not be empty"))
    .max(max, must(`must have at most ${max} elements`));
}

/** A list that may be omitted. An empty one counts as omitted: some carts have no items. */
export function optionalList<T extends z.ZodType>(item: T, max: number) {
  const schema = z.array(skippedAfterErrors(item), must("must be an array"))
    .max(max, must(`must have at most ${max} elements`));
  const { run } = schema._zod;
  schema._zod.run = (payload, context) => {
    const isEmpty = Array.isArray(payload.value) && payload.value.length === 0;
    return isEmpty ? { ...payload, value: undefined as never } : run(payload, context);
  };
  return schema.optional();
}

/** How many invalid elements are described. More errors would cost time and help no caller. */
const MAX_INVALID_ELEMENTS = 20;

/**
 * Validates no more elements after 20 invalid ones, because creating the errors of one element
 * takes longer than validating a valid one.
 */
function skippedAfterErrors<T extends z.ZodType>(item: T): T {
  const { run } = item._zod;
  const quickCopy = quickCopyOf(item);
  let invalid = { input: {} as unknown, count: 0 };
  // Changes the schema instead of wrapping it, so that it keeps its name in the OpenAPI document.
  // All elements of one input are validated with the same `context` object.
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

/** Copies only objects and arrays that contain a null, because few bodies do. */
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
    // Keeps the name of the member, so that a later check still rejects an unknown name.
    copy[name] = member === null ? undefined : kept;
  }
  return copy ?? object;
}

function membersBefore(object: Values, end: string): Values {
  // Without a prototype, so that the name `__proto__` is a member like any other.
  const copy: Values = Object.create(null);
  for (const name in object) {
    if (name === end) break;
    copy[name] = object[name];
  }
  return copy;
}

function changedElements(list: unknown[], depth: number): unknown[] {
  const changed = list.map((each) => withoutNulls(each, depth - 1));
  return changed.some((each, index) => each !== list[index]) ? changed : list;
}
