/** Notifications of the gateway: the model, and the statements that read and write them. */

import type { Batched } from "../records/batched.ts";
import {
  columnNames,
  fixed,
  mutable,
  overwriteMutable,
  type RowOf,
  typesOf,
} from "../records/columns.ts";
import type { Sql } from "../connection/database.ts";
import { type DueJob, insertJobsSql, type NewJob } from "../jobs/jobs.ts";
import {
  idRange,
  type IndexRange,
  type ListBounds,
  mergedWalk,
  rangeWalk,
  readWalk,
  statesCte,
  type Walk,
  type WalkedPage,
} from "../records/list_walk.ts";
import { Statement } from "../records/statement.ts";

/**
 * - `received`: still to be checked at the gateway;
 * - `processed`: it changed a record;
 * - `duplicate`: it reported nothing new;
 * - `stale`: it reported an earlier state;
 * - `unmatched`: the gateway has no transaction that matches it;
 * - `failed`: the gateway did not confirm it, and the service gave up.
 */
export const NOTIFICATION_STATUSES = [
  "received",
  "processed",
  "duplicate",
  "stale",
  "unmatched",
  "failed",
] as const;

export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number];

export const NOTIFICATION_COLUMNS = {
  id: fixed<string>(),
  /** Null: no payment matches. */
  payment_id: mutable<string | null>(),
  order_id: fixed<string>(),
  transaction_id: fixed<string | null>(),
  transaction_status: fixed<string>(),
  fraud_status: fixed<string | null>(),
  payment_type: fixed<string | null>(),
  status_code: fixed<string>(),
  /** The text that is part of the signature. */
  gross_amount: fixed<string>(),
  status: mutable<NotificationStatus>(),
  error_message: mutable<string | null>(),
  /** The notification without signature, tokens, card numbers and customer data. */
  raw_payload: fixed<Record<string, unknown>>(),
  created_at: fixed<Date>(),
};

export const NOTIFICATION_TYPES = typesOf(NOTIFICATION_COLUMNS, {
  uuid: ["id", "payment_id"],
  json: ["raw_payload"],
  timestamptz: ["created_at"],
});

export interface GatewayNotification extends RowOf<typeof NOTIFICATION_COLUMNS> {}

export interface NotificationWrite {
  notification: GatewayNotification;
  jobs: NewJob[];
}

/** Inserts notifications that change no payment, and updates the results of stored ones. */
export const notificationWrites: Batched<NotificationWrite, DueJob[]> = {
  name: "write notification",
  conflictKeys: ({ notification }) => [notification.id],
  run: writeNotifications,
};

async function writeNotifications(sql: Sql, writes: NotificationWrite[]): Promise<DueJob[][]> {
  const statement = new Statement({ isBatch: true });
  const notifications = writes.map(({ notification }) => notification);
  const jobs = writes.flatMap(({ jobs }) => jobs);
  const names = columnNames(NOTIFICATION_COLUMNS).join(", ");
  const insert = `
      insert into gateway.notifications (${names})
      select ${names} from ${statement.arrays(notifications, NOTIFICATION_TYPES)}
      order by id ${overwriteMutable(NOTIFICATION_COLUMNS)}`;
  if (jobs.length === 0) {
    await statement.run(sql, insert);
    return writes.map(() => []);
  }
  const queued = await statement.run<DueJob & { subject_id: string }>(
    sql,
    `with written as (${insert}) ${insertJobsSql(statement, jobs)}`,
  );
  return writes.map(({ notification }) =>
    queued.filter(({ subject_id }) => subject_id === notification.id)
      .map(({ id, run_at }) => ({ id, run_at }))
  );
}

/** The order ids of the doctor's self-tests begin with it (`core/notifications/self_test.ts`). */
export const SELF_TEST_PREFIX = "doctor:";

/** PostgreSQL reads the pattern in the same way. */
export const SELF_TEST_ORDER = /^doctor:[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

export function isSelfTestOrder(orderId: string): boolean {
  return SELF_TEST_ORDER.test(orderId);
}

/** Null: it has not arrived in this database. */
export async function findSelfTest(sql: Sql, orderId: string): Promise<GatewayNotification | null> {
  const [row] = await sql<[GatewayNotification?]>`
    select * from gateway.notifications where order_id = ${orderId} order by order_id, id limit 1`;
  return row ?? null;
}

export async function findNotification(sql: Sql, id: string): Promise<GatewayNotification | null> {
  const [row] = await sql<[GatewayNotification?]>`
    select * from gateway.notifications where id = ${id}`;
  return row ?? null;
}

/** A missing member: any value. */
export interface NotificationConditions {
  order_id?: string;
  /** One of these. */
  status?: readonly NotificationStatus[];
}

export interface NotificationFilter extends NotificationConditions, ListBounds {
  limit: number;
}

/** Newest first, without self-tests. */
export async function listNotifications(
  sql: Sql,
  filter: NotificationFilter,
): Promise<WalkedPage<GatewayNotification>> {
  const status = filter.status ? sql.array([...filter.status]) : null;
  return await readWalk(sql, chooseWalk(sql, filter), {
    table: "notifications",
    columns: columnNames(NOTIFICATION_COLUMNS),
    conditions: sql`(${status}::text[] is null or record.status = any(${status}))
      and record.order_id !~ ${SELF_TEST_ORDER.source}`,
    limit: filter.limit,
  });
}

/**
 * Every list leaves out self-tests. With an order id, its few notifications are read, and then
 * filtered by status, too.
 */
function chooseWalk(sql: Sql, filter: NotificationFilter): Walk {
  const { order_id, status } = filter;
  const isFiltered = true;
  const range = (prefix: IndexRange["prefix"]) => idRange("notifications", prefix, filter);
  if (order_id !== undefined) {
    return rangeWalk(sql, range([["order_id", sql`${order_id}::text`]]), isFiltered);
  }
  if (!status) return rangeWalk(sql, range([]), isFiltered);
  return mergedWalk(
    sql,
    statesCte(sql, status),
    range([["status", sql`state.status`]]),
    isFiltered,
  );
}
