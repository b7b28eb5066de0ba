/**
 * Reads pages of filtered lists, at a cost that depends neither on the size of the table nor on the
 * number of the page. A list walks the range of one index, in the order of the list. If it has
 * further filters, it examines at most `MAX_EXAMINED` entries of the range for one page. If the
 * page is not full by then, the page ends early, and the next one continues after the last examined
 * entry.
 */

import type postgres from "postgres";
import { MAX, NIL } from "uuid";
import type { Sql } from "../connection/database.ts";
import type { OwnerFilter } from "./records.ts";

/** How many entries of an index one page examines at most. */
export const MAX_EXAMINED = 500;

/** Where a page of a list begins or ends. */
export interface WalkCursor {
  id: string;
  /** The time by which the list is sorted; null: it is sorted by id, so by creation. */
  at: Date | null;
}

/** A page of a list that may end early. */
export interface WalkedPage<Row> {
  rows: Row[];
  /** The last examined entry, if the page ended early; otherwise null. */
  examinedTo: WalkCursor | null;
}

/** A part of a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

/**
 * The range of an index with these values in its first columns, sorted by time and id, or by id.
 */
export interface IndexRange {
  table: string;
  idColumn: string;
  /** Null: sorted by id. */
  timeColumn: string | null;
  /** The first columns of the index, and their values. */
  prefix: [column: string, value: Fragment][];
  /** The condition of a partial index; null: the index has all rows. */
  condition: Fragment | null;
  /** Exclusive; null: up to the newest. */
  end: WalkCursor | null;
  /** Inclusive; null: down to the oldest. */
  start: WalkCursor | null;
}

/** Used if a range has no bound by time, because JavaScript's dates have no infinite values. */
const FIRST_TIME = new Date("0001-01-01T00:00:00Z");
const LAST_TIME = new Date("9999-12-31T23:59:59Z");

/**
 * The condition that the first column of an index has this value. Add the column to the order, too:
 * then only that index fits. With `=` PostgreSQL drops the column from the order, and other indexes
 * fit.
 */
export function firstColumnIs(sql: Sql, column: string, value: Fragment): Fragment {
  return sql`${sql.unsafe(column)} = any(array[${value}])`;
}

/**
 * Selects `id` and `at` of the newest entries in the range. The last column of the prefix is
 * compared with time and id as one row value, and all columns are part of the order, because then
 * only that index fits: with `status = …` PostgreSQL may instead walk the primary key backwards
 * until enough rows match, which reads the whole table if few do. Before version 18, PostgreSQL
 * stops only where the first column of a row value changes. So the row value begins with the last
 * column of the prefix, and entries before `start` are left out after the limit.
 */
export function newestInRange(sql: Sql, range: IndexRange, limit: number): Fragment {
  const { table, idColumn, timeColumn, prefix, condition, start, end } = range;
  const sorted = timeColumn === null ? [idColumn] : [timeColumn, idColumn];
  const bound = (cursor: WalkCursor | null, time: Date, id: string) =>
    timeColumn === null
      ? sql`${cursor?.id ?? id}::uuid`
      : sql`${cursor?.at ?? time}::timestamptz, ${cursor?.id ?? id}::uuid`;
  const fixed = prefix.slice(0, -1).map(([column, value], index) =>
    index === 0 ? firstColumnIs(sql, column, value) : sql`${sql.unsafe(column)} = ${value}`
  );
  const [last, value] = prefix.length === 0
    ? [[], sql``]
    : [[prefix.at(-1)![0]], sql`${prefix.at(-1)![1]},`];
  const names = sql.unsafe([...last, ...sorted].join(", "));
  const lowest = bound(prefix.length === 0 ? start : null, FIRST_TIME, NIL);
  const order = [...prefix.map(([column]) => column), ...sorted].map((column) => `${column} desc`);
  const newest = sql`
    select ${sql.unsafe(idColumn)} as id,
      ${timeColumn === null ? sql`null::timestamptz` : sql.unsafe(timeColumn)} as at
    from gateway.${sql.unsafe(table)}
    where ${fixed.reduce((all, each) => sql`${all} ${each} and`, sql``)}
      (${names}) < (${value} ${bound(end, LAST_TIME, MAX)})
      and (${names}) >= (${value} ${lowest})
      ${condition === null ? sql`` : sql`and ${condition}`}
    order by ${sql.unsafe(order.join(", "))}
    limit ${limit}`;
  if (prefix.length === 0 || start === null) return newest;
  return sql`
    select id, at from (${newest}) newest
    where (${timeColumn === null ? sql`id` : sql`at, id`}) >= (${bound(start, FIRST_TIME, NIL)})`;
}

/** The candidates of a page, in the order of the list. */
export interface Walk {
  /** CTEs that the candidates need, each followed by a comma. */
  ctes: Fragment;
  /** Selects `id` and `at` of at most this many candidates. */
  candidates(limit: number): Fragment;
  isByTime: boolean;
  /** Whether the candidates have to match further conditions. */
  isFiltered: boolean;
  /** How many candidates one page examines at most, if `isFiltered`. */
  maxExamined: number;
}

/** The candidates of one range. */
export function rangeWalk(sql: Sql, range: IndexRange, isFiltered: boolean): Walk {
  return {
    ctes: sql``,
    candidates: (limit) => newestInRange(sql, range, limit),
    isByTime: range.timeColumn !== null,
    isFiltered,
    maxExamined: MAX_EXAMINED,
  };
}

/** Fewer than `MAX_EXAMINED`, because a page reads up to this many entries of each range. */
const MAX_EXAMINED_OF_SEVERAL = 100;

/**
 * The candidates of several ranges that are sorted by id: one range for each row of the CTE
 * `state`. Reads at most `limit` entries of each, and merges them.
 */
export function mergedWalk(sql: Sql, ctes: Fragment, range: IndexRange, isFiltered: boolean): Walk {
  return {
    ctes: sql`${ctes},`,
    candidates: (limit) =>
      sql`
        select page.id, page.at
        from state cross join lateral (${newestInRange(sql, range, limit)}) page
        order by page.id desc limit ${limit}`,
    isByTime: false,
    isFiltered,
    maxExamined: MAX_EXAMINED_OF_SEVERAL,
  };
}

/** A CTE with these values, for `mergedWalk`. */
export function statesCte(sql: Sql, statuses: readonly string[]): Fragment {
  return sql`state as (select status from unnest(${sql.array([...statuses])}::text[]) status)`;
}

/** The prefix of an index that begins with the owner; empty if the list has all owners. */
export function ownerPrefix(sql: Sql, owner: OwnerFilter): IndexRange["prefix"] {
  return owner === null ? [] : [["user_id", sql`${owner}::text`]];
}

/** What every list can be limited to. */
export interface ListBounds {
  /** Only records with this id or a higher one. Ids are in the order of creation. */
  firstId?: string;
  /** Only records with a lower id. */
  endId?: string;
  /** Only records that come after this place in the list. */
  after: WalkCursor | null;
}

/** The bounds of a range that is sorted by id. */
export function idBounds({ after, firstId, endId }: ListBounds): Pick<IndexRange, "start" | "end"> {
  const end = after !== null && endId !== undefined && endId < after.id
    ? endId
    : after?.id ?? endId;
  return {
    start: firstId === undefined ? null : { id: firstId, at: null },
    end: end === undefined ? null : { id: end, at: null },
  };
}

/** The range of an index that has all rows of the table and is sorted by id after its prefix. */
export function idRange(
  table: string,
  prefix: IndexRange["prefix"],
  bounds: ListBounds,
): IndexRange {
  return { table, idColumn: "id", timeColumn: null, prefix, condition: null, ...idBounds(bounds) };
}

/** The range of an index of the keys of email addresses or phone numbers. */
export function customerRange(
  sql: Sql,
  table: string,
  filter: ListBounds & { customer_email?: string; customer_phone?: string },
  name: "customer_email" | "customer_phone",
): IndexRange {
  const key = name === "customer_email" ? "gateway.email_key" : "gateway.phone_key";
  const value = sql`${sql.unsafe(key)}(${filter[name]!}::text)`;
  const range = idRange(table, [[`${key}(${name})`, value]], filter);
  return { ...range, condition: sql`${sql.unsafe(name)} is not null` };
}

/** The bounds of a range that is sorted by time; `from` is inclusive, `to` is exclusive. */
export function timeBounds(
  after: WalkCursor | null,
  from: Date | undefined,
  to: Date | undefined,
): Pick<IndexRange, "start" | "end"> {
  const isCursorEarlier = after?.at && (!to || after.at < to);
  return {
    start: from ? { id: NIL, at: from } : null,
    end: isCursorEarlier ? after : to ? { id: NIL, at: to } : null,
  };
}

interface WalkedRow {
  id: string | null;
  walked_at: Date | null;
  last_id: string | null;
  last_at: Date | null;
}

/**
 * Reads the rows of the candidates that match `conditions`. The candidates arrive in the order of
 * the list and are the outer side of a nested loop (the rows depend on them), so `limit` takes the
 * first rows, and PostgreSQL reads no candidates after them. A sort in between would read all
 * candidates.
 */
export async function readWalk<Row extends { id: string }>(
  sql: Sql,
  walk: Walk,
  { table, columns, more = sql``, conditions, limit }: {
    table: "payments" | "invoices" | "subscriptions" | "checkouts" | "notifications";
    columns: readonly string[];
    /** Further columns, selected from `record`, each after a comma. */
    more?: Fragment;
    /** In SQL; the row that they check is called `record`. */
    conditions: Fragment;
    limit: number;
  },
): Promise<WalkedPage<Row>> {
  const examined = walk.isFiltered ? Math.max(walk.maxExamined, limit) : limit;
  const rows = await sql<WalkedRow[]>`
    with recursive ${walk.ctes} matched as materialized (
      select candidate.at as walked_at, record.*
      from (${walk.candidates(examined)}) candidate
      cross join lateral (
        select * from gateway.${sql.unsafe(table)} where id = candidate.id limit 1
      ) record
      where ${conditions}
      limit ${limit}
    ), last as materialized (
      select id, at from (${walk.candidates(examined)}) candidate
      where ${walk.isFiltered} and (select count(*) from matched) < ${limit}
      offset ${examined - 1} limit 1
    )
    select ${
    sql(columns.map((name) => `record.${name}`))
  } ${more}, record.walked_at, last.id as last_id, last.at as last_at
    from (select) as always left join matched record on true left join last on true
    order by ${walk.isByTime ? sql`record.walked_at desc,` : sql``} record.id desc`;
  const [first] = rows;
  const hasEndedEarly = first !== undefined && first.last_id !== null;
  return {
    rows: rows.filter(({ id }) => id !== null) as unknown as Row[],
    examinedTo: hasEndedEarly ? { id: first.last_id!, at: first.last_at } : null,
  };
}
