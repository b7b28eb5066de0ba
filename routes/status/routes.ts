/** `GET /status/`: how the service stands, at a glance. */

import { createRoute } from "@hono/zod-openapi";
import { readStatus, type StatusDeps } from "../../core/status/read.ts";
import { VERSION } from "../../openapi/document.ts";
import { callerOf } from "../shared/request_context.ts";
import { OF_CALLERS } from "../shared/codes.ts";
import { problems } from "../shared/problem_responses.ts";
import { createRouter, type Router } from "../shared/router.ts";
import { STATUSES } from "./examples.ts";
import { StatusSchema } from "./schemas.ts";

const statusRoute = createRoute({
  method: "get",
  path: "/status/",
  operationId: "getStatus",
  summary: "Get the status of the service",
  description:
    "What waits, what failed and what is late: jobs, the schedule, deliveries of events, " +
    "notifications, and what the gateway has not answered. For dashboards and alerts: " +
    "`schedule[].is_overdue`, a growing `oldest_…_seconds` and a `gateway` that is not " +
    "`closed` are what to look at. Cheap enough to be asked every few seconds, however much " +
    "there is. For staff; others get `forbidden`, and while the database is away it is " +
    "`unavailable`.",
  tags: ["Health"],
  responses: {
    200: {
      description: "How it stands",
      content: { "application/json": { schema: StatusSchema, examples: STATUSES } },
    },
    ...problems("forbidden", ...OF_CALLERS),
  },
});

export function createStatusRoutes(deps: StatusDeps): Router {
  const router = createRouter();
  const startedAt = new Date(deps.clock());
  router.openapi(statusRoute, async (c) => {
    const status = await readStatus(deps, callerOf(c), startedAt);
    return c.json({ version: VERSION, ...status }, 200);
  });
  return router;
}
