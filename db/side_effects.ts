/** Rows that are written in the same statement as a record: history, events, deliveries, refunds, jobs. */

import type { Sql } from "./database.ts";
import type { GatewayEvent } from "./events.ts";
import { type DueJob, insertingJobs, type NewJob } from "./jobs.ts";
import {
  type GatewayNotification,
  NOTIFICATION_COLUMNS,
  ON_NOTIFICATION_CONFLICT,
} from "./notifications.ts";
import type { GatewayRefund } from "./payments.ts";
import type { NewHistory } from "./records.ts";
import { Statement } from "./statement.ts";

export interface SideEffects {
  history: NewHistory[];
  events: GatewayEvent[];
  /** Of a payment: those that are new or changed. */
  refunds: GatewayRefund[];
  /** Of a subscription: those that are new. */
  charges: SubscriptionCharge[];
  /** That told of it, with what has come of them. */
  notifications: GatewayNotification[];
  /** They are about the record; or about what it belongs to, and then name the payment. */
  jobs: NewJob[];
}

export interface WriteResult {
  /** False: the record is not as it was taken to be; then nothing was written. */
  isWritten: boolean;
  /** The jobs that wait now. */
  jobs: DueJob[];
  /** To which endpoints there is something to be delivered, be they disabled. */
  endpoints: string[];
}

/** Each row names its record. */
const TABLES = {
  history: {
    record: "resource_id",
    columns: "resource, resource_id, from_status, to_status, fraud_status, source, created_at",
  },
  events: {
    record: "resource_id",
    columns: "id, name, resource, resource_id, sequence, user_id, data, created_at",
  },
  refunds: {
    record: "payment_id",
    columns: "id, payment_id, refund_key, amount, reason, is_direct, status, status_code, " +
      "status_message, created_at, updated_at",
  },
  subscription_charges: {
    record: "subscription_id",
    columns: "transaction_id, subscription_id, payment_id, created_at",
  },
  notifications: { record: "payment_id", columns: NOTIFICATION_COLUMNS },
};

/** Of what is there already only its end is news. */
const ON_CONFLICT: Partial<Record<keyof typeof TABLES, string>> = {
  notifications: ON_NOTIFICATION_CONFLICT,
  refunds: `
      on conflict (id) do update set (status, status_code, status_message, updated_at) = row(
        excluded.status, excluded.status_code, excluded.status_message, excluded.updated_at)`,
};

const RETURNING: Partial<Record<keyof typeof TABLES, string>> = {
  events: "returning id, name, resource_id, sequence, created_at",
};

/** Also to those that are disabled, for which they wait: what they miss meanwhile is not lost. */
const DELIVERING = `
      insert into gateway.webhook_deliveries
        (event_id, endpoint_id, event_name, resource_id, sequence, next_attempt_at, created_at)
      select event.id, endpoint.id, event.name, event.resource_id, event.sequence,
        event.created_at, event.created_at
      from with_events event, gateway.webhook_endpoints endpoint
      where endpoint.deleted_at is null
        and (endpoint.event_names is null or event.name = any(endpoint.event_names))
      returning endpoint_id`;

/** Parts of a statement in which `changed` has the ids of the records that were written. */
function besides(
  statement: Statement,
  writes: readonly SideEffects[],
  delivers: boolean,
): string[] {
  const jobs = writes.flatMap(({ jobs }) => jobs);
  return [
    ...beside(statement, "history", writes.flatMap(({ history }) => history)),
    ...beside(statement, "events", writes.flatMap(({ events }) => events)),
    ...delivers ? [`with_deliveries as (${DELIVERING})`] : [],
    ...beside(statement, "refunds", writes.flatMap(({ refunds }) => refunds)),
    ...beside(statement, "subscription_charges", writes.flatMap(({ charges }) => charges)),
    ...beside(statement, "notifications", writes.flatMap(({ notifications }) => notifications)),
    ...jobs.length > 0 ? [`with_jobs as (${insertingJobs(statement, jobs, IS_CAUSED)})`] : [],
  ];
}

const IS_CAUSED =
  "coalesce((payload ->> 'payment_id')::uuid, subject_id) in (select id from changed)";

function beside(
  statement: Statement,
  table: keyof typeof TABLES,
  rows: readonly object[],
): string[] {
  if (rows.length === 0) return [];
  const { record, columns } = TABLES[table];
  return [`with_${table} as (
      insert into gateway.${table} (${columns})
      select ${columns} from ${statement.rows(table, rows)}
      where ${record} in (select id from changed)
      ${ON_CONFLICT[table] ?? ""}
      ${RETURNING[table] ?? ""}
    )`];
}

interface Done {
  changed: string[];
  jobs: { id: string; run_at: string; subject_id: string }[];
  /** Each that something is to be delivered to, once for each event. */
  endpoints: string[];
  has_endpoints: boolean;
}

/**
 * The part of a statement that writes the records: their ids are in `changed`. It holds only while
 * `unless` does, which begins with "and" where it is anything.
 */
export type Changing = (statement: Statement, unless: string) => string[];

/** Where there were endpoints the last time. */
const withEndpoints = new WeakSet<Sql>();

/**
 * Writes records, and all that is written together with them; tells what was done for each write.
 * Where no endpoint is known of, nothing is said of deliveries, which costs time even where there are
 * none. But then nothing is written either, should there be one by now: it is said again, in full.
 */
export async function writeWithSideEffects(
  sql: Sql,
  changing: Changing,
  writes: readonly (SideEffects & { record: { id: string } })[],
): Promise<WriteResult[]> {
  const hasEvents = writes.some(({ events }) => events.length > 0);
  const delivers = hasEvents && withEndpoints.has(sql);
  let done = await say(sql, changing, writes, { hasEvents, delivers });
  // An endpoint is one reason; that the records are not as they were taken to be is the other.
  if (hasEvents && !delivers && done.changed.length === 0) {
    done = await say(sql, changing, writes, { hasEvents, delivers: true });
  }
  if (done.has_endpoints) withEndpoints.add(sql);
  else if (delivers) withEndpoints.delete(sql);
  return writes.map(({ record, jobs }) => ({
    isWritten: done.changed.includes(record.id),
    jobs: done.jobs.filter((each) => jobs.some((job) => job.subject_id === each.subject_id))
      .map(({ id, run_at }) => ({ id, run_at: new Date(run_at) })),
    endpoints: [...new Set(done.endpoints)],
  }));
}

async function say(
  sql: Sql,
  changing: Changing,
  writes: readonly SideEffects[],
  { hasEvents, delivers }: { hasEvents: boolean; delivers: boolean },
): Promise<Done> {
  const statement = new Statement();
  const parts = [
    ...changing(statement, hasEvents && !delivers ? `and not ${HAS_ENDPOINTS}` : ""),
    ...besides(statement, writes, delivers),
  ];
  const hasJobs = writes.some(({ jobs }) => jobs.length > 0);
  const [done] = await statement.run<Done>(
    sql,
    `with ${parts.join(", ")}
    select array(select id from changed) as changed,
      ${hasJobs ? "array(select to_json(with_jobs) from with_jobs)" : "'{}'::json[]"} as jobs,
      ${delivers ? "array(select endpoint_id from with_deliveries)" : "'{}'::uuid[]"} as endpoints,
      ${delivers ? HAS_ENDPOINTS : "false"} as has_endpoints`,
  );
  return done!;
}

const HAS_ENDPOINTS = "exists (select from gateway.webhook_endpoints)";

export interface SubscriptionCharge {
  transaction_id: string;
  subscription_id: string;
  payment_id: string;
  created_at: Date;
}
