import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { generateApiKey } from "../../core/secrets/api_key.ts";
import { openDatabase, type Sql } from "../../db/connection/database.ts";
import { loadMigrations, migrate } from "../../db/migrations/migrate.ts";
import { buildTrigramIndex } from "../../db/migrations/trigram_index.ts";
import { hasTrigramIndex } from "../../db/payments/search.ts";
import { callService } from "../support/client.ts";
import { runInProcess } from "../support/commands.ts";
import { createDatabase, runSql, testServerUrl } from "../support/database/database.ts";
import { PATIENT_DEADLINE_MS } from "../support/database/pools.ts";
import { startService } from "../support/service.ts";

/** A role that has created the schema, and may create nothing else in its database. */
async function createWithoutPrivileges(): Promise<string> {
  const database = await createDatabase({ isNew: true, template: null });
  const name = new URL(database).pathname.slice(1);
  const role = `owner_${randomUUID().replaceAll("-", "")}`;
  await runSql(
    testServerUrl(),
    `create role ${role} login password 'p'; grant create on database ${name} to ${role}`,
  );
  const url = Object.assign(new URL(database), { username: role, password: "p" }).href;
  const released = (await loadMigrations()).filter((each) => each.name < "0016");
  await runSql(url, "create schema gateway");
  await runSql(testServerUrl(), `revoke create on database ${name} from ${role}`);
  await runSql(
    url,
    `create table gateway.migrations (name text primary key, checksum text not null,
       applied_at timestamptz not null default now())`,
  );
  await migrate(url, released);
  return url;
}

/** Payments of alice, 1, 2, 3, … */
const insertPayments = (count: number) => `
  insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type, gross_amount,
    currency, transaction_status, customer_first_name, customer_email, sent_at, created_at,
    updated_at)
  select uuidv7(), 'alice', 'order-' || lpad(n::text, 5, '0'), gen_random_uuid(), 'qris', 1000 + n,
    'IDR', 'pending', 'Customer ' || lpad(n::text, 5, '0'), 'c' || n || '@shop.example', now(), now(), now()
  from generate_series(1, ${count}) n order by n`;

Deno.test("search without pg_trgm: if the role may not create it, the service starts, says so in the log and in each response, and finds the beginning of texts; once an administrator has created it, any part", async () => {
  const url = await createWithoutPrivileges();
  // The first is older than those that are compared one by one.
  await runSql(url, insertPayments(20_001));
  const staff = generateApiKey();
  const settings = {
    DATABASE_URL: url,
    HOST: "127.0.0.1",
    GATEWAY_BASE_URL: "http://127.0.0.1:2",
    GATEWAY_SERVER_KEY: "SB-Mid-server-search-test",
    BOOTSTRAP_STAFF_KEY: staff,
  };
  const search = async (base: string, q: string) => {
    const response = await callService(`${base}/payments/?q=${encodeURIComponent(q)}`, {
      headers: { Authorization: `Bearer ${staff}` },
    });
    assert.equal(response.status, 200);
    const found: { order_id: string }[] = await response.json();
    return {
      orderIds: found.map(({ order_id }) => order_id),
      limit: response.headers.get("search-limit"),
    };
  };
  const doctor = async () => {
    const { stdout } = await runInProcess(["doctor"], settings);
    return stdout.match(/^(\w+) +Search: /m)?.[1];
  };
  const isFound = {
    "order-00001": true,
    "c1@shop": true,
    "customer 00001": true,
    "1001": true,
    "rder-00001": false,
  };
  {
    await using service = await startService({ settings });
    assert.equal(service.output().match(/"search_by_prefix"/g)?.length, 1);
    for (const [q, expected] of Object.entries(isFound)) {
      const { orderIds, limit } = await search(service.url, q);
      assert.equal(orderIds.includes("order-00001"), expected, q);
      assert.equal(limit, "1000", q);
    }
  }
  assert.equal(await doctor(), "WARNING");
  await runSql(
    Object.assign(new URL(testServerUrl()), { pathname: new URL(url).pathname }).href,
    "create extension pg_trgm",
  );
  await using service = await startService({ settings });
  assert.doesNotMatch(service.output(), /search_by_prefix/);
  assert.deepEqual(await search(service.url, "RDER-00001"), {
    orderIds: ["order-00001"],
    limit: null,
  });
  assert.equal(await doctor(), "ok");
});

Deno.test("trigram index: is left out if the role may not create the extension, or the server does not have it", async () => {
  const build = (code: string) => {
    const error = Object.assign(new Error("create extension failed"), { code });
    return buildTrigramIndex((() => Promise.reject(error)) as unknown as Sql);
  };
  // A missing control file is 0A000, a missing library 58P01.
  for (const code of ["42501", "0A000", "58P01"]) await build(code);
  await assert.rejects(build("53100"), /create extension failed/, "the disk is full");
});

Deno.test("search by parts: names of earlier payments get their keys, and the index is built again after an interruption", async () => {
  const url = await createDatabase({ isNew: true, template: null });
  const migrations = await loadMigrations();
  await migrate(url, migrations.filter(({ name }) => name < "0016"));
  await runSql(url, insertPayments(1_050));
  await migrate(url, migrations);
  const [named] = await runSql(
    url,
    "select count(*)::int as count from gateway.payment_search_keys where kind = 'n'",
  );
  assert.equal(named!.count, 1_050);
  const database = openDatabase({ url, poolSize: 1, deadlineMs: PATIENT_DEADLINE_MS });
  try {
    assert.equal(await database.query(hasTrigramIndex), true);
    // PostgreSQL leaves an invalid index if a concurrent build is interrupted.
    await runSql(
      url,
      `update pg_index set indisvalid = false
       where indexrelid = 'gateway.payment_search_keys_by_trigram'::regclass`,
    );
    assert.equal(await database.query(hasTrigramIndex), false);
    assert.deepEqual(await migrate(url, migrations), []);
    assert.equal(await database.query(hasTrigramIndex), true);
    assert.equal(await storageOf(url), "fastupdate=on,gin_pending_list_limit=256");
  } finally {
    await database.close();
  }
});

Deno.test("trigram index: one without a list for new entries gets it at a start, but not while it is in use", async () => {
  const url = await createDatabase({ isNew: true });
  const migrations = await loadMigrations();
  await runSql(url, "alter index gateway.payment_search_keys_by_trigram set (fastupdate = off)");
  const search = postgres(url, { max: 1, prepare: false });
  try {
    await search.begin(async (sql) => {
      await sql`select from gateway.payment_search_keys where lower(value) like '%order%'`;
      await migrate(url, migrations);
      assert.match(await storageOf(url), /fastupdate=off/, "the search goes on");
    });
    await migrate(url, migrations);
    assert.match(await storageOf(url), /fastupdate=on/);
  } finally {
    await search.end();
  }
});

async function storageOf(url: string): Promise<string> {
  const [index] = await runSql(
    url,
    `select array_to_string(reloptions, ',') as options from pg_class
     where oid = 'gateway.payment_search_keys_by_trigram'::regclass`,
  );
  return index!.options;
}
