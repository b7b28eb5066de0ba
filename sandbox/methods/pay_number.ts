/** Numbers a customer types at a bank or a till: no two payable ones are alike. */

import type { World } from "../world/world.ts";

/** A number made up after the merchant's company code, or one of its choice where that is free. */
export function payNumber(world: World, prefix: string, digits: number, wanted?: string | null) {
  if (wanted) {
    // Too short is filled up from the left, too long loses its tail (G§3.4).
    const number = prefix + wanted.padStart(digits, "0").slice(0, digits);
    if (!world.payNumbers.has(number)) return number;
  }
  // Where almost all are taken, it gets longer rather than searching without end.
  for (let tries = 0;; tries++) {
    const number = prefix + world.random.digits(digits + (tries >> 4));
    if (!world.payNumbers.has(number)) return number;
  }
}
