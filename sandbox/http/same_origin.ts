/** Whether a request is the user's own doing, and not that of some site open in the same browser. */

/**
 * Browsers say where a request comes from; programs, which nobody can trick, say nothing. To plain
 * http addresses of a network they say it in `Origin` alone. A name that is not the sandbox's own may
 * be a stranger's that was made to point here.
 */
export function isFromElsewhere(headers: Headers, publicUrl: string): boolean {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site === null && origin === null) return false;
  const host = headers.get("host") ?? "";
  if (site !== null && site !== "same-origin" && site !== "none") return true;
  // Behind a proxy that has a name of its own for us.
  if (origin !== null && origin === URL.parse(publicUrl)?.origin) return false;
  if (origin !== null && URL.parse(origin)?.host !== host) return true;
  return !isOwnName(host, publicUrl);
}

function isOwnName(host: string, publicUrl: string): boolean {
  const name = URL.parse(`http://${host}`)?.hostname ?? "";
  return name === "localhost" || /^[\d.]+$|^\[/.test(name) || host === URL.parse(publicUrl)?.host;
}
