/**
 * The search box: finds payments by one text, which can be an order id, a transaction id, a virtual
 * account number, or the customer's email address or phone number.
 */

import type { Sql } from "../connection/database.ts";
import { firstColumnIs, type Fragment, newestInRange } from "../records/list_walk.ts";
import { type PaymentSummaryRow, SUMMARY_COLUMNS } from "./lists.ts";
import type { OwnerFilter } from "../records/records.ts";

/** How many entries of each index a search reads at most. */
export const MAX_SEARCHED = 1_000;

export interface PaymentSearch {
  owner: OwnerFilter;
  /** The beginning of an order id, or a whole transaction id or virtual account number. */
  text: string;
  /** Null: the text is not an email address. */
  email: string | null;
  /** Null: the text is not a phone number. */
  phone: string | null;
  limit: number;
}

export interface FoundPayments {
  /** Newest first. */
  rows: PaymentSummaryRow[];
  /** False: more entries match than were read, so payments may be missing. */
  isComplete: boolean;
}

/**
 * Reads the matching entries of each index, and then their payments. If too many order ids have
 * this beginning, searches only the newest payments for them.
 */
export async function searchPayments(sql: Sql, search: PaymentSearch): Promise<FoundPayments> {
  const { orders, exact } = await findIds(sql, search);
  const hasManyOrders = orders.length > MAX_SEARCHED;
  const byKey = await readPayments(
    sql,
    search,
    hasManyOrders ? exact.flat() : [...exact.flat(), ...orders],
  );
  const recent = hasManyOrders ? await findAmongNewest(sql, search) : null;
  const rows = [...new Map([...byKey, ...recent?.rows ?? []].map((row) => [row.id, row])).values()]
    .sort((a, b) => a.id < b.id ? 1 : -1).slice(0, search.limit);
  const isFull = byKey.length >= search.limit;
  const areKeysComplete = isFull || exact.every((ids) => ids.length <= MAX_SEARCHED);
  return { rows, isComplete: areKeysComplete && recent?.isComplete !== false };
}

interface FoundIds {
  /** Payments whose order id begins with the text, sorted by order id. */
  orders: string[];
  /** Payments found by each other kind of text, such as an email address; newest first. */
  exact: string[][];
}

async function findIds(sql: Sql, { text, email, phone }: PaymentSearch): Promise<FoundIds> {
  const limit = MAX_SEARCHED + 1;
  const newest = (kind: string, key: Fragment) =>
    sql`array(select id from (${
      newestInRange(sql, {
        table: "payment_search_keys",
        idColumn: "payment_id",
        timeColumn: null,
        prefix: [["kind", sql`${kind}::text::"char"`], ["value", key]],
        condition: null,
        start: null,
        end: null,
      }, limit)
    }) found)`;
  const [row] = await sql<
    [Record<"orders" | "transactions" | "accounts" | "emails" | "phones", string[]>]
  >`
    select
      array(
        select payment_id from gateway.payment_search_keys
        where ${firstColumnIs(sql, "kind", sql`'o'::"char"`)} and value >= ${text}::text
          and value < ${afterPrefix(text)}::text
        order by kind, value limit ${limit}
      ) as orders,
      array(select id from gateway.payments where transaction_id = ${text}) as transactions,
      ${newest("v", sql`${text.replaceAll(/[ .-]/g, "")}::text`)} as accounts,
      ${newest("e", sql`gateway.email_key(${email}::text)`)} as emails,
      ${newest("p", sql`gateway.phone_key(${phone}::text)`)} as phones`;
  const { orders, transactions, accounts, emails, phones } = row;
  return { orders, exact: [transactions, accounts, emails, phones] };
}

/** Above every text with this prefix, in the order of bytes. */
function afterPrefix(prefix: string): string {
  return prefix + String.fromCodePoint(0x10FFFF);
}

async function readPayments(
  sql: Sql,
  { owner, limit }: PaymentSearch,
  ids: string[],
): Promise<PaymentSummaryRow[]> {
  if (ids.length === 0) return [];
  return await sql<PaymentSummaryRow[]>`
    select ${sql(SUMMARY_COLUMNS)} from gateway.payments
    where id = any(${ids}::uuid[]) and (${owner}::text is null or user_id = ${owner})
    order by id desc limit ${limit}`;
}

/** Finds order ids with this beginning among the newest payments of the owner. */
async function findAmongNewest(
  sql: Sql,
  { owner, text, limit }: PaymentSearch,
): Promise<FoundPayments> {
  const newest = newestInRange(sql, {
    table: "payments",
    idColumn: "id",
    timeColumn: null,
    prefix: owner === null ? [] : [["user_id", sql`${owner}::text`]],
    condition: null,
    start: null,
    end: null,
  }, MAX_SEARCHED);
  const rows = await sql<(PaymentSummaryRow & { examined: number })[]>`
    with newest as materialized (${newest}), matched as (
      select record.* from newest cross join lateral (
        select * from gateway.payments where id = newest.id limit 1
      ) record
      where starts_with(record.order_id, ${text}) order by record.id desc limit ${limit}
    )
    select ${sql(SUMMARY_COLUMNS.map((name) => `record.${name}`))},
      (select count(*)::int from newest) as examined
    from (select) as always left join matched record on true order by record.id desc`;
  const found = rows.filter(({ id }) => id !== null);
  const isComplete = found.length >= limit || (rows[0]?.examined ?? 0) < MAX_SEARCHED;
  return { rows: found, isComplete };
}
