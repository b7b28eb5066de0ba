/** `Idempotency-Key`: a repeated request returns the stored response instead of acting twice. */

import { z } from "@hono/zod-openapi";
import { createHash } from "node:crypto";
import type { RequestKey } from "../core/idempotency/keys.ts";
import { REPLAYED } from "../core/idempotency/reply.ts";
import { headerRef, unsentExample } from "../openapi/components.ts";

export const IdempotencyHeaders = z.object({
  "Idempotency-Key": z.string().regex(
    /^[\x20-\x7e]{1,255}$/,
    "must be 1 to 255 printable ASCII characters",
  ).optional().openapi({
    description:
      "A unique value that you choose for this operation, such as a UUID. After a timeout or a " +
      "broken connection, send the same request with the same key: the service returns the " +
      "response of the first request and does not perform the operation twice. Keys are valid " +
      "for at least 24 hours.",
    param: { examples: unsentExample("5f0c6d1e-0b57-4c39-8a3f-3f0f7d5d7a11") },
  }),
});

export const REPLAY_HEADER = { "Idempotency-Replayed": headerRef("IdempotencyReplayed") };

/** Null: the request has no key. A key is only valid for its `scope`: the method and the path. */
export function requestKeyOf(
  headers: z.output<typeof IdempotencyHeaders>,
  scope: string,
  input: unknown,
): RequestKey | null {
  const key = headers["Idempotency-Key"];
  return key === undefined ? null : { key, ...fingerprintRequest(scope, input) };
}

/** The idempotency scope of an action: method and path, without the base path. */
export function scopeOf(path: string, id: string, method = "POST"): string {
  return `${method} ${path.replace("{pk}", id)}`;
}

/** The part of a request that must be the same whenever its key is used. */
export function fingerprintRequest(scope: string, input: unknown): Omit<RequestKey, "key"> {
  return { scope, bodyHash: createHash("sha256").update(canonical(input)).digest() };
}

/** JSON without insignificant white space and with sorted members. */
function canonical(input: unknown): string {
  return JSON.stringify(input, (_name, value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
  });
}

export function replayHeader(isReplayed: boolean): Record<string, string> {
  return isReplayed ? REPLAYED : {};
}
