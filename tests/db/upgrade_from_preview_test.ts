import assert from "node:assert/strict";
import { loadMigrations, migrate } from "../../db/migrations/migrate.ts";
import { encodeCursor } from "../../http/lists/page.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";

const read = (path: string) => Deno.readTextFile(new URL(path, import.meta.url));
const [PREVIEW, UPGRADE] = await Promise.all([
  read("../support/database/preview.sql"),
  read("../../deploy/upgrade-from-preview.sql"),
]);

/** The server key and two API keys with which the service before 1.0.0 created the data. */
const SERVER_KEY = "SB-Mid-server-preview";
const STAFF_KEY = "gk_FfKMUosDcBKj7jVx1fEUmJ4RCzebD0GHoVMHACXPiW8";
const ALICES_KEY = "gk_Q9Wo-DGjJSEaO3kq5htZCQuT7RDTSOMMZMtcxNE1k_0";

/** An hour after the data was created: the replies to repeated requests are kept for a day. */
const NOW = Date.parse("2026-11-17T21:25:00Z");

async function createPreview(): Promise<string> {
  const url = await createDatabase({ template: null });
  await runSql(url, PREVIEW);
  return url;
}

/** Everything that defines the schema, except the order of columns and the list of migrations. */
async function describeSchema(url: string): Promise<string[]> {
  const rows = await runSql(
    url,
    `select concat_ws(' ', 'column', table_name, column_name, data_type, udt_name, is_nullable,
       column_default, collation_name, identity_generation) as line
     from information_schema.columns where table_schema = 'gateway'
     union all
     select 'index ' || pg_get_indexdef(oid) from pg_class
     where relnamespace = 'gateway'::regnamespace and relkind = 'i'
     union all
     select concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid))
     from pg_constraint where connamespace = 'gateway'::regnamespace and contype <> 'n'
     union all
     select 'trigger ' || pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
     union all
     select 'function ' || pg_get_functiondef(oid) from pg_proc
     where pronamespace = 'gateway'::regnamespace
     union all
     select concat_ws(' ', relkind, relname, reloptions) from pg_class
     where relnamespace = 'gateway'::regnamespace and relkind in ('r', 'S')
     union all
     select 'schema ' || nspname from pg_namespace where nspname like 'gateway%'`,
  );
  return rows.map(({ line }) => line as string).sort();
}

async function countRows(url: string): Promise<Map<string, number>> {
  const tables = await runSql(
    url,
    "select tablename as name from pg_tables where schemaname = 'gateway'",
  );
  const counts = new Map<string, number>();
  for (const { name } of tables) {
    const [row] = await runSql(url, `select count(*)::int as count from gateway.${name}`);
    counts.set(name, row!.count);
  }
  return counts;
}

async function list(app: TestApp, path: string, key = STAFF_KEY): Promise<Json[]> {
  const response = await app.as(key, path);
  assert.equal(response.status, 200, path);
  return await response.json();
}

Deno.test("upgrade from preview: gives the schema of a new database, and loses no row", async () => {
  const url = await createPreview();
  const before = await countRows(url);
  await runSql(url, UPGRADE);
  const migrations = await loadMigrations();
  const later = migrations.filter(({ checksum }) => !UPGRADE.includes(checksum));
  assert.deepEqual(await migrate(url, migrations), later.map(({ name }) => name));
  assert.deepEqual(await describeSchema(url), await describeSchema(await createDatabase()));
  const after = await countRows(url);
  const changed = [...after].filter(([name, count]) =>
    before.has(name) && before.get(name) !== count
  );
  // The names of customers become search keys.
  const expected = ["instances", "migrations", "payment_search_keys"];
  assert.deepEqual(changed.map(([name]) => name).sort(), expected);
  const empty = [...before].filter(([, count]) => count === 0).map(([name]) => name);
  assert.deepEqual(empty, [], "the preview has data of every kind");
});

Deno.test("upgrade from preview: the service goes on with all data", async () => {
  const databaseUrl = await createPreview();
  await runSql(databaseUrl, UPGRADE);
  await migrate(databaseUrl, await loadMigrations());
  await using app = await openApp({ databaseUrl, serverKey: SERVER_KEY, now: () => NOW });

  const payments = await list(app, "/payments/", ALICES_KEY);
  assert.equal(payments.length, 12);
  for (const { id } of payments) await list(app, `/timelines/payments/${id}/`, ALICES_KEY);
  assert.equal((await list(app, "/payments/?q=budi@example.com", ALICES_KEY)).length, 1);
  const [paid] = await list(app, "/payments/?order_id=shop-1", ALICES_KEY);
  assert.equal(paid.transaction_status, "settlement");
  assert.deepEqual((await list(app, "/refunds/")).map(({ amount }) => amount), ["4000.00"]);
  const statuses = (await list(app, "/invoices/")).map(({ status }) => status);
  assert.deepEqual(statuses.toSorted(), ["paid", "void"]);
  const [subscription] = await list(app, "/subscriptions/");
  assert.equal(subscription.current_interval, 1);
  const reports = await list(app, "/reconciliations/");
  assert.deepEqual(reports.map(({ results }) => results.listed_twice), [1, 0]);
  for (const path of ["/notifications/", "/audit/", "/keys/"]) {
    assert.ok((await list(app, path)).length > 0, path);
  }

  const body = JSON.stringify({ payment_type: "gopay", gross_amount: 44000, order_id: "shop-2" });
  const headers = { "Content-Type": "application/json", "Idempotency-Key": "charge-2" };
  const repeated = await app.as(ALICES_KEY, "/charge/", { method: "POST", body, headers });
  assert.equal(repeated.status, 201, "the reply to a repeated request is still known");
  assert.equal((await repeated.json()).chargeback_amount, "0.00");

  await app.publishEvents();
  const events = await list(app, "/events/?limit=100");
  assert.equal(events.length, 26);
  assert.equal(events[0].id, "01a1eb30-0000-7000-8000-0000000000ff", "it had no position");
  const ids = events.map(({ id }) => id);
  assert.deepEqual(
    (await list(app, `/events/?limit=100&order=oldest_first&cursor=${encodeCursor(ids.at(-3))}`))
      .map(({ id }) => id),
    ids.toReversed().slice(3),
    "a cursor of the version before continues",
  );

  await runDueJobs(app);
  const jobs = await list(app, "/jobs/?limit=100");
  const statusOf = (task: string) =>
    jobs.filter((job) => job.task === task).map(({ status }) => status);
  assert.deepEqual(statusOf("resume_webhooks"), ["succeeded"]);
  assert.deepEqual(statusOf("hasten_webhooks"), []);
});

Deno.test("upgrade from preview: refuses a database of an older or of a later version", async () => {
  const older = await createPreview();
  await runSql(older, "delete from gateway.migrations where name = '0048_order_prefixes'");
  await assert.rejects(
    runSql(older, UPGRADE),
    /older version\. Start the last version before 1\.0\.0/,
  );
  const later = await createDatabase();
  await assert.rejects(runSql(later, UPGRADE), /no schema of a version before 1\.0\.0/);
});
