import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { NIL } from "uuid";
import type { Caller } from "../../core/auth/caller.ts";
import { listEvents } from "../../core/events/read.ts";
import { openApp, type TestApp, type TestAppOptions } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { writeEvent as write } from "../support/events/event_stream.ts";
import { openPayments } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

const STAFF: Caller = {
  userId: "ops",
  isStaff: true,
  isViewer: false,
  credential: "api_key",
  keyPrefix: null,
};

/** An app, and separate connections on which a test writes events. */
async function openAppWithWriters(options: Partial<TestAppOptions> = {}) {
  const url = await createDatabase();
  const app = await openApp({ databaseUrl: url, hasPositionPublisher: true, ...options });
  const writers = postgres(url, { max: 10, onnotice: () => {} });
  return {
    url,
    app,
    writers,
    async [Symbol.asyncDispose]() {
      await writers.end();
      await app[Symbol.asyncDispose]();
    },
  };
}

const ALL = { names: null, resourceId: null, order: "oldest_first", after: null } as const;

type EventFilter = Parameters<typeof listEvents>[2];

async function page({ service }: TestApp, filter: Partial<EventFilter> = {}) {
  const { events, next } = await listEvents(service, STAFF, { ...ALL, limit: 100, ...filter });
  return { ids: events.map(({ id }) => id), next };
}

/** Reads all pages. */
async function readAll(app: TestApp, filter: Partial<EventFilter> = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | null = null;;) {
    const read = await page(app, { ...filter, after });
    ids.push(...read.ids);
    if (read.next === null) return ids;
    after = read.next;
  }
}

/** Waits, because events can be read only after they were committed and published. */
async function untilRead(app: TestApp, count: number, filter: Partial<EventFilter> = {}) {
  await until(
    `${count} events can be read`,
    async () => (await readAll(app, filter)).length >= count,
  );
}

Deno.test("event order: an event is readable while an earlier transaction is open, and a late commit comes after it", async () => {
  await using opened = await openAppWithWriters();
  const { app, writers } = opened;
  const earlyEvent = await write(writers);
  await untilRead(app, 1);
  const begun = Promise.withResolvers<string>();
  const commit = Promise.withResolvers<void>();
  const slowTransaction = writers.begin(async (sql) => {
    begun.resolve(await write(sql));
    await commit.promise;
  });
  const slowEvent = await begun.promise;
  const quickEvent = await write(writers);
  const resources = await writers`select id, resource_id from gateway.events`;
  const { resource_id } = resources.find(({ id }) => id === quickEvent)!;
  try {
    await untilRead(app, 2);
    assert.deepEqual(await readAll(app), [earlyEvent, quickEvent]);
    assert.deepEqual(await readAll(app, { order: "newest_first" }), [quickEvent, earlyEvent]);
    assert.deepEqual(await readAll(app, { names: ["payment_settled"] }), [earlyEvent, quickEvent]);
    assert.deepEqual(await readAll(app, { resourceId: resource_id }), [quickEvent]);
    assert.deepEqual((await page(app, { after: quickEvent })).ids, []);
  } finally {
    commit.resolve();
  }
  await slowTransaction;
  await untilRead(app, 3);
  assert.deepEqual(await readAll(app), [earlyEvent, quickEvent, slowEvent]);
  assert.deepEqual(await readAll(app, { order: "newest_first" }), [
    slowEvent,
    quickEvent,
    earlyEvent,
  ]);
  assert.deepEqual((await page(app, { after: earlyEvent })).ids, [quickEvent, slowEvent]);
  assert.deepEqual((await page(app, { after: quickEvent })).ids, [slowEvent]);
});

Deno.test("event order: an event of a rolled-back transaction is never read and does not block later events", async () => {
  await using opened = await openAppWithWriters();
  const { app, writers } = opened;
  let lostEvent = "";
  await assert.rejects(
    writers.begin(async (sql) => {
      lostEvent = await write(sql);
      throw new Error("rolled back");
    }),
    { message: "rolled back" },
  );
  const keptEvent = await write(writers);
  await untilRead(app, 1);
  assert.deepEqual(await readAll(app), [keptEvent]);
  await assert.rejects(page(app, { after: lostEvent }), { code: "unknown_event" });
});

Deno.test("event order: readers during concurrent writes see each event once, in the same order", async () => {
  await using opened = await openAppWithWriters();
  const { app, writers } = opened;
  let areWritesDone = false;
  let seed = 7;
  const random = (below: number) => (seed = seed * 48_271 % 2_147_483_647) % below;
  const pause = () => new Promise((resolve) => setTimeout(resolve, random(4)));

  async function writeMany() {
    for (let round = 0; round < 25; round++) {
      const isRolledBack = random(5) === 0;
      await writers.begin(async (sql) => {
        for (let i = random(3); i >= 0; i--) {
          await write(sql, { name: `payment_${random(2) === 0 ? "settled" : "denied"}` });
          await pause();
        }
        if (isRolledBack) throw new Error("rolled back");
      }).catch((error) => assert.equal(error.message, "rolled back"));
    }
  }

  /** Reads page after page until all writes are done. */
  async function readByCursor(filter: Partial<EventFilter>): Promise<string[]> {
    const ids: string[] = [];
    for (let wereWritesDone = false;; wereWritesDone = areWritesDone) {
      const read = await page(app, { ...filter, after: ids.at(-1) ?? null, limit: 3 });
      ids.push(...read.ids);
      if (read.ids.length === 0 && wereWritesDone) return ids;
    }
  }

  /** Asserts that each read starts with the events of the previous read. */
  async function readRepeatedly(): Promise<void> {
    let knownIds: string[] = [];
    while (!areWritesDone) {
      const oldestFirst = await readAll(app, { limit: 7 });
      assert.deepEqual(oldestFirst.slice(0, knownIds.length), knownIds);
      const newestFirst = await readAll(app, { order: "newest_first", limit: 7 });
      assert.deepEqual(newestFirst.reverse().slice(0, oldestFirst.length), oldestFirst);
      knownIds = oldestFirst;
    }
  }

  async function writeAll(): Promise<number> {
    try {
      await Promise.all([1, 2, 3, 4, 5].map(writeMany));
      const [row] = await writers`select count(*)::int from gateway.events`;
      await untilRead(app, row!.count);
      return row!.count;
    } finally {
      areWritesDone = true;
    }
  }

  const reading = [readByCursor({}), readByCursor({ names: ["payment_denied"] })] as const;
  const [count, allIds, deniedIds] = await Promise.all([writeAll(), ...reading, readRepeatedly()]);
  assert.deepEqual(allIds, await readAll(app));
  assert.deepEqual(deniedIds, await readAll(app, { names: ["payment_denied"] }));
  assert.equal(new Set(allIds).size, count);
});

Deno.test("event list: pages, filters and both orders agree", async () => {
  await using opened = await openAppWithWriters();
  const { app, writers } = opened;
  const [firstResource, secondResource] = [randomUUID(), randomUUID()];
  const written: { id: string; name: string; resourceId: string }[] = [];
  for (let sequence = 1; sequence <= 6; sequence++) {
    for (const resourceId of [firstResource, secondResource]) {
      const name = sequence % 2 === 0 ? "payment_settled" : "payment_received";
      written.push({ id: await write(writers, { name, resourceId, sequence }), name, resourceId });
    }
  }
  await untilRead(app, 12);
  const [settled, received, expired] = [
    "payment_settled",
    "payment_received",
    "payment_expired",
  ] as const;
  for (const names of [null, [settled], [expired], [expired, settled], [received, settled]]) {
    for (const resourceId of [null, firstResource, randomUUID()]) {
      const expected = written.filter((event) =>
        (names ?? [event.name]).includes(event.name) &&
        event.resourceId === (resourceId ?? event.resourceId)
      ).map(({ id }) => id);
      for (const limit of [1, 2, 5, 100]) {
        const filter = { names, resourceId, limit };
        assert.deepEqual(await readAll(app, filter), expected);
        assert.deepEqual(
          await readAll(app, { ...filter, order: "newest_first" }),
          expected.toReversed(),
        );
        assert.ok((await page(app, filter)).ids.length <= limit);
      }
      assert.equal(
        (await page(app, { names, resourceId, limit: expected.length || 1 })).next,
        null,
      );
      // Events are pruned oldest first, so every event that is left comes after a pruned one.
      const deletedCursor = { names, resourceId, after: NIL };
      assert.deepEqual((await page(app, deletedCursor)).ids, expected);
      assert.deepEqual((await page(app, { ...deletedCursor, order: "newest_first" })).ids, []);
    }
  }
});

Deno.test("event list: a time range has all its events, even if an event was created before another one and committed after it", async () => {
  await using opened = await openAppWithWriters();
  const { app, writers } = opened;
  const start = Date.parse("2026-03-05T04:00:00Z");
  // In the order of their commits.
  const seconds = [60.002, 60.001, 120, 127, 119, 128, 124, 190, 199, 191];
  const written: { id: string; at: number }[] = [];
  for (const second of seconds) {
    const at = start + second * 1_000;
    written.push({ id: await write(writers, { createdAt: new Date(at) }), at });
  }
  await untilRead(app, seconds.length);
  for (const second of [0, 60, 60.002, 61, 119, 120, 125, 128, 129, 191, 195, 200]) {
    const from = start + second * 1_000;
    for (const to of [from + 1, from + 5_000, from + 60_000, from + 3_600_000]) {
      const filter = { created_from: new Date(from), created_to: new Date(to) };
      const expected = written.filter(({ at }) => from <= at && at < to).map(({ id }) => id);
      for (const limit of [1, 100]) {
        const name = `${second} s, ${to - from} ms, ${limit}`;
        assert.deepEqual(await readAll(app, { ...filter, limit }), expected, name);
        const newest = await readAll(app, { ...filter, limit, order: "newest_first" });
        assert.deepEqual(newest, expected.toReversed(), name);
      }
    }
  }
});

Deno.test("event list: while older events have no position, a time range is empty", async () => {
  await using opened = await openAppWithWriters({ hasPositionPublisher: false });
  const { app, writers } = opened;
  const start = Date.parse("2026-03-05T04:00:00Z");
  for (const second of [0, 60]) {
    const createdAt = new Date(start + second * 1_000);
    await write(writers, { createdAt, hasSignal: false });
  }
  for (const order of ["oldest_first", "newest_first"] as const) {
    const filter = { created_from: new Date(start + 30_000), order };
    assert.deepEqual((await page(app, filter)).ids, []);
  }
  await app.publishEvents();
  assert.equal((await page(app, { created_from: new Date(start + 30_000) })).ids.length, 1);
});

Deno.test("event order: events of one transaction are read in the order in which they happened", async () => {
  await using payments = await openPayments();
  const { app, sandbox } = payments;
  for (let i = 0; i < 8; i++) {
    const { id, transaction_id } = await payments.charge("gopay");
    await sandbox.control(`transactions/${transaction_id}/pay`);
    const refund = { refund_key: `dashboard-${i}`, amount: 1_000 };
    assert.equal((await sandbox.post(`/v2/${transaction_id}/refund`, refund)).status_code, "200");
    await payments.refresh(id);
  }
  await untilRead(app, 24);
  const read = await listEvents(app.service, STAFF, { ...ALL, limit: 100 });
  assert.deepEqual(
    read.events.map(({ name }) => name),
    Array(8).fill(["payment_received", "payment_settled", "payment_refunded"]).flat(),
  );
});

Deno.test("event list: is forbidden for users", async () => {
  await using opened = await openAppWithWriters();
  const listing = listEvents(opened.app.service, { ...STAFF, isStaff: false }, {
    ...ALL,
    limit: 10,
  });
  await assert.rejects(listing, { code: "forbidden", status: 403 });
});
