/**
 * The counts of the service status. Each count reads an index in which nearly all rows count, and
 * stops at a limit, so the cost depends neither on the size of the tables nor on the backlog.
 */

import { checkoutsWithAlert } from "../billing/checkouts.ts";
import type { Sql } from "../connection/database.ts";
import { type GatewayJob, IS_UNDELIVERED, type JobStatus } from "../jobs/jobs.ts";
import { ownerlessPayments } from "../payments/lists.ts";
import { MAX_COUNTED, type Waiting } from "../records/waiting.ts";

const LAST_FAILURES = 10;

export interface JobCount {
  task: string;
  status: Exclude<JobStatus, "succeeded">;
  count: number;
}

/** Counts jobs by task. The limit applies to unfinished jobs and to failed jobs separately. */
export async function countJobs(sql: Sql): Promise<JobCount[]> {
  const jobsWhere = (condition: string) =>
    `(select task, status from gateway.jobs where ${condition} limit ${MAX_COUNTED + 1})`;
  return await sql.unsafe<JobCount[]>(
    `select task, status, count(*) as count from (
      ${jobsWhere("status in ('queued', 'running')")} union all ${jobsWhere("status = 'failed'")}
    ) job
    group by task, status order by task, status`,
    [],
    { prepare: true },
  );
}

export type FailedJob = Pick<GatewayJob, "id" | "task" | "error" | "updated_at">;

/** The newest failed jobs. */
export async function listLastFailures(sql: Sql): Promise<FailedJob[]> {
  return await sql<FailedJob[]>`
    select id, task, error, updated_at from gateway.jobs where status = 'failed'
    order by status desc, id desc limit ${LAST_FAILURES}`;
}

/** When the job that has waited longest for a worker became due; null: none waits. */
export async function findOldestDue(sql: Sql, now: Date): Promise<Date | null> {
  const [job] = await sql<[{ run_at: Date }?]>`
    select run_at from gateway.jobs where status = 'queued' and run_at <= ${now}
    order by run_at limit 1`;
  return job?.run_at ?? null;
}

/** How many of the oldest waiting deliveries are read to find the oldest event. */
const MAX_DELIVERIES_READ = 1_000;

/** Waiting deliveries to in-process handlers, and the time of the oldest event among them. */
export async function findUndelivered(sql: Sql): Promise<Waiting> {
  const waiting = `gateway.jobs where ${IS_UNDELIVERED}`;
  const [found] = await sql.unsafe<[Waiting]>(
    // Ids are in the order of creation, so the lowest subject ids are the oldest.
    `select (${countSql(waiting)}) as count, (
      select min((
        select created_at from gateway.events event
        where event.resource_id = job.subject_id
          and event.sequence = (job.payload ->> 'sequence')::int
      )) from (
        select subject_id, payload from ${waiting}
        order by subject_id limit ${MAX_DELIVERIES_READ}
      ) job
    ) as since`,
    [],
    { prepare: true },
  );
  return found;
}

/** Pending webhook deliveries. */
export async function findUnsent(sql: Sql): Promise<Waiting> {
  const [found] = await sql.unsafe<[Waiting]>(
    `select (${countSql("gateway.webhook_deliveries where status = 'pending'")}) as count, (
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

/** Disabled endpoints, whether staff or the service disabled them. */
export async function countDisabledEndpoints(sql: Sql): Promise<number> {
  const [found] = await sql<[{ count: number }]>`
    select count(*) from gateway.webhook_endpoints
    where disabled_reason is not null and deleted_at is null`;
  return found.count;
}

/** Notifications that are not processed yet. */
export async function findReceived(sql: Sql): Promise<Waiting> {
  const [found] = await sql.unsafe<[Waiting]>(
    `select (${countSql("gateway.notifications where status = 'received'")}) as count, (
      select created_at from gateway.notifications where status = 'received'
      order by status, id limit 1
    ) as since`,
    [],
    { prepare: true },
  );
  return found;
}

/** Notifications that the service gave up confirming. */
export async function countFailedNotifications(sql: Sql): Promise<number> {
  const [found] = await sql.unsafe<[{ count: number }]>(
    countSql("gateway.notifications where status = 'failed'"),
    [],
    { prepare: true },
  );
  return found.count;
}

export interface Unanswered {
  payments: number;
  invoices: number;
  subscriptions: number;
}

/** Requests without a response from the gateway: creations, and actions on subscriptions. */
export async function countUnanswered(sql: Sql): Promise<Unanswered> {
  const [found] = await sql.unsafe<[Unanswered]>(
    // The newest, because the index also contains payments that ended without a response.
    `select (
      select count(*) from (
        select transaction_status from gateway.payments
        where transaction_id is null and not is_refused
        order by (transaction_id is null) desc, id desc limit ${MAX_COUNTED + 1}
      ) payment where transaction_status = 'pending'
    ) as payments,
    (${countSql("gateway.invoices where status = 'pending'")}) as invoices,
    least(${MAX_COUNTED + 1},
      (${countSql("gateway.subscriptions where status = 'pending'")}) +
      (${countSql("gateway.subscriptions where intent is not null and status <> 'pending'")})
    ) as subscriptions`,
    [],
    { prepare: true },
  );
  return found;
}

/** Paid payments without an owner. */
export async function countOwnerless(sql: Sql, paidSince: Date): Promise<number> {
  const [found] = await sql<[{ count: number }]>`
    select count(*) from (${ownerlessPayments(sql, paidSince)}) ownerless`;
  return found.count;
}

/** Checkouts of which staff have to return money, or decide what happens with the order. */
export interface CheckoutAlerts {
  paid_twice: number;
  paid_late: number;
}

export async function countCheckoutAlerts(sql: Sql, paidSince: Date): Promise<CheckoutAlerts> {
  const [found] = await sql<[CheckoutAlerts]>`
    select
      (select count(*) from (${checkoutsWithAlert(sql, "paid_twice", paidSince)}) twice)
        as paid_twice,
      (select count(*) from (${checkoutsWithAlert(sql, "paid_late", paidSince)}) late)
        as paid_late`;
  return found;
}

export interface UnrecognizedPayments {
  count: number;
  /** At most ten of them. */
  examples: { payment_id: string; gateway_status: string }[];
}

const EXAMPLES = 10;

/** Payments whose status at the gateway is not known to the service. */
export async function findUnrecognized(sql: Sql): Promise<UnrecognizedPayments> {
  // In the order of the index, which PostgreSQL might not use otherwise.
  const [found] = await sql.unsafe<[UnrecognizedPayments]>(
    `with found as materialized (
      select unrecognized_status, id from gateway.payments where unrecognized_status is not null
      order by unrecognized_status, id limit ${MAX_COUNTED + 1}
    )
    select (select count(*) from found) as count, coalesce((
      select json_agg(json_build_object('payment_id', id, 'gateway_status', unrecognized_status))
      from (select * from found order by id desc limit ${EXAMPLES}) newest
    ), '[]') as examples`,
    [],
    { prepare: true },
  );
  return found;
}

function countSql(rows: string): string {
  return `select count(*) from (select from ${rows} limit ${MAX_COUNTED + 1}) counted`;
}

/**
 * Fails if the database accepts no writes. A replica rejects the update, even if the row is locked
 * and skipped. On a full disk the update succeeds as long as its page has room for another version
 * of the row, while inserts need new pages. So the sort writes a temporary file: its rows are
 * larger than its memory. Call it in a transaction.
 */
export async function checkWrites(sql: Sql): Promise<void> {
  await sql`select set_config('work_mem', '64kB', true)`;
  await sql`
    select from (
      select from generate_series(1, 2000) number order by repeat('x', 128) || number offset 2000
    ) sorted`;
  await sql`
    update gateway.cron_runs set minute = minute
    where task = (
      select task from gateway.cron_runs order by task limit 1 for update skip locked)`;
}

/** Such as `18.1`. */
export async function readServerVersion(sql: Sql): Promise<string> {
  const [row] = await sql<[{ version: string }]>`
    select split_part(current_setting('server_version'), ' ', 1) as version`;
  return row.version;
}
