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

/** One statement: the row's lock is held for no longer than that. */
export async function writePayment(sql: Sql, write: PaymentWrite): Promise<Written> {
  const { items: _, refunds: __, ...row } = write.payment;
  const { history, events, refunds, jobs, isFenced } = write;
  const columns = columnList(sql, CHANGING);
  const historyColumns = columnList(sql, HISTORY_COLUMNS);
  const eventColumns = columnList(sql, EVENT_COLUMNS);
  const refundColumns = columnList(sql, REFUND_COLUMNS);
  const isChanged = sql`exists (select from changed)`;
  const [result] = await sql<[{ is_written: boolean; jobs: { id: string; run_at: string }[] }]>`
    with key_news as (
      select * from json_to_recordset(${JSON.stringify(write.key ? [write.key] : [])}::text::json)
        as news (user_id text, scope text, key text, held_until timestamptz, payment_id uuid,
          refund_id uuid, reply json, lease_until timestamptz)
    ), held as (
      select known.user_id, known.scope, known.key
      from gateway.idempotency_keys known
      join key_news news on known.user_id = news.user_id and known.scope = news.scope
        and known.key = news.key and known.lease_until = news.held_until
      where known.reply is null
    ), changed as (
      update gateway.payments payment
      set version = payment.version + 1,
        (${columns}) = (select ${columns} from ${rowsOf(sql, "payments", [row])})
      where id = ${row.id} and version = ${row.version}
        and (not ${isFenced} or exists (select from held))
      returning id
    ), with_history as (
      insert into gateway.payment_history (${historyColumns})
      select ${historyColumns} from ${rowsOf(sql, "payment_history", history)} where ${isChanged}
    ), with_events as (
      insert into gateway.events (${eventColumns})
      select ${eventColumns} from ${rowsOf(sql, "events", events)} where ${isChanged}
    ), with_refunds as (
      insert into gateway.refunds (${refundColumns})
      select ${refundColumns} from ${rowsOf(sql, "refunds", refunds)} where ${isChanged}
      on conflict (id) do update set (status, status_code, status_message, updated_at) = row(
        excluded.status, excluded.status_code, excluded.status_message, excluded.updated_at)
    ), with_jobs as (
      ${insertingJobs(sql, jobs, isChanged)}
    ), with_key as (
      update gateway.idempotency_keys known
      set (payment_id, refund_id, reply, lease_until) = row(
        news.payment_id, news.refund_id, news.reply, news.lease_until)
      from key_news news, held
      where known.user_id = held.user_id and known.scope = held.scope and known.key = held.key
        and known.lease_until = news.held_until and ${isChanged}
    )
    select ${isChanged} as is_written,
      coalesce((select json_agg(with_jobs) from with_jobs), '[]') as jobs`;
  return {
    isWritten: result.is_written,
    jobs: result.jobs.map(({ id, run_at }) => ({ id, run_at: new Date(run_at) })),
  };
}
