import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { migrateDatabase } from "../../commands/migrate.ts";
import { postponeChecks, scheduleCheck } from "../../db/records.ts";
import { loadMigrations, migrate } from "../../db/migrations.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { reportStatistics } from "../support/database/statistics.ts";
import { untilEarlierTransactionsEnd } from "../support/database/transactions.ts";
import { notify } from "../support/gateway/notifications.ts";
import { openPayments, type Payment, type TestPayments } from "../support/payments/payments.ts";
import { isPartial } from "../support/share.ts";
import { until } from "../support/until.ts";

const MIGRATION = "0018_payment_filters";

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

/** A database in which the migration of payment filters is pending; created once, then copied. */
let previous: Promise<string> | null = null;

async function createTemplate(): Promise<string> {
  const name = `previous_${randomUUID().replaceAll("-", "")}`;
  const url = await createDatabase({ template: null, name });
  await migrateDatabase(url, await previousMigrations());
  return name;
}

/** A database with this many payments, in which the migration of payment filters is pending. */
async function createPrevious(rows: number): Promise<string> {
  const url = await createDatabase({ template: await (previous ??= createTemplate()) });
  await runSql(
    url,
    `insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type, gross_amount,
       currency, transaction_status, paid_at, check_at, sent_at, created_at, updated_at)
     select gen_random_uuid(), 'alice', 'old-' || n, 'old-' || n, 'qris', 1000, 'IDR',
       case when n % 2 = 0 then 'settlement' else 'pending' end,
       case when n % 2 = 0 then now() end, case when n % 2 = 1 then now() end, now(), now(), now()
     from generate_series(1, ${rows}) n`,
  );
  return url;
}

async function previousMigrations() {
  // Later migrations change the same table, so they are pending, too.
  const pending = [MIGRATION, "0020_search", "0043_payments_without_owner"];
  return (await loadMigrations()).filter(({ name }) => !pending.includes(name));
}

async function isApplied(url: string): Promise<boolean> {
  const rows = await runSql(url, `select from gateway.migrations where name = '${MIGRATION}'`);
  return rows.length > 0;
}

Deno.test("migration of payment filters: copies all payments while charges and notifications change them, and no request fails", async () => {
  const databaseUrl = await createPrevious(isPartial ? 5_000 : 20_000);
  await using payments = await openPayments({ databaseUrl });
  let isDone = false;
  const migrated = migrateDatabase(databaseUrl, await loadMigrations())
    .finally(() => isDone = true);
  const statuses: number[] = [];
  while (!isDone) {
    statuses.push((await payAndNotify(payments, await payments.charge("bca"))).status);
    await runSql(
      databaseUrl,
      `update gateway.payments set transaction_status = 'expire', check_at = null
       where id = (select id from gateway.payments where transaction_status = 'pending' limit 1)`,
    );
  }
  assert.ok((await migrated).includes(MIGRATION));
  assert.deepEqual(statuses.filter((status) => status !== 200), []);
  assert.ok(statuses.length > 0);
  assert.deepEqual(await findDifferent(databaseUrl), []);
  const indexes = await runSql(
    databaseUrl,
    `select indexname from pg_indexes where schemaname = 'gateway' and tablename = 'payments'
       and indexdef ~ 'transaction_status|check_at|paid_at'`,
  );
  assert.equal(indexes.length, 6, "the previous version uses these indexes, so they are kept");
});

Deno.test("migration of payment filters: waits for a locked payment without blocking the others, and continues after a crash", async () => {
  const databaseUrl = await createPrevious(2_000);
  const other = postgres(databaseUrl, { max: 1 });
  const session = await other.reserve();
  await session`begin`;
  const [locked] = await session`select id from gateway.payments order by id offset 700 limit 1`;
  await session`select from gateway.payments where id = ${locked!.id} for update`;
  const crashed = migrate(databaseUrl, await loadMigrations()).catch(() => "crashed");
  const countCopied = async () => {
    const [row] = await runSql(
      databaseUrl,
      `select count(*)::int as count from gateway.payment_filters
       where to_regclass('gateway.payment_filters') is not null`,
    ).catch(() => [{ count: 0 }]);
    return row!.count;
  };
  await until("the rows before the locked one are copied", async () => await countCopied() === 500);
  await until("the migration has released its locks and pauses", async () => {
    const pausing = await runSql(
      databaseUrl,
      `select from pg_stat_activity where datname = current_database() and query like 'call %'
         and wait_event = 'PgSleep'`,
    );
    return pausing.length > 0;
  });
  const update = `update gateway.payments set transaction_status = 'deny' where id = (
    select id from gateway.payments where id <> '${locked!.id}' order by id offset 690 limit 1)`;
  await runSql(databaseUrl, `set lock_timeout = '1s'; ${update}`);
  await until("the migration's connection is ended", async () => {
    const ended = await runSql(
      databaseUrl,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and query like 'call %'`,
    );
    return ended.length > 0;
  });
  assert.equal(await crashed, "crashed");
  assert.equal(await isApplied(databaseUrl), false);
  await session`commit`;
  session.release();
  await other.end();
  assert.ok((await migrate(databaseUrl, await loadMigrations())).includes(MIGRATION));
  assert.deepEqual(await findDifferent(databaseUrl), []);
});
