import assert from "node:assert/strict";
import postgres from "postgres";
import {
  type Database,
  type DatabaseOptions,
  DatabaseUnavailable,
  openDatabase,
} from "../../db/connection/database.ts";
import { DEADLINE, poolSettings } from "../../db/connection/settings.ts";
import { inspectServer, isSameDatabase } from "../../db/connection/pooling.ts";
import { Statement } from "../../db/records/statement.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { createGate } from "../support/database/gate.ts";
import { openGatedDatabase, type Packet } from "../support/database/gated_database.ts";
import { hasPgBouncer, type PgBouncer, startPgBouncer } from "../support/database/pgbouncer.ts";
import { PATIENT_DEADLINE_MS } from "../support/database/pools.ts";
import { until } from "../support/until.ts";

const ignore = !await hasPgBouncer();

const READ_SETTINGS = `select name, setting from pg_settings
  where name in (${Object.keys(poolSettings()).map((name) => `'${name}'`).join(", ")})`;

type Setting = { name: string; setting: string };

function byName(rows: Iterable<unknown>): Record<string, string> {
  return Object.fromEntries(
    ([...rows] as Setting[]).map(({ name, setting }) => [name, setting]),
  );
}

interface Pooled extends AsyncDisposable {
  /** The URL without the pooler. */
  server: string;
  url: string;
  pgbouncer: PgBouncer;
  database: Database;
}

async function openPooled(
  options: Partial<DatabaseOptions> & { sessions?: number; settings?: string[] } = {},
): Promise<Pooled> {
  const { sessions, settings, pooling = "transaction", ...rest } = options;
  const { deadlineMs = PATIENT_DEADLINE_MS } = options;
  const server = await createDatabase({ isNew: true });
  const mode = pooling === "session" ? "session" : "transaction";
  const pgbouncer = await startPgBouncer({ server, mode, sessions, settings });
  const url = pgbouncer.through(server);
  const database = openDatabase({ url, poolSize: 2, pooling, ...rest, deadlineMs });
  return {
    server,
    url,
    pgbouncer,
    database,
    async [Symbol.asyncDispose]() {
      await database.close();
      await pgbouncer[Symbol.asyncDispose]();
    },
  };
}

/** Repeats a statement until it succeeds. */
async function untilResponds({ query }: Database): Promise<void> {
  const responds = () => query((sql) => sql`select 1`).then(() => true, () => false);
  await until("the database responds", responds);
}

for (const mode of ["session", "transaction", "statement"] as const) {
  Deno.test({
    name: `pooler: PgBouncer in ${mode} mode is recognized`,
    ignore,
    async fn() {
      const server = await createDatabase({ isNew: true });
      await using pgbouncer = await startPgBouncer({ server, mode });
      assert.equal((await inspectServer(server)).pooling, "none");
      assert.equal((await inspectServer(pgbouncer.through(server))).pooling, mode);
    },
  });
}

Deno.test({
  name: "pooler: a pooler in session mode is recognized if it ignores start-up parameters",
  ignore,
  async fn() {
    const server = await createDatabase({ isNew: true });
    const settings = [`ignore_startup_parameters = ${Object.keys(poolSettings())}`];
    await using pgbouncer = await startPgBouncer({ server, mode: "session", settings });
    assert.equal((await inspectServer(pgbouncer.through(server))).pooling, "session");
  },
});

Deno.test({
  name:
    "pooler: transaction mode is recognized if the pooler has idle sessions and uses all in turn",
  ignore,
  async fn() {
    const settings = ["server_round_robin = 1", "min_pool_size = 3"];
    await using pooled = await openPooled({ settings });
    const clients = Array.from({ length: 3 }, () => postgres(pooled.url, { max: 1 }));
    await Promise.all(clients.map((sql) => sql`select pg_sleep(0.2)`.simple()));
    for (const client of clients) await client.end();
    assert.equal((await inspectServer(pooled.url)).pooling, "transaction");
  },
});

Deno.test("pooler: a proxy that only replaces the cancel keys does not count as a pooler", async () => {
  const server = await createDatabase({ isNew: true });
  await using proxy = openKeyChangingProxy(server);
  assert.equal((await inspectServer(proxy.url)).pooling, "none");
  const sql = postgres(proxy.url, { max: 1, fetch_types: false });
  const rows = await sql`select pg_backend_pid() as pid`;
  await sql.end();
  assert.notEqual(rows.state.pid, rows[0]!.pid);
});

/** A proxy that changes the process ids that the server announces. */
function openKeyChangingProxy(databaseUrl: string): { url: string } & AsyncDisposable {
  const start = [0x4b, 0, 0, 0, 12]; // BackendKeyData: its type and length.
  return openGatedDatabase(databaseUrl, {
    statements: createGate(() => {}),
    results: {
      ...createGate<Packet>(() => {}),
      pass({ bytes }) {
        const at = bytes.findIndex((_, i) =>
          start.every((byte, offset) => bytes[i + offset] === byte)
        );
        if (at >= 0) bytes[at + start.length]! ^= 1;
        return Promise.resolve(true);
      },
    },
  });
}

Deno.test({
  name: "pooler: recognizes whether two URLs lead to the same database",
  ignore,
  async fn() {
    await using pooled = await openPooled();
    const { server, url, pgbouncer } = pooled;
    const other = await createDatabase({ isNew: true });
    assert.equal(await isSameDatabase(url, server), true);
    assert.equal(await isSameDatabase(url, url), true);
    assert.equal(await isSameDatabase(url, other), false);
    assert.equal(await isSameDatabase(pgbouncer.through(other), server), false);
  },
});

for (const pooling of ["transaction", "session"] as const) {
  Deno.test({
    name:
      `pooler in ${pooling} mode: each transaction has all settings, and none stays in the session`,
    ignore,
    async fn() {
      await using pooled = await openPooled({ pooling, poolSize: 1, deadlineMs: DEADLINE.ms });
      const { database, server } = pooled;
      const expected = Object.fromEntries(
        Object.entries(poolSettings()).map(([name, value]) => [name, String(value)]),
      );
      const defaults = byName(await runSql(server, READ_SETTINGS));
      assert.notDeepEqual(defaults, expected);
      for (let i = 0; i < 3; i++) {
        const alone = await database.query((sql) => sql.unsafe(READ_SETTINGS));
        assert.deepEqual(byName(alone), expected);
        const inTransaction = await database.transaction((sql) => sql.unsafe(READ_SETTINGS));
        assert.deepEqual(byName(inTransaction), expected);
        // The pooler gives this client the same session; the settings must be gone.
        if (pooling === "transaction") {
          assert.deepEqual(byName(await runSql(pooled.url, READ_SETTINGS)), defaults);
        }
      }
    },
  });
}

Deno.test({
  name: "pooler in transaction mode: concurrent statements and transactions work in any session",
  ignore,
  async fn() {
    await using pooled = await openPooled({ sessions: 3, poolSize: 6 });
    const { database } = pooled;
    const results = await Promise.all(Array.from({ length: 60 }, async (_, i) => {
      const part = (sql: postgres.ISql) => sql`${i}::int + ${sql.unsafe("1")}`;
      const rows = i % 3 === 0
        ? await database.transaction(async (sql) => {
          await sql`select ${i}::int`;
          return await sql`select ${part(sql)} as next, ${sql.array(["a"])}::text[] as letters`;
        })
        : await database.query((sql) =>
          sql`select ${part(sql)} as next, ${sql.array(["a"])}::text[] as letters`
        );
      return [rows[0]!.next, rows[0]!.letters];
    }));
    assert.deepEqual(results, Array.from({ length: 60 }, (_, i) => [i + 1, ["a"]]));
  },
});

Deno.test({
  name: "pooler in transaction mode: a statement of the service takes one round trip",
  ignore,
  async fn() {
    await using pooled = await openPooled();
    let packets = 0;
    const gates = {
      statements: createGate<never>(() => packets++),
      results: createGate<never>(() => {}),
    };
    await using gated = openGatedDatabase(pooled.url, gates);
    const database = openDatabase({
      url: gated.url,
      poolSize: 1,
      pooling: "transaction",
      deadlineMs: PATIENT_DEADLINE_MS,
    });
    try {
      await database.query((sql) => sql`select 1`);
      packets = 0;
      for (let i = 0; i < 5; i++) {
        const statement = new Statement();
        const [text, time] = [statement.value("text"), statement.value(new Date(0))];
        const rows = await database.query((sql) =>
          statement.run<{ text: string; time: Date }>(
            sql,
            `select ${text}::text as text, ${time}::timestamptz as time, ${
              statement.value(null)
            }::int`,
          )
        );
        assert.deepEqual([rows[0]!.text, rows[0]!.time], ["text", new Date(0)]);
      }
      assert.equal(packets, 5);
    } finally {
      await database.close();
    }
  },
});

Deno.test({
  name:
    "pooler in transaction mode: a failed statement changes nothing, and its connection is used again",
  ignore,
  async fn() {
    await using pooled = await openPooled({ poolSize: 1 });
    const { database, server } = pooled;
    await runSql(server, "create table numbers (number int check (number > 0))");
    for (let i = 0; i < 3; i++) {
      const insert = (number: number) =>
        database.query((sql) => sql`insert into numbers values (${number})`);
      await assert.rejects(insert(0), { code: "23514" });
      const failed = database.query((sql) =>
        sql.unsafe("with added as (insert into numbers values ($1::int)) select 1 / 0", ["5"])
      );
      await assert.rejects(failed, { code: "22012" });
      await insert(i + 1);
    }
    const rows = await runSql(server, "select number from numbers order by 1");
    assert.deepEqual(rows.map(({ number }) => number), [1, 2, 3]);
  },
});

Deno.test({
  name: "pooler in transaction mode: the server cancels a slow statement",
  ignore,
  async fn() {
    await using pooled = await openPooled({ deadlineMs: DEADLINE.ms });
    // On a slow machine the deadline of the client can pass first.
    await until("the server cancels a statement", async () => {
      const error = await pooled.database.query((sql) => sql`select pg_sleep(60)`)
        .catch((error: Error) => error);
      return error instanceof Error && (error.cause as { code?: string })?.code === "57014";
    });
  },
});

/**
 * Starts a slow statement and a slow transaction. Each promise resolves to the error, or to null.
 * If the pooler takes long to end, the server cancels them first, which causes the same error.
 */
function startSlowStatements(database: Database): Promise<unknown>[] {
  return [
    database.query((sql) => sql`select pg_sleep(10)`),
    database.transaction(async (sql) => {
      await sql`insert into numbers values (1)`;
      await sql`select pg_sleep(10)`;
    }),
  ].map((work) => work.then(() => null, (error) => error));
}

/** Waits until both are running. If one of them ends first, returns false after both ended. */
async function areBothRunning(server: string, running: Promise<unknown>[]): Promise<boolean> {
  let hasOneEnded = false;
  for (const work of running) work.then(() => hasOneEnded = true);
  while (!hasOneEnded) {
    const sleeping = await runSql(
      server,
      "select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'",
    );
    if (sleeping.length === 2) return true;
  }
  await Promise.all(running);
  return false;
}

Deno.test({
  name: "pooler: statements fail while it is down, and work again after it has restarted",
  ignore,
  async fn() {
    await using pooled = await openPooled({ deadlineMs: DEADLINE.ms });
    const { database, pgbouncer, server } = pooled;
    await runSql(server, "create table numbers (number int)");
    for (let round = 0; round < 3; round++) {
      await untilResponds(database);
      let running = startSlowStatements(database);
      // On a busy machine, one of them can end before the other begins.
      while (!await areBothRunning(server, running)) {
        await runSql(server, "truncate numbers");
        running = startSlowStatements(database);
      }
      await pgbouncer.kill();
      for (const error of await Promise.all(running)) {
        assert.ok(error instanceof DatabaseUnavailable, String(error));
      }
      const refused = database.query((sql) => sql`select 1`);
      await assert.rejects(refused, (error: Error) => {
        assert.equal((error.cause as { code?: string }).code, "ECONNREFUSED");
        return true;
      });
      await pgbouncer.start();
    }
    await untilResponds(database);
    assert.equal((await runSql(server, "select from numbers")).length, 0);
  },
});

Deno.test({
  name: "pooler: after it refused connections, all connections of the pool can be used",
  ignore,
  async fn() {
    await using pooled = await openPooled({ settings: ["max_client_conn = 2"], poolSize: 2 });
    const { database, url } = pooled;
    const others = [1, 2].map(() => postgres(url, { max: 1 }));
    for (const other of others) await other`select 1`.simple();
    for (let i = 0; i < 4; i++) {
      const refused = database.query((sql) => sql`select 1`);
      await assert.rejects(refused, (error: Error) => {
        assert.match((error.cause as Error).message, /no more connections/);
        return true;
      });
    }
    for (const other of others) await other.end();
    await untilResponds(database);
    // The first transaction waits for the second one, so both connections are needed.
    const lock = Promise.withResolvers<void>();
    await Promise.all([
      database.transaction(async (sql) => {
        await sql`select 1`;
        await lock.promise;
      }),
      database.transaction(async (sql) => {
        await sql`select 1`;
        lock.resolve();
      }),
    ]);
  },
});
