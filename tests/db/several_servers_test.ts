/** Several hosts in a database URL. tests/db/failover_test.ts runs real failovers. */

import assert from "node:assert/strict";
import { reachDatabase } from "../../commands/database_access.ts";
import { openDatabase } from "../../db/connection/database.ts";
import { listen } from "../../db/connection/listen.ts";
import { findPrimary } from "../../db/connection/primary.ts";
import { joinServers, serverUrls } from "../../db/connection/server_urls.ts";
import { loadMigrations, migrate } from "../../db/migrations/migrate.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { hasPgBouncer, startPgBouncer } from "../support/database/pgbouncer.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { inTime, until } from "../support/until.ts";
import "../support/database/stray_errors.ts";

/** A search goes on for a moment after a server was found, at servers that do not respond. */
function testSeveral(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

/** Two addresses of one database, each of which can fail. */
async function openTwo() {
  const database = await createDatabase({ isNew: true });
  const [first, second] = [throughProxy(database), throughProxy(database)];
  const url = joinServers([first.url, second.url]);
  return {
    database,
    url,
    first: first.proxy,
    second: second.proxy,
    async [Symbol.asyncDispose]() {
      await first.proxy[Symbol.asyncDispose]();
      await second.proxy[Symbol.asyncDispose]();
    },
  };
}

async function setReadOnly(url: string, value: "on" | "off"): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await runSql(
    url,
    `begin read write; alter database ${name} set default_transaction_read_only = ${value}; commit`,
  );
}

const portOf = (url: string) => Number(new URL(url).port);

Deno.test("findPrimary: returns a URL with one server without a connection to it", async () => {
  const url = "postgres://127.0.0.1:2/none";
  assert.equal((await findPrimary(url)).url, url);
});

testSeveral(
  "several servers: one that is down, closes connections or does not respond is not used",
  async () => {
    await using two = await openTwo();
    const faults = ["cut", "closeNewConnections", "silence"] as const;
    for (const fault of faults) {
      two.first[fault]();
      await until(`the other server is found: ${fault}`, async () => {
        const primary = await findPrimary(two.url).catch(() => null);
        return primary !== null && portOf(primary.url) === two.second.port;
      });
      two.first.restore();
    }
  },
);

testSeveral(
  "several servers: if none can be reached, calls fail, and few connections are attempted",
  async () => {
    let attempts = 0;
    const listeners = [0, 1].map(() => Deno.listen({ hostname: "127.0.0.1", port: 0 }));
    const accepting = listeners.map(async (listener) => {
      for await (const connection of listener) {
        attempts++;
        connection.close();
      }
    });
    const urls = listeners.map(({ addr }) => `postgres://user:secret@127.0.0.1:${addr.port}/db`);
    const database = openDatabase({ url: joinServers(urls), poolSize: 10 });
    const calls = Array.from({ length: 50 }, () => database.query((sql) => sql`select 1`));
    const outcomes = await inTime("all calls have failed", Promise.allSettled(calls));
    for (const outcome of outcomes) {
      assert.equal(outcome.status, "rejected");
      assert.equal(outcome.reason.name, "DatabaseUnavailable");
      assert.doesNotMatch(String(outcome.reason), /secret/);
    }
    // All calls share one search, which asks each server every 200 ms for 1.5 s.
    assert.ok(attempts <= 40, `${attempts} attempts`);
    await database.close();
    for (const listener of listeners) listener.close();
    await Promise.all(accepting);
  },
);

testSeveral(
  "several servers: while none accepts writes, calls fail and say so, and work again afterwards",
  async () => {
    await using two = await openTwo();
    const database = openDatabase({ url: two.url, poolSize: 2 });
    const write = () => database.query((sql) => sql`create table if not exists public.written ()`);
    const writes = () => write().then(() => true, () => false);
    await until("writes work", writes);
    await setReadOnly(two.database, "on");
    await runSql(
      two.database,
      `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
    );
    await until("the servers are asked", async () => {
      const error: Error = await write().then(() => assert.fail("written"), (error) => error);
      return /is a standby or read-only, and accepts no writes$/.test(error.message);
    });
    await setReadOnly(two.database, "off");
    await until("writes work again", writes);
    await database.close();
  },
);

testSeveral(
  "several servers: the pool and the kept connections go to another server when theirs fails",
  async () => {
    await using two = await openTwo();
    const database = openDatabase({ url: two.url, poolSize: 2 });
    let signals = 0;
    const listening = listen({
      url: two.url,
      name: "test of several servers",
      channel: "several_servers",
      onSignal: () => signals++,
      onError() {},
    });
    const responds = () => database.query((sql) => sql`select 1`).then(() => true, () => false);
    await until("it listens", () => signals > 0);
    assert.ok(await responds());
    for (const [failing, fault] of [[two.first, "cut"], [two.second, "silence"]] as const) {
      const before = signals;
      failing[fault]();
      await until(`the pool works: ${fault}`, responds);
      await until(`a signal arrives: ${fault}`, async () => {
        await runSql(two.database, "notify several_servers");
        return signals > before + 1;
      });
      failing.restore();
    }
    await listening[Symbol.asyncDispose]();
    await database.close();
  },
);

testSeveral(
  "several servers: the start finds no pooler, and migrations run on the primary",
  async () => {
    await using two = await openTwo();
    two.first.cut();
    const { url, pooling, directUrl } = await reachDatabase(two.url, null);
    assert.deepEqual([url, pooling, directUrl], [two.url, "none", two.url]);
    assert.deepEqual(await migrate(two.url, await loadMigrations()), []);
    // As DATABASE_URL and DATABASE_DIRECT_URL.
    await reachDatabase(two.url, two.database);
  },
);

testSeveral(
  "several servers: an error at the start names the hosts, and not the password",
  async () => {
    const url = "postgres://user:secret@127.0.0.1:2,127.0.0.1:3/db";
    await assert.rejects(reachDatabase(url, null, 0), (error: Error) => {
      assert.match(
        error.message,
        /the database at 127\.0\.0\.1:2,127\.0\.0\.1:3\/db: .*ECONNREFUSED/,
      );
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  },
);

Deno.test("server URLs: hosts are separated from a user and a password with commas and @", () => {
  assert.deepEqual(serverUrls("postgres://a,b:c@d@first:1,[::1]:2,third/db?x=1,2"), [
    "postgres://a,b:c@d@first:1/db?x=1,2",
    "postgres://a,b:c@d@[::1]:2/db?x=1,2",
    "postgres://a,b:c@d@third/db?x=1,2",
  ]);
});

Deno.test({
  name: "several servers: poolers in front of them work, in session and transaction mode",
  ignore: !await hasPgBouncer(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    for (const mode of ["session", "transaction"] as const) {
      const server = await createDatabase({ isNew: true });
      await using first = await startPgBouncer({ server, mode });
      await using second = await startPgBouncer({ server, mode });
      const url = joinServers([first.through(server), second.through(server)]);
      const access = await reachDatabase(url, mode === "session" ? null : server);
      assert.equal(access.pooling, mode);
      const database = openDatabase({ ...access, poolSize: 2 });
      const writes = () =>
        database.transaction((sql) => sql`create table if not exists public.written ()`)
          .then(() => true, () => false);
      await until("writes work", writes);
      for (const pooler of [first, second]) {
        await pooler.kill();
        await until("writes work through the other", writes);
        await pooler.start();
      }
      await database.close();
    }
  },
});

Deno.test("one server: while a proxy closes each connection, a pool and a kept connection connect only a few times a second", async () => {
  let attempts = 0;
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const connection of listener) {
      attempts++;
      connection.close();
    }
  })().catch(() => {});
  const url = `postgres://user:secret@127.0.0.1:${listener.addr.port}/db`;
  const poolSize = 2;
  const began = performance.now();
  const database = openDatabase({ url, poolSize });
  const kept = listen({ url, name: "test", channel: "test", onSignal() {}, onError() {} });
  await Promise.allSettled(
    Array.from({ length: poolSize }, () => database.query((sql) => sql`select 1`)),
  );
  // Each connection pauses for 200 ms.
  const most = (poolSize + 1) * ((performance.now() - began) / 200 + 2);
  assert.ok(attempts <= most, `${attempts} attempts, and not at most ${most}`);
  await kept[Symbol.asyncDispose]();
  await database.close();
  listener.close();
  await accepting;
});
