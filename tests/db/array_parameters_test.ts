import assert from "node:assert/strict";
import { newId } from "../../core/ids.ts";
import { newPayment } from "../../core/payments/new_payment.ts";
import type { NewEvent } from "../../db/events/events.ts";
import type { GatewayNotification } from "../../db/payments/notifications.ts";
import { findPayment } from "../../db/payments/statements.ts";
import { paymentInserts, paymentWrites } from "../../db/writing/payment_writes.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { RecordWrite } from "../../db/writing/record_writes.ts";
import type { NewHistory } from "../../db/records/records.ts";
import { openPool } from "../support/database/pools.ts";
import { createDatabase } from "../support/database/database.ts";

const NOW = new Date("2026-03-05T04:15:40.852Z");

/** Texts that an array literal or JSON has to escape, or that look like null. */
const ODD_TEXTS = [
  ...['a"b', "c\\d", '\\"', "{e,f}", "null", "NULL", "", " ", "é😀\n\t", "'; --"],
  null,
];

const oddText = (index: number) => ODD_TEXTS[index % ODD_TEXTS.length]!;

async function openWithPayments(count: number) {
  const database = openPool({ url: await createDatabase(), poolSize: 1 });
  const payments = Array.from({ length: count }, (_, index): GatewayPayment => ({
    ...newPayment(
      { payment_type: "qris", gross_amount: 1_000 + index },
      oddText(index) ?? "u",
      NOW,
    ),
    id: newId(NOW),
  }));
  const inserts = payments.map((record) => ({ record, key: null, keysSince: NOW, replaces: null }));
  await database.query((sql) => paymentInserts.run(sql, inserts));
  return { database, payments };
}

/** The write after a notification of a settlement, with odd texts. */
function settle(previous: GatewayPayment, index: number): RecordWrite<GatewayPayment> {
  const record: GatewayPayment = {
    ...previous,
    transaction_status: "settlement",
    fraud_status: oddText(index + 3),
    status_message: oddText(index),
    captured_amount: index === 0 ? null : index,
    paid_at: index % 2 === 0 ? null : NOW,
    check_at: null,
    event_count: 1,
    updated_at: NOW,
  };
  const history: NewHistory = {
    resource: "payment",
    resource_id: record.id,
    from_status: "pending",
    to_status: "settlement",
    fraud_status: oddText(index),
    source: "notification",
    actor: null,
    created_at: NOW,
  };
  const event: NewEvent = {
    id: newId(NOW),
    name: "payment_settled",
    resource: "payment",
    resource_id: record.id,
    sequence: 1,
    user_id: record.user_id,
    data: { texts: ODD_TEXTS, 'na"me': null },
    subscribers: [[], ["send_receipt"], ['odd "name"', "{a,b}", "c\\d"]][index % 3]!,
    created_at: NOW,
  };
  const notification: GatewayNotification = {
    id: newId(NOW),
    payment_id: record.id,
    order_id: record.order_id,
    transaction_id: null,
    transaction_status: "settlement",
    fraud_status: oddText(index + 1),
    payment_type: null,
    status_code: "200",
    gross_amount: "1000.00",
    status: "processed",
    error_message: oddText(index + 2),
    raw_payload: { texts: ODD_TEXTS },
    created_at: NOW,
  };
  return {
    record,
    previous,
    history: [history],
    events: [event],
    notifications: [notification],
    refunds: [],
    charges: [],
    attempts: [],
    jobs: [],
    key: null,
  };
}

Deno.test("payment writes: a batch stores every text, number, time and null exactly", async () => {
  const { database, payments } = await openWithPayments(33);
  const writes = payments.map(settle);
  const results = await database.query((sql) => paymentWrites.run(sql, writes));
  assert.deepEqual(results.filter(({ isWritten }) => !isWritten), []);
  for (const { record, history, events, notifications } of writes) {
    const stored = await database.query((sql) => findPayment(sql, record.id));
    assert.deepEqual(stored, { ...record, version: 1, fee_cents: null });
    const rows = await database.query(async (sql) => ({
      history: await sql`select * from gateway.history
        where resource_id = ${record.id} and source = 'notification'`,
      events: await sql`select * from gateway.events where resource_id = ${record.id}`,
      notifications: await sql`
        select * from gateway.notifications where payment_id = ${record.id}`,
    }));
    assert.deepEqual(pickAll(rows.history, history), history);
    assert.deepEqual(pickAll(rows.events, events), events);
    assert.deepEqual(pickAll(rows.notifications, notifications), notifications);
  }
  await database.close();
});

Deno.test("payment writes: a batch stores all changes, also of a column that rarely changes", async () => {
  const { database, payments } = await openWithPayments(2);
  const [first, second] = payments.map(settle);
  const rare = { ...second!, record: { ...second!.record, va_number: "8127" } };
  await database.query((sql) => paymentWrites.run(sql, [first!, rare]));
  const stored = await database.query(async (sql) => [
    await findPayment(sql, first!.record.id),
    await findPayment(sql, rare.record.id),
  ]);
  assert.deepEqual(
    stored,
    [first!, rare].map(({ record }) => ({ ...record, version: 1, fee_cents: null })),
  );
  await database.close();
});

/** The rows with only those columns that the expected rows have. */
function pickAll(rows: Iterable<object>, expected: object[]): object[] {
  const names = Object.keys(expected[0]!);
  return [...rows].map((row) =>
    Object.fromEntries(names.map((name) => [name, row[name as keyof typeof row]]))
  );
}
