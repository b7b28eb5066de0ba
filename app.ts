/** Assembles the app: middleware, resources, the OpenAPI document, the pages and the console. */

import { Hono } from "hono";
import { getPath } from "hono/utils/url";
import type { AuditRecorder } from "./core/audit/recorder.ts";
import { createAuthenticator } from "./core/auth/authenticator.ts";
import type { Config } from "./core/config/config.ts";
import { describeSettings, type ShownConfig } from "./core/config/describe.ts";
import type { DoctorConfig } from "./core/doctor/check_result.ts";
import { ServiceError } from "./core/errors.ts";
import type { EventStreams } from "./core/events/streams.ts";
import type { Service } from "./core/service.ts";
import type { Load } from "./core/status/load.ts";
import { createExports } from "./core/reports/export_stream.ts";
import type { Migration } from "./db/migrations/migrate.ts";
import { createDocument, type Document } from "./openapi/document.ts";
import { createReference } from "./openapi/reference.ts";
import type { Demo } from "./pages/demo.ts";
import { createWelcomePages } from "./pages/welcome.ts";
import { createAuditRoutes } from "./routes/access/audit.ts";
import { createEventRoutes } from "./routes/events/routes.ts";
import { registerWebhookMessages } from "./routes/events/webhook_messages.ts";
import { createExportRoutes } from "./routes/exports/routes.ts";
import { createCheckoutRoutes } from "./routes/checkouts/routes.ts";
import { createInvoiceRoutes } from "./routes/invoices/routes.ts";
import { createJobRoutes } from "./routes/jobs/routes.ts";
import { createKeyRoutes } from "./routes/access/keys.ts";
import { me } from "./routes/access/me.ts";
import { acceptMetricsToken, createMetricsRoutes } from "./routes/status/metrics.ts";
import { createAudit } from "./http/middleware/audit_requests.ts";
import { mount } from "./http/middleware/mount.ts";
import { createRateLimit } from "./http/middleware/rate_limit.ts";
import { createRequestChecks } from "./http/middleware/request_checks.ts";
import { createRequireCaller, type RequireCaller } from "./http/middleware/require_caller.ts";
import type { SharedUsage } from "./core/auth/shared_usage.ts";
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

export interface AppOptions extends Service {
  config:
    & ShownConfig
    & DoctorConfig
    & Pick<Config, "build" | "metricsToken" | "port" | "trustedProxies">;
  migrations: Migration[];
  /** Server-sent event streams. */
  streams: EventStreams;
  /** Records what callers change, try to change, and export. */
  audit: AuditRecorder;
  /** The load of this instance. */
  load: Load;
  /** The requests of callers at all instances; null: each instance has limits of its own. */
  sharedUsage: SharedUsage | null;
  /** True while the service is shutting down. */
  isDraining: () => boolean;
  /** Prefilled on the reference page; null except in the embedded default. */
  developmentKey: string | null;
  /** Signs in to the console with one click; null except in the embedded default. */
  developmentStaffKey: string | null;
  /** The sandbox that runs with the service; the service's pages link to it. */
  sandboxUrl?: string | null;
  /** Creates demo data; null except in the embedded default. */
  demo?: Demo | null;
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
export function createApp(options: AppOptions): App {
  const service = withConfig(options);
  const { basePath, load, log, clock, developmentKey, trustedProxies, streams } = service;
  const publicRoutes = createPublicRoutes(service);
  const resources = createResources(service);
  const documented = createDocumented([...publicRoutes, ...resources.map(({ router }) => router)]);
  let created: Document | undefined;
  // Created on demand, because creating it takes longer than everything else at the start.
  const document = () => {
    const { port } = service.config;
    const url = service.links.publicUrl() ?? `http://127.0.0.1:${port}${basePath}`;
    return created ??= createDocument(documented, { basePath, url });
  };
  const reference = createReference({ document, basePath, developmentKey });
  const welcome = createWelcomePages({
    basePath,
    sandboxUrl: service.sandboxUrl ?? null,
    demo: service.demo ?? null,
  });

  const authenticate = createAuthenticator(service);
  const rateLimit = createRateLimit(service.config.rateLimit, clock, service.sharedUsage);
  const requireCaller = createRequireCaller({ ...service, authenticate, rateLimit });
  const guards: Record<Guard, RequireCaller> = {
    caller: requireCaller,
    callerUnderLoad: createLoadShedder(load, requireCaller),
    metricsReader: acceptMetricsToken(service.config.metricsToken, requireCaller),
  };

  const app = createHono();
  for (const router of [...publicRoutes, reference, welcome]) mount(app, basePath, router, null);
  for (const { router, guard } of resources) {
    const requestChecks = createRequestChecks(router);
    mount(app, basePath, router, { requireCaller: guards[guard], requestChecks });
  }
  routeOnDemand(app, `${basePath}/console/`, async () => {
    const { createConsole } = await import("./console/console.tsx");
    return createConsole({ ...service, authenticate, rateLimit });
  });
  routeOnDemand(app, `${basePath}/pay/`, async () => {
    const { createPayPages } = await import("./pay/pay.ts");
    // A limiter of its own: guesses from one address must not stop its other requests.
    const limit = createRateLimit(service.config.rateLimit, clock);
    return createPayPages(service, { limit, trustedProxies, streams });
  });

  const audit = createAudit(service.audit, basePath);
  const fetch = wrapRequests((request, context) => app.fetch(request, context), {
    log,
    clock,
    audit,
    isDraining: service.isDraining,
  });
  return {
    fetch,
    request: async (path, init) =>
      await fetch(new Request(new URL(path, "http://localhost"), init)),
    document,
  };
}

/** The service with what only its routes and the console need. */
function withConfig(options: AppOptions) {
  const { basePath, build, jwt, trustedProxies } = options.config;
  return {
    ...options,
    basePath,
    build,
    jwt,
    trustedProxies,
    settings: describeSettings(options.config),
    doctorConfig: options.config,
    // The API and the console share the limits of open exports.
    exports: createExports(options),
  };
}

type ServiceOfApp = ReturnType<typeof withConfig>;

function createPublicRoutes(service: ServiceOfApp): Router[] {
  // A separate limiter: requests from many addresses must not evict the counts of callers.
  const limit = createRateLimit(service.config.rateLimit, service.clock);
  return [
    createHealthRoutes(service),
    createReceiveRoute(service, { limit, trustedProxies: service.trustedProxies }),
  ];
}

/** Who may call a resource, and under which load. */
type Guard = "caller" | "callerUnderLoad" | "metricsReader";

function createResources(service: ServiceOfApp): { router: Router; guard: Guard }[] {
  const underLoad = (router: Router) => ({ router, guard: "callerUnderLoad" as const });
  return [
    ...[
      me,
      createKeyRoutes(service),
      createChargeRoutes(service),
      createPaymentRoutes(service),
      createRefundRoutes(service),
      createReviewRoutes(service),
      createCheckoutRoutes(service),
      createInvoiceRoutes(service),
      createSubscriptionRoutes(service),
      createTimelineRoutes(service),
      createNotificationRoutes(service),
      createEventRoutes(service),
      createExportRoutes(service),
      createStatsRoutes(service),
      createReconciliationRoutes(service),
      createWebhookRoutes(service),
    ].map(underLoad),
    // Like notifications and probes, the status and the metrics are served under any load.
    { router: createStatusRoutes(service), guard: "caller" },
    { router: createMetricsRoutes(service), guard: "metricsReader" },
    ...[createJobRoutes(service), createAuditRoutes(service), ...service.resources ?? []].map(
      underLoad,
    ),
  ];
}

/** Only for the document; requests go to the routers that are mounted. */
function createDocumented(routers: Router[]): Router {
  const documented = createRouter();
  for (const router of routers) documented.route("/", router);
  registerProblemExamples(documented);
  registerWebhookMessages(documented);
  describeGatewayMessage(documented);
  return documented;
}

/** Errors become problem responses, and the slash at the end of a path may be missing. */
function createHono(): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ getPath: pathWithSlash });
  app.onError((error, c) => renderError(error, c.env));
  app.notFound((c) => refuse(app, c.req.raw));
  return app;
}

/** Loads the pages below this path when the first of them is requested, for a quicker start. */
function routeOnDemand(
  app: Hono<AppEnv>,
  path: string,
  load: () => Promise<Hono<AppEnv>>,
): void {
  let pages: Promise<Hono<AppEnv>> | undefined;
  app.all(`${path}*`, async (c) => {
    pages ??= load().then((router) => createHono().route(path, router)).catch((error) => {
      // For example too many open files: the next request loads them again.
      pages = undefined;
      throw error;
    });
    return (await pages).fetch(c.req.raw, c.env);
  });
}

function refuse(app: Hono<AppEnv>, request: Request): never {
  const allowed = allowedMethods(app, pathWithSlash(request));
  if (allowed.length === 0) throw new ServiceError("not_found");
  const Allow = allowed.join(", ");
  throw new ServiceError("method_not_allowed", {
    detail: `Allowed methods: ${Allow}.`,
    headers: { Allow },
  });
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
