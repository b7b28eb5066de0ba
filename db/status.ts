/**
 * How things stand, in numbers. Each is read by an index that holds little else, and counting stops at
 * some point: it costs the same, however much has been done before and however much waits.
 */

import type { Sql } from "./database.ts";
import { type GatewayJob, IS_UNDELIVERED, type JobStatus } from "./jobs.ts";

/** Counting stops one above it: whoever has more than so many has one problem, and knows it. */
export const MOST_COUNTED = 10_000;

/** Whoever wants to see more can list them. */
const LAST_FAILURES = 10;

export interface JobCount {
  task: string;
  status: Exclude<JobStatus, "succeeded">;
  count: number;
}

/** Of those that wait or run, and of those that were given up, so many are looked at. */
export async function countJobs(sql: Sql): Promise<JobCount[]> {
  const some = (condition: string) =>
    `(select task, status from gateway.jobs where ${condition} limit ${MOST_COUNTED + 1})`;
  return await sql.unsafe<JobCount[]>(
    `select task, status, count(*) as count from (
      ${some("status in ('queued', 'running')")} union all ${some("status = 'failed'")}
    ) job
    group by task, status order by task, status`,
    [],
    { prepare: true },
  );
}

export type FailedJob = Pick<GatewayJob, "id" | "task" | "error" | "updated_at">;

/** Of those that were given up the last that were made. */
export async function listLastFailures(sql: Sql): Promise<FailedJob[]> {
  return await sql<FailedJob[]>`
    select id, task, error, updated_at from gateway.jobs where status = 'failed'
    order by status desc, id desc limit ${LAST_FAILURES}`;
}

/** Since when a job could be run that nobody runs; null where there is none. */
export async function findOldestDue(sql: Sql, now: Date): Promise<Date | null> {
  // First all that is not over, in the order of its index; there are never many that run.
  const [job] = await sql<[{ run_at: Date }?]>`
    select run_at from (
      select run_at, status from gateway.jobs
      where status in ('queued', 'running') and run_at <= ${now}
      order by run_at limit ${MOST_COUNTED}
    ) job
    where status = 'queued' order by run_at limit 1`;
  return job?.run_at ?? null;
}

export interface Waiting {
  count: number;
  /** Since when; null where nothing does. */
  since: Date | null;
}

/** Of the oldest payments, invoices and subscriptions that somebody waits to hear of. */
const MOST_DELIVERIES_READ = 1_000;

/** Deliveries to those who listen, and when what the oldest of them tell of happened. */
export async function findUndelivered(sql: Sql): Promise<Waiting> {
  const waiting = `gateway.jobs where ${IS_UNDELIVERED}`;
  const [found] = await sql.unsafe<[Waiting]>(
    // What they are about has ids in the order of time.
    `select (${counting(waiting)}) as count, (
      select min((
        select created_at from gateway.events event
        where event.resource_id = job.subject_id
          and event.sequence = (job.payload ->> 'sequence')::int
      )) from (
        select subject_id, payload from ${waiting}
        order by subject_id limit ${MOST_DELIVERIES_READ}
      ) job
    ) as since`,
    [],
    { prepare: true },
  );
  return found;
}

/** Deliveries to endpoints, and since when the oldest of them waits. */
export async function findUnsent(sql: Sql): Promise<Waiting> {
  const [found] = await sql.unsafe<[Waiting]>(
    `select (${counting("gateway.webhook_deliveries where status = 'pending'")}) as count, (
      select min(oldest.created_at) from gateway.webhook_endpoints endpoint, lateral (
        select created_at from gateway.webhook_deliveries
        where endpoint_id = endpoint.id and status = 'pending'
        order by endpoint_id, status, event_id limit 1
      ) oldest
    ) as since`,
    [],
    { prepare: true },
  );
  return found;
}

/** Endpoints that were disabled, by themselves or by staff. */
export async function countDisabledEndpoints(sql: Sql): Promise<number> {
  const [found] = await sql<[{ count: number }]>`
    select count(*) from gateway.webhook_endpoints
    where disabled_reason is not null and deleted_at is null`;
  return found.count;
}

/** Notifications that the gateway is still to be asked about. */
export async function findReceived(sql: Sql): Promise<Waiting> {
  const [found] = await sql.unsafe<[Waiting]>(
    `select (${counting("gateway.notifications where status = 'received'")}) as count, (
      select created_at from gateway.notifications where status = 'received'
      order by status, id limit 1
    ) as since`,
    [],
    { prepare: true },
  );
  return found;
}

export interface Unanswered {
  payments: number;
  invoices: number;
  subscriptions: number;
}

/** What the gateway was asked for and has not answered: creations, and actions on subscriptions. */
export async function countUnanswered(sql: Sql): Promise<Unanswered> {
  const [found] = await sql.unsafe<[Unanswered]>(
    // The index of these payments also holds the few that never got an answer and are over.
    `select (
      select count(*) from (
        select transaction_status from gateway.payments
        where transaction_id is null and not is_refused limit ${MOST_COUNTED + 1}
      ) payment where transaction_status = 'pending'
    ) as payments,
    (${counting("gateway.invoices where status = 'pending'")}) as invoices,
    least(${MOST_COUNTED + 1},
      (${counting("gateway.subscriptions where status = 'pending'")}) +
      (${counting("gateway.subscriptions where intent is not null and status <> 'pending'")})
    ) as subscriptions`,
    [],
    { prepare: true },
  );
  return found;
}

function counting(rows: string): string {
  return `select count(*) from (select from ${rows} limit ${MOST_COUNTED + 1}) counted`;
}
