import assert from "node:assert/strict";
import postgres from "postgres";
import { newId } from "../../core/ids.ts";
import { updateStats } from "../../core/reports/count_payments.ts";
import type { Database } from "../../db/connection/database.ts";
import { resetStats } from "../../db/reports/stats.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { inTime, until } from "../support/until.ts";

const NOW = Date.parse("2031-03-05T03:30:00Z");

/** More than one transaction of the count takes. */
const MANY = 600;

async function openStats(): Promise<TestPayments> {
  return await openPayments({ now: manualClock(NOW).now });
}

async function countedPayments({ get }: TestPayments): Promise<number> {
  const response = await get("/stats/payments/?from=2031-03-05");
  assert.equal(response.status, 200, await response.clone().text());
  const { rows } = await response.json();
  return rows.reduce((sum: number, { count }: { count: number }) => sum + count, 0);
}

/**
 * Inserts payments of alice that are not in the history, so only a count of all payments finds
 * them.
 */
async function insertPayments({ app }: TestPayments, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => newId(new Date(NOW)));
  await app.database.query((sql) =>
    sql`
      insert into gateway.payments (id, user_id, order_id, payment_type, gross_amount, currency,
        transaction_status, sent_at, created_at, updated_at)
      select id, 'alice', id::text, 'gopay', 1000, 'IDR', 'pending', now(), ${new Date(NOW)}, now()
      from unnest(${sql.array(ids)}::uuid[]) id`
  );
}

/** A database that holds its call number `number` with this name until it is released. */
function holdCall(database: Database, name: string, number: number) {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let calls = 0;
  const hold = async (called = "") => {
    if (called !== name || ++calls !== number) return;
    arrived.resolve();
    await released.promise;
  };
  const held: Database = {
    ...database,
    query: async (work, called) => {
      await hold(called);
      return await database.query(work, called);
    },
    transaction: async (work, called) => {
      await hold(called);
      return await database.transaction(work, called);
    },
  };
  return { database: held, arrived: arrived.promise, release: released.resolve };
}

Deno.test("rebuild of stats during an earlier count of all payments: counts each payment", async () => {
  await using payments = await openStats();
  const { service, database } = payments.app;
  await insertPayments(payments, MANY);
  await database.transaction(resetStats);
  const held = holdCall(database, "count payments", 2);
  const earlier = updateStats({ ...service, database: held.database });
  await inTime("the first payments are counted", held.arrived);
  await database.transaction(resetStats);
  held.release();
  assert.equal((await earlier).is_complete, true);
  assert.equal(await countedPayments(payments), MANY);
});

Deno.test("rebuild of stats during an update: the update does not skip a payment whose transaction is still running", async () => {
  await using payments = await openStats();
  const { service, database } = payments.app;
  const sql = postgres(payments.databaseUrl, { max: 1 });
  try {
    await payments.charge("gopay");
    await updateStats(service);
    // From now on, all transactions that ran at the end of that update have ended.
    await until("the end of the update is confirmed", () => isConfirmed(payments));
    const slow = await beginPayment(sql);
    await payments.charge("gopay");
    const held = holdCall(database, "end stats run", 1);
    const update = updateStats({ ...service, database: held.database });
    await inTime("the update has read the history", held.arrived);
    await database.transaction(resetStats);
    await updateStats(service);
    held.release();
    await update;
    await slow.commit();
    await updateStats(service);
    assert.equal(await countedPayments(payments), 3);
  } finally {
    await sql.end();
  }
});

/** Inserts a payment of alice, with its entry in the history, in a transaction that stays open. */
async function beginPayment(sql: postgres.Sql): Promise<{ commit(): Promise<void> }> {
  const written = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const transaction = sql.begin(async (sql) => {
    const id = newId(new Date(NOW));
    await sql`
      insert into gateway.payments (id, user_id, order_id, payment_type, gross_amount, currency,
        transaction_status, sent_at, created_at, updated_at)
      values (${id}, 'alice', 'slow', 'gopay', 1000, 'IDR', 'pending', now(), ${new Date(NOW)},
        now())`;
    await sql`
      insert into gateway.history (resource, resource_id, to_status, source, created_at)
      values ('payment', ${id}, 'pending', 'charge', now())`;
    written.resolve();
    await released.promise;
  });
  await Promise.race([written.promise, transaction]);
  return {
    async commit() {
      released.resolve();
      await transaction;
    },
  };
}

async function isConfirmed({ app }: TestPayments): Promise<boolean> {
  const [progress] = await app.database.query((sql) =>
    sql`select pg_snapshot_xmin(pg_current_snapshot()) >= next_xmax as is_confirmed
      from gateway.stats_progress`
  );
  return progress!.is_confirmed;
}

Deno.test("update of stats: a backlog that takes longer than a run is counted by several runs", async () => {
  await using payments = await openStats();
  await insertPayments(payments, 2 * MANY);
  await addToHistory(payments);
  const first = await updateStats(payments.app.service, 0);
  assert.deepEqual(first, { counted: 500, is_complete: false });
  // The entries that a run has read are read once more, when no other transaction can add to them.
  await until("all payments are counted", async () => {
    const { counted, is_complete } = await updateStats(payments.app.service, 0);
    assert.ok(counted <= 500, `${counted}`);
    return is_complete;
  });
  assert.equal(await countedPayments(payments), 2 * MANY);
});

Deno.test("update of stats: ends early when the service stops, and the next run continues", async () => {
  await using payments = await openStats();
  await insertPayments(payments, 2 * MANY);
  await addToHistory(payments);
  const { service } = payments.app;
  const stopped = await updateStats({ ...service, stopping: AbortSignal.abort() });
  assert.equal(stopped.is_complete, false);
  assert.ok(stopped.counted <= 500, `${stopped.counted}`);
  await updateStats(service);
  assert.equal(await countedPayments(payments), 2 * MANY);
});

Deno.test("update of stats: a run that ends at its deadline skips no entry that it has not read", async () => {
  await using payments = await openStats();
  const { service } = payments.app;
  const sql = postgres(payments.databaseUrl, { max: 1 });
  try {
    await insertPayments(payments, MANY);
    await addToHistory(payments);
    const slow = await beginPayment(sql);
    await payments.charge("gopay");
    await updateStats(service);
    await slow.commit();
    await until("the end of the update is confirmed", () => isConfirmed(payments));
    assert.equal((await updateStats(service, 0)).is_complete, false);
    await updateStats(service);
    assert.equal(await countedPayments(payments), MANY + 2);
  } finally {
    await sql.end();
  }
});

async function addToHistory({ app }: TestPayments): Promise<void> {
  await app.database.query((sql) =>
    sql`insert into gateway.history (resource, resource_id, to_status, source, created_at)
      select 'payment', id, 'pending', 'charge', now() from gateway.payments`
  );
}
