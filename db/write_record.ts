/** Changes records, in one round trip with all that is written together with each change. */

import {
  type Changing,
  type SideEffects,
  type WriteResult,
  writeWithSideEffects,
} from "./side_effects.ts";
import type { Sql } from "./database.ts";
import type { KeyId } from "./idempotency_keys.ts";
import type { Statement } from "./statement.ts";
import type { Batched } from "./batched.ts";

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

export type RecordTable = "payments" | "invoices" | "subscriptions";

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
