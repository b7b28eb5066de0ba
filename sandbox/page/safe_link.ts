/** Addresses that clients sent, as far as a page may link to them. */

/** Only the web's own: a `javascript:` address would run with the rights of the page. */
export function safeUrl(address: unknown): URL | null {
  const url = typeof address === "string" ? URL.parse(address) : null;
  return url && /^https?:$/.test(url.protocol) ? url : null;
}
