import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { generateApiKey } from "../../core/secrets/api_key.ts";
import { openDatabase, type Sql } from "../../db/connection/database.ts";
import { loadMigrations, migrate } from "../../db/migrations/migrate.ts";
import { buildTrigramIndex } from "../../db/migrations/trigram_index.ts";
import { hasTrigramIndex } from "../../db/payments/search.ts";
import { callService } from "../support/client.ts";
import { runInProcess } from "../support/commands.ts";
import { createDatabase, runSql, testServerUrl } from "../support/database/database.ts";
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

/** Payments of alice, of which the first is older than those that every search reads. */
const INSERT_PAYMENTS = `
  insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type, gross_amount,
    currency, transaction_status, customer_first_name, customer_email, sent_at, created_at,
    updated_at)
  select uuidv7(), 'alice', 'order-' || lpad(n::text, 4, '0'), gen_random_uuid(), 'qris', 1000 + n,
    'IDR', 'pending', 'Customer ' || lpad(n::text, 4, '0'), 'c' || n || '@shop.example', now(), now(), now()
  from generate_series(1, 1050) n order by n`;

Deno.test("search without pg_trgm: if the role may not create it, the service starts, says so, and finds the beginning of texts; once an administrator has created it, any part", async () => {
  const url = await createWithoutPrivileges();
  await runSql(url, INSERT_PAYMENTS);
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
    return (await response.json()).map(({ order_id }: { order_id: string }) => order_id);
  };
  const doctor = async () => {
    const { stdout } = await runInProcess(["doctor"], settings);
    return stdout.match(/^(\w+) +Search: /m)?.[1];
  };
  const cases = { "order-0001": 1, "c1@shop": 1, "customer 0001": 1, "1001": 1, "rder-0001": 0 };
  {
    await using service = await startService({ settings });
    assert.equal(service.output().match(/"search_by_prefix"/g)?.length, 1);
    for (const [q, count] of Object.entries(cases)) {
      const found = await search(service.url, q);
      assert.equal(found.includes("order-0001"), count === 1, q);
    }
  }
  assert.equal(await doctor(), "WARNING");
  await runSql(
    Object.assign(new URL(testServerUrl()), { pathname: new URL(url).pathname }).href,
    "create extension pg_trgm",
  );
  await using service = await startService({ settings });
  assert.doesNotMatch(service.output(), /search_by_prefix/);
  assert.deepEqual(await search(service.url, "RDER-0001"), ["order-0001"]);
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
  await runSql(url, INSERT_PAYMENTS);
  await migrate(url, migrations);
  const [named] = await runSql(
    url,
    "select count(*)::int as count from gateway.payment_search_keys where kind = 'n'",
  );
  assert.equal(named!.count, 1_050);
  const database = openDatabase({ url, poolSize: 1 });
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
  } finally {
    await database.close();
  }
});
