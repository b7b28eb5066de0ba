/** `GET /jobs/`: what is done outside of requests, a page at a time. */

import { createRoute, z } from "@hono/zod-openapi";
import { listJobs, type ReadDeps } from "../../core/jobs/read.ts";
import { JOB_STATUSES } from "../../db/jobs.ts";
import { unsent } from "../../openapi/components.ts";
import { basePathOf, callerOf } from "../shared/request_context.ts";
import { OF_CALLERS } from "../shared/codes.ts";
import { oneOf, text } from "../shared/fields.ts";
import { linkHeader, NEXT_PAGE, paging } from "../shared/page.ts";
import { problems } from "../shared/problem_responses.ts";
import type { Router } from "../shared/router.ts";
import { JOB_PAGE } from "../schemas/job_examples.ts";
import { JobSchema } from "../schemas/job.ts";

const path = "/jobs/";

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listJobs",
  summary: "List jobs",
  description:
    "What waits, runs, or is over and not yet forgotten, newest first. Use `status=failed` to " +
    "find what was given up, and why. Follow `Link` for the next page until there is none. For " +
    "staff; others get `forbidden`, and read their own jobs one by one.",
  tags: ["Jobs"],
  request: {
    query: z.object({
      task: text(255).optional().openapi({
        description: "Only those of this `task`.",
        param: { examples: unsent("process_charge_async") },
      }),
      status: oneOf(JOB_STATUSES).optional().openapi({
        description: "Only those with this `status`.",
        param: { examples: unsent("failed") },
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
    ...problems("validation_error", "forbidden", ...OF_CALLERS),
  },
});

export function addList(router: Router, deps: ReadDeps): void {
  router.openapi(listRoute, async (c) => {
    const { task, status, limit, cursor } = c.req.valid("query");
    const { jobs, next } = await listJobs(deps, callerOf(c), {
      task: task ?? null,
      status: status ?? null,
      limit,
      before: cursor ?? null,
    });
    const query = { task, status, limit };
    return c.json(jobs, 200, linkHeader(basePathOf(c, path) + path, query, next));
  });
}
