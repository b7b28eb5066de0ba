import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import type { Caller } from "../../core/auth/caller.ts";
import { startPositionPublisher } from "../../core/events/position_publisher.ts";
import { listEvents } from "../../core/events/read.ts";
import type { Database, Sql } from "../../db/connection/database.ts";
import { publishBatch } from "../../db/events/publication.ts";
import type { EventOrder } from "../../db/events/events.ts";
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

const STAFF: Caller = {
  userId: "ops",
  isStaff: true,
  isViewer: false,
  credential: "api_key",
  keyPrefix: null,
};

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
  { service }: TestApp,
  after: string,
  order: EventOrder = "oldest_first",
): Promise<string[]> {
  const filter = { names: null, resourceId: null, order, after, limit: 100 };
  const { events } = await listEvents(service, STAFF, filter);
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
  await using _ = startPositionPublisher({ ...app.service, databaseUrl });
  await untilPublished(app);
  assert.deepEqual(await readLag(), { unpublished: 0, oldest_unpublished_seconds: null });
  assert.equal((await listAll(app, staff)).length, 2);
});

Deno.test("event publisher: batches of any size give each committed event one position, in the order of its resource, without gaps", async () => {
  const url = await createDatabase();
  const database = openPool({ url, poolSize: 1 });
  const writers = postgres(url, { max: 8, onnotice: () => {} });
  let seed = 11;
  const random = (below: number) => (seed = seed * 48_271 % 2_147_483_647) % below;
  const open = new Set<() => Promise<void>>();
  /** The ids of each resource's events. */
  const committed = Array.from(
    { length: 8 },
    () => ({ resourceId: randomUUID(), ids: [] as string[] }),
  );
  /** As if they were locked by an open transaction. */
  const locked = new Set<unknown>();

  async function begin(): Promise<void> {
    const resource = committed[random(committed.length)]!;
    if (locked.has(resource)) return;
    locked.add(resource);
    const { resourceId } = resource;
    const isRolledBack = random(4) === 0;
    const begun = Promise.withResolvers<void>();
    const ending = Promise.withResolvers<void>();
    const ids: string[] = [];
    const done = writers.begin(async (sql) => {
      for (let i = random(5); i >= 0; i--) {
        const sequence = resource.ids.length + ids.length + 1;
        ids.push(await writeEvent(sql, { resourceId, sequence }));
      }
      begun.resolve();
      await ending.promise;
      if (isRolledBack) throw new Error("rolled back");
    }).then(() => resource.ids.push(...ids), (error) => {
      if (!isRolledBack) throw error;
    });
    await Promise.race([begun.promise, done]);
    open.add(async () => {
      ending.resolve();
      await done;
      locked.delete(resource);
    });
  }

  async function endOne(): Promise<void> {
    const end = [...open][random(open.size)]!;
    open.delete(end);
    await end();
  }

  const publish = async () =>
    (await database.transaction((sql) => publishBatch(sql, 1 + random(4)))).hasMore;

  try {
    for (let step = 0; step < 400; step++) {
      const action = random(3);
      if (action === 0 && open.size < 6) await begin();
      else if (action === 1 && open.size > 0) await endOne();
      else {
        const before = await positionsIn(writers);
        await publish();
        assert.deepEqual((await positionsIn(writers)).slice(0, before.length), before);
      }
    }
    while (open.size > 0) await endOne();
    while (await publish());
    const positions = await positionsIn(url);
    assert.deepEqual(positions.map(({ position }) => position), positions.map((_, i) => i + 1));
    for (const { ids } of committed) {
      const published = positions.map(({ event_id }) => event_id);
      assert.deepEqual(published.filter((id) => ids.includes(id)), ids);
    }
    const count = committed.flatMap(({ ids }) => ids).length;
    assert.equal(positions.length, count);
    assert.ok(count > 50, `${count} events`);
    assert.deepEqual([...await runSql(url, "select from gateway.event_outbox")], []);
  } finally {
    await writers.end();
    await database.close();
  }
});

/** Publishes a batch; returns how many entries of the outbox's index it has read. */
async function publishCounted(database: Database): Promise<{ count: number; read: number }> {
  const countRead = async (sql: Sql) => {
    const [row] = await sql<[{ count: number }]>`
      select pg_stat_get_xact_tuples_returned('gateway.event_outbox_pkey'::regclass)::int as count`;
    return row.count;
  };
  return await database.transaction(async (sql) => {
    const before = await countRead(sql);
    const { count } = await publishBatch(sql);
    return { count, read: await countRead(sql) - before };
  });
}

async function readUnread(url: string): Promise<string[]> {
  const rows = await runSql(
    url,
    "select range::text from gateway.event_publication, unnest(unread) range",
  );
  return rows.map(({ range }) => range);
}

Deno.test("event publisher: while a transaction is open, a batch does not read published events again, and then finds the transaction's event", async () => {
  // A database of another test has dead rows of that test.
  const url = await createDatabase({ isNew: true });
  const database = openPool({ url, poolSize: 1 });
  const writers = postgres(url, { max: 2, onnotice: () => {} });
  const written = Promise.withResolvers<string>();
  const ending = Promise.withResolvers<void>();
  const writeAndPublish = async () => {
    for (let i = 0; i < 5; i++) await writeEvent(writers);
    return await publishCounted(database);
  };
  try {
    const done = writers.begin(async (sql) => {
      written.resolve(await writeEvent(sql));
      await ending.promise;
    });
    const openEvent = await written.promise;
    for (let round = 0; round < 40; round++) {
      // The id of an event that is rolled back remains unread.
      if (round % 10 === 5) await rollBackEvent(writers);
      const { count, read } = await writeAndPublish();
      assert.equal(count, 5);
      assert.ok(read < 50, `${read} entries read in round ${round}`);
    }
    assert.equal((await readUnread(url)).length, 6, "the open event, 4 rolled-back ones, new ones");
    ending.resolve();
    await done;
    await publishAll(database);
    assert.equal((await positionsIn(url)).at(-1)!.event_id, openEvent);
    // The first batch confirms that the earlier transactions have ended; the second one forgets the
    // gaps that appeared after an earlier confirmation.
    for (let batch = 0; batch < 2; batch++) {
      await untilEarlierTransactionsEnd(url);
      await writeAndPublish();
    }
    assert.equal((await readUnread(url)).length, 1, "only new ids are unread");
  } finally {
    ending.resolve();
    await writers.end();
    await database.close();
  }
});

Deno.test("event publisher: while a transaction is open, a batch does not read former states of the publication", async () => {
  const url = await createDatabase({ isNew: true });
  const database = openPool({ url, poolSize: 1 });
  const writers = postgres(url, { max: 2, onnotice: () => {} });
  const written = Promise.withResolvers<string>();
  const ending = Promise.withResolvers<void>();
  const countBlocks = async (sql: Sql) => {
    const [row] = await sql<[{ count: number }]>`
      select pg_stat_get_xact_blocks_fetched('gateway.event_publication'::regclass)::int as count`;
    return row.count;
  };
  try {
    const done = writers.begin(async (sql) => {
      written.resolve(await writeEvent(sql));
      await ending.promise;
    });
    await written.promise;
    // As if 5,000 batches had been published; their states take about 60 blocks.
    await writers`
      do $$ begin for i in 1..5000 loop
        update gateway.event_publication set last_position = i where last_position = i - 1;
      end loop; end $$`.simple();
    await writeEvent(writers);
    const blocks = await database.transaction(async (sql) => {
      const before = await countBlocks(sql);
      assert.equal((await publishBatch(sql)).count, 1);
      return await countBlocks(sql) - before;
    });
    assert.ok(blocks < 20, `${blocks} blocks read`);
    assert.equal((await positionsIn(url))[0]!.position, 5_001);
    ending.resolve();
    await done;
  } finally {
    ending.resolve();
    await writers.end();
    await database.close();
  }
});

async function rollBackEvent(sql: postgres.Sql): Promise<void> {
  const rolledBack = new Error("rolled back");
  await assert.rejects(
    sql.begin(async (sql) => {
      await writeEvent(sql);
      throw rolledBack;
    }),
    rolledBack,
  );
}

Deno.test("event publisher: after many rollbacks, all ids above the first one are read, and a late event is found", async () => {
  const url = await createDatabase();
  const database = openPool({ url, poolSize: 1 });
  const writers = postgres(url, { max: 2, onnotice: () => {} });
  const written = Promise.withResolvers<string>();
  const ending = Promise.withResolvers<void>();
  try {
    const done = writers.begin(async (sql) => {
      written.resolve(await writeEvent(sql));
      await ending.promise;
    });
    const openEvent = await written.promise;
    // As if 1,000 events had been rolled back, each between two others.
    await writers`select setval('gateway.event_outbox_id_seq', 2000)`;
    await writers`
      update gateway.event_publication set unread = int8multirange(int8range(2001, null)) + (
        select range_agg(int8range(2 * i - 1, 2 * i)) from generate_series(1, 1000) i)`;
    await writeEvent(writers);
    await publishAll(database);
    assert.equal((await readUnread(url)).length, 1);
    ending.resolve();
    await done;
    await publishAll(database);
    assert.equal((await positionsIn(url)).at(-1)!.event_id, openEvent);
  } finally {
    ending.resolve();
    await writers.end();
    await database.close();
  }
});

Deno.test("event publisher: forgets gaps after a restore on a server with lower transaction numbers", async () => {
  const url = await createDatabase();
  const database = openPool({ url, poolSize: 1 });
  const writers = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await writeEvent(writers);
    await rollBackEvent(writers);
    await writeEvent(writers);
    assert.equal(await publishAll(database), 2);
    await runSql(
      url,
      "update gateway.event_publication set gaps_to = 3, gaps_before = '90000000000'",
    );
    await writeEvent(writers);
    assert.equal(await publishAll(database), 1);
    assert.deepEqual(await readUnread(url), ["[5,)"]);
  } finally {
    await writers.end();
    await database.close();
  }
});

Deno.test("event publisher: a new one finds events whose ids in the outbox began again, as after logical replication", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, hasPositionPublisher: false });
  const writers = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    for (let count = 0; count < 3; count++) await writeEvent(writers);
    assert.equal(await publishAll(app.database), 3);
    await runSql(databaseUrl, "alter sequence gateway.event_outbox_id_seq restart");
    await writeEvent(writers);
    assert.equal(await publishAll(app.database), 0, "its id was read before");
    await using _ = startPositionPublisher({ ...app.service, databaseUrl });
    await until("it is published", async () => (await positionsIn(databaseUrl)).length === 4);
    await writeEvent(writers);
    await until("a later one, too", async () => (await positionsIn(databaseUrl)).length === 5);
  } finally {
    await writers.end();
  }
});

Deno.test("event publisher: a writer takes the place of its event in the outbox after it has locked the payment", async () => {
  await using payments = await openPayments({ hasPositionPublisher: false });
  const { databaseUrl, sandbox } = payments;
  const { id, transaction_id } = await payments.charge("gopay");
  await sandbox.control(`transactions/${transaction_id}/pay`);
  const lastId = async () =>
    (await runSql(databaseUrl, "select last_value::int from gateway.event_outbox_id_seq"))[0]!
      .last_value;
  const locks = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const before = await lastId();
  try {
    let refreshing: Promise<unknown>;
    await locks.begin(async (sql) => {
      await sql`select from gateway.payments where id = ${id} for update`;
      refreshing = payments.refresh(id);
      await until("the writer waits for the lock", async () =>
        (await runSql(
          databaseUrl,
          `select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
        )).length > 0);
      assert.equal(await lastId(), before);
    });
    await refreshing!;
    assert.equal(await lastId(), before + 1);
  } finally {
    await locks.end();
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
  const firstPublisher = startPositionPublisher({ ...app.service, databaseUrl });
  try {
    await until("the first publisher has the lock", async () => (await sessions()).length === 1);
    const [{ pid }] = await sessions() as unknown as [{ pid: number }];
    await using _ = startPositionPublisher({ ...app.service, databaseUrl });
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
    await using _publisher = startPositionPublisher({ ...app.service, databaseUrl: url });
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
    await using _ = startPositionPublisher({ ...app.service, databaseUrl });
    await using follower = await opening;
    const messages = await follower.untilReceived(1);
    assert.deepEqual(messages.map(({ id }) => id), [laterEvent]);
    assert.notEqual(firstEvent, cursor);
  } finally {
    await writers.end();
  }
});
