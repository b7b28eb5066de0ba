/** `GET /status/`: the state of the service, for staff and viewers. */

import { createRoute } from "@hono/zod-openapi";
import type { Service } from "../../core/service.ts";
import { gatewayStateOf, readStatus } from "../../core/status/status.ts";
import { VERSION } from "../../openapi/document.ts";
import { COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import { STATUSES } from "./examples.ts";
import { StatusSchema } from "./schemas.ts";
import type { Load } from "../../core/status/load.ts";

const statusRoute = createRoute({
  method: "get",
  path: "/status/",
  operationId: "getStatus",
  summary: "Get the service status",
  description:
    "Returns the state of jobs, the schedule, event and webhook deliveries, notifications, and " +
    "requests that the gateway has not answered. For dashboards and alerts: alert on " +
    "`schedule[].is_overdue`, on a growing `oldest_…_seconds`, and on a `gateway` that is not " +
    "`ok`. The cost does not depend on the amount of data, so you can poll every few seconds. " +
    "Returns `unavailable` while the database is down. Staff and viewers only; other callers get " +
    "`forbidden`.",
  tags: ["Health"],
  responses: {
    200: {
      description: "The status of the service",
      content: { "application/json": { schema: StatusSchema, examples: STATUSES } },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

export function createStatusRoutes(
  service: Service & { load: Load; build: string | null },
): Router {
  const router = createRouter();
  const startedAt = new Date(service.clock());
  router.openapi(statusRoute, async (c) => {
    const status = await readStatus(service, callerOf(c), startedAt);
    const states = {
      gateway: gatewayStateOf(status.gateway),
      gateway_reads: gatewayStateOf(status.gateway_reads),
      gateway_writes: gatewayStateOf(status.gateway_writes),
    };
    return c.json({ version: VERSION, build: service.build, ...status, ...states }, 200);
  });
  return router;
}
