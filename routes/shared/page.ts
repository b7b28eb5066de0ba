/** Cursor pagination of lists: `limit`, an opaque `cursor`, and the `Link` to the next page. */

import { Buffer } from "node:buffer";
import { z } from "@hono/zod-openapi";
import { unsentExample } from "../../openapi/components.ts";

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 50;
const LIMIT_RULE = `must be a whole number from 1 to ${MAX_LIMIT}`;

/** Query parameters of every list. */
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
    description: "Position where the page starts. Copy the value from the URL in `Link`.",
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

type QueryValue = string | number | Date | undefined;

/** The `Link` header for the page after the row `next`; no header if `next` is null. */
export function linkHeader(
  path: string,
  query: Record<string, QueryValue | readonly string[]>,
  next: string | null,
  encode: (next: string) => string = encodeCursor,
): Record<string, string> {
  if (next === null) return {};
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...query, cursor: encode(next) })) {
    for (const each of [value].flat() as QueryValue[]) {
      if (each !== undefined) search.append(name, each instanceof Date ? each.toJSON() : `${each}`);
    }
  }
  return { Link: `<${path}?${search}>; rel="next"` };
}

/** Not recognizable as an id, so that callers treat it as opaque and its content can change. */
function encodeCursor(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

function decodeCursor(cursor: string, context: z.RefinementCtx): string {
  const hex = Buffer.from(cursor, "base64url").toString("hex");
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  if (id !== hex && encodeCursor(id) === cursor) return id;
  context.addIssue({ code: "custom", message: "must be a cursor from a Link header" });
  return z.NEVER;
}
