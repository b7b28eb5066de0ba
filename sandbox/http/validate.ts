/** Input validation in the gateway's style: one 400 that names every invalid field by its path. */

import { z } from "zod";
import { invalid, WrongType } from "./refusal.ts";

/**
 * Parses `input`; throws a Refusal with all messages if it is invalid. Like the gateway, it
 * converts scalars to the type of their field: `7` to `"7"`, `"7"` to `7`, `"true"` to `true`.
 */
export function validate<T>(schema: z.ZodType<T>, input: unknown, prefix = ""): T {
  const first = schema.safeParse(input);
  if (first.success) return first.data;
  convertScalars(input, first.error.issues);
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const { issues } = result.error;
  const messages = issues.map(({ path, message }) =>
    `${[prefix, ...path].filter((part) => part !== "").join(".") || "body"} ${message}`
  );
  const unique = [...new Set(messages)];
  const hasWrongType = issues.some((issue) => isWrongType(issue, valueAt(input, issue.path)));
  throw hasWrongType ? new WrongType(unique) : invalid(...unique);
}

type Issue = z.core.$ZodIssue;

/**
 * Converts the scalars in `input` that have the wrong type. Changes `input` itself, because a
 * deeply nested body cannot be copied.
 */
function convertScalars(input: unknown, issues: Issue[]): void {
  for (const issue of issues) {
    const parent = valueAt(input, issue.path.slice(0, -1));
    const name = issue.path.at(-1);
    if (typeof parent !== "object" || parent === null || name === undefined) continue;
    const fields = parent as Record<PropertyKey, unknown>;
    fields[name] = convertScalar(fields[name], issue);
  }
}

function convertScalar(value: unknown, issue: Issue): unknown {
  const expected = issue.code === "invalid_type" ? issue.expected : null;
  const isText = expected === "string" || issue.code === "invalid_value";
  if (isText && typeof value === "number") return String(value);
  if (typeof value !== "string") return value;
  const isNumber = expected === "number" || expected === "int";
  if (isNumber && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (expected === "boolean" && /^(true|false)$/.test(value)) return value === "true";
  return value;
}

/** Whether the value exists and has a type that cannot be converted to the type of the field. */
function isWrongType(issue: Issue, value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (issue.code === "invalid_type" || issue.code === "invalid_union") return true;
  return issue.code === "invalid_value" && typeof value !== "string";
}

function valueAt(input: unknown, path: PropertyKey[]): unknown {
  return path.reduce(
    (value, name) => (value as Record<PropertyKey, unknown> | null | undefined)?.[name],
    input,
  );
}

/** The message for a value of the wrong type, or "is required" if the value is missing. */
function typeError(message: string) {
  return {
    error: ({ input }: { input?: unknown }) =>
      input === undefined || input === null ? "is required" : message,
  };
}

export function text(max: number, min = 1) {
  return z.string(typeError("must be a string"))
    .min(min, min === 1 ? "must not be empty" : `must be at least ${min} characters long`)
    .max(max, `must not be longer than ${max} characters`);
}

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, typeError(`must be one of ${values.join(", ")}`));
}

export function flag() {
  return z.boolean(typeError("must be true or false"));
}

/** An amount in whole rupiah, as a number or a string. Decimals other than 0 are rejected. */
export function rupiah(min = 1, max = MAX_AMOUNT) {
  return z.union(
    [z.number(), z.string().regex(/^-?\d{1,14}(\.\d{1,2})?$/).transform(Number)],
    typeError("must be a number"),
  ).refine(Number.isSafeInteger, "must not have decimals")
    .refine(
      (amount) => amount >= min,
      // The gateway's own wording for amounts that must be positive.
      `must be equal or greater than ${min === 1 ? 0.01 : min}`,
    )
    .refine((amount) => amount <= max, `must be equal or less than ${max}`);
}

export function integer(min: number, max: number) {
  return z.int(typeError("must be a whole number"))
    .min(min, `must be equal or greater than ${min}`)
    .max(max, `must be equal or less than ${max}`);
}

export function object<const T extends z.ZodRawShape>(shape: T) {
  return z.object(shape, typeError("must be an object"));
}

export function list<T extends z.ZodType>(item: T, max: number) {
  return z.array(item, typeError("must be a list")).max(max, `must have at most ${max} entries`);
}

/** An object with any fields, limited in size because it is stored and echoed. */
export function freeObject(maxBytes: number) {
  return z.record(z.string(), z.unknown(), typeError("must be an object"))
    .refine(isShallow, { message: "is nested too deep", abort: true })
    .refine((value) => JSON.stringify(value).length <= maxBytes, "is too large");
}

/** Deeper values can be parsed but may overflow the stack when they are serialized. */
const MAX_DEPTH = 100;

function isShallow(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false;
    level = level.flatMap((each) =>
      typeof each === "object" && each !== null ? Object.values(each) : []
    );
  }
  return true;
}

const MAX_AMOUNT = 9_999_999_999_999;
