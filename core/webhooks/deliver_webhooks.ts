/**
 * `deliver_webhooks`: sends one endpoint all that is due. One job of it runs for each endpoint, on
 * whichever instance: so one that is slow, or has much to get, keeps no other waiting.
 */

import type { Database } from "../../db/database.ts";
import { type GatewayJob, hasToWait } from "../../db/jobs.ts";
import { deleteDeliveries, type DueDelivery, takeDue } from "../../db/webhook_deliveries.ts";
import {
  findEndpoint,
  type GatewayWebhookEndpoint,
  removeEndpoint,
} from "../../db/webhook_endpoints.ts";
import { waitAtMost } from "../../db/within.ts";
import { PostponeJob, type Task, type TaskContext } from "../jobs/task.ts";
import { attemptDelivery, type AttemptDeps } from "./attempt_delivery.ts";
import { createKnownEndpoint, FRESH_MS, type KnownEndpointDeps } from "./known_endpoint.ts";
import { createNews } from "./news.ts";

/** To one endpoint at once. */
const AT_ONCE = 10;

/** What is fetched at once to be sent. */
const FETCHED = 100;

/** A job that goes on for longer comes back as another attempt: it has to end before it takes too long. */
const LONGEST_MS = 45_000;

/** How soon to look again whether an earlier job for the endpoint is over. */
const TURN_MS = 1_000;

/** Rows deleted by one statement. */
const STEP = 1_000;

/** Endpoints that are served at once: more than there will mostly be. */
const MOST_ENDPOINTS = 256;

export interface DeliverWebhooksDeps extends AttemptDeps, KnownEndpointDeps {
  database: Database;
}

export function createDeliverWebhooks(deps: DeliverWebhooksDeps): Task {
  return {
    retries: 30,
    firstDelayMs: 5_000,
    longestDelayMs: 3_600_000,
    atOnce: MOST_ENDPOINTS,
    run: (job, context) => deliverWebhooks(deps, job, context),
  };
}

export async function deliverWebhooks(
  deps: DeliverWebhooksDeps,
  job: GatewayJob,
  context: TaskContext,
): Promise<object> {
  const { database, clock } = deps;
  const mustWait = await database.query((sql) => hasToWait(sql, job, 0), "find running delivery");
  if (mustWait) throw new PostponeJob(new Date(clock() + TURN_MS));
  const endpoint = await find(deps, job.subject_id!);
  if (!endpoint) return { skipped: "The endpoint is gone" };
  if (endpoint.deleted_at) return await forget(deps, endpoint.id);
  if (endpoint.disabled_reason) return { skipped: "The endpoint is disabled" };
  const { sent, next } = await deliverDue(deps, endpoint.id, context);
  if (next) throw new PostponeJob(next);
  return { sent };
}

interface Delivered {
  sent: number;
  /** When there will be more to send; null: not that anybody knows. */
  next: Date | null;
}

/** Until nothing is left that is due, the endpoint takes nothing more, or it has to end. */
async function deliverDue(
  deps: DeliverWebhooksDeps,
  endpointId: string,
  { signal, stopping }: TaskContext,
): Promise<Delivered> {
  const until = performance.now() + LONGEST_MS;
  const news = createNews();
  // Other instances write events, too, and are not heard here: so with each reading there may be news.
  const known = createKnownEndpoint(deps, endpointId, news.tell);
  using _ = deps.publisher.hear(endpointId, { onNews: news.tell, onChange: known.outdate });
  const underWay = new Map<string, Promise<void>>();
  let fetched: DueDelivery[] = [];
  let next: Date | null = null;
  let failure: unknown = null;
  let sent = 0;

  async function fetchMore(): Promise<void> {
    const now = new Date(deps.clock());
    const due = { endpointId, now, except: [...underWay.keys()], limit: FETCHED };
    ({ deliveries: fetched, next } = await deps.database.query(
      (sql) => takeDue(sql, due),
      "take due deliveries",
    ));
    if (next && next <= now) news.tell();
  }

  function start(endpoint: GatewayWebhookEndpoint, delivery: DueDelivery): void {
    const { resource_id } = delivery;
    const attempting = attemptDelivery(deps, endpoint, delivery, signal)
      .then((posted) => known.judge({ ...posted, url: endpoint.url }))
      .catch((error) => failure ??= error)
      .then(() => {
        sent++;
        underWay.delete(resource_id);
        // The next of its resource has its turn.
        news.tell();
      });
    underWay.set(resource_id, attempting);
  }

  const mustEnd = () =>
    failure !== null || stopping.aborted || signal.aborted || performance.now() > until;

  while (!mustEnd()) {
    const endpoint = await known.read();
    if (!endpoint || !isServed(endpoint)) break;
    const hasRoom = underWay.size < AT_ONCE;
    if (hasRoom && fetched.length > 0) start(endpoint, fetched.shift()!);
    else if (hasRoom && news.take()) await fetchMore();
    else if (underWay.size === 0) return { sent, next };
    else {
      const changes = [...underWay.values(), ...hasRoom ? [news.comes()] : []];
      await waitAtMost(FRESH_MS, Promise.race(changes));
    }
  }
  await Promise.all(underWay.values());
  if (failure !== null) throw failure;
  return { sent, next: hasMoreToDo(await known.read()) ? new Date(deps.clock()) : null };
}

function isServed({ deleted_at, disabled_reason }: GatewayWebhookEndpoint): boolean {
  return deleted_at === null && disabled_reason === null;
}

/** Be it to forget it. */
function hasMoreToDo(endpoint: GatewayWebhookEndpoint | null): boolean {
  return endpoint !== null && (endpoint.deleted_at !== null || isServed(endpoint));
}

async function find({ database }: DeliverWebhooksDeps, id: string) {
  return await database.query((sql) => findEndpoint(sql, id), "find endpoint");
}

async function forget({ database }: DeliverWebhooksDeps, endpointId: string): Promise<object> {
  const options = { endpointId, limit: STEP };
  const step = () => database.query((sql) => deleteDeliveries(sql, options), "delete deliveries");
  while (await step() === STEP);
  await database.query((sql) => removeEndpoint(sql, endpointId), "remove endpoint");
  return { skipped: "The endpoint was deleted" };
}
