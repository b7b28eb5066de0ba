/** What actions on a resource have in common: they can be repeated safely, and need no body. */

import type { z } from "@hono/zod-openapi";
import type { Examples } from "./example.ts";
import { nullIsLeftOut, object } from "./fields.ts";
import { IdempotencyHeaders } from "./idempotency.ts";

/** For actions that need no input; whatever is in the body is ignored. */
const NothingSchema = nullIsLeftOut(object({}));

/** The request of such an action. */
export const NOTHING = {
  schema: NothingSchema,
  description: "Nothing is needed: leave it out, or send `{}`.",
  examples: { nothing: { summary: "Nothing", value: {} } },
};

interface ActionBody<Body extends z.ZodType> {
  schema: Body;
  description: string;
  examples: Examples<z.input<Body>>;
}

export function actionRequest<Path extends z.ZodObject, Body extends z.ZodType>(
  params: Path,
  { schema, description, examples }: ActionBody<Body>,
) {
  return {
    params,
    headers: IdempotencyHeaders,
    body: { required: false, description, content: { "application/json": { schema, examples } } },
  } as const;
}

/** Where a key of this action counts: the path without the prefix that all paths have. */
export function scopeOf(path: string, id: string): string {
  return `POST ${path.replace("{pk}", id)}`;
}
