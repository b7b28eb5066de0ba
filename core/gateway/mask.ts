/** Blots cards, tokens, keys and signatures out of what is said to the gateway and by it. */

import { maskCards } from "./card_number.ts";
import { type Json, type JsonObject, MAX_DEPTH } from "./json.ts";

const MASK = "[secret]";

/** Members whose values nobody may read, whatever they hold. `card` is a whole card, CVV and all. */
const SECRET_NAMES = new Set([
  ...["card", "card_number", "card_cvv", "cvv"],
  ...["token", "token_id", "saved_token_id", "payment_option_token", "bank_one_time_token"],
  ...["signature_key", "client_key", "server_key", "authorization"],
]);
const ANY_SECRET_NAME = [...SECRET_NAMES].join("|");
const SECRET_MEMBER = new RegExp(`"(?:${ANY_SECRET_NAME})"\\s*:\\s*`, "gi");
const SECRET_PARAMETER = new RegExp(`([?&](?:${ANY_SECRET_NAME})=)[^&#\\s"]*`, "gi");

/** Numbers for customers to pay with, which may look like a card's. */
const PAYMENT_NUMBERS = "va_number|permata_va_number|bill_key|payment_code";
const PAYMENT_NUMBER = new RegExp(`^(?:${PAYMENT_NUMBERS})$`);

/** 13 digits and more, with single spaces or dashes between them, that are no number to pay with. */
const DIGITS = new RegExp(
  `(?<!"(?:${PAYMENT_NUMBERS})"\\s*:\\s*"?)(?<!\\d)\\d(?:[ -]?\\d){12,}`,
  "g",
);

/** The way into somebody's 3-D Secure page; JSON may escape the slashes. */
const REDIRECT_TOKEN = /(3ds\\?\/redirect\\?\/)[^"\s/?\\]+/gi;

const AUTHORIZATION = /\b(Basic|Bearer)\s+[\w+/=.~-]{16,}/gi;

/** Works on broken and cut JSON, too. `secrets` are blotted out wherever they occur. */
export function maskText(text: string, secrets: string[] = []): string {
  return maskMembers(blotOut(text, secrets))
    .replace(SECRET_PARAMETER, `$1${MASK}`)
    .replace(REDIRECT_TOKEN, `$1${MASK}`)
    .replace(AUTHORIZATION, `$1 ${MASK}`)
    .replace(DIGITS, (digits) => maskCards(digits, MASK));
}

/** The same for a parsed body. */
export function maskData(data: Json, secrets: string[], depth = 0): Json {
  // Nothing of the gateway's is that deep, and the stack is not endless.
  if (depth > MAX_DEPTH) return "…";
  if (typeof data === "string") return maskText(data, secrets);
  if (typeof data === "number") return maskText(String(data)) === String(data) ? data : MASK;
  if (Array.isArray(data)) return data.map((item) => maskData(item, secrets, depth + 1));
  if (typeof data !== "object" || data === null) return data;
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      maskText(name, secrets),
      isSecretName(name) && value !== null
        ? MASK
        : isPaymentNumber(name) && typeof value === "string"
        ? blotOut(value, secrets)
        : maskData(value, secrets, depth + 1),
    ]),
  );
}

/** One for customers to pay with. */
export function isPaymentNumber(name: string): boolean {
  return PAYMENT_NUMBER.test(name);
}

export function isSecretName(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase());
}

/** Bodies of the gateway's have two or three; one with thousands must not cost a minute to mask. */
const MAX_SECRETS = 50;

/** The values of a body's secret members. */
function secretsIn(data: Json): string[] {
  const found: string[] = [];
  collectSecrets(data, false, 0, found);
  return found;
}

function collectSecrets(data: Json, isSecret: boolean, depth: number, found: string[]): void {
  if (found.length >= MAX_SECRETS || depth > MAX_DEPTH) return;
  if (typeof data === "object" && data !== null) {
    for (const name in data) {
      const isInSecret = isSecret || isSecretName(name);
      collectSecrets((data as JsonObject)[name]!, isInSecret, depth + 1, found);
    }
  } else if (isSecret && (typeof data === "string" || typeof data === "number")) {
    found.push(String(data));
  }
}

/** The same list where there is nothing to add: what was made ready for it is found again. */
export function withSecretsIn(secrets: string[], ...bodies: Json[]): string[] {
  const more = bodies.flatMap(secretsIn);
  return more.length > 0 ? [...secrets, ...more] : secrets;
}

function blotOut(text: string, secrets: string[]): string {
  return secrets.length === 0 ? text : text.replace(patternOf(secrets), MASK);
}

/** What is shorter than a word could be anything, and what is short only counts as a whole word. */
const [SHORTEST, SHORT] = [3, 8];

/** A body is masked piece by piece, with the same secrets for all of them. */
const patterns = new WeakMap<string[], RegExp>();

function patternOf(secrets: string[]): RegExp {
  const known = patterns.get(secrets);
  if (known) return known;
  // The longest first: a secret inside another must not leave that one's rest behind.
  const spellings = secrets.filter(({ length }) => length >= SHORTEST).flatMap(spellingsOf)
    .sort((a, b) => b.length - a.length)
    .map((each) =>
      each.length < SHORT ? `(?<!\\w)${RegExp.escape(each)}(?!\\w)` : RegExp.escape(each)
    );
  const pattern = new RegExp(spellings.join("|") || "(?!)", "g");
  patterns.set(secrets, pattern);
  return pattern;
}

/** As it is, in a URL's path, in a URL's query, and in JSON with slashes escaped or not. */
function spellingsOf(secret: string): string[] {
  const wellFormed = secret.toWellFormed();
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    ...[
      secret,
      encodeURIComponent(wellFormed),
      `${new URLSearchParams({ "": wellFormed })}`.slice(1),
    ],
    ...[json, json.replaceAll("/", "\\/")],
  ];
}

function maskMembers(text: string): string {
  let clean = "";
  let from = 0;
  for (const { index, 0: member } of text.matchAll(SECRET_MEMBER)) {
    // Inside of one that is masked already.
    if (index < from) continue;
    const start = index + member.length;
    const end = endOfValue(text, start);
    const value = text.slice(start, end);
    clean += text.slice(from, start) + (value === "null" || value === "" ? value : `"${MASK}"`);
    from = end;
  }
  return clean + text.slice(from);
}

/** Where the JSON value that starts here ends, or the text does. */
function endOfValue(text: string, start: number): number {
  const token = /"[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$)|[[{]|[\]}]|[^\s,"[\]{}]+|[\s,]+/y;
  token.lastIndex = start;
  let depth = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [piece] = match;
    if (piece === "{" || piece === "[") depth++;
    else if (piece === "}" || piece === "]") depth--;
    if (depth < 0) return match.index;
    if (depth === 0) return token.lastIndex;
  }
  return text.length;
}
