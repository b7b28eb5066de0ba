/** `Idempotency-Key`: asks for something once, however often the request is sent. */

import { createHash } from "node:crypto";
import { z } from "@hono/zod-openapi";
import type { KeyedAttempt } from "../../core/idempotency/attempt.ts";
import { headerRef, unsent } from "../../openapi/components.ts";
import { REPLAYED } from "../../core/idempotency/reply.ts";

export const IdempotencyHeaders = z.object({
  "Idempotency-Key": z.string().regex(
    /^[\x20-\x7e]{1,255}$/,
    "must be 1 to 255 printable ASCII characters",
  ).optional().openapi({
    description:
      "A value of your own, new for each thing you want done (a UUID is good). Send the " +
      "request again with the same key, after a broken connection for instance, and you get the " +
      "first answer again instead of a second payment or invoice. Kept for 24 hours.",
    param: { examples: unsent("5f0c6d1e-0b57-4c39-8a3f-3f0f7d5d7a11") },
  }),
});

export const REPLAY_HEADER = { "Idempotency-Replayed": headerRef("IdempotencyReplayed") };

/** Null without a key. `scope`: method and path, so that a key means nothing elsewhere. */
export function attemptOf(
  headers: z.output<typeof IdempotencyHeaders>,
  scope: string,
  input: unknown,
): KeyedAttempt | null {
  const key = headers["Idempotency-Key"];
  return key === undefined ? null : { key, ...questionOf(scope, input) };
}

/** What the same key has to come with. */
export function questionOf(scope: string, input: unknown): Omit<KeyedAttempt, "key"> {
  return { scope, bodyHash: createHash("sha256").update(canonical(input)).digest() };
}

/** The same for inputs that mean the same: white space and the order of members are nothing. */
function canonical(input: unknown): string {
  return JSON.stringify(input, (_name, value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
  });
}

/** The header that tells an answer given again. */
export function replayHeader(isReplayed: boolean): Record<string, string> {
  return isReplayed ? REPLAYED : {};
}
