/** `deno task run TASK`: runs one of the tasks by hand, whether the service runs or not. */

import { setTimeout as delay } from "node:timers/promises";
import { validate as isUuid } from "uuid";
import { systemClock } from "../core/clock.ts";
import type { Config } from "../core/config/config.ts";
import { createEventPublisher } from "../core/events/publisher.ts";
import { gatewayPauseMs } from "../core/gateway/background_pause.ts";
import { checkOverdueInvoices } from "../core/invoices/check_overdue_invoices.ts";
import type { QueueDeps } from "../core/jobs/queue_checks.ts";
import { CHECK_PAYMENT_STATUS } from "../core/jobs/task_names.ts";
import { createWorker } from "../core/jobs/worker.ts";
import { createLog } from "../core/log.ts";
import { checkPendingPayments } from "../core/payments/check_pending_payments.ts";
import { expireStalePayments } from "../core/payments/expire_stale_payments.ts";
import { checkPaymentJob } from "../core/payments/payment_record.ts";
import { PROCESS_CHARGE_ASYNC } from "../core/payments/process_charge_async.ts";
import { PROCESS_REFUND_ASYNC } from "../core/payments/process_refund_async.ts";
import { createSecretBox } from "../core/secret_box.ts";
import { createEvents, type Events } from "../core/subscribers/subscribe.ts";
import { syncSubscriptionStatus } from "../core/subscriptions/sync_subscription_status.ts";
import { createTasks, type TaskDeps } from "../core/tasks.ts";
import { createPoster } from "../core/webhooks/post.ts";
import { openDatabase } from "../db/database.ts";
import { findJob, findOutcomes, type JobOutcomes } from "../db/job_queries.ts";
import { bringForward, type GatewayJob, insertJobs } from "../db/jobs.ts";
import { loadMigrations } from "../db/migrations.ts";
import { findPayment } from "../db/payment_statements.ts";
import { bringUpToDate } from "./bring_up_to_date.ts";
import { joinServer } from "./database_server.ts";
import { Failure } from "./failure.ts";
import { openGateway } from "./gateway.ts";
import { MAX_RUNNING } from "./jobs.ts";
import { createProgress } from "./progress.ts";

const USAGE = `Usage: run TASK [ID]
  check_payment_status PAYMENT   fetch one payment's state
  check_pending_payments         look at the payments that are due for it
  expire_stale_payments          end the payments that can no longer be paid
  check_overdue_invoices         look at the invoices that are due for it
  sync_subscription_status       look at all subscriptions
  process_charge_async JOB       do a charge that was asked for with respond-async
  process_refund_async JOB       likewise a refund

What was queued is worked off at once; what has to wait is left to the service.
Exit code 1: something failed.`;

const SWEEPS: Record<string, (deps: QueueDeps) => Promise<number>> = {
  check_pending_payments: checkPendingPayments,
  expire_stale_payments: expireStalePayments,
  check_overdue_invoices: checkOverdueInvoices,
  sync_subscription_status: syncSubscriptionStatus,
};

interface Errand {
  task: string;
  /** Queues what there is to do; what it hands to the carrier is worked off. */
  begin(deps: TaskDeps): Promise<unknown>;
  /** What else there is to be told. */
  end?(deps: TaskDeps): Promise<string>;
}

const CONNECTIONS = 4;

/** How long is waited for a job that another worker took. */
const ELSEWHERE_MS = 120_000;

const POLL_MS = 200;

export interface RunOptions {
  /** Who listens to what happens, for those who embed the service: they hear of it when it runs. */
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
  const deps = await openTaskDeps(resources, readConfig(), events, queued);
  const since = new Date(systemClock());
  await begin(deps);
  const ids = await workOff(deps, task, queued);
  const outcomes = await outcomesOf(deps, ids, since);
  tell(outcomes);
  if (end) console.log(await end(deps));
  const isResting = gatewayPauseMs(deps) > 0;
  if (isResting) console.error("The gateway is down, or asked to be left alone; the rest waits.");
  if (outcomes.failed > 0 || isResting) Deno.exitCode = 1;
}

/** What is to be run at once is `queued`. */
async function openTaskDeps(
  resources: AsyncDisposableStack,
  config: Config,
  events: Events,
  queued: Set<string>,
): Promise<TaskDeps> {
  const server = resources.use(await joinServer(config));
  const url = await server.start();
  await bringUpToDate(url, await loadMigrations(), null);
  const database = openDatabase({ url, poolSize: CONNECTIONS });
  resources.defer(() => database.close());
  // What goes wrong is told in the summary; the rest is for the service's log.
  const log = createLog(() => {});
  resources.defer(() => log.flush());
  // Beside a service the emulated gateway is that one's.
  const gatewayConfig = server.isShared ? { ...config, sandboxPort: null } : config;
  const { background } = resources.use(await openGateway(gatewayConfig, log));
  const publisher = resources.use(createEventPublisher({
    database,
    clock: systemClock,
    log,
    // Who outside is to hear of it hears it from the service.
    jobQueue: { enqueue() {}, [Symbol.asyncDispose]: () => Promise.resolve() },
  }));
  return {
    database,
    gateway: background,
    clock: systemClock,
    log,
    events,
    publisher,
    poster: resources.use(createPoster({ allowPrivate: config.webhookAllowPrivate })),
    invoicePayments: config.invoicePayments,
    keep: config.keep,
    secrets: createSecretBox(config.gateway.serverKey),
    jobQueue: {
      enqueue: ({ id, run_at }) => void (run_at.getTime() <= systemClock() && queued.add(id)),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
  };
}

function parse([task, id, ...more]: string[]): Errand {
  if (task === undefined || more.length > 0) throw new Failure(USAGE);
  const sweep = Object.hasOwn(SWEEPS, task) ? SWEEPS[task] : undefined;
  if (sweep) {
    if (id !== undefined) throw new Failure(USAGE);
    return { task, begin: sweep };
  }
  const isOfPayment = task === CHECK_PAYMENT_STATUS;
  if (!isOfPayment && task !== PROCESS_CHARGE_ASYNC && task !== PROCESS_REFUND_ASYNC) {
    throw new Failure(`There is no task "${task}".\n\n${USAGE}`);
  }
  if (id === undefined) throw new Failure(USAGE);
  if (!isOfPayment) return { task, begin: (deps) => resume(deps, task, id) };
  return {
    task,
    begin: (deps) => lookAt(deps, id),
    async end({ database }) {
      const payment = await database.query((sql) => findPayment(sql, id));
      return `The payment's status is ${payment!.transaction_status}.`;
    },
  };
}

async function lookAt({ database, clock, jobQueue }: TaskDeps, id: string): Promise<void> {
  const payment = isUuid(id) ? await database.query((sql) => findPayment(sql, id)) : null;
  if (!payment) throw new Failure(`There is no payment ${id}.`);
  const now = new Date(clock());
  const job = { ...checkPaymentJob(payment, now), run_at: now };
  for (const each of await database.query((sql) => insertJobs(sql, [job]))) jobQueue.enqueue(each);
}

async function resume({ database, clock, jobQueue }: TaskDeps, task: string, id: string) {
  const job = isUuid(id) ? await database.query((sql) => findJob(sql, id)) : null;
  if (job?.task !== task) throw new Failure(`There is no job ${id} of ${task}.`);
  refuseFailed(job);
  const now = new Date(clock());
  await database.query((sql) => bringForward(sql, id, now));
  jobQueue.enqueue({ id, run_at: now });
}

function refuseFailed({ id, status, error }: GatewayJob): void {
  if (status !== "failed") return;
  throw new Failure(`The job failed: ${error}\nPOST /jobs/${id}/retry/ lets it begin anew.`);
}

/** Everything that was queued, and what that queues in turn; which jobs these were. */
async function workOff(deps: TaskDeps, task: string, queued: Set<string>): Promise<string[]> {
  const worker = createWorker({ ...deps, tasks: createTasks(deps), maxRunning: MAX_RUNNING });
  const progress = createProgress(task);
  const all = new Set<string>();
  let done = 0;
  while (queued.size > 0) {
    const ids = [...queued];
    queued.clear();
    for (const id of ids) all.add(id);
    await Promise.all(ids.map(async (id) => {
      await worker.run(id);
      progress.tell(++done, all.size + queued.size);
    }));
  }
  progress.end();
  return [...all];
}

async function outcomesOf({ database }: TaskDeps, ids: string[], since: Date) {
  const deadline = systemClock() + ELSEWHERE_MS;
  while (true) {
    const outcomes = await database.query((sql) => findOutcomes(sql, ids, since), "find outcomes");
    if (outcomes.running === 0 || systemClock() > deadline) return outcomes;
    await delay(POLL_MS);
  }
}

function tell({ succeeded, changed, failed, putOff, running, errors }: JobOutcomes): void {
  const parts = [
    `${succeeded + failed} looked at`,
    `${changed} changed`,
    `${failed} failed`,
    ...putOff > 0 ? [`${putOff} put off`] : [],
    ...running > 0 ? [`${running} still running elsewhere`] : [],
  ];
  console.log(parts.join(", "));
  for (const { error, count } of errors) console.error(`${count} × ${error}`);
}
