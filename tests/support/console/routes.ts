/** All routes of the console, so that a test of all pages and forms covers new ones, too. */

import { createConsole } from "../../../console/console.tsx";
import type { ConsoleService } from "../../../console/shared/base.tsx";
import type { TestApp } from "../app.ts";

export interface ConsoleRoute {
  method: string;
  /** Such as `/payments/:id/refund/`. */
  path: string;
}

export function routesOf({ service, streams, config }: TestApp): ConsoleRoute[] {
  // Only the routes are read: none of them is called, so the other members are not used.
  const consoleService = { ...config, ...service, streams } as unknown as ConsoleService;
  const all = createConsole(consoleService).routes.map(({ method, path }) => ({ method, path }));
  const isMiddleware = ({ method, path }: ConsoleRoute) => method === "ALL" || path.includes("*");
  const names = all.filter((route) => !isMiddleware(route)).map((each) => JSON.stringify(each));
  return [...new Set(names)].map((name) => JSON.parse(name));
}

/** The values of path parameters: by their name, or by the first part of the path. */
export type PathValues = Record<string, string>;

/** The address of a route. A parameter without a value gets `otherwise`. */
export function addressOf({ path }: ConsoleRoute, values: PathValues, otherwise: string): string {
  const [, area = ""] = path.split("/");
  const filled = path.replaceAll(
    /:(\w+)(\{[^}]*\})?/g,
    (_, name) => (name === "id" ? values[area] : values[name]) ?? otherwise,
  );
  return `/console${filled}`;
}
