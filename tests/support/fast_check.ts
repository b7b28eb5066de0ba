/** Property-based testing: random values, reduced to a minimal failing one. */

import { shareOf } from "./share.ts";
import { FAST_CHECK } from "./tools.ts";

/** The types that the tests use. The library is imported by name, so its own types are not available. */
export interface Arbitrary<T> {
  map<U>(change: (value: T) => U): Arbitrary<U>;
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

export const fc: FastCheck = {
  ...library,
  assert: (property, { numRuns }) => library.assert(property, { numRuns: shareOf(numRuns) }),
};
