/** Lets a body be left out where nothing in it is needed. */

import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./request_context.ts";

/** No body is an empty object, whether or not it is called JSON: clients differ in that. */
export const optionalBody: MiddlewareHandler<AppEnv> = async function optionalBody(c, next) {
  if (await c.req.text() === "") {
    const headers = new Headers(c.req.raw.headers);
    headers.set("Content-Type", "application/json");
    c.req.raw = new Request(c.req.url, { method: c.req.method, headers });
    c.req.bodyCache.text = Promise.resolve("{}") as never;
  }
  await next();
};
