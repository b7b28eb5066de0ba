/** Inserts and updates records, each in one statement with its items, key and side effects. */

import { ORDER_PREFIX_LENGTH } from "../access/api_keys.ts";
import type { Batched } from "../records/batched.ts";
import type { Sql } from "../connection/database.ts";
import { type ClaimedKey, claimKeysSql, nameOf, type NewKey } from "../records/idempotency_keys.ts";
import type { RecordTable, Resource } from "../records/records.ts";
import {
  type BuildRecordWrite,
  type SideEffects,
  type WriteResult,
  writeWithSideEffects,
} from "./side_effects.ts";
import { type ColumnType, Statement } from "../records/statement.ts";

export interface RecordInsert<R> {
  record: R;
  /** Null: the request has no idempotency key. */
  key: NewKey | null;
  /** Keys created before this have expired. */
  keysSince: Date;
  /** The record of an earlier attempt with the same key, which the new record replaces. */
  replaces: string | null;
}

export interface Inserted {
  /** False: the key is in use. */
  isClaimed: boolean;
  /** False: the order id or the key is in use. */
  isInserted: boolean;
}

/** How records of a table are inserted. */
export interface InsertOptions<R> {
  resource: Resource;
  table: RecordTable;
  columns: readonly (keyof R & string)[];
  /** The column with the record's state. */
  status: keyof R & string;
  /** The source of the first history entry. */
  source: string;
  /** The order id that the record reserves; null: none. */
  orderOf: (record: R) => string | null;
  /** The column with the checkout that has reserved the order id for the record, if any. */
  reservedBy?: keyof R & string;
  items: ItemOptions<R> | null;
}

export interface ItemOptions<R> {
  table: "payment_items" | "invoice_items";
  /** The first is the item's id, the second the id of the record that it belongs to. */
  columns: readonly string[];
  of(record: R): object[];
}

/**
 * Inserts records with their items, reserves their order ids and claims their idempotency keys. If
 * the key or the order id is in use, nothing of that record is written.
 */
export function batchedInsert<R extends { id: string }>(
  options: InsertOptions<R>,
): Batched<RecordInsert<R>, Inserted> {
  return {
    name: `insert ${options.resource}`,
    conflictKeys({ record, key }) {
      const order = options.orderOf(record);
      return [
        ...order === null ? [] : [`order ${order}`],
        ...key ? [`key ${nameOf(key)}`] : [],
      ];
    },
    run: (sql, inserts) => insertRecords(sql, inserts, options),
  };
}

async function insertRecords<R extends { id: string }>(
  sql: Sql,
  inserts: RecordInsert<R>[],
  { resource, table, columns, status, source, orderOf, reservedBy, items: itemOptions }:
    InsertOptions<R>,
): Promise<Inserted[]> {
  const statement = new Statement({ isBatch: true });
  const records = inserts.map(({ record }) => record);
  const keys = inserts.flatMap(({ key }) => key ?? []);
  const items = itemOptions ? records.flatMap((record) => itemsOf(record, itemOptions)) : [];
  const hasKeys = keys.length > 0;
  const hasOrders = orderOf(records[0]!) !== null;
  const names = columns.join(", ");
  const isClaimed = hasKeys ? isClaimedSql(statement, keys) : "true";
  const text = `
    with new_record as (select * from ${statement.rows(table, records)})
    ${hasKeys ? `, claimed as (${claimKeysOf(statement, inserts, keys)})` : ""}
    ${hasOrders ? `, ordered as (${reserveOrdersSql(isClaimed, reservedBy)})` : ""}
    , inserted as (
      insert into gateway.${table} (${names})
      select ${names} from new_record
      where ${hasOrders ? "id = any(array(select holder_id from ordered))" : isClaimed}
      returning id, ${status}, created_by, created_at
    ), with_history as (
      insert into gateway.history (resource, resource_id, to_status, source, actor, created_at)
      select '${resource}', id, ${status}, '${source}', created_by, created_at from inserted
    )
    ${items.length > 0 ? `, with_items as (${insertItemsSql(statement, itemOptions!, items)})` : ""}
    select array(select id from inserted) as inserted,
      ${hasKeys ? "array(select resource_id from claimed)" : "'{}'::uuid[]"} as claimed`;
  const [result] = await statement.run<{ claimed: string[]; inserted: string[] }>(sql, text);
  return inserts.map(({ record, key }) => ({
    isClaimed: key === null || result!.claimed.includes(record.id),
    isInserted: result!.inserted.includes(record.id),
  }));
}

/** The statement would leave out an item of another record, or insert it with that record. */
function itemsOf<R extends { id: string }>(record: R, { of, columns }: ItemOptions<R>): object[] {
  const items = of(record) as Record<string, unknown>[];
  const other = items.find((item) => item[columns[1]!] !== record.id);
  if (other) {
    throw new Error(`Record ${record.id} is not written: it has an item of another record`);
  }
  return items;
}

function claimKeysOf<R>(
  statement: Statement,
  inserts: RecordInsert<R>[],
  keys: NewKey[],
): string {
  const { keysSince } = inserts[0]!;
  return claimKeysSql(statement, keys, {
    keysSince,
    replaced: inserts.flatMap(({ replaces }) => replaces ?? []),
  });
}

function isClaimedSql(statement: Statement, keys: NewKey[]): string {
  const keyed = statement.ids(keys.map(({ resource_id }) => resource_id));
  return `(id <> all(${keyed}) or id in (select resource_id from claimed))`;
}

/** The column `holder_id` is the record that has reserved the order id. */
function reserveOrdersSql(isClaimed: string, reservedBy?: string): string {
  return `
      insert into gateway.order_ids as taken (order_id, user_id, holder_id)
      select order_id, user_id, id from new_record
      where ${isClaimed}
        -- The gateway accepts either id in its paths: an order id must not equal a transaction id.
        and not exists (
          select from gateway.payments known where known.transaction_id = new_record.order_id)
        and not exists (
          select from gateway.api_keys other
          where other.order_prefix = any(array[${prefixesSql("new_record.order_id")}])
            and other.user_id <> new_record.user_id and other.revoked_at is null)
      order by order_id
      -- Only a failed record frees its order id, and only for the same user; the order ids of a
      -- checkout stay its own. The record's user is compared, not that of the order id, so that a
      -- stranger's id takes as long as one's own.
      on conflict (order_id) do update set holder_id = excluded.holder_id
      where exists (select from gateway.payments payment
          where payment.id = taken.holder_id and payment.user_id = excluded.user_id
            and payment.transaction_status = 'failure' and payment.checkout_id is null)
        or exists (select from gateway.invoices invoice
          where invoice.id = taken.holder_id and invoice.user_id = excluded.user_id
            and invoice.status = 'failed')
        ${reservedBy ? isReservedForSql(reservedBy) : ""}
      returning holder_id`;
}

/** An attempt of a checkout is charged with an order id that its checkout has reserved. */
function isReservedForSql(reservedBy: string): string {
  return `or exists (select from new_record
          where new_record.order_id = excluded.order_id
            and new_record.${reservedBy} = taken.holder_id)`;
}

/** Reserves all of the order ids, or returns false: some are in use. Roll back then. */
export async function reserveOrderIds(
  sql: Sql,
  { id, user_id }: { id: string; user_id: string },
  orderIds: string[],
): Promise<boolean> {
  const statement = new Statement();
  const records = orderIds.map((order_id) => ({ order_id, user_id, id }));
  const rows = `json_to_recordset(${statement.json(records)}) as row(
        order_id text, user_id text, id uuid)`;
  const reserved = await statement.run(
    sql,
    `with new_record as (select * from ${rows}), ordered as (${reserveOrdersSql("true")})
    select * from ordered`,
  );
  return reserved.length === orderIds.length;
}

/** Those of the order ids that are reserved. */
export async function listReservedOrderIds(sql: Sql, orderIds: string[]): Promise<string[]> {
  const rows = await sql<{ order_id: string }[]>`
    select order_id from gateway.order_ids where order_id = any(${sql.array(orderIds)}::text[])`;
  return rows.map(({ order_id }) => order_id);
}

/** The beginnings of an order id that can be the prefix of a user. */
function prefixesSql(orderId: string): string {
  const { min, max } = ORDER_PREFIX_LENGTH;
  return Array.from({ length: max - min + 1 }, (_, i) => `left(${orderId}, ${min + i})`).join(", ");
}

function insertItemsSql<R>(
  statement: Statement,
  { table, columns }: ItemOptions<R>,
  items: object[],
): string {
  const names = columns.join(", ");
  return `
      insert into gateway.${table} (${names})
      select ${names} from ${statement.rows(table, items)}
      where ${columns[1]} = any(array(select id from inserted))`;
}

/** An update of a record, and the rows that are written with it. */
export interface RecordWrite<R> extends SideEffects {
  /** The new values, and the version that was read; if that is outdated, nothing is written. */
  record: R;
  /** The record that was read. If it is missing, all columns are written. */
  previous?: R;
  /**
   * What to store with the request's idempotency key. If the claim of the key is over,
   * nothing is written: the request that took the key over decides.
   */
  key: KeyUpdate | null;
}

export interface KeyUpdate extends ClaimedKey {
  resource_id: string;
  refund_id: string | null;
  reply: object | null;
  /** Whether the lease ends. */
  is_ended: boolean;
}

interface Versioned {
  id: string;
  version: number;
}

/** Columns with their types. */
type Types<R> = { readonly [Name in keyof R & string]?: ColumnType };

/**
 * The only statement that updates records of a table, except for the times of their checks. It has
 * two forms: one for all columns, and one for the `frequent` columns, which is faster and suffices
 * if no other column changes.
 */
export function batchedUpdate<R extends Versioned>(
  table: RecordTable,
  columns: readonly (keyof R & string)[],
  frequent: Types<R> | null = null,
): Batched<RecordWrite<R>, WriteResult> {
  const all: Target<R> = {
    table,
    columns,
    rows: (statement, records) => statement.rows(table, records, ["id", "version", ...columns]),
  };
  const few: Target<R> | null = frequent && {
    table,
    columns: Object.keys(frequent),
    rows: (statement, records) =>
      statement.arrays(records, { id: "uuid", version: "integer", ...frequent } as Types<R>),
  };
  const rare = columns.filter((name) => !few?.columns.includes(name));
  const hasNoRareChange = ({ record, previous }: RecordWrite<R>) =>
    previous !== undefined && rare.every((name) => record[name] === previous[name]);
  return {
    name: `write ${table.slice(0, -1)}`,
    conflictKeys: ({ record }) => [record.id],
    run: (sql, writes) =>
      updateRecords(sql, writes, few && writes.every(hasNoRareChange) ? few : all),
  };
}

/** What an update writes. */
interface Target<R> {
  table: RecordTable;
  columns: readonly string[];
  /** SQL that selects the records from parameters. */
  rows(statement: Statement, records: R[]): string;
}

/**
 * One statement, so that row locks last no longer than it runs. It contains only the parts that
 * this write needs: most writes need two or three, and a part without rows costs time, too.
 */
async function updateRecords<R extends Versioned>(
  sql: Sql,
  writes: RecordWrite<R>[],
  { table, columns, rows }: Target<R>,
): Promise<WriteResult[]> {
  const assignments = columns.map((name) => `${name} = wanted.${name}`).join(", ");
  // Every statement that locks several rows does so in the order of their ids, to avoid deadlocks.
  const records = writes.map(({ record }) => record).sort((a, b) => a.id < b.id ? -1 : 1);
  const keys = writes.flatMap(({ key }) => key ?? []);
  const hasKeys = keys.length > 0;
  for (const { record, key } of writes) {
    if (key && key.resource_id !== record.id) {
      throw new Error(`Record ${record.id} is not written: its key names ${key.resource_id}`);
    }
  }
  const buildUpdate: BuildRecordWrite = (statement) => [
    `wanted as (select * from ${rows(statement, records)})`,
    ...hasKeys ? [`key_update as (${keyUpdateRows(statement, keys)})`] : [],
    ...hasKeys ? [`still_claimed as (${LOCK_KEYS})`] : [],
    `changed as (
      update gateway.${table} record set version = record.version + 1, ${assignments}
      from wanted
      where record.id = wanted.id and record.version = wanted.version
        ${hasKeys ? `and ${IS_STILL_CLAIMED}` : ""}
      returning record.id
    )`,
    ...hasKeys ? [`with_keys as (${UPDATE_KEYS})`] : [],
  ];
  return await writeWithSideEffects(sql, buildUpdate, writes, { isBatch: true });
}

function keyUpdateRows(statement: Statement, keys: KeyUpdate[]): string {
  return `select * from json_to_recordset(${statement.json(keys)}) as key_update(
        user_id text, scope text, key text, lease_id uuid, resource_id uuid, refund_id uuid,
        reply json, is_ended boolean)`;
}

const IS_KEY_OF_UPDATE = `known.user_id = key_update.user_id and known.scope = key_update.scope
        and known.key = key_update.key and known.lease_id = key_update.lease_id`;

/** The lock keeps another request from taking the key over before this statement commits. */
const LOCK_KEYS = `
      select key_update.resource_id
      from key_update join gateway.idempotency_keys known on ${IS_KEY_OF_UPDATE}
      order by known.user_id, known.scope, known.key for update of known`;

const IS_STILL_CLAIMED = `(wanted.id in (select resource_id from still_claimed)
          or wanted.id not in (select resource_id from key_update))`;

const UPDATE_KEYS = `
      update gateway.idempotency_keys known
      set resource_id = key_update.resource_id, refund_id = key_update.refund_id,
        reply = key_update.reply,
        (lease_id, lease_until, holder) = (
          select known.lease_id, known.lease_until, known.holder where not key_update.is_ended)
      from key_update
      where ${IS_KEY_OF_UPDATE} and key_update.resource_id in (select id from changed)`;
