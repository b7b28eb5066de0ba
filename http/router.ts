/** The router that every resource uses, and the data that accompanies a request. */

import { OpenAPIHono, type z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Caller } from "../core/auth/caller.ts";
import { type ErrorCode, type FieldError, ServiceError } from "../core/errors.ts";
import { MAX_UNKNOWN } from "../core/fields/input.ts";
import type { Log } from "../core/telemetry/log.ts";

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
  /** If the response is a problem: its code and some members, for the request log and the audit. */
  problem: ProblemSummary | null;
  /** The id of the resource for the audit, if the path does not contain it. Set by the route. */
  resourceId: string | null;
  /** Set by a route if the request has changed nothing. */
  isAuditExempt: boolean;
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
      if (!result.success) throw validationError(result.error.issues.flatMap(fieldErrors));
    },
  });
}

type Issue = z.core.$ZodIssue;

/** An issue about unknown members becomes one error for each of the first `MAX_UNKNOWN`. */
function fieldErrors(issue: Issue): FieldError[] {
  const { path, message } = issue;
  if (issue.code !== "unrecognized_keys") {
    return [{ field: path.length > 0 ? path.join(".") : "body", message }];
  }
  const keys = issue.keys.slice(0, MAX_UNKNOWN);
  const messages = message.split("\n");
  return keys.map((key, index) => ({
    field: [...path, shorten(key)].join("."),
    message: messages[index]!,
  }));
}

/** Callers choose the names of unknown members, so a name can be empty or very long. */
export function shorten(name: string): string {
  if (name === "") return '""';
  return name.length > 64 ? `${name.slice(0, 64).toWellFormed()}…` : name;
}

/**
 * The maximum number of reported errors, so that a huge invalid body does not get a huge response.
 */
const MAX_FIELD_ERRORS = 20;

export function validationError(all: FieldError[]): ServiceError {
  const errors = all.slice(0, MAX_FIELD_ERRORS);
  const detail = errors.map(({ field, message }) => `${field}: ${message}`).join("; ");
  return new ServiceError("validation_error", { detail, members: { errors } });
}
