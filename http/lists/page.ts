/** Cursor pagination of lists: `limit`, an opaque `cursor`, and the `Link` to the next page. */

import { Buffer } from "node:buffer";
import { z } from "@hono/zod-openapi";
import { END_OF_TIMES } from "../../core/fields/input.ts";
import type { WalkCursor } from "../../core/lists/page.ts";
import { unsentExample } from "../../openapi/components.ts";

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 50;
const LIMIT_RULE = `must be a whole number from 1 to ${MAX_LIMIT}`;

/** Query parameters of most lists; `filteredPaging` has those of the others. */
export const paging = {
  limit: z.string(LIMIT_RULE).regex(/^(100|[1-9]\d?)$/, LIMIT_RULE).transform(Number)
    .default(DEFAULT_LIMIT).openapi({
      type: "integer",
      minimum: 1,
      maximum: MAX_LIMIT,
      default: DEFAULT_LIMIT,
      description: "Maximum number of items to return.",
      param: { examples: unsentExample(20) },
    }),
  cursor: z.string("must be sent only once").transform(decodeCursor).optional().openapi({
    type: "string",
    description: "Where the page starts. Copy the value from the URL in `Link`.",
    param: { examples: unsentExample("AZejwl9OfWGfCyxk0bCn5Q") },
  }),
};

/** Query parameters of a list whose pages may end early, and that may be sorted by a time. */
export const filteredPaging = {
  limit: paging.limit.openapi({
    description: "Maximum number of items to return. A page can have fewer, or none, although " +
      "there are more: follow `Link` until it is absent.",
  }),
  cursor: z.string("must be sent only once").transform(decodeWalkCursor).optional().openapi({
    type: "string",
    description: "Where the page starts. Copy the value from the URL in `Link`.",
    param: { examples: unsentExample("AZejwl9OfWGfCyxk0bCn5Q") },
  }),
};

export const NEXT_PAGE = {
  Link: {
    description: 'URL of the next page, `<…>; rel="next"` (RFC 8288). Absent on the last page.',
    schema: { type: "string" },
    example: '</payments/?limit=50&cursor=AZejwl9OfWGfCyxk0bCn5Q>; rel="next"',
  },
} as const;

type QueryValue = string | number | Date | readonly string[] | undefined;

/** The `Link` header for the page after the row `next`; no header if `next` is null. */
export function linkHeader(
  path: string,
  query: Record<string, QueryValue>,
  next: string | null,
  encode: (next: string) => string = encodeCursor,
): Record<string, string> {
  if (next === null) return {};
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...query, cursor: encode(next) })) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined) search.append(name, each instanceof Date ? each.toJSON() : `${each}`);
    }
  }
  return { Link: `<${path}?${search}>; rel="next"` };
}

/** Like `linkHeader`, for a list with `filteredPaging`. */
export function filteredLinkHeader(
  path: string,
  query: Record<string, QueryValue>,
  next: WalkCursor | null,
): Record<string, string> {
  return linkHeader(path, query, next && encodeWalkCursor(next), (cursor) => cursor);
}

/** The id and, in a list that is sorted by a time, the time in milliseconds. */
export function encodeWalkCursor({ id, at }: WalkCursor): string {
  const time = at ? at.getTime().toString(16).padStart(12, "0") : "";
  return Buffer.from(id.replaceAll("-", "") + time, "hex").toString("base64url");
}

function decodeWalkCursor(encoded: string, context: z.RefinementCtx): WalkCursor {
  const hex = Buffer.from(encoded, "base64url").toString("hex");
  const [, id, time] = hex.match(/^(.{32})(.{12})?$/) ?? [];
  const cursor = id && {
    id: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"),
    at: time ? new Date(parseInt(time, 16)) : null,
  };
  const isInRange = cursor && (cursor.at === null || cursor.at < END_OF_TIMES);
  if (isInRange && encodeWalkCursor(cursor) === encoded) return cursor;
  context.addIssue({ code: "custom", message: "must be a cursor from a Link header" });
  return z.NEVER;
}

/** Not recognizable as an id, so that callers treat it as opaque and its content can change. */
export function encodeCursor(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

function decodeCursor(cursor: string, context: z.RefinementCtx): string {
  const hex = Buffer.from(cursor, "base64url").toString("hex");
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  if (id !== hex && encodeCursor(id) === cursor) return id;
  context.addIssue({ code: "custom", message: "must be a cursor from a Link header" });
  return z.NEVER;
}
