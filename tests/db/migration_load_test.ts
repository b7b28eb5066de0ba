import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { printProgress } from "../../commands/migrate.ts";
import { parseIndexBuild, splitStatements } from "../../db/migrations/index_builds.ts";
import { loadMigrations, migrate, type Migration } from "../../db/migrations/migrate.ts";
import { runSql } from "../support/database/database.ts";
import { newKey } from "../support/idempotency.ts";
import { chargeRequest, openPayments, type TestPayments } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

function migration(name: string, sql: string): Migration {
  return { name, sql, checksum: `checksum of ${sql}` };
}

/**
 * Building this index waits while a test holds `BUILD_LOCK`, but only for payments that exist
 * before the migration.
 */
const SLOW_INDEX = migration(
  "9001_slow_index",
  `alter table gateway.payments add column colour text;
   create index payments_slow on gateway.payments (public.slow(id), colour)`,
);

/** The key of an advisory lock. */
const BUILD_LOCK = 7;

/** Returns a function that ends the wait of builds. */
async function makeIndexesSlow({ databaseUrl }: TestPayments): Promise<() => Promise<void>> {
  await runSql(
    databaseUrl,
    `create function public.slow(id uuid) returns uuid immutable language plpgsql as $$
     begin
       if id <= '${newestId()}' then perform pg_advisory_xact_lock_shared(${BUILD_LOCK}); end if;
       return id;
     end $$`,
  );
  const sql = postgres(databaseUrl, { max: 1 });
  await sql`select pg_advisory_lock(${BUILD_LOCK})`;
  return () => sql.end();
}

/** Whether an index is being built and waits for `BUILD_LOCK`. */
async function isBuilding({ databaseUrl }: TestPayments): Promise<boolean> {
  const waiting = await runSql(
    databaseUrl,
    `select from pg_stat_activity where datname = current_database()
     and query like 'create index concurrently%' and wait_event = 'advisory'`,
  );
  return waiting.length > 0;
}

/** An id that sorts after all ids of this moment, which begin with the time in milliseconds. */
function newestId(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7fff-bfff-ffffffffffff`;
}

const CONCURRENT_CHARGES = 4;

/** The pause between two charges of a caller: more of them would only use processor time. */
const PACE_MS = 20;

/**
 * Charges until the migration ends. Calls `release`, for which the migration waits, only after
 * charges that began after `isWaiting` returned true have ended.
 */
async function chargeDuring<T>(
  payments: TestPayments,
  migration: Promise<T>,
  isWaiting: () => Promise<boolean>,
  release: () => Promise<unknown>,
): Promise<T> {
  const body = await chargeRequest(payments.sandbox, "bca");
  const statuses: number[] = [];
  let isDone = false;
  async function chargeAll() {
    while (!isDone) {
      statuses.push((await payments.post("/charge/", body, newKey())).status);
      await delay(PACE_MS);
    }
  }
  async function releaseAfterCharges() {
    await until("the migration waits", isWaiting);
    const before = statuses.length;
    await until("charges succeed meanwhile", () => {
      return statuses.length >= before + 2 * CONCURRENT_CHARGES;
    });
  }
  const [result] = await Promise.all([
    migration.finally(() => isDone = true),
    releaseAfterCharges().finally(release),
    ...Array.from({ length: CONCURRENT_CHARGES }, chargeAll),
  ]);
  assert.deepEqual(statuses.filter((status) => status !== 201), []);
  return result;
}

async function isIndexValid(databaseUrl: string, name: string): Promise<boolean | null> {
  const [row] = await runSql(
    databaseUrl,
    `select indisvalid from pg_index where indexrelid = to_regclass('gateway.${name}')`,
  );
  return row ? row.indisvalid : null;
}

Deno.test("migrate: no request fails while an index of a non-empty table is built", async () => {
  await using payments = await openPayments();
  await payments.charge();
  const endWait = await makeIndexesSlow(payments);
  const migrated = migrate(payments.databaseUrl, [SLOW_INDEX]);
  const applied = await chargeDuring(payments, migrated, () => isBuilding(payments), endWait);
  assert.deepEqual(applied, ["9001_slow_index"]);
  assert.equal(await isIndexValid(payments.databaseUrl, "payments_slow"), true);
});

Deno.test("migrate: no request fails while a migration waits for the lock of a table", async () => {
  await using payments = await openPayments();
  const blockingClient = postgres(payments.databaseUrl, { max: 1 });
  const session = await blockingClient.reserve();
  await session`begin`;
  await session`select from gateway.payments`;
  const column = migration("9001_column", "alter table gateway.payments add column colour text");
  const migrated = migrate(payments.databaseUrl, [column]);
  async function isWaiting() {
    const waitingLocks = await runSql(
      payments.databaseUrl,
      "select from pg_locks where mode = 'AccessExclusiveLock' and not granted",
    );
    return waitingLocks.length > 0;
  }
  const applied = await chargeDuring(payments, migrated, isWaiting, () => session`rollback`);
  assert.deepEqual(applied, ["9001_column"]);
  session.release();
  await blockingClient.end();
});

Deno.test("migrate: drops and rebuilds an index whose build was interrupted", async () => {
  await using payments = await openPayments();
  const { databaseUrl } = payments;
  await payments.charge();
  const endWait = await makeIndexesSlow(payments);
  const interrupted = migrate(databaseUrl, [SLOW_INDEX]).catch(() => "interrupted");
  await until("the index is being built", () => isBuilding(payments));
  await runSql(
    databaseUrl,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and query like 'create index concurrently%'`,
  );
  assert.equal(await interrupted, "interrupted");
  await endWait();
  assert.equal(await isIndexValid(databaseUrl, "payments_slow"), false);
  assert.deepEqual(await migrate(databaseUrl, [SLOW_INDEX]), ["9001_slow_index"]);
  assert.equal(await isIndexValid(databaseUrl, "payments_slow"), true);
  assert.deepEqual(await migrate(databaseUrl, [SLOW_INDEX]), []);
});

Deno.test("migrate: concurrent connections build the index of a non-empty table only once", async () => {
  await using payments = await openPayments();
  await payments.charge();
  const index = migration(
    "9001_index",
    "create index payments_by_amount on gateway.payments (gross_amount)",
  );
  const applied = await Promise.all(
    Array.from({ length: 4 }, () => migrate(payments.databaseUrl, [index])),
  );
  assert.deepEqual(applied.flat(), ["9001_index"]);
  assert.equal(await isIndexValid(payments.databaseUrl, "payments_by_amount"), true);
});

Deno.test("migrate: fails if rows violate a new unique index, and succeeds after the rows are corrected", async () => {
  await using payments = await openPayments();
  const { databaseUrl } = payments;
  await payments.charge();
  await payments.charge();
  const unique = migration(
    "9001_unique",
    "create unique index payments_unique on gateway.payments (user_id)",
  );
  await assert.rejects(migrate(databaseUrl, [unique]), { code: "23505" });
  await runSql(databaseUrl, "update gateway.payments set user_id = id::text");
  assert.deepEqual(await migrate(databaseUrl, [unique]), ["9001_unique"]);
  await assert.rejects(
    runSql(databaseUrl, "update gateway.payments set user_id = 'same'"),
    { code: "23505" },
  );
});

/**
 * Gives all payments a colour, one in each transaction. From the second one on it waits while a
 * test holds `BUILD_LOCK`.
 */
const FILLED_COLUMN = migration(
  "9001_filled_column",
  `alter table gateway.payments add column colour text;
   create procedure gateway.fill_colours() language plpgsql as $$
   declare payment_id uuid;
   begin
     for payment_id in select id from gateway.payments where colour is null order by id loop
       if exists (select from gateway.payments where colour is not null) then
         perform pg_advisory_xact_lock_shared(${BUILD_LOCK});
       end if;
       update gateway.payments set colour = coalesce(colour, '') || 'red' where id = payment_id;
       commit;
     end loop;
   end $$;
   call gateway.fill_colours();`,
);

Deno.test("migrate: continues a procedure that was interrupted, and meanwhile no request fails", async () => {
  await using payments = await openPayments();
  const { databaseUrl } = payments;
  for (let count = 0; count < 3; count++) await payments.charge();
  const readColours = async () => {
    const rows = await runSql(databaseUrl, "select colour from gateway.payments order by id");
    return rows.map(({ colour }) => colour);
  };
  const isWaitingCall = `datname = current_database() and query like 'call %'
    and wait_event = 'advisory'`;
  const holder = postgres(databaseUrl, { max: 1 });
  await holder`select pg_advisory_lock(${BUILD_LOCK})`;
  const interrupted = migrate(databaseUrl, [FILLED_COLUMN]).catch(() => "interrupted");
  const isWaiting = async () =>
    (await runSql(databaseUrl, `select from pg_stat_activity where ${isWaitingCall}`)).length > 0;
  const endProcedure = () =>
    runSql(
      databaseUrl,
      `select pg_terminate_backend(pid) from pg_stat_activity where ${isWaitingCall}`,
    );
  assert.equal(await chargeDuring(payments, interrupted, isWaiting, endProcedure), "interrupted");
  assert.deepEqual((await readColours()).slice(0, 3), ["red", null, null]);
  await holder.end();
  assert.deepEqual(await migrate(databaseUrl, [FILLED_COLUMN]), ["9001_filled_column"]);
  const colours = await readColours();
  assert.deepEqual(colours, colours.map(() => "red"));
  assert.deepEqual(await migrate(databaseUrl, [FILLED_COLUMN]), []);
});

Deno.test("migrate: reports each step, and prints the step that still runs and each applied migration", async () => {
  await using payments = await openPayments();
  await payments.charge();
  const colours = migration(
    "9001_colours",
    `alter table gateway.payments add column colour text;
     create procedure gateway.fill_colours() language sql as $$ select 1 $$;
     call gateway.fill_colours();
     create index payments_by_colour on gateway.payments (colour)`,
  );
  const steps: string[] = [];
  const recorded = {
    onStep: (name: string, step: string) => void steps.push(`${name}: ${step}`),
    onApplied: (name: string) => void steps.push(`${name} is applied`),
  };
  await migrate(payments.databaseUrl, [colours], recorded);
  assert.deepEqual(steps, [
    "9001_colours: waiting for another process that migrates this database",
    "9001_colours: applying statements",
    "9001_colours: call gateway.fill_colours()",
    "9001_colours: building index payments_by_colour of gateway.payments",
    "9001_colours is applied",
  ]);

  const lines: string[] = [];
  using progress = printProgress((line) => lines.push(line), 1);
  progress.onStep("9001_colours", "applying statements");
  progress.onStep("9001_colours", "building index a of gateway.b");
  await until("the step that runs is printed", () => lines.length > 0);
  const isExpected = (line: string) =>
    /^Migration 9001_colours: building index a of gateway\.b \(\d+ s\)$/.test(line);
  assert.ok(lines.every(isExpected), lines.join("\n"));
  progress.onApplied("9001_colours");
  assert.equal(lines.at(-1), "Applied migration 9001_colours");
});

Deno.test("splitStatements: ignores semicolons in texts, comments and function bodies", () => {
  const text = `-- first; comment
    create index a on gateway.payments (id) where order_id <> ';'; /* second; comment */
    create function f() returns int as $body$ select 1; $body$ language sql;
    comment on table gateway.payments is 'a; ''b''';`;
  assert.deepEqual(splitStatements(text), [
    "create index a on gateway.payments (id) where order_id <> ';'",
    "create function f() returns int as $body$ select 1; $body$ language sql",
    "comment on table gateway.payments is 'a; ''b'''",
  ]);
});

Deno.test("parseIndexBuild: finds every index of the migrations, and no other statement", async () => {
  for (const { sql } of await loadMigrations()) {
    for (const statement of splitStatements(sql)) {
      const isIndex = /^create (unique )?index/i.test(statement);
      assert.equal(parseIndexBuild(statement) !== null, isIndex, statement);
    }
  }
});
