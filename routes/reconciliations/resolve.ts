/**
 * `POST /reconciliations/{pk}/differences/{difference_id}/…/`: marks a difference as resolved or
 * open.
 */

import { createRoute, z } from "@hono/zod-openapi";
import { reopenDifference, resolveDifference } from "../../core/reports/reconciliations.ts";
import { IdempotencyHeaders, REPLAY_HEADER } from "../../http/idempotency.ts";
import { keepReply } from "../../http/keep_reply.ts";
import { parseDifferenceId, parsePathId, pathId } from "../../http/paths.ts";
import {
  CHANGE_ERRORS,
  EMPTY_BODY_ERRORS,
  KEY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";
import { DifferenceSchema, OPEN_DIFFERENCE, RESOLVED_DIFFERENCE } from "./schemas.ts";

const path = "/reconciliations/{pk}/differences/{difference_id}/";

export const differenceParams = z.object({
  pk: pathId("The reconciliation's `id`."),
  // Any text, because a malformed id is 404 and not 400.
  difference_id: z.string().openapi({
    type: "integer",
    format: "int32",
    description: "The difference's `id`.",
    example: 3,
  }),
});

const common = {
  method: "post" as const,
  tags: ["Reports"],
  request: { params: differenceParams, headers: IdempotencyHeaders },
};

const errorResponses = problems(
  "not_found",
  ...EMPTY_BODY_ERRORS,
  ...KEY_ERRORS,
  ...CHANGE_ERRORS,
);

const resolveRoute = createRoute({
  ...common,
  path: `${path}resolve/`,
  operationId: "resolveReconciliationDifference",
  summary: "Mark a difference as resolved",
  description: "Marks the difference as resolved, and stores the time and the user. Changes " +
    "nothing else. For a difference that is already resolved, nothing changes, and the " +
    "response shows who resolved it first. Until the file is compared, the error is `not_found`. No " +
    "body is needed. Staff only; other callers get `forbidden`.",
  responses: {
    200: {
      description: "The resolved difference",
      headers: REPLAY_HEADER,
      content: {
        "application/json": { schema: DifferenceSchema, examples: RESOLVED_DIFFERENCE },
      },
    },
    ...errorResponses,
  },
});

const reopenRoute = createRoute({
  ...common,
  path: `${path}reopen/`,
  operationId: "reopenReconciliationDifference",
  summary: "Mark a difference as open again",
  description:
    "Removes the mark of a resolved difference. For a difference that is open, nothing " +
    "changes. No body is needed. Staff only; other callers get `forbidden`.",
  responses: {
    200: {
      description: "The open difference",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: DifferenceSchema, examples: OPEN_DIFFERENCE } },
    },
    ...errorResponses,
  },
});

export function addResolve(router: Router, service: Service): void {
  router.openapi(
    resolveRoute,
    keepReply(service, async (c) => {
      const [id, number] = differenceIds(c.req.valid("param"));
      const { difference, isChanged } = await resolveDifference(service, callerOf(c), id, number);
      c.env.isAuditExempt = !isChanged;
      return c.json(difference, 200);
    }),
  );
  router.openapi(
    reopenRoute,
    keepReply(service, async (c) => {
      const [id, number] = differenceIds(c.req.valid("param"));
      const { difference, isChanged } = await reopenDifference(service, callerOf(c), id, number);
      c.env.isAuditExempt = !isChanged;
      return c.json(difference, 200);
    }),
  );
}

export function differenceIds(
  { pk, difference_id }: { pk: string; difference_id: string },
): [string, number] {
  return [parsePathId(pk), parseDifferenceId(difference_id)];
}
