/** Checks keys and ids before a request is sent, and that a response comes from the service. */

import type { ResolvedRequestOptions } from "#api/client";

/** A missing environment variable often arrives as an empty key. */
export function requireKey(apiKey: string): string {
  if (typeof apiKey !== "string" || apiKey.trim() === "") {
    throw new TypeError("apiKey is empty. Pass an API key (gk_…) or a JWT");
  }
  return apiKey;
}

/** An empty id, or an id of dots only, would change the URL to that of another resource. */
export function requireIds(request: unknown): Promise<void> {
  const { path = {} } = request as { path?: Record<string, unknown> };
  for (const [name, id] of Object.entries(path)) {
    // Differences of a reconciliation have numbers as ids.
    const isId = typeof id === "string" ? !/^\.*$/.test(id) : Number.isSafeInteger(id);
    if (!isId) {
      throw new TypeError(`${name} must be an id, not ${JSON.stringify(id)}`);
    }
  }
  return Promise.resolve();
}

/** A proxy may return its own page with status 200, which is neither a payment nor a stream. */
export async function requireExpectedType(
  response: Response,
  _request: Request,
  { parseAs }: ResolvedRequestOptions,
): Promise<Response> {
  if (!response.ok || response.status === 204) return response;
  const expected = parseAs === "stream" ? ["text/event-stream", "text/csv"] : ["application/json"];
  const type = mediaType(response);
  if (type !== null && expected.includes(type)) return response;
  await response.body?.cancel();
  throw new TypeError(`expected ${expected.join(" or ")}, received ${type ?? "no content type"}`);
}

/** Every JSON response of the service is an object or an array. */
export function requireObject(data: unknown): Promise<void> {
  if (typeof data !== "object" || data === null) {
    throw new TypeError(`expected an object or an array, received ${JSON.stringify(data)}`);
  }
  return Promise.resolve();
}

/** The content type without parameters, such as `application/json`. */
export function mediaType(response?: Response): string | null {
  const [type] = response?.headers.get("Content-Type")?.split(";") ?? [];
  return type?.trim().toLowerCase() || null;
}
