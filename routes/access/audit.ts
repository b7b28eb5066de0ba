/** `GET /audit/`: what callers changed, tried to change or exported, for staff and viewers. */

import { createRoute, z } from "@hono/zod-openapi";
import {
  AUDIT_OUTCOMES,
  type AuditView,
  listAudit,
  parseResourceId,
} from "../../core/audit/read.ts";
import { AUDIT_KINDS } from "../../core/audit/kinds.ts";
import { oneOf, text } from "../../core/fields/input.ts";
import { id, nullableText, timestamp } from "../../core/fields/response.ts";
import { unsentExample } from "../../openapi/components.ts";
import { createdRange } from "../../http/lists/filters.ts";
import { linkHeader, NEXT_PAGE, paging } from "../../http/lists/page.ts";
import { basePathOf } from "../../http/paths.ts";
import { COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";

const path = "/audit/";

const REFUND = "POST /payments/{pk}/refund/";

export const AuditEntrySchema = z.object({
  id,
  actor: z.string().openapi({
    description: "Who sent the request: `api_key:<prefix>` or `jwt:<subject>`.",
    example: "api_key:gk_Zr4kQ2mW",
  }),
  actor_name: nullableText.openapi({
    description: "The name of the API key (its user if it has no name), or the subject of the " +
      "JWT. Null if the key is not known.",
    example: "rina",
  }),
  user_id: nullableText.openapi({ description: "The caller's user.", example: "alice" }),
  action: z.string().openapi({
    description: "Method and route of the request. `GET` is recorded only for an export, a " +
      "forbidden read and a failed `check_status`.",
    example: REFUND,
  }),
  kind: nullableText.openapi({
    description: "What was done, whether by the API or in the console: a value of the filter " +
      "`kind`. Null for other actions, such as exports.",
    example: "refund",
  }),
  resource_id: nullableText.openapi({
    description: "The `id` in the path, or that of the created resource. For API keys: their " +
      "prefix.",
    example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  }),
  outcome: z.enum(AUDIT_OUTCOMES).openapi({
    description: "- `changed`: the request was executed, or accepted as a job; also a charge " +
      "that created a payment, unless the gateway rejected it\n" +
      "- `refused`: the response was an error; read `code` or, if it is null, the payment\n" +
      "- `exported`: the caller downloaded a list as a file",
    example: "changed",
  }),
  status: z.int().nullable().openapi({
    description: "HTTP status of the response. Null for a charge that created a payment: read " +
      "the payment.",
    example: 200,
  }),
  code: nullableText.openapi({
    description: "Error code of the response; null if there was no error, and for a charge that " +
      "created a payment.",
    example: null,
  }),
  attempts: z.int().openapi({
    description: "How many refused requests the entry stands for: equal ones within a few " +
      "seconds share an entry. Always 1 for other outcomes.",
    example: 1,
  }),
  request_id: nullableText.openapi({
    description: "`X-Request-Id` of the first attempt; null for a charge that created a payment.",
    example: "5b0c7a4e-2f61-4c1d-9a38-e1f06d7b9c25",
  }),
  created_at: timestamp("When the request was made."),
}).openapi("AuditEntry", {
  description: "A request of a caller that changed something, tried to, or exported a file.",
});

const CHARGE: AuditView = {
  id: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  actor: "api_key:gk_Zr4kQ2mW",
  actor_name: "rina",
  user_id: "alice",
  action: "POST /charge/",
  kind: "charge",
  resource_id: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  outcome: "changed",
  status: null,
  code: null,
  attempts: 1,
  request_id: null,
  created_at: "2026-03-05T04:12:09.114Z",
};

const AUDIT_PAGE = {
  page: {
    summary: "Three refused approvals in one entry, and a charge",
    value: [
      {
        ...CHARGE,
        id: "0197a3c6-77d0-7b90-8d13-2f6a4c8e0b51",
        action: "POST /reviews/{pk}/approve/",
        kind: "approve",
        outcome: "refused",
        status: 403,
        code: "forbidden",
        attempts: 3,
        request_id: "5b0c7a4e-2f61-4c1d-9a38-e1f06d7b9c25",
        created_at: "2026-03-05T04:20:31.402Z",
      } satisfies AuditView,
      CHARGE,
    ],
  },
};

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listAudit",
  summary: "List what callers changed",
  description:
    "Returns the requests of callers that changed something or exported a file, and those that " +
    "were refused, newest first. Use it to find out who did what: filter by `actor` to see what an API " +
    "key was used for, and by `resource_id` to see who acted on a payment. Entries are deleted " +
    "after the retention period. A page can have fewer than `limit` entries, or none, although " +
    "there are more: follow `Link` until it is absent. Staff and viewers only; other callers get " +
    "`forbidden`.",
  tags: ["Audit"],
  request: {
    query: z.object({
      actor: text(300).optional().openapi({
        description: "Only requests of this actor.",
        param: { examples: unsentExample("api_key:gk_Zr4kQ2mW") },
      }),
      resource_id: text(64).optional().openapi({
        description: "Only requests about the resource with this `id`, or the API key with this " +
          "prefix.",
        param: { examples: unsentExample("0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5") },
      }),
      action: text(300).optional().openapi({
        description: "Only requests with this `action`.",
        param: { examples: unsentExample(REFUND) },
      }),
      kind: oneOf(AUDIT_KINDS).optional().openapi({
        description: "Only requests of this `kind`, by the API and in the console.",
        param: { examples: unsentExample("refund") },
      }),
      outcome: oneOf(AUDIT_OUTCOMES).optional().openapi({
        description: "Only requests with this outcome.",
        param: { examples: unsentExample("refused") },
      }),
      ...createdRange("entries"),
      ...paging,
    }),
  },
  responses: {
    200: {
      description: "A page of entries",
      headers: NEXT_PAGE,
      content: {
        "application/json": { schema: z.array(AuditEntrySchema), examples: AUDIT_PAGE },
      },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

export function createAuditRoutes(service: Service): Router {
  const router = createRouter();
  router.openapi(listRoute, async (c) => {
    const { cursor, ...query } = c.req.valid("query");
    const { entries, next } = await listAudit(service, callerOf(c), {
      actor: query.actor ?? null,
      resourceId: query.resource_id === undefined ? null : parseResourceId(query.resource_id),
      action: query.action ?? null,
      kind: query.kind ?? null,
      outcome: query.outcome ?? null,
      createdFrom: query.created_from ?? null,
      createdTo: query.created_to ?? null,
      limit: query.limit,
      before: cursor ?? null,
    });
    return c.json(entries, 200, linkHeader(basePathOf(c, path) + path, query, next));
  });
  return router;
}
