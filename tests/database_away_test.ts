import assert from "node:assert/strict";
import { openApp } from "./support/app.ts";
import { createDatabase } from "./support/database.ts";
import { assertProblem } from "./support/problem.ts";
import { throughProxy } from "./support/tcp_proxy.ts";

const databaseUrl = await createDatabase();

/** Unknown keys are looked up each time, so that this always asks the database. */
const UNKNOWN_KEY = "gk_" + "a".repeat(43);

const LOSSES = {
  "refuses connections": "cut",
  "falls silent": "silence",
} as const;

for (const [what, how] of Object.entries(LOSSES)) {
  Deno.test(`while the database ${what}, callers get 503; when it returns, service does`, async () => {
    const { proxy, url } = throughProxy(databaseUrl);
    await using _ = proxy;
    await using app = await openApp({ databaseUrl: url });
    const ask = () => app.as(UNKNOWN_KEY, "/me/");
    assert.equal((await ask()).status, 401);
    assert.equal((await app.request("/health/ready/")).status, 200);

    proxy[how]();
    // Several times: the first finds broken connections, those after it none at all.
    for (let i = 0; i < 3; i++) {
      const answers = await Promise.all([ask(), ask(), ask(), ask(), ask(), ask()]);
      for (const answer of answers) {
        assert.ok(Number(answer.headers.get("retry-after")) > 0);
        await assertProblem(answer, 503, "unavailable");
      }
    }
    const ready = await app.request("/health/ready/");
    const problem = await assertProblem(ready, 503, "unavailable");
    assert.deepEqual(problem.checks, { database: "down" });
    assert.equal((await app.request("/health/live/")).status, 200);

    proxy.mend();
    while ((await ask()).status === 503);
    assert.equal((await ask()).status, 401);
    assert.equal((await app.request("/health/ready/")).status, 200);
  });
}

Deno.test("a transaction cut off half-way changes nothing", async () => {
  const { proxy, url } = throughProxy(databaseUrl);
  await using _ = proxy;
  await using app = await openApp({ databaseUrl: url });
  const attempt = app.database.transaction(async (sql) => {
    await sql`create table half_way (id int)`;
    proxy.cut();
    await sql`select 1`;
  });
  await assert.rejects(attempt, { name: "DatabaseUnavailable" });
  proxy.mend();
  const exists = () => app.database.query((sql) => sql`select to_regclass('half_way') as table`);
  let rows = await exists().catch(() => null);
  while (rows === null) rows = await exists().catch(() => null);
  assert.equal(rows[0]!.table, null);
});

Deno.test("a statement that takes too long ends as unavailable, at the server too", async () => {
  await using app = await openApp({ databaseUrl });
  const slow = app.database.query((sql) => sql`select pg_sleep(60)`);
  await assert.rejects(slow, { name: "DatabaseUnavailable" });
  const running = await app.database.query((sql) =>
    sql`select from pg_stat_activity where query like '%pg_sleep(60)' and pid <> pg_backend_pid()
        and state = 'active' and datname = current_database()`
  );
  assert.equal(running.length, 0);
});

Deno.test("an error of a statement's own making is not taken for absence", async () => {
  await using app = await openApp({ databaseUrl });
  const wrong = app.database.query((sql) => sql`select * from no_such_table`);
  await assert.rejects(wrong, { name: "PostgresError", code: "42P01" });
});
