import assert from "node:assert/strict";
import { prune } from "../../core/tasks/prune.ts";
import type { Database } from "../../db/connection/database.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { untilPublished } from "../support/events/publication.ts";
import { openApp } from "../support/app.ts";
import { callService } from "../support/client.ts";
import { startUntilUp } from "../support/crash/start_until_up.ts";
import { createDatabase } from "../support/database/database.ts";
import { createGate, type Gate } from "../support/database/gate.ts";
import { openGatedDatabase, type Packet, textOf } from "../support/database/gated_database.ts";
import { openWebhookReceiver, type WebhookReceiver } from "../support/events/webhook_receiver.ts";
import {
  eventIn,
  expectStatus,
  isSignedWith,
  openWebhooks,
  receivedNames,
  type TestWebhooks,
} from "../support/events/webhooks.ts";
import { type Json, openSandbox } from "../support/gateway/sandbox.ts";
import { jobsOf } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { shareOf } from "../support/share.ts";
import type { ServiceProcess } from "../support/service.ts";
import { until } from "../support/until.ts";

const DAY_MS = 24 * 3_600_000;

/** On a busy machine a statement may take long. */
const PATIENT = { databaseDeadlineMs: 20_000 };

const SERVER_KEY = "Mid-server-crash-test";

/** Used by kill points to hold the service back, or to kill it. */
interface KillControls {
  statements: Gate<Packet>;
  receiver: WebhookReceiver;
  /** Kills the service after this many more messages to the database. */
  killAfter(messages: number): void;
}

/** Prepares the kill. `arrived` returns true once the service has reached the kill point. */
type KillPoint = (controls: KillControls) => { arrived(): boolean };

const random = createRandom(seededState(28));

/** About as many messages as the service sends to the database in one round. */
const MESSAGES_PER_ROUND = 60;

/** Holds back statements with this text. */
function holdStatements(text: RegExp): KillPoint {
  return ({ statements }) => {
    const isHeld = (packets: Packet[]) => text.test(textOf(packets));
    statements.hold((packet) => isHeld([packet]));
    return { arrived: () => isHeld(statements.held()) };
  };
}

/** The first three cover the commit, the queue and the endpoint, and always have a round. */
const KILL_POINTS: [string, KillPoint][] = [
  // Matches the statement that publishes events: one of its parameters is this channel's name.
  ["after the commit, before publication", holdStatements(/gateway_published_events/)],
  ["after publication, before the delivery job is queued", holdStatements(/deliver_webhooks/)],
  ["after the endpoint's response, before it is stored", ({ statements, receiver }) => {
    const before = receiver.received.length;
    // The status is a parameter: a statement's text is sent only once for each connection.
    statements.hold((packet) =>
      receiver.received.length > before && /delivered/.test(textOf([packet]))
    );
    return { arrived: () => statements.held().length > 0 };
  }],
  ["during publication, before its commit", ({ statements }) => {
    let publishing: number | null = null;
    statements.hold((packet) => {
      const text = textOf([packet]);
      if (/gateway_published_events/.test(text)) publishing = packet.connection;
      return packet.connection === publishing && /commit/.test(text);
    });
    return { arrived: () => statements.held().length > 0 };
  }],
  ["before the endpoint responds", ({ receiver }) => {
    receiver.answer("hang");
    const before = receiver.received.length;
    return { arrived: () => receiver.received.length > before };
  }],
  ...Array.from({ length: 5 }, (): [string, KillPoint] => [
    "at any message to the database",
    ({ killAfter }) => {
      killAfter(1 + random.below(MESSAGES_PER_ROUND));
      return { arrived: () => false };
    },
  ]),
];

const ROUNDS = KILL_POINTS.slice(0, shareOf(KILL_POINTS.length, 3));

Deno.test("webhook delivery: all events arrive in order if the service is killed between commit and delivery", async () => {
  let messagesLeft = Infinity;
  let service: ServiceProcess | null = null;
  let isKilled = false;
  function killOnce() {
    if (!isKilled) service?.signal("SIGKILL");
    isKilled = true;
  }
  const onArrival = () => void (--messagesLeft === 0 && killOnce());
  const [statements, results] = [createGate<Packet>(onArrival), createGate<Packet>(() => {})];
  const databaseUrl = await createDatabase();
  await using sandbox = await openSandbox({ serverKey: SERVER_KEY, speed: 0 });
  await using gatedDatabase = openGatedDatabase(databaseUrl, { statements, results });
  await using otherApp = await openApp({
    ...PATIENT,
    databaseUrl,
    serverKey: SERVER_KEY,
    // Only the service that is killed publishes events.
    hasPositionPublisher: false,
  });
  await using receiver = openWebhookReceiver();
  const key = await otherApp.createKey({ userId: "ops", isStaff: true });
  const { database } = otherApp;

  async function start() {
    service = await startUntilUp({
      HOST: "127.0.0.1",
      DATABASE_URL: gatedDatabase.url,
      GATEWAY_BASE_URL: sandbox.url,
      GATEWAY_SERVER_KEY: SERVER_KEY,
      WEBHOOK_ALLOW_PRIVATE: "true",
    });
    isKilled = false;
  }
  async function kill() {
    messagesLeft = Infinity;
    killOnce();
    await service?.ended;
    statements.drop();
  }
  async function request(path: string, body?: Json): Promise<Json> {
    const response = await callService(service!.url + path, {
      method: body ? "POST" : "GET",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    return await response.json();
  }
  /** Repeats refused requests. Ignores connection errors, because the service is killed. */
  async function pay() {
    let payment: Json = {};
    try {
      while (!payment.id) {
        payment = await request("/charge/", { payment_type: "gopay", gross_amount: 10_000 });
      }
      await sandbox.control(`transactions/${payment.transaction_id}/pay`);
      while (payment.transaction_status !== "settlement") {
        const check = await request(`/payments/${payment.id}/check_status/`);
        payment = check.payment ?? payment;
      }
    } catch (error) {
      assert.ok(error instanceof TypeError || error instanceof SyntaxError, String(error));
    }
  }
  const countEvents = async () =>
    (await database.query((sql) => sql`select from gateway.events`)).length;
  const countUndelivered = async () =>
    (await database.query((sql) =>
      sql`select from gateway.events
        where id not in (select event_id from gateway.webhook_deliveries where status = 'delivered')`
    )).length;

  await start();
  try {
    const { id, secret } = await request("/webhook-endpoints/", { url: receiver.url });
    for (const [name, prepareKill] of ROUNDS) {
      const eventsBefore = await countEvents();
      const { arrived } = prepareKill({
        statements,
        receiver,
        killAfter: (messages) => messagesLeft = messages,
      });
      let isPaid = false;
      const paying = pay().then(() => isPaid = true);
      await until(name, async () =>
        isKilled ||
        // The publisher also runs without events, so a held statement alone says nothing.
        arrived() && await countEvents() > eventsBefore ||
        // With a random kill point, all deliveries may be done before the kill.
        isPaid && await countUndelivered() === 0);
      await kill();
      await paying;
      receiver.answer({});
      await start();
      await until(
        `all deliveries have arrived after a kill ${name}`,
        async () => await countUndelivered() === 0,
      );
    }
    const events = await database.query((sql) =>
      sql<{ id: string; resource_id: string }[]>`
        select id, resource_id from gateway.events order by resource_id, sequence`
    );
    const deliveries = await database.query((sql) =>
      sql`select from gateway.webhook_deliveries where endpoint_id = ${id}`
    );
    assert.ok(events.length >= ROUNDS.length);
    assert.equal(deliveries.length, events.length, "each event has one delivery");
    const { received } = receiver;
    for (const webhook of received) {
      assert.ok(isSignedWith(secret, webhook));
      assert.equal(eventIn(webhook).id, webhook.headers["webhook-id"]);
    }
    const ids = received.map(({ headers }) => headers["webhook-id"]!);
    assert.ok(ids.length > events.length, "some events were delivered twice");
    assert.deepEqual(new Set(ids), new Set(events.map(({ id }) => id)));
    for (const resource of new Set(events.map(({ resource_id }) => resource_id))) {
      const expected = events.filter(({ resource_id }) => resource_id === resource)
        .map(({ id }) => id);
      const receivedEvents = ids.filter((id) => expected.includes(id));
      assert.deepEqual([...new Set(receivedEvents)], expected, "in order");
      assert.deepEqual(
        receivedEvents,
        receivedEvents.toSorted(),
        "no event is repeated after a later one",
      );
    }
  } finally {
    await kill();
  }
});

async function rowsOf({ app }: TestWebhooks, endpointId: string): Promise<number> {
  const [row] = await app.database.query((sql) =>
    sql`select (select count(*) from gateway.webhook_endpoints where id = ${endpointId})::int
      + (select count(*) from gateway.webhook_deliveries where endpoint_id = ${endpointId})::int as count`
  );
  return row!.count;
}

Deno.test("endpoint deletion: removes waiting deliveries, ends their job, and sends nothing more", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ ...PATIENT, now: clock.now });
  await using otherReceiver = openWebhookReceiver();
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  await webhooks.endpoint({ url: otherReceiver.url });
  receiver.answer({ status: 500 });
  const payment = await webhooks.charge("gopay");
  await webhooks.deliver();
  assert.deepEqual((await jobsOf(webhooks.app, id)).map(({ status }) => status), ["queued"]);
  assert.equal(await rowsOf(webhooks, id), 2);
  receiver.answer({});
  await expectStatus(webhooks.requestAsStaff("DELETE", `/webhook-endpoints/${id}/`), 204);
  clock.advance(6_000);
  await webhooks.refresh(payment.id);
  await webhooks.charge();
  await webhooks.deliver();
  assert.equal(await rowsOf(webhooks, id), 0);
  clock.advance(3 * DAY_MS);
  await webhooks.deliver();
  assert.equal(receiver.received.length, 1);
  const jobs = await jobsOf(webhooks.app, id);
  assert.deepEqual(jobs.map(({ status, error }) => [status, error]), [["succeeded", null]]);
  assert.equal(otherReceiver.received.length, 2, "the other endpoint gets its deliveries");
});

Deno.test("endpoint deletion: removes all rows, even during an attempt or if the endpoint is disabled", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ ...PATIENT, now: clock.now });
  const { receiver } = webhooks;
  const busyEndpoint = await webhooks.endpoint();
  const disabled = await webhooks.endpoint({ enabled: false });
  await webhooks.charge();
  const answer = Promise.withResolvers<void>();
  receiver.answer(async () => {
    await answer.promise;
    return { status: 500 };
  });
  const delivering = webhooks.deliver();
  try {
    await until("the attempt is in progress", () => receiver.received.length === 1);
    for (const { id } of [busyEndpoint, disabled]) {
      await expectStatus(webhooks.requestAsStaff("DELETE", `/webhook-endpoints/${id}/`), 204);
    }
  } finally {
    answer.resolve();
    await delivering;
  }
  for (let i = 0; i < 3; i++) {
    clock.advance(60_000);
    await webhooks.deliver();
  }
  for (const { id } of [busyEndpoint, disabled]) {
    assert.equal(await rowsOf(webhooks, id), 0);
    const openJobs = (await jobsOf(webhooks.app, id)).filter(({ status }) =>
      status !== "succeeded"
    );
    assert.deepEqual(openJobs, []);
  }
  assert.equal(receiver.received.length, 1);
});

Deno.test("endpoint deletion: an event committed afterwards creates no delivery", async () => {
  const clock = manualClock();
  const hooks: { beforeCommit?: () => Promise<void> } = {};
  const runBeforeCommit = (database: Database): Database => ({
    ...database,
    query: (work, name) =>
      name === "write payment" && hooks.beforeCommit
        ? database.transaction(async (sql) => {
          const written = await work(sql);
          await hooks.beforeCommit!();
          return written;
        })
        : database.query(work, name),
  });
  await using webhooks = await openWebhooks({
    ...PATIENT,
    now: clock.now,
    wrapDatabase: runBeforeCommit,
  });
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.charge("gopay");
  await webhooks.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  hooks.beforeCommit = async () => {
    await expectStatus(webhooks.requestAsStaff("DELETE", `/webhook-endpoints/${id}/`), 204);
    await webhooks.deliver();
  };
  await webhooks.refresh(payment.id);
  delete hooks.beforeCommit;
  await untilPublished(webhooks.app);
  for (const ms of [0, 60_000, 401 * DAY_MS]) {
    clock.advance(ms);
    await webhooks.deliver();
    await prune(webhooks.app.service);
  }
  assert.equal(await rowsOf(webhooks, id), 0);
  assert.deepEqual(await webhooks.events(payment.id), []);
});

Deno.test("webhook delivery: an attempt aborted by a shutdown does not count against the endpoint", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ ...PATIENT, now: clock.now });
  const { receiver, app } = webhooks;
  const { id } = await webhooks.endpoint();
  receiver.answer("hang");
  const payment = await webhooks.charge();
  const delivering = webhooks.deliver();
  await until("the attempt is in progress", () => receiver.received.length === 1);
  await app.service.poster[Symbol.asyncDispose]();
  await delivering;
  assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
    "payment_received pending 0",
  ]);
  assert.equal((await webhooks.readEndpoint(id)).failing_since, null);
});

Deno.test("prune: keeps an event and its deliveries while a delivery is waiting, and then deletes them", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({
    ...PATIENT,
    now: clock.now,
    env: { KEEP_EVENTS_DAYS: "90", KEEP_HELD_DELIVERIES_DAYS: "1000" },
  });
  const { receiver, app } = webhooks;
  const { id } = await webhooks.endpoint();
  const waitingEndpoint = await webhooks.endpoint({
    event_names: ["payment_settled"],
    enabled: false,
  });
  const payment = await webhooks.paid();
  await webhooks.deliver();
  assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
    "payment_received delivered 1",
    "payment_settled delivered 1",
  ]);
  await untilPublished(app);
  clock.advance(400 * DAY_MS);
  await prune(app.service);
  assert.deepEqual(await webhooks.events(payment.id), ["payment_settled"]);
  assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
    "payment_settled delivered 1",
  ]);
  receiver.received.length = 0;
  await webhooks.change(waitingEndpoint.id, { enabled: true });
  await webhooks.deliver();
  assert.deepEqual(receivedNames(receiver.received, payment.id), ["payment_settled"]);
  await prune(app.service);
  assert.deepEqual(await webhooks.events(payment.id), []);
  assert.deepEqual(await webhooks.deliveries(id), []);
  assert.deepEqual(await webhooks.deliveries(waitingEndpoint.id), []);
});
