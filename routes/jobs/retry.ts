/** `POST /jobs/{id}/retry/`: has a failed job run again. */

import { createRoute, z } from "@hono/zod-openapi";
import { type RetryDeps, retryJob } from "../../core/jobs/retry.ts";
import { callerOf } from "../shared/request_context.ts";
import { OF_CALLERS, OF_EMPTY_BODY } from "../shared/codes.ts";
import { idOf, pathId } from "../shared/paths.ts";
import { problems } from "../shared/problem_responses.ts";
import type { Router } from "../shared/router.ts";
import { JOBS } from "../schemas/job_examples.ts";
import { JobSchema } from "../schemas/job.ts";

const retryRoute = createRoute({
  method: "post",
  path: "/jobs/{id}/retry/",
  operationId: "retryJob",
  summary: "Retry a failed job",
  description:
    "Queues a job that was given up, with all its tries before it again: when what it failed " +
    "for is mended. What an earlier try has done is not done twice. A job that is not `failed` " +
    "is `invalid_state`. So is a charge of a card, whose token was erased when the job ended, " +
    "and what was asked for more than 23 hours ago: those take a new request. It needs no " +
    "body. For staff; others get `forbidden`.",
  tags: ["Jobs"],
  request: { params: z.object({ id: pathId("The job's `id`.") }) },
  responses: {
    200: {
      description: "The job, which waits for its turn",
      content: {
        "application/json": { schema: JobSchema, examples: { queued_charge: JOBS.queued_charge } },
      },
    },
    ...problems(
      "forbidden",
      "not_found",
      "invalid_state",
      ...OF_EMPTY_BODY,
      ...OF_CALLERS,
    ),
  },
});

export function addRetry(router: Router, deps: RetryDeps): void {
  router.openapi(
    retryRoute,
    async (c) => c.json(await retryJob(deps, callerOf(c), idOf(c.req.valid("param").id)), 200),
  );
}
