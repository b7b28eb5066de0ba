/** Changes payments, in one round trip with all that is written together with each change. */

import { type Beside, besides, runWith, type Written } from "./beside_payment.ts";
import type { Sql } from "./database.ts";
import type { KeyId } from "./idempotency_keys.ts";
import { CHANGING_COLUMNS, type GatewayPayment } from "./payments.ts";
import { Statement } from "./statement.ts";
import type { Together } from "./together.ts";

/** A change, and all that is written together with it. */
export interface PaymentWrite extends Beside {
  /** Its version is the one that was changed; what counts is whether the stored one still is that. */
  payment: GatewayPayment;
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

export const writingPayments: Together<PaymentWrite, Written> = {
  name: "write payment",
  touches: ({ payment }) => [payment.id],
  run: writePayments,
};

const WRITTEN_COLUMNS = ["id", "version", ...CHANGING_COLUMNS] as const;

const SET = CHANGING_COLUMNS.map((name) => `${name} = wanted.${name}`).join(", ");

/**
 * One statement: no row's lock is held for longer than that. It has only the parts it needs, for each
 * costs time even where it writes nothing, and most changes have two or three.
 */
async function writePayments(sql: Sql, writes: PaymentWrite[]): Promise<Written[]> {
  const statement = new Statement();
  // Locked in the order of their ids, by whoever changes several at once.
  const payments = writes.map(({ payment }) => payment).sort((a, b) => a.id < b.id ? -1 : 1);
  const notes = writes.flatMap(({ key, isFenced }) => key ? [{ ...key, isFenced }] : []);
  const parts = [
    `wanted as (select * from ${statement.rows("payments", payments.map(toWrite))})`,
    ...notes.length > 0 ? [`noted as (${noted(statement, notes)})`] : [],
    ...notes.some(({ isFenced }) => isFenced) ? [`held as (${HOLDING})`] : [],
    `changed as (
      update gateway.payments payment set version = payment.version + 1, ${SET}
      from wanted
      where payment.id = wanted.id and payment.version = wanted.version
        ${notes.some(({ isFenced }) => isFenced) ? `and ${IS_HELD}` : ""}
      returning payment.id
    )`,
    ...besides(statement, writes),
    ...notes.length > 0 ? [`with_keys as (${NOTING})`] : [],
  ];
  return await runWith(sql, statement, parts, writes);
}

function toWrite(payment: GatewayPayment): object {
  const row: Record<string, unknown> = {};
  for (const name of WRITTEN_COLUMNS) row[name] = payment[name];
  return row;
}

function noted(statement: Statement, notes: (KeyUpdate & { isFenced: boolean })[]): string {
  const json = statement.value(JSON.stringify(notes));
  return `select * from json_to_recordset(${json}::text::json) as noted(
        user_id text, scope text, key text, held_until timestamptz, payment_id uuid, refund_id uuid,
        reply json, lease_until timestamptz, "isFenced" boolean)`;
}

const IS_NOTED = `known.user_id = noted.user_id and known.scope = noted.scope
        and known.key = noted.key and known.lease_until = noted.held_until and known.reply is null`;

/** Locked, so that nobody takes them over in this moment. */
const HOLDING = `
      select noted.payment_id from noted join gateway.idempotency_keys known on ${IS_NOTED}
      where "isFenced" for update of known`;

const IS_HELD = `(wanted.id in (select payment_id from held)
          or wanted.id not in (select payment_id from noted where "isFenced"))`;

const NOTING = `
      update gateway.idempotency_keys known
      set payment_id = noted.payment_id, refund_id = noted.refund_id, reply = noted.reply,
        lease_until = noted.lease_until
      from noted
      where ${IS_NOTED} and noted.payment_id in (select id from changed)`;
