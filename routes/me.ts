/** `GET /me/`: who the caller is. */

import { createRoute, z } from "@hono/zod-openapi";
import { callerOf } from "./app_env.ts";
import { problems } from "./problem_answers.ts";
import { createRouter } from "./router.ts";

export const MeSchema = z.object({
  user_id: z.string().openapi({ example: "alice" }),
  is_staff: z.boolean().openapi({ example: false }),
  credential: z.enum(["api_key", "jwt"]).openapi({ example: "api_key" }),
  key_prefix: z.string().nullable().openapi({
    description: "The shown part of the API key; null with a JWT.",
    example: "gk_q83vEjRW",
  }),
}).openapi("Caller");

const getMe = createRoute({
  method: "get",
  path: "/me/",
  operationId: "getCaller",
  summary: "Who am I?",
  description: "Tells whom the credential belongs to: the quickest check that it works.",
  tags: ["Callers"],
  responses: {
    200: {
      description: "The caller",
      content: { "application/json": { schema: MeSchema } },
    },
    ...problems("unauthenticated", "rate_limited", "unavailable"),
  },
});

export const me = createRouter();

me.openapi(getMe, (c) => {
  const { userId, isStaff, credential, keyPrefix } = callerOf(c);
  return c.json({ user_id: userId, is_staff: isStaff, credential, key_prefix: keyPrefix }, 200);
});
