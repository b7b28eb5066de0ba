/** Checks input as the gateway does: every fault named by its path, in one 400. */

import { z } from "zod";
import { invalid } from "./refusal.ts";

/** Reads `input` by a schema; what is wrong becomes a refusal with all its messages. */
export function validate<T>(schema: z.ZodType<T>, input: unknown, prefix = ""): T {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const messages = result.error.issues.map(({ path, message }) =>
    `${[prefix, ...path].filter((part) => part !== "").join(".") || "body"} ${message}`
  );
  throw invalid(...new Set(messages));
}

function must(be: string) {
  return {
    error: ({ input }: { input?: unknown }) =>
      input === undefined || input === null ? "is required" : be,
  };
}

export function text(most: number, least = 1) {
  return z.string(must("must be a string"))
    .min(least, least === 1 ? "must not be empty" : `must be at least ${least} characters long`)
    .max(most, `must not be longer than ${most} characters`);
}

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, must(`must be one of ${values.join(", ")}`));
}

export function flag() {
  return z.boolean(must("must be true or false"));
}

/** Amounts come as numbers, from some libraries as strings of digits; never with a fraction. */
export function rupiah(least = 1, most = MAX_AMOUNT) {
  return z.union(
    [z.number(), z.string().regex(/^-?\d{1,14}(\.00?)?$/).transform(Number)],
    must("must be a number"),
  ).refine(Number.isSafeInteger, "must not have decimals")
    .refine(
      (amount) => amount >= least,
      `must be equal or greater than ${least === 1 ? 0.01 : least}`,
    )
    .refine((amount) => amount <= most, `must be equal or less than ${most}`);
}

export function count(least: number, most: number) {
  return z.int(must("must be a whole number"))
    .min(least, `must be equal or greater than ${least}`)
    .max(most, `must be equal or less than ${most}`);
}

export function object<const T extends z.ZodRawShape>(shape: T) {
  return z.object(shape, must("must be an object"));
}

export function list<T extends z.ZodType>(item: T, most: number) {
  return z.array(item, must("must be a list")).max(most, `must have at most ${most} entries`);
}

/** Free JSON, as long as it stays small enough to be kept and echoed. */
export function freeObject(maxBytes: number) {
  return z.record(z.string(), z.unknown(), must("must be an object"))
    .refine(isShallow, { message: "is nested too deep", abort: true })
    .refine((value) => JSON.stringify(value).length <= maxBytes, "is too large");
}

/** What is nested deeper could be taken here and fail to be written elsewhere. */
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
