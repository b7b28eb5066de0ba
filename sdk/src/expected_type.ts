/** Tells the service's answers from a proxy's, which may well have a status that says all is well. */

import type { ResolvedRequestOptions } from "#api/client";

/** Without it nothing at all would pass for a payment, and a page for a stream that has ended. */
export async function demandExpectedType(
  response: Response,
  _request: Request,
  { parseAs }: ResolvedRequestOptions,
): Promise<Response> {
  if (!response.ok || response.status === 204) return response;
  const expected = parseAs === "stream" ? "text/event-stream" : "application/json";
  const type = response.headers.get("Content-Type") ?? "nothing";
  if (type.toLowerCase().startsWith(expected)) return response;
  await response.body?.cancel();
  throw new TypeError(`${type} where the service has ${expected}`);
}
