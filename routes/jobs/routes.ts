/** `/jobs/…`: lists, reads and retries background jobs. */

import { createRoute, z } from "@hono/zod-openapi";
import { oneOf, text } from "../../core/fields/input.ts";
import type { Caller } from "../../core/auth/caller.ts";
import { JOB_STATUSES, type JobView, listJobs, readJob } from "../../core/jobs/read.ts";
import { retryJob } from "../../core/jobs/retry.ts";
import { forCaller, type PaymentView } from "../../core/payments/views.ts";
import { unsentExample } from "../../openapi/components.ts";
import type { Service } from "../../core/service.ts";
import { JobSchema } from "./schema.ts";
import { JOB_PAGE, JOBS } from "./examples.ts";
import { IdempotencyHeaders, REPLAY_HEADER } from "../../http/idempotency.ts";
import { keepReply } from "../../http/keep_reply.ts";
import { linkHeader, NEXT_PAGE, paging } from "../../http/lists/page.ts";
import { basePathOf, parsePathId, pathId } from "../../http/paths.ts";
import {
  COMMON_ERRORS,
  EMPTY_BODY_ERRORS,
  KEY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";

const path = "/jobs/";

const params = z.object({ pk: pathId("The job's `id`.") });

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listJobs",
  summary: "List jobs",
  description:
    "Returns queued, running and finished jobs, newest first. Finished jobs are deleted after the " +
    "retention period. Use `status=failed` to find jobs that failed, and why. Follow `Link` until " +
    "it is absent. Staff and viewers only; other callers get `forbidden` and can " +
    "read their own jobs by id.",
  tags: ["Jobs"],
  request: {
    query: z.object({
      task: text(255).optional().openapi({
        description: "Return only jobs of this `task`.",
        param: { examples: unsentExample("process_charge_async") },
      }),
      status: oneOf(JOB_STATUSES).optional().openapi({
        description: "Return only jobs with this `status`.",
        param: { examples: unsentExample("failed") },
      }),
      ...paging,
    }),
  },
  responses: {
    200: {
      description: "A page of jobs",
      headers: NEXT_PAGE,
      content: { "application/json": { schema: z.array(JobSchema), examples: JOB_PAGE } },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

const readRoute = createRoute({
  method: "get",
  path: "/jobs/{pk}/",
  operationId: "getJob",
  summary: "Get a job",
  description:
    "Returns a job. After a 202, poll the URL in `Location` about once per second until the " +
    "status is `succeeded` or `failed`. The `result` of a succeeded job contains the same data " +
    "as the synchronous response; the `error` of a failed job starts with the error `code`. You " +
    "can read the jobs that you requested; staff and viewers can read all jobs. For any other " +
    "job, and for a job that was deleted after the retention period, the error is `not_found`.",
  tags: ["Jobs"],
  request: { params },
  responses: {
    200: {
      description: "The job",
      content: { "application/json": { schema: JobSchema, examples: JOBS } },
    },
    ...problems("not_found", ...COMMON_ERRORS),
  },
});

const retryRoute = createRoute({
  method: "post",
  path: "/jobs/{pk}/retry/",
  operationId: "retryJob",
  summary: "Retry a failed job",
  description:
    "Queues a failed job again and resets its attempt count. Use it after you have fixed the " +
    "cause. Steps that an earlier attempt completed are not repeated. Returns `invalid_state` " +
    "in four cases: the job is not `failed`; a job of the same task is already queued for the same " +
    "resource; it is a card charge, whose token is erased when the job ends (the caller can resend " +
    "the request with the same `Idempotency-Key`); or it is a charge or refund that was " +
    "requested more than 23 hours ago (read the job's `error` before you send a new request). No " +
    "body is needed. Staff only; other callers get `forbidden`.",
  tags: ["Jobs"],
  request: { params, headers: IdempotencyHeaders },
  responses: {
    200: {
      description: "The queued job",
      headers: REPLAY_HEADER,
      content: {
        "application/json": { schema: JobSchema, examples: { queued_charge: JOBS.queued_charge } },
      },
    },
    ...problems(
      "forbidden",
      "not_found",
      "invalid_state",
      ...EMPTY_BODY_ERRORS,
      ...KEY_ERRORS,
      ...COMMON_ERRORS,
    ),
  },
});

/** The payment of a charge or refund, as in the synchronous response to this caller. */
function withPaymentFor(service: Service, caller: Caller, job: JobView): JobView {
  const { result } = job;
  if (!result?.payment) return job;
  const payment = forCaller(service, caller, result.payment as PaymentView);
  return { ...job, result: { ...result, payment } };
}

export function createJobRoutes(service: Service): Router {
  const router = createRouter();
  router.openapi(listRoute, async (c) => {
    const { task, status, limit, cursor } = c.req.valid("query");
    const { jobs, next } = await listJobs(service, callerOf(c), {
      task: task ?? null,
      status: status ?? null,
      limit,
      before: cursor ?? null,
    });
    const query = { task, status, limit };
    return c.json(jobs, 200, linkHeader(basePathOf(c, path) + path, query, next));
  });
  router.openapi(readRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    const job = await readJob(service, callerOf(c), id);
    return c.json(withPaymentFor(service, callerOf(c), job), 200);
  });
  router.openapi(
    retryRoute,
    keepReply(service, async (c) => {
      const id = parsePathId(c.req.valid("param").pk);
      return c.json(await retryJob(service, callerOf(c), id), 200);
    }),
  );
  return router;
}
