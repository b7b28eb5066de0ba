import assert from "node:assert/strict";
import { DEADLINE_MS } from "../../db/database.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { assertProblem } from "../support/problem.ts";
import { until } from "../support/until.ts";

const databaseUrl = await createDatabase({ isNew: true });

/** Unknown keys are not cached, so each request with this key queries the database. */
const UNKNOWN_KEY = "gk_" + "a".repeat(43);

const FAILURES = {
  "refuses connections": "cut",
  "does not respond": "silence",
} as const;

for (const [what, failure] of Object.entries(FAILURES)) {
  Deno.test(`database: requests get 503 while the database ${what}, and work again afterwards`, async () => {
    const { proxy, url } = throughProxy(databaseUrl);
    await using _ = proxy;
    await using app = await openApp({ databaseUrl: url });
    const lookUp = () => app.as(UNKNOWN_KEY, "/me/");
    assert.equal((await lookUp()).status, 401);
    assert.equal((await app.request("/health/ready/")).status, 200);

    proxy[failure]();
    // The first round finds broken connections; later rounds cannot connect.
    for (let i = 0; i < 3; i++) {
      const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(lookUp));
      for (const answer of answers) {
        assert.ok(Number(answer.headers.get("retry-after")) > 0);
        await assertProblem(answer, 503, "unavailable");
      }
    }
    const ready = await app.request("/health/ready/");
    const problem = await assertProblem(ready, 503, "unavailable");
    assert.deepEqual(problem.checks, { database: "down" });
    assert.equal((await app.request("/health/live/")).status, 200);

    proxy.restore();
    await until("the database responds", async () => (await lookUp()).status === 401);
    assert.equal((await app.request("/health/ready/")).status, 200);
  });
}

Deno.test("transaction: changes nothing if the connection is cut before its commit", async () => {
  const { proxy, url } = throughProxy(databaseUrl);
  await using _ = proxy;
  await using app = await openApp({ databaseUrl: url });
  const attempt = app.database.transaction(async (sql) => {
    await sql`create table half_way (id int)`;
    proxy.cut();
    await sql`select 1`;
  });
  await assert.rejects(attempt, { name: "DatabaseUnavailable" });
  proxy.restore();
  const responds = () => app.database.query((sql) => sql`select 1`).then(() => true, () => false);
  await until("the database responds", responds);
  const [row] = await runSql(databaseUrl, "select to_regclass('half_way') as table");
  assert.equal(row!.table, null);
});

Deno.test("transaction: changes nothing if it ends after its deadline", async () => {
  await using app = await openApp({ databaseUrl });
  const statementEnded = Promise.withResolvers<unknown>();
  const attempt = app.database.transaction(async (sql) => {
    await sql`create table too_late (id int)`;
    await sql`select pg_sleep(1)`;
    await queryOnce(app);
    // The caller gets the error before this statement ends.
    await sql`select pg_sleep(1)`.finally(() => statementEnded.resolve(null));
  });
  await assert.rejects(attempt, { name: "DatabaseUnavailable" });
  await statementEnded.promise;
  await untilNoTransaction();
  const [row] = await runSql(databaseUrl, "select to_regclass('too_late') as table");
  assert.equal(row!.table, null);
});

Deno.test("transaction: rejects statements after its deadline", async () => {
  await using app = await openApp({ databaseUrl });
  const refused = Promise.withResolvers<Error>();
  const attempt = app.database.transaction(async (sql) => {
    await sql`select pg_sleep(1)`;
    await queryOnce(app);
    await sql`select pg_sleep(1)`;
    await Promise.resolve(sql`create table never ${sql({ id: 1 })}`).catch(refused.resolve);
  });
  await assert.rejects(attempt, { name: "DatabaseUnavailable" });
  assert.equal((await refused.promise).name, "DatabaseUnavailable");
  await untilNoTransaction();
});

Deno.test("transaction: releases its connection when a statement times out", async () => {
  await using app = await openApp({ databaseUrl });
  const slowTransaction = app.database.transaction((sql) => sql`select pg_sleep(60)`);
  await assert.rejects(slowTransaction, (error: Error) => {
    assert.equal(error.name, "DatabaseUnavailable");
    assert.equal((error.cause as { code?: string }).code, "57014");
    return true;
  });
  await untilNoTransaction();
});

Deno.test("database: the deadline is below 2 seconds, so that callers get an error within 2 seconds", () => {
  assert.ok(DEADLINE_MS < 2_000);
});

/** Runs a query that succeeds, so that the database counts as slow, not as unreachable. */
async function queryOnce(app: TestApp): Promise<void> {
  await app.database.query((sql) => sql`select 1`);
}

/** Waits at most 5 s, because after 10 s the server itself ends an idle transaction. */
function untilNoTransaction(): Promise<void> {
  return until("no transaction is open", async () => {
    const open = await runSql(
      databaseUrl,
      `select from pg_stat_activity where datname = current_database()
       and pid <> pg_backend_pid() and state like '%in transaction%'`,
    );
    return open.length === 0;
  }, 5_000);
}
