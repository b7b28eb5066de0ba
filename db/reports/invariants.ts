/**
 * What is always true of stored records, as conditions in SQL that find the records of which it is
 * not true. Each condition reads one snapshot, and a change writes all its rows in one statement,
 * so a change that is under way contradicts nothing.
 */

import type { Sql } from "../connection/database.ts";

export const CHECKED_RESOURCES = ["payment", "invoice", "subscription", "checkout"] as const;

export type CheckedResource = (typeof CHECKED_RESOURCES)[number];

const TABLES: Record<CheckedResource, string> = {
  payment: "gateway.payments",
  invoice: "gateway.invoices",
  subscription: "gateway.subscriptions",
  checkout: "gateway.checkouts",
};

/**
 * Whether the history of a record contradicts the record. The history is never deleted. The
 * creation is its only entry without a former status.
 */
function historyInvariants(status: string): Record<string, string> {
  const entries = "from gateway.history entry where entry.resource_id = record.id";
  return {
    history_has_one_start: `(select count(*) ${entries} and entry.from_status is null) <> 1`,
    history_has_no_gap: `exists (select from (
        select from_status, lag(to_status) over (order by id) as previous ${entries}
      ) entry where from_status is distinct from previous)`,
    history_ends_with_status:
      `(select entry.to_status ${entries} order by entry.id desc limit 1) is distinct from ${status}`,
  };
}

/**
 * Whether a transition to one of these statuses has no event of this name. An event has the time of
 * its transition. `$2`: later events are not deleted yet.
 */
function eventInvariants(eventOf: Record<string, string>): Record<string, string> {
  const names = Object.entries(eventOf).map(([status, name]) => `('${status}', '${name}')`);
  return {
    transitions_have_event: `exists (
        select from gateway.history entry
        join (values ${names.join(", ")}) needed (status, name) on needed.status = entry.to_status
        where entry.resource_id = record.id and entry.from_status <> entry.to_status
          and record.created_at > $2 and 0 = (
            select count(*) from gateway.events event
            where event.resource_id = record.id and event.name = needed.name
              and event.created_at = entry.created_at))`,
  };
}

/** `$2`: events of records that were created later than this are not deleted yet. */
const EVENTS: Record<string, string> = {
  events_are_counted: `record.created_at > $2 and record.event_count <> (
      select count(*) from gateway.events event where event.resource_id = record.id)`,
  events_are_numbered: `record.event_count < (
      select max(sequence) from gateway.events event where event.resource_id = record.id)`,
};

/** By name, the condition that is true of a record `record` that contradicts it. */
export const INVARIANTS: Record<CheckedResource, Record<string, string>> = {
  payment: {
    // Only refunds that were requested here: on its dashboard, the gateway refunds the customer's
    // fee as well, or an amount that is reserved here. An adopted payment can include the fee, too:
    // its refunds are older than the payment that takes its transaction over.
    refunds_within_captured: `coalesce(record.captured_amount, record.gross_amount) < (
        select sum(amount) from gateway.refunds
        where payment_id = record.id and created_by is not null
          and status in ('pending', 'succeeded') and created_at >= (
            select min(created_at) from gateway.history entry
            where entry.resource_id = record.id
              and entry.to_status in ('settlement', 'partial_refund', 'refund')))`,
    refunds_are_counted: `record.refunded_amount < (
        select coalesce(sum(amount), 0) from gateway.refunds
        where payment_id = record.id and status = 'succeeded')`,
    pending_refunds_are_reserved: `record.reserved_amount <> (
        select coalesce(sum(amount), 0) from gateway.refunds
        where payment_id = record.id and status = 'pending')`,
    refunds_have_owner: `exists (select from gateway.refunds
        where payment_id = record.id and user_id is distinct from record.user_id)`,
    paid_has_time: `record.paid_at is null and record.transaction_status in
        ('settlement', 'refund', 'partial_refund', 'chargeback', 'partial_chargeback')`,
    paid_has_one_event: `record.paid_at > $2 and (
        select count(*) from gateway.events event
        where event.resource_id = record.id and name = 'payment_settled') <> 1`,
    // A failed payment frees its order id. It can become paid after a later record took the id.
    order_id_has_owner: `record.created_by is not null
      and record.transaction_status <> 'failure' and 0 = (
        select count(*) from gateway.order_ids taken
        where taken.order_id = record.order_id and taken.user_id = record.user_id
          and (taken.holder_id in (record.id, record.checkout_id) or taken.holder_id > record.id
            and 0 < (select count(*) from gateway.history where resource_id = taken.holder_id)))`,
    items_add_up: `record.created_by is not null and record.gross_amount <> (
        select sum(price * quantity) from gateway.payment_items where payment_id = record.id)`,
    linked_invoice_has_owner: `record.invoice_id is not null and not exists (
        select from gateway.invoices invoice
        where invoice.id = record.invoice_id and invoice.user_id = record.user_id)`,
    linked_checkout_has_owner: `record.checkout_id is not null and not exists (
        select from gateway.checkouts checkout
        where checkout.id = record.checkout_id and checkout.user_id = record.user_id)`,
    ...historyInvariants("record.transaction_status"),
    // Not `failure`: the order of a refused charge may be paid by another transaction.
    ...eventInvariants({
      authorize: "payment_received",
      deny: "payment_denied",
      cancel: "payment_cancelled",
      expire: "payment_expired",
      chargeback: "payment_refunded",
      partial_chargeback: "payment_refunded",
    }),
    ...EVENTS,
  },
  invoice: {
    paid_has_time: "record.status = 'paid' and record.paid_at is null",
    items_add_up: `record.total_amount <> (
        select sum(price * quantity) from gateway.invoice_items where invoice_id = record.id)`,
    order_id_has_owner: `record.status <> 'failed' and not exists (
        select from gateway.order_ids taken
        where taken.order_id = record.order_id and taken.user_id = record.user_id
          and taken.holder_id = record.id)`,
    ...historyInvariants("record.status"),
    ...eventInvariants({ paid: "invoice_paid", void: "invoice_voided" }),
    ...EVENTS,
  },
  subscription: {
    charges_belong_to_payments: `exists (
        select from gateway.subscription_charges charge
        left join gateway.payments payment on payment.id = charge.payment_id
          and payment.subscription_id = record.id
        where charge.subscription_id = record.id and payment.id is null)`,
    ...historyInvariants("record.status"),
    ...eventInvariants({
      disabled: "subscription_disabled",
      cancelled: "subscription_cancelled",
    }),
    ...EVENTS,
  },
  checkout: {
    one_attempt_is_payable: `(
        select count(*) from gateway.checkout_attempts
        where checkout_id = record.id and closed_at is null) > 1`,
    // Not EXISTS: PostgreSQL could read all payments once, to have them in a hash table.
    paid_has_payment: `(record.status = 'paid') <> (0 < (
        select count(*) from gateway.payments payment
        where payment.id = record.payment_id and payment.checkout_id = record.id
          and payment.paid_at is not null))`,
    ended_has_time: "(record.status in ('open', 'processing')) <> (record.ended_at is null)",
    ...historyInvariants("record.status"),
    ...eventInvariants({
      paid: "checkout_completed",
      expired: "checkout_expired",
      cancelled: "checkout_cancelled",
    }),
    ...EVENTS,
  },
};

/** The statistics of an hour. Its id is the smallest one that a payment of the hour can have. */
export const STATISTICS = "statistics";

export interface Contradiction {
  resource: CheckedResource | typeof STATISTICS;
  resource_id: string;
  invariant: string;
}

/** The contradictions of these records. `eventsSince`: later events are not deleted yet. */
export async function findContradictions(
  sql: Sql,
  resource: CheckedResource,
  ids: readonly string[],
  eventsSince: Date,
): Promise<Contradiction[]> {
  const conditions = Object.entries(INVARIANTS[resource])
    .map(([name, condition]) => `('${name}', ${condition})`);
  return await sql.unsafe<Contradiction[]>(
    `select '${resource}' as resource, record.id as resource_id, invariant
    from ${TABLES[resource]} record
    cross join lateral (values ${conditions.join(",\n")}) checked (invariant, is_contradicted)
    where record.id = any($1::uuid[]) and is_contradicted
    order by record.id, invariant`,
    [ids, eventsSince],
    { prepare: true },
  );
}

export interface StatisticsHour {
  start: Date;
  end: Date;
  /** The ids of the hour's payments: from the first one, and below the second one. */
  ids: [string, string];
  /** The end of the day that starts with this hour, to check its sums, too; null: do not. */
  dayEnd: Date | null;
}

/** A change of a payment is counted some minutes later. */
const COUNTED_AFTER = "interval '5 minutes'";

/** What contradicts an hour's statistics; nothing while its payments are counted. */
export async function findStatisticsContradictions(
  sql: Sql,
  { start, end, ids: [first, next], dayEnd }: StatisticsHour,
): Promise<Contradiction[]> {
  const sums = `(sum(created_count), sum(paid_count), sum(gross_amount), sum(refund_amount),
    sum(chargeback_amount), sum(fee_cents))::text`;
  const hourly = "gateway.hourly_payment_stats where start >= $1";
  const hour = `${hourly} and start < $2 and scope`;
  return await sql.unsafe<Contradiction[]>(
    `select '${STATISTICS}' as resource, $3::uuid as resource_id, invariant
    from gateway.stats_progress
    cross join lateral (values
      ('hours_add_up_to_day', $5::timestamptz is not null and
        (select ${sums} from gateway.daily_payment_stats where start = $1 and scope = '*')
          is distinct from (select ${sums} from ${hourly} and start < $5 and scope = '*')),
      ('users_add_up_to_all',
        (select ${sums} from ${hour} <> '*') is distinct from (select ${sums} from ${hour} = '*')),
      ('payments_are_counted',
        (select coalesce(sum(created_count), 0) from ${hour} = '*') <>
          (select count(*) from gateway.payments where id >= $3 and id < $4))
    ) checked (invariant, is_contradicted)
    where rebuilt_to is null and as_of > $2::timestamptz + ${COUNTED_AFTER} and is_contradicted
    order by invariant`,
    [start, end, first, next, dayEnd],
    { prepare: true },
  );
}

/** The ids of the next records, oldest first. */
export async function listIdsAfter(
  sql: Sql,
  resource: CheckedResource,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await sql.unsafe<{ id: string }[]>(
    `select id from ${TABLES[resource]} where id > $1 order by id limit $2`,
    [after, limit],
    { prepare: true },
  );
  return rows.map(({ id }) => id);
}

/** About how many records there are, as PostgreSQL counted them last. */
export async function estimateRecords(sql: Sql, resource: CheckedResource): Promise<number> {
  const [{ rows }] = await sql<[{ rows: number }]>`
    select greatest(reltuples, 0)::float8 as rows from pg_class
    where oid = ${TABLES[resource]}::regclass`;
  return rows;
}

/** The cursor of the entries of the history. */
export const HISTORY = "history";

/** The last entry of the history, and a transaction that began after it was inserted. */
export interface EndOfHistory {
  id: string;
  transaction: string;
}

export async function markEndOfHistory(sql: Sql): Promise<EndOfHistory> {
  const [end] = await sql<[EndOfHistory]>`
    select coalesce((select id from gateway.history order by id desc limit 1), 0)::text as id,
      pg_current_xact_id()::text as transaction`;
  return end;
}

export interface HistoryEntry {
  id: string;
  resource: string;
  resource_id: string;
  /** No entry with a lower id can become visible later. */
  is_final: boolean;
}

/** The entries of the history after this id and up to the end, oldest first. */
export async function listHistoryTo(
  sql: Sql,
  end: EndOfHistory,
  after: string,
  limit: number,
): Promise<HistoryEntry[]> {
  return await sql<HistoryEntry[]>`
    select id::text, resource, resource_id,
      pg_snapshot_xmin(pg_current_snapshot()) >= ${end.transaction}::text::xid8 as is_final
    from gateway.history where id > ${after}::text::bigint and id <= ${end.id}::text::bigint
    order by history.id limit ${limit}`;
}

/** Null: the records of all changes in the history are checked. */
export async function findOldestUnchecked(sql: Sql): Promise<Date | null> {
  const [oldest] = await sql<[{ created_at: Date }?]>`
    select created_at from gateway.history
    where id > (select last_id::bigint from gateway.invariant_cursors where name = ${HISTORY})
    order by id limit 1`;
  return oldest?.created_at ?? null;
}

export interface Change {
  resource: CheckedResource;
  resource_id: string;
  updated_at: string;
}

/** Changes of refunds and checkouts after this time, oldest first; all that have the last time. */
export async function listUpdatedAfter(sql: Sql, after: string, limit: number): Promise<Change[]> {
  const changesOf = (table: string, resource: CheckedResource, id: string) =>
    sql`(
      select ${resource}::text as resource, ${sql(id)} as resource_id, updated_at
      from ${sql.unsafe(table)} where updated_at > ${after}::text::timestamptz
      order by updated_at fetch first (${limit}::int) rows with ties)`;
  const rows = await sql<(Omit<Change, "updated_at"> & { updated_at: Date })[]>`
    select resource, resource_id, updated_at from (
      ${changesOf("gateway.refunds", "payment", "payment_id")}
      union all ${changesOf("gateway.checkouts", "checkout", "id")}
    ) change order by updated_at fetch first (${limit}::int) rows with ties`;
  return rows.map((row) => ({ ...row, updated_at: row.updated_at.toISOString() }));
}

/**
 * The events of records that were created later than this are all stored: they are kept since
 * `keptSince`, but those before the oldest one may be deleted, because they were kept for a shorter
 * time before.
 */
export async function findEventsSince(sql: Sql, keptSince: Date, now: Date): Promise<Date> {
  const [oldest = { created_at: now }] = await sql<[{ created_at: Date }?]>`
    select created_at from gateway.events order by id limit 1`;
  return oldest.created_at > keptSince ? oldest.created_at : keptSince;
}

/**
 * Stores what a check of these records has found, and deletes what earlier checks have found and
 * this one has not.
 */
export async function storeContradictions(
  sql: Sql,
  checked: readonly string[],
  found: readonly Contradiction[],
  now: Date,
): Promise<void> {
  await sql`
    with found as (
      select * from json_to_recordset(${JSON.stringify(found)}::text::json)
        as found (resource text, resource_id uuid, invariant text)
    ), resolved as (
      delete from gateway.contradictions known
      where resource_id = any(${checked as string[]}::uuid[]) and not exists (
        select from found
        where found.resource_id = known.resource_id and found.invariant = known.invariant)
    )
    insert into gateway.contradictions (resource, resource_id, invariant, found_at)
    select resource, resource_id, invariant, ${now}::timestamptz from found
    on conflict do nothing`;
}

export interface FoundContradiction extends Contradiction {
  found_at: Date;
}

/** The newest ones first. */
export async function listContradictions(sql: Sql, limit: number): Promise<FoundContradiction[]> {
  return await sql<FoundContradiction[]>`
    select resource, resource_id, invariant, found_at from gateway.contradictions
    order by found_at desc, resource_id, invariant limit ${limit}`;
}

export async function countContradictions(sql: Sql, limit: number): Promise<number> {
  const [{ count }] = await sql<[{ count: number }]>`
    select count(*)::int as count from (
      select from gateway.contradictions limit ${limit}
    ) contradiction`;
  return count;
}

/** Null: the check begins with the first record. */
export async function findCursor(sql: Sql, name: string): Promise<string | null> {
  const [row] = await sql<[{ last_id: string }?]>`
    select last_id from gateway.invariant_cursors where name = ${name}`;
  return row?.last_id ?? null;
}

export async function storeCursor(sql: Sql, name: string, lastId: string | null): Promise<void> {
  if (lastId === null) await sql`delete from gateway.invariant_cursors where name = ${name}`;
  else {
    await sql`
      insert into gateway.invariant_cursors (name, last_id) values (${name}, ${lastId})
      on conflict (name) do update set last_id = excluded.last_id`;
  }
}
