import assert from "node:assert/strict";
import { DEADLINE } from "../../db/connection/settings.ts";
import { openDatabase, type Sql } from "../../db/connection/database.ts";
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

/**
 * Runs a statement in a transaction, and `work` after the deadline. The caller gets the error
 * before that.
 */
async function outlastDeadline(
  app: TestApp,
  statement: string,
  work: (sql: Sql) => Promise<void>,
): Promise<void> {
  const expired = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const attempt = app.database.transaction(async (sql) => {
    await sql.unsafe(NO_IDLE_TIMEOUT);
    await sql.unsafe(statement);
    // Because this query succeeds, the database counts as slow, not as unreachable.
    await app.database.query((sql) => sql`select 1`);
    await expired.promise;
    await work(sql).finally(ended.resolve);
  });
  await assert.rejects(attempt, { name: "DatabaseUnavailable" });
  expired.resolve();
  await ended.promise;
  await untilNoTransaction();
}

/** So that the server itself does not end the transactions that a test waits for. */
const NO_IDLE_TIMEOUT = "set local idle_in_transaction_session_timeout = 0";

const SHORT_DEADLINE = { databaseDeadlineMs: 5_000 };

Deno.test("transaction: changes nothing if it ends after its deadline", async () => {
  await using app = await openApp({ databaseUrl, ...SHORT_DEADLINE });
  await outlastDeadline(app, "create table too_late (id int)", () => Promise.resolve());
  const [row] = await runSql(databaseUrl, "select to_regclass('too_late') as table");
  assert.equal(row!.table, null);
});

Deno.test("transaction: rejects statements after its deadline", async () => {
  await using app = await openApp({ databaseUrl, ...SHORT_DEADLINE });
  await outlastDeadline(app, "select 1", async (sql) => {
    const refused = Promise.resolve(sql`create table never ${sql({ id: 1 })}`);
    await assert.rejects(refused, { name: "DatabaseUnavailable" });
  });
});

Deno.test("transaction: releases its connection when a statement times out", async () => {
  await using app = await openApp({ databaseUrl });
  const slowTransaction = app.database.transaction(async (sql) => {
    await sql.unsafe(NO_IDLE_TIMEOUT);
    await sql`set local statement_timeout = '100ms'`;
    await sql`select pg_sleep(600)`;
  });
  await assert.rejects(slowTransaction, (error: Error) => {
    assert.equal(error.name, "DatabaseUnavailable");
    assert.equal((error.cause as { code?: string }).code, "57014");
    return true;
  });
  await untilNoTransaction();
});

Deno.test("database: the deadline is below 2 seconds, so that callers get an error within 2 seconds", () => {
  assert.ok(DEADLINE.ms < 2_000);
});

Deno.test("database: a raised deadline applies to pools that are opened later", async () => {
  const { ms } = DEADLINE;
  DEADLINE.ms = 60_000;
  const database = openDatabase({ url: databaseUrl, poolSize: 1 });
  DEADLINE.ms = ms;
  try {
    assert.equal(database.deadlineMs, 60_000);
    const [row] = await database.query((sql) => sql`show statement_timeout`);
    assert.equal(row!.statement_timeout, "59700ms");
  } finally {
    await database.close();
  }
});

function untilNoTransaction(): Promise<void> {
  return until("no transaction is open", async () => {
    const open = await runSql(
      databaseUrl,
      `select from pg_stat_activity where datname = current_database()
       and pid <> pg_backend_pid() and state like '%in transaction%'`,
    );
    return open.length === 0;
  });
}
