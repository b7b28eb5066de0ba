/** `/keys/`: lists API keys, for staff and viewers; creates and revokes them, for staff. */

import { createRoute, z } from "@hono/zod-openapi";
import { listKeys, revokeKey } from "../../core/auth/manage_keys.ts";
import { createApiKeyOnce } from "../../core/idempotency/create_api_key_once.ts";
import { type Examples, nullableText, timestamp } from "../../core/fields/response.ts";
import type { Service } from "../../core/service.ts";
import { RoleSchema } from "./role.ts";
import { IdempotencyHeaders, REPLAY_HEADER, requestKeyOf } from "../../http/idempotency.ts";
import { keepReply } from "../../http/keep_reply.ts";
import { linkHeader, NEXT_PAGE } from "../../http/lists/page.ts";
import { basePathOf, parsePrefix } from "../../http/paths.ts";
import {
  CHANGE_ERRORS,
  COMMON_ERRORS,
  EMPTY_BODY_ERRORS,
  KEY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import { KeyInputSchema } from "../../core/auth/key_input.ts";
import { encodeKeyCursor, KeyListQuery } from "../../http/lists/keys.ts";

const path = "/keys/";

export const KeySchema = z.object({
  prefix: z.string().openapi({
    description: "The first characters of the key, which identify it.",
    example: "gk_q83vEjRW",
  }),
  user_id: z.string().openapi({
    description: "User of the key. What is created with the key belongs to this user.",
    example: "shop",
  }),
  role: RoleSchema,
  is_development: z.boolean().openapi({
    description: "True for the keys of `deno task start`, which are valid only in development.",
    example: false,
  }),
  name: nullableText.openapi({
    description: "Your own name for the key.",
    example: "web shop, 2027",
  }),
  order_prefix: nullableText.openapi({
    description: "What the user's order ids must begin with; null if the key has no prefix.",
    example: null,
  }),
  created_at: timestamp("When it was created."),
  last_used_at: timestamp("When it was last used, accurate to a minute; null if never.").nullable(),
  revoked_at: timestamp("When it was revoked; null if it is valid.").nullable()
    .openapi({ example: null }),
}).openapi("ApiKey", { description: "An API key, without its secret part." });

export const KeyWithSecretSchema = z.object({
  ...KeySchema.shape,
  key: z.string().openapi({
    description: "The API key. It is shown only here and cannot be read again.",
    example: "gk_q83vEjRW…",
  }),
}).openapi("ApiKeyWithSecret", { description: "A new API key." });

const SHOP_KEY: z.output<typeof KeySchema> = {
  prefix: "gk_q83vEjRW",
  user_id: "shop",
  role: "user",
  is_development: false,
  name: "web shop, 2027",
  order_prefix: null,
  created_at: "2026-03-05T04:12:09.114Z",
  last_used_at: null,
  revoked_at: null,
};

const KEY_PAGE = {
  page: {
    summary: "Two keys, one of them revoked",
    value: [
      { ...SHOP_KEY, last_used_at: "2026-03-05T04:15:40.871Z" },
      {
        ...SHOP_KEY,
        prefix: "gk_Zx0aT7bL",
        user_id: "audit",
        role: "viewer",
        name: null,
        created_at: "2026-01-12T02:00:00.250Z",
        revoked_at: "2026-03-01T08:01:15.366Z",
      },
    ],
  },
} satisfies Examples<z.output<typeof KeySchema>[]>;

const KEY_REQUESTS = {
  user: { summary: "For a shop", value: { user_id: "shop", name: "web shop, 2027" } },
  viewer: { summary: "For an auditor", value: { user_id: "audit", role: "viewer" } },
  prefix: {
    summary: "For a shop with its own order ids",
    value: { user_id: "tea-shop", order_prefix: "tea-" },
  },
} satisfies Examples<z.input<typeof KeyInputSchema>>;

const CREATED_KEYS = {
  user: { summary: "For a shop", value: { ...SHOP_KEY, key: "gk_q83vEjRW…" } },
  viewer: {
    summary: "For an auditor",
    value: {
      ...SHOP_KEY,
      prefix: "gk_Zx0aT7bL",
      user_id: "audit",
      role: "viewer",
      name: null,
      key: "gk_Zx0aT7bL…",
    },
  },
  prefix: {
    summary: "For a shop with its own order ids",
    value: {
      ...SHOP_KEY,
      prefix: "gk_m3VbY0Qc",
      user_id: "tea-shop",
      name: null,
      order_prefix: "tea-",
      key: "gk_m3VbY0Qc…",
    },
  },
} satisfies Examples<z.output<typeof KeyWithSecretSchema>>;

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listKeys",
  summary: "List API keys",
  description:
    "Returns all API keys, newest first: whose they are, what they may do, and when they were " +
    "last used. Their secrets are not included. Revoked keys stay in the list. Follow `Link` for " +
    "the next page until it is absent. Staff and viewers only; other callers get `forbidden`.",
  tags: ["Keys"],
  request: {
    query: KeyListQuery,
  },
  responses: {
    200: {
      description: "A page of keys",
      headers: NEXT_PAGE,
      content: { "application/json": { schema: z.array(KeySchema), examples: KEY_PAGE } },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

const createKeyRoute = createRoute({
  method: "post",
  path,
  operationId: "createKey",
  summary: "Create an API key",
  description:
    "Creates an API key for a user or a viewer, and returns it. The key is shown only once: store " +
    "it at once. Staff keys cannot be created here; use the command `keys create --staff`.\n\n" +
    "The service stores only a hash of the API key, and cannot return the key again. A repeated " +
    "request with the same `Idempotency-Key` creates no second key: it gets `invalid_state`, and " +
    "`prefix` names the key that the first request created. Revoke that key, and create another " +
    "one with a new `Idempotency-Key`. Staff only; other callers get `forbidden`.",
  tags: ["Keys"],
  request: {
    headers: IdempotencyHeaders,
    body: {
      required: true,
      content: { "application/json": { schema: KeyInputSchema, examples: KEY_REQUESTS } },
    },
  },
  responses: {
    201: {
      description: "The key, with its secret",
      content: { "application/json": { schema: KeyWithSecretSchema, examples: CREATED_KEYS } },
    },
    ...problems("invalid_state", ...KEYED_BODY_ERRORS, ...CHANGE_ERRORS),
  },
});

const KeyPath = z.object({
  prefix: z.string().openapi({
    description: "The key's `prefix`. Do not send the whole key: it would appear in the logs of " +
      "proxies.",
    example: "gk_q83vEjRW",
  }),
});

const revokeRoute = createRoute({
  method: "delete",
  path: "/keys/{prefix}/",
  operationId: "deleteKey",
  summary: "Revoke an API key",
  description:
    "Revokes a key of any role. It stops working on every instance within 5 seconds, and its open " +
    "event streams end within that time. The key stays in the list; revoking it again has no " +
    "effect. The last valid staff key cannot be revoked: the error is `invalid_state`. Staff only; " +
    "other callers get `forbidden`.",
  tags: ["Keys"],
  request: { params: KeyPath, headers: IdempotencyHeaders },
  responses: {
    204: { description: "The key is revoked", headers: REPLAY_HEADER },
    ...problems(
      "not_found",
      "invalid_state",
      ...EMPTY_BODY_ERRORS,
      ...KEY_ERRORS,
      ...CHANGE_ERRORS,
    ),
  },
});

export function createKeyRoutes(service: Service): Router {
  const router = createRouter();
  router.openapi(listRoute, async (c) => {
    const { limit, cursor } = c.req.valid("query");
    const { keys, next } = await listKeys(service, callerOf(c), { limit, before: cursor ?? null });
    const link = linkHeader(basePathOf(c, path) + path, { limit }, next, encodeKeyCursor);
    return c.json(keys, 200, link);
  });
  router.openapi(createKeyRoute, async (c) => {
    const { name = null, order_prefix = null, ...owner } = c.req.valid("json");
    const input = { ...owner, name, order_prefix };
    const requestKey = requestKeyOf(c.req.valid("header"), `POST ${path}`, input);
    const created = await createApiKeyOnce(service, callerOf(c), input, requestKey);
    c.env.resourceId = created.prefix;
    // The response contains a secret.
    return c.json(created, 201, { "Cache-Control": "no-store" });
  });
  router.openapi(
    revokeRoute,
    keepReply(service, async (c) => {
      await revokeKey(service, callerOf(c), parsePrefix(c.req.valid("param").prefix));
      return c.body(null, 204);
    }),
  );
  return router;
}
