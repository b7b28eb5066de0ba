/** `GET /me/`: the caller that a credential belongs to. */

import { createRoute, z } from "@hono/zod-openapi";
import { roleOf } from "../../core/auth/caller.ts";
import type { Examples } from "../../core/fields/response.ts";
import { RoleSchema } from "./role.ts";
import { COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, createRouter } from "../../http/router.ts";

export const MeSchema = z.object({
  user_id: z.string().openapi({
    description: "User id of the caller.",
    example: "alice",
  }),
  is_staff: z.boolean().openapi({
    description: "True if the caller can read and change the resources of all users.",
    example: false,
  }),
  role: RoleSchema,
  credential: z.enum(["api_key", "jwt"]).openapi({
    description: "Kind of credential.",
    example: "api_key",
  }),
  key_prefix: z.string().nullable().openapi({
    description: "Visible prefix of the API key; null with a JWT.",
    example: "gk_q83vEjRW",
  }),
}).openapi("Caller", { description: "The caller that a credential belongs to." });

const CALLERS = {
  api_key: {
    summary: "With an API key",
    value: {
      user_id: "alice",
      is_staff: false,
      role: "user",
      credential: "api_key",
      key_prefix: "gk_q83vEjRW",
    },
  },
  jwt: {
    summary: "With a JWT",
    value: { user_id: "ops", is_staff: true, role: "staff", credential: "jwt", key_prefix: null },
  },
} satisfies Examples<z.output<typeof MeSchema>>;

const getMe = createRoute({
  method: "get",
  path: "/me/",
  operationId: "getCaller",
  summary: "Get the current caller",
  description:
    "Returns the user that the credential belongs to, and the `role` of the credential. Use it to " +
    "check that a credential works. If the credential is wrong, revoked or expired, the " +
    "error is `unauthenticated`; the response does not say which of the three.",
  tags: ["Callers"],
  responses: {
    200: {
      description: "The caller",
      content: { "application/json": { schema: MeSchema, examples: CALLERS } },
    },
    ...problems(...COMMON_ERRORS),
  },
});

export const me = createRouter();

me.openapi(getMe, (c) => {
  const caller = callerOf(c);
  const { userId, isStaff, credential, keyPrefix } = caller;
  const role = roleOf(caller);
  return c.json(
    { user_id: userId, is_staff: isStaff, role, credential, key_prefix: keyPrefix },
    200,
  );
});
