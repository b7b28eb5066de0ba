/**
 * JSON from the gateway, read leniently. Fields and their types vary between payment types and over
 * time, so no reader here fails. A value that is absent, null or of the wrong type becomes null, or
 * an empty list for a list. A value in another notation (a number as text) is converted.
 */

export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

/** The gateway's own bodies are far less deep; deeper bodies could overflow the stack. */
export const MAX_DEPTH = 16;

/** Null if the text is not a JSON object. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value: Json = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** Converts one value. */
export type FieldReader<T> = (value: unknown) => T;

/** Converts an object's known fields and keeps all others unchanged. */
export interface ResponseSchema<T> {
  /** Takes any object. */
  parse(body: unknown): T;
}

type Fields = Record<string, FieldReader<unknown>>;

type OutputOf<F extends Fields> = { [Name in keyof F]: ReturnType<F[Name]> } & {
  [unknown: string]: unknown;
};

/**
 * Does not use a schema library, which would allocate several objects for each of forty fields in
 * every response and notification, although most of those fields are absent.
 */
export function looseObject<F extends Fields>(fields: F): ResponseSchema<OutputOf<F>> {
  const readers = new Map(Object.entries(fields));
  // Most fields are absent. All results share the values of absent fields, so lists are frozen.
  const absent = Object.fromEntries(
    [...readers].map(([name, read]) => [name, Object.freeze(read(undefined))]),
  );
  return {
    parse(body) {
      const result: Record<string, unknown> = { ...absent, ...body as object };
      for (const name of Object.keys(body as object)) {
        const read = readers.get(name);
        if (read) result[name] = read(result[name]);
      }
      return result as OutputOf<F>;
    },
  };
}

export const text: FieldReader<string | null> = (value) => {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "string" ? toStorableText(value) : null;
};

/** An id becomes a path segment, so `.` and `..` are invalid. It has at most 255 characters. */
export const id: FieldReader<string | null> = (value) => {
  const name = text(value);
  return name !== null && /^(?!\.{0,2}$)[^]{1,255}$/.test(name) ? name : null;
};

export const lowerCase: FieldReader<string | null> = (value) =>
  typeof value === "string" ? toStorableText(value.toLowerCase()) : null;

export const upperCase: FieldReader<string | null> = (value) =>
  typeof value === "string" ? toStorableText(value.toUpperCase()) : null;

export const wholeNumber: FieldReader<number | null> = (value) => {
  const isDigits = typeof value === "string" && /^\d+$/.test(value);
  const number = isDigits ? Number(value) : value;
  return Number.isSafeInteger(number) ? number as number : null;
};

export const bool: FieldReader<boolean | null> = (value) =>
  typeof value === "boolean" ? value : null;

export const object: FieldReader<Record<string, unknown> | null> = (value) =>
  isObject(value) ? value : null;

/**
 * A decimal with two places, or null if that form would change the gateway's value. JSON numbers
 * are exact up to 15 digits.
 */
export const money: FieldReader<string | null> = (value) => {
  const decimal = typeof value === "number" ? String(value) : value;
  const isDecimal = typeof decimal === "string" && /^\d{1,15}(\.\d{1,2}0*)?$/.test(decimal);
  return isDecimal ? withTwoPlaces(decimal) : null;
};

export function orNull<T>({ parse }: ResponseSchema<T>): FieldReader<T | null> {
  return (value) => isObject(value) ? parse(value) : null;
}

/** Items that `item` reads as null are left out. */
export function listOf<T>(item: FieldReader<T | null>): FieldReader<T[]> {
  return (value) =>
    Array.isArray(value)
      ? value.flatMap((each) => {
        const read = item(each);
        return read === null ? [] : [read];
      })
      : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Removes NUL and replaces lone surrogates: PostgreSQL can store neither. */
export function toStorableText(value: string): string {
  const wellFormed = value.isWellFormed() ? value : value.toWellFormed();
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", "") : wellFormed;
}

function withTwoPlaces(value: string): string {
  const [whole, fraction = ""] = value.split(".");
  return `${whole}.${fraction.slice(0, 2).padEnd(2, "0")}`;
}
