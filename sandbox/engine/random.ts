/** Seeded random numbers: the same seed gives the same ids, numbers and delays. */

export interface Random {
  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number;
  digits(length: number): string;
  hex(length: number): string;
  uuid(): string;
  state(): RandomState;
}

/** Four 32-bit words; stored so that a later run continues the sequence. */
export type RandomState = [number, number, number, number];

export function seededState(seed: number): RandomState {
  // Mixes the seed, because a seed of 0 is allowed and xoshiro must not start with four zero words.
  let x = seed >>> 0;
  const nextWord = () => {
    x = (x + 0x9e3779b9) >>> 0;
    let z = x;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  };
  return [nextWord(), nextWord(), nextWord(), nextWord()];
}

/** xoshiro128**. Not cryptographically secure, which a sandbox does not need. */
export function createRandom(initial: RandomState): Random {
  let [a, b, c, d] = initial;

  function next(): number {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = rotate(d, 11);
    return result;
  }

  const hex = (length: number) => {
    let text = "";
    while (text.length < length) text += next().toString(16).padStart(8, "0");
    return text.slice(0, length);
  };

  return {
    below: (limit) => Math.floor(next() / 2 ** 32 * limit),
    digits(length) {
      let text = "";
      while (text.length < length) text += (next() % 1e8).toString().padStart(8, "0");
      return text.slice(0, length);
    },
    hex,
    uuid() {
      const h = hex(32);
      const variant = "89ab"[next() & 3];
      return `${h.slice(0, 8)}-${h.slice(8, 12)}-4${h.slice(13, 16)}-${variant}${h.slice(17, 20)}-${
        h.slice(20)
      }`;
    },
    state: () => [a >>> 0, b >>> 0, c >>> 0, d >>> 0],
  };
}

function rotate(x: number, bits: number): number {
  return (x << bits) | (x >>> (32 - bits));
}
