import assert from "node:assert/strict";
import postgres from "postgres";
import { NIL, v7 as uuidv7 } from "uuid";
import { encodeCursor } from "../../http/lists/page.ts";
import { openApp, REAL_INSTALLATION, type TestApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import {
  follow,
  listAll,
  serveApp,
  type StreamMessage,
  writeEvent,
} from "../support/events/event_stream.ts";
import { buildNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { until } from "../support/until.ts";

const CHARGE = { payment_type: "gopay", gross_amount: 7_000 };

/** Longer than any test: events arrive by signal only, not by polling. */
const NEVER_POLLS = { pollMs: 3_600_000 };

async function createStaffKey(app: TestApp): Promise<string> {
  return await app.createKey({ userId: "carol", isStaff: true });
}

/** Separate connections on which a test writes events. */
function openWriters(url: string): { sql: postgres.Sql } & AsyncDisposable {
  const sql = postgres(url, { max: 10, onnotice: () => {} });
  return { sql, [Symbol.asyncDispose]: () => sql.end() };
}

function idsOf(messages: readonly StreamMessage[]): string[] {
  return messages.map(({ id }) => id);
}

/** Random numbers that are the same in each run. */
function createRandom(seed: number): (below: number) => number {
  return (below) => (seed = seed * 48_271 % 2_147_483_647) % below;
}

/** Reads some events, disconnects and reconnects, until it has all events. */
async function readInPieces(
  where: TestApp | string,
  key: string,
  options: { query?: string; seed: number; isAll: (received: StreamMessage[]) => boolean },
): Promise<StreamMessage[]> {
  const random = createRandom(options.seed);
  const received: StreamMessage[] = [];
  while (!options.isAll(received)) {
    const count = 1 + random(6);
    await using follower = await follow(where, key, { ...options, after: received.at(-1)?.id });
    await until(
      "enough events have arrived",
      () => follower.messages.length >= count || options.isAll(received.concat(follower.messages)),
    );
    // Events that arrived before the stream was closed count, too.
    received.push(...follower.messages);
  }
  return received;
}

async function makeManyEvents(payments: TestPayments): Promise<void> {
  await Promise.all(Array.from({ length: 6 }, async () => {
    for (let i = 0; i < 6; i++) {
      const payment = await payments.charge("gopay");
      const bodies = [
        buildNotification(payment, "settlement"),
        buildNotification(payment, "pending"),
      ];
      await Promise.all(bodies.map((body) => notifyAndRead(payments, body)));
    }
  }));
}

Deno.test("event stream: a reader that reconnects during concurrent writes misses nothing and gets nothing twice", async () => {
  await using payments = await openPayments({ poolSize: 8 });
  const { app, key } = payments;
  const staff = await createStaffKey(app);
  await using server = serveApp(app);
  // The readers start after this event.
  await payments.charge();
  await until("the event is listed", async () => (await listAll(app, staff)).length === 1);
  let count = Infinity;
  const isAll = (received: StreamMessage[]) => received.length >= count;
  const isAllSettled = (received: StreamMessage[]) => received.length >= (count - 1) / 2;
  const after = NIL;
  const reading = Promise.all([
    readInPieces(server.url, staff, { seed: 3, isAll }),
    readInPieces(app, key, { seed: 5, isAll }),
    readInPieces(app, staff, { seed: 7, isAll: isAllSettled, query: "?name=payment_settled" }),
  ]);
  await using permanent = await follow(server.url, staff, { after });
  await makeManyEvents(payments);
  count = 1 + 6 * 6 * 2;
  await payments.charge();
  const [allMessages, ownMessages, settledMessages] = await reading;
  await until(
    "the last event is listed",
    async () => (await listAll(app, staff)).length === count + 1,
  );
  const listed = (await listAll(app, staff)).map(({ id, name }) => ({ id, name }));
  await permanent.untilReceived(count + 1);
  assert.deepEqual(idsOf(permanent.messages), listed.map(({ id }) => id));
  const startOf = (messages: StreamMessage[]) =>
    listed.findIndex(({ id }) => id === messages[0]!.id);
  for (const messages of [allMessages, ownMessages]) {
    const expected = listed.slice(startOf(messages)).map(({ id }) => id);
    assert.deepEqual(idsOf(messages), expected.slice(0, messages.length));
    assert.ok(messages.length >= count);
  }
  const expected = listed.filter(({ name }) => name === "payment_settled").map(({ id }) => id);
  assert.deepEqual(idsOf(settledMessages), expected);
});

Deno.test("event stream: a reader that disconnects before its first event resumes after the start id, and gets only the events of its user", async () => {
  await using payments = await openPayments();
  const { app } = payments;
  const [staff, bob] = [await createStaffKey(app), await app.createKey({ userId: "bob" })];
  await payments.charge();
  await until("the event is listed", async () => (await listAll(app, staff)).length === 1);
  const firstId = (await listAll(app, staff))[0]!.id;
  const readStartId = async (key: string) => {
    await using follower = await follow(app, key);
    await until("the start id has arrived", () => follower.lastId() !== null);
    return follower.lastId()!;
  };
  const startIds = await Promise.all([payments.key, staff, bob].map(readStartId));
  assert.deepEqual(startIds, [firstId, firstId, NIL]);

  const { id } = await payments.charge();
  const bobsPayment = await (await payments.post("/charge/", CHARGE, {}, bob)).json();
  const received = async (key: string, after: string, count: number) => {
    await using follower = await follow(app, key, { after });
    const messages = await follower.untilReceived(count);
    return messages.map(({ data }) => JSON.parse(data).data.id);
  };
  assert.deepEqual(await received(payments.key, startIds[0]!, 1), [id]);
  assert.deepEqual(new Set(await received(staff, startIds[1]!, 2)), new Set([id, bobsPayment.id]));
  assert.deepEqual(await received(bob, startIds[2]!, 1), [bobsPayment.id]);
});

Deno.test("event stream: an event arrives while an earlier transaction is open, and a late commit arrives after it", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, streamOptions: { pollMs: 20 } });
  await using writers = openWriters(databaseUrl);
  const staff = await createStaffKey(app);
  await using follower = await follow(app, staff);
  const begun = Promise.withResolvers<string>();
  const commit = Promise.withResolvers<void>();
  const slowTransaction = writers.sql.begin(async (sql) => {
    begun.resolve(await writeEvent(sql));
    await commit.promise;
  });
  const slowEvent = await begun.promise;
  const quickEvent = await writeEvent(writers.sql);
  assert.deepEqual(idsOf(await follower.untilReceived(1)), [quickEvent]);
  await using laterFollower = await follow(app, staff);
  commit.resolve();
  await slowTransaction;
  assert.deepEqual(idsOf(await follower.untilReceived(2)), [quickEvent, slowEvent]);
  // `slowEvent` was committed after this stream was opened.
  assert.deepEqual(idsOf(await laterFollower.untilReceived(1)), [slowEvent]);
  await using resumed = await follow(app, staff, { after: quickEvent });
  assert.deepEqual(idsOf(await resumed.untilReceived(1)), [slowEvent]);
});

Deno.test("event stream: a reader that missed several pages gets all of them, then new events", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, streamOptions: { pollMs: 20 } });
  await using writers = openWriters(databaseUrl);
  const staff = await createStaffKey(app);
  const alice = await app.createKey();
  await writers.sql`
    with written as (
      insert into gateway.events
        (id, name, resource, resource_id, sequence, user_id, data, created_at)
      select ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid,
      case when i % 900 = 0 then 'payment_denied' else 'payment_settled' end,
      'payment', '00000000-0000-4000-8000-000000000001', i,
      case when i % 2 = 0 then 'alice' else 'bob' end, '{}', now()
      from generate_series(1, 5000) i returning id, sequence
    )
    insert into gateway.event_outbox (event_id) select id from written order by sequence`;
  const rows = await writers.sql`
    select id, name, user_id from gateway.events order by sequence`;
  const firstId = rows[0]!.id;
  const resource = "resource_id=00000000-0000-4000-8000-000000000001";
  for (
    const query of ["", "?name=payment_denied", `?${resource}`, `?name=payment_denied&${resource}`]
  ) {
    await using allEvents = await follow(app, staff, { after: firstId, query });
    await using ownEvents = await follow(app, alice, { after: NIL, query });
    const expected = rows.slice(1).filter(({ name }) =>
      query.includes("name=") ? name === "payment_denied" : true
    );
    const ids = expected.map(({ id }) => id);
    assert.deepEqual(idsOf(await allEvents.untilReceived(ids.length)), ids, query);
    const aliceIds = rows.filter(({ name, user_id }) =>
      user_id === "alice" && (query.includes("name=") ? name === "payment_denied" : true)
    ).map(({ id }) => id);
    assert.deepEqual(idsOf(await ownEvents.untilReceived(aliceIds.length)), aliceIds, query);
  }
  await using lastFollower = await follow(app, alice, { after: firstId });
  const newEvent = await writeEvent(writers.sql, { userId: "alice" });
  assert.equal((await lastFollower.untilReceived(2_501)).at(-1)!.id, newEvent);
});

Deno.test("event stream: an instance that never polls gets events of another instance by signal", async () => {
  await using payments = await openPayments({ streamOptions: NEVER_POLLS });
  await using otherInstance = await openApp({
    databaseUrl: payments.databaseUrl,
    streamOptions: NEVER_POLLS,
  });
  const staff = await createStaffKey(otherInstance);
  await using follower = await follow(payments.app, staff);
  await using otherFollower = await follow(otherInstance, staff);
  for (let count = 1; count <= 3; count++) {
    await payments.charge();
    await follower.untilReceived(count);
    assert.deepEqual(await otherFollower.untilReceived(count), follower.messages);
  }
});

Deno.test("event stream: a lost signal delays an event until the next poll", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, streamOptions: { pollMs: 20 } });
  await using writers = openWriters(databaseUrl);
  await using follower = await follow(app, await createStaffKey(app));
  const id = await writeEvent(writers.sql, { hasSignal: false });
  assert.deepEqual(idsOf(await follower.untilReceived(1)), [id]);
});

Deno.test("event stream: the listening connection reconnects by itself and finds the events it missed", async () => {
  await using payments = await openPayments({ streamOptions: NEVER_POLLS });
  const { app, databaseUrl } = payments;
  await using writers = openWriters(databaseUrl);
  await using follower = await follow(app, await createStaffKey(app));
  const listeners = () =>
    runSql(
      databaseUrl,
      `select pid from pg_stat_activity where datname = current_database()
        and application_name = 'payment-gateway events'`,
    );
  await until("a connection is listening", async () => (await listeners()).length === 1);
  for (let count = 1; count <= 2; count++) {
    const [{ pid }] = await listeners() as unknown as [{ pid: number }];
    const id = await writeEvent(writers.sql);
    await runSql(databaseUrl, `select pg_terminate_backend(${pid})`);
    assert.equal((await follower.untilReceived(2 * count - 1)).at(-1)!.id, id);
    await payments.charge();
    await follower.untilReceived(2 * count);
  }
  await follower.close();
  await until("no connection is listening", async () => (await listeners()).length === 0);
});

Deno.test("events: an id that the database never had is refused, and a deleted one continues with the oldest event", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({
    databaseUrl,
    env: { ...REAL_INSTALLATION, KEEP_EVENTS_DAYS: "30" },
  });
  await using writers = openWriters(databaseUrl);
  const staff = await createStaffKey(app);
  const written = [await writeEvent(writers.sql), await writeEvent(writers.sql)];
  const daysAgo = (days: number) => uuidv7({ msecs: Date.now() - days * 86_400_000 });
  for (const id of [daysAgo(0), daysAgo(29), daysAgo(29).toUpperCase(), daysAgo(-1)]) {
    const headers = { "Last-Event-ID": id };
    const stream = await app.as(staff, "/events/stream/", { headers });
    const { detail } = await assertProblem(stream, 410, "unknown_event");
    assert.match(detail!, /restored from a backup/);
    for (const order of ["oldest_first", "newest_first"]) {
      const list = await app.as(staff, `/events/?order=${order}&cursor=${encodeCursor(id)}`);
      await assertProblem(list, 410, "unknown_event");
    }
  }
  for (const id of [NIL, daysAgo(31)]) {
    await using follower = await follow(app, staff, { after: id });
    assert.deepEqual(idsOf(await follower.untilReceived(2)), written);
  }
});

for (const failure of ["cut", "silence"] as const) {
  Deno.test(`event stream: stays open while the database is unavailable (${failure}), and continues afterwards`, async () => {
    const databaseUrl = await createDatabase();
    const { proxy, url } = throughProxy(databaseUrl);
    await using _ = proxy;
    await using writers = openWriters(databaseUrl);
    await using app = await openApp({
      databaseUrl: url,
      streamOptions: { pollMs: 20, heartbeatMs: 10 },
    });
    const staff = await createStaffKey(app);
    const written = [await writeEvent(writers.sql)];
    await using live = await follow(app, staff, { after: NIL });
    await live.untilReceived(1);
    proxy[failure]();
    await until(
      "the follower has failed",
      () => app.logged().some(({ event }) => event === "event_follower_failed"),
    );
    for (let i = 0; i < 3; i++) written.push(await writeEvent(writers.sql));
    await assertProblem(await app.as(staff, "/events/stream/"), 503, "unavailable");
    const headers = { "Last-Event-ID": written[0]! };
    await assertProblem(await app.as(staff, "/events/stream/", { headers }), 503, "unavailable");
    const heartbeats = live.heartbeats();
    await until("heartbeats still arrive", () => live.heartbeats() > heartbeats + 2);
    assert.equal(live.messages.length, 1);
    proxy.restore();
    assert.deepEqual(idsOf(await live.untilReceived(4)), written);
    await using resumed = await follow(app, staff, { after: written[0] });
    assert.deepEqual(idsOf(await resumed.untilReceived(3)), written.slice(1));
    assert.equal(app.logged().filter(({ event }) => event === "event_stream_failed").length, 0);
  });
}

Deno.test("event stream: no event is lost if the database is unavailable while a reader catches up", async () => {
  const databaseUrl = await createDatabase();
  const { proxy, url } = throughProxy(databaseUrl);
  await using _ = proxy;
  await using writers = openWriters(databaseUrl);
  await using app = await openApp({ databaseUrl: url });
  const staff = await createStaffKey(app);
  const written = [];
  for (let i = 0; i < 120; i++) written.push(await writeEvent(writers.sql));
  const response = await app.as(staff, "/events/stream/", {
    headers: { "Last-Event-ID": NIL },
  });
  // The first page was sent and is not read yet.
  proxy.cut();
  const restored = until(
    "the follower has failed",
    () => app.logged().some(({ event }) => event === "event_follower_failed"),
  ).then(proxy.restore);
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body!) {
    text += decoder.decode(bytes, { stream: true });
    if (text.match(/^id: /gm)?.length === 120) break;
  }
  await restored;
  assert.deepEqual([...text.matchAll(/^id: (\S+)$/gm)].map(([, id]) => id), written);
});
