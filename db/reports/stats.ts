/** The hourly and daily figures of payments: the statements that fill and read their tables. */

import { NIL } from "uuid";
import type { Sql } from "../connection/database.ts";
import type { Fragment } from "../records/list_walk.ts";
import type { GatewayPayment } from "../payments/payments.ts";

/** Whose payments are counted, in the column `scope`: those of all users. */
export const ALL_USERS = "*";

/** The same for one user; null: payments without an owner. */
export function oneUser(userId: string | null): string {
  return userId === null ? "-" : `u:${userId}`;
}

export interface StatsProgress {
  /** The last counted entry of the history. */
  counted_to: number;
  /** While a rebuild counts all payments: the id of the last one counted so far; otherwise null. */
  rebuilt_to: string | null;
  /** The last entry that an earlier run has read; null: no run has ended since the last reset. */
  next_counted_to: number | null;
  as_of: Date | null;
  /** All transactions that ran when `next_counted_to` was stored have ended. */
  is_confirmed: boolean;
}

export async function findProgress(sql: Sql): Promise<StatsProgress> {
  const [progress] = await sql<[StatsProgress]>`
    select position as counted_to, rebuilt_to, next_position as next_counted_to, as_of,
      next_xmax is not null and pg_snapshot_xmin(pg_current_snapshot()) >= next_xmax
        as is_confirmed
    from gateway.stats_progress`;
  return progress;
}

/**
 * Only one transaction at a time counts payments: otherwise two could count the same change.
 * Returns the current progress of a rebuild: another run may have moved or reset it meanwhile.
 */
export async function lockProgress(sql: Sql): Promise<Pick<StatsProgress, "rebuilt_to">> {
  const [progress] = await sql<[Pick<StatsProgress, "rebuilt_to">]>`
    select rebuilt_to from gateway.stats_progress for update`;
  return progress;
}

/**
 * Stores that a run, which began with the progress `began`, has read all entries of the history up
 * to `lastId`. An entry with a lower id may become visible after one with a higher id. So
 * `counted_to` moves only to the end of an earlier run, and only if all transactions that ran at
 * that time have ended (`is_confirmed`). `asOf` is null if the run has not read all entries. Stores
 * nothing if another run has ended or a reset has begun: `began` says nothing about them.
 */
export async function endRun(
  sql: Sql,
  { began, lastId, asOf }: { began: StatsProgress; lastId: number; asOf: Date | null },
): Promise<void> {
  const { is_confirmed: isConfirmed, counted_to, next_counted_to } = began;
  await sql`
    update gateway.stats_progress set
      position = case when ${isConfirmed}
        then greatest(position, least(next_position, ${lastId})) else position end,
      next_position = case when ${isConfirmed} or next_xmax is null
        then ${lastId} else next_position end,
      next_xmax = case when ${isConfirmed} or next_xmax is null
        then pg_current_xact_id() else next_xmax end,
      as_of = coalesce(${asOf}, as_of)
    where rebuilt_to is null and position = ${counted_to}
      and next_position is not distinct from ${next_counted_to}`;
}

export async function storeRebuilt(sql: Sql, to: string | null): Promise<void> {
  await sql`update gateway.stats_progress set rebuilt_to = ${to} where rebuilt_to is not null`;
}

/**
 * Deletes all figures, so that the next run counts all payments again. After that, the run reads
 * the history after `counted_to`, which goes back to 100,000 entries before the newest one:
 * statements end after some seconds, so all entries that are not committed yet have higher ids.
 */
export async function resetStats(sql: Sql): Promise<void> {
  await lockProgress(sql);
  await sql`truncate gateway.hourly_payment_stats, gateway.daily_payment_stats,
    gateway.counted_payments`;
  await sql`
    update gateway.stats_progress set rebuilt_to = ${NIL}, as_of = null, next_position = null,
      next_xmax = null, position = least(position, greatest(0, coalesce(
        (select id from gateway.history order by id desc limit 1), 0) - 100000))`;
}

export async function listPaymentIds(sql: Sql, after: string, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from gateway.payments where id > ${after} order by id limit ${limit}`;
  return rows.map(({ id }) => id);
}

/** The entries of the history after this id, oldest first, with the records that they are about. */
export async function listChanged(
  sql: Sql,
  after: number,
  limit: number,
): Promise<{ id: number; resource: string; resource_id: string }[]> {
  return await sql`
    select id, resource, resource_id from gateway.history where id > ${after}
    order by id limit ${limit}`;
}

/** What one payment adds to an hour. */
export interface HourCount {
  /** The start of the hour, in milliseconds. */
  hour: number;
  created: number;
  paid: number;
  gross: number;
  refunded: number;
  chargedBack: number;
  /** The range of the time to pay; null: not paid, or not created in this hour. */
  payTime: number | null;
  /** Fees in hundredths of a rupiah; absent: none. */
  feeCents?: number;
}

/** How a payment is counted. */
export interface PaymentCounts {
  user_id: string | null;
  payment_type: string;
  bank: string | null;
  transaction_status: string;
  hours: HourCount[];
}

export interface CountedPayment extends
  Pick<
    GatewayPayment,
    | "id"
    | "user_id"
    | "payment_type"
    | "bank"
    | "transaction_status"
    | "captured_amount"
    | "refunded_amount"
    | "chargeback_amount"
    | "paid_at"
    | "created_at"
    | "updated_at"
  > {
  /** The sum of the known fees; null: none is known. */
  fee_cents: number | null;
  /** Those that succeeded. */
  refunds: { amount: number; created_at: string }[];
  /** When the payment first had each of `DATED_STATUSES`; empty if it has none of them now. */
  first_times: Partial<Record<string, string>>;
  /** How the payment is counted so far; null: it is not counted yet. */
  counts: PaymentCounts | null;
}

/** Statuses for which the time of the first transition is needed. */
const DATED_STATUSES = ["refund", "partial_refund", "chargeback", "partial_chargeback"];

export async function readPayments(sql: Sql, ids: readonly string[]): Promise<CountedPayment[]> {
  return await sql<CountedPayment[]>`
    select payment.id, payment.user_id, payment.payment_type, payment.bank,
      payment.transaction_status, payment.captured_amount, payment.refunded_amount,
      payment.chargeback_amount, payment.paid_at, payment.created_at, payment.updated_at,
      (select sum(fee_cents)::bigint from gateway.payment_fees where payment_id = payment.id)
        as fee_cents,
      case when payment.refunded_amount = 0 then '[]'::json else coalesce((
        select json_agg(json_build_object('amount', amount, 'created_at', created_at))
        from gateway.refunds where payment_id = payment.id and status = 'succeeded'), '[]')
        end as refunds,
      case when payment.transaction_status <> all(${sql.array(DATED_STATUSES)}::text[])
        then '{}'::json else (
        select coalesce(json_object_agg(to_status, first), '{}') from (
          select to_status, min(created_at) as first from gateway.history
          where resource_id = payment.id and to_status = any(${sql.array(DATED_STATUSES)}::text[])
          group by to_status) dated) end as first_times,
      counted.counts
    from unnest(${sql.array([...ids])}::uuid[]) wanted (id)
    cross join lateral (
      select * from gateway.payments where id = wanted.id limit 1
    ) payment
    left join lateral (
      select counts from gateway.counted_payments where payment_id = wanted.id limit 1
    ) counted on true`;
}

export async function storeCounts(
  sql: Sql,
  counted: { id: string; counts: PaymentCounts }[],
): Promise<void> {
  await sql`
    insert into gateway.counted_payments (payment_id, counts)
    select (row ->> 'id')::uuid, row -> 'counts'
    from json_array_elements(${JSON.stringify(counted)}::text::json) row
    on conflict (payment_id) do update set counts = excluded.counts`;
}

/** A change of the figures of one hour or day. */
export interface StatsDelta {
  scope: string;
  start: Date;
  payment_type: string;
  bank: string;
  transaction_status: string;
  created_count: number;
  paid_count: number;
  gross_amount: number;
  refund_amount: number;
  chargeback_amount: number;
  fee_cents: number;
  pay_ranges: number[];
  /** The change of the count of each of `pay_ranges`; negative: fewer than before. */
  pay_counts: number[];
}

export type StatsTable = "hourly_payment_stats" | "daily_payment_stats";

export async function addDeltas(sql: Sql, name: StatsTable, deltas: StatsDelta[]): Promise<void> {
  const table = sql.unsafe(`gateway.${name}`);
  const rowsOf = (rows: unknown[]) =>
    sql`json_populate_recordset(null::${table}, ${JSON.stringify(rows)}::text::json)`;
  const emptied = await sql`
    with changed as (
      insert into ${table} as old
      select scope, start, payment_type, bank, transaction_status, created_count, paid_count,
        gross_amount, refund_amount, chargeback_amount, pay_ranges, pay_counts, fee_cents
      from ${rowsOf(deltas)}
      on conflict (scope, start, payment_type, bank, transaction_status) do update set
        created_count = old.created_count + excluded.created_count,
        paid_count = old.paid_count + excluded.paid_count,
        gross_amount = old.gross_amount + excluded.gross_amount,
        refund_amount = old.refund_amount + excluded.refund_amount,
        chargeback_amount = old.chargeback_amount + excluded.chargeback_amount,
        fee_cents = old.fee_cents + excluded.fee_cents,
        (pay_ranges, pay_counts) = (
          select coalesce(array_agg(range), '{}'), coalesce(array_agg(count), '{}') from (
            select range, sum(count)::integer as count from (
              select unnest(old.pay_ranges) as range, unnest(old.pay_counts) as count
              union all select unnest(excluded.pay_ranges), unnest(excluded.pay_counts)
            ) counts group by range having sum(count) <> 0
          ) merged)
      returning *
    )
    select scope, start, payment_type, bank, transaction_status from changed
    where created_count = 0 and paid_count = 0 and gross_amount = 0 and refund_amount = 0
      and chargeback_amount = 0 and fee_cents = 0`;
  if (emptied.length === 0) return;
  // Deletes rows that are zero now: most payments leave the status in which they were created.
  await sql`
    delete from ${table} old using ${rowsOf(emptied)} emptied
    where (old.scope, old.start, old.payment_type, old.bank, old.transaction_status)
      = (emptied.scope, emptied.start, emptied.payment_type, emptied.bank,
        emptied.transaction_status)`;
}

/** The `transaction_status` of rows that have the times to pay, which are not split by status. */
export const ALL_STATUSES = "";

export const STATS_INTERVALS = ["hour", "day", "week", "month"] as const;

export type StatsInterval = (typeof STATS_INTERVALS)[number];

export const STATS_GROUPS = ["payment_type", "bank", "transaction_status", "user_id"] as const;

export type StatsGroup = (typeof STATS_GROUPS)[number];

export interface StatsQuery {
  /** Null: all users. */
  owner: string | null;
  /** Together they give the figures of all intervals. */
  parts: StatsPart[];
  groups: readonly StatsGroup[];
  /** If there are more rows, one more than this is returned, and no row has times to pay. */
  limit: number;
}

/** The figures of a period, the table that has them, and the intervals that they change. */
export interface StatsPart {
  table: StatsTable;
  from: Date;
  /** Exclusive. */
  to: Date;
  /** The index of an interval; null: none. */
  added_to: number | null;
  subtracted_from: number | null;
}

export interface StatsRow {
  interval_index: number;
  payment_type: string;
  bank: string;
  transaction_status: string;
  scope: string;
  created_count: number;
  paid_count: number;
  gross_amount: number;
  refund_amount: number;
  chargeback_amount: number;
  fee_cents: number;
  /** Null if not requested, if the rows are grouped by status, or if there are too many rows. */
  pay_times: PayTimes | null;
}

/** The number of payments by range of the time to pay. */
export type PayTimes = Map<number, number>;

const FIGURES = [
  ...["created_count", "paid_count", "gross_amount", "refund_amount", "chargeback_amount"],
  "fee_cents",
];

/** A group has no row for an interval in which all of its figures are zero. */
export async function readStats(
  sql: Sql,
  query: StatsQuery,
  withPayTimes: boolean,
): Promise<StatsRow[]> {
  const { groups, limit } = query;
  const groupColumns = sql.unsafe(columnsOf(query).map((name) => `, ${name}`).join(""));
  const list = (format: (figure: string) => string) => sql.unsafe(FIGURES.map(format).join(", "));
  const sums = list((name) => `sum(${name})::bigint as ${name}`);
  const signedSums = list((name) => `sum(sign * ${name})::bigint as ${name}`);
  const isAnyNotZero = sql`(${list((name) => `sum(sign * ${name})`)}) <> (${list(() => "0")})`;
  const isOfStatus = sql`transaction_status <> ${ALL_STATUSES}`;
  const rows = await sql<StatsRow[]>`
    select interval_index ${groupColumns}, ${signedSums}
    from (${selectParts(sql, query, sql`${sums}`, isOfStatus)}) part
    cross join lateral (values (added_to, 1), (subtracted_from, -1)) change (interval_index, sign)
    where interval_index is not null
    group by interval_index ${groupColumns} having ${isAnyNotZero}
    order by interval_index ${groupColumns} limit ${limit + 1}`;
  if (!withPayTimes || groups.includes("transaction_status") || rows.length > limit) {
    return rows.map((row) => ({ ...row, pay_times: null }));
  }
  const payTimes = await readPayTimes(sql, query);
  return rows.map((row) => ({
    ...row,
    pay_times: payTimes.get(keyOf(query, row, row.interval_index)) ?? new Map(),
  }));
}

interface PartPayTimes
  extends
    Pick<StatsRow, "payment_type" | "bank" | "scope">,
    Pick<StatsPart, "added_to" | "subtracted_from"> {
  /** One list for each row of the part. */
  pay_ranges: number[][];
  pay_counts: number[][];
}

/** The times to pay by interval and group. Adding them up in SQL takes several times as long. */
async function readPayTimes(sql: Sql, query: StatsQuery): Promise<Map<string, PayTimes>> {
  const lists = sql`json_agg(pay_ranges) as pay_ranges, json_agg(pay_counts) as pay_counts`;
  const isOfAllStatuses = sql`transaction_status = ${ALL_STATUSES}`;
  const parts = await sql<PartPayTimes[]>`${selectParts(sql, query, lists, isOfAllStatuses)}`;
  const all = new Map<string, PayTimes>();
  for (const part of parts) {
    for (const [interval, sign] of [[part.added_to, 1], [part.subtracted_from, -1]] as const) {
      if (interval === null) continue;
      const key = keyOf(query, part, interval);
      const times: PayTimes = all.get(key) ?? new Map();
      all.set(key, times);
      part.pay_ranges.forEach((ranges, row) => {
        const counts = part.pay_counts[row]!;
        ranges.forEach((range, index) => {
          times.set(range, (times.get(range) ?? 0) + sign * counts[index]!);
        });
      });
    }
  }
  return all;
}

function columnsOf({ groups }: StatsQuery): string[] {
  return groups.map((name) => name === "user_id" ? "scope" : name);
}

function keyOf(query: StatsQuery, row: StatsRow | PartPayTimes, interval: number): string {
  return JSON.stringify([
    interval,
    ...columnsOf(query).map((name) => row[name as keyof typeof row]),
  ]);
}

/** The aggregates of each part, by group. */
function selectParts(
  sql: Sql,
  query: StatsQuery,
  aggregates: Fragment,
  condition: Fragment,
): Fragment {
  const { owner, parts, groups } = query;
  const isByUser = groups.includes("user_id") && owner === null;
  const ofUsers = isByUser
    ? sql`scope <> ${sql.unsafe("'*'")}`
    : sql`scope = ${owner === null ? ALL_USERS : oneUser(owner)}`;
  // Always grouped by user: without any group, a part without rows would give a row of nulls.
  const groupColumns = sql.unsafe([...new Set(["scope", ...columnsOf(query)])].join(", "));
  const selectFrom = (table: StatsTable) => {
    const ofTable = JSON.stringify(parts.filter((part) => part.table === table));
    return sql`
      select added_to, subtracted_from, figures.*
      from json_to_recordset(${ofTable}::text::json)
        part ("from" timestamptz, "to" timestamptz, added_to integer, subtracted_from integer)
      cross join lateral (
        select ${groupColumns}, ${aggregates} from ${sql.unsafe(`gateway.${table}`)}
        where start >= part.from and start < part.to and ${ofUsers} and ${condition}
        group by ${groupColumns}
      ) figures`;
  };
  return sql`${selectFrom("daily_payment_stats")} union all ${selectFrom("hourly_payment_stats")}`;
}
