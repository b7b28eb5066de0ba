/** Blots secrets out of text on its way to a log. */

const SECRETS: [pattern: RegExp, replacement: string][] = [
  // API keys, whole; their public prefix stays to tell which.
  [/(gk_[\w-]{8})[\w-]{10,}/g, "$1…"],
  // JWTs.
  [/eyJ[\w-]+\.[\w-]+\.[\w-]*/g, "[token]"],
  // `Authorization` values, whatever their scheme.
  [/\b(Bearer|Basic)\s+[^\s",]+/gi, "$1 [secret]"],
  // Passwords in URLs.
  [/\b(\w+:\/\/[^\s:@/]*):[^\s@/]*@/g, "$1:[secret]@"],
  // The gateway's keys.
  [/((?:SB-)?Mid-(?:server|client)-)[\w-]+/g, "$1[secret]"],
  // Card numbers, grouped or not.
  [/\b\d(?:[ -]?\d){12,18}\b/g, "[number]"],
];

export function redact(text: string): string {
  return SECRETS.reduce((clean, [pattern, mask]) => clean.replace(pattern, mask), text);
}
