/** What actions on a resource have in common: they can be repeated safely, and need no body. */

import type { z } from "@hono/zod-openapi";
import { nullIsLeftOut, object } from "./fields.ts";
import { IdempotencyHeaders } from "./idempotency.ts";

/** For actions that need no input; whatever is in the body is ignored. */
export const NothingSchema = nullIsLeftOut(object({}));

export function actionRequest<Path extends z.ZodObject, Body extends z.ZodType>(
  params: Path,
  schema: Body,
  description: string,
) {
  return {
    params,
    headers: IdempotencyHeaders,
    body: { required: false, description, content: { "application/json": { schema } } },
  } as const;
}

/** Where a key of this action counts: the path without the prefix that all paths have. */
export function scopeOf(path: string, id: string): string {
  return `POST ${path.replace("{pk}", id)}`;
}
