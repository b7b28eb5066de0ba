import assert from "node:assert/strict";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openPayments } from "../support/payments/payments.ts";

/** The database of the previous test. `createDatabase` restores its rows and lends it again. */
let lastUrl = "";

/** All rows of all tables and sequences, as text. */
async function readRows(url: string): Promise<string> {
  const tables = await runSql(
    url,
    `select format('%I.%I', nspname, relname) as name
     from pg_class join pg_namespace namespace on namespace.oid = relnamespace
     where relkind in ('r', 'S') and nspname = 'gateway' order by name`,
  );
  const rows = tables.map(({ name }) =>
    `select '${name}' as name, jsonb_agg(t order by t::text) as rows from (select * from ${name}) t`
  );
  return JSON.stringify(await runSql(url, `${rows.join(" union all ")} order by name`));
}

Deno.test("lent database (setup): a test changes rows", async () => {
  lastUrl = await createDatabase();
  assert.notEqual(await createDatabase(), lastUrl, "a test can have several databases");
  await using payments = await openPayments({ databaseUrl: lastUrl });
  await payments.paid();
  await runSql(
    lastUrl,
    "delete from gateway.event_publication; delete from gateway.migrations where name like '0001%'",
  );
});

Deno.test("lent database: equals a new database, although the previous test changed its rows", async () => {
  const urls = [await createDatabase(), await createDatabase()];
  assert.ok(urls.includes(lastUrl), "the database is used again");
  const isNew = await createDatabase({ isNew: true });
  assert.deepEqual(await readRows(lastUrl), await readRows(isNew));
  await using payments = await openPayments({ databaseUrl: lastUrl });
  await payments.paid();
});

for (
  const [change, statement] of [
    ["a column was added", "alter table gateway.payments add column colour text"],
    ["an index was dropped", "drop index gateway.payments_by_user"],
    ["it was analyzed", "analyze"],
    ["a setting was changed", "alter database $name set default_transaction_read_only = on"],
  ] as const
) {
  Deno.test(`lent database (setup): a test changes more than rows: ${change}`, async () => {
    lastUrl = await createDatabase();
    await runSql(lastUrl, statement.replace("$name", new URL(lastUrl).pathname.slice(1)));
  });

  Deno.test(`lent database: is not used again after ${change}`, async () => {
    assert.notEqual(await createDatabase(), lastUrl);
  });
}
