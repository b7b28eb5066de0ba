import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { NIL } from "uuid";
import { openApp, type TestApp } from "../support/app.ts";
import { ask, createDatabase } from "../support/database/database.ts";
import {
  follow,
  listAll,
  serveApp,
  type Told,
  writeEvent,
} from "../support/events/event_stream.ts";
import { notified, telling } from "../support/gateway/notifications.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { until } from "../support/until.ts";

const CHARGE = { payment_type: "gopay", gross_amount: 7_000 };

/** Longer than any test: what is heard was told, not found. */
const NEVER_LOOKS = { pollMs: 3_600_000 };

async function createStaffKey(app: TestApp): Promise<string> {
  return await app.createKey({ userId: "carol", isStaff: true });
}

/** Connections beside the service, that write events whenever a test wants. */
function openWriters(url: string): { sql: postgres.Sql } & AsyncDisposable {
  const sql = postgres(url, { max: 10, onnotice: () => {} });
  return { sql, [Symbol.asyncDispose]: () => sql.end() };
}

function idsOf(told: readonly Told[]): string[] {
  return told.map(({ id }) => id);
}

/** Numbers that come in the same order each time. */
function chance(seed: number): (below: number) => number {
  return (below) => (seed = seed * 48_271 % 2_147_483_647) % below;
}

/** Reads a few, goes away, comes back, until it has heard all there is. */
async function readInPieces(
  where: TestApp | string,
  key: string,
  options: { query?: string; seed: number; isAll: (heard: Told[]) => boolean },
): Promise<Told[]> {
  const random = chance(options.seed);
  const heard: Told[] = [];
  while (!options.isAll(heard)) {
    const most = 1 + random(6);
    await using follower = await follow(where, key, { ...options, after: heard.at(-1)?.id });
    await until(
      "enough is told",
      () => follower.told.length >= most || options.isAll(heard.concat(follower.told)),
    );
    // What came after it was told that this is enough was told, too.
    heard.push(...follower.told);
  }
  return heard;
}

async function makeManyEvents(payments: TestPayments): Promise<void> {
  await Promise.all(Array.from({ length: 6 }, async () => {
    for (let i = 0; i < 6; i++) {
      const payment = await payments.charge("gopay");
      const bodies = [telling(payment, "settlement"), telling(payment, "pending")];
      await Promise.all(bodies.map((body) => notified(payments, body)));
    }
  }));
}

Deno.test("whoever comes and goes while many write misses nothing and hears nothing twice", async () => {
  await using payments = await openPayments({ poolSize: 8 });
  const { app, key } = payments;
  const staff = await createStaffKey(app);
  await using server = serveApp(app);
  // Something to begin after.
  await payments.charge();
  await until("it can be read", async () => (await listAll(app, staff)).length === 1);
  let count = Infinity;
  const isAll = (heard: Told[]) => heard.length >= count;
  const isAllSettled = (heard: Told[]) => heard.length >= (count - 1) / 2;
  const after = randomUUID();
  const reading = Promise.all([
    readInPieces(server.url, staff, { seed: 3, isAll }),
    readInPieces(app, key, { seed: 5, isAll }),
    readInPieces(app, staff, { seed: 7, isAll: isAllSettled, query: "?name=payment_settled" }),
  ]);
  await using stays = await follow(server.url, staff, { after });
  await makeManyEvents(payments);
  count = 1 + 6 * 6 * 2;
  await payments.charge();
  const [all, own, settled] = await reading;
  await until("the last can be read", async () => (await listAll(app, staff)).length === count + 1);
  const listed = (await listAll(app, staff)).map(({ id, name }) => ({ id, name }));
  await stays.untilTold(count + 1);
  assert.deepEqual(idsOf(stays.told), listed.map(({ id }) => id));
  const begin = (told: Told[]) => listed.findIndex(({ id }) => id === told[0]!.id);
  for (const told of [all, own]) {
    const expected = listed.slice(begin(told)).map(({ id }) => id);
    assert.deepEqual(idsOf(told), expected.slice(0, told.length));
    assert.ok(told.length >= count);
  }
  const expected = listed.filter(({ name }) => name === "payment_settled").map(({ id }) => id);
  assert.deepEqual(idsOf(settled), expected);
});

Deno.test("who is cut off before anything happened goes on there, and is shown nobody else's events", async () => {
  await using payments = await openPayments();
  const { app } = payments;
  const [staff, bob] = [await createStaffKey(app), await app.createKey({ userId: "bob" })];
  await payments.charge();
  await until("it is over", async () => (await listAll(app, staff)).length === 1);
  const first = (await listAll(app, staff))[0]!.id;
  const cutOff = async (key: string) => {
    await using follower = await follow(app, key);
    await until("it is told where it is", () => follower.lastId() !== null);
    return follower.lastId()!;
  };
  const places = await Promise.all([payments.key, staff, bob].map(cutOff));
  assert.deepEqual(places, [first, first, NIL]);

  const { id } = await payments.charge();
  const bobs = await (await payments.post("/charge/", CHARGE, {}, bob)).json();
  const heard = async (key: string, after: string, count: number) => {
    await using follower = await follow(app, key, { after });
    const told = await follower.untilTold(count);
    return told.map(({ data }) => JSON.parse(data).data.id);
  };
  assert.deepEqual(await heard(payments.key, places[0]!, 1), [id]);
  assert.deepEqual(new Set(await heard(staff, places[1]!, 2)), new Set([id, bobs.id]));
  assert.deepEqual(await heard(bob, places[2]!, 1), [bobs.id]);
});

Deno.test("what began early and is committed late is told in its place, before what overtook it", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, streamOptions: { pollMs: 20 } });
  await using writers = openWriters(databaseUrl);
  const staff = await createStaffKey(app);
  await using follower = await follow(app, staff);
  const begun = Promise.withResolvers<string>();
  const commit = Promise.withResolvers<void>();
  const slow = writers.sql.begin(async (sql) => {
    begun.resolve(await writeEvent(sql));
    await commit.promise;
  });
  const slowOne = await begun.promise;
  const quickOne = await writeEvent(writers.sql);
  // Whoever opens a stream has a look taken: it is over now, and found it.
  await using later = await follow(app, staff);
  assert.deepEqual(follower.told, []);
  commit.resolve();
  await slow;
  assert.deepEqual(idsOf(await follower.untilTold(2)), [slowOne, quickOne]);
  // Committed after it was opened is one of them; the other was not settled then.
  assert.ok(idsOf(await later.untilTold(1)).includes(slowOne));
  await using resumed = await follow(app, staff, { after: slowOne });
  assert.deepEqual(idsOf(await resumed.untilTold(1)), [quickOne]);
});

Deno.test("more than a page was missed: all of it comes, and then what happens", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, streamOptions: { pollMs: 20 } });
  await using writers = openWriters(databaseUrl);
  const staff = await createStaffKey(app);
  const alice = await app.createKey();
  await writers.sql`
    insert into gateway.events
      (id, name, resource, resource_id, sequence, user_id, data, created_at)
    select ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid,
      case when i % 900 = 0 then 'payment_denied' else 'payment_settled' end,
      'payment', '00000000-0000-4000-8000-000000000001', i,
      case when i % 2 = 0 then 'alice' else 'bob' end, '{}', now()
    from generate_series(1, 5000) i`;
  const rows = await writers.sql`
    select id, name, user_id from gateway.events order by generation, xact_id, id`;
  const first = rows[0]!.id;
  const resource = "resource_id=00000000-0000-4000-8000-000000000001";
  for (
    const query of ["", "?name=payment_denied", `?${resource}`, `?name=payment_denied&${resource}`]
  ) {
    await using all = await follow(app, staff, { after: first, query });
    await using own = await follow(app, alice, { after: randomUUID(), query });
    const expected = rows.slice(1).filter(({ name }) =>
      query.includes("name=") ? name === "payment_denied" : true
    );
    const ids = expected.map(({ id }) => id);
    assert.deepEqual(idsOf(await all.untilTold(ids.length)), ids, query);
    const mine = rows.filter(({ name, user_id }) =>
      user_id === "alice" && (query.includes("name=") ? name === "payment_denied" : true)
    ).map(({ id }) => id);
    assert.deepEqual(idsOf(await own.untilTold(mine.length)), mine, query);
  }
  await using last = await follow(app, alice, { after: first });
  const fresh = await writeEvent(writers.sql, { userId: "alice" });
  assert.equal((await last.untilTold(2_501)).at(-1)!.id, fresh);
});

Deno.test("an event that one instance wrote is heard at the other, though it never looks by itself", async () => {
  await using payments = await openPayments({ streamOptions: NEVER_LOOKS });
  await using other = await openApp({
    databaseUrl: payments.databaseUrl,
    streamOptions: NEVER_LOOKS,
  });
  const staff = await createStaffKey(other);
  await using here = await follow(payments.app, staff);
  await using there = await follow(other, staff);
  for (let count = 1; count <= 3; count++) {
    await payments.charge();
    await here.untilTold(count);
    assert.deepEqual(await there.untilTold(count), here.told);
  }
});

Deno.test("a notification that was lost delays an event until the next look", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, streamOptions: { pollMs: 20 } });
  await using writers = openWriters(databaseUrl);
  await using follower = await follow(app, await createStaffKey(app));
  const id = await writeEvent(writers.sql);
  assert.deepEqual(idsOf(await follower.untilTold(1)), [id]);
});

Deno.test("who listens comes back by itself, and then finds what was told meanwhile", async () => {
  await using payments = await openPayments({ streamOptions: NEVER_LOOKS });
  const { app, databaseUrl } = payments;
  await using writers = openWriters(databaseUrl);
  await using follower = await follow(app, await createStaffKey(app));
  const listeners = () =>
    ask(
      databaseUrl,
      `select pid from pg_stat_activity where datname = current_database()
        and application_name = 'payment-gateway events'`,
    );
  await until("somebody listens", async () => (await listeners()).length === 1);
  for (let count = 1; count <= 2; count++) {
    const [{ pid }] = await listeners() as unknown as [{ pid: number }];
    const id = await writeEvent(writers.sql);
    await ask(databaseUrl, `select pg_terminate_backend(${pid})`);
    assert.equal((await follower.untilTold(2 * count - 1)).at(-1)!.id, id);
    await payments.charge();
    await follower.untilTold(2 * count);
  }
  await follower.close();
  await until("nobody listens any more", async () => (await listeners()).length === 0);
});

for (const how of ["cut", "silence"] as const) {
  Deno.test(`while the database is away (${how}) streams stay, and go on when it is back`, async () => {
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
    await using live = await follow(app, staff, { after: randomUUID() });
    await live.untilTold(1);
    proxy[how]();
    await until(
      "it is noticed",
      () => app.logged().some(({ event }) => event === "event_follower_failed"),
    );
    for (let i = 0; i < 3; i++) written.push(await writeEvent(writers.sql));
    await assertProblem(await app.as(staff, "/events/stream/"), 503, "unavailable");
    const headers = { "Last-Event-ID": written[0]! };
    await assertProblem(await app.as(staff, "/events/stream/", { headers }), 503, "unavailable");
    const beats = live.beats();
    await until("it still lives", () => live.beats() > beats + 2);
    assert.equal(live.told.length, 1);
    proxy.mend();
    assert.deepEqual(idsOf(await live.untilTold(4)), written);
    await using back = await follow(app, staff, { after: written[0] });
    assert.deepEqual(idsOf(await back.untilTold(3)), written.slice(1));
    assert.equal(app.logged().filter(({ event }) => event === "event_stream_failed").length, 0);
  });
}

Deno.test("the database goes while a stream catches up: it stays, and misses nothing", async () => {
  const databaseUrl = await createDatabase();
  const { proxy, url } = throughProxy(databaseUrl);
  await using _ = proxy;
  await using writers = openWriters(databaseUrl);
  await using app = await openApp({ databaseUrl: url });
  const staff = await createStaffKey(app);
  const written = [];
  for (let i = 0; i < 120; i++) written.push(await writeEvent(writers.sql));
  const response = await app.as(staff, "/events/stream/", {
    headers: { "Last-Event-ID": randomUUID() },
  });
  // The first page is there, and nobody has read it.
  proxy.cut();
  const mended = until(
    "it is noticed",
    () => app.logged().some(({ event }) => event === "event_follower_failed"),
  ).then(proxy.mend);
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body!) {
    text += decoder.decode(bytes, { stream: true });
    if (text.match(/^id: /gm)?.length === 120) break;
  }
  await mended;
  assert.deepEqual([...text.matchAll(/^id: (\S+)$/gm)].map(([, id]) => id), written);
});
