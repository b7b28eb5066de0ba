/** Requests of actions on a resource: an optional body, and an optional `Idempotency-Key`. */

import type { z } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { object, omitNulls } from "../core/fields/input.ts";
import type { Examples } from "../core/fields/response.ts";
import { IdempotencyHeaders } from "./idempotency.ts";
import type { AppEnv } from "./router.ts";

/** For actions without input. */
const EmptyBodySchema = omitNulls(object({}));

/** The body of an action without input. `result` is the name of the example of its response. */
export function emptyBody(result: string) {
  return {
    schema: EmptyBodySchema,
    description: "No input is needed: omit the body, or send `{}`.",
    examples: { [result]: { summary: "Empty body", value: {} } },
  };
}

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

/**
 * Treats an empty body and the body `null` as `{}`, with or without a content type, because clients
 * differ in what they send for no body.
 */
export const optionalBody: MiddlewareHandler<AppEnv> = async function optionalBody(c, next) {
  if (["", "null"].includes((await c.req.text()).trim())) {
    const headers = new Headers(c.req.raw.headers);
    headers.set("Content-Type", "application/json");
    c.req.raw = new Request(c.req.url, { method: c.req.method, headers });
    c.req.bodyCache.text = Promise.resolve("{}") as never;
  }
  await next();
};
