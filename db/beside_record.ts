/** What is written beside a payment, in the same statement: its story, and all that follows of it. */

import type { Sql } from "./database.ts";
import type { GatewayEvent } from "./events.ts";
import { type DueJob, insertingJobs, type NewJob } from "./jobs.ts";
import {
  type GatewayNotification,
  NOTIFICATION_COLUMNS,
  ON_NOTIFICATION_CONFLICT,
} from "./notifications.ts";
import type { GatewayPayment, NewHistory } from "./payments.ts";
import type { GatewayRefund } from "./refunds.ts";
import type { Statement } from "./statement.ts";

export interface Beside {
  history: NewHistory[];
  events: GatewayEvent[];
  /** Those that are new or changed. */
  refunds: GatewayRefund[];
  /** That told of it, with what has come of them. */
  notifications: GatewayNotification[];
  /** They are about the payment. */
  jobs: NewJob[];
}

export interface Written {
  /** False: the payment is not as it was taken to be; then nothing was written. */
  isWritten: boolean;
  /** The jobs that wait now. */
  jobs: DueJob[];
}

/** Each row names its payment. */
const TABLES = {
  payment_history: {
    payment: "payment_id",
    columns: "payment_id, from_status, to_status, fraud_status, source, created_at",
  },
  events: {
    payment: "resource_id",
    columns: "id, name, resource, resource_id, sequence, user_id, data, created_at",
  },
  refunds: {
    payment: "payment_id",
    columns: "id, payment_id, refund_key, amount, reason, is_direct, status, status_code, " +
      "status_message, created_at, updated_at",
  },
  notifications: { payment: "payment_id", columns: NOTIFICATION_COLUMNS },
};

/** Of what is there already only its end is news. */
const ON_CONFLICT: Partial<Record<keyof typeof TABLES, string>> = {
  notifications: ON_NOTIFICATION_CONFLICT,
  refunds: `
      on conflict (id) do update set (status, status_code, status_message, updated_at) = row(
        excluded.status, excluded.status_code, excluded.status_message, excluded.updated_at)`,
};

/** Parts of a statement in which `changed` has the ids of the payments that were written. */
export function besides(statement: Statement, writes: readonly Beside[]): string[] {
  const jobs = writes.flatMap(({ jobs }) => jobs);
  return [
    ...beside(statement, "payment_history", writes.flatMap(({ history }) => history)),
    ...beside(statement, "events", writes.flatMap(({ events }) => events)),
    ...beside(statement, "refunds", writes.flatMap(({ refunds }) => refunds)),
    ...beside(statement, "notifications", writes.flatMap(({ notifications }) => notifications)),
    ...jobs.length > 0 ? [`with_jobs as (${insertingJobs(statement, jobs, IS_CHANGED)})`] : [],
  ];
}

const IS_CHANGED = "subject_id in (select id from changed)";

function beside(
  statement: Statement,
  table: keyof typeof TABLES,
  rows: readonly object[],
): string[] {
  if (rows.length === 0) return [];
  const { payment, columns } = TABLES[table];
  return [`with_${table} as (
      insert into gateway.${table} (${columns})
      select ${columns} from ${statement.rows(table, rows)}
      where ${payment} in (select id from changed)
      ${ON_CONFLICT[table] ?? ""}
    )`];
}

interface Done {
  changed: string[];
  jobs: { id: string; run_at: string; subject_id: string }[];
}

/** Runs a statement of these parts, and tells what it did for each write. */
export async function runWith(
  sql: Sql,
  statement: Statement,
  parts: string[],
  writes: readonly (Beside & { payment: GatewayPayment })[],
): Promise<Written[]> {
  const hasJobs = writes.some(({ jobs }) => jobs.length > 0);
  const jobs = hasJobs ? "array(select to_json(with_jobs) from with_jobs)" : "'{}'::json[]";
  const [done] = await statement.run<Done>(
    sql,
    `with ${parts.join(", ")}
    select array(select id from changed) as changed, ${jobs} as jobs`,
  );
  return writes.map(({ payment: { id } }) => ({
    isWritten: done!.changed.includes(id),
    jobs: done!.jobs.filter(({ subject_id }) => subject_id === id)
      .map(({ id, run_at }) => ({ id, run_at: new Date(run_at) })),
  }));
}
