/** What the actions on a payment have in common: they can be repeated safely, and need no body. */

import type { z } from "@hono/zod-openapi";
import { IdempotencyHeaders } from "../idempotency.ts";
import { nullIsLeftOut, object } from "../fields.ts";
import { PaymentPath } from "./payment_id.ts";

/** For actions that need no input; whatever is in the body is ignored. */
export const NothingSchema = nullIsLeftOut(object({}));

export function actionRequest<T extends z.ZodType>(schema: T, description: string) {
  return {
    params: PaymentPath,
    headers: IdempotencyHeaders,
    body: { required: false, description, content: { "application/json": { schema } } },
  } as const;
}

/** Where a key of this action counts: the path without the prefix that all paths have. */
export function scopeOf(path: string, id: string): string {
  return `POST ${path.replace("{pk}", id)}`;
}
