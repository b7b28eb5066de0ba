/** `POST /jobs/{id}/retry/`: has a failed job run again. */

import { createRoute, z } from "@hono/zod-openapi";
import { type RetryDeps, retryJob } from "../../core/jobs/retry.ts";
import { callerOf } from "../app_env.ts";
import { OF_CALLERS, OF_EMPTY_BODY } from "../codes.ts";
import { idOf, pathId } from "../path_id.ts";
import { problems } from "../problem_answers.ts";
import type { Router } from "../router.ts";
import { JobSchema } from "./schemas.ts";

const retryRoute = createRoute({
  method: "post",
  path: "/jobs/{id}/retry/",
  operationId: "retryJob",
  summary: "Run a failed job again",
  description:
    "Queues a job that was given up, with all its tries before it again. What an earlier try has " +
    "done is not done twice. A charge of a card cannot be run again: its token was erased when the " +
    "job ended. Nor can what was asked for more than 23 hours ago. It needs no body. For staff.",
  tags: ["Jobs"],
  request: { params: z.object({ id: pathId("The job's `id`.") }) },
  responses: {
    200: {
      description: "The job, which waits for its turn",
      content: { "application/json": { schema: JobSchema } },
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
