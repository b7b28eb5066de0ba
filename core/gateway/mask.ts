/** Masks card numbers, tokens, keys and signatures in requests to the gateway and its responses. */

import { type Json, type JsonObject, MAX_DEPTH } from "./json.ts";

const MASK = "[secret]";

/** Fields whose values are always masked. `card` is an object with the number and the CVV. */
const SECRET_NAMES = new Set([
  ...["card", "card_number", "card_cvv", "cvv"],
  ...["token", "token_id", "saved_token_id", "payment_option_token", "bank_one_time_token"],
  ...["signature_key", "client_key", "server_key", "authorization"],
]);
const ANY_SECRET_NAME = [...SECRET_NAMES].join("|");
const SECRET_FIELD = new RegExp(`"(?:${ANY_SECRET_NAME})"\\s*:\\s*`, "gi");
const SECRET_PARAMETER = new RegExp(`([?&](?:${ANY_SECRET_NAME})=)[^&#\\s"]*`, "gi");

/** Numbers that customers pay with; they can look like card numbers but must stay readable. */
const PAYMENT_NUMBERS = "va_number|permata_va_number|bill_key|payment_code";
const PAYMENT_NUMBER = new RegExp(`^(?:${PAYMENT_NUMBERS})$`);

/**
 * 13 or more digits, with single spaces or dashes between them, outside of payment numbers. UUIDs
 * can contain as many, so they are matched first, and kept: a notification names its payment or
 * subscription with one.
 */
const UUID_OR_DIGITS = new RegExp(
  "(\\b[\\da-fA-F]{8}(?:-[\\da-fA-F]{4}){3}-[\\da-fA-F]{12}\\b)|" +
    `(?<!"(?:${PAYMENT_NUMBERS})"\\s*:\\s*"?)(?<!\\d)\\d(?:[ -]?\\d){12,}`,
  "g",
);

/** The token in the URL of a 3-D Secure or Snap page; JSON may escape the slashes. */
const REDIRECT_TOKEN =
  /((?:3ds\\?\/redirect|snap\\?\/v\d\\?\/(?:redirection|vtweb|transactions))\\?\/)[^"\s/?\\]+/gi;

/** The link to a customer's page of this service, which the gateway is told to return to. */
const PAGE_LINK = /(\/pay\\?\/)[\w-]{44}/g;

const AUTHORIZATION = /\b(Basic|Bearer)\s+[\w+/=.~-]{16,}/gi;

/** Also works on invalid and truncated JSON. `secrets` are masked wherever they occur. */
export function maskText(text: string, secrets: string[] = []): string {
  return maskSecretFields(maskSecrets(text, secrets))
    .replace(SECRET_PARAMETER, `$1${MASK}`)
    .replace(REDIRECT_TOKEN, `$1${MASK}`)
    .replace(PAGE_LINK, `$1${MASK}`)
    .replace(AUTHORIZATION, `$1 ${MASK}`)
    .replace(UUID_OR_DIGITS, (digits, uuid?: string) => uuid ?? maskCardNumbers(digits));
}

/** Like `maskText`, for a parsed body. */
export function maskData(data: Json, secrets: string[], depth = 0): Json {
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
        ? maskSecrets(value, secrets)
        : maskData(value, secrets, depth + 1),
    ]),
  );
}

export function isPaymentNumber(name: string): boolean {
  return PAYMENT_NUMBER.test(name);
}

export function isSecretName(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase());
}

/** The gateway's bodies contain two or three secrets; masking thousands would take minutes. */
const MAX_SECRETS = 50;

/** The values of a body's secret fields. */
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

/**
 * Returns `secrets` and the secrets in the bodies. If the bodies have none, returns the same array,
 * because its pattern is cached.
 */
export function withSecretsIn(secrets: string[], ...bodies: Json[]): string[] {
  const more = bodies.flatMap(secretsIn);
  return more.length > 0 ? [...secrets, ...more] : secrets;
}

function maskSecrets(text: string, secrets: string[]): string {
  return secrets.length === 0 ? text : text.replace(patternOf(secrets), MASK);
}

/**
 * Secrets shorter than the first length are ignored, because they would match everywhere. Secrets
 * shorter than the second length must match as a whole word.
 */
const MIN_SECRET_LENGTH = 3;
const MIN_PARTIAL_MATCH_LENGTH = 8;

/** Cached, because a body is masked value by value, always with the same array of secrets. */
const patterns = new WeakMap<string[], RegExp>();

function patternOf(secrets: string[]): RegExp {
  const known = patterns.get(secrets);
  if (known) return known;
  // Longest first: if a secret contains another, masking the inner one first would leave the rest.
  const encodings = secrets.filter(({ length }) => length >= MIN_SECRET_LENGTH).flatMap(encodingsOf)
    .sort((a, b) => b.length - a.length)
    .map((each) =>
      each.length < MIN_PARTIAL_MATCH_LENGTH
        ? `(?<!\\w)${RegExp.escape(each)}(?!\\w)`
        : RegExp.escape(each)
    );
  const pattern = new RegExp(encodings.join("|") || "(?!)", "g");
  patterns.set(secrets, pattern);
  return pattern;
}

/** The secret in plain text, in a URL's path or query, and in JSON (slashes escaped or not). */
function encodingsOf(secret: string): string[] {
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

function maskSecretFields(text: string): string {
  let clean = "";
  let from = 0;
  for (const { index, 0: member } of text.matchAll(SECRET_FIELD)) {
    // Inside a value that is already masked.
    if (index < from) continue;
    const start = index + member.length;
    const end = endOfValue(text, start);
    const value = text.slice(start, end);
    clean += text.slice(from, start) + (value === "null" || value === "" ? value : `"${MASK}"`);
    from = end;
  }
  return clean + text.slice(from);
}

/** The index after the JSON value that starts at `start`, or the end of the text. */
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

const [MIN_CARD_DIGITS, MAX_CARD_DIGITS] = [13, 19];

/** Masks card numbers in groups of digits; other groups may come before and after a card number. */
function maskCardNumbers(text: string): string {
  let clean = "";
  let from = 0;
  for (const { index: start } of text.matchAll(/\d+/g)) {
    // Inside a number that is already masked.
    if (start < from) continue;
    const end = endOfCardNumber(text, start);
    if (end === null) continue;
    clean += text.slice(from, start) + MASK;
    from = end;
  }
  return clean + text.slice(from);
}

/** The end of the longest card number at `start`, or null. It must end where a digit group ends. */
function endOfCardNumber(text: string, start: number): number | null {
  let digits = "";
  let end: number | null = null;
  for (let at = start; at < text.length && digits.length < MAX_CARD_DIGITS; at++) {
    if (!isDigit(text[at])) continue;
    digits += text[at];
    const endsGroup = digits.length >= MIN_CARD_DIGITS && !isDigit(text[at + 1]);
    if (endsGroup && passesLuhn(digits)) end = at + 1;
  }
  return end;
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9";
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]);
    const doubled = place % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
