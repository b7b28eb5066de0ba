/** Notifications: the model, and the statements by which they are kept. */

import { MAX, NIL } from "uuid";
import type { Sql } from "./database.ts";
import { type DueJob, insertingJobs, type NewJob } from "./jobs.ts";
import { Statement } from "./statement.ts";
import type { Batched } from "./batched.ts";

export interface GatewayNotification {
  id: string;
  /** Null: it is about nothing that is known here. */
  payment_id: string | null;
  order_id: string;
  transaction_id: string | null;
  transaction_status: string;
  fraud_status: string | null;
  payment_type: string | null;
  status_code: string;
  /** As it was signed. */
  gross_amount: string;
  status: NotificationStatus;
  error_message: string | null;
  /** Without its signature and without tokens. */
  raw_payload: Record<string, unknown>;
  created_at: Date;
}

/**
 * - `received`: the gateway is still to be asked about it;
 * - `processed`: it changed something;
 * - `duplicate`, `stale`: it told nothing new, or something that was over;
 * - `unmatched`: the gateway itself knows nothing of it;
 * - `failed`: nothing could be made of it.
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

export const NOTIFICATION_COLUMNS =
  "id, payment_id, order_id, transaction_id, transaction_status, fraud_status, payment_type, " +
  "status_code, gross_amount, status, error_message, raw_payload, created_at";

/** Of one that is there already its end is the news. */
export const ON_NOTIFICATION_CONFLICT = `
      on conflict (id) do update set (payment_id, status, error_message) = row(
        excluded.payment_id, excluded.status, excluded.error_message)`;

export interface NotificationWrite {
  notification: GatewayNotification;
  jobs: NewJob[];
}

/** Notifications that change no payment, be they new or to be ended. */
export const notificationWrites: Batched<NotificationWrite, DueJob[]> = {
  name: "write notification",
  touches: ({ notification }) => [notification.id],
  run: writeNotifications,
};

async function writeNotifications(sql: Sql, writes: NotificationWrite[]): Promise<DueJob[][]> {
  const statement = new Statement();
  const notifications = writes.map(({ notification }) => notification);
  const jobs = writes.flatMap(({ jobs }) => jobs);
  const inserting = `
      insert into gateway.notifications (${NOTIFICATION_COLUMNS})
      select ${NOTIFICATION_COLUMNS} from ${statement.rows("notifications", notifications)}
      order by id ${ON_NOTIFICATION_CONFLICT}`;
  if (jobs.length === 0) {
    await statement.run(sql, inserting);
    return writes.map(() => []);
  }
  const waiting = await statement.run<DueJob & { subject_id: string }>(
    sql,
    `with written as (${inserting}) ${insertingJobs(statement, jobs)}`,
  );
  return writes.map(({ notification }) =>
    waiting.filter(({ subject_id }) => subject_id === notification.id)
      .map(({ id, run_at }) => ({ id, run_at }))
  );
}

export async function findNotification(sql: Sql, id: string): Promise<GatewayNotification | null> {
  const [row] = await sql<[GatewayNotification?]>`
    select * from gateway.notifications where id = ${id}`;
  return row ?? null;
}

export interface NotificationFilter {
  /** Null: of whichever order. */
  orderId: string | null;
  status: NotificationStatus | null;
  /** Ids are in the order of time: from this one on. */
  from: string | null;
  /** Only those before this one. */
  before: string | null;
  limit: number;
}

/** Newest first; of an order by its index, for it has but a few of any status. */
export async function listNotifications(
  sql: Sql,
  { orderId, status, from, before, limit }: NotificationFilter,
): Promise<GatewayNotification[]> {
  const [first, end] = [from ?? NIL, before ?? MAX];
  if (orderId !== null) {
    return await sql<GatewayNotification[]>`
      select * from gateway.notifications
      where (order_id, id) < (${orderId}::text, ${end}::uuid)
        and (order_id, id) >= (${orderId}::text, ${first}::uuid)
        and (${status}::text is null or status = ${status})
      order by order_id desc, id desc limit ${limit}`;
  }
  const [ofStatus, theStatus, byStatus] = status === null
    ? [sql``, sql``, sql``]
    : [sql`status,`, sql`${status}::text,`, sql`status desc,`];
  return await sql<GatewayNotification[]>`
    select * from gateway.notifications
    where (${ofStatus} id) < (${theStatus} ${end}::uuid)
      and (${ofStatus} id) >= (${theStatus} ${first}::uuid)
    order by ${byStatus} id desc limit ${limit}`;
}
