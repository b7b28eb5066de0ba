/** Ids in paths, queries and headers, the base path, and the `Location` header. */

import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { API_KEY_PREFIX } from "../core/secrets/api_key.ts";
import { ServiceError } from "../core/errors.ts";
import { unsentExample } from "../openapi/components.ts";
import type { AppEnv } from "./router.ts";

/** Accepts any text: `parsePathId` checks it, because a malformed id must get 404, not 400. */
export function pathId(description: string) {
  return z.string().openapi({
    format: "uuid",
    description,
    example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  });
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Throws a 404 if the id is malformed. */
export function parsePathId(text: string): string {
  const id = text.toLowerCase();
  if (UUID.test(id)) return id;
  throw new ServiceError("not_found");
}

/** The id of a difference in a reconciliation. Throws a 404 if it is malformed. */
export function parseDifferenceId(text: string): number {
  if (/^-?[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new ServiceError("not_found");
}

/** The prefix of an API key. Throws a 404 if it is malformed. */
export function parsePrefix(text: string): string {
  if (API_KEY_PREFIX.test(text)) return text;
  throw new ServiceError("not_found");
}

/** An optional id in a query or a header, where a malformed id gets 400. */
export function optionalId(description: string) {
  return z.guid("must be a UUID").toLowerCase().optional().openapi({
    type: "string",
    format: "uuid",
    description,
    param: { examples: unsentExample("0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5") },
  });
}

/** The prefix of all routes (`BASE_PATH`). `path` is the matched route without the prefix. */
export function basePathOf(c: Context<AppEnv>, path: string): string {
  return c.env.route?.slice(0, -path.length) ?? "";
}

/** Documents the `Location` header of a response that creates a resource. */
export function locationHeader(resource: string, path: string) {
  return {
    Location: {
      description: `Path of the ${resource}.`,
      required: true,
      schema: { type: "string" },
      example: `${path}0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5/`,
    },
  } as const;
}
