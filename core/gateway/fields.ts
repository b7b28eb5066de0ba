/**
 * Kinds of fields in the gateway's answers. Its types wobble and its fields come and go, so none of
 * these ever fails: what is absent, null or of a wholly wrong type is null, and what comes in another
 * guise is brought into shape.
 */

import { z } from "zod";

/**
 * A field by a function of our own: a schema for each guise it comes in would say the same and cost
 * every answer, of forty fields, several times as much.
 */
function field<T>(read: (value: unknown) => T | null) {
  return z.unknown().optional().transform(read);
}

export const text = field(readText);
/** What names something: dots alone are a folder in paths; no index takes what is longer. */
export const id = field((value) => {
  const name = readText(value);
  return name !== null && /^(?!\.{0,2}$)[^]{1,255}$/.test(name) ? name : null;
});
export const lowerCase = field((value) =>
  typeof value === "string" ? storable(value.toLowerCase()) : null
);
export const upperCase = field((value) =>
  typeof value === "string" ? storable(value.toUpperCase()) : null
);
export const wholeNumber = field((value) => {
  const isDigits = typeof value === "string" && /^\d+$/.test(value);
  const number = isDigits ? Number(value) : value;
  return Number.isSafeInteger(number) ? number as number : null;
});
export const bool = field((value) => typeof value === "boolean" ? value : null);
export const object = field((value) => isObject(value) ? value : null);
/**
 * A decimal with two places, exactly what the gateway said; null where that cannot be had. Up to 15
 * digits a number in JSON is exact, too.
 */
export const money = field((value) => {
  const said = typeof value === "number" ? String(value) : value;
  const isDecimal = typeof said === "string" && /^\d{1,15}(\.\d{1,2}0*)?$/.test(said);
  return isDecimal ? twoPlaces(said) : null;
});

export function orNull<T extends z.ZodType>(schema: T) {
  // Absence is no error: most fields are absent most of the time, and an error costs time to make.
  return schema.nullish().transform((value) => value ?? null).catch(null);
}

/** Items that are no such thing are left out. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.array(z.unknown()).catch([]).transform((items) =>
    items.flatMap((each) => {
      const { success, data } = item.safeParse(each);
      return success ? [data] : [];
    })
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readText(value: unknown): string | null {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "string" ? storable(value) : null;
}

/** NUL and half characters no database keeps; nothing of the gateway's needs them. */
export function storable(value: string): string {
  const wellFormed = value.isWellFormed() ? value : value.toWellFormed();
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", "") : wellFormed;
}

function twoPlaces(value: string): string {
  const [whole, fraction = ""] = value.split(".");
  return `${whole}.${fraction.slice(0, 2).padEnd(2, "0")}`;
}
