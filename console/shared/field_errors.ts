/** The invalid fields of forms and filters. */

import type { z } from "@hono/zod-openapi";
import { type FieldError, ServiceError } from "../../core/errors.ts";

/** The invalid fields of a form or a query. */
export function issuesOf(error: z.ZodError): FieldError[] {
  return error.issues.map(({ path, message }) => ({ field: path.join("."), message }));
}

/** The errors of filters that the core refuses, such as an amount without a range of time. */
export function errorsOf(thrown: unknown): FieldError[] {
  if (!(thrown instanceof ServiceError) || thrown.code !== "validation_error") throw thrown;
  return thrown.members.errors as FieldError[];
}
