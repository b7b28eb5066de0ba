import assert from "node:assert/strict";
import { join } from "node:path";
import postgres from "postgres";
import { migrateDatabase } from "../../commands/migrate.ts";
import { splitStatements } from "../../db/migrations/index_builds.ts";
import {
  findPending,
  loadMigrations,
  migrate,
  type Migration,
  refuseOldServer,
} from "../../db/migrations/migrate.ts";
import { openApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { assertProblem } from "../support/problem.ts";
import { runGit } from "../support/git.ts";
import { printMissing } from "../support/programs.ts";
import { PROJECT } from "../support/project.ts";
import { runTask } from "../support/service.ts";
import { inTime, until } from "../support/until.ts";

/** The lock that every schema change takes. Its bytes are "gateway" in ASCII. */
const MIGRATION_LOCK = String(0x67617465776179n);

function migration(name: string, sql: string): Migration {
  return { name, sql, checksum: `checksum of ${sql}` };
}

Deno.test("migrate: applies each migration once, in the order of their numbers", async () => {
  const url = await createDatabase({ template: null });
  const migrations = [
    migration("0001_first", "create table gateway.log (line text)"),
    migration("0002_second", "insert into gateway.log values ('second'); select 1"),
  ];
  assert.deepEqual(await migrate(url, migrations), ["0001_first", "0002_second"]);
  assert.deepEqual(await migrate(url, migrations), []);
  const third = migration("0003_third", "insert into gateway.log values ('third')");
  assert.deepEqual(await migrate(url, [...migrations, third]), ["0003_third"]);
  const lines = await runSql(url, "select line from gateway.log");
  assert.deepEqual(lines.map(({ line }) => line), ["second", "third"]);
});

Deno.test("loadMigrations: returns the files in order, with normalized line endings and a checksum of the content", async () => {
  const migrations = await loadMigrations();
  const names = migrations.map(({ name }) => name);
  assert.deepEqual(names, names.toSorted());
  assert.match(names[0]!, /^0001_/);

  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/0002_b.sql`, "select\n2");
    await Deno.writeTextFile(`${folder}/0001_a.sql`, "select\r\n1");
    await Deno.writeTextFile(`${folder}/notes.txt`, "not a migration");
    const loaded = await loadMigrations(new URL(`file://${folder}/`));
    assert.deepEqual(loaded.map(({ name }) => name), ["0001_a", "0002_b"]);
    assert.equal(loaded[0]!.sql, "select\n1");
    await Deno.writeTextFile(`${folder}/0001_a.sql`, "select\n1 ");
    const changed = await loadMigrations(new URL(`file://${folder}/`));
    assert.notEqual(changed[0]!.checksum, loaded[0]!.checksum);
    assert.equal(changed[1]!.checksum, loaded[1]!.checksum);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("migrate: rolls back a migration that fails", async () => {
  const url = await createDatabase({ template: null });
  const broken = migration("0001_broken", "create table gateway.half (id int); select nonsense");
  await assert.rejects(migrate(url, [broken]), { code: "42703" });
  const [row] = await runSql(url, "select to_regclass('gateway.half') as half");
  assert.equal(row!.half, null);
  assert.deepEqual(await migrate(url, [migration("0001_broken", "select 1")]), ["0001_broken"]);
});

Deno.test("migrate: fails if an applied file has changed", async () => {
  const url = await createDatabase({ template: null });
  await migrate(url, [migration("0001_a", "select 1")]);
  const changed = [migration("0001_a", "select 2"), migration("0002_b", "select 3")];
  await assert.rejects(migrate(url, changed), {
    name: "MigrationRefused",
    message: /0001_a was applied .* with other content/,
  });
});

Deno.test("migrate: refuses a database of a version before 1.0.0, and names the guide", async () => {
  const url = await createDatabase({ template: null });
  await migrate(url, [migration("0001_api_keys", "create table gateway.api_keys (id int)")]);
  await assert.rejects(migrate(url, await loadMigrations()), {
    name: "MigrationRefused",
    message: /before 1\.0\.0.*deploy\/upgrade-from-preview\.sql.*docs\/production\.md/,
  });
  const [row] = await runSql(url, "select count(*)::int as count from gateway.migrations");
  assert.equal(row!.count, 1);
});

Deno.test("migrate: a migration may take longer than the database's statement_timeout", async () => {
  const url = await createDatabase({ template: null });
  const name = new URL(url).pathname.slice(1);
  await runSql(url, `alter database ${name} set statement_timeout = '2s'`);
  const slow = [migration("0001_slow", "select pg_sleep(2.5)")];
  assert.deepEqual(await migrate(url, slow), ["0001_slow"]);
});

Deno.test("migrate: rejects PostgreSQL older than 15", () => {
  assert.throws(() => refuseOldServer(14), { message: /is PostgreSQL 14; version 15 or newer/ });
  refuseOldServer(15);
});

Deno.test("migrate: creates tables only in the schema gateway", async () => {
  const url = await createDatabase({ template: null });
  await runSql(url, "create table public.api_keys (mine text)");
  await migrate(url, await loadMigrations());
  const rows = await runSql(
    url,
    `select schemaname || '.' || tablename as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const names = rows.map(({ name }) => name as string).filter((name) =>
    !name.startsWith("gateway.")
  );
  assert.deepEqual(names, ["public.api_keys"]);
});

Deno.test("migrate: concurrent processes apply each migration once", async () => {
  const url = await createDatabase({ template: null });
  const env = { DATABASE_URL: url, GATEWAY_SERVER_KEY: "Mid-server-x" };
  const results = await Promise.all([1, 2, 3].map(() => runTask(["migrate"], env)));
  for (const { code, stderr } of results) assert.equal(code, 0, stderr);
  const applied = results.flatMap(({ stdout }) => stdout.match(/^Applied .*/gm) ?? []);
  const expected = (await loadMigrations()).map(({ name }) => `Applied migration ${name}`);
  assert.deepEqual(applied.toSorted(), expected);
});

Deno.test("migrate: while a process waits to create the schema, another can build an index concurrently", async () => {
  const url = await createDatabase({ template: null });
  const sql = postgres(url, { max: 1 });
  await sql`select pg_advisory_lock(${MIGRATION_LOCK}::bigint)`;
  await sql`create table public.items (id int)`;
  const migrated = migrate(url, []);
  await until("it waits for the lock", async () => {
    const [row] = await sql`
      select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and query like '%pg_try_advisory%'
        and pid <> pg_backend_pid()`;
    return row!.waiting > 0;
  });
  await inTime("the index is built", sql`create index concurrently on public.items (id)`);
  await sql`select pg_advisory_unlock(${MIGRATION_LOCK}::bigint)`;
  assert.deepEqual(await migrated, []);
  await sql.end();
});

Deno.test("migrate: concurrent connections of a process apply each migration once", async () => {
  const url = await createDatabase({ template: null });
  const migrations = [
    migration("0001_a", "create table gateway.a (id int); select pg_sleep(0.05)"),
    migration("0002_b", "create table gateway.b (id int)"),
  ];
  const applied = await Promise.all(Array.from({ length: 8 }, () => migrate(url, migrations)));
  assert.deepEqual(applied.flat().toSorted(), ["0001_a", "0002_b"]);
});

const TAKES_AWAY = /\bdrop\s+(index|column|table|default)\b|\brename\b/i;

/** What a migration takes away from the previous version; null: nothing. */
function findTakenAway(sql: string, released: readonly string[]): string | null {
  const unusedSince = sql.match(/^-- Unused since (\d+\.\d+\.\d+)\b/m)?.[1];
  if (unusedSince !== undefined && released.includes(unusedSince)) return null;
  return splitStatements(sql).find((statement) => TAKES_AWAY.test(statement)) ?? null;
}

Deno.test("migrations: drop and rename nothing that the previous release may use", async () => {
  const folder = new URL("../../openapi/released/", import.meta.url);
  const files = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  const released = files.flatMap((name) => name.match(/^(.*)\.json$/)?.[1] ?? []);
  for (const { name, sql } of await loadMigrations()) {
    assert.equal(findTakenAway(sql, released), null, name);
  }
  for (
    const statement of [
      "drop index gateway.a",
      "do $$ begin drop index gateway.a; end $$",
      "alter table gateway.a drop column b",
      "alter table gateway.a rename to b",
    ]
  ) {
    assert.equal(findTakenAway(`${statement};`, released), statement);
    assert.equal(findTakenAway(`-- Unused since 9.0.0.\n${statement};`, released), statement);
    assert.equal(findTakenAway(`-- Unused since 1.0.0.\n${statement};`, released), null);
  }
  assert.equal(findTakenAway("-- drop index a\ncreate index b on gateway.a (id);", []), null);
});

Deno.test("migrations: are the same as in the previous commit", async () => {
  const folder = "db/migrations/";
  const previous = await runGit("ls-tree", "--name-only", "HEAD^", folder);
  if (previous === null) return printMissing("git", "the comparison with earlier migrations is");
  for (const path of previous.split("\n").filter((path) => path.endsWith(".sql"))) {
    const current = await Deno.readTextFile(join(PROJECT, path));
    assert.equal(current, await runGit("show", `HEAD^:${path}`), `${path} has changed`);
  }
});

Deno.test("readiness: is 503 while a migration is pending", async () => {
  const url = await createDatabase({ isNew: true });
  const migrations = [...await loadMigrations(), migration("9999_later", "select 1")];
  await using app = await openApp({ databaseUrl: url, migrations });
  assert.deepEqual(await app.database.query((sql) => findPending(sql, migrations)), ["9999_later"]);
  const problem = await assertProblem(await app.request("/health/ready/"), 503, "unavailable");
  assert.deepEqual(problem.checks, { database: "up", migrations: "pending" });
  await migrate(url, migrations);
  assert.equal((await app.request("/health/ready/")).status, 200);
});

Deno.test("migrate: analyzes a table that has rows but no statistics, as after a restore", async () => {
  const url = await createDatabase({ isNew: true });
  const analyzed = async () =>
    (await runSql(url, "select distinct tablename from pg_stats where schemaname = 'gateway'"))
      .map(({ tablename }) => tablename);
  assert.ok(!(await analyzed()).includes("history"));
  await runSql(
    url,
    `insert into gateway.history (resource, resource_id, to_status, source, created_at)
     select 'payment', gen_random_uuid(), 'settlement', 'notification', now()
     from generate_series(1, 100)`,
  );
  await migrateDatabase(url, await loadMigrations());
  assert.ok((await analyzed()).includes("history"));
});
