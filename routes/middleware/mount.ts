/** Adds a resource's routes to the app, each behind authentication and the JSON body check. */

import type { Handler, Hono } from "hono";
import { METHOD_NAME_ALL } from "hono/router";
import type { AppEnv } from "../shared/router.ts";
import { jsonBody, limitsOf } from "./json_body.ts";
import type { RequireCaller } from "./require_caller.ts";

/**
 * Wraps the first handler of each route instead of adding a Hono middleware. Unknown paths then get 404
 * or 405 without a credential. If the caller is cached, a route without validation responds without
 * creating a promise, which saves time. `requireCaller` is null for public routes.
 */
export function mount(
  app: Hono<AppEnv>,
  basePath: string,
  router: Pick<Hono<AppEnv>, "routes">,
  requireCaller: RequireCaller | null,
): void {
  const byRoute = Map.groupBy(router.routes, ({ method, path }) => `${method} ${path}`);
  for (const routes of byRoute.values()) {
    const { method, path } = routes[0]!;
    // A middleware would run before the routes of other resources, and match unknown paths.
    if (method === METHOD_NAME_ALL) {
      throw new Error(`${path}: a resource may have routes only, not middleware`);
    }
    const handlers: Handler<AppEnv>[] = routes.map(({ handler }) => handler);
    // A public route counts a body that is too complex towards its rate limit, so the route checks it.
    if (method !== "GET") handlers.unshift(jsonBody(requireCaller && limitsOf(path)));
    const [first, ...rest] = handlers;
    const route = basePath + path;
    app.on(method, [route], withCaller(route, requireCaller, first!), ...rest);
  }
}

function withCaller(
  route: string,
  requireCaller: RequireCaller | null,
  handler: Handler<AppEnv>,
): Handler<AppEnv> {
  return function withCaller(c, next) {
    c.env.route = route;
    const required = requireCaller?.(c);
    return required instanceof Promise ? required.then(() => handler(c, next)) : handler(c, next);
  };
}
