/**
 * Rejects query parameters that a route does not have, and repeated ones that take a single value.
 */

import { z } from "@hono/zod-openapi";
import type { FieldError } from "../../core/errors.ts";
import { describeUnknown, MAX_UNKNOWN } from "../../core/input_fields.ts";
import { type Router, shorten, validationError } from "../shared/router.ts";

/** Throws a validation error if the query of a URL is invalid. */
export type CheckQuery = (url: string) => void;

/** The checks of a router's routes, by method and path: `get /payments/`. */
export function createQueryChecks(router: Router): Map<string, CheckQuery> {
  const checks = new Map<string, CheckQuery>();
  for (const definition of router.openAPIRegistry.definitions) {
    if (definition.type !== "route") continue;
    const { method, path, request } = definition.route;
    const query = request?.query as z.ZodObject | undefined;
    checks.set(routeName(method, path.replaceAll(/\{(\w+)\}/g, ":$1")), createCheck(query));
  }
  return checks;
}

export function routeName(method: string, path: string): string {
  return `${method.toLowerCase()} ${path}`;
}

function createCheck(query: z.ZodObject | undefined): CheckQuery {
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
