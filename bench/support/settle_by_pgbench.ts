/**
 * Settles payments with `pgbench`: by a transaction that writes the same rows as the service, or by
 * one statement that writes three rows to tables with only the indexes that every such service
 * needs.
 */

import postgres from "postgres";
import { newPayment } from "../../core/payments/new_payment.ts";
import { viewPayment } from "../../core/payments/views.ts";
import { idOf, nthRow, PENDING, settlement, STRIDE } from "./pending_payments.ts";
import { pacePgbench, type Run, runPgbench } from "./pgbench.ts";

export interface Workload {
  /** The number of rows in the table. */
  rows: number;
  /** Where to start in the order of settlement: the `n` of `nthRow` for the first payment. */
  first: number;
  clients: number;
  /** The number of transactions of each client. */
  transactions: number;
}

/** With n clients, each settles every n-th payment, so that no two settle the same one. */
const CHOOSE_ROW = `
\\set n :first + :client_id + :clients * :done
\\set done :done + 1
\\set row :oldest + :n * ${STRIDE} % ${PENDING}
`;

const SCRIPT = `${CHOOSE_ROW}
begin;
insert into gateway.notifications (
  id, payment_id, order_id, transaction_id, transaction_status, fraud_status, payment_type,
  status_code, gross_amount, status, raw_payload, created_at
) values (
  uuidv7(), ${idOf(":row")}, :row::bigint || '-web', md5(:row::bigint::text)::uuid, 'settlement',
  'accept', 'bank_transfer', '200', '44000.00', 'processed', :payload::json, now()
);
update gateway.payments set
  transaction_status = 'settlement', fraud_status = 'accept', status_code = '200',
  status_message = 'midtrans payment notification', captured_amount = 44000,
  settlement_time = now(), paid_at = now(), check_at = null, event_count = event_count + 1,
  version = version + 1, updated_at = now()
where id = ${idOf(":row")};
with written as (
  insert into gateway.events (
    id, name, resource, resource_id, sequence, user_id, data, created_at
  ) values (
    uuidv7(), 'payment_settled', 'payment', ${idOf(":row")}, 2, 'user-1', :data::json, now()
  ) returning id
)
insert into gateway.event_outbox (event_id) select id from written;
insert into gateway.history (
  resource, resource_id, from_status, to_status, fraud_status, source, actor, created_at
) values (
  'payment', ${idOf(":row")}, 'pending', 'settlement', 'accept', 'notification', 'notification:1',
  now()
);
commit;
`;

/** One round trip and three rows: the payment, the notification and the event, but no history. */
const ONE_STATEMENT = `${CHOOSE_ROW}
with changed as (
  update reference.payments set
    transaction_status = 'settlement', fraud_status = 'accept', status_code = '200',
    status_message = 'midtrans payment notification', captured_amount = 44000,
    settlement_time = now(), paid_at = now(), check_at = null, event_count = event_count + 1,
    version = version + 1, updated_at = now()
  where id = ${idOf(":row")} returning id
), notified as (
  insert into reference.notifications (
    id, payment_id, order_id, transaction_id, transaction_status, fraud_status, payment_type,
    status_code, gross_amount, status, raw_payload, created_at
  ) select uuidv7(), id, :row::bigint || '-web', md5(:row::bigint::text)::uuid, 'settlement',
    'accept', 'bank_transfer', '200', '44000.00', 'processed', :payload::json, now() from changed
)
insert into reference.events (
  id, name, resource, resource_id, sequence, user_id, data, created_at
) select uuidv7(), 'payment_settled', 'payment', id, 2, 'user-1', :data::json, now() from changed;
`;

/** Creates the tables for `ONE_STATEMENT`, with a copy of the payments. */
export async function createReference(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql.unsafe(`
    create schema reference;
    create table reference.payments (like gateway.payments including defaults including constraints);
    create table reference.notifications (like gateway.notifications including constraints);
    create table reference.events (
      like gateway.events including defaults including constraints);
    insert into reference.payments select * from gateway.payments;
    set maintenance_work_mem = '512MB';
    alter table reference.payments add primary key (id), add unique (transaction_id);
    create index on reference.payments (order_id, id);
    create index on reference.payments (transaction_status, payment_type, id);
    create index on reference.payments (user_id, transaction_status, payment_type, id);
    alter table reference.notifications add primary key (id);
    create index on reference.notifications (order_id, id);
    alter table reference.events add primary key (id), add unique (resource_id, sequence)`);
  await sql`vacuum analyze reference.payments`;
  await sql`checkpoint`;
  await sql.end();
}

/** Transactions per second. */
export async function settleByPgbench(url: string, workload: Workload): Promise<number> {
  return await runPgbench(buildRun(url, workload, SCRIPT));
}

/** Statements per second, in the tables that `createReference` created. */
export async function settleByOneStatement(url: string, workload: Workload): Promise<number> {
  return await runPgbench(buildRun(url, workload, ONE_STATEMENT));
}

/** The latency of each transaction at this rate. */
export async function settlePacedByPgbench(
  url: string,
  workload: Workload,
  perSecond: number,
): Promise<number[]> {
  return await pacePgbench(buildRun(url, workload, SCRIPT), perSecond);
}

function buildRun(
  url: string,
  { rows, first, clients, transactions }: Workload,
  script: string,
): Run {
  const { signature_key: _, ...payload } = settlement(rows);
  return {
    url,
    script,
    clients,
    transactions,
    variables: {
      clients,
      first,
      oldest: nthRow(rows, 0),
      done: 0,
      payload: JSON.stringify(payload),
      data: JSON.stringify(eventData()),
    },
  };
}

/** The data of the event: the settled payment, and the id of the notification. */
function eventData(): object {
  const now = new Date();
  const payment = newPayment(
    {
      payment_type: "bank_transfer",
      bank: "bca",
      gross_amount: 44_000,
      customer_details: { first_name: "Budi", email: "budi@example.com" },
      item_details: [{ name: "Coffee", price: 22_000, quantity: 2 }],
    },
    "user-1",
    now,
  );
  return {
    ...viewPayment({
      ...payment,
      transaction_id: crypto.randomUUID(),
      transaction_status: "settlement",
      fraud_status: "accept",
      status_code: "200",
      status_message: "midtrans payment notification",
      captured_amount: 44_000,
      va_number: "812785002530231",
      transaction_time: now,
      settlement_time: now,
      expiry_time: now,
    }),
    notification_id: crypto.randomUUID(),
  };
}
