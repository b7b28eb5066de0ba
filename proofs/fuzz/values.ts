/** Values for a JSON schema: valid ones, those at its boundaries, and hostile ones. */

import type { Random } from "../../sandbox/engine/random.ts";
import type { Json } from "../../tests/support/gateway/sandbox.ts";
import { resolve, type Schema } from "./document.ts";

export interface ValueSource {
  random: Random;
  /** By name of a member or parameter, values that the schema cannot give, such as existing ids. */
  known: Record<string, () => Json>;
}

/** Stands in JSON text for a number that JavaScript cannot write. */
const HUGE_NUMBER = "a huge number";
const HUGE_NUMBERS = ["1e400", "-1e400", "9".repeat(400), "1e-400", `0.${"1".repeat(400)}`];

const DEPTHS = [5, 60, 1_000, 20_000];

export const HOSTILE_VALUES: readonly Json[] = [
  null,
  true,
  "",
  " ",
  "0",
  "NaN",
  "\u0000",
  "a\u0000b",
  "\ud83d",
  "\u202eabc\ufeff",
  "a\r\nb: c",
  "../../x",
  "%00",
  "__proto__",
  "'; drop table gateway.payments; --",
  "=1+1",
  "é".repeat(256),
  "💳".repeat(300),
  "x".repeat(3_000),
  0,
  -0.0,
  -1,
  0.1,
  2 ** 31,
  2 ** 53,
  1e21,
  Number.MIN_VALUE,
  [],
  [[]],
  [null],
  {},
  { "": 1 },
  { a: { b: {} } },
  HUGE_NUMBER,
];

const TEXTS = ["a", "Kopi Luwak", "Ünïcödé ✓", "💳 bayar", "a'b\"c\\d", "<b>&amp;", "مرحبا", "-1"];

const TIMES = [
  "2026-01-01T00:00:00Z",
  "2026-11-18T23:59:59.999+07:00",
  "2099-12-31T00:00:00Z",
  "1970-01-01T00:00:00Z",
];

const BAD_TIMES = [
  "2026-02-30T00:00:00Z",
  "2026-01-01T24:00:00Z",
  "2026-01-01T00:00:60Z",
  "2026-01-01",
  "0000-01-01T00:00:00Z",
  "9999-12-31T23:59:59Z",
  "10000-01-01T00:00:00Z",
  "-000001-01-01T00:00:00Z",
  "2026-01-01T00:00:00+23:59",
];

export function pick<T>(random: Random, values: readonly T[]): T {
  return values[random.below(values.length)]!;
}

/** True in this percentage of cases. */
export function chance(random: Random, percent: number): boolean {
  return random.below(100) < percent;
}

/** A value that the schema allows, as far as the schema says what is allowed. */
export function validValue(source: ValueSource, schema: Schema, name = ""): Json {
  const { random, known } = source;
  const resolved = resolve(schema);
  const { type, enum: options, oneOf, allOf, example } = resolved;
  if (Object.hasOwn(known, name) && chance(random, 90)) return known[name]!();
  if (options) return pick(random, options);
  if (oneOf) return validValue(source, pick(random, oneOf), name);
  if (allOf) return Object.assign({}, ...allOf.map((each: Schema) => validValue(source, each)));
  if (type === "object") return validObject(source, resolved);
  if (type === "array") return validArray(source, resolved, name);
  if (example !== undefined && chance(random, 50)) return example;
  if (type === "integer" || type === "number") return validNumber(random, resolved);
  if (type === "boolean") return chance(random, 50);
  return validString(random, resolved);
}

function validObject(source: ValueSource, { properties = {}, required = [], example }: Schema) {
  if (Object.keys(properties).length === 0) return example ?? {};
  const names = Object.keys(properties).filter((name) =>
    required.includes(name) || chance(source.random, 30)
  );
  const entries = names.map((name) => [name, validValue(source, properties[name], name)]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function validArray(
  source: ValueSource,
  { items, minItems = 0, maxItems = 5 }: Schema,
  name: string,
) {
  const length = Math.min(maxItems, minItems + source.random.below(3));
  return Array.from({ length }, () => validValue(source, items, name));
}

function validNumber(random: Random, { minimum = -1_000, maximum = 1_000_000 }: Schema): number {
  const few = Math.min(maximum - minimum + 1, 1_000_000);
  return minimum + random.below(few);
}

function validString(random: Random, schema: Schema): string {
  const { format, minLength = 0, maxLength = 255, pattern, example = "" } = schema;
  if (format === "uuid") return random.uuid();
  if (format === "date-time") return pick(random, TIMES);
  if (format) return example;
  const text = pick(random, TEXTS).repeat(1 + random.below(4)).padEnd(minLength, "x");
  const cut = text.slice(0, maxLength).toWellFormed();
  return pattern && !new RegExp(pattern).test(cut) ? example : cut;
}

/** A value at a boundary of the schema: the last that is allowed, or the first that is not. */
export function boundaryValue(random: Random, schema: Schema): Json {
  const { type, enum: options, format, minimum, maximum, example } = resolve(schema);
  if (options) return pick(random, [...options, options[0].toUpperCase(), `${options[0]} `, ""]);
  if (type === "integer" || type === "number") {
    const [least, most] = [minimum ?? 0, maximum ?? 2 ** 31 - 1];
    return pick(random, [least, least - 1, least + 1, most, most + 1, most - 1, least + 0.5]);
  }
  if (type === "array") return boundaryArray(random, resolve(schema));
  if (format === "date-time") return pick(random, [...TIMES, ...BAD_TIMES]);
  if (format === "date") return pick(random, BAD_TIMES.map((time) => time.split("T")[0]!));
  if (format === "uuid") {
    return pick(random, [random.uuid().toUpperCase(), NIL, random.hex(32), "x"]);
  }
  if (type === "string") return boundaryText(random, resolve(schema));
  return pick(random, [null, "true", "false", 0, 1, example ?? {}]);
}

const NIL = "00000000-0000-0000-0000-000000000000";

function boundaryArray(random: Random, { items, minItems = 0, maxItems = 20 }: Schema): Json[] {
  const length = pick(random, [0, minItems, Math.max(0, minItems - 1), maxItems, maxItems + 1]);
  const item = resolve(items).example ?? resolve(items).enum?.[0] ?? {};
  return Array.from({ length }, () => item);
}

function boundaryText(random: Random, { minLength = 0, maxLength = 255 }: Schema): string {
  const length = pick(random, [0, minLength, minLength - 1, maxLength, maxLength + 1]);
  // The characters of the last have two UTF-16 code units, and four bytes.
  return pick(random, ["x", "7", "é", "💳"]).repeat(Math.max(0, length));
}

/** The value with one member at a boundary of its schema. */
export function withBoundary(random: Random, schema: Schema, value: Json): Json {
  const { properties, oneOf, discriminator, items } = resolve(schema);
  if (oneOf) {
    const chosen = discriminator?.mapping[value?.[discriminator.propertyName]];
    return withBoundary(random, chosen ? { $ref: chosen } : oneOf[0], value);
  }
  if (items && Array.isArray(value) && value.length > 0 && chance(random, 60)) {
    return [withBoundary(random, items, value[0]), ...value.slice(1)];
  }
  const names = Object.keys(properties ?? {});
  if (names.length === 0 || typeof value !== "object" || value === null) {
    return boundaryValue(random, schema);
  }
  const name = pick(random, names);
  return { ...value, [name]: withBoundary(random, properties[name], value[name]) };
}

/** The value with one part replaced, left out, added or wrapped. */
export function mutate(random: Random, value: Json): Json {
  const isObject = typeof value === "object" && value !== null;
  const names = isObject ? Object.keys(value) : [];
  if (names.length === 0 || chance(random, 10)) return mutateWhole(random, value);
  const name = pick(random, names);
  const copy: Json = Array.isArray(value) ? [...value] : { ...value };
  switch (random.below(5)) {
    case 0:
      delete copy[name];
      return copy;
    case 1:
      return { ...copy, [pick(random, ["unknown", "__proto__", "constructor", "", "\u0000"])]: 1 };
    case 2:
      copy[name] = mutate(random, copy[name]);
      return copy;
    default:
      copy[name] = pick(random, HOSTILE_VALUES);
      return copy;
  }
}

function mutateWhole(random: Random, value: Json): Json {
  return pick<Json>(random, [[value], { value }, null, JSON.stringify(value), ...HOSTILE_VALUES]);
}

/** JSON text, with the numbers that JavaScript cannot write. */
export function writeJson(random: Random, value: Json): string {
  return (JSON.stringify(value) ?? "").replaceAll(
    JSON.stringify(HUGE_NUMBER),
    () => pick(random, HUGE_NUMBERS),
  );
}

/** A broken form of a text, as bytes. */
export function breakText(random: Random, text: string): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(text);
  const at = random.below(bytes.length + 1);
  switch (random.below(8)) {
    case 0:
      return bytes.slice(0, at);
    case 1: {
      // No text in UTF-8 has the bytes FF and C0 80; a surrogate must not be encoded.
      const wrong = pick(random, [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0x00], [0x1f, 0x8b]]);
      return new Uint8Array([...bytes.slice(0, at), ...wrong, ...bytes.slice(at)]);
    }
    case 2:
      return new Uint8Array([0xef, 0xbb, 0xbf, ...bytes]);
    case 3:
      return new Uint8Array([...text].flatMap((character) => [character.charCodeAt(0) & 0xff, 0]));
    case 4: {
      const depth = pick(random, DEPTHS);
      const [open, close] = pick(random, [["[", "]"], ['{"a":', "}"]]) as [string, string];
      return new TextEncoder().encode(`${open.repeat(depth)}1${close.repeat(depth)}`);
    }
    case 5:
      return new TextEncoder().encode(text.replace("{", '{"metadata":{"a":1,"a":2},'));
    case 6: {
      const size = pick(random, [200_000, 262_144, 262_145, 1_000_000]);
      return new TextEncoder().encode(text.replace("{", `{"x":"${"x".repeat(size)}",`));
    }
    default:
      return new TextEncoder().encode(`${text}${pick(random, ["", " ", "}", "\u0000", text])}`);
  }
}
