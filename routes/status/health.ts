/** `GET /health/…`: whether the process lives, and whether it should be given work. */

import { createRoute, z } from "@hono/zod-openapi";
import { ServiceError } from "../../core/errors.ts";
import type { GatewayClient } from "../../core/gateway/client.ts";
import { type Database, DatabaseUnavailable } from "../../db/database.ts";
import { findPending, type Migration } from "../../db/migrations.ts";
import { answerRef } from "../../openapi/components.ts";
import { problems } from "../shared/problem_responses.ts";
import { createRouter } from "../shared/router.ts";

export const LiveSchema = z.object({
  status: z.literal("live").openapi({ description: "Always the same." }),
}).openapi("Liveness", {
  description: "The process answers.",
});

export const ReadySchema = z.object({
  status: z.literal("ready").openapi({ description: "Always the same: else it is 503." }),
  checks: z.object({
    database: z.literal("up").openapi({ description: "It answers." }),
    migrations: z.literal("applied").openapi({ description: "It has all tables." }),
    gateway: z.enum(["closed", "open", "half_open"]).openapi({
      description:
        "State of the circuit breaker: calls are made, held back, or tried one at a time",
    }),
  }).openapi({ description: "What it needs, and how that stands." }),
}).openapi("Readiness", { description: "The service should be given work." });

const LIVE: z.output<typeof LiveSchema> = { status: "live" };

const READY: z.output<typeof ReadySchema> = {
  status: "ready",
  checks: { database: "up", migrations: "applied", gateway: "closed" },
};

const getLive = createRoute({
  method: "get",
  path: "/health/live/",
  operationId: "getLiveness",
  summary: "Check that the process lives",
  description:
    "For supervisors: answers as long as the process can answer at all, whatever the database and " +
    "the gateway do. Restart the process when this fails or takes longer than a few seconds, and " +
    "for no other reason.",
  tags: ["Health"],
  security: [],
  responses: {
    200: {
      description: "Alive",
      content: {
        "application/json": {
          schema: LiveSchema,
          examples: { live: { summary: "Alive", value: LIVE } },
        },
      },
    },
    400: answerRef("Unreadable"),
  },
});

const getReady = createRoute({
  method: "get",
  path: "/health/ready/",
  operationId: "getReadiness",
  summary: "Check that the service is ready",
  description:
    "For balancers: 503 (`unavailable`) while the database is away, lacks a migration, or the " +
    "service is about to end, and then requests belong elsewhere; `checks` says which it is. A " +
    "gateway that does not answer shows in `checks.gateway` and leaves it at 200: what is stored " +
    "here can be read all the same, and no other instance would reach the gateway either.",
  tags: ["Health"],
  security: [],
  responses: {
    200: {
      description: "Ready",
      content: {
        "application/json": {
          schema: ReadySchema,
          examples: { ready: { summary: "Ready", value: READY } },
        },
      },
    },
    400: answerRef("Unreadable"),
    ...problems("unavailable"),
  },
});

export interface HealthDeps {
  database: Database;
  migrations: Migration[];
  gateway: Pick<GatewayClient, "breakerState">;
  isDraining: () => boolean;
}

export function createHealth({ database, migrations, gateway, isDraining }: HealthDeps) {
  const health = createRouter();

  // Open to everybody, so however many ask at once, one query answers them.
  let asking: Promise<string[]> | null = null;
  function pendingMigrations(): Promise<string[]> {
    return asking ??= database.query((sql) => findPending(sql, migrations))
      .finally(() => asking = null);
  }

  health.openapi(getLive, (c) => c.json({ status: "live" as const }, 200));

  health.openapi(getReady, async (c) => {
    if (isDraining()) throw notReady("The service is about to end.");
    let pending: string[];
    try {
      pending = await pendingMigrations();
    } catch (cause) {
      if (!(cause instanceof DatabaseUnavailable)) throw cause;
      throw notReady("The database is not available.", { database: "down" }, cause);
    }
    if (pending.length > 0) {
      throw notReady("Migrations are pending.", { database: "up", migrations: "pending" });
    }
    return c.json({
      status: "ready" as const,
      checks: {
        database: "up" as const,
        migrations: "applied" as const,
        gateway: gateway.breakerState(),
      },
    }, 200);
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
