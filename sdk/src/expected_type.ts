/** Tells the service's answers from a proxy's, which may well have a status that says all is well. */

import type { ResolvedRequestOptions } from "#api/client";
import { mediaType } from "./media_type.ts";

/** Without it nothing at all would pass for a payment, and a page for a stream that has ended. */
export async function demandExpectedType(
  response: Response,
  _request: Request,
  { parseAs }: ResolvedRequestOptions,
): Promise<Response> {
  if (!response.ok || response.status === 204) return response;
  const expected = parseAs === "stream" ? "text/event-stream" : "application/json";
  const type = mediaType(response);
  if (type === expected) return response;
  await response.body?.cancel();
  throw new TypeError(`${type ?? "nothing"} where the service has ${expected}`);
}

/** The service has objects and lists, never a `null` or a word alone. */
export function demandObject(data: unknown): Promise<void> {
  if (typeof data !== "object" || data === null) {
    throw new TypeError(`${JSON.stringify(data)} where the service has an object or a list`);
  }
  return Promise.resolve();
}
