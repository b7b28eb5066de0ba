/** `deno task start`: runs the service until it is stopped. */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { waitAtMost } from "../concurrency/deadlines.ts";
import { createAuditRecorder } from "../core/audit/recorder.ts";
import { ensureKey } from "../core/auth/api_keys.ts";
import { type Service, settingsOf } from "../core/service.ts";
import { createClockCheck } from "../core/time/clock_check.ts";
import type { Config } from "../core/config/config.ts";
import { type Logo, readLogo } from "../core/config/logo.ts";
import { ConfigError } from "../core/config/problems.ts";
import { startPositionPublisher } from "../core/events/position_publisher.ts";
import { createDerivedIds } from "../core/secrets/derived_ids.ts";
import { createLinks } from "../core/secrets/links.ts";
import { ensureLinkSecret } from "../db/access/link_secret.ts";
import { findLastRestore } from "../db/access/restores.ts";
import { createEventWaker } from "../core/events/waker.ts";
import { addMailHandlers } from "../core/mail/handlers.ts";
import { createMailer } from "../core/posting/mailer.ts";
import { createPoster } from "../core/posting/post.ts";
import { createStreamSlots } from "../core/events/stream_slots.ts";
import { createEventStreams, type EventStreams } from "../core/events/streams.ts";
import { DEFAULT_DEADLINE_MS } from "../core/gateway/client.ts";
import { NOTIFICATION_PATH } from "../core/gateway/notification_url.ts";
import { CHARGE_DEADLINE_MS } from "../core/gateway/operations.ts";
import { createKeyReleases } from "../db/records/key_releases.ts";
import { createLoad, measureLoad } from "../core/status/load.ts";
import { createLog, type Log } from "../core/telemetry/log.ts";
import { openServiceClock } from "../core/time/service_clock.ts";
import { registerMetrics } from "../core/status/metrics.ts";
import { keepRegistered } from "../core/handlers/register.ts";
import { createEvents, type Events } from "../core/handlers/events.ts";
import { isStrayDriverError } from "../db/connection/errors.ts";
import type { Database } from "../db/connection/database.ts";
import { openInstanceLock } from "../db/connection/instance_lock.ts";
import { loadMigrations } from "../db/migrations/migrate.ts";
import { hasTrigramIndex } from "../db/payments/search.ts";
import { createHeldResponses, type HeldResponses } from "../http/middleware/hold_responses.ts";
import { createSharedUsage } from "../core/auth/shared_usage.ts";
import { VERSION } from "../openapi/document.ts";
import { createApp } from "../app.ts";
import { openAccountGuard, requireSameAccount } from "./account.ts";
import { type Crons, registerCrons } from "./crons.ts";
import { openPool, reachDatabase } from "./database_access.ts";
import { claimServer } from "./database_server.ts";
import { DEPLOY_STOP, type EarlyServer, listenEarly, serveWithoutSettings } from "./deploy.ts";
import { createDemo, fillAndPrint } from "./demo/demo.ts";
import { openDemoCheckout } from "./demo_checkout.ts";
import { type DevelopmentKeys, ensureDevelopmentKeys } from "./development_keys.ts";
import { openGateway, SANDBOX_HOST } from "./gateway.ts";
import { createJobs, type Jobs, openJobQueue } from "./jobs.ts";
import { addressOf, explainListenErrors, requireFreePort } from "./listen.ts";
import { migrateDatabase } from "./migrate.ts";
import { readCommit } from "./read_commit.ts";
import { printStartMessage } from "./start_message.ts";
import { printStatus, readableLog } from "./terminal.ts";
import { createWriter, type Writer } from "./writer.ts";

/** Time for the database statements of a request. */
const STATEMENTS_MS = 5_000;

/**
 * Time for requests and jobs in flight to finish at shutdown. It is enough for a retried charge,
 * which asks the gateway for the status and then sends the charge. Longer ones, such as exports,
 * are cut off; retries and other instances continue what they left.
 */
export const GRACE_MS = DEFAULT_DEADLINE_MS + CHARGE_DEADLINE_MS + STATEMENTS_MS;

export interface ServeOptions {
  /** In-process event handlers of an embedding program. */
  events?: Events;
  /**
   * Default: `serve` registers them. A program that awaits something before it calls `serve` has to
   * register them before that.
   */
  crons?: Crons;
  /** Fills the embedded default with demo data, and ends. */
  onlyDemo?: boolean;
}

export async function run(
  readConfig: () => Config,
  _args: string[],
  crons?: Crons,
): Promise<void> {
  await serve(readConfig, { crons });
}

export async function serve(readConfig: () => Config, options: ServeOptions = {}): Promise<void> {
  const { events = createEvents(), crons = registerCrons(), onlyDemo = false } = options;
  const out = createWriter((bytes) => Deno.stdout.write(bytes));
  const log = createLog(
    Deno.stdout.isTerminal() ? (lines) => out.write(readableLog(lines)) : out.write,
  );
  const settings = await readSettings(readConfig);
  logUncaughtErrors(log);
  const stop = listenForStop();
  if (settings instanceof ConfigError) {
    crons.skip();
    await serveWithoutSettings(settings, log, stop.received);
    return await exit(log, out);
  }
  const { config, logo } = settings;
  const early = config.isDenoDeploy ? listenEarly(config, log) : null;
  try {
    await runService(config, { logo, events, crons, log, stop, early, onlyDemo });
  } catch (error) {
    crons.skip();
    await early?.fail();
    throw error;
  }
  await exit(log, out);
}

/** Wrong settings end the process, except on Deno Deploy, where the error is returned. */
async function readSettings(readConfig: () => Config) {
  try {
    const config = readConfig();
    return { config, logo: await readLogo(config) };
  } catch (error) {
    if (error instanceof ConfigError && error.isDenoDeploy) return error;
    throw error;
  }
}

async function exit(log: Log, out: Writer): Promise<void> {
  log.info("stopped");
  log.flush();
  await out.drained();
  Deno.exit(0);
}

interface RunOptions {
  /** Ends after the demo's data was created, instead of serving. */
  onlyDemo: boolean;
  logo: Logo | null;
  events: Events;
  crons: Crons;
  log: Log;
  stop: StopSignal;
  /** On Deno Deploy, the server that listens already; null elsewhere. */
  early: EarlyServer | null;
}

/** Starts the service, and stops it when the signal arrives. */
async function runService(config: Config, options: RunOptions): Promise<void> {
  const { events, crons, log, stop, early } = options;
  // Before the service accepts requests there is nothing to finish. An embedded database server
  // ends with this process (`db/embedded/run_server.sh`). `deno task demo` does not finish either:
  // a demo that was interrupted is incomplete.
  let isServing = false;
  stop.received.then(() => isServing || Deno.exit(options.onlyDemo ? 1 : 0));

  const build = config.build ?? await readCommit(join(import.meta.dirname!, ".."));
  await using resources = new AsyncDisposableStack();
  const opened = await openService(config, resources, options);
  const { service, thisInstance, jobQueue, migrations, developmentKeys, sandbox } = opened;
  if (config.mail) addMailHandlers(events, service, config.mail, createMailer(config.mail));
  const handlers = events.close();
  const demo = sandbox && createDemo(service, sandbox, () => url);
  const jobs = createJobs({ ...service, gateway: service.background }, {
    jobQueue,
    handlers,
    crons: { ...crons, start: (run) => crons.start(demo?.pausing(run) ?? run) },
  });
  // Before events are published, so that these handlers get all of them.
  resources.use(await keepRegistered(service, handlers));
  resources.use(startPositionPublisher(service));
  const limited = openLimited(service, config, resources);

  const audit = resources.use(createAuditRecorder(service));
  const load = createLoad(log);
  resources.use(measureLoad(load));
  resources.use(registerMetrics({ ...service, load, version: VERSION, build }));

  let isDraining = false;
  const app = createApp({
    ...service,
    config: { ...config, build },
    migrations,
    ...limited,
    audit,
    load,
    isDraining: () => isDraining,
    developmentKey: developmentKeys?.user ?? null,
    developmentStaffKey: developmentKeys?.staff ?? null,
    sandboxUrl: sandbox?.url ?? null,
    demo,
  });
  const responses = createHeldResponses();
  early?.open(app.fetch);
  const http = early?.http ?? await listen(config, responses.wrap(app.fetch));
  isServing = !options.onlyDemo;
  jobs.start();
  thisInstance.recoverOthers(jobs.recover);
  const url = addressOf(http.addr) + config.basePath;
  opened.setOwnUrl(url);
  sandbox?.notify(url + NOTIFICATION_PATH);
  sandbox?.showService({ url, key: developmentKeys?.user ?? null });
  const firstSteps = developmentKeys &&
    { demo: await openDemoCheckout(service), keys: developmentKeys };
  if (options.onlyDemo) printStatus("The sandbox and the service replay a year");
  else if (firstSteps || Deno.stdout.isTerminal()) {
    const gateway = sandbox ? null : `${config.gateway.environment}, ${config.gateway.baseUrl}`;
    printStartMessage({ url, build, gateway, sandbox: sandbox?.url ?? null, firstSteps });
  } else log.info("started", { url, version: VERSION, build });

  try {
    await (options.onlyDemo ? fillAndPrint(demo) : stop.received);
  } finally {
    isDraining = true;
    log.info("stopping");
    await shutDown(config, { ...limited, jobs, http, responses, resources });
  }
}

/** What has limits that the instances can share. */
function openLimited(
  service: Service,
  { sharedLimits, rateLimit: limit, streams: limits }: Config,
  resources: AsyncDisposableStack,
) {
  if (!sharedLimits) {
    return { streams: resources.use(createEventStreams(service, { limits })), sharedUsage: null };
  }
  const slots = resources.use(createStreamSlots(service, limits));
  return {
    streams: resources.use(createEventStreams(service, { limits, slots })),
    sharedUsage: resources.use(createSharedUsage({ ...service, limit })),
  };
}

/** Opens everything that the service works with, from the database to the gateway. */
async function openService(
  config: Config,
  resources: AsyncDisposableStack,
  options: RunOptions,
) {
  const { events, log, logo } = options;
  const storage = await openStorage(config, resources, options);
  const { database, databaseUrl, migrations, serviceClock, thisInstance } = storage;
  const developmentKeys = await ensureKeys(database, config, log);
  const account = await openAccountGuard(database, config, log);
  const { client: gateway, background, sandbox } = resources.use(
    await openGateway(config, log, account),
  );
  // While the sandbox replays the past, the service lives in the past, too (`demo/demo.ts`).
  const clock = () => sandbox?.replayedTime() ?? serviceClock.now();
  await requireSameAccount(background, log);
  let ownUrl: string | null = null;
  const secret = await database.query(ensureLinkSecret, "read secret of links");
  const links = createLinks(secret, () => config.publicUrl ?? ownUrl);
  const jobQueue = resources.use(
    await openJobQueue(config, { database, databaseUrl, clock, log }),
  );
  const service: Service = {
    ...settingsOf(config),
    logo,
    database,
    databaseUrl,
    thisInstance,
    keyReleases: resources.use(createKeyReleases({ database })),
    gateway,
    background,
    clock,
    clockCheck: createClockCheck({ serviceClock, gateway }),
    log,
    jobQueue,
    links,
    deriveId: createDerivedIds(secret),
    restoredAt: await database.query(findLastRestore, "find last restore"),
    events,
    waker: resources.use(createEventWaker({ database, jobQueue, clock, log })),
    poster: resources.use(createPoster({ allowPrivate: config.webhookAllowPrivate })),
  };
  /** Without PUBLIC_URL, only the embedded default has links: with its own address. */
  function setOwnUrl(url: string): void {
    if (config.isEmbeddedDefault) ownUrl = url;
  }
  return { service, thisInstance, jobQueue, migrations, developmentKeys, sandbox, setOwnUrl };
}

/**
 * Starts the embedded database server or reaches the configured one, migrates the database, and
 * opens this instance's clock and lock.
 */
async function openStorage(
  config: Config,
  resources: AsyncDisposableStack,
  { log, early }: RunOptions,
) {
  const server = resources.use(await claimServer(config, "service"));
  if (!early) await requireFreePorts(config);
  if (config.databaseUrl === null) printStatus("Starting PostgreSQL");
  const serverUrl = await server.start((failedRestart) =>
    failedRestart
      ? log.error("database_restart_failed", failedRestart)
      : log.info("database_crashed")
  );
  const access = await reachDatabase(serverUrl, config.databaseDirectUrl);
  const databaseUrl = access.directUrl;
  const migrations = await loadMigrations();
  await migrateDatabase(databaseUrl, migrations);
  const database = await openPool({ ...access, poolSize: config.databasePoolSize });
  resources.defer(() => database.close());
  if (!await database.query(hasTrigramIndex, "find trigram index")) {
    log.info("search_by_prefix", {
      detail: "pg_trgm could not be used: older payments are found by the beginning of order id, " +
        "email and name only. `deno task doctor` says what to do.",
    });
  }
  const serviceClock = resources.use(await openServiceClock({ database, log }));
  // Opened before the jobs, so that it is released after them: other instances run the remaining
  // jobs when this lock is free.
  const thisInstance = resources.use(
    await openInstanceLock({
      url: databaseUrl,
      onLost: (error) => log.error("instance_lock_lost", error),
    }),
  );
  return { database, databaseUrl, migrations, serviceClock, thisInstance };
}

interface Running {
  streams: EventStreams;
  jobs: Jobs;
  http: Deno.HttpServer;
  responses: HeldResponses;
  resources: AsyncDisposableStack;
}

/**
 * For how long responses are held back at the end of `DRAIN_SECONDS`: callers hardly notice it, and
 * each proxy sends a request meanwhile if it sends enough for one to be lost.
 */
const HOLD_MS = 500;

/** The server closes its socket soon after `shutdown` was called, but does not say when. */
const CLOSE_SOCKET_MS = 20;

async function shutDown(
  { isDenoDeploy, drainSeconds }: Config,
  { streams, jobs, http, responses, resources }: Running,
): Promise<void> {
  // Streams do not end by themselves; clients reconnect to another instance.
  streams.close();
  const graceMs = isDenoDeploy ? DEPLOY_STOP.graceMs : GRACE_MS;
  const jobsStopped = jobs.stop(graceMs);
  const holdMs = drainSeconds > 0 ? HOLD_MS : 0;
  await delay(drainSeconds * 1000 - holdMs);
  responses.hold();
  await delay(holdMs);
  const ended = http.shutdown();
  await delay(CLOSE_SOCKET_MS);
  responses.release();
  await waitAtMost(graceMs, ended);
  await jobsStopped;
  const closed = resources.disposeAsync();
  await (isDenoDeploy ? waitAtMost(DEPLOY_STOP.closeMs, closed) : closed);
}

async function listen({ host, port }: Config, handler: Deno.ServeHandler) {
  const options = { hostname: host, port, onListen: () => {} };
  const address = { host, port, setting: "PORT" } as const;
  return await explainListenErrors(address, () => Deno.serve(options, handler));
}

async function requireFreePorts({ host, port, sandboxPort }: Config): Promise<void> {
  await requireFreePort({ host, port, setting: "PORT" });
  if (sandboxPort === null) return;
  await requireFreePort({ host: SANDBOX_HOST, port: sandboxPort, setting: "SANDBOX_PORT" });
}

/** Stores the keys that the settings ask for; returns those of the embedded default. */
async function ensureKeys(
  database: Database,
  { bootstrapStaffKey, isEmbeddedDefault, dataDir }: Config,
  log: Log,
): Promise<DevelopmentKeys | null> {
  if (bootstrapStaffKey !== null) {
    const owner = { userId: "bootstrap", isStaff: true, name: "BOOTSTRAP_STAFF_KEY" };
    const isValid = await ensureKey(database, bootstrapStaffKey, owner);
    if (!isValid) log.info("bootstrap_key_ignored");
  }
  return isEmbeddedDefault ? await ensureDevelopmentKeys(database, dataDir) : null;
}

/** An error in background code of one request must not stop the service. */
function logUncaughtErrors(log: Log): void {
  const logError = (name: string, error: unknown) =>
    isStrayDriverError(error) ? log.info("database_connection_lost") : log.error(name, error);
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    logError("unhandled_rejection", event.reason);
  });
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    logError("uncaught_error", event.error);
  });
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** One Ctrl-C can arrive as two signals within milliseconds; a later signal is a second Ctrl-C. */
const REPEATED_SIGNAL_MS = 1_000;

interface StopSignal {
  /** Resolves at the first signal. */
  received: Promise<void>;
}

/** The first signal resolves `received`; another signal after more than a second exits at once. */
function listenForStop(): StopSignal {
  const { promise: received, resolve } = Promise.withResolvers<void>();
  let firstAt: number | null = null;
  for (const signal of SIGNALS) {
    Deno.addSignalListener(signal, () => {
      const now = performance.now();
      firstAt ??= now;
      if (now - firstAt > REPEATED_SIGNAL_MS) Deno.exit(1);
      resolve();
    });
  }
  return { received };
}
