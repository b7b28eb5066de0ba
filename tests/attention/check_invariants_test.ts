import assert from "node:assert/strict";
import { checkAttention } from "../../core/attention/check_attention.ts";
import { firstIdAt } from "../../core/ids.ts";
import {
  recountPayments,
  startOfJakartaDay,
  updateStats,
} from "../../core/reports/count_payments.ts";
import { STATISTICS_VIOLATIONS, storeCursor } from "../../db/reports/invariants.ts";
import { checkInvariants } from "../../core/tasks/check_invariants.ts";
import { StatusSchema } from "../../routes/status/schemas.ts";
import type { Database } from "../../db/connection/database.ts";
import { insertFees } from "../../db/reports/payment_fees.ts";
import { openStaff } from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { newKey } from "../support/idempotency.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openPayments } from "../support/payments/payments.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS;

Deno.test("check_invariants: a change that contradicts something raises attention with its record, until it is repaired", async () => {
  const databaseUrl = await createDatabase({ isNew: true });
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const { service } = app;
  const run = () => checkInvariants(service, { budgetMs: Infinity });
  const { id } = await payments.paid();
  assert.equal((await run()).contradictions, 0);
  const staff = await openStaff(payments);
  const key = await app.createKey({ userId: "carol", isStaff: true });
  const status = async () => {
    return StatusSchema.parse(await (await payments.get("/status/", key)).json());
  };

  await app.database.query((sql) =>
    sql`update gateway.payments set reserved_amount = 1 where id = ${id}`
  );
  assert.equal((await run()).contradictions, 1);
  assert.deepEqual((await checkAttention(service)).raised, ["invariants_violated"]);
  const { contradictions, attention } = await status();
  assert.equal(contradictions.count, 1);
  const [example] = contradictions.examples;
  assert.deepEqual(
    [example!.resource, example!.resource_id, example!.invariant],
    ["payment", id, "pending_refunds_are_reserved"],
  );
  assert.deepEqual(attention.map(({ cause }) => cause), ["invariants_violated"]);
  const { html } = await staff.open("/console/status/");
  assert.match(html, new RegExp(`href="/console/payments/${id}/"`));
  assert.match(html, /pending_refunds_are_reserved/);
  assert.match((await staff.open("/console/")).html, /Records that contradict each other/);

  await app.database.query((sql) =>
    sql`update gateway.payments set reserved_amount = 0 where id = ${id}`
  );
  await run();
  assert.deepEqual((await checkAttention(service)).cleared, ["invariants_violated"]);
  assert.equal((await status()).contradictions.count, 0);
  assert.doesNotMatch((await staff.open("/console/status/")).html, /pending_refunds_are_reserved/);
});

/** A service with payments that contradict nothing, and tasks that run one minute after another. */
async function openMinutes(time?: number) {
  const clock = manualClock(time);
  const databaseUrl = await createDatabase({ isNew: true });
  const payments = await openPayments({ databaseUrl, now: () => clock.now() });
  const { service, database } = payments.app;
  return {
    payments,
    clock,
    database,
    /** The next run. In one step, it checks one record. */
    async run(options = {}) {
      clock.advance(MINUTE_MS);
      return await checkInvariants(service, { budgetMs: Infinity, batch: 1, ...options });
    },
    async charge(count: number) {
      const ids: string[] = [];
      for (let number = 0; number < count; number++) {
        ids.push((await payments.charge("gopay")).id);
      }
      return ids;
    },
    /** The records that were found. */
    async found() {
      const rows = await database.query((sql) =>
        sql`select distinct resource_id from gateway.contradictions
          where resource <> 'statistics' order by resource_id`
      );
      return rows.map(({ resource_id }) => resource_id);
    },
    [Symbol.asyncDispose]: () => payments[Symbol.asyncDispose](),
  };
}

Deno.test("check_invariants: a run without time does one step, and the next runs check every record in the end", async () => {
  await using minutes = await openMinutes();
  const { database } = minutes;
  await minutes.run();
  const ids = await minutes.charge(4);
  // No entry of the history says that these records have changed.
  await database.query((sql) => sql`update gateway.payments set reserved_amount = 1`);
  let { lag_seconds } = await minutes.run({ budgetMs: 0 });
  assert.ok(lag_seconds >= 60, "the changes wait");
  // A transaction of another test can delay the end.
  while (lag_seconds > 0 || (await minutes.found()).length < ids.length) {
    const run = await minutes.run({ budgetMs: 0 });
    assert.ok(run.checked <= 1, `checked ${run.checked}`);
    ({ lag_seconds } = run);
  }
  assert.deepEqual(await minutes.found(), ids);
});

Deno.test("check_invariants: a run checks so many of all records that a day's runs check each of them", async () => {
  await using minutes = await openMinutes();
  const { database } = minutes;
  const ids = await minutes.charge(10);
  await minutes.run();
  await database.query(async (sql) => {
    await sql`alter table gateway.payments set (autovacuum_enabled = false)`;
    await sql`update pg_class set reltuples = ${
      10 * 1_440
    } where oid = 'gateway.payments'::regclass`;
    await sql`delete from gateway.invariant_cursors where name = 'payment'`;
    await sql`update gateway.payments set reserved_amount = 1`;
  });
  await minutes.run();
  assert.deepEqual(await minutes.found(), ids);
});

Deno.test("check_invariants: the next run checks a record whose entry in the history became visible late", async () => {
  await using minutes = await openMinutes();
  const { database } = minutes;
  const ids = await minutes.charge(6);
  await minutes.run();
  const [early, late] = ids.slice(-2);
  const addEntry = `insert into gateway.history
    (resource, resource_id, from_status, to_status, source, created_at)
    values ('payment', $1, 'pending', 'elsewhere', 'x', now())`;
  await database.transaction(async (sql) => {
    await sql.unsafe(addEntry, [late!]);
    await database.query((sql) => sql.unsafe(addEntry, [early!]));
    await minutes.run();
    assert.deepEqual(await minutes.found(), [early]);
  });
  await minutes.run();
  assert.deepEqual(await minutes.found(), [early, late]);
});

Deno.test("check_invariants: the next run checks a record whose refunds or attempts have changed, even if the change became visible late", async () => {
  await using minutes = await openMinutes();
  const { database, clock } = minutes;
  const ids = await minutes.charge(6);
  await minutes.run();
  const changedAt = new Date(clock.now() - MINUTE_MS / 2);
  const checkoutId = crypto.randomUUID();
  await database.query(async (sql) => {
    await sql`
      insert into gateway.refunds (id, payment_id, refund_key, amount, is_direct, status, created_at,
        updated_at)
      values (gen_random_uuid(), ${ids.at(
      -1,
    )!}, 'k', 1, false, 'pending', ${changedAt}, ${changedAt})`;
    await sql`
      insert into gateway.checkouts (id, user_id, order_id, status, gross_amount, currency,
        expires_at, created_at, updated_at)
      values (${checkoutId}, 'u', 'o', 'open', 1, 'IDR', now(), ${changedAt}, ${changedAt})`;
    // The walk has checked it already.
    await sql`insert into gateway.invariant_cursors values ('checkout', ${checkoutId})`;
  });
  await minutes.run();
  assert.deepEqual(await minutes.found(), [ids.at(-1), checkoutId].sort());
});

Deno.test("check_invariants: checks the events of records as long as events are kept", async () => {
  await using minutes = await openMinutes(Date.now() - 200 * DAY_MS);
  const { database, clock } = minutes;
  const [oldest, other] = await minutes.charge(2);
  clock.advance(100 * DAY_MS);
  const deleteEvents = (id: string) =>
    database.query((sql) => sql`delete from gateway.events where resource_id = ${id}`);
  await deleteEvents(oldest!);
  for (let count = 0; count < 3; count++) await minutes.run();
  assert.deepEqual(await minutes.found(), [], "older events may have been kept for a shorter time");
  await minutes.charge(1);
  await deleteEvents(other!);
  await database.query((sql) => sql`update gateway.events set created_at = '2020-01-01'`);
  for (let count = 0; count < 4; count++) await minutes.run();
  assert.ok((await minutes.found()).includes(other!));
});

/** For each invariant, a change of the statistics that contradicts it. */
const STATISTICS_CHANGES = {
  hours_add_up_to_day: "update gateway.daily_payment_stats set gross_amount = gross_amount + 1",
  users_add_up_to_all:
    "update gateway.hourly_payment_stats set paid_count = paid_count + 1 where scope <> '*'",
  // Of all users and of each user, by hour and by day.
  payments_add_up_to_hour:
    "update gateway.hourly_payment_stats set gross_amount = gross_amount + 1;" +
    "update gateway.daily_payment_stats set gross_amount = gross_amount + 1",
  payments_are_counted: "delete from gateway.payments where id = $1",
};

Deno.test("check_invariants: the statistics of past hours equal what they count", async (t) => {
  assert.deepEqual(
    Object.keys(STATISTICS_CHANGES).sort(),
    Object.keys(STATISTICS_VIOLATIONS).sort(),
  );
  for (const [invariant, change] of Object.entries(STATISTICS_CHANGES)) {
    await t.step(invariant, async () => {
      // The first hour of a day in Jakarta.
      const clock = manualClock(startOfJakartaDay(Date.now() + DAY_MS));
      const databaseUrl = await createDatabase({ isNew: true });
      await using payments = await openPayments({ databaseUrl, now: () => clock.now() });
      const { service, database } = payments.app;
      const { id } = await payments.charge("bca");
      await payments.charge("gopay");
      const check = async () => {
        // Begins with the first hour again.
        await database.query((sql) =>
          sql`delete from gateway.invariant_cursors where name = 'statistics'`
        );
        await checkInvariants(service, { budgetMs: Infinity });
        const found = await database.query((sql) =>
          sql`select invariant from gateway.contradictions where resource = 'statistics'`
        );
        return found.map(({ invariant }) => invariant);
      };
      clock.advance(2 * DAY_MS);
      assert.deepEqual(await check(), [], "statistics that are not counted yet are not checked");
      await updateStats(service);
      assert.deepEqual(await check(), []);
      await database.query((sql) => sql.unsafe(change, change.includes("$1") ? [id] : []));
      assert.deepEqual([...new Set([...await check(), ...await check(), ...await check()])], [
        invariant,
      ]);
    });
  }
});

const FIGURES = ["gross_amount", "refund_amount", "chargeback_amount", "fee_cents"];

Deno.test("check_invariants: compares each amount of an hour with the payments of earlier hours that were paid, refunded or charged back in it", async () => {
  const clock = manualClock(startOfJakartaDay(Date.now() + DAY_MS));
  const databaseUrl = await createDatabase({ isNew: true });
  await using payments = await openPayments({ databaseUrl, now: () => clock.now() });
  const { service, database } = payments.app;
  const first = await payments.charge("gopay");
  const second = await payments.charge("card_3ds");
  clock.advance(60 * MINUTE_MS);
  const paidAt = clock.now();
  await payments.sandbox.control(`transactions/${first.transaction_id}/pay`);
  await payments.refresh(first.id);
  await payments.sandbox.control(`transactions/${second.transaction_id}/three_ds`);
  await payments.sandbox.control(`transactions/${second.transaction_id}/settle`);
  await payments.refresh(second.id);
  clock.advance(60 * MINUTE_MS);
  const takenBackAt = clock.now();
  const refund = await payments.post(`/payments/${first.id}/refund/`, { amount: 1_000 }, newKey());
  assert.equal(refund.status, 200, await refund.text());
  await payments.sandbox.control(`transactions/${second.transaction_id}/chargeback`);
  await payments.refresh(second.id);
  await database.transaction(async (sql) => {
    await insertFees(sql, [{ payment_id: first.id, item: "settlement", fee_cents: 50 }]);
    await recountPayments(sql, [first.id]);
  });
  clock.advance(2 * DAY_MS);

  const found = async () => {
    const rows = await database.query((sql) =>
      sql`select resource_id from gateway.contradictions where invariant = 'payments_add_up_to_hour'`
    );
    return rows.map(({ resource_id }) => resource_id);
  };
  /** Checks all hours, each of which one run checks. */
  const checkAll = async () => {
    do await checkInvariants(service, { budgetMs: Infinity }); while (
      await cursorOf(database, "statistics") !== null
    );
    return await found();
  };
  /** Checks one hour. */
  const check = async (hour: number) => {
    await database.query((sql) => storeCursor(sql, "statistics", String(hour - 60 * MINUTE_MS)));
    await checkInvariants(service, { budgetMs: Infinity });
    return await found();
  };
  await updateStats(service);
  assert.deepEqual(await checkAll(), []);
  for (const figure of FIGURES) {
    const isPaid = figure === "gross_amount" || figure === "fee_cents";
    const hour = new Date(isPaid ? paidAt : takenBackAt);
    const add = async (amount: number) => {
      for (const [table, start] of [["hourly", hour], ["daily", startOfJakartaDay(+hour)]]) {
        const { count } = await database.query((sql) =>
          sql`update gateway.${sql.unsafe(`${table}_payment_stats`)}
            set ${sql(figure)} = ${sql(figure)} + ${amount}
            where start = ${new Date(start as number)} and ${sql(figure)} <> 0`
        );
        assert.ok(count > 0);
      }
      return firstIdAt(hour);
    };
    const id = await add(1);
    assert.deepEqual(await check(+hour), [id], figure);
    await add(-1);
    assert.deepEqual(await check(+hour), [], figure);
  }
});

async function cursorOf(database: Database, name: string): Promise<string | null> {
  const [row] = await database.query((sql) =>
    sql`select last_id from gateway.invariant_cursors where name = ${name}`
  );
  return row?.last_id ?? null;
}

Deno.test("check_invariants: lag_seconds includes changes of refunds and checkouts, which are not in the history", async () => {
  for (const table of ["refunds", "checkouts"]) {
    // Each minute begins with another check; at this time it is not the one of these tables.
    await using minutes = await openMinutes(MIDNIGHT);
    const { database, clock } = minutes;
    const [id] = await minutes.charge(1);
    await minutes.run();
    const now = () => new Date(clock.now());
    await database.query((sql) =>
      table === "refunds"
        ? sql`insert into gateway.refunds (id, payment_id, refund_key, amount, is_direct, status,
            created_at, updated_at)
          values (gen_random_uuid(), ${id!}, 'k', 1, false, 'failed', ${now()}, ${now()})`
        : sql`insert into gateway.checkouts (id, user_id, order_id, status, gross_amount, currency,
            expires_at, created_at, updated_at)
          values (gen_random_uuid(), 'u', 'o', 'open', 1, 'IDR', now(), ${now()}, ${now()})`
    );
    clock.advance(5 * MINUTE_MS);
    // A run without time does one step.
    let run = await minutes.run({ budgetMs: 0 });
    assert.ok(run.lag_seconds >= 300, `${table} ${run.lag_seconds}`);
    while (run.lag_seconds > 0) run = await minutes.run({ budgetMs: 0 });
    assert.notEqual(await cursorOf(database, "updated"), null);
  }
});

Deno.test("check_invariants: walk_seconds is the time of the slowest walk over all records, also after its end", async () => {
  await using minutes = await openMinutes();
  const { database } = minutes;
  await minutes.charge(4);
  assert.equal((await minutes.run({ batch: 100 })).walk_seconds, 0);
  // PostgreSQL has not counted the records yet, so that each run checks one of them.
  const runs = [];
  do runs.push((await minutes.run()).walk_seconds); while (
    await cursorOf(database, "payment") !== null
  );
  assert.deepEqual(runs, [0, 60, 120, 180, 240]);
  assert.equal((await minutes.run()).walk_seconds, 240, "the last walk was slower");
});

Deno.test("check_invariants: a run checks so many hours of the statistics that a day's runs check each of them", async () => {
  await using minutes = await openMinutes(Date.now() - 400 * DAY_MS);
  const { database, clock } = minutes;
  const [id] = await minutes.charge(1);
  clock.advance(400 * DAY_MS);
  const RUNS = 5;
  for (let run = 0; run < RUNS; run++) await minutes.run();
  const hours = (Number(await cursorOf(database, "statistics")) - timeOfId(id!)) /
    (60 * MINUTE_MS);
  assert.ok(hours >= RUNS * 400 * 24 / 1_440 - 24, `${hours} hours`);
});

function timeOfId(id: string): number {
  return parseInt(id.replace("-", "").slice(0, 12), 16);
}
