/**
 * `POST /reconciliations/{pk}/…/take-over/`: takes over transactions of a report that the service
 * does not know.
 */

import { createRoute, z } from "@hono/zod-openapi";
import { takeOverDifference, takeOverMissing } from "../../core/reports/take_over.ts";
import { JobSchema } from "../jobs/schema.ts";
import { IdempotencyHeaders, REPLAY_HEADER } from "../../http/idempotency.ts";
import { keepReply } from "../../http/keep_reply.ts";
import { parsePathId, pathId } from "../../http/paths.ts";
import {
  CHANGE_ERRORS,
  EMPTY_BODY_ERRORS,
  GATEWAY_ERRORS,
  KEY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";
import { differenceIds, differenceParams } from "./resolve.ts";
import { DifferenceSchema, QUEUED_TAKE_OVER, TAKEN_OVER_DIFFERENCE } from "./schemas.ts";

const ERRORS = [
  "not_found",
  "invalid_state",
  ...EMPTY_BODY_ERRORS,
  ...KEY_ERRORS,
  ...CHANGE_ERRORS,
] as const;

const oneRoute = createRoute({
  method: "post",
  path: "/reconciliations/{pk}/differences/{difference_id}/take-over/",
  operationId: "takeOverReconciliationDifference",
  summary: "Take over a transaction that is missing here",
  description:
    "For a difference with the result `missing_here`: asks the gateway for the transaction, by the " +
    "transaction id of the line or else by its order id, stores it as a payment with the state " +
    "that the gateway reports, and marks the difference as resolved; `payment_id` is the payment. " +
    "The payment has no owner, unless it belongs to an invoice, a subscription or a charge of the " +
    "service. If it was taken over before, nothing changes.\n\n" +
    "The error is `invalid_state`, and the difference stays open, if the gateway does not have the " +
    "transaction, if its record differs from the line, or if the transaction may be that of a " +
    "charge that the gateway has not answered yet; `detail` says which. No body is needed. Staff " +
    "only; other callers get `forbidden`.",
  tags: ["Reports"],
  request: { params: differenceParams, headers: IdempotencyHeaders },
  responses: {
    200: {
      description: "The resolved difference",
      headers: REPLAY_HEADER,
      content: {
        "application/json": { schema: DifferenceSchema, examples: TAKEN_OVER_DIFFERENCE },
      },
    },
    ...problems(...ERRORS, ...GATEWAY_ERRORS),
  },
});

const allRoute = createRoute({
  method: "post",
  path: "/reconciliations/{pk}/take-over/",
  operationId: "takeOverReconciliation",
  summary: "Take over all transactions that are missing here",
  description:
    "Queues a job that takes over each open difference with the result `missing_here`, as " +
    "`POST /reconciliations/{pk}/differences/{difference_id}/take-over/` does, one after the " +
    "other. `GET /jobs/{pk}/` shows its `result`: how many were `taken_over`, how many `failed` " +
    "and stay open, and why (`problems`, the first 20). The job ends after 1,000 that failed. A " +
    "further request while the job is queued returns the same job. Until the file is compared, the " +
    "error is `invalid_state`. No body is needed. Staff only; other callers get `forbidden`.",
  tags: ["Reports"],
  request: {
    params: z.object({ pk: pathId("The reconciliation's `id`.") }),
    headers: IdempotencyHeaders,
  },
  responses: {
    202: {
      description: "The queued job",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: JobSchema, examples: QUEUED_TAKE_OVER } },
    },
    ...problems(...ERRORS),
  },
});

export function addTakeOver(router: Router, service: Service): void {
  router.openapi(
    oneRoute,
    keepReply(service, async (c) => {
      const [id, number] = differenceIds(c.req.valid("param"));
      const { difference, isChanged } = await takeOverDifference(service, callerOf(c), id, number);
      c.env.isAuditExempt = !isChanged;
      return c.json(difference, 200);
    }),
  );
  router.openapi(
    allRoute,
    keepReply(service, async (c) => {
      const id = parsePathId(c.req.valid("param").pk);
      return c.json(await takeOverMissing(service, callerOf(c), id), 202);
    }),
  );
}
