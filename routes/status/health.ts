/** `GET /health/…`: liveness and readiness probes. */

import { createRoute, z } from "@hono/zod-openapi";
import { ServiceError } from "../../core/errors.ts";
import type { Service } from "../../core/service.ts";
import { createReadinessCheck } from "../../core/status/readiness.ts";
import { responseRef } from "../../openapi/components.ts";
import { problems } from "../../http/problems/responses.ts";
import { createRouter } from "../../http/router.ts";
import { gatewayState } from "./schemas.ts";
import { gatewayStateOf } from "../../core/status/status.ts";
import type { Migration } from "../../db/migrations/migrate.ts";

export const LiveSchema = z.object({
  status: z.literal("live").openapi({ description: "Always `live`." }),
}).openapi("Liveness", { description: "The process responds." });

export const ReadySchema = z.object({
  status: z.literal("ready").openapi({
    description: "Always `ready`; otherwise the response is a 503.",
  }),
  checks: z.object({
    database: z.literal("up").openapi({ description: "The database responds and accepts writes." }),
    migrations: z.literal("applied").openapi({ description: "All migrations are applied." }),
    gateway: gatewayState,
  }).openapi({ description: "State of each dependency." }),
}).openapi("Readiness", { description: "The instance can serve requests." });

export const LIVE: z.output<typeof LiveSchema> = { status: "live" };

const READY: z.output<typeof ReadySchema> = {
  status: "ready",
  checks: { database: "up", migrations: "applied", gateway: "ok" },
};

const getLive = createRoute({
  method: "get",
  path: "/health/live/",
  operationId: "getLiveness",
  summary: "Check liveness",
  description:
    "Liveness probe for process supervisors. Returns 200 as long as the process runs, even if " +
    "the database or the gateway is down. Restart the process only if this probe fails or takes " +
    "more than a few seconds.",
  tags: ["Health"],
  security: [],
  responses: {
    200: {
      description: "The process responds",
      content: {
        "application/json": {
          schema: LiveSchema,
          examples: { live: { summary: "Live", value: LIVE } },
        },
      },
    },
    400: responseRef("Unreadable"),
  },
});

const getReady = createRoute({
  method: "get",
  path: "/health/ready/",
  operationId: "getReadiness",
  summary: "Check readiness",
  description:
    "Readiness probe for load balancers. Returns 503 (`unavailable`) while the database is down " +
    "or accepts no writes, migrations are pending, the instance is starting or shutting down, or " +
    "settings are missing or invalid (on Deno Deploy): send requests to another instance. " +
    "`detail` gives the cause. While the gateway is down, the response is still 200 and " +
    "`checks.gateway` is `down`, because the instance can still return stored data.",
  tags: ["Health"],
  security: [],
  responses: {
    200: {
      description: "The instance is ready",
      content: {
        "application/json": {
          schema: ReadySchema,
          examples: { ready: { summary: "Ready", value: READY } },
        },
      },
    },
    400: responseRef("Unreadable"),
    ...problems("unavailable"),
  },
});

/** What the probes read. */
interface ProbedService extends Pick<Service, "database" | "gateway"> {
  migrations: Migration[];
  isDraining: () => boolean;
}

export function createHealthRoutes(service: ProbedService) {
  const { gateway, isDraining } = service;
  const health = createRouter();
  const checkReadiness = createReadinessCheck(service);

  health.openapi(getLive, (c) => c.json(LIVE, 200));

  health.openapi(getReady, async (c) => {
    if (isDraining()) {
      throw new ServiceError("unavailable", {
        detail: "The server is shutting down.",
        headers: { "Retry-After": "2" },
        isExpected: true,
      });
    }
    const { database, migrations, cause } = await checkReadiness();
    if (database === "down") throw notReady("The database is unavailable.", { database }, cause);
    if (database === "read_only") {
      throw notReady("The database accepts no writes.", { database }, cause);
    }
    if (migrations === "pending") {
      throw notReady("Migrations are pending. Run `deno task migrate`.", { database, migrations });
    }
    const checks = { database, migrations, gateway: gatewayStateOf(gateway.breakerState()) };
    return c.json({ status: "ready" as const, checks }, 200);
  });

  return health;
}

function notReady(detail: string, checks?: Record<string, string>, cause?: unknown): ServiceError {
  return new ServiceError("unavailable", {
    detail,
    headers: { "Retry-After": "2" },
    members: checks && { checks },
    cause,
  });
}
