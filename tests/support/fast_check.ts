/** Property-based testing: random values, reduced to a minimal failing one. */

import { shareOf } from "./share.ts";
import { FAST_CHECK } from "./tools.ts";

/**
 * The types that the tests use. The library is imported by name, so its own types are not
 * available.
 */
export interface Arbitrary<T> {
  map<U>(change: (value: T) => U, changeBack?: (value: unknown) => T): Arbitrary<U>;
  filter(accepts: (value: T) => boolean): Arbitrary<T>;
}

interface LengthRange {
  minLength?: number;
  maxLength?: number;
}

interface FastCheck {
  assert(property: unknown, options: { numRuns: number }): Promise<void>;
  asyncProperty<T extends unknown[]>(
    ...args: [
      ...{ [K in keyof T]: Arbitrary<T[K]> },
      (...values: T) => Promise<void>,
    ]
  ): unknown;
  anything(): Arbitrary<unknown>;
  array<T>(item: Arbitrary<T>, range?: LengthRange): Arbitrary<T[]>;
  boolean(): Arbitrary<boolean>;
  constantFrom<T>(...values: T[]): Arbitrary<T>;
  integer(range?: { min?: number; max?: number }): Arbitrary<number>;
  json(): Arbitrary<string>;
  oneof<T extends unknown[]>(
    ...choices: { [K in keyof T]: Arbitrary<T[K]> }
  ): Arbitrary<T[number]>;
  record<T>(members: { [K in keyof T]: Arbitrary<T[K]> }): Arbitrary<T>;
  string(range?: LengthRange & { unit?: "grapheme" | "binary" | Arbitrary<string> }): Arbitrary<
    string
  >;
  uint8Array(range?: LengthRange): Arbitrary<Uint8Array<ArrayBuffer>>;
}

const library: FastCheck = await import(FAST_CHECK);

const SURROGATES = { first: 0xd800, count: 0x800 };

/**
 * Any character. The library's own unit `binary` is the same, but builds a map of a million
 * characters, which takes a second in each process.
 */
const anyCharacter = library.integer({ min: 0, max: 0x10ffff - SURROGATES.count }).map(
  (number) => String.fromCodePoint(number < SURROGATES.first ? number : number + SURROGATES.count),
  (character) => {
    if (typeof character !== "string" || [...character].length !== 1) {
      throw new Error("Unsupported");
    }
    const code = character.codePointAt(0)!;
    return code < SURROGATES.first ? code : code - SURROGATES.count;
  },
);

export const fc: FastCheck = {
  ...library,
  string: (range = {}) =>
    library.string({ ...range, ...range.unit === "binary" && { unit: anyCharacter } }),
  assert: (property, { numRuns }) => library.assert(property, { numRuns: shareOf(numRuns) }),
};
