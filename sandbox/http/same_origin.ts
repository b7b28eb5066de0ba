/** Whether a request is the user's own doing, and not that of some site open in the same browser. */

/** Browsers say where a request comes from; programs, which nobody can trick, say nothing. */
export function isFromElsewhere(headers: Headers): boolean {
  const from = headers.get("sec-fetch-site") ?? "none";
  return from !== "same-origin" && from !== "none";
}
