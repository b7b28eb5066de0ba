import assert from "node:assert/strict";
import { postponeChecks, scheduleCheck } from "../../db/records/records.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { reportStatistics } from "../support/database/statistics.ts";
import { untilEarlierTransactionsEnd } from "../support/database/transactions.ts";
import { notify } from "../support/gateway/notifications.ts";
import { openPayments, type Payment, type TestPayments } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

const HOUR = 3_600_000;

/** Payments whose row in `payment_filters` is missing or differs. */
async function findDifferent(databaseUrl: string): Promise<unknown[]> {
  const rows = await runSql(
    databaseUrl,
    `select payment.id, payment.transaction_status, filters.transaction_status as filtered
     from gateway.payments payment
     full join gateway.payment_filters filters on filters.payment_id = payment.id
     where (payment.user_id, payment.transaction_status, payment.payment_type, payment.check_at,
         payment.paid_at, payment.settlement_time,
         case when payment.fraud_status in ('challenge', 'deny') then payment.fraud_status end)
       is distinct from (filters.user_id, filters.transaction_status, filters.payment_type,
         filters.check_at, filters.paid_at, filters.settlement_time, filters.fraud_alert)`,
  );
  return [...rows];
}

/** Pays at the gateway, and sends the gateway's notification to the service. */
async function payAndNotify(
  payments: TestPayments,
  { transaction_id }: Payment,
): Promise<Response> {
  const { sandbox } = payments;
  await sandbox.waitForWebhooks();
  await sandbox.control(`transactions/${transaction_id}/pay`);
  await sandbox.waitForWebhooks();
  const { body } = sandbox.hooks.findLast(({ body }) => body.transaction_id === transaction_id)!;
  return await notify(payments, body);
}

interface Updates {
  all: number;
  heapOnly: number;
}

/** Waits until PostgreSQL, which counts with a delay, has counted this many updates of payments. */
async function countUpdates(
  { app, databaseUrl }: TestPayments,
  expected: number,
): Promise<Updates> {
  let counted: Updates = { all: 0, heapOnly: 0 };
  await until(`${expected} updates are counted`, async () => {
    await reportStatistics(app.database);
    const [row] = await runSql(
      databaseUrl,
      `select n_tup_upd::int as all, n_tup_hot_upd::int as heap_only from pg_stat_user_tables
       where relid = 'gateway.payments'::regclass`,
    );
    counted = { all: row!.all, heapOnly: row!.heap_only };
    return counted.all >= expected;
  });
  return counted;
}

Deno.test("notification: changes a payment by a heap-only update, which writes no index of payments", async () => {
  // A new database, because PostgreSQL would also count the updates by earlier tests.
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const charged: Payment[] = [];
  for (let count = 0; count < 20; count++) charged.push(await payments.charge("bca"));
  // Each charge makes one update that is not heap-only: it stores the indexed transaction id.
  const before = await countUpdates(payments, charged.length);
  // A heap-only update needs the space of old row versions. PostgreSQL frees it only after all
  // transactions that began earlier have ended.
  await untilEarlierTransactionsEnd(payments.databaseUrl);
  for (const each of charged) assert.equal((await payAndNotify(payments, each)).status, 200);
  const after = await countUpdates(payments, 2 * charged.length);
  assert.equal(after.all - before.all, charged.length);
  assert.equal(after.heapOnly - before.heapOnly, charged.length);
});

Deno.test("payment filters: equal the payments after every kind of change", async () => {
  await using payments = await openPayments();
  const { app, databaseUrl } = payments;
  const expectEqual = async (change: string) =>
    assert.deepEqual(await findDifferent(databaseUrl), [], change);
  const charged = await payments.charge("bca");
  await expectEqual("a charge");
  await payAndNotify(payments, charged);
  await expectEqual("a notification");
  const refundable = await payments.paid("gopay");
  assert.equal((await payments.post(`/payments/${refundable.id}/refund/`, {})).status, 200);
  await expectEqual("a refund");
  const cancelled = await payments.charge("gopay");
  assert.equal((await payments.post(`/payments/${cancelled.id}/cancel/`)).status, 200);
  await expectEqual("a cancellation");
  const { id } = await payments.charge("qris");
  const at = (hours: number) => new Date(Date.now() + hours * HOUR);
  await app.database.query((sql) => scheduleCheck(sql, "payments", id, at(-1)));
  await expectEqual("a scheduled check");
  await app.database.query((sql) =>
    postponeChecks(sql, "payments", at(0), [{ id, check_at: at(2) }])
  );
  await expectEqual("a postponed check");
  await runSql(databaseUrl, "update gateway.payments set user_id = 'bob', check_at = null");
  await expectEqual("an update by another program");
  await runSql(databaseUrl, `delete from gateway.payments where id = '${id}'`);
  await expectEqual("a deletion by another program");
});
