/** Checks JSON text before it is parsed: how complex it is, and whether its numbers are exact. */

/**
 * Structural characters are `{ } [ ] : ,` outside of strings. Their number determines how long it
 * takes to parse and validate a text.
 */
export interface JsonLimits {
  structure: number;
}

export interface JsonScan {
  isTooComplex: boolean;
  /** The text in UTF-8. All characters with a meaning in JSON are single bytes. */
  bytes: Uint8Array;
  /** Start and end of each fraction that JavaScript would round to a whole number. */
  inexact: [start: number, end: number][];
}

/**
 * Numbers that are not whole and have more than 15 digits. Metadata has room for fewer than 1,000.
 */
export const MAX_LONG_NUMBERS = 1_000;

/** A body of 256 KiB has room for 43,690 escapes like `\u00e9`; only shorter ones exceed this. */
export const MAX_ESCAPES = 45_000;

/**
 * An object is large if it has more than 100 members. Large objects are slow to parse. Only objects
 * in metadata can be large, and metadata has room for 2,500 members.
 */
export const LARGE_OBJECT = 100;
export const MAX_LARGE_MEMBERS = 2_500;

const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Reads the text once, without building anything. It does not check the syntax: the parser does
 * that afterwards. Bytes are read several times faster than the characters of a string.
 */
export function scanJson(text: string, limits: JsonLimits): JsonScan {
  const bytes = encoder.encode(text);
  const inexact: JsonScan["inexact"] = [];
  const tooComplex: JsonScan = { isTooComplex: true, bytes, inexact };
  /** For each open object, the number of its members so far; 0 for an open array. */
  const members: number[] = [0];
  let [structure, largeMembers, longNumbers, escapes] = [0, 0, 0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at]!;
    if (code <= SPACE) continue;
    if (code === QUOTE) {
      for (at++; at < bytes.length; at++) {
        const character = bytes[at]!;
        if (character === QUOTE) break;
        if (character !== BACKSLASH) continue;
        if (++escapes > MAX_ESCAPES) return tooComplex;
        at++;
      }
      continue;
    }
    if (isDigit(code) || code === MINUS) {
      let end = at + 1;
      let hasExponent = false;
      for (; end < bytes.length && isPartOfNumber(bytes[end]!); end++) {
        if (isExponentMark(bytes[end]!)) hasExponent = true;
      }
      // Most numbers are short and have no exponent, so they are exact.
      const mayBeInexact = hasExponent || end - at > EXACT_DIGITS;
      if (mayBeInexact && isLongFraction(bytes, at, end)) {
        if (++longNumbers > MAX_LONG_NUMBERS) return tooComplex;
        if (Number.isInteger(numberAt(bytes, at, end))) inexact.push([at, end]);
      }
      at = end - 1;
      continue;
    }
    if (code === COLON) {
      const isLarge = ++members[members.length - 1]! > LARGE_OBJECT;
      if (isLarge && ++largeMembers > MAX_LARGE_MEMBERS) return tooComplex;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) members.push(0);
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (members.length > 1) members.pop();
    } else if (code !== COMMA) continue;
    if (++structure > limits.structure) return tooComplex;
  }
  return { isTooComplex: false, bytes, inexact };
}

function numberAt(bytes: Uint8Array, start: number, end: number): number {
  return Number(decoder.decode(bytes.subarray(start, end)));
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

function isPartOfNumber(code: number): boolean {
  return isDigit(code) || code === DOT || code === MINUS || code === PLUS || isExponentMark(code);
}

/** `e` or `E`. */
function isExponentMark(code: number): boolean {
  return (code | 0x20) === 0x65;
}

/**
 * Decimals of up to 15 digits are exact: two different ones are never read as the same number. This
 * does not apply to numbers that are too small for JavaScript.
 */
const EXACT_DIGITS = 15;
const SMALLEST_EXPONENT = -290;

/**
 * Whether the number is not whole but may be read as a whole one: `0.99999999999999999999` is read
 * as 1. False for `44000.00` and `4.4e4`, which are whole.
 */
function isLongFraction(bytes: Uint8Array, start: number, end: number): boolean {
  let digits = 0;
  let digitsBeforePoint = -1;
  let lastNonZero = 0;
  let at = start;
  for (; at < end; at++) {
    const code = bytes[at]!;
    if (isDigit(code)) {
      digits++;
      if (code !== ZERO) lastNonZero = digits;
    } else if (code === DOT) digitsBeforePoint = digits;
    else if (isExponentMark(code)) break;
  }
  if (digitsBeforePoint === -1) digitsBeforePoint = digits;
  const exponent = at < end ? exponentAt(bytes, at + 1, end) : 0;
  const isWhole = lastNonZero === 0 || lastNonZero <= digitsBeforePoint + exponent;
  const isExact = digits <= EXACT_DIGITS && exponent >= SMALLEST_EXPONENT;
  return !isWhole && !isExact;
}

function exponentAt(bytes: Uint8Array, start: number, end: number): number {
  let exponent = 0;
  for (let at = start; at < end; at++) {
    if (isDigit(bytes[at]!)) exponent = exponent * 10 + bytes[at]! - ZERO;
  }
  return bytes[start] === MINUS ? -exponent : exponent;
}

/**
 * The text with each inexact number replaced by the closest number that is not whole. A field that
 * requires a whole number then rejects it; any other field gets it with the usual precision of JSON
 * numbers.
 */
export function replaceInexact(text: string, { bytes, inexact }: JsonScan): string {
  if (inexact.length === 0) return text;
  let replaced = "";
  let last = 0;
  for (const [start, end] of inexact) {
    replaced += decoder.decode(bytes.subarray(last, start));
    replaced += notWhole(numberAt(bytes, start, end));
    last = end;
  }
  return replaced + decoder.decode(bytes.subarray(last));
}

function notWhole(rounded: number): number {
  return rounded === 0 ? Number.MIN_VALUE : rounded * (1 + Number.EPSILON);
}
