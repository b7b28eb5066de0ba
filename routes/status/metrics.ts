/** `GET /metrics/`: all metrics of the service, for Prometheus. */

import { createHash, timingSafeEqual } from "node:crypto";
import { createRoute, z } from "@hono/zod-openapi";
import { type Caller, requireReadAll } from "../../core/auth/caller.ts";
import { createMetricsRenderer, type MetricsSource } from "../../core/status/metrics.ts";
import { VERSION } from "../../openapi/document.ts";
import type { RequireCaller } from "../../http/middleware/require_caller.ts";
import { COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";

const EXAMPLE = `# HELP payment_gateway_charges_total Charges by payment type and result
# TYPE payment_gateway_charges_total counter
payment_gateway_charges_total{payment_type="gopay",result="pending"} 41
`;

const metricsRoute = createRoute({
  method: "get",
  path: "/metrics/",
  operationId: "getMetrics",
  summary: "Get the metrics",
  description:
    "Returns all metrics in the text format of Prometheus: requests, charges by type and result, " +
    "notifications by result, calls to the gateway by operation, jobs, webhook deliveries, events, " +
    "the event loop, memory, the database pool and the build. Prometheus can also read them with the " +
    "token of the setting `METRICS_TOKEN` instead of an API key. While the database is down, the " +
    "metrics that are read from it are missing. Staff and viewers only; other callers get " +
    "`forbidden`.",
  tags: ["Health"],
  responses: {
    200: {
      description: "The metrics",
      content: {
        "text/plain": {
          schema: z.string().openapi({ description: "Metrics, in the text format of Prometheus." }),
          examples: { metrics: { summary: "A counter", value: EXAMPLE } },
        },
      },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

export function createMetricsRoutes(service: Omit<MetricsSource, "version">): Router {
  const router = createRouter();
  const render = createMetricsRenderer({ ...service, version: VERSION });
  router.openapi(metricsRoute, async (c) => {
    requireReadAll(callerOf(c));
    return c.text(await render(), 200, {
      "Content-Type": "text/plain; version=0.0.4; charset=utf-8",
    });
  });
  return router;
}

/** The caller of requests with the token. The token is valid on this route only. */
const MONITORING: Caller = {
  userId: "monitoring",
  isStaff: false,
  isViewer: true,
  credential: "api_key",
  keyPrefix: null,
};

/**
 * Accepts the token without a query of the database, so that it works while the database is down.
 */
export function acceptMetricsToken(
  token: string | null,
  requireCaller: RequireCaller,
): RequireCaller {
  if (token === null) return requireCaller;
  const expected = hash(token);
  return (c) => {
    const sent = c.req.header("authorization")?.match(/^Bearer +(\S+)$/i)?.[1];
    if (sent === undefined || !timingSafeEqual(hash(sent), expected)) return requireCaller(c);
    c.env.caller = MONITORING;
  };
}

/** Tokens are compared by hash, because `timingSafeEqual` needs values of the same length. */
function hash(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
