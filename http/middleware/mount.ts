/**
 * Adds a resource's routes to the app, each behind authentication and the checks of body and query.
 */

import type { Handler, Hono } from "hono";
import { METHOD_NAME_ALL } from "hono/router";
import type { AppEnv } from "../router.ts";
import { jsonBody, limitsOf } from "./json_body.ts";
import { type CheckRequest, routeName } from "./request_checks.ts";
import type { RequireCaller } from "./require_caller.ts";

/** What a request must pass on every route except the public ones. */
export interface Guards {
  requireCaller: RequireCaller;
  requestChecks: Map<string, CheckRequest>;
}

/**
 * The handlers of these routes check and read the body themselves: it is a large file and not JSON.
 */
const READ_THEIR_BODY = new Set(["/reconciliations/"]);

/**
 * Wraps the first handler of each route instead of adding a Hono middleware. A request for an
 * unknown path then gets 404 or 405 even without a credential. If the caller is cached, a route
 * without validation responds without creating a promise, which saves time. `guards` is null for
 * public routes. These ignore unknown query parameters: the gateway's notifications must arrive
 * even if their URL has a query.
 */
export function mount(
  app: Hono<AppEnv>,
  basePath: string,
  router: Pick<Hono<AppEnv>, "routes">,
  guards: Guards | null,
): void {
  const byRoute = Map.groupBy(router.routes, ({ method, path }) => `${method} ${path}`);
  for (const routes of byRoute.values()) {
    const { method, path } = routes[0]!;
    // A middleware would run before the routes of other resources, and match unknown paths.
    if (method === METHOD_NAME_ALL) {
      throw new Error(`${path}: a resource may have routes only, not middleware`);
    }
    const handlers: Handler<AppEnv>[] = routes.map(({ handler }) => handler);
    // A public route checks the body itself, because it counts a body that is too complex towards
    // its rate limit.
    if (method !== "GET" && !READ_THEIR_BODY.has(path)) {
      handlers.unshift(jsonBody(guards && limitsOf(path)));
    }
    const [first, ...rest] = handlers;
    const route = basePath + path;
    const check = guards?.requestChecks.get(routeName(method, path));
    app.on(method, [route], guarded(route, guards, check, first!), ...rest);
  }
}

function guarded(
  route: string,
  guards: Guards | null,
  check: CheckRequest | undefined,
  handler: Handler<AppEnv>,
): Handler<AppEnv> {
  const handle: Handler<AppEnv> = function handle(c, next) {
    check?.(c.req.raw);
    return handler(c, next);
  };
  return function guarded(c, next) {
    c.env.route = route;
    const required = guards?.requireCaller(c);
    return required instanceof Promise ? required.then(() => handle(c, next)) : handle(c, next);
  };
}
