/**
 * `deliver_webhooks`: sends one endpoint all that is due. One job of it runs for each endpoint, on
 * whichever instance: so one that is slow, or has much to get, keeps no other waiting.
 */

import type { Database } from "../../db/database.ts";
import { type DueDelivery, takeDue } from "../../db/due_deliveries.ts";
import { type GatewayJob, hasToWait } from "../../db/jobs.ts";
import { deleteDeliveries } from "../../db/webhook_deliveries.ts";
import {
  findEndpoint,
  type GatewayWebhookEndpoint,
  removeEndpoint,
} from "../../db/webhook_endpoints.ts";
import { within } from "../../db/within.ts";
import { PutOff, type Task, type TaskContext } from "../jobs/task.ts";
import { inTurn } from "../records/in_turn.ts";
import { attemptDelivery, type AttemptDeps } from "./attempt_delivery.ts";
import { judge, type JudgeDeps } from "./judge_endpoint.ts";

/** To one endpoint at once. */
const AT_ONCE = 10;

/** What is fetched at once to be sent. */
const FETCHED = 100;

/** A job that goes on for longer comes back as another attempt: it has to end before it takes too long. */
const LONGEST_MS = 45_000;

/** For so long what is known of the endpoint counts; on this instance changes are heard of at once. */
const FRESH_MS = 1_000;

/** How soon to look again whether an earlier job for the endpoint is over. */
const TURN_MS = 1_000;

/** Rows deleted by one statement. */
const STEP = 1_000;

/** Endpoints that are served at once: more than there will mostly be. */
const MOST_ENDPOINTS = 256;

export interface DeliverWebhooksDeps extends AttemptDeps, JudgeDeps {
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
  if (mustWait) throw new PutOff(new Date(clock() + TURN_MS));
  const endpoint = await find(deps, job.subject_id!);
  if (!endpoint) return { skipped: "The endpoint is gone" };
  if (endpoint.deleted_at) return await forget(deps, endpoint.id);
  if (endpoint.disabled_reason) return { skipped: "The endpoint is disabled" };
  const { sent, next } = await deliverDue(deps, endpoint.id, context);
  if (next) throw new PutOff(next);
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
  const underWay = new Map<string, Promise<void>>();
  const news = createNews();
  let endpoint: GatewayWebhookEndpoint | null = null;
  let readAt = -Infinity;
  let fetched: DueDelivery[] = [];
  let next: Date | null = null;
  let failure: unknown = null;
  let sent = 0;
  using _ = deps.announcer.hear(endpointId, {
    onNews: news.tell,
    onChange: () => readAt = -Infinity,
  });

  async function readEndpoint(): Promise<void> {
    readAt = performance.now();
    endpoint = await find(deps, endpointId);
  }

  async function fetchMore(): Promise<void> {
    const now = new Date(deps.clock());
    const due = { endpointId, now, except: [...underWay.keys()], limit: FETCHED };
    ({ deliveries: fetched, next } = await deps.database.query(
      (sql) => takeDue(sql, due),
      "take due deliveries",
    ));
    if (next && next <= now) news.tell();
  }

  async function attempt(to: GatewayWebhookEndpoint, delivery: DueDelivery): Promise<void> {
    const posted = await attemptDelivery(deps, to, delivery, signal);
    // By what is known of it now: others may have ended meanwhile.
    await inTurn(endpointId, async () => {
      const known = endpoint;
      const judged = known && await judge(deps, known, { ...posted, url: to.url });
      if (endpoint === known) endpoint = judged;
    });
  }

  function start(to: GatewayWebhookEndpoint, delivery: DueDelivery): void {
    const attempting = attempt(to, delivery)
      .catch((error) => failure ??= error)
      .then(() => {
        sent++;
        underWay.delete(delivery.resource_id);
        // The next of its resource has its turn.
        news.tell();
      });
    underWay.set(delivery.resource_id, attempting);
  }

  const mustEnd = () =>
    failure !== null || stopping.aborted || signal.aborted || performance.now() > until;

  while (!mustEnd()) {
    if (performance.now() - readAt > FRESH_MS) {
      await readEndpoint();
      // Other instances write events, too, and are not heard here.
      news.tell();
    }
    if (!endpoint || !isServed(endpoint)) break;
    const hasRoom = underWay.size < AT_ONCE;
    if (hasRoom && fetched.length > 0) start(endpoint, fetched.shift()!);
    else if (hasRoom && news.take()) await fetchMore();
    else if (underWay.size === 0) return { sent, next };
    else {
      const changes = [...underWay.values(), ...hasRoom ? [news.comes()] : []];
      await within(FRESH_MS, Promise.race(changes));
    }
  }
  await Promise.all(underWay.values());
  if (failure !== null) throw failure;
  return { sent, next: hasMoreToDo(endpoint) ? new Date(deps.clock()) : null };
}

function isServed({ deleted_at, disabled_reason }: GatewayWebhookEndpoint): boolean {
  return deleted_at === null && disabled_reason === null;
}

/** Be it to forget it. */
function hasMoreToDo(endpoint: GatewayWebhookEndpoint | null): boolean {
  return endpoint !== null && (endpoint.deleted_at !== null || isServed(endpoint));
}

/** Whether there may be something that was not looked at yet; at first there may. */
function createNews() {
  let isThere = true;
  let coming = Promise.withResolvers<void>();
  return {
    tell() {
      isThere = true;
      coming.resolve();
    },
    take() {
      const wasThere = isThere;
      isThere = false;
      coming = Promise.withResolvers();
      return wasThere;
    },
    comes: () => coming.promise,
  };
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
