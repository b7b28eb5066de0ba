/** `deno task run TASK`: runs a task manually, whether the service runs or not. */

import { setTimeout as delay } from "node:timers/promises";
import { validate as isUuid } from "uuid";
import { type Service, settingsOf } from "../core/service.ts";
import { ClockSkewed, createClockCheck } from "../core/time/clock_check.ts";
import type { Config } from "../core/config/config.ts";
import { createDerivedIds } from "../core/secrets/derived_ids.ts";
import { createLinks } from "../core/secrets/links.ts";
import { ensureLinkSecret } from "../db/access/link_secret.ts";
import { findLastRestore } from "../db/access/restores.ts";
import { createEventWaker } from "../core/events/waker.ts";
import { gatewayPauseMs } from "../core/gateway/background_pause.ts";
import { createKeyReleases } from "../db/records/key_releases.ts";
import { checkCheckouts } from "../core/checkouts/settle_checkout.ts";
import { checkOverdueInvoices } from "../core/invoices/check_overdue_invoices.ts";
import { CHECK_PAYMENT_STATUS } from "../core/jobs/task_names.ts";
import { createWorker } from "../core/jobs/worker.ts";
import { createLog } from "../core/telemetry/log.ts";
import { checkPendingPayments } from "../core/payments/check_pending_payments.ts";
import { expireStalePayments } from "../core/payments/expire_stale_payments.ts";
import { checkPaymentJob } from "../core/payments/payment_record.ts";
import { PROCESS_CHARGE_ASYNC } from "../core/payments/process_charge_async.ts";
import { PROCESS_REFUND_ASYNC } from "../core/payments/process_refund_async.ts";
import { rebuildStats } from "../core/reports/count_payments.ts";
import { openServiceClock } from "../core/time/service_clock.ts";
import { createEvents, type Events, type RegisteredHandler } from "../core/handlers/events.ts";
import { syncSubscriptionStatus } from "../core/subscriptions/sync_subscription_status.ts";
import { createTasks } from "../core/tasks/tasks.ts";
import { createPoster } from "../core/posting/post.ts";
import { codeOf, INSUFFICIENT_PRIVILEGE, openDatabase } from "../db/connection/database.ts";
import { openInstanceLock } from "../db/connection/instance_lock.ts";
import {
  findJob,
  findOutcomes,
  type GatewayJob,
  insertJobs,
  type JobOutcomes,
  makeJobDue,
} from "../db/jobs/jobs.ts";
import { loadMigrations } from "../db/migrations/migrate.ts";
import { findPayment } from "../db/payments/statements.ts";
import { openAccountGuard, requireSameAccount } from "./account.ts";
import { reachDatabase } from "./database_access.ts";
import { joinServer } from "./database_server.ts";
import { openGateway } from "./gateway.ts";
import { MAX_RUNNING_JOBS } from "./jobs.ts";
import { migrateDatabase } from "./migrate.ts";
import { createProgress, Failure } from "./terminal.ts";

const USAGE = `Usage: run TASK [ID]
  check_payment_status PAYMENT   fetch the state of one payment from the gateway
  check_pending_payments         check payments that are due for a check
  expire_stale_payments          expire payments that can no longer be paid
  check_checkouts                expire checkouts, and close their payments at the gateway
  check_overdue_invoices         check invoices that are due for a check
  sync_subscription_status       check subscriptions that can still change
  process_charge_async JOB       run a charge requested with respond-async
  process_refund_async JOB       run a refund requested with respond-async
  rebuild_stats                  count all payments again for GET /stats/payments/

Enqueues up to 10,000 jobs, and runs those that are due now; the service runs the others.
Exit code 1: a job failed, or the gateway is down or rate limiting.`;

const SWEEPS: Record<string, (service: Service) => Promise<number>> = {
  check_pending_payments: checkPendingPayments,
  expire_stale_payments: expireStalePayments,
  check_checkouts: checkCheckouts,
  check_overdue_invoices: checkOverdueInvoices,
  sync_subscription_status: syncSubscriptionStatus,
};

const REBUILD_STATS = "rebuild_stats";

interface Run {
  task: string;
  /** Enqueues the jobs to run, or does the work itself. */
  begin(service: Service): Promise<unknown>;
  /** Returns a further line of output. */
  end?(service: Service): Promise<string>;
}

const CONNECTIONS = 4;

/** How long to wait for a job that another worker has claimed. */
const OTHER_WORKER_MS = 120_000;

const POLL_MS = 200;

export interface RunOptions {
  /** In-process event handlers of an embedding program. */
  events?: Events;
}

export async function run(
  readConfig: () => Config,
  args: string[],
  { events = createEvents() }: RunOptions = {},
): Promise<void> {
  if (args.some((each) => each === "--help" || each === "-h")) return console.log(USAGE);
  const { task, begin, end } = parse(args);
  const queued = new Set<string>();
  await using resources = new AsyncDisposableStack();
  const service = await openService(resources, readConfig(), events, queued);
  const since = new Date(service.clock());
  await begin(service).catch((error) => {
    throw error instanceof ClockSkewed ? new Failure(error.message) : error;
  });
  const ids = await runQueued(service, { task, queued, handlers: events.close() });
  const outcomes = await waitForOutcomes(service, ids, since);
  printOutcomes(outcomes);
  if (end) console.log(await end(service));
  const isPaused = gatewayPauseMs(service) > 0;
  if (isPaused) console.error("The gateway is down or rate limiting; remaining work was deferred.");
  if (outcomes.failed > 0 || isPaused) Deno.exitCode = 1;
}

/** Opens the service for a task. Enqueued jobs that are due now are added to `queued`. */
async function openService(
  resources: AsyncDisposableStack,
  config: Config,
  events: Events,
  queued: Set<string>,
): Promise<Service> {
  // The summary reports errors; this command writes no log.
  const log = createLog(() => {});
  resources.defer(() => log.flush());
  const server = resources.use(await joinServer(config));
  const access = await reachDatabase(await server.start(), config.databaseDirectUrl);
  await migrateDatabase(access.directUrl, await loadMigrations());
  const database = openDatabase({ ...access, poolSize: CONNECTIONS });
  resources.defer(() => database.close());
  const serviceClock = resources.use(await openServiceClock({ database, log }));
  const clock = serviceClock.now;
  // The service, not this command, takes over the jobs of other instances.
  const thisInstance = resources.use(
    await openInstanceLock({ url: access.directUrl, onLost() {} }),
  );
  // A running service has started the sandbox already.
  const gatewayConfig = server.isShared ? { ...config, sandboxPort: null } : config;
  const account = await openAccountGuard(database, config, log);
  const { background } = resources.use(await openGateway(gatewayConfig, log, account));
  await requireSameAccount(background, log);
  const secret = await database.query(ensureLinkSecret, "read secret of links");
  const waker = resources.use(createEventWaker({
    database,
    clock,
    log,
    // The service delivers the events to webhooks and streams.
    jobQueue: { enqueue() {}, [Symbol.asyncDispose]: () => Promise.resolve() },
  }));
  return {
    ...settingsOf(config),
    logo: null,
    database,
    databaseUrl: access.directUrl,
    thisInstance,
    keyReleases: resources.use(createKeyReleases({ database })),
    gateway: background,
    background,
    clock,
    clockCheck: createClockCheck({ serviceClock, gateway: background }),
    log,
    links: createLinks(secret, () => config.publicUrl),
    deriveId: createDerivedIds(secret),
    restoredAt: await database.query(findLastRestore, "find last restore"),
    events,
    waker,
    poster: resources.use(createPoster({ allowPrivate: config.webhookAllowPrivate })),
    jobQueue: {
      enqueue: ({ id, run_at }) => void (run_at.getTime() <= clock() && queued.add(id)),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
  };
}

/** Only the owner of the tables can truncate them: says so to an operator with another role. */
async function rebuildOrExplain(service: Service): Promise<number> {
  try {
    return await rebuildStats(service);
  } catch (error) {
    if (codeOf(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    const { message } = error as Error;
    throw new Failure(
      `This database role is not allowed to delete the statistics (${message}). ` +
        `Run \`deno task run ${REBUILD_STATS}\` as the role that owns the schema.`,
    );
  }
}

function parse([task, id, ...more]: string[]): Run {
  if (task === undefined || more.length > 0) throw new Failure(USAGE);
  const sweep = Object.hasOwn(SWEEPS, task) ? SWEEPS[task] : undefined;
  if (sweep) {
    if (id !== undefined) throw new Failure(USAGE);
    return { task, begin: sweep };
  }
  if (task === REBUILD_STATS) {
    if (id !== undefined) throw new Failure(USAGE);
    let counted = 0;
    return {
      task,
      begin: async (service) => counted = await rebuildOrExplain(service),
      end: () => Promise.resolve(`Payments counted: ${counted}`),
    };
  }
  const isPaymentCheck = task === CHECK_PAYMENT_STATUS;
  if (!isPaymentCheck && task !== PROCESS_CHARGE_ASYNC && task !== PROCESS_REFUND_ASYNC) {
    throw new Failure(`Unknown task "${task}".\n\n${USAGE}`);
  }
  if (id === undefined) throw new Failure(USAGE);
  if (!isPaymentCheck) return { task, begin: (service) => enqueueJob(service, task, id) };
  return {
    task,
    begin: (service) => enqueueCheck(service, id),
    async end({ database }) {
      const payment = await database.query((sql) => findPayment(sql, id));
      return `Payment status: ${payment!.transaction_status}`;
    },
  };
}

async function enqueueCheck({ database, clock, jobQueue }: Service, id: string): Promise<void> {
  const payment = isUuid(id) ? await database.query((sql) => findPayment(sql, id)) : null;
  if (!payment) throw new Failure(`Payment ${id} not found.`);
  const now = new Date(clock());
  const job = { ...checkPaymentJob(payment, now), run_at: now };
  for (const each of await database.query((sql) => insertJobs(sql, [job]))) jobQueue.enqueue(each);
}

async function enqueueJob({ database, clock, jobQueue }: Service, task: string, id: string) {
  const job = isUuid(id) ? await database.query((sql) => findJob(sql, id)) : null;
  if (job?.task !== task) throw new Failure(`Job ${id} of task ${task} not found.`);
  requireNotFailed(job);
  const now = new Date(clock());
  await database.query((sql) => makeJobDue(sql, id, now));
  jobQueue.enqueue({ id, run_at: now });
}

function requireNotFailed({ id, status, error }: GatewayJob): void {
  if (status !== "failed") return;
  throw new Failure(
    `The job has already failed: ${error}\nTo retry it, send POST /jobs/${id}/retry/.`,
  );
}

/** Runs the queued jobs, including those that they enqueue, and returns their ids. */
async function runQueued(
  service: Service,
  { task, queued, handlers }: {
    task: string;
    queued: Set<string>;
    handlers: readonly RegisteredHandler[];
  },
): Promise<string[]> {
  const tasks = createTasks(service, handlers);
  const worker = createWorker({ ...service, tasks, maxRunning: MAX_RUNNING_JOBS });
  const progress = createProgress(task);
  const all = new Set<string>();
  let done = 0;
  while (queued.size > 0) {
    const ids = [...queued];
    queued.clear();
    for (const id of ids) all.add(id);
    const waiting = ids.values();
    const runNext = async () => {
      for (const id of waiting) {
        await worker.run(id);
        progress.show(++done, all.size + queued.size);
      }
    };
    await Promise.all(Array.from({ length: MAX_RUNNING_JOBS }, runNext));
  }
  progress.end();
  return [...all];
}

async function waitForOutcomes({ database }: Service, ids: string[], since: Date) {
  const deadline = performance.now() + OTHER_WORKER_MS;
  while (true) {
    const outcomes = await database.query((sql) => findOutcomes(sql, ids, since), "find outcomes");
    if (outcomes.running === 0 || performance.now() > deadline) return outcomes;
    await delay(POLL_MS);
  }
}

function printOutcomes(
  { succeeded, changed, failed, postponed, running, errors }: JobOutcomes,
): void {
  const parts = [
    `${succeeded + failed} processed`,
    `${changed} changed`,
    `${failed} failed`,
    ...postponed > 0 ? [`${postponed} deferred`] : [],
    ...running > 0 ? [`${running} still running on another worker`] : [],
  ];
  console.log(parts.join(", "));
  for (const { error, count } of errors) console.error(`${count} × ${error}`);
}
