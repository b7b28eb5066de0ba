/** The router that every resource uses, and the data that accompanies a request. */

import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Caller } from "../../core/auth/caller.ts";
import { type ErrorCode, type FieldError, ServiceError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";

/** Created for each request before routing; later steps fill in the route and the caller. */
export interface RequestContext {
  requestId: string;
  log: Log;
  /** The TCP connection, if there is one. Reading `remoteAddr` has a cost, so read it on demand. */
  connection: { remoteAddr?: Deno.Addr } | undefined;
  /** The pattern of the matched route, such as `/payments/:pk/`. */
  route: string | null;
  /** Set on every route that requires authentication. */
  caller: Caller | null;
  /** If the response is a problem: its code, and the ids in it. For the request log. */
  problem: ProblemSummary | null;
}

export interface ProblemSummary {
  code: ErrorCode;
  [id: string]: unknown;
}

export interface AppEnv {
  Bindings: RequestContext;
}

/** The caller of a route that requires authentication. */
export function callerOf(c: Context<AppEnv>): Caller {
  if (c.env.caller) return c.env.caller;
  throw new Error("This route does not authenticate its callers");
}

export type Router = OpenAPIHono<AppEnv>;

/** Turns validation failures into problem responses. */
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

/** The maximum number of reported errors, so that a huge invalid body does not get a huge response. */
const MAX_FIELD_ERRORS = 20;

function validationError(all: FieldError[]): ServiceError {
  const errors = all.slice(0, MAX_FIELD_ERRORS);
  const detail = errors.map(({ field, message }) => `${field}: ${message}`).join("; ");
  return new ServiceError("validation_error", { detail, members: { errors } });
}
