/** The app with a real database. Tests call it directly, without a network port. */

import { openAccountGuard } from "../../commands/account.ts";
import { type AuditRecorder, createAuditRecorder } from "../../core/audit/recorder.ts";
import { createKey, type KeyOwner } from "../../core/auth/api_keys.ts";
import {
  type EventWaker,
  type PositionPublisher,
  type Service,
  settingsOf,
} from "../../core/service.ts";
import { createClockCheck } from "../../core/time/clock_check.ts";
import { type Config, parseConfig } from "../../core/config/config.ts";
import { readLogo } from "../../core/config/logo.ts";
import { startPositionPublisher } from "../../core/events/position_publisher.ts";
import { createDerivedIds } from "../../core/secrets/derived_ids.ts";
import { createLinks } from "../../core/secrets/links.ts";
import { ensureLinkSecret } from "../../db/access/link_secret.ts";
import { findLastRestore } from "../../db/access/restores.ts";
import { createEventWaker } from "../../core/events/waker.ts";
import {
  createEventStreams,
  type EventStreams,
  type EventStreamsOptions,
} from "../../core/events/streams.ts";
import {
  createGatewayClient,
  type GatewayClient,
  type GatewayClientOptions,
} from "../../core/gateway/client.ts";
import { logExchanges } from "../../core/gateway/instrumentation.ts";
import { createKeyReleases } from "../../db/records/key_releases.ts";
import { createLoad, type Load } from "../../core/status/load.ts";
import { type MachineClocks, openServiceClock, unmeasured } from "../../core/time/service_clock.ts";
import { createLog } from "../../core/telemetry/log.ts";
import { keepRegistered } from "../../core/handlers/register.ts";
import { createEvents, type Events, type RegisteredHandler } from "../../core/handlers/events.ts";
import { addMailHandlers } from "../../core/mail/handlers.ts";
import { createMailer, type MailerOptions } from "../../core/posting/mailer.ts";
import { createPoster, type PosterOptions } from "../../core/posting/post.ts";
import type { Database } from "../../db/connection/database.ts";
import { signalPublisher } from "../../db/events/events.ts";
import { NO_LOCK, type ThisInstance } from "../../db/connection/instance_lock.ts";
import type { DueJob } from "../../db/jobs/jobs.ts";
import { loadMigrations, type Migration } from "../../db/migrations/migrate.ts";
import { type App, createApp } from "../../app.ts";
import { sleep } from "../../concurrency/deadlines.ts";
import type { Router } from "../../http/router.ts";
import type { Demo } from "../../pages/demo.ts";
import { openPool } from "./database/pools.ts";
import { checkResponse } from "./document/contract.ts";
import { publishAll, untilPublished } from "./events/publication.ts";

export interface TestAppOptions {
  databaseUrl: string;
  /** Environment variables; by default those of an installation with a real gateway. */
  env?: Record<string, string>;
  /** The URL of the gateway; by default nothing listens there. */
  gatewayUrl?: string;
  /** The gateway's server key; by default the one in `env`. */
  serverKey?: string;
  /** Options of the gateway client, such as the clock; by default its deadlines are longer. */
  gatewayOptions?: Partial<GatewayClientOptions>;
  /** Whether calls are refused if the database belongs to another gateway account. */
  bindsAccount?: boolean;
  poolSize?: number;
  /** How long a call of the database may take; by default far longer than in the service. */
  databaseDeadlineMs?: number;
  /** The handlers of events. */
  events?: Events;
  /** Options of event streams, such as the interval of heartbeats. */
  streamOptions?: EventStreamsOptions;
  resources?: Router[];
  migrations?: Migration[];
  now?: () => number;
  /** The clocks of the instance's machine; the service's time is then the database's. */
  machine?: MachineClocks;
  isDraining?: () => boolean;
  /** By default the load is not measured, so that a slow test machine does not reject requests. */
  load?: Load;
  /** Options of the client that sends webhooks; by default its timeout is longer. */
  posting?: Partial<PosterOptions>;
  /** Options of the client that sends mail, such as a certificate. */
  mailing?: MailerOptions;
  /**
   * Whether this app may assign positions to events. By default it may, but it opens a connection
   * for this only when it has written an event or a caller reads events. Most tests do neither.
   */
  hasPositionPublisher?: boolean;
  wrapDatabase?: (database: Database) => Database;
  /** The address of the sandbox that the service's pages show. */
  sandboxUrl?: string;
  /** The demo data that the welcome page offers. */
  demo?: Demo;
  /** Whether the console offers to sign in with one click, as in the embedded default. */
  hasDevelopmentSignIn?: boolean;
  /** By default an instance without a lock: its leases end only when their time is over. */
  thisInstance?: ThisInstance;
}

export interface TestApp extends App, AsyncDisposable {
  config: Config;
  database: Database;
  gateway: GatewayClient;
  streams: EventStreams;
  audit: AuditRecorder;
  /** The jobs that were enqueued; they do not run by themselves. */
  enqueued: DueJob[];
  /** What the functions of core/ work with. */
  service: Service;
  /** The in-process event handlers. */
  handlers: readonly RegisteredHandler[];
  /** Like `fetch`, without the check of the response, which takes time. */
  fetchUnchecked: App["fetch"];
  /** The log so far, one object per line. */
  logged(): Record<string, unknown>[];
  /** Ensures that all committed events have positions and deliveries. */
  publishEvents(): Promise<void>;
  createKey(owner?: Partial<KeyOwner>): Promise<string>;
  /** Sends a request with an API key. */
  as(key: string, path: string, init?: RequestInit): Promise<Response>;
}

export const REAL_INSTALLATION = {
  DATABASE_URL: "postgres://somewhere/else",
  GATEWAY_SERVER_KEY: "Mid-server-of-the-tests",
};

/** Nothing listens on this port. `fetch` blocks some low ports, but not this one. */
const NOWHERE = "http://127.0.0.1:2";

/** Requests that show published events. */
const READS_EVENTS = /\/(events|live|status|metrics)\b/;

/** Read once for each process. */
let projectMigrations: Promise<Migration[]> | null = null;

/** Some tests have no database. */
async function readLinkSecret(database: Database): Promise<Uint8Array> {
  return await database.query(ensureLinkSecret).catch(() => new Uint8Array(32));
}

export async function openApp(options: TestAppOptions): Promise<TestApp> {
  const settings = parseConfig(options.env ?? REAL_INSTALLATION, "/nowhere");
  const { serverKey = settings.gateway.serverKey } = options;
  const config = { ...settings, gateway: { ...settings.gateway, serverKey } };
  const poolSize = options.poolSize ?? 4;
  const opened = openPool({
    url: options.databaseUrl,
    poolSize,
    deadlineMs: options.databaseDeadlineMs,
  });
  const database = options.wrapDatabase?.(opened) ?? opened;
  let text = "";
  const log = createLog((lines) => text += lines);
  const gateway = createGatewayClient({
    ...config.gateway,
    baseUrl: options.gatewayUrl ?? NOWHERE,
    onExchange: config.logGateway ? logExchanges(log) : undefined,
    account: options.bindsAccount ? await openAccountGuard(opened, config, log) : undefined,
    wait: waitPatiently,
    ...options.gatewayOptions,
  });
  const enqueued: DueJob[] = [];
  const jobQueue = {
    enqueue: (job: DueJob) => void enqueued.push(job),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const { machine } = options;
  const serviceClock = machine
    ? await openServiceClock({ database, log, machine, refreshMs: null })
    : unmeasured(Date.now);
  const clock = options.now ?? serviceClock.now;
  const waker = createEventWaker({ database: opened, jobQueue, clock, log });
  const poster = createPoster({
    allowPrivate: config.webhookAllowPrivate,
    timeoutMs: 60_000,
    ...options.posting,
  });
  const keyReleases = createKeyReleases({ database });
  const { databaseUrl } = options;
  const events = options.events ?? createEvents();
  const linkSecret = await readLinkSecret(opened);
  const service: Service = {
    ...settingsOf(config),
    logo: await readLogo(config),
    database,
    databaseUrl,
    thisInstance: options.thisInstance ?? NO_LOCK,
    keyReleases,
    gateway,
    background: gateway,
    jobQueue,
    waker,
    poster,
    log,
    clock,
    events,
    links: createLinks(linkSecret, () => config.publicUrl),
    deriveId: createDerivedIds(linkSecret),
    restoredAt: await opened.query(findLastRestore).catch(() => null),
    clockCheck: createClockCheck({ serviceClock, gateway, machineClock: machine?.wall }),
  };
  if (config.mail) {
    addMailHandlers(events, service, config.mail, createMailer(config.mail, options.mailing));
  }
  const handlers = events.close();
  const registration = await keepRegistered({ database: opened, log }, handlers);
  const startPublisher = () => startPositionPublisher(service);
  const positions = options.hasPositionPublisher === false
    ? null
    : createLatePublisher(waker, startPublisher);
  if (options.hasPositionPublisher) positions!.start();
  const streams = createEventStreams(service, {
    limits: config.streams,
    ...options.streamOptions,
  });
  const audit = createAuditRecorder({ database: opened, clock, log });
  const app = createApp({
    ...service,
    audit,
    streams,
    config,
    migrations: options.migrations ?? await (projectMigrations ??= loadMigrations()),
    load: options.load ?? createLoad(log),
    sharedUsage: null,
    isDraining: options.isDraining ?? (() => false),
    developmentKey: null,
    developmentStaffKey: options.hasDevelopmentSignIn
      ? await createKey(opened, { userId: "developer", isStaff: true, name: null })
      : null,
    sandboxUrl: options.sandboxUrl ?? null,
    demo: options.demo ?? null,
    resources: options.resources,
  });
  const { basePath } = config;
  const hasEmbedderRoutes = options.resources !== undefined;
  const fetch: App["fetch"] = async (request, connection) => {
    const { method, url } = request;
    if (READS_EVENTS.test(url)) positions?.start();
    const response = await app.fetch(request, connection);
    return await checkResponse({ method, url, basePath, hasEmbedderRoutes }, response);
  };
  const request: App["request"] = async (path, init) =>
    await fetch(new Request(new URL(path, "http://localhost"), init));
  return {
    ...app,
    request,
    fetch,
    fetchUnchecked: app.fetch,
    config,
    database,
    gateway,
    streams,
    audit,
    enqueued,
    service,
    handlers,
    logged() {
      log.flush();
      return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
    },
    async publishEvents() {
      if (positions) {
        // The publisher gets no signal if the response to their statement was lost.
        // Without this, it would find them only a second later.
        if (!positions.wake()) await opened.query(signalPublisher);
        await untilPublished({ database: opened });
      } else await publishAll(opened, undefined, events);
    },
    createKey: (owner) =>
      createKey(opened, { userId: "alice", isStaff: false, name: null, ...owner }),
    as: (key, path, init = {}) =>
      request(path, { ...init, headers: bearer(key, new Headers(init.headers)) }),
    async [Symbol.asyncDispose]() {
      await keyReleases[Symbol.asyncDispose]();
      await audit[Symbol.asyncDispose]();
      await streams[Symbol.asyncDispose]();
      await poster[Symbol.asyncDispose]();
      await positions?.[Symbol.asyncDispose]();
      await registration[Symbol.asyncDispose]();
      await waker[Symbol.asyncDispose]();
      await opened.close();
      // Last, because closing can log, too: a line that waits to be written has a timer.
      log.flush();
    },
  };
}

/**
 * Extends the deadlines of gateway calls (at least 3 s), which calls exceed on a busy machine.
 * Pauses between retries are shorter than 3 s and do not change.
 */
async function waitPatiently(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms < 3_000 ? ms : 6 * ms, signal);
}

interface LatePublisher extends PositionPublisher {
  start(): void;
}

/** A position publisher that starts when it is needed. */
function createLatePublisher(
  waker: EventWaker,
  startPublisher: () => PositionPublisher,
): LatePublisher {
  let started: PositionPublisher | null = null;
  let isClosed = false;
  const late: LatePublisher = {
    start() {
      if (!isClosed) started ??= startPublisher();
    },
    wake() {
      late.start();
      return started?.wake() ?? false;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await started?.[Symbol.asyncDispose]();
    },
  };
  waker.usePositionPublisher(late);
  return late;
}

function bearer(key: string, headers: Headers): Headers {
  headers.set("Authorization", `Bearer ${key}`);
  return headers;
}
