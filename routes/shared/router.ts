/** The router that every resource uses: validation failures become problem responses. */

import { OpenAPIHono } from "@hono/zod-openapi";
import { type FieldError, ServiceError } from "../../core/errors.ts";
import type { AppEnv } from "./request_context.ts";

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

/** Report at most 20 validation errors, so that a huge invalid body does not get a huge response. */
const MAX_FIELD_ERRORS = 20;

function validationError(all: FieldError[]): ServiceError {
  const errors = all.slice(0, MAX_FIELD_ERRORS);
  const detail = errors.map(({ field, message }) => `${field}: ${message}`).join("; ");
  return new ServiceError("validation_error", { detail, members: { errors } });
}
