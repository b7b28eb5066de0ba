import assert from "node:assert/strict";
import postgres from "postgres";
import { migrateDatabase } from "../../commands/migrate.ts";
import type { Caller } from "../../core/auth/caller.ts";
import { startPositionPublisher } from "../../core/events/position_publisher.ts";
import { listEvents } from "../../core/events/read.ts";
import { publishBatch } from "../../db/event_publication.ts";
import type { EventOrder } from "../../db/events.ts";
import { loadMigrations, migrate } from "../../db/migrations.ts";
import { StatusSchema } from "../../routes/status/schemas.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { openPool } from "../support/database/pools.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { untilEarlierTransactionsEnd } from "../support/database/transactions.ts";
import { follow, listAll, writeEvent } from "../support/events/event_stream.ts";
import { publishAll, untilPublished } from "../support/events/publication.ts";
import { openPayments } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

const STAFF: Caller = { userId: "ops", isStaff: true, credential: "api_key", keyPrefix: null };

/** A transaction that has a transaction id and stays open until `end`. */
async function openTransaction(
  url: string,
  { writeAtEnd = async (_: postgres.ISql) => {} } = {},
) {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const begun = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<void>();
  const done = sql.begin(async (sql) => {
    await sql`select pg_current_xact_id()`;
    begun.resolve();
    await ending.promise;
    await writeAtEnd(sql);
  });
  await begun.promise;
  return {
    async end() {
      ending.resolve();
      await done;
      await sql.end();
    },
  };
}

/** The ids of the events after a cursor. */
async function listAfter(
  { deps }: TestApp,
  after: string,
  order: EventOrder = "oldest_first",
): Promise<string[]> {
  const filter = { names: null, resourceId: null, order, after, limit: 100 };
  const { events } = await listEvents(deps, STAFF, filter);
  return events.map(({ id }) => id);
}

const POSITIONS = "select position::int, event_id from gateway.published_events order by position";

async function positionsIn(
  where: string | postgres.Sql,
): Promise<{ position: number; event_id: string }[]> {
  const rows =
    await (typeof where === "string" ? runSql(where, POSITIONS) : where.unsafe(POSITIONS));
  return rows.map(({ position, event_id }) => ({ position, event_id }));
}

Deno.test("event publisher: events are listed and streamed while a transaction in another database is open", async () => {
  const otherDatabase = await createDatabase({ template: null });
  const otherTransaction = await openTransaction(otherDatabase);
  try {
    await using payments = await openPayments();
    const { app } = payments;
    const staff = await app.createKey({ isStaff: true });
    await using follower = await follow(app, staff);
    await payments.charge();
    await payments.charge();
    const messages = await follower.untilReceived(2);
    const listed = await listAll(app, staff);
    assert.deepEqual(messages.map(({ id }) => id), listed.map(({ id }) => id));
  } finally {
    await otherTransaction.end();
  }
});

Deno.test("event publisher: the status shows how many events wait for a position, and lists do not contain these events", async () => {
  let now = Date.now();
  await using payments = await openPayments({ hasPositionPublisher: false, now: () => now });
  const { app, databaseUrl } = payments;
  const staff = await app.createKey({ isStaff: true });
  const readLag = async () =>
    StatusSchema.parse(await (await app.as(staff, "/status/")).json()).events;
  assert.deepEqual(await readLag(), { unpublished: 0, oldest_unpublished_seconds: null });
  await payments.charge();
  now += 60_000;
  await payments.charge();
  assert.deepEqual(await readLag(), { unpublished: 2, oldest_unpublished_seconds: 60 });
  assert.deepEqual(await listAll(app, staff), []);
  await using _ = startPositionPublisher({ ...app.deps, databaseUrl });
  await untilPublished(app);
  assert.deepEqual(await readLag(), { unpublished: 0, oldest_unpublished_seconds: null });
  assert.equal((await listAll(app, staff)).length, 2);
});

Deno.test("event publisher: batches of any size give each committed event one position, without gaps", async () => {
  const url = await createDatabase();
  const database = openPool({ url, poolSize: 1 });
  const writers = postgres(url, { max: 8, onnotice: () => {} });
  let seed = 11;
  const random = (below: number) => (seed = seed * 48_271 % 2_147_483_647) % below;
  const open = new Set<() => Promise<void>>();
  const committed: string[] = [];

  async function begin(): Promise<void> {
    const isRolledBack = random(4) === 0;
    const begun = Promise.withResolvers<void>();
    const ending = Promise.withResolvers<void>();
    const ids: string[] = [];
    const done = writers.begin(async (sql) => {
      for (let i = random(5); i >= 0; i--) ids.push(await writeEvent(sql));
      begun.resolve();
      await ending.promise;
      if (isRolledBack) throw new Error("rolled back");
    }).then(() => committed.push(...ids), () => {});
    await begun.promise;
    open.add(async () => {
      ending.resolve();
      await done;
    });
  }

  async function endOne(): Promise<void> {
    const end = [...open][random(open.size)]!;
    open.delete(end);
    await end();
  }

  try {
    for (let step = 0; step < 300; step++) {
      const action = random(3);
      if (action === 0 && open.size < 6) await begin();
      else if (action === 1 && open.size > 0) await endOne();
      else {
        const before = await positionsIn(writers);
        await database.query((sql) => publishBatch(sql, 1 + random(4)));
        assert.deepEqual((await positionsIn(writers)).slice(0, before.length), before);
      }
    }
    while (open.size > 0) await endOne();
    await publishAll(database, 3);
    const positions = await positionsIn(url);
    assert.deepEqual(positions.map(({ position }) => position), positions.map((_, i) => i + 1));
    assert.deepEqual(positions.map(({ event_id }) => event_id).sort(), committed.sort());
    assert.ok(committed.length > 50, `${committed.length} events`);
  } finally {
    await writers.end();
    await database.close();
  }
});

Deno.test("event publisher: several sessions at the same time publish each event once", async () => {
  const url = await createDatabase();
  const databases = [1, 2, 3].map(() => openPool({ url, poolSize: 1 }));
  const writers = postgres(url, { max: 1, onnotice: () => {} });
  try {
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 5; i++) await writeEvent(writers);
      // Publishes without the lock, because a connection pooler can make the lock ineffective. Of
      // several concurrent batches, one is stored and the others are rejected.
      await Promise.allSettled(
        databases.map((each) => each.query((sql) => publishBatch(sql, 2))),
      );
    }
    await publishAll(databases[0]!);
    const positions = await positionsIn(url);
    assert.equal(new Set(positions.map(({ event_id }) => event_id)).size, 100);
    assert.deepEqual(positions.map(({ position }) => position), positions.map((_, i) => i + 1));
  } finally {
    await writers.end();
    for (const each of databases) await each.close();
  }
});

Deno.test("event publisher: another instance takes over when the publishing instance ends", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, hasPositionPublisher: false });
  const writers = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const sessions = async () =>
    await runSql(
      databaseUrl,
      `select activity.pid from pg_stat_activity activity join pg_locks using (pid)
      where locktype = 'advisory' and granted
        and activity.datname = current_database()
        and application_name = 'payment-gateway publisher'`,
    );
  const firstPublisher = startPositionPublisher({ ...app.deps, databaseUrl });
  try {
    await until("the first publisher has the lock", async () => (await sessions()).length === 1);
    const [{ pid }] = await sessions() as unknown as [{ pid: number }];
    await using _ = startPositionPublisher({ ...app.deps, databaseUrl });
    await writeEvent(writers);
    await untilPublished(app);
    assert.deepEqual((await sessions()).map((row) => row.pid), [pid], "one instance publishes");
    await firstPublisher[Symbol.asyncDispose]();
    await writeEvent(writers);
    await untilPublished(app);
    const [secondSession] = await sessions();
    assert.notEqual(secondSession!.pid, pid);
    // A broken connection loses the lock; the instance continues with a new session.
    await runSql(databaseUrl, `select pg_terminate_backend(${secondSession!.pid})`);
    await writeEvent(writers);
    await untilPublished(app);
    assert.deepEqual((await positionsIn(databaseUrl)).map(({ position }) => position), [1, 2, 3]);
  } finally {
    await firstPublisher[Symbol.asyncDispose]();
    await writers.end();
  }
});

Deno.test("event publisher: if its connection is lost in a transaction, it publishes on a new one", async () => {
  const databaseUrl = await createDatabase({ isNew: true });
  await using app = await openApp({ databaseUrl, hasPositionPublisher: false });
  const { proxy, url } = throughProxy(databaseUrl);
  await using _ = proxy;
  const writers = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await writeEvent(writers);
    const statementSent = proxy.hold("published_events");
    await using _publisher = startPositionPublisher({ ...app.deps, databaseUrl: url });
    await statementSent;
    proxy.cut();
    await until("the publisher has lost its session", async () => {
      const sessions = `select 1 from pg_stat_activity where datname = current_database()
        and application_name = 'payment-gateway publisher'`;
      return (await runSql(databaseUrl, sessions)).length === 0;
    });
    proxy.restore();
    await untilPublished(app);
    assert.deepEqual((await positionsIn(databaseUrl)).map(({ position }) => position), [1]);
  } finally {
    await writers.end();
  }
});

Deno.test("event cursor: an event without a position gives an empty list, and a stream waits for the position", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, hasPositionPublisher: false });
  const staff = await app.createKey({ isStaff: true });
  const writers = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    const firstEvent = await writeEvent(writers);
    await publishAll(app.database);
    const cursor = await writeEvent(writers);
    const laterEvent = await writeEvent(writers);
    for (const order of ["oldest_first", "newest_first"] as const) {
      assert.deepEqual(await listAfter(app, cursor, order), [], order);
    }
    const opening = follow(app, staff, { after: cursor });
    await using _ = startPositionPublisher({ ...app.deps, databaseUrl });
    await using follower = await opening;
    const messages = await follower.untilReceived(1);
    assert.deepEqual(messages.map(({ id }) => id), [laterEvent]);
    assert.notEqual(firstEvent, cursor);
  } finally {
    await writers.end();
  }
});

/**
 * A database that was upgraded after the previous version had written the events `before` and
 * `after`. One transaction began before `after` and is still open: `endOpen` writes its event and
 * commits. Until then it locks no table, because a migration waits for table locks.
 */
async function openPreviousVersion() {
  const url = await createDatabase({ template: null });
  const migrations = await loadMigrations();
  await migrate(url, migrations.filter(({ name }) => name < "0012"));
  const writers = postgres(url, { max: 2, onnotice: () => {} });
  const before = [await writeEvent(writers), await writeEvent(writers)];
  // The migration gives positions at once to events that are older than every open transaction.
  await untilEarlierTransactionsEnd(url);
  let openId = "";
  const open = await openTransaction(url, {
    async writeAtEnd(sql) {
      openId = await writeEvent(sql);
    },
  });
  const after = await writeEvent(writers);
  await migrateDatabase(url, migrations);
  const endOpen = async () => {
    await open.end();
    return openId;
  };
  return { url, writers, endOpen, before, after };
}

/** The order in which the previous version shows events. */
async function previousOrder(url: string): Promise<string[]> {
  const rows = await runSql(url, "select id from gateway.events order by generation, xact_id, id");
  return rows.map(({ id }) => id);
}

Deno.test("upgrade: existing events keep their order, and a cursor of the previous version continues without loss or repetition", async () => {
  const { url, writers, endOpen, before, after } = await openPreviousVersion();
  await using app = await openApp({ databaseUrl: url, hasPositionPublisher: true });
  const staff = await app.createKey({ isStaff: true });
  try {
    const ids = async () => (await positionsIn(url)).map(({ event_id }) => event_id);
    assert.deepEqual(await ids(), before, "existing events have positions at once");
    assert.deepEqual(await listAfter(app, before[0]!), before.slice(1));
    // An instance of the previous version still runs. It orders events by the start of their
    // transactions.
    const during = await writeEvent(writers);
    const openId = await endOpen();
    await until("all events are published", async () => (await ids()).length === 5);
    assert.deepEqual(await ids(), await previousOrder(url));
    assert.deepEqual(await ids(), [...before, openId, after, during]);
    assert.deepEqual(await listAfter(app, before[1]!), [openId, after, during]);
    await using follower = await follow(app, staff, { after: openId });
    assert.deepEqual((await follower.untilReceived(2)).map(({ id }) => id), [after, during]);
  } finally {
    await writers.end();
  }
});

Deno.test("upgrade: after ten minutes, an open transaction no longer delays events", async () => {
  const { url, writers, endOpen, before, after } = await openPreviousVersion();
  await using app = await openApp({ databaseUrl: url, hasPositionPublisher: true });
  const ids = async () => (await positionsIn(url)).map(({ event_id }) => event_id);
  try {
    await app.database.query((sql) =>
      sql`update gateway.event_publication set in_start_order_until = now()`
    );
    await until("the later event is published", async () => (await ids()).length === 3);
    assert.deepEqual(await ids(), [...before, after]);
    const openId = await endOpen();
    await until("all events are published", async () => (await ids()).length === 4);
    assert.deepEqual(await ids(), [...before, after, openId]);
  } finally {
    await writers.end();
  }
});

Deno.test("upgrade: a new installation does not wait for open transactions", async () => {
  const [row] = await runSql(
    await createDatabase(),
    "select in_start_order_until from gateway.event_publication",
  );
  assert.equal(row!.in_start_order_until, null);
});

Deno.test("upgrade: keeps the indexes that the previous version reads, which a new installation does not have", async () => {
  const url = await createDatabase({ template: null });
  const migrations = await loadMigrations();
  await migrate(url, migrations.filter(({ name }) => name < "0012"));
  const writers = postgres(url, { max: 1, onnotice: () => {} });
  await writeEvent(writers);
  await writers.end();
  await migrateDatabase(url, migrations);
  const indexes = async (database: string) => {
    const rows = await runSql(
      database,
      "select indexname from pg_indexes where schemaname = 'gateway' and tablename = 'events'",
    );
    return rows.map(({ indexname }) => indexname).toSorted();
  };
  const needed = ["events_in_order", "events_pkey", "events_resource_id_sequence_key"];
  assert.deepEqual(await indexes(url), ["events_by_name", "events_by_user", ...needed]);
  assert.deepEqual(await indexes(await createDatabase()), needed);
});
