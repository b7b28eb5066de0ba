/** Input validation in the gateway's style: one 400 that names every invalid field by its path. */

import { z } from "zod";
import { invalid } from "./refusal.ts";

/** Parses `input`; throws a Refusal with all messages if it is invalid. */
export function validate<T>(schema: z.ZodType<T>, input: unknown, prefix = ""): T {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const messages = result.error.issues.map(({ path, message }) =>
    `${[prefix, ...path].filter((part) => part !== "").join(".") || "body"} ${message}`
  );
  throw invalid(...new Set(messages));
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

/** An amount in whole rupiah: a number, or a string of digits, which may end in `.0` or `.00`. */
export function rupiah(min = 1, max = MAX_AMOUNT) {
  return z.union(
    [z.number(), z.string().regex(/^-?\d{1,14}(\.00?)?$/).transform(Number)],
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
