/**
 * `deliver_webhooks`: sends all due deliveries of one endpoint. One job runs for each endpoint, on
 * any instance, so that an endpoint that is slow or has many deliveries does not delay the others.
 */

import { waitAtMost } from "../../concurrency/deadlines.ts";
import { type GatewayJob, hasToWait } from "../../db/jobs/jobs.ts";
import { limitStatements } from "../../db/connection/limit_statements.ts";
import {
  deleteDeliveries,
  type DueDelivery,
  findDueDeliveries,
} from "../../db/webhooks/deliveries.ts";
import {
  findEndpoint,
  type GatewayWebhookEndpoint,
  removeEndpoint,
} from "../../db/webhooks/endpoints.ts";
import { PostponeJob, type Task, type TaskContext } from "../jobs/task.ts";
import type { Service } from "../service.ts";
import { createEndpointCache, FRESH_MS } from "./endpoint_health.ts";
import { attemptDelivery } from "./send.ts";

/** How many requests to one endpoint run at a time. */
const CONCURRENCY = 10;

/** How many due deliveries one query fetches. */
const FETCH_LIMIT = 100;

/** After this the job ends and is queued again: it has to end before its time limit (90 s). */
const MAX_RUN_MS = 45_000;

/** How long to wait before checking again whether an earlier job of the endpoint is over. */
const ORDER_WAIT_MS = 1_000;

/** How many rows one statement deletes. */
const DELETE_BATCH = 1_000;

/** How many endpoints are served at a time: more than installations usually have. */
const MAX_ENDPOINTS = 256;

/**
 * How many SQL statements run at a time for all delivery jobs together, including the statements of
 * the worker about these jobs. Without this limit, hundreds of endpoints that are due at the same
 * time fill the queue of the connection pool, and requests and scheduled tasks exceed their
 * deadline.
 */
const MAX_STATEMENTS = 3;

export function createDeliverWebhooks(options: Service): Task {
  const database = limitStatements(options.database, MAX_STATEMENTS);
  const service = { ...options, database };
  return {
    retries: 30,
    firstDelayMs: 5_000,
    longestDelayMs: 3_600_000,
    concurrency: MAX_ENDPOINTS,
    database,
    run: (job, context) => deliverWebhooks(service, job, context),
  };
}

async function deliverWebhooks(
  service: Service,
  job: GatewayJob,
  context: TaskContext,
): Promise<object> {
  const { database, clock } = service;
  const mustWait = await database.query((sql) => hasToWait(sql, job, 0), "find running delivery");
  if (mustWait) throw new PostponeJob(new Date(clock() + ORDER_WAIT_MS));
  const endpointId = job.subject_id!;
  const endpoint = await database.query((sql) => findEndpoint(sql, endpointId), "find endpoint");
  if (!endpoint) return { skipped: "The endpoint does not exist" };
  if (endpoint.deleted_at) return await deleteEndpoint(service, endpointId);
  if (endpoint.disabled_reason) return { skipped: "The endpoint is disabled" };
  const { sent, next } = await sendDue(service, endpointId, context);
  if (next) throw new PostponeJob(next);
  return { sent };
}

interface SendResult {
  sent: number;
  /** When the next delivery is due; null: none is known. */
  next: Date | null;
}

/** Sends until no delivery is due, the endpoint is disabled or deleted, or the job has to end. */
async function sendDue(
  service: Service,
  endpointId: string,
  { signal, stopping }: TaskContext,
): Promise<SendResult> {
  const deadline = performance.now() + MAX_RUN_MS;
  const fetchFlag = createFetchFlag();
  // Other instances also write events, and cannot wake this job. So the due deliveries are
  // fetched again each time the endpoint is read.
  const cache = createEndpointCache(service, endpointId, fetchFlag.raise);
  using _ = service.waker.registerDeliveryJob(endpointId, {
    onDelivery: fetchFlag.raise,
    onChange: cache.invalidate,
  });
  /** The running attempts, by resource: the deliveries of one resource are sent in order. */
  const running = new Map<string, Promise<void>>();
  let fetched: DueDelivery[] = [];
  let next: Date | null = null;
  let failure: unknown = null;
  let sent = 0;

  async function fetchDue(): Promise<void> {
    const now = new Date(service.clock());
    const due = { endpointId, now, except: [...running.keys()], limit: FETCH_LIMIT };
    ({ deliveries: fetched, next } = await service.database.query(
      (sql) => findDueDeliveries(sql, due),
      "find due deliveries",
    ));
    if (next && next <= now) fetchFlag.raise();
  }

  async function attempt(endpoint: GatewayWebhookEndpoint, delivery: DueDelivery): Promise<void> {
    try {
      const result = await attemptDelivery(service, endpoint, delivery, signal);
      await cache.recordResult({ ...result, url: endpoint.url });
    } catch (error) {
      failure ??= error;
    }
    sent++;
    running.delete(delivery.resource_id);
    // The next delivery of the same resource can be fetched now.
    fetchFlag.raise();
  }

  const mustEnd = () =>
    failure !== null || stopping.aborted || signal.aborted || performance.now() > deadline;

  try {
    while (!mustEnd()) {
      const endpoint = await cache.read();
      if (!endpoint || !isActive(endpoint)) break;
      const hasRoom = running.size < CONCURRENCY;
      if (hasRoom && fetched.length > 0) {
        const delivery = fetched.shift()!;
        running.set(delivery.resource_id, attempt(endpoint, delivery));
      } else if (hasRoom && fetchFlag.take()) await fetchDue();
      else if (running.size === 0) return { sent, next };
      else {
        const changes = [...running.values(), ...hasRoom ? [fetchFlag.wait()] : []];
        await waitAtMost(FRESH_MS, Promise.race(changes));
      }
    }
  } finally {
    // Also if a query has failed: the next run would send these deliveries again at the same time.
    await Promise.all(running.values());
  }
  if (failure !== null) throw failure;
  return { sent, next: needsAnotherRun(await cache.read()) ? new Date(service.clock()) : null };
}

interface FetchFlag {
  raise(): void;
  /** Lowers the flag; returns whether it was raised. */
  take(): boolean;
  /** Resolves when it is raised. */
  wait(): Promise<void>;
}

/** Raised while there may be due deliveries that were not fetched. Initially raised. */
function createFetchFlag(): FetchFlag {
  let isRaised = true;
  let raised = Promise.withResolvers<void>();
  return {
    raise() {
      isRaised = true;
      raised.resolve();
    },
    take() {
      const wasRaised = isRaised;
      isRaised = false;
      raised = Promise.withResolvers();
      return wasRaised;
    },
    wait: () => raised.promise,
  };
}

function isActive({ deleted_at, disabled_reason }: GatewayWebhookEndpoint): boolean {
  return deleted_at === null && disabled_reason === null;
}

/** A deleted endpoint needs another run, too, which deletes its deliveries. */
function needsAnotherRun(endpoint: GatewayWebhookEndpoint | null): boolean {
  return endpoint !== null && (endpoint.deleted_at !== null || isActive(endpoint));
}

async function deleteEndpoint(
  { database }: Service,
  endpointId: string,
): Promise<object> {
  const batch = { endpointId, limit: DELETE_BATCH };
  const deleteBatch = () =>
    database.query((sql) => deleteDeliveries(sql, batch), "delete deliveries");
  while (await deleteBatch() === DELETE_BATCH);
  await database.query((sql) => removeEndpoint(sql, endpointId), "remove endpoint");
  return { skipped: "The endpoint was deleted" };
}
