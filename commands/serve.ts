/** `deno task start`: opens everything, serves until told to stop, closes everything. */

import { setTimeout as delay } from "node:timers/promises";
import { waitAtMost } from "../concurrency/deadlines.ts";
import { ensureKey } from "../core/auth/api_keys.ts";
import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config/config.ts";
import { createEventStreams } from "../core/events/streams.ts";
import { createLog, type Log } from "../core/log.ts";
import { registerStatusMetrics } from "../core/status/metrics.ts";
import { createEvents, type Events } from "../core/subscribers/subscribe.ts";
import { type Database, openDatabase } from "../db/database.ts";
import { loadMigrations } from "../db/migrations.ts";
import { createApp } from "../routes/app.ts";
import { bringUpToDate } from "./bring_up_to_date.ts";
import { claimServer } from "./database_server.ts";
import { ensureDevelopmentKeys } from "./development_keys.ts";
import { openGateway, SANDBOX_HOST } from "./gateway.ts";
import { openJobs } from "./jobs.ts";
import { explainListenErrors, refuseTakenPort } from "./listen.ts";
import { say } from "./say.ts";
import { printStartMessage } from "./start_message.ts";
import { listenForStop } from "./stop_signal.ts";
import { createWriter } from "./writer.ts";

/** How long requests and jobs in flight may take to finish at the end. */
const GRACE_MS = 10_000;

export interface ServeOptions {
  /** Who listens to what happens, for those who embed the service. */
  events?: Events;
}

export async function run(readConfig: () => Config): Promise<void> {
  await serve(readConfig);
}

export async function serve(readConfig: () => Config, options: ServeOptions = {}): Promise<void> {
  const { events = createEvents() } = options;
  const config = readConfig();
  const out = createWriter((bytes) => Deno.stdout.write(bytes));
  const log = createLog(out.write);
  surviveStrayErrors(log);
  const stop = listenForStop();
  // Until requests are taken there is nothing to finish: an embedded server ends with us.
  let isServing = false;
  stop.received.then(() => isServing || Deno.exit(0));

  await using resources = new AsyncDisposableStack();
  const server = resources.use(await claimServer(config, "service"));
  await refuseTakenPorts(config);
  if (config.databaseUrl === null) say("Starting PostgreSQL");
  const databaseUrl = await server.start((failedRestart) =>
    failedRestart ? log.error("database_not_restarted", failedRestart) : log.info("database_died")
  );
  const migrations = await loadMigrations();
  for (const name of await bringUpToDate(databaseUrl, migrations, config.queue)) {
    say(`Migrated: ${name}`);
  }
  const database = openDatabase({ url: databaseUrl, poolSize: config.databasePoolSize });
  resources.defer(() => database.close());

  await ensureBootstrapKey(database, config, log);
  const developmentKeys = config.isEmbeddedDefault
    ? await ensureDevelopmentKeys(database, config.dataDir)
    : null;

  const { client: gateway, background, sandbox } = resources.use(await openGateway(config, log));
  const clock = systemClock;
  const { invoicePayments, keep } = config;
  const jobsDeps = { database, gateway: background, clock, log, events, invoicePayments, keep };
  resources.use(registerStatusMetrics({ database, clock, log }));
  const jobs = resources.use(await openJobs({ ...config, databaseUrl }, jobsDeps));
  const streams = resources.use(createEventStreams({ database, databaseUrl, clock, log }));

  let isDraining = false;
  const app = createApp({
    config,
    database,
    migrations,
    gateway,
    background,
    events,
    streams,
    jobQueue: jobs.jobQueue,
    publisher: jobs.publisher,
    poster: jobs.poster,
    log,
    clock,
    isDraining: () => isDraining,
    developmentKey: developmentKeys?.user ?? null,
  });
  const http = await listen(config, app.fetch);
  isServing = true;
  jobs.start();
  const url = addressOf(http.addr) + config.basePath;
  sandbox?.notify(`${url}/notification/`);
  if (developmentKeys) printStartMessage(url, sandbox?.url ?? null, developmentKeys);
  else log.info("started", { url });

  await stop.received;
  isDraining = true;
  // They would never end by themselves in time; who follows goes on elsewhere.
  streams.close();
  log.info("stopping");
  const jobsStopped = jobs.stop(GRACE_MS);
  await delay(config.drainSeconds * 1000);
  await waitAtMost(GRACE_MS, http.shutdown());
  await jobsStopped;
  await resources.disposeAsync();
  log.info("stopped");
  log.flush();
  await out.drained();
  Deno.exit(0);
}

async function listen({ host, port }: Config, handler: Deno.ServeHandler) {
  const options = { hostname: host, port, onListen: () => {} };
  const place = { host, port, setting: "PORT" } as const;
  return await explainListenErrors(place, () => Deno.serve(options, handler));
}

async function refuseTakenPorts({ host, port, sandboxPort }: Config): Promise<void> {
  await refuseTakenPort({ host, port, setting: "PORT" });
  if (sandboxPort === null) return;
  await refuseTakenPort({ host: SANDBOX_HOST, port: sandboxPort, setting: "SANDBOX_PORT" });
}

function addressOf({ hostname, port }: Deno.NetAddr): string {
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

async function ensureBootstrapKey(database: Database, config: Config, log: Log): Promise<void> {
  if (config.bootstrapStaffKey === null) return;
  const owner = { userId: "bootstrap", isStaff: true, name: "BOOTSTRAP_STAFF_KEY" };
  const isValid = await ensureKey(database, config.bootstrapStaffKey, owner);
  if (!isValid) log.info("bootstrap_key_does_not_count");
}

/** A mistake in one request's aftermath must not end the service for all others. */
function surviveStrayErrors(log: Log): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("unhandled_rejection", event.reason);
  });
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    log.error("uncaught_error", event.error);
  });
}
