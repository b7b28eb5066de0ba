/**
 * Writes a record together with the rows that follow from the change, in one statement: history,
 * events, refunds, subscription charges, attempts, notifications and jobs. The publisher writes the
 * deliveries of the events later (`db/events/publication.ts`).
 */

import { columnNames, fixed, overwriteMutable, type RowOf, typesOf } from "../records/columns.ts";
import type { Sql } from "../connection/database.ts";
import { NEW_EVENT_COLUMNS, type NewEvent } from "../events/events.ts";
import { type DueJob, insertJobsSql, type NewJob } from "../jobs/jobs.ts";
import {
  type GatewayNotification,
  NOTIFICATION_COLUMNS,
  NOTIFICATION_TYPES,
} from "../payments/notifications.ts";
import { ATTEMPT_COLUMNS, type CheckoutAttempt } from "../records/attempts.ts";
import { type GatewayRefund, REFUND_COLUMNS } from "../payments/payments.ts";
import { HISTORY_COLUMNS, type NewHistory } from "../records/records.ts";
import { type ColumnType, Statement, type StatementOptions } from "../records/statement.ts";

export interface SideEffects {
  history: NewHistory[];
  events: NewEvent[];
  /** New or changed refunds of a payment. */
  refunds: GatewayRefund[];
  /** New charges of a subscription. */
  charges: SubscriptionCharge[];
  /** New or changed attempts of a checkout. */
  attempts: CheckoutAttempt[];
  /** The notifications that reported the change, with their results. */
  notifications: GatewayNotification[];
  /** Jobs whose subject is the record, or whose payload names the record as `payment_id`. */
  jobs: NewJob[];
}

export const NO_SIDE_EFFECTS: SideEffects = {
  history: [],
  events: [],
  refunds: [],
  charges: [],
  attempts: [],
  notifications: [],
  jobs: [],
};

/** A subscription charge whose event is written. The row prevents a second event for the charge. */
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
    columns: NEW_EVENT_COLUMNS,
    types: typesOf(NEW_EVENT_COLUMNS, {
      uuid: ["id", "resource_id"],
      integer: ["sequence"],
      json: ["data"],
      "text[]": ["subscribers"],
      timestamptz: ["created_at"],
    }),
    suffix: "returning id, sequence",
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
  checkout_attempts: {
    recordId: "checkout_id",
    columns: ATTEMPT_COLUMNS,
    types: null,
    suffix: overwriteMutable(ATTEMPT_COLUMNS),
  },
  notifications: {
    recordId: "payment_id",
    columns: NOTIFICATION_COLUMNS,
    types: NOTIFICATION_TYPES,
    suffix: overwriteMutable(NOTIFICATION_COLUMNS),
  },
} satisfies Record<string, SideTable>;

/** As an array, because a join could read the rows again for each changed record. */
const CHANGED = "any(array(select id from changed))";

const IS_JOB_OF_CHANGED = `coalesce((payload ->> 'payment_id')::uuid, subject_id) = ${CHANGED}`;

/**
 * Tells the publisher about the events. It reads them by their ids in the outbox, which the
 * statement takes here: after it has locked the records and inserted the events.
 */
const WITH_OUTBOX = `with_outbox as (
      insert into gateway.event_outbox (event_id) select id from with_events order by sequence
    )`;

/** CTEs that insert the rows of those records whose ids are in the CTE `changed`. */
function buildSideEffects(statement: Statement, writes: readonly SideEffects[]): string[] {
  const events = writes.flatMap(({ events }) => events);
  const jobs = writes.flatMap(({ jobs }) => jobs);
  return [
    ...insertRows(statement, "history", writes.flatMap(({ history }) => history)),
    ...events.length > 0 ? [...insertRows(statement, "events", events), WITH_OUTBOX] : [],
    ...insertRows(statement, "refunds", writes.flatMap(({ refunds }) => refunds)),
    ...insertRows(statement, "subscription_charges", writes.flatMap(({ charges }) => charges)),
    ...insertRows(statement, "checkout_attempts", writes.flatMap(({ attempts }) => attempts)),
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
  const names = columnNames(columns);
  const selected = names.map((name) => types?.[name] === "text[]" ? `${name}::text[]` : name);
  const sent = types
    ? statement.arrays(rows as Record<string, unknown>[], types)
    : statement.rows(table, rows);
  return [`with_${table} as (
      insert into gateway.${table} (${names.join(", ")})
      select ${selected.join(", ")} from ${sent}
      where ${recordId} = ${CHANGED}
      ${suffix}
    )`];
}

/** Builds the CTEs that write the records; the one named `changed` returns their ids. */
export type BuildRecordWrite = (statement: Statement) => string[];

/** Writes records with their side effects and returns a result for each write. */
export async function writeWithSideEffects(
  sql: Sql,
  buildWrite: BuildRecordWrite,
  writes: readonly (SideEffects & { record: { id: string } })[],
  options: StatementOptions = {},
): Promise<WriteResult[]> {
  for (const write of writes) requireOwnRows(write);
  const statement = new Statement(options);
  const parts = [...buildWrite(statement), ...buildSideEffects(statement, writes)];
  const hasJobs = writes.some(({ jobs }) => jobs.length > 0);
  const [written] = await statement.run<Written>(
    sql,
    `with ${parts.join(", ")}
    select array(select id from changed) as changed,
      ${hasJobs ? "array(select to_json(with_jobs) from with_jobs)" : "'{}'::json[]"} as jobs`,
  );
  const { changed, jobs: queued } = written!;
  return writes.map(({ record, jobs }) => ({
    isWritten: changed.includes(record.id),
    jobs: queued.filter((each) => jobs.some((job) => job.subject_id === each.subject_id))
      .map(({ id, run_at }) => ({ id, run_at: new Date(run_at) })),
  }));
}

/** The statement would leave out a row of another record, or write it with that record. */
function requireOwnRows(write: SideEffects & { record: { id: string } }): void {
  const { record, history, events, refunds, charges, attempts, notifications, jobs } = write;
  const owners = [
    ...history.map(({ resource_id }) => resource_id),
    ...events.map(({ resource_id }) => resource_id),
    ...refunds.map(({ payment_id }) => payment_id),
    ...charges.map(({ subscription_id }) => subscription_id),
    ...attempts.map(({ checkout_id }) => checkout_id),
    ...notifications.map(({ payment_id }) => payment_id),
    ...jobs.map(({ payload, subject_id }) => (payload as JobPayload).payment_id ?? subject_id),
  ];
  const other = owners.find((id) => id !== record.id);
  if (other !== undefined) {
    throw new Error(`Record ${record.id} is not written: one of its rows is that of ${other}`);
  }
}

/** Jobs about an invoice or a subscription name the payment that they follow from. */
interface JobPayload {
  payment_id?: string;
}

interface Written {
  changed: string[];
  jobs: { id: string; run_at: string; subject_id: string }[];
}
