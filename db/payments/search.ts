/**
 * The search box: finds payments by one text, which can be a part of an order id, an email address
 * or a name; an id, a transaction id or a virtual account number; a phone number, an amount, or the
 * last four digits of a card.
 */

import { MAX, NIL } from "uuid";
import type { Sql } from "../connection/database.ts";
import {
  firstColumnIs,
  type Fragment,
  type IndexRange,
  newestInRange,
} from "../records/list_walk.ts";
import { type PaymentSummaryRow, SUMMARY_COLUMNS } from "./lists.ts";
import type { OwnerFilter } from "../records/records.ts";

/** How many of the newest matches a search considers. */
export const MAX_MATCHES = 1_000;

/** What a text can be; null and an empty list: it cannot be this. */
export interface SearchTerms {
  /** A part of an order id, an email address or a name, or a whole transaction id. */
  text: string;
  id: string | null;
  /** The possible keys of the phone number, see `gateway.phone_key`. */
  phones: string[];
  account: string | null;
  amount: number | null;
  /** The last four digits of a card. */
  card: string | null;
}

export interface PaymentSearch {
  owner: OwnerFilter;
  terms: SearchTerms;
}

/** Like `gateway.email_key`: only the letters A to Z. */
function lowerCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/**
 * Whether the text is a part of the key, in upper or lower case. Keys have only the letters A to Z
 * in lower case, in all locales of the database. So the other letters of the text are replaced in
 * the key by their lower case.
 */
function containsText(sql: Sql, key: Fragment, text: string): Fragment {
  const replaced = new Map<string, string>();
  const part = Array.from(lowerCase(text), (letter) => {
    if (letter < "\x80") return letter;
    const upper = oneCharacter(letter.toUpperCase()) ?? letter;
    const lower = oneCharacter(upper.toLowerCase()) ?? letter;
    for (const each of [letter, upper]) if (each !== lower) replaced.set(each, lower);
    return lower;
  }).join("");
  const [from, to] = [[...replaced.keys()].join(""), [...replaced.values()].join("")];
  const compared = from === "" ? key : sql`translate(${key}, ${from}, ${to})`;
  return sql`strpos(${compared}, ${part}) > 0`;
}

/** Null: the text has several characters, such as the upper case of ß. */
function oneCharacter(text: string): string | null {
  return [...text].length === 1 ? text : null;
}

/** Ids of payments, in any order. */
export interface Matches {
  ids: string[];
  /** False: older payments may match as well. */
  isComplete: boolean;
}

/** The matches among payments that were compared one after the other, newest first. */
export interface ExaminedMatches extends Matches {
  /** The oldest payment that was compared; null: there is none. */
  oldestId: string | null;
}

/**
 * Compares the newest payments of the owner with the text, one after the other; with `beforeId`,
 * the newest that are older than this payment. Needs no index of the text, so it finds the payments
 * of an owner with few payments among any number of others, and a text that many payments have.
 */
export async function searchNewest(
  sql: Sql,
  { owner, terms }: PaymentSearch,
  count: number,
  beforeId: string | null = null,
): Promise<ExaminedMatches> {
  const { text, id, phones, account, amount, card } = terms;
  const contains = (key: Fragment) => containsText(sql, key, text);
  const [ownerColumn, ownerValue, ownerOrder] = owner === null
    ? [sql``, sql``, sql``]
    : [sql`user_id,`, sql`${owner}::text,`, sql`user_id desc,`];
  const [row] = await sql<[{ ids: string[]; count: number; oldest_id: string | null }]>`
    with newest as materialized (
      select id, order_id, transaction_id, customer_email, customer_phone, va_number, gross_amount,
        customer_first_name, customer_last_name
      from gateway.payments
      where (${ownerColumn} id) < (${ownerValue} ${beforeId ?? MAX}::uuid)
        and (${ownerColumn} id) >= (${ownerValue} ${NIL}::uuid)
      order by ${ownerOrder} id desc limit ${count}
    )
    select (select count(*)::int from newest) as count,
      (select id from newest order by id limit 1) as oldest_id, array(
      select id from newest
      where ${contains(sql`gateway.email_key(order_id)`)}
        or ${contains(sql`gateway.email_key(customer_email)`)}
        or ${contains(sql`gateway.name_key(customer_first_name, customer_last_name)`)}
        or transaction_id = ${text} or id = ${id}::uuid or va_number = ${account}
        or gross_amount = ${amount}::bigint
        or (cardinality(${phones}::text[]) > 0
          and gateway.phone_key(customer_phone) = any(${phones}::text[]))
        or (${card}::text is not null and exists (
          select from gateway.payment_search_keys
          where kind = 'c' and value = ${card} and payment_id = newest.id))
      limit ${MAX_MATCHES + 1}
    ) as ids`;
  return { ids: row.ids, isComplete: row.count < count, oldestId: row.oldest_id };
}

/** Finds the newest payments that have this text as a whole. */
export async function searchExact(sql: Sql, { owner, terms }: PaymentSearch): Promise<Matches> {
  const { text, id, phones, account, amount, card } = terms;
  const keys: [kind: string, value: string][] = [
    ...phones.map((phone): [string, string] => ["p", phone]),
    ...account === null ? [] : [["v", account] as [string, string]],
    ...card === null ? [] : [["c", card] as [string, string]],
  ];
  const found = [
    sql`select 0 as part, id from gateway.payments where transaction_id = ${text}`,
    ...id === null ? [] : [sql`select 0, id from gateway.payments where id = ${id}::uuid`],
    ...[
      ...keys.map(([kind, value]) => keyRange(sql, kind, value)),
      ...amount === null ? [] : [amountRange(sql, amount)],
    ].map((range, index) =>
      sql`select ${index + 1}::int, id from (${
        newestInRange(sql, range, MAX_MATCHES + 1)
      }) in_range`
    ),
  ];
  const rows = await sql<{ part: number; id: string }[]>`
    ${found.reduce((all, each) => sql`${all} union all ${each}`)}`;
  const ids = await ownedBy(sql, owner, rows.map(({ id }) => id));
  const sizes = Map.groupBy(rows, ({ part }) => part).values();
  return { ids, isComplete: sizes.every(({ length }) => length <= MAX_MATCHES) };
}

function rangeOf(table: string, idColumn: string, prefix: IndexRange["prefix"]): IndexRange {
  return { table, idColumn, prefix, timeColumn: null, condition: null, start: null, end: null };
}

function keyRange(sql: Sql, kind: string, value: string): IndexRange {
  return rangeOf("payment_search_keys", "payment_id", [
    ["kind", sql`${kind}::text::"char"`],
    ["value", sql`${value}::text`],
  ]);
}

function amountRange(sql: Sql, amount: number): IndexRange {
  const range = rangeOf("payments", "id", [["gross_amount", sql`${amount}::bigint`]]);
  return { ...range, condition: sql`gross_amount > 0` };
}

async function ownedBy(sql: Sql, owner: OwnerFilter, ids: string[]): Promise<string[]> {
  if (owner === null || ids.length === 0) return ids;
  const rows = await sql<{ id: string }[]>`
    select id from gateway.payments where id = any(${ids}::uuid[]) and user_id = ${owner}`;
  return rows.map(({ id }) => id);
}

/** The index of all parts of texts; `trigram_index.ts` builds it. */
export const TRIGRAM_INDEX = "payment_search_keys_by_trigram";

/** Whether texts can be found by any part of them. */
export async function hasTrigramIndex(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ is_valid: boolean }]>`
    select exists (
      select from pg_index
      where indexrelid = to_regclass(${`gateway.${TRIGRAM_INDEX}`}::text) and indisvalid
    ) as is_valid`;
  return row.is_valid;
}

/**
 * Whether the text has a group of three characters that PostgreSQL can look up. The beginning and
 * the end of a word count as spaces. Without such a group it would read the whole index. Letters of
 * other alphabets are left out, because only some locales of the database look them up.
 */
export function hasTrigrams(text: string): boolean {
  return /[a-z0-9]{3}|[ -/:-@[-`{-~][a-z0-9]|[a-z0-9]{2}[ -/:-@[-`{-~]/i.test(text);
}

/**
 * The longest word with digits, such as the number in an order id, or the whole text. Few payments
 * have that word, and PostgreSQL reads the index for each three characters that it has to look up.
 */
function rarePart(text: string): string {
  const words = text.match(/[a-z0-9]{5,}/g)?.filter((word) => /\d/.test(word)) ?? [];
  return words.sort((a, b) => b.length - a.length)[0] ?? text;
}

/** How many keys of the kinds o, e and n a payment has at most. */
const TEXT_KEYS = 3;

/**
 * Finds the newest payments with this part in their order id, email address or name. Takes longer
 * the more payments match, so it needs a timeout. The condition for the kinds is that of the index.
 * The condition for `ctid`, which is always true, keeps PostgreSQL from reading the whole primary
 * key instead: that has all other columns. With a subquery for the user, and not a join, PostgreSQL
 * cannot begin with all payments of the user.
 */
export async function searchParts(sql: Sql, { owner, terms }: PaymentSearch): Promise<Matches> {
  const escaped = rarePart(lowerCase(terms.text)).replaceAll(/[\\%_]/g, "\\$&");
  // The index has letters of other alphabets in upper or lower case, so they match any text.
  const pattern = `%${escaped.replaceAll(/[^ -~]+/g, "%")}%`;
  const rows = await sql<{ id: string }[]>`
    select payment_id as id from gateway.payment_search_keys key
    where ${sql.unsafe(TEXT_KINDS)} and lower(value) like ${pattern} and ctid <> '(0,0)'
      and ${containsText(sql, sql`lower(value)`, terms.text)}
      ${
    owner === null ? sql`` : sql`and ${owner}::text = (
        select user_id from gateway.payments where id = key.payment_id)`
  }
    order by payment_id desc limit ${TEXT_KEYS * (MAX_MATCHES + 1)}`;
  const ids = [...new Set(rows.map(({ id }) => id))];
  return { ids, isComplete: ids.length <= MAX_MATCHES };
}

/**
 * The kinds with text, in SQL. Not `in`: that fits the primary key, too, and PostgreSQL would read
 * all its values of these kinds.
 */
export const TEXT_KINDS = "kind <> 'p' and kind <> 'v' and kind <> 'c'";

/**
 * Finds payments whose order id, email address or name begins with this text, in the order of these
 * texts. Needs no extension of PostgreSQL.
 */
export async function searchBeginnings(
  sql: Sql,
  { owner, terms: { text } }: PaymentSearch,
): Promise<Matches> {
  const withPrefix = (kind: string, prefix: Fragment) =>
    sql`array(
      select payment_id from gateway.payment_search_keys
      where ${firstColumnIs(sql, "kind", sql`${kind}::text::"char"`)} and value >= ${prefix}
        and value < ${prefix} || ${LAST_CHARACTER}::text
      order by kind, value limit ${MAX_MATCHES + 1}
    )`;
  const lower = sql`${lowerCase(text)}::text`;
  const [row] = await sql<[Record<"orders" | "emails" | "names", string[]>]>`
    select ${withPrefix("o", sql`${text}::text`)} as orders, ${withPrefix("e", lower)} as emails,
      ${withPrefix("n", lower)} as names`;
  const found = Object.values(row);
  return {
    ids: await ownedBy(sql, owner, found.flat()),
    isComplete: found.every((ids) => ids.length <= MAX_MATCHES),
  };
}

/** Above every other character, in the order of bytes. */
const LAST_CHARACTER = String.fromCodePoint(0x10FFFF);

/** Newest first. */
export async function readSummaries(sql: Sql, ids: string[]): Promise<PaymentSummaryRow[]> {
  if (ids.length === 0) return [];
  return await sql<PaymentSummaryRow[]>`
    select ${sql(SUMMARY_COLUMNS)} from gateway.payments
    where id = any(${ids}::uuid[]) order by id desc`;
}
