/** Hangs a resource's routes into the app, each behind the door. */

import type { Handler, Hono } from "hono";
import { METHOD_NAME_ALL } from "hono/router";
import type { AppEnv } from "../shared/request_context.ts";
import type { Admit } from "./admit.ts";
import { jsonBody } from "./json_body.ts";

/**
 * The door is a function around a route's first handler, not a middleware before all of them: what
 * does not exist is told so (404, 405) without a credential, and a route that validates nothing
 * answers a known caller without a single promise. `admit` is null for what is open to everybody.
 */
export function mount(
  app: Hono<AppEnv>,
  basePath: string,
  router: Pick<Hono<AppEnv>, "routes">,
  admit: Admit | null,
): void {
  const takeJson = jsonBody();
  const byRoute = Map.groupBy(router.routes, ({ method, path }) => `${method} ${path}`);
  for (const routes of byRoute.values()) {
    const { method, path } = routes[0]!;
    // It would stand before everybody's routes, and make every path one that exists.
    if (method === METHOD_NAME_ALL) {
      throw new Error(`${path}: a resource has routes, not middleware`);
    }
    const handlers: Handler<AppEnv>[] = routes.map(({ handler }) => handler);
    if (method !== "GET") handlers.unshift(takeJson);
    const [first, ...rest] = handlers;
    app.on(method, [basePath + path], door(basePath + path, admit, first!), ...rest);
  }
}

function door(route: string, admit: Admit | null, handler: Handler<AppEnv>): Handler<AppEnv> {
  return function door(c, next) {
    c.env.route = route;
    const admitted = admit?.(c);
    return admitted instanceof Promise ? admitted.then(() => handler(c, next)) : handler(c, next);
  };
}
