/**
 * Tests that try very many similar inputs, or kill a process many times, do so only in
 * `deno task test --full`. Otherwise they try a share of the inputs.
 */

/** Above 0, at most 1. */
const SHARE = Number(Deno.env.get("TEST_SHARE") ?? 1);

/** Whether tests try only a share; counts of rare results then vary too much to compare them. */
export const isPartial = SHARE < 1;

/** The number of random inputs or rounds that a test tries instead of `count`. */
export function shareOf(count: number, least = 1): number {
  return Math.max(Math.ceil(count * SHARE), Math.min(least, count));
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
