/**
 * Tests that try very many similar inputs try all of them in `deno task test`, and a share of them
 * in `deno task test:quick`.
 */

/** Above 0, at most 1. */
const SHARE = Number(Deno.env.get("TEST_SHARE") ?? 1);

/** Whether tests try only a share; counts of rare results then vary too much to compare them. */
export const isPartial = SHARE < 1;

/** The number of random inputs that a test tries instead of `count`; at least one. */
export function shareOf(count: number): number {
  return Math.ceil(count * SHARE);
}

/**
 * The step of a loop over the statements of an operation, of which a test loses one at a time. The
 * number of statements is not known before, so a share of them is every fourth one.
 */
export const STATEMENT_STEP = isPartial ? 4 : 1;

/**
 * The inputs of a list that a test tries: the same ones in each run, spread over the whole list.
 */
export function someOf<T>(all: T[]): T[] {
  return Array.from({ length: shareOf(all.length) }, (_, index) => all[Math.floor(index / SHARE)]!);
}
