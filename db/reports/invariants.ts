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
function historyViolations(status: string): Record<string, string> {
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
 * Whether a transition to one of these statuses has no event of this name. A status can be followed
 * by a fraud status. An event has the time of its transition. `exception`: transitions without an
 * event.
 */
function eventViolations(
  eventOf: Record<string, string>,
  exception = "false",
): Record<string, string> {
  const names = Object.entries(eventOf).map(([status, name]) => `('${status}', '${name}')`);
  return {
    transitions_have_event: `exists (
        select from gateway.history entry
        join (values ${names.join(", ")}) needed (status, name)
          on needed.status in (entry.to_status, entry.to_status || ' ' || entry.fraud_status)
        where entry.resource_id = record.id and entry.from_status <> entry.to_status
          and record.created_at > $2 and not (${exception}) and 0 = (
            select count(*) from gateway.events event
            where event.resource_id = record.id and event.name = needed.name
              and event.created_at = entry.created_at))`,
  };
}

/**
 * The number after which each number of a record's events is used. After a restore from a backup,
 * the numbers continue at a multiple of 1,000 (`SEQUENCE_STEP` in core/records/restored.ts).
 */
const NUMBERED_FROM = `case when exists (select from gateway.restores)
        then record.event_count / 1000 * 1000 else 0 end`;

const EVENTS: Record<string, string> = {
  events_are_counted: `record.created_at > $2 and record.event_count - (${NUMBERED_FROM}) <> (
      select count(*) from gateway.events event where event.resource_id = record.id
        and event.sequence > ${NUMBERED_FROM})`,
  events_are_numbered: `record.event_count < (
      select max(sequence) from gateway.events event where event.resource_id = record.id)`,
};

/**
 * An adopted payment without an owner whose transaction has moved to the payment of its charge, and
 * a charge that was refused because its order id is in use (406): the order may be paid by another
 * transaction.
 */
const FAILURES_WITHOUT_EVENT = `entry.to_status = 'failure' and record.is_refused
            and (record.user_id is null or record.status_code = '406')`;

/** What the statistics have counted of a payment. */
const COUNTED = `
        select (min(counts ->> 'user_id'), min(counts ->> 'payment_type'),
          min(counts ->> 'transaction_status'), sum((hour ->> 'created')::int),
          sum((hour ->> 'paid')::int), sum((hour ->> 'gross')::bigint),
          sum((hour ->> 'refunded')::bigint), sum((hour ->> 'chargedBack')::bigint),
          sum(coalesce((hour ->> 'feeCents')::bigint, 0)))::text
        from gateway.counted_payments, json_array_elements(counts -> 'hours') hour
        where payment_id = record.id`;

/** What they have to count (`countsOf`). The bank is missing: it can change without a recount. */
const TO_COUNT = `(record.user_id, record.payment_type, record.transaction_status, 1,
        case when record.captured_amount is null then 0 else 1 end,
        coalesce(record.captured_amount, 0), record.refunded_amount,
        case record.transaction_status
          when 'partial_chargeback' then coalesce(record.chargeback_amount, 0)
          when 'chargeback'
            then greatest(0, coalesce(record.captured_amount, 0) - record.refunded_amount)
          else 0 end,
        case when record.captured_amount is null then 0 else coalesce((
          select sum(fee_cents) from gateway.payment_fees where payment_id = record.id), 0) end
      )::text`;

/** A change of these values always adds a history entry or recounts the payment. */
const IS_COUNTED_WRONG = `(
        select max(id) from gateway.history where resource_id = record.id
      ) <= (select position from gateway.stats_progress where rebuilt_to is null)
      and (${COUNTED}) is distinct from ${TO_COUNT}`;

/**
 * By name of the rule, SQL that is true if `record` breaks it. `$2`: the events of all records
 * created after this time are still stored.
 */
export const VIOLATIONS: Record<CheckedResource, Record<string, string>> = {
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
    ...historyViolations("record.transaction_status"),
    // The first answer to a charge is not checked: if the payment stays `pending`, the history has
    // no entry about it, and after a status that the service does not know, there is no event.
    ...eventViolations({
      pending: "payment_received",
      authorize: "payment_received",
      "capture challenge": "payment_received",
      deny: "payment_denied",
      cancel: "payment_cancelled",
      expire: "payment_expired",
      failure: "payment_failed",
      chargeback: "payment_refunded",
      partial_chargeback: "payment_refunded",
    }, FAILURES_WITHOUT_EVENT),
    // The history does not say by how much a refund has grown, so that an event of each is not
    // required.
    refunded_has_event: `record.refunded_amount > 0 and record.created_at > $2 and 0 = (
        select count(*) from gateway.events event
        where event.resource_id = record.id and name = 'payment_refunded')`,
    is_counted: IS_COUNTED_WRONG,
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
    ...historyViolations("record.status"),
    ...eventViolations({ paid: "invoice_paid", void: "invoice_voided" }),
    ...EVENTS,
  },
  subscription: {
    charges_belong_to_payments: `exists (
        select from gateway.subscription_charges charge
        left join gateway.payments payment on payment.id = charge.payment_id
          and payment.subscription_id = record.id
        where charge.subscription_id = record.id and payment.id is null)`,
    ...historyViolations("record.status"),
    ...eventViolations({
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
    ...historyViolations("record.status"),
    ...eventViolations({
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

/** The contradictions of these records. `eventsSince` is the `$2` of `VIOLATIONS`. */
export async function findContradictions(
  sql: Sql,
  resource: CheckedResource,
  ids: readonly string[],
  eventsSince: Date,
): Promise<Contradiction[]> {
  const conditions = Object.entries(VIOLATIONS[resource])
    .map(([name, condition]) => `('${name}', ${condition})`);
  return await sql.unsafe<Contradiction[]>(
    `select '${resource}' as resource, record.id as resource_id, invariant
    from ${TABLES[resource]} record
    cross join lateral (values ${conditions.join(",\n")}) checked (invariant, is_violated)
    where record.id = any($1::uuid[]) and is_violated
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

/** The start of the hour in milliseconds. */
const HOUR_MS = "(extract(epoch from $1::timestamptz) * 1000)::bigint";

/** A change of a payment is counted some minutes later. */
const COUNTED_AFTER = "interval '5 minutes'";

const FIGURES =
  "created_count, paid_count, gross_amount, refund_amount, chargeback_amount, fee_cents";

const NO_FIGURES = "(0, 0, 0, 0, 0, 0)";

const SUMS = `(${FIGURES.split(", ").map((name) => `sum(${name})`).join(", ")})::text`;

const HOURLY = "gateway.hourly_payment_stats where start >= $1";

const HOUR = `${HOURLY} and start < $2 and scope`;

/**
 * How the payments are counted that have figures in the hour: most of them were created in it, and
 * the index finds the others. Figures and counts change in one transaction, so they are equal at
 * every moment, also while changes wait to be counted. With `not` instead of `is not true`,
 * PostgreSQL could read all payments by their ids.
 */
const COUNTED_IN_HOUR = `
        select counts, hour
        from (
          select counts from gateway.counted_payments where payment_id >= $3 and payment_id < $4
          union all
          select counts from gateway.counted_payments
          where json_array_length(counts -> 'hours') > 1
            and jsonb_path_query_array(counts::jsonb, '$.hours[*].hour') @> to_jsonb(${HOUR_MS})
            and (payment_id >= $3 and payment_id < $4) is not true
        ) counted cross join lateral json_array_elements(counts -> 'hours') hour
        where (hour ->> 'hour')::bigint = ${HOUR_MS}`;

/** By name of the rule, SQL that is true if the statistics of an hour break it. */
export const STATISTICS_VIOLATIONS: Record<string, string> = {
  hours_add_up_to_day: `$5::timestamptz is not null and
        (select ${SUMS} from gateway.daily_payment_stats where start = $1 and scope = '*')
          is distinct from (select ${SUMS} from ${HOURLY} and start < $5 and scope = '*')`,
  users_add_up_to_all:
    `(select ${SUMS} from ${HOUR} <> '*') is distinct from (select ${SUMS} from ${HOUR} = '*')`,
  payments_are_counted: `(select coalesce(sum(created_count), 0) from ${HOUR} = '*') <>
        (select count(*) from gateway.payments where id >= $3 and id < $4)`,
  payments_add_up_to_hour: `(
      select array_agg(line order by line) from (
        select (payment_type, bank, transaction_status, ${FIGURES})::text as line
        from ${HOUR} = '*' and transaction_status <> '' and (${FIGURES}) <> ${NO_FIGURES}
      ) stored
    ) is distinct from (
      select array_agg(line order by line) from (
        select (payment_type, bank, transaction_status, ${FIGURES})::text as line from (
          select counts ->> 'payment_type' as payment_type, coalesce(counts ->> 'bank', '') as bank,
            counts ->> 'transaction_status' as transaction_status,
            sum((hour ->> 'created')::int) as created_count,
            sum((hour ->> 'paid')::int) as paid_count,
            sum((hour ->> 'gross')::bigint) as gross_amount,
            sum((hour ->> 'refunded')::bigint) as refund_amount,
            sum((hour ->> 'chargedBack')::bigint) as chargeback_amount,
            sum(coalesce((hour ->> 'feeCents')::bigint, 0)) as fee_cents
          from (${COUNTED_IN_HOUR}) counted group by 1, 2, 3
        ) figures where (${FIGURES}) <> ${NO_FIGURES}
      ) of_payments)`,
};

/** What contradicts an hour's statistics; nothing while its payments are counted. */
export async function findStatisticsContradictions(
  sql: Sql,
  { start, end, ids: [first, next], dayEnd }: StatisticsHour,
): Promise<Contradiction[]> {
  const conditions = Object.entries(STATISTICS_VIOLATIONS)
    .map(([name, condition]) => `('${name}', ${condition})`);
  return await sql.unsafe<Contradiction[]>(
    `select '${STATISTICS}' as resource, $3::uuid as resource_id, invariant
    from gateway.stats_progress
    cross join lateral (values ${conditions.join(",\n")}) checked (invariant, is_violated)
    where rebuilt_to is null and as_of > $2::timestamptz + ${COUNTED_AFTER} and is_violated
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
export const HISTORY_CURSOR = "history";

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

/** The cursor of the changes without an entry in the history: the time of the last one. */
export const UPDATED_CURSOR = "updated";

/**
 * The time of the oldest change whose record is not checked yet; null: all are checked. Of changes
 * without an entry in the history, only those until `visibleTo` count: later ones are checked
 * several times, because they may become visible late.
 */
export async function findOldestUnchecked(sql: Sql, visibleTo: Date): Promise<Date | null> {
  const cursor = (name: string) =>
    sql`(select last_id from gateway.invariant_cursors where name = ${name})`;
  const oldestUpdated = (table: string) =>
    sql`(
      select min(updated_at) from ${sql.unsafe(table)}
      where updated_at > ${cursor(UPDATED_CURSOR)}::timestamptz and updated_at <= ${visibleTo})`;
  const [{ oldest }] = await sql<[{ oldest: Date | null }]>`
    select least(
      (select created_at from gateway.history where id > ${cursor(HISTORY_CURSOR)}::bigint
        order by id limit 1),
      ${oldestUpdated("gateway.refunds")}, ${oldestUpdated("gateway.checkouts")}) as oldest`;
  return oldest;
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
