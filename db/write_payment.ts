/** Changes a payment, in one round trip with all that is written together with the change. */

import type { Sql } from "./database.ts";
import type { GatewayEvent } from "./events.ts";
import type { KeyId } from "./idempotency_keys.ts";
import { type DueJob, insertingJobs, type NewJob } from "./jobs.ts";
import type { GatewayPayment, NewHistory } from "./payments.ts";
import type { GatewayRefund } from "./refunds.ts";
import { columnList, rowsOf } from "./rows.ts";

/** What can change of a payment once it is there. */
const CHANGING = [
  "transaction_id",
  "bank",
  "store",
  "acquirer",
  "captured_amount",
  "refunded_amount",
  "reserved_amount",
  "transaction_status",
  "fraud_status",
  "status_code",
  "status_message",
  "va_number",
  "bill_key",
  "biller_code",
  "payment_code",
  "redirect_url",
  "deeplink_url",
  "qr_string",
  "qr_url",
  "transaction_time",
  "settlement_time",
  "expiry_time",
  "is_refused",
  "paid_at",
  "denied_captures",
  "sent_at",
  "check_at",
  "event_count",
  "updated_at",
] as const satisfies (keyof GatewayPayment)[];

const HISTORY_COLUMNS = [
  "payment_id",
  "from_status",
  "to_status",
  "fraud_status",
  "source",
  "created_at",
];

const EVENT_COLUMNS = [
  "id",
  "name",
  "resource",
  "resource_id",
  "sequence",
  "user_id",
  "data",
  "created_at",
];

const REFUND_COLUMNS = [
  "id",
  "payment_id",
  "refund_key",
  "amount",
  "reason",
  "is_direct",
  "status",
  "status_code",
  "status_message",
  "created_at",
  "updated_at",
];

/** A change, and all that is written together with it. */
export interface PaymentWrite {
  /** Its version is the one that was changed; what counts is whether the stored one still is that. */
  payment: GatewayPayment;
  history: NewHistory[];
  events: GatewayEvent[];
  /** Those that are new or changed. */
  refunds: GatewayRefund[];
  jobs: NewJob[];
  /** What to note of the key the change was asked with, while that is still its holder's. */
  key: KeyUpdate | null;
  /** Whether the key's holder alone may make the change. */
  isFenced: boolean;
}

export interface KeyUpdate extends KeyId {
  /** The lease by which the key is held; whoever took it over has another. */
  held_until: Date;
  payment_id: string;
  refund_id: string | null;
  reply: object | null;
  lease_until: Date;
}

export interface Written {
  /** False: the payment has changed meanwhile, or its fence fell; then nothing was written. */
  isWritten: boolean;
  /** The jobs that wait now. */
  jobs: DueJob[];
}

/**
 * One statement: the row's lock is held for no longer than that. It has only the parts it needs, for
 * each costs time even where it writes nothing, and most changes have two or three.
 */
export async function writePayment(sql: Sql, write: PaymentWrite): Promise<Written> {
  const { items: _, refunds: __, ...row } = write.payment;
  const { history, events, refunds, jobs, key, isFenced } = write;
  const columns = columnList(sql, CHANGING);
  const isChanged = sql`exists (select from changed)`;
  const isFence = isFenced && key !== null;
  const part = (isNeeded: boolean, statement: () => Fragment) => isNeeded ? statement() : sql``;
  const [result] = await sql<[{ is_written: boolean; jobs: { id: string; run_at: string }[] }]>`
    with ${part(isFence, () => withHeld(sql, key!))}
    changed as (
      update gateway.payments payment
      set version = payment.version + 1,
        (${columns}) = (select ${columns} from ${rowsOf(sql, "payments", [row])})
      where id = ${row.id} and version = ${row.version}
        ${part(isFence, () => sql`and exists (select from held)`)}
      returning id
    )
    ${part(history.length > 0, () => withRows(sql, "payment_history", HISTORY_COLUMNS, history))}
    ${part(events.length > 0, () => withRows(sql, "events", EVENT_COLUMNS, events))}
    ${part(refunds.length > 0, () => withRows(sql, "refunds", REFUND_COLUMNS, refunds))}
    ${part(jobs.length > 0, () => sql`, with_jobs as (${insertingJobs(sql, jobs, isChanged)})`)}
    ${part(key !== null, () => withKey(sql, key!))}
    select ${isChanged} as is_written,
      ${jobs.length > 0 ? sql`array(select to_json(with_jobs) from with_jobs)` : sql`'{}'::json[]`}
        as jobs`;
  return {
    isWritten: result.is_written,
    jobs: result.jobs.map(({ id, run_at }) => ({ id, run_at: new Date(run_at) })),
  };
}

type Fragment = ReturnType<Sql>;

/** A part that adds rows to a table, each with its columns by name. */
function withRows(
  sql: Sql,
  table: "payment_history" | "events" | "refunds",
  names: string[],
  rows: readonly object[],
): Fragment {
  const columns = columnList(sql, names);
  return sql`, ${sql.unsafe(`with_${table}`)} as (
      insert into ${sql.unsafe(`gateway.${table}`)} (${columns})
      select ${columns} from ${rowsOf(sql, table, rows)}
      where exists (select from changed)
      ${table === "refunds" ? onRefundConflict(sql) : sql``}
    )`;
}

/** Of a refund that is there already only its end is news. */
function onRefundConflict(sql: Sql): Fragment {
  return sql`on conflict (id) do update set (status, status_code, status_message, updated_at) = row(
        excluded.status, excluded.status_code, excluded.status_message, excluded.updated_at)`;
}

function withKey(sql: Sql, key: KeyUpdate): Fragment {
  return sql`, with_key as (
      update gateway.idempotency_keys
      set payment_id = ${key.payment_id}, refund_id = ${key.refund_id},
        reply = ${key.reply && JSON.stringify(key.reply)}::text::json,
        lease_until = ${key.lease_until}
      where ${isHeld(sql, key)} and exists (select from changed)
    )`;
}

/** Locked, so that nobody takes it over in this moment. */
function withHeld(sql: Sql, key: KeyUpdate): Fragment {
  return sql`held as (
      select from gateway.idempotency_keys where ${isHeld(sql, key)} for update
    ),`;
}

function isHeld(sql: Sql, { user_id, scope, key, held_until }: KeyUpdate): Fragment {
  return sql`user_id = ${user_id} and scope = ${scope} and key = ${key}
    and lease_until = ${held_until} and reply is null`;
}
