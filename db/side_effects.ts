/**
 * Writes a record together with the rows that follow from the change, in one statement: history,
 * events, deliveries, refunds, subscription charges, notifications and jobs.
 */

import { columnNames, fixed, overwriteMutable, type RowOf, typesOf } from "./columns.ts";
import type { Sql } from "./database.ts";
import { EVENT_COLUMNS, type GatewayEvent } from "./events.ts";
import { type DueJob, insertJobsSql, type NewJob } from "./jobs.ts";
import {
  type GatewayNotification,
  NOTIFICATION_COLUMNS,
  NOTIFICATION_TYPES,
} from "./notifications.ts";
import { type GatewayRefund, REFUND_COLUMNS } from "./payments.ts";
import { HISTORY_COLUMNS, type NewHistory } from "./records.ts";
import { type ColumnType, Statement, type StatementOptions } from "./statement.ts";

export interface SideEffects {
  history: NewHistory[];
  events: GatewayEvent[];
  /** New or changed refunds of a payment. */
  refunds: GatewayRefund[];
  /** New charges of a subscription. */
  charges: SubscriptionCharge[];
  /** The notifications that reported the change, with their results. */
  notifications: GatewayNotification[];
  /** Jobs whose subject is the record, or whose payload names the record as `payment_id`. */
  jobs: NewJob[];
}

/** A charge of a subscription whose event is written; ensures one event per charge. */
const CHARGE_COLUMNS = {
  transaction_id: fixed<string>(),
  subscription_id: fixed<string>(),
  payment_id: fixed<string>(),
  created_at: fixed<Date>(),
};

export interface SubscriptionCharge extends RowOf<typeof CHARGE_COLUMNS> {}

export interface WriteResult {
  /** False: the stored record is not the expected one, and nothing was written. */
  isWritten: boolean;
  /** The jobs that are queued now. */
  jobs: DueJob[];
  /** The endpoints that got new deliveries, disabled ones included. */
  endpoints: string[];
}

interface SideTable {
  /** The column with the record's id. */
  recordId: string;
  columns: Parameters<typeof columnNames>[0];
  /** The types of all columns, for frequent rows; null: the rows are sent as JSON. */
  types: Record<string, ColumnType> | null;
  /** SQL that follows the insert. */
  suffix: string;
}

const TABLES = {
  history: {
    recordId: "resource_id",
    columns: HISTORY_COLUMNS,
    types: typesOf(HISTORY_COLUMNS, { uuid: ["resource_id"], timestamptz: ["created_at"] }),
    suffix: "",
  },
  events: {
    recordId: "resource_id",
    columns: EVENT_COLUMNS,
    types: typesOf(EVENT_COLUMNS, {
      uuid: ["id", "resource_id"],
      integer: ["sequence"],
      json: ["data"],
      timestamptz: ["created_at"],
    }),
    suffix: "returning id, name, resource_id, sequence, created_at",
  },
  refunds: {
    recordId: "payment_id",
    columns: REFUND_COLUMNS,
    types: null,
    suffix: overwriteMutable(REFUND_COLUMNS),
  },
  subscription_charges: {
    recordId: "subscription_id",
    columns: CHARGE_COLUMNS,
    types: null,
    suffix: "",
  },
  notifications: {
    recordId: "payment_id",
    columns: NOTIFICATION_COLUMNS,
    types: NOTIFICATION_TYPES,
    suffix: overwriteMutable(NOTIFICATION_COLUMNS),
  },
} satisfies Record<string, SideTable>;

/** Disabled endpoints get deliveries, too, which wait until they are enabled again. */
const INSERT_DELIVERIES = `
      insert into gateway.webhook_deliveries
        (event_id, endpoint_id, event_name, resource_id, sequence, next_attempt_at, created_at)
      select event.id, endpoint.id, event.name, event.resource_id, event.sequence,
        event.created_at, event.created_at
      from with_events event, gateway.webhook_endpoints endpoint
      where endpoint.deleted_at is null
        and (endpoint.event_names is null or event.name = any(endpoint.event_names))
      returning endpoint_id`;

/** As an array: joined to the rows, the rows would be read again for each changed record. */
const CHANGED = "any(array(select id from changed))";

const IS_JOB_OF_CHANGED = `coalesce((payload ->> 'payment_id')::uuid, subject_id) = ${CHANGED}`;

const HAS_ENDPOINTS = "exists (select from gateway.webhook_endpoints)";

/** CTEs that insert the rows of those records whose ids are in the CTE `changed`. */
function buildSideEffects(
  statement: Statement,
  writes: readonly SideEffects[],
  hasDeliveries: boolean,
): string[] {
  const jobs = writes.flatMap(({ jobs }) => jobs);
  return [
    ...insertRows(statement, "history", writes.flatMap(({ history }) => history)),
    ...insertRows(statement, "events", writes.flatMap(({ events }) => events)),
    ...hasDeliveries ? [`with_deliveries as (${INSERT_DELIVERIES})`] : [],
    ...insertRows(statement, "refunds", writes.flatMap(({ refunds }) => refunds)),
    ...insertRows(statement, "subscription_charges", writes.flatMap(({ charges }) => charges)),
    ...insertRows(statement, "notifications", writes.flatMap(({ notifications }) => notifications)),
    ...jobs.length > 0
      ? [`with_jobs as (${insertJobsSql(statement, jobs, IS_JOB_OF_CHANGED)})`]
      : [],
  ];
}

function insertRows(
  statement: Statement,
  table: keyof typeof TABLES,
  rows: readonly object[],
): string[] {
  if (rows.length === 0) return [];
  const { recordId, columns, types, suffix }: SideTable = TABLES[table];
  const names = columnNames(columns).join(", ");
  const sent = types
    ? statement.arrays(rows as Record<string, unknown>[], types)
    : statement.rows(table, rows);
  return [`with_${table} as (
      insert into gateway.${table} (${names})
      select ${names} from ${sent}
      where ${recordId} = ${CHANGED}
      ${suffix}
    )`];
}

/**
 * Builds the CTEs that write the records; the one named `changed` returns their ids. They append
 * `condition` to their where clause: it is empty, or begins with "and".
 */
export type BuildRecordWrite = (statement: Statement, condition: string) => string[];

/** Connection pools whose database had webhook endpoints at the last write. */
const withEndpoints = new WeakSet<Sql>();

/**
 * Writes records with their side effects and returns a result for each write. Inserting deliveries
 * costs time even if there is no endpoint. So, while no endpoint is known, the statement inserts no
 * deliveries and writes only if no endpoint exists. If it wrote nothing, it runs again with deliveries.
 */
export async function writeWithSideEffects(
  sql: Sql,
  buildWrite: BuildRecordWrite,
  writes: readonly (SideEffects & { record: { id: string } })[],
  options: StatementOptions = {},
): Promise<WriteResult[]> {
  const hasEvents = writes.some(({ events }) => events.length > 0);
  const hasDeliveries = hasEvents && withEndpoints.has(sql);
  const run = (hasDeliveries: boolean) =>
    runWrite(sql, buildWrite, writes, { ...options, hasEvents, hasDeliveries });
  let written = await run(hasDeliveries);
  // Either there is an endpoint, or the stored records are not the expected ones.
  if (hasEvents && !hasDeliveries && written.changed.length === 0) {
    written = await run(true);
  }
  if (written.has_endpoints) withEndpoints.add(sql);
  else if (hasDeliveries) withEndpoints.delete(sql);
  return writes.map(({ record, jobs }) => ({
    isWritten: written.changed.includes(record.id),
    jobs: written.jobs.filter((each) => jobs.some((job) => job.subject_id === each.subject_id))
      .map(({ id, run_at }) => ({ id, run_at: new Date(run_at) })),
    endpoints: [...new Set(written.endpoints)],
  }));
}

interface Written {
  changed: string[];
  jobs: { id: string; run_at: string; subject_id: string }[];
  /** The endpoint of each new delivery. */
  endpoints: string[];
  has_endpoints: boolean;
}

interface WriteOptions extends StatementOptions {
  hasEvents: boolean;
  hasDeliveries: boolean;
}

async function runWrite(
  sql: Sql,
  buildWrite: BuildRecordWrite,
  writes: readonly SideEffects[],
  { hasEvents, hasDeliveries, ...options }: WriteOptions,
): Promise<Written> {
  const statement = new Statement(options);
  const parts = [
    ...buildWrite(statement, hasEvents && !hasDeliveries ? `and not ${HAS_ENDPOINTS}` : ""),
    ...buildSideEffects(statement, writes, hasDeliveries),
  ];
  const hasJobs = writes.some(({ jobs }) => jobs.length > 0);
  const endpoints = hasDeliveries
    ? "array(select endpoint_id from with_deliveries)"
    : "'{}'::uuid[]";
  const [written] = await statement.run<Written>(
    sql,
    `with ${parts.join(", ")}
    select array(select id from changed) as changed,
      ${hasJobs ? "array(select to_json(with_jobs) from with_jobs)" : "'{}'::json[]"} as jobs,
      ${endpoints} as endpoints,
      ${hasDeliveries ? HAS_ENDPOINTS : "false"} as has_endpoints`,
  );
  return written!;
}
