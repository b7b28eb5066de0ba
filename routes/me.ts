/** `GET /me/`: who the caller is. */

import { createRoute, z } from "@hono/zod-openapi";
import { callerOf } from "./shared/request_context.ts";
import type { Examples } from "./shared/example.ts";
import { problems } from "./shared/problem_responses.ts";
import { createRouter } from "./shared/router.ts";

export const MeSchema = z.object({
  user_id: z.string().openapi({
    description: "Whose the credential is.",
    example: "alice",
  }),
  is_staff: z.boolean().openapi({
    description: "Whether they see and change everything.",
    example: false,
  }),
  credential: z.enum(["api_key", "jwt"]).openapi({
    description: "What they were known by.",
    example: "api_key",
  }),
  key_prefix: z.string().nullable().openapi({
    description: "The shown part of the API key; null with a JWT.",
    example: "gk_q83vEjRW",
  }),
}).openapi("Caller", { description: "Whom a credential belongs to." });

const CALLERS = {
  api_key: {
    summary: "By an API key",
    value: { user_id: "alice", is_staff: false, credential: "api_key", key_prefix: "gk_q83vEjRW" },
  },
  jwt: {
    summary: "By a JWT",
    value: { user_id: "ops", is_staff: true, credential: "jwt", key_prefix: null },
  },
} satisfies Examples<z.output<typeof MeSchema>>;

const getMe = createRoute({
  method: "get",
  path: "/me/",
  operationId: "getCaller",
  summary: "Get the caller",
  description:
    "Tells whom the credential belongs to, and whether that is staff: the quickest check that " +
    "it works. A credential that is wrong, revoked or expired is `unauthenticated`, without " +
    "saying which.",
  tags: ["Callers"],
  responses: {
    200: {
      description: "The caller",
      content: { "application/json": { schema: MeSchema, examples: CALLERS } },
    },
    ...problems("unauthenticated", "rate_limited", "unavailable"),
  },
});

export const me = createRouter();

me.openapi(getMe, (c) => {
  const { userId, isStaff, credential, keyPrefix } = callerOf(c);
  return c.json({ user_id: userId, is_staff: isStaff, credential, key_prefix: keyPrefix }, 200);
});
