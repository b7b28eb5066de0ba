/** Redacts secrets in text for logs and stored errors. */

const SECRETS: [pattern: RegExp, replacement: string][] = [
  // API keys; the public prefix stays readable.
  [/(gk_[\w-]{8})[\w-]{10,}/g, "$1…"],
  // JWTs.
  [/eyJ[\w-]+\.[\w-]+\.[\w-]*/g, "[token]"],
  // `Authorization` values of both schemes.
  [/\b(Bearer|Basic)\s+[^\s",]+/gi, "$1 [secret]"],
  // Passwords in URLs.
  [/\b(\w+:\/\/[^\s:@/]*):[^\s@/]*@/g, "$1:[secret]@"],
  // The gateway's keys.
  [/((?:SB-)?Mid-(?:server|client)-)[\w-]+/g, "$1[secret]"],
];

/**
 * Card numbers, with or without separators. One in 800 random UUIDs contains as many digits in a
 * row, so UUIDs are matched first, and kept: ids must stay readable in the log.
 */
const UUID_OR_CARD_NUMBER =
  /(\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b)|\b\d(?:[ -]?\d){12,18}\b/gi;

export function redact(text: string): string {
  return SECRETS.reduce((clean, [pattern, mask]) => clean.replace(pattern, mask), text)
    .replace(UUID_OR_CARD_NUMBER, (_, uuid?: string) => uuid ?? "[number]");
}
