import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type Database, DatabaseUnavailable } from "../../db/connection/database.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { openApp, REAL_INSTALLATION, type TestApp } from "../support/app.ts";
import { openWebhookReceiver, type ReceivedWebhook } from "../support/events/webhook_receiver.ts";
import {
  eventIn,
  openWebhooks,
  receivedNames,
  type TestWebhooks,
} from "../support/events/webhooks.ts";
import { buildNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { SERVER_KEY } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { until } from "../support/until.ts";

/** How many webhooks the service sends to an endpoint at the same time. */
const MAX_CONCURRENT = 10;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

async function refundPart({ post }: TestWebhooks, id: string, amount: number): Promise<void> {
  const response = await post(`/payments/${id}/refund/`, { amount });
  assert.equal(response.status, 200, await response.text());
}

/** A second instance on the same database. */
async function openSecondApp(
  { databaseUrl, sandbox }: TestWebhooks,
  now: () => number,
): Promise<TestApp> {
  return await openApp({
    databaseUrl,
    gatewayUrl: sandbox.url,
    serverKey: SERVER_KEY,
    env: { ...REAL_INSTALLATION, WEBHOOK_ALLOW_PRIVATE: "true" },
    now,
  });
}

/** The ids of the events of a resource, in order. */
async function eventsOf({ app }: TestWebhooks, resourceId: string): Promise<string[]> {
  const rows = await app.database.query((sql) =>
    sql`select id from gateway.events where resource_id = ${resourceId} order by sequence`
  );
  return rows.map(({ id }) => id);
}

Deno.test("webhook order: a failed delivery delays later events of its resource only", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.charge("gopay");
  let isFailing = true;
  receiver.answer((webhook) => ({
    status: isFailing && eventIn(webhook).data.id === payment.id ? 503 : 200,
  }));
  await webhooks.deliver();
  await webhooks.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  await webhooks.refresh(payment.id);
  await refundPart(webhooks, payment.id, 1_000);
  for (const ms of [0, 6_000, 6_000]) {
    clock.advance(ms);
    await webhooks.deliver();
  }
  assert.deepEqual(receivedNames(receiver.received, payment.id), [
    "payment_received",
    "payment_received",
  ]);
  const otherPayment = await webhooks.paid();
  await webhooks.deliver();
  assert.deepEqual(receivedNames(receiver.received, otherPayment.id), [
    "payment_received",
    "payment_settled",
  ]);
  isFailing = false;
  clock.advance(HOUR_MS);
  await webhooks.deliver();
  assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
    "payment_received delivered 3",
    "payment_settled delivered 1",
    "payment_refunded delivered 1",
  ]);
  assert.deepEqual(receivedNames(receiver.received, payment.id).slice(2), [
    "payment_received",
    "payment_settled",
    "payment_refunded",
  ]);
});

for (
  const [duration, downMs] of [["20 seconds", 20_000], ["10 minutes", 10 * MINUTE_MS]] as const
) {
  Deno.test(`webhook order: is kept if the receiver is down for ${duration}`, async () => {
    const clock = manualClock();
    await using webhooks = await openWebhooks({ now: clock.now });
    const { receiver } = webhooks;
    const { id } = await webhooks.endpoint();
    const upAt = clock.now() + downMs;
    receiver.down();
    const payments = [];
    for (let n = 0; n < 4; n++) payments.push(await webhooks.charge("gopay"));
    await webhooks.deliver();
    for (const payment of payments) {
      await notifyAndRead(webhooks, buildNotification(payment, "settlement"));
    }
    await webhooks.deliver();
    const pending = async () =>
      (await webhooks.deliveries(id, "?status=pending"))
        .map(({ next_attempt_at }) => Date.parse(next_attempt_at!));
    let isUp = false;
    for (let times = await pending(); times.length > 0; times = await pending()) {
      clock.set(new Date(Math.min(...times)));
      if (!isUp && clock.now() >= upAt) {
        receiver.up();
        isUp = true;
      }
      await webhooks.deliver();
    }
    for (const payment of payments) {
      assert.deepEqual(receivedNames(receiver.received, payment.id), [
        "payment_received",
        "payment_settled",
      ]);
    }
  });
}

Deno.test("webhook order: an event waits for four attempts of an earlier event that fails, and is then sent before it", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.charge("gopay");
  receiver.answer((webhook) => ({
    status: eventIn(webhook).name === "payment_received" ? 500 : 200,
  }));
  await webhooks.deliver();
  await webhooks.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  await webhooks.refresh(payment.id);
  await refundPart(webhooks, payment.id, 1_000);
  for (const [attempts, ms] of [[2, 6_000], [3, 6 * MINUTE_MS]] as const) {
    clock.advance(ms);
    await webhooks.deliver();
    assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
      `payment_received pending ${attempts}`,
      "payment_settled pending 0",
      "payment_refunded pending 0",
    ]);
  }
  clock.advance(34 * MINUTE_MS);
  await webhooks.deliver();
  assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
    "payment_received pending 4",
    "payment_settled delivered 1",
    "payment_refunded delivered 1",
  ]);
  // The receiver can order the events by their sequence.
  assert.deepEqual(
    receiver.received.map(eventIn).map(({ name, sequence }) => `${name} ${sequence}`),
    [...Array(4).fill("payment_received 1"), "payment_settled 2", "payment_refunded 3"],
  );
  // A later event does not wait for it again, and has its own retries.
  receiver.answer({ status: 500 });
  await refundPart(webhooks, payment.id, 2_000);
  await webhooks.deliver();
  clock.advance(6_000);
  await webhooks.deliver();
  assert.equal(
    (await webhooks.deliverySummaries(id, payment.id)).at(-1),
    "payment_refunded pending 2",
  );
  receiver.answer({});
  clock.advance(3 * HOUR_MS);
  await webhooks.deliver();
  assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
    "payment_received delivered 5",
    "payment_settled delivered 1",
    "payment_refunded delivered 1",
    "payment_refunded delivered 3",
  ]);
});

Deno.test("webhook order: a new event waits while another event of its resource is being sent; the same job sends it next", async () => {
  await using webhooks = await openWebhooks();
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.charge("gopay");
  const answer = Promise.withResolvers<void>();
  receiver.answer(async () => {
    await answer.promise;
    return {};
  });
  const delivering = webhooks.deliver();
  try {
    await until("the attempt is in progress", () => receiver.received.length === 1);
    await notifyAndRead(webhooks, buildNotification(payment, "settlement"));
    const otherPayment = await webhooks.charge();
    await until(
      "an event of another payment is sent meanwhile",
      () => receivedNames(receiver.received, otherPayment.id).length === 1,
    );
    assert.deepEqual(receivedNames(receiver.received, payment.id), ["payment_received"]);
  } finally {
    answer.resolve();
    await delivering;
  }
  assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
    "payment_received delivered 1",
    "payment_settled delivered 1",
  ]);
  assert.deepEqual(receivedNames(receiver.received, payment.id), [
    "payment_received",
    "payment_settled",
  ]);
});

Deno.test("webhook order: a resent delivery is sent before waiting deliveries of later events of its resource", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.charge("gopay");
  await webhooks.deliver();
  receiver.answer({ status: 500 });
  await notifyAndRead(webhooks, buildNotification(payment, "settlement"));
  await webhooks.deliver();
  const [firstEvent] = await eventsOf(webhooks, payment.id);
  await webhooks.requestAsStaff(
    "POST",
    `/webhook-endpoints/${id}/deliveries/${firstEvent}/resend/`,
  );
  receiver.received.length = 0;
  receiver.answer({});
  clock.advance(6_000);
  await webhooks.deliver();
  assert.deepEqual(receivedNames(receiver.received, payment.id), [
    "payment_received",
    "payment_settled",
  ]);
});

Deno.test("webhook order: deliveries that waited for a resent delivery are sent immediately after it", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.charge("gopay");
  receiver.answer({ status: 500 });
  await webhooks.deliver();
  await notifyAndRead(webhooks, buildNotification(payment, "settlement"));
  for (const ms of [0, 6_000, 1_000]) {
    clock.advance(ms);
    await webhooks.deliver();
  }
  receiver.received.length = 0;
  receiver.answer({});
  const [firstEvent] = await eventsOf(webhooks, payment.id);
  await webhooks.requestAsStaff(
    "POST",
    `/webhook-endpoints/${id}/deliveries/${firstEvent}/resend/`,
  );
  await webhooks.deliver();
  assert.deepEqual(receivedNames(receiver.received, payment.id), [
    "payment_received",
    "payment_settled",
  ]);
});

Deno.test("webhook order: a resent delivery waits again for an earlier event", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.paid();
  await webhooks.deliver();
  receiver.received.length = 0;
  receiver.answer({ status: 500 });
  const [firstEvent, settledEvent] = await eventsOf(webhooks, payment.id);
  const resend = (event?: string) =>
    webhooks.requestAsStaff("POST", `/webhook-endpoints/${id}/deliveries/${event}/resend/`);
  await resend(firstEvent);
  await webhooks.deliver();
  receiver.answer({});
  await resend(settledEvent);
  await webhooks.deliver();
  assert.deepEqual(receivedNames(receiver.received, payment.id), ["payment_received"]);
  clock.advance(6_000);
  await webhooks.deliver();
  assert.deepEqual(receivedNames(receiver.received, payment.id), [
    "payment_received",
    "payment_received",
    "payment_settled",
  ]);
});

Deno.test("webhook order: only one instance at a time sends to an endpoint", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  await using secondApp = await openSecondApp(webhooks, clock.now);
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.charge("gopay");
  await webhooks.queueDeliveries();
  const answer = Promise.withResolvers<void>();
  receiver.answer(async () => {
    await answer.promise;
    return {};
  });
  const delivering = runDueJobs(secondApp);
  try {
    await until("the attempt is in progress", () => receiver.received.length === 1);
    await notifyAndRead(webhooks, buildNotification(payment, "settlement"));
    for (let i = 0; i < 3; i++) {
      await webhooks.deliver();
      clock.advance(1_000);
    }
    assert.deepEqual(receivedNames(receiver.received, payment.id), ["payment_received"]);
  } finally {
    answer.resolve();
    await delivering;
  }
  clock.advance(1_000);
  await webhooks.deliver();
  assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
    "payment_received delivered 1",
    "payment_settled delivered 1",
  ]);
  assert.deepEqual(receivedNames(receiver.received, payment.id), [
    "payment_received",
    "payment_settled",
  ]);
});

Deno.test("webhook delivery: a job that cannot read its endpoint waits for its open requests, so that none is sent twice", async () => {
  const clock = manualClock();
  let isFailing = false;
  let failures = 0;
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    async query(work, name) {
      if (!isFailing || name !== "find endpoint") return await database.query(work, name);
      failures++;
      throw new DatabaseUnavailable("The endpoint cannot be read");
    },
  });
  await using webhooks = await openWebhooks({ now: clock.now, wrapDatabase });
  const { receiver } = webhooks;
  await webhooks.endpoint();
  await webhooks.charge();
  const answer = Promise.withResolvers<void>();
  receiver.answer(async () => {
    await answer.promise;
    return {};
  });
  const delivering = webhooks.deliver();
  try {
    await until("the attempt is in progress", () => receiver.received.length === 1);
    isFailing = true;
    await until("a read has failed", () => failures > 0);
    isFailing = false;
    // Together more than the delay of a failed job, but less than the lease of a running one.
    for (let second = 0; second < 10; second++) {
      clock.advance(1_000);
      await webhooks.deliver();
    }
    assert.equal(receiver.received.length, 1);
  } finally {
    answer.resolve();
    await delivering;
  }
});

Deno.test("webhook delivery: an endpoint that hangs does not delay others, and uses a limited number of connections", async () => {
  await using webhooks = await openWebhooks({ poolSize: 8 });
  await using quickReceiver = openWebhookReceiver();
  const { receiver } = webhooks;
  const hanging = Promise.withResolvers<void>();
  receiver.answer(async () => {
    await hanging.promise;
    return {};
  });
  const slowEndpoint = await webhooks.endpoint();
  await webhooks.endpoint({ url: quickReceiver.url });
  const payments = await Promise.all(Array.from({ length: 30 }, () => webhooks.charge()));
  const delivering = webhooks.deliver();
  try {
    await until(
      "the other endpoint has all events",
      () => quickReceiver.received.length === payments.length,
    );
    const latePayment = await webhooks.paid();
    await webhooks.deliver();
    await until(
      "the other endpoint also gets later events",
      () => receivedNames(quickReceiver.received, latePayment.id).length === 2,
    );
    assert.ok(
      receiver.received.length <= MAX_CONCURRENT,
      `${receiver.received.length} at the same time`,
    );
    const pending = await webhooks.deliveries(slowEndpoint.id, "?status=pending");
    assert.equal(pending.length, payments.length + 2);
  } finally {
    hanging.resolve();
    await delivering;
  }
  await webhooks.deliver();
  assert.deepEqual(await webhooks.deliveries(slowEndpoint.id, "?status=pending"), []);
  assert.equal(receiver.received.length, payments.length + 2);
});

Deno.test("webhook delivery: a resource with many events does not delay others", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  const busyPayment = await webhooks.charge();
  // Adds events, as if the payment had changed many times.
  await webhooks.app.database.query((sql) =>
    sql`
      with copies as (
        insert into gateway.events (id, name, resource, resource_id, sequence, user_id, data, created_at)
        select gen_random_uuid(), name, resource, resource_id, sequence + more, user_id, data, created_at
        from gateway.events, generate_series(1, 120) more where resource_id = ${busyPayment.id}
        returning *
      )
      insert into gateway.webhook_deliveries
        (event_id, endpoint_id, event_name, resource_id, sequence, next_attempt_at, created_at)
      select id, ${id}, name, resource_id, sequence, created_at, created_at from copies`
  );
  clock.advance(1_000);
  const otherPayment = await webhooks.charge();
  receiver.answer((webhook) => ({
    status: eventIn(webhook).data.id === busyPayment.id ? 500 : 200,
  }));
  await webhooks.deliver();
  assert.equal(receivedNames(receiver.received, busyPayment.id).length, 1);
  assert.deepEqual(receivedNames(receiver.received, otherPayment.id), ["payment_received"]);
  receiver.answer({});
  clock.advance(HOUR_MS);
  await webhooks.deliver();
  const receivedEvents = receiver.received.map(({ headers }) => headers["webhook-id"]!);
  const events = await eventsOf(webhooks, busyPayment.id);
  const receivedAgain = receivedEvents.filter((each) => events.includes(each)).slice(1);
  assert.deepEqual(receivedAgain, events);
});

/** Each payment has four events. Together these are more deliveries than one query fetches. */
const PAYMENTS = 50;

Deno.test("webhook order: two instances send 200 events in order, one at a time per resource, although some first attempts fail", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now, poolSize: 8 });
  const { receiver, app } = webhooks;
  await using secondApp = await openSecondApp(webhooks, clock.now);
  await using otherReceiver = openWebhookReceiver();
  const endpoints = [
    await webhooks.endpoint(),
    await webhooks.endpoint({ url: otherReceiver.url }),
  ];
  const violations: string[] = [];
  const accepted = [receiver, otherReceiver].map((each, index) => {
    const random = createRandom(seededState(8 + index));
    const inProgress = new Set<string>();
    const accepted: ReceivedWebhook[] = [];
    /**
     * Events that failed once. They do not fail again: the delay after a second failure is so long
     * that later events of the resource would be sent first.
     */
    const failed = new Set<string>();
    let maxInProgress = 0;
    each.answer(async (webhook) => {
      const { id } = eventIn(webhook).data;
      if (inProgress.has(id)) violations.push(`two webhooks of ${id} at the same time`);
      inProgress.add(id);
      maxInProgress = Math.max(maxInProgress, inProgress.size);
      if (maxInProgress > MAX_CONCURRENT) {
        violations.push(`${maxInProgress} webhooks at the same time`);
      }
      await delay(random.below(4));
      inProgress.delete(id);
      const eventId = webhook.headers["webhook-id"]!;
      if (!failed.has(eventId) && random.below(3) === 0) {
        failed.add(eventId);
        return random.below(2) === 0 ? "close" : { status: 500 };
      }
      accepted.push(webhook);
      return {};
    });
    return accepted;
  });

  const hasUndelivered = async () => {
    const rows = await app.database.query((sql) =>
      sql`select from gateway.webhook_deliveries where status <> 'delivered' limit 1`
    );
    return rows.length > 0;
  };
  let areEventsCreated = false;
  const delivering = (async () => {
    while (!areEventsCreated || await hasUndelivered()) {
      await Promise.all([webhooks.deliver(), runDueJobs(secondApp)]);
      // The clock advances only between jobs, so that the lease of a running job does not expire.
      clock.advance(areEventsCreated ? 10_000 : 1_000);
    }
  })();
  const ids: string[] = [];
  try {
    await Promise.all(Array.from({ length: 5 }, async () => {
      while (ids.length < PAYMENTS) {
        const index = ids.push("") - 1;
        const { id } = await webhooks.paid();
        ids[index] = id;
        await refundPart(webhooks, id, 1_000);
        await refundPart(webhooks, id, 2_000);
      }
    }));
  } finally {
    areEventsCreated = true;
    await delivering;
  }
  assert.deepEqual(violations, []);
  const expected = await Promise.all(ids.map((id) => eventsOf(webhooks, id)));
  assert.equal(expected.flat().length, 4 * PAYMENTS);
  for (const [index, { id: endpointId }] of endpoints.entries()) {
    const receivedEvents = accepted[index]!.map(({ headers }) => headers["webhook-id"]!);
    for (const events of expected) {
      assert.deepEqual(
        receivedEvents.filter((id) => events.includes(id)),
        events,
        "once, and in order",
      );
    }
    const { enabled, failing_since } = await webhooks.readEndpoint(endpointId);
    assert.equal(enabled, true);
    assert.equal(failing_since, null, "the endpoint works again");
  }
});
