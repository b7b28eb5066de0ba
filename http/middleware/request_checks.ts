/**
 * Rejects query parameters that a route does not have, repeated ones that take a single value, and
 * an `Idempotency-Key` that the route would ignore.
 */

import { z } from "@hono/zod-openapi";
import { type FieldError, invalidField, type ServiceError } from "../../core/errors.ts";
import { describeUnknown, MAX_UNKNOWN } from "../../core/fields/input.ts";
import { type Router, shorten, validationError } from "../router.ts";

/** Throws a validation error if the query or the `Idempotency-Key` of a request is invalid. */
export type CheckRequest = (request: Request) => void;

type CheckQuery = (url: string) => void;

/** The checks of a router's routes, by method and path: `get /payments/`. */
export function createRequestChecks(router: Router): Map<string, CheckRequest> {
  const checks = new Map<string, CheckRequest>();
  for (const definition of router.openAPIRegistry.definitions) {
    if (definition.type !== "route") continue;
    const { method, path, request } = definition.route;
    const checkQuery = createQueryCheck(request?.query as z.ZodObject | undefined);
    const headers = request?.headers as z.ZodObject | undefined;
    const takesKey = method === "get" || IDEMPOTENCY_KEY in (headers?.shape ?? {});
    checks.set(routeName(method, path.replaceAll(/\{(\w+)\}/g, ":$1")), (request) => {
      checkQuery(request.url);
      if (!takesKey && request.headers.has(IDEMPOTENCY_KEY)) throw keyNotTaken();
    });
  }
  return checks;
}

const IDEMPOTENCY_KEY = "Idempotency-Key";

/** A caller that sends a key expects that a repeated request has no second effect. */
function keyNotTaken(): ServiceError {
  return invalidField(
    IDEMPOTENCY_KEY,
    "is not supported by this operation; send the request without it",
  );
}

export function routeName(method: string, path: string): string {
  return `${method.toLowerCase()} ${path}`;
}

function createQueryCheck(query: z.ZodObject | undefined): CheckQuery {
  const shape = query?.shape ?? {};
  const known = Object.keys(shape);
  const repeatable = new Set(known.filter((name) => isList(shape[name]!)));
  return function checkQuery(url) {
    const start = url.indexOf("?");
    if (start === -1) return;
    const errors: FieldError[] = [];
    const seen = new Set<string>();
    for (const [name] of new URLSearchParams(url.slice(start))) {
      if (errors.length === MAX_UNKNOWN) break;
      const isRepeated = seen.size === seen.add(name).size;
      if (!known.includes(name)) {
        if (!isRepeated) {
          errors.push({ field: shorten(name), message: describeUnknown(name, known) });
        }
      } else if (isRepeated && !repeatable.has(name)) {
        errors.push({ field: name, message: "must be sent only once" });
      }
    }
    if (errors.length > 0) throw validationError(errors);
  };
}

/** Whether a parameter takes several values. */
function isList(schema: z.core.$ZodType): boolean {
  if (schema instanceof z.ZodArray) return true;
  const { def } = schema._zod as unknown as {
    def: {
      innerType?: z.core.$ZodType;
      in?: z.core.$ZodType;
      out?: z.core.$ZodType;
      options?: z.core.$ZodType[];
    };
  };
  return [def.innerType, def.in, def.out, ...def.options ?? []]
    .some((inner) => inner !== undefined && isList(inner));
}
