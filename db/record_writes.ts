/** Inserts and updates of records, each in one statement with everything that belongs to it. */

import type { Batched } from "./batched.ts";
import type { Sql } from "./database.ts";
import { type ClaimedKey, claimingKeys, type KeyId, nameOf } from "./idempotency_keys.ts";
import type { RecordTable, Resource } from "./records.ts";
import {
  type Changing,
  type SideEffects,
  type WriteResult,
  writeWithSideEffects,
} from "./side_effects.ts";
import { Statement } from "./statement.ts";

export interface RecordInsert<R> {
  record: R;
  /** Null: the request bears no key. */
  key: ClaimedKey | null;
  /** A key counts no longer when it was made before this. */
  keysSince: Date;
  /** The record of an earlier try with the same key, in whose place this one comes. */
  replaces: string | null;
}

export interface Inserted {
  /** False: the key is known already. */
  isClaimed: boolean;
  /** False: the order is taken. */
  isOrdered: boolean;
}

/** How records of a table are written, and what belongs to them. */
export interface Insertion<R> {
  resource: Resource;
  table: RecordTable;
  columns: readonly (keyof R & string)[];
  /** The column of its state. */
  status: keyof R & string;
  /** What made it, in its story. */
  source: string;
  /** The order that it takes; null: it has none. */
  orderOf: (record: R) => string | null;
  items: ItemInsertion<R> | null;
}

export interface ItemInsertion<R> {
  table: "payment_items" | "invoice_items";
  /** The first is the item's id, the second its record's. */
  columns: readonly string[];
  of(record: R): object[];
}

/**
 * New records with their items, the order ids they take and the keys they were asked with: of each
 * all, or (where the key is known or the order taken) nothing of the record.
 */
export function inserting<R extends { id: string }>(
  insertion: Insertion<R>,
): Batched<RecordInsert<R>, Inserted> {
  return {
    name: `insert ${insertion.resource}`,
    touches({ record, key }) {
      const order = insertion.orderOf(record);
      return [
        ...order === null ? [] : [`order ${order}`],
        ...key ? [`key ${nameOf(key)}`] : [],
      ];
    },
    run: (sql, inserts) => insert(sql, inserts, insertion),
  };
}

async function insert<R extends { id: string }>(
  sql: Sql,
  inserts: RecordInsert<R>[],
  { resource, table, columns, status, source, orderOf, items: belonging }: Insertion<R>,
): Promise<Inserted[]> {
  const statement = new Statement();
  const records = inserts.map(({ record }) => record);
  const keys = inserts.flatMap(({ key }) => key ?? []);
  const items = belonging ? records.flatMap((record) => belonging.of(record)) : [];
  const hasOrders = orderOf(records[0]!) !== null;
  const names = columns.join(", ");
  const isClaimed = keys.length > 0 ? claimed(statement, keys) : "true";
  const text = `
    with new_record as (select * from ${statement.rows(table, records)})
    ${keys.length > 0 ? `, claimed as (${claiming(statement, inserts, keys)})` : ""}
    ${hasOrders ? `, ordered as (${ordering(isClaimed)})` : ""}
    , inserted as (
      insert into gateway.${table} (${names})
      select ${names} from new_record
      where ${hasOrders ? "id in (select holder_id from ordered)" : isClaimed}
      returning id, ${status}, created_at
    ), with_history as (
      insert into gateway.history (resource, resource_id, to_status, source, created_at)
      select '${resource}', id, ${status}, '${source}', created_at from inserted
    )
    ${items.length > 0 ? `, with_items as (${insertingItems(statement, belonging!, items)})` : ""}
    select array(select id from inserted) as inserted,
      ${keys.length > 0 ? "array(select resource_id from claimed)" : "'{}'::uuid[]"} as claimed`;
  const [done] = await statement.run<{ claimed: string[]; inserted: string[] }>(sql, text);
  return inserts.map(({ record, key }) => ({
    isClaimed: key === null || done!.claimed.includes(record.id),
    isOrdered: done!.inserted.includes(record.id),
  }));
}

function claiming<R>(
  statement: Statement,
  inserts: RecordInsert<R>[],
  keys: ClaimedKey[],
): string {
  const { keysSince } = inserts[0]!;
  return claimingKeys(statement, keys, {
    keysSince,
    replaced: inserts.flatMap(({ replaces }) => replaces ?? []),
  });
}

function claimed(statement: Statement, keys: ClaimedKey[]): string {
  const keyed = statement.ids(keys.map(({ resource_id }) => resource_id));
  return `(id <> all(${keyed}) or id in (select resource_id from claimed))`;
}

function ordering(isClaimed: string): string {
  return `
      insert into gateway.order_ids as taken (order_id, user_id, holder_id)
      select order_id, user_id, id from new_record
      where ${isClaimed}
        -- The gateway takes either kind of id in its paths: an order must not pass for a transaction.
        and not exists (
          select from gateway.payments known where known.transaction_id = new_record.order_id)
      order by order_id
      -- Only a failure sets an order id free, and only for the same caller.
      on conflict (order_id) do update set holder_id = excluded.holder_id
      where taken.user_id = excluded.user_id and (
        exists (select from gateway.payments holder
          where holder.id = taken.holder_id and holder.transaction_status = 'failure')
        or exists (select from gateway.invoices holder
          where holder.id = taken.holder_id and holder.status = 'failed'))
      returning holder_id`;
}

function insertingItems<R>(
  statement: Statement,
  { table, columns }: ItemInsertion<R>,
  items: object[],
): string {
  const names = columns.join(", ");
  return `
      insert into gateway.${table} (${names})
      select ${names} from ${statement.rows(table, items)}
      where ${columns[1]} in (select id from inserted)`;
}

/** A change, and all that is written together with it. */
export interface RecordWrite<R> extends SideEffects {
  /** Its version is the one that was changed; what counts is whether the stored one still is that. */
  record: R;
  /** What to note of the key the change was asked with, while that is still its holder's. */
  key: KeyUpdate | null;
  /** Whether the key's holder alone may make the change. */
  isFenced: boolean;
}

export interface KeyUpdate extends KeyId {
  /** The lease by which the key is held; whoever took it over has another. */
  held_until: Date;
  resource_id: string;
  refund_id: string | null;
  reply: object | null;
  lease_until: Date;
}

interface Versioned {
  id: string;
  version: number;
}

/** The one statement by which records of a table are changed. */
export function writing<R extends Versioned>(
  table: RecordTable,
  columns: readonly (keyof R & string)[],
): Batched<RecordWrite<R>, WriteResult> {
  const set = columns.map((name) => `${name} = wanted.${name}`).join(", ");
  return {
    name: `write ${table.slice(0, -1)}`,
    touches: ({ record }) => [record.id],
    run: (sql, writes) =>
      write(sql, writes, { table, set, columns: ["id", "version", ...columns] }),
  };
}

interface Target<R> {
  table: RecordTable;
  set: string;
  columns: (keyof R & string)[];
}

/**
 * One statement: no row's lock is held for longer than that. It has only the parts it needs, for each
 * costs time even where it writes nothing, and most changes have two or three.
 */
async function write<R extends Versioned>(
  sql: Sql,
  writes: RecordWrite<R>[],
  { table, set, columns }: Target<R>,
): Promise<WriteResult[]> {
  // Locked in the order of their ids, by whoever changes several at once.
  const records = writes.map(({ record }) => record).sort((a, b) => a.id < b.id ? -1 : 1);
  const notes = writes.flatMap(({ key, isFenced }) => key ? [{ ...key, isFenced }] : []);
  const isFenced = notes.some(({ isFenced }) => isFenced);
  const changing: Changing = (statement, unless) => [
    `wanted as (select * from ${statement.rows(table, records, columns)})`,
    ...notes.length > 0 ? [`noted as (${noted(statement, notes)})`] : [],
    ...isFenced ? [`held as (${HOLDING})`] : [],
    `changed as (
      update gateway.${table} record set version = record.version + 1, ${set}
      from wanted
      where record.id = wanted.id and record.version = wanted.version
        ${isFenced ? `and ${IS_HELD}` : ""} ${unless}
      returning record.id
    )`,
    ...notes.length > 0 ? [`with_keys as (${NOTING})`] : [],
  ];
  return await writeWithSideEffects(sql, changing, writes);
}

function noted(statement: Statement, notes: (KeyUpdate & { isFenced: boolean })[]): string {
  const json = statement.value(JSON.stringify(notes));
  return `select * from json_to_recordset(${json}::text::json) as noted(
        user_id text, scope text, key text, held_until timestamptz, resource_id uuid, refund_id uuid,
        reply json, lease_until timestamptz, "isFenced" boolean)`;
}

const IS_NOTED = `known.user_id = noted.user_id and known.scope = noted.scope
        and known.key = noted.key and known.lease_until = noted.held_until and known.reply is null`;

/** Locked, so that nobody takes them over in this moment. */
const HOLDING = `
      select noted.resource_id from noted join gateway.idempotency_keys known on ${IS_NOTED}
      where "isFenced" for update of known`;

const IS_HELD = `(wanted.id in (select resource_id from held)
          or wanted.id not in (select resource_id from noted where "isFenced"))`;

const NOTING = `
      update gateway.idempotency_keys known
      set resource_id = noted.resource_id, refund_id = noted.refund_id, reply = noted.reply,
        lease_until = noted.lease_until
      from noted
      where ${IS_NOTED} and noted.resource_id in (select id from changed)`;
