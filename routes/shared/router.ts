/** The kind of router every resource uses: validation failures become problem documents. */

import { OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv } from "./request_context.ts";
import { validationError } from "./problem.ts";

export type Router = OpenAPIHono<AppEnv>;

export function createRouter(): Router {
  return new OpenAPIHono<AppEnv>({
    defaultHook(result) {
      if (result.success) return;
      throw validationError(result.error.issues.map(({ path, message }) => ({
        field: path.length > 0 ? path.join(".") : "body",
        message,
      })));
    },
  });
}
