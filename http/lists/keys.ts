/** The query parameters of the list of API keys, and its cursor. */

import { Buffer } from "node:buffer";
import { z } from "@hono/zod-openapi";
import { API_KEY_PREFIX } from "../../core/secrets/api_key.ts";
import { unsentExample } from "../../openapi/components.ts";
import { paging } from "./page.ts";

export const KeyListQuery = z.object({
  limit: paging.limit,
  cursor: z.string().transform(decodeKeyCursor).optional().openapi({
    type: "string",
    description: "Where the page starts. Copy the value from the URL in `Link`.",
    param: { examples: unsentExample("Z2tfcTgzdkVqUlc") },
  }),
});

/** A cursor is the prefix of the last key on the previous page. */
export function encodeKeyCursor(prefix: string): string {
  return Buffer.from(prefix).toString("base64url");
}

function decodeKeyCursor(cursor: string, context: z.RefinementCtx): string {
  const prefix = Buffer.from(cursor, "base64url").toString();
  if (API_KEY_PREFIX.test(prefix) && encodeKeyCursor(prefix) === cursor) return prefix;
  context.addIssue({ code: "custom", message: "must be a cursor from a Link header" });
  return z.NEVER;
}
