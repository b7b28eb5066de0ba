/** Assembles the app: middleware, resources, the OpenAPI document, the pages and the console. */

import { Hono } from "hono";
import { getPath } from "hono/utils/url";
import { createConsole } from "./console/console.tsx";
import type { AuditRecorder } from "./core/audit/recorder.ts";
import { createAuthenticator } from "./core/auth/authenticator.ts";
import type { Clock } from "./core/time/clock.ts";
import type { ClockCheck } from "./core/time/clock_check.ts";
import type { Config } from "./core/config/config.ts";
import { describeSettings, type ShownConfig } from "./core/config/describe.ts";
import { ServiceError } from "./core/errors.ts";
import type { EventStreams } from "./core/events/streams.ts";
import type { GatewayClient } from "./core/gateway/client.ts";
import type { KeyReleases } from "./core/idempotency/key_releases.ts";
import type { Load } from "./core/status/load.ts";
import type { Log } from "./core/telemetry/log.ts";
import type { EventPublisher, JobQueue } from "./core/records/outbox.ts";
import { createExports } from "./core/reports/export_stream.ts";
import { createSecretBox } from "./core/secrets/secret_box.ts";
import type { Events } from "./core/subscribers/subscribe.ts";
import type { Poster } from "./core/webhooks/post.ts";
import type { Database } from "./db/connection/database.ts";
import type { LeaseHolder } from "./db/connection/instance_lock.ts";
import type { Migration } from "./db/migrations/migrate.ts";
import { createDocument, type Document } from "./openapi/document.ts";
import { createReference } from "./openapi/reference.ts";
import { createWelcomePages } from "./pages/welcome.ts";
import { createAuditRoutes } from "./routes/access/audit.ts";
import { createEventRoutes } from "./routes/events/routes.ts";
import { registerWebhookMessages } from "./routes/events/webhook_messages.ts";
import { createExportRoutes } from "./routes/exports/routes.ts";
import { createInvoiceRoutes } from "./routes/invoices/routes.ts";
import { createJobRoutes } from "./routes/jobs/routes.ts";
import { createKeyRoutes } from "./routes/access/keys.ts";
import { me } from "./routes/access/me.ts";
import { acceptMetricsToken, createMetricsRoutes } from "./routes/status/metrics.ts";
import { createAudit } from "./http/middleware/audit_requests.ts";
import { mount } from "./http/middleware/mount.ts";
import { createRateLimit } from "./http/middleware/rate_limit.ts";
import { createRequestChecks } from "./http/middleware/request_checks.ts";
import { createRequireCaller } from "./http/middleware/require_caller.ts";
import { createLoadShedder } from "./http/middleware/shed_load.ts";
import { type Fetch, wrapRequests } from "./http/middleware/wrap_requests.ts";
import { createReceiveRoute, describeGatewayMessage } from "./routes/notifications/receive.ts";
import { createNotificationRoutes } from "./routes/notifications/routes.ts";
import { createChargeRoutes } from "./routes/payments/charge.ts";
import { createReviewRoutes } from "./routes/payments/reviews.ts";
import { createPaymentRoutes } from "./routes/payments/routes.ts";
import { createRefundRoutes } from "./routes/refunds/routes.ts";
import { createReconciliationRoutes } from "./routes/reconciliations/routes.ts";
import { renderError } from "./http/problems/render.ts";
import { registerProblemExamples } from "./http/problems/responses.ts";
import { type AppEnv, createRouter, type Router } from "./http/router.ts";
import { createHealthRoutes } from "./routes/status/health.ts";
import { createStatusRoutes } from "./routes/status/routes.ts";
import { createStatsRoutes } from "./routes/stats/routes.ts";
import { createSubscriptionRoutes } from "./routes/subscriptions/routes.ts";
import { createTimelineRoutes } from "./routes/timelines/routes.ts";
import { createWebhookRoutes } from "./routes/webhook_endpoints/routes.ts";

export interface AppDeps {
  config:
    & ShownConfig
    & Pick<Config, "build" | "isEmbeddedDefault" | "metricsToken" | "trustedProxies">;
  database: Database;
  /** This instance as the holder of idempotency keys. */
  leaseHolder: LeaseHolder;
  keyReleases: KeyReleases;
  migrations: Migration[];
  gateway: GatewayClient;
  /** The same gateway with its own limit, so that checks of notifications do not delay callers. */
  background: GatewayClient;
  /** Receives the jobs that requests create. */
  jobQueue: JobQueue;
  /** In-process event subscribers. */
  events: Events;
  /** Server-sent event streams. */
  streams: EventStreams;
  publisher: EventPublisher;
  /** Sends webhooks. */
  poster: Poster;
  log: Log;
  /** Records what callers change, try to change, and export. */
  audit: AuditRecorder;
  clock: Clock;
  clockCheck: ClockCheck;
  /** The load of this instance. */
  load: Load;
  /** True while the service is shutting down. */
  isDraining: () => boolean;
  /** Prefilled on the reference page; null except in the embedded default. */
  developmentKey: string | null;
  /** Signs in to the console with one click; null except in the embedded default. */
  developmentStaffKey: string | null;
  /** The sandbox that runs with the service; the service's pages link to it. */
  sandboxUrl?: string | null;
  /** Additional routers of an embedding program, behind the same authentication. */
  resources?: Router[];
}

export interface App {
  fetch: Fetch;
  /** Sends a request without a port: `await app.request("/me/")`. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** The OpenAPI document; created at the first call. */
  document(): Document;
}

/** Has no side effects: opens no port or connection, and reads no environment. */
export function createApp(options: AppDeps): App {
  const { config, log, clock } = options;
  const deps = { ...options, keep: config.keep };
  const { basePath, rateLimit, trustedProxies } = config;
  const notificationDeps = { ...deps, confirm: config.notificationConfirm };
  const invoiceDeps = { ...deps, invoicePayments: config.invoicePayments };
  // The API and the console share the limits of open exports.
  const exports = createExports(deps);
  const secrets = createSecretBox(config.gateway.serverKey);
  const webhookRules = { allowPrivate: config.webhookAllowPrivate };
  const publicRoutes = [
    createHealthRoutes(deps),
    createReceiveRoute({
      ...notificationDeps,
      // A separate limiter: requests from many addresses must not evict the counts of callers.
      limit: createRateLimit(rateLimit, clock),
      trustedProxies,
    }),
  ];
  const statusRoutes = createStatusRoutes({ ...deps, build: config.build });
  const metricsRoutes = createMetricsRoutes({ ...deps, build: config.build });
  const acceptDevelopmentKeys = config.isEmbeddedDefault;
  const resources = [
    me,
    createKeyRoutes({ ...deps, acceptDevelopmentKeys }),
    createChargeRoutes({ ...deps, secrets }),
    createPaymentRoutes(deps),
    createRefundRoutes(deps),
    createReviewRoutes(deps),
    createInvoiceRoutes(invoiceDeps),
    createSubscriptionRoutes(deps),
    createTimelineRoutes(deps),
    createNotificationRoutes(notificationDeps),
    createEventRoutes(deps),
    createExportRoutes({ ...invoiceDeps, exports }),
    createStatsRoutes(deps),
    createReconciliationRoutes(deps),
    createWebhookRoutes({ ...deps, secrets, webhookRules }),
    statusRoutes,
    metricsRoutes,
    createJobRoutes(deps),
    createAuditRoutes(deps),
    ...deps.resources ?? [],
  ];

  // Only for the document; requests go to the routers that are mounted below.
  const documented = createRouter();
  for (const router of [...publicRoutes, ...resources]) documented.route("/", router);
  registerProblemExamples(documented);
  registerWebhookMessages(documented);
  describeGatewayMessage(documented);
  let created: Document | undefined;
  // Created on demand, because creating it takes longer than everything else at the start.
  const document = () => created ??= createDocument(documented, basePath);
  const reference = createReference({ document, basePath, developmentKey: deps.developmentKey });

  const authenticate = createAuthenticator({ ...deps, jwt: config.jwt, acceptDevelopmentKeys });
  const callerLimit = createRateLimit(rateLimit, clock);
  const requireCaller = createRequireCaller({
    authenticate,
    rateLimit: callerLimit,
    trustedProxies,
  });

  const app = new Hono<AppEnv>({ getPath: pathWithSlash });
  const welcome = createWelcomePages({ basePath, sandboxUrl: deps.sandboxUrl ?? null });
  for (const router of [...publicRoutes, reference, welcome]) mount(app, basePath, router, null);
  const requireMetricsReader = acceptMetricsToken(config.metricsToken, requireCaller);
  const requireCallerUnderLoad = createLoadShedder(deps.load, requireCaller);
  for (const router of resources) {
    // Like notifications and probes, the status and the metrics are served under any load.
    const guard = router === metricsRoutes
      ? requireMetricsReader
      : router === statusRoutes
      ? requireCaller
      : requireCallerUnderLoad;
    mount(app, basePath, router, {
      requireCaller: guard,
      requestChecks: createRequestChecks(router),
    });
  }
  app.route(
    `${basePath}/console/`,
    createConsole({
      ...notificationDeps,
      invoicePayments: config.invoicePayments,
      exports,
      secrets,
      webhookRules,
      basePath,
      authenticate,
      trustedProxies,
      acceptDevelopmentKeys,
      rateLimit: callerLimit,
      settings: describeSettings(config),
    }),
  );
  app.onError((error, c) => renderError(error, c.env));
  app.notFound((c) => {
    const allowed = allowedMethods(app, pathWithSlash(c.req.raw));
    if (allowed.length === 0) throw new ServiceError("not_found");
    const Allow = allowed.join(", ");
    throw new ServiceError("method_not_allowed", {
      detail: `Allowed methods: ${Allow}.`,
      headers: { Allow },
    });
  });

  const fetch = wrapRequests((request, context) => app.fetch(request, context), {
    log,
    clock,
    audit: createAudit(deps.audit, basePath),
  });
  return {
    fetch,
    request: async (path, init) =>
      await fetch(new Request(new URL(path, "http://localhost"), init)),
    document,
  };
}

/** All routes end in a slash; a request without it matches the same route. */
function pathWithSlash(request: Request): string {
  const path = getPath(request);
  return path.endsWith("/") ? path : path + "/";
}

function allowedMethods(app: Hono<AppEnv>, path: string): string[] {
  const allowed = METHODS.filter((method) => app.router.match(method, path)[0].length > 0);
  return allowed.includes("GET") ? ["HEAD", ...allowed] : allowed;
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
