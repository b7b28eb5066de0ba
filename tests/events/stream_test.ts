import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { NIL } from "uuid";
import { callService } from "../support/client.ts";
import { runSql } from "../support/database/database.ts";
import { follow, listAll, parseMessage, serveApp } from "../support/events/event_stream.ts";
import { buildNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { createDataFolder } from "../support/project.ts";
import { startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const HOUR_MS = 3_600_000;

async function openWithStaff(options: Parameters<typeof openPayments>[0] = {}) {
  const payments = await openPayments(options);
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  return { payments, app: payments.app, staff };
}

async function settle(payments: TestPayments, id: string): Promise<void> {
  await notifyAndRead(payments, buildNotification(await payments.read(id), "settlement"));
}

Deno.test("event stream: sends events as `GET /events/` lists them, with id and name", async () => {
  const { payments, app, staff } = await openWithStaff();
  await using _ = payments;
  await payments.charge();
  await until("the event is listed", async () => (await listAll(app, staff)).length === 1);
  await using server = serveApp(app);
  await using follower = await follow(server.url, staff);
  const { headers } = follower.response;
  assert.equal(headers.get("cache-control"), "no-store, no-transform");
  assert.equal(headers.get("x-accel-buffering"), "no");
  assert.ok(headers.get("x-request-id"));

  const { id } = await payments.charge();
  await settle(payments, id);
  const messages = await follower.untilReceived(2);
  const listed = (await listAll(app, staff)).slice(1);
  assert.deepEqual(messages.map(parseMessage), listed);
  assert.deepEqual(messages.map(({ data }) => JSON.parse(data)), listed);
  assert.deepEqual(messages.map(({ event }) => event), ["payment_received", "payment_settled"]);
  assert.deepEqual(listed.map(({ sequence }) => sequence), [1, 2]);
});

Deno.test("event stream: staff get all events, users only their own", async () => {
  const { payments, app, staff } = await openWithStaff();
  await using _ = payments;
  const bob = await app.createKey({ userId: "bob" });
  await using forStaff = await follow(app, staff);
  await using forAlice = await follow(app, payments.key);
  await using forBob = await follow(app, bob);
  const charge = { payment_type: "gopay", gross_amount: 7_000 };
  for (const key of [payments.key, bob, staff, bob, payments.key]) {
    assert.equal((await payments.post("/charge/", charge, {}, key)).status, 201);
  }
  // An event without an owner.
  const ownerless = randomUUID();
  await runSql(
    payments.databaseUrl,
    `insert into gateway.events (id, name, resource, resource_id, sequence, data, created_at)
    values ('${ownerless}', 'webhook_endpoint_disabled', 'webhook_endpoint', '${ownerless}', 1, '{}',
      now());
    insert into gateway.event_outbox (event_id) values ('${ownerless}'); notify gateway_events`,
  );
  await forStaff.untilReceived(6);
  const owners = await runSql(payments.databaseUrl, "select id, user_id from gateway.events");
  const ids = (user: string | null) =>
    forStaff.messages.filter(({ id }) => owners.find((row) => row.id === id)!.user_id === user)
      .map(({ id }) => id);
  await forAlice.untilReceived(2);
  await forBob.untilReceived(2);
  assert.equal(forStaff.messages.at(-1)!.id, ownerless);
  assert.deepEqual(forAlice.messages.map(({ id }) => id), ids("alice"));
  assert.deepEqual(forBob.messages.map(({ id }) => id), ids("bob"));

  // Missed events are restricted to the caller's own events, too.
  await using reconnected = await follow(app, bob, { after: NIL });
  assert.deepEqual((await reconnected.untilReceived(2)).map(({ id }) => id), ids("bob"));
  // The id of another user's event counts as unknown.
  const headers = { "Last-Event-ID": ids("alice").at(-1)! };
  await assertProblem(await app.as(bob, "/events/stream/", { headers }), 410, "unknown_event");
});

Deno.test("event stream: filters by names and resource apply to missed and new events", async () => {
  const { payments, app, staff } = await openWithStaff();
  await using _ = payments;
  const [pending, settled] = [await payments.charge(), await payments.charge()];
  await settle(payments, settled.id);
  await until("all events are listed", async () => (await listAll(app, staff)).length === 3);
  const filters = {
    "": () => true,
    "?name=payment_settled": (name: string) => name === "payment_settled",
    "?name=payment_settled&name=payment_received&name=payment_settled": () => true,
    "?name=invoice_paid": () => false,
    [`?resource_id=${pending.id.toUpperCase()}`]: (_: string, id: string) => id === pending.id,
    [`?name=payment_settled&resource_id=${pending.id}`]: (name: string, id: string) =>
      name === "payment_settled" && id === pending.id,
    [`?resource_id=${randomUUID()}`]: () => false,
  };
  for (const key of [staff, payments.key]) {
    for (const [query, isWanted] of Object.entries(filters)) {
      await using missed = await follow(app, key, { after: NIL, query });
      await using live = await follow(app, key, { query });
      await using everything = await follow(app, key);
      const { id } = await payments.charge();
      await settle(payments, id);
      await everything.untilReceived(2);
      const listed = await listAll(app, staff);
      const wanted = listed.filter(({ name, data }) => isWanted(name, data.id));
      assert.deepEqual(
        (await missed.untilReceived(wanted.length)).map(parseMessage),
        wanted,
        query,
      );
      const newEvents = wanted.filter((event) => event.data.id === id);
      assert.deepEqual(
        (await live.untilReceived(newEvents.length)).map(parseMessage),
        newEvents,
        query,
      );
    }
  }
});

Deno.test("event stream: an invalid id, name or resource returns 400 and opens no stream", async () => {
  const { payments, app, staff } = await openWithStaff();
  await using _ = payments;
  const invalidQueries = {
    "?name=payment_exploded": "name.0",
    "?name=payment_settled&name=x": "name.1",
    "?name=": "name.0",
    "?resource_id=order-1": "resource_id",
    "?resource_id=": "resource_id",
    [`?resource_id=${randomUUID()}&resource_id=${randomUUID()}`]: "resource_id",
  };
  for (const [query, field] of Object.entries(invalidQueries)) {
    const problem = await assertProblem(
      await app.as(staff, `/events/stream/${query}`),
      400,
      "validation_error",
    );
    assert.equal(problem.errors?.[0]?.field, field, query);
  }
  for (const after of ["1", "' or 1=1", "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5x", "-"]) {
    const headers = { "Last-Event-ID": after };
    const problem = await assertProblem(
      await app.as(staff, "/events/stream/", { headers }),
      400,
      "validation_error",
    );
    assert.equal(problem.errors?.[0]?.field, "Last-Event-ID");
  }
  await assertProblem(await app.request("/events/stream/"), 401, "unauthenticated");
  assert.equal(app.streams.count(), 0);
});

Deno.test("event stream: HEAD returns the headers of GET and opens no stream", async () => {
  const { payments, app, staff } = await openWithStaff();
  await using _ = payments;
  const response = await app.as(staff, "/events/stream/", { method: "HEAD" });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  assert.equal(await response.text(), "");
  assert.equal(app.streams.count(), 0);
});

Deno.test("event stream: sends heartbeats when idle, and is removed when its client disconnects", async () => {
  const { payments, app, staff } = await openWithStaff({ streamOptions: { heartbeatMs: 20 } });
  await using _ = payments;
  await using server = serveApp(app);
  await using openStream = await follow(server.url, staff);
  await using closingStream = await follow(server.url, staff);
  await until(
    "both get heartbeats",
    () => openStream.heartbeats() > 2 && closingStream.heartbeats() > 2,
  );
  assert.equal(app.streams.count(), 2);
  await closingStream.close();
  await until("one stream is left", () => app.streams.count() === 1);
  const before = openStream.heartbeats();
  await until("more heartbeats arrive", () => openStream.heartbeats() > before);
});

Deno.test("event stream: ends within 15 minutes, and a reconnect continues where it ended", async () => {
  let now = Date.now();
  const { payments, app, staff } = await openWithStaff({
    now: () => now,
    streamOptions: { heartbeatMs: 20 },
  });
  await using _ = payments;
  await using follower = await follow(app, staff);
  await payments.charge();
  const [firstMessage] = await follower.untilReceived(1);
  now += 13 * 60_000;
  const heartbeats = follower.heartbeats();
  await until("heartbeats still arrive", () => follower.heartbeats() > heartbeats + 1);
  now += 2 * 60_000;
  assert.equal(await follower.ended, "ended");
  assert.equal(app.streams.count(), 0);
  const { id } = await payments.charge();
  await using reconnected = await follow(app, staff, { after: firstMessage!.id });
  const [nextMessage] = await reconnected.untilReceived(1);
  assert.equal(parseMessage(nextMessage!).data.id, id);
});

Deno.test("event stream: each stream counts as one request for the rate limit and logs one line", async () => {
  const { payments, app, staff } = await openWithStaff({
    env: { RATE_LIMIT_PER_SECOND: "1", RATE_LIMIT_BURST: "2" },
    now: () => HOUR_MS,
    streamOptions: { heartbeatMs: 5 },
  });
  await using _ = payments;
  await using firstFollower = await follow(app, staff);
  await using secondFollower = await follow(app, staff);
  await until(
    "both get heartbeats",
    () => firstFollower.heartbeats() > 5 && secondFollower.heartbeats() > 5,
  );
  await assertProblem(await app.as(staff, "/events/stream/"), 429, "rate_limited");
  const lines = app.logged().filter(({ route }) => route === "/events/stream/");
  assert.deepEqual(lines.map(({ status }) => status), [200, 200, 429]);
});

Deno.test("event stream: all streams end at shutdown, and no more are opened", async () => {
  const { payments, app, staff } = await openWithStaff();
  await using _ = payments;
  await using server = serveApp(app);
  const followers = await Promise.all([1, 2, 3].map(() => follow(server.url, staff)));
  app.streams.close();
  for (const { ended } of followers) assert.equal(await ended, "ended");
  const response = await app.as(staff, "/events/stream/");
  assert.ok(Number(response.headers.get("retry-after")) > 0);
  await assertProblem(response, 503, "unavailable");
});

Deno.test("event stream: ends without an error for the client after SIGTERM", async () => {
  await using folder = await createDataFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  await using follower = await follow(service.url, service.keys.user);
  const charged = await callService(`${service.url}/charge/`, {
    method: "POST",
    headers: {
      "Authorization": `Bearer ${service.keys.user}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ payment_type: "gopay", gross_amount: 5_000 }),
  });
  const { id } = await charged.json();
  const [message] = await follower.untilReceived(1);
  assert.equal(parseMessage(message!).data.id, id);
  service.signal("SIGTERM");
  // If the stream were cut off after the grace period, the client would get an error.
  assert.equal(await follower.ended, "ended");
  assert.equal((await service.ended).code, 0);
});
