/**
 * Kinds of fields in the gateway's answers. Its types wobble and its fields come and go, so none of
 * these ever fails: what is absent, null or of a wholly wrong type is null, and what comes in another
 * guise is brought into shape.
 */

/** What a value is taken for. */
export type Read<T> = (value: unknown) => T;

/** An object of known fields; those that nobody knows are kept as they are. */
export interface Answered<T> {
  /** Of any object. */
  parse(body: unknown): T;
}

type Fields = Record<string, Read<unknown>>;

type OutputOf<F extends Fields> = { [Name in keyof F]: ReturnType<F[Name]> } & {
  [unknown: string]: unknown;
};

/**
 * By hand, though a library could do the same: forty fields of every answer and every notification
 * would each cost several objects, of which most are for fields that are not there.
 */
export function looseObject<F extends Fields>(fields: F): Answered<OutputOf<F>> {
  const readers = Object.entries(fields);
  return {
    parse(body) {
      const result: Record<string, unknown> = { ...body as object };
      for (const [name, read] of readers) result[name] = read(result[name]);
      return result as OutputOf<F>;
    },
  };
}

export const text: Read<string | null> = (value) => {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "string" ? storable(value) : null;
};

/** What names something: dots alone are a folder in paths; no index takes what is longer. */
export const id: Read<string | null> = (value) => {
  const name = text(value);
  return name !== null && /^(?!\.{0,2}$)[^]{1,255}$/.test(name) ? name : null;
};

export const lowerCase: Read<string | null> = (value) =>
  typeof value === "string" ? storable(value.toLowerCase()) : null;

export const upperCase: Read<string | null> = (value) =>
  typeof value === "string" ? storable(value.toUpperCase()) : null;

export const wholeNumber: Read<number | null> = (value) => {
  const isDigits = typeof value === "string" && /^\d+$/.test(value);
  const number = isDigits ? Number(value) : value;
  return Number.isSafeInteger(number) ? number as number : null;
};

export const bool: Read<boolean | null> = (value) => typeof value === "boolean" ? value : null;

export const object: Read<Record<string, unknown> | null> = (value) =>
  isObject(value) ? value : null;

/**
 * A decimal with two places, exactly what the gateway said; null where that cannot be had. Up to 15
 * digits a number in JSON is exact, too.
 */
export const money: Read<string | null> = (value) => {
  const said = typeof value === "number" ? String(value) : value;
  const isDecimal = typeof said === "string" && /^\d{1,15}(\.\d{1,2}0*)?$/.test(said);
  return isDecimal ? twoPlaces(said) : null;
};

export function orNull<T>({ parse }: Answered<T>): Read<T | null> {
  return (value) => isObject(value) ? parse(value) : null;
}

/** Items that are no such thing are left out. */
export function listOf<T>(item: Read<T | null>): Read<T[]> {
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

/** NUL and half characters no database keeps; nothing of the gateway's needs them. */
export function storable(value: string): string {
  const wellFormed = value.isWellFormed() ? value : value.toWellFormed();
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", "") : wellFormed;
}

function twoPlaces(value: string): string {
  const [whole, fraction = ""] = value.split(".");
  return `${whole}.${fraction.slice(0, 2).padEnd(2, "0")}`;
}
