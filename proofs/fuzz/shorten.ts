/** Finds the shortest request that still causes a finding. */

import type { Json } from "../../tests/support/gateway/sandbox.ts";
import type { FuzzRequest } from "./requests.ts";

const MAX_ATTEMPTS = 60;

/** `fails` sends a request, and says whether it still causes the finding. */
export async function shorten(
  request: FuzzRequest,
  fails: (request: FuzzRequest) => Promise<boolean>,
): Promise<FuzzRequest> {
  let shortest = request;
  let attempts = 0;
  let hasChanged = true;
  while (hasChanged) {
    hasChanged = false;
    for (const candidate of shorterForms(shortest)) {
      if (attempts++ >= MAX_ATTEMPTS) return shortest;
      if (!await fails(candidate)) continue;
      shortest = candidate;
      hasChanged = true;
      break;
    }
  }
  return shortest;
}

/** The request without one of its parts. */
function* shorterForms(request: FuzzRequest): Generator<FuzzRequest> {
  const { headers, query, body } = request;
  for (const name of Object.keys(headers)) {
    const { [name]: _, ...others } = headers;
    yield { ...request, headers: others };
  }
  for (const index of query.keys()) yield { ...request, query: query.toSpliced(index, 1) };
  if (body !== null) yield { ...request, body: null };
  if (typeof body !== "string") return;
  const value = parseQuietly(body);
  // A body that JSON.stringify would change is not shortened.
  if (value === undefined || JSON.stringify(value) !== body) return;
  for (const shorter of shorterValues(value)) {
    yield { ...request, body: JSON.stringify(shorter) };
  }
}

function* shorterValues(value: Json): Generator<Json> {
  if (typeof value === "string" && value.length > 8) yield value.slice(0, value.length / 2);
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    if (value.length > 1) yield value.slice(0, value.length / 2);
    for (const [index, item] of value.entries()) {
      for (const shorter of shorterValues(item)) yield value.with(index, shorter);
    }
    return;
  }
  for (const name of Object.keys(value)) {
    const { [name]: member, ...others } = value;
    yield others;
    for (const shorter of shorterValues(member)) yield { ...value, [name]: shorter };
  }
}

function parseQuietly(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
