/** `GET /jobs/{id}/`: how a job stands. */

import { createRoute, z } from "@hono/zod-openapi";
import { type ReadDeps, readJob } from "../../core/jobs/read.ts";
import { callerOf } from "../shared/request_context.ts";
import { OF_CALLERS } from "../shared/codes.ts";
import { idOf, pathId } from "../shared/paths.ts";
import { problems } from "../shared/problem_responses.ts";
import type { Router } from "../shared/router.ts";
import { JOBS } from "../schemas/job_examples.ts";
import { JobSchema } from "../schemas/job.ts";

const readRoute = createRoute({
  method: "get",
  path: "/jobs/{id}/",
  operationId: "getJob",
  summary: "Get a job",
  description:
    "How far a job is, and what came of it: read it at the `Location` of a 202, every second " +
    "or so, until it is `succeeded` or `failed`. Once it is `succeeded`, its `result` holds " +
    "what the request would have been answered with; once it is `failed`, its `error` begins with " +
    "the `code` of the problem. For whoever asked for it, and for staff; to everybody else it " +
    "is `not_found`, and so is one that was deleted for its age.",
  tags: ["Jobs"],
  request: { params: z.object({ id: pathId("The job's `id`.") }) },
  responses: {
    200: {
      description: "The job",
      content: { "application/json": { schema: JobSchema, examples: JOBS } },
    },
    ...problems("not_found", ...OF_CALLERS),
  },
});

export function addRead(router: Router, deps: ReadDeps): void {
  router.openapi(
    readRoute,
    async (c) => c.json(await readJob(deps, callerOf(c), idOf(c.req.valid("param").id)), 200),
  );
}
