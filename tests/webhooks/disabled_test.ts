import assert from "node:assert/strict";
import { openWebhookReceiver, type ReceivedWebhook } from "../support/events/webhook_receiver.ts";
import {
  eventIn,
  expectStatus,
  openWebhooks,
  receivedNames,
  type TestWebhooks,
} from "../support/events/webhooks.ts";
import { buildNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { manualClock } from "../support/manual_clock.ts";
import { until } from "../support/until.ts";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Returns the `webhook_endpoint_disabled` events of an endpoint once the API lists all of them. */
async function readDisabledEvents(webhooks: TestWebhooks, endpointId: string): Promise<Json[]> {
  const path = `/events/?name=webhook_endpoint_disabled&resource_id=${endpointId}`;
  const listEvents = async () =>
    await expectStatus(webhooks.requestAsStaff("GET", path), 200) as Json[];
  const [row] = await webhooks.app.database.query((sql) =>
    sql`select count(*)::int as count from gateway.events where resource_id = ${endpointId}`
  );
  await until("the events are listed", async () => (await listEvents()).length === row!.count);
  return await listEvents();
}

/** Holds every response of the receiver until the test gives it a status. */
function holdResponses() {
  const held: { id: string; respondWith: (status: number) => void }[] = [];
  return {
    held,
    async respond(webhook: ReceivedWebhook) {
      const { promise, resolve } = Promise.withResolvers<number>();
      held.push({ id: eventIn(webhook).data.id, respondWith: resolve });
      return { status: await promise };
    },
    respondWith: (id: string, status: number) =>
      held.find((each) => each.id === id)!.respondWith(status),
    release(status = 200) {
      for (const { respondWith } of held) respondWith(status);
    },
  };
}

Deno.test("endpoint: a 410 disables it at once with an event, and its deliveries wait until it is enabled", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  await using otherReceiver = openWebhookReceiver();
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  const observer = await webhooks.endpoint({
    url: otherReceiver.url,
    event_names: ["webhook_endpoint_disabled"],
  });
  const firstPayment = await webhooks.charge("gopay");
  receiver.answer({ status: 410 });
  await webhooks.deliver();
  await webhooks.deliver();
  const endpoint = await webhooks.readEndpoint(id);
  assert.deepEqual([endpoint.enabled, endpoint.disabled_reason], [false, "gone"]);
  assert.equal((await webhooks.readEndpoint(observer.id)).enabled, true);
  const [disabledEvent, ...more] = otherReceiver.received.map(eventIn);
  assert.deepEqual(more, []);
  assert.equal(disabledEvent!.name, "webhook_endpoint_disabled");
  assert.deepEqual(disabledEvent!.data, { ...endpoint, notification_id: null });
  assert.deepEqual(await readDisabledEvents(webhooks, id), [disabledEvent]);

  // While the endpoint is disabled, its deliveries are stored and not sent.
  receiver.answer({});
  await notifyAndRead(webhooks, buildNotification(firstPayment, "settlement"));
  const secondPayment = await webhooks.paid();
  for (const ms of [0, 6 * SECOND_MS, HOUR_MS, DAY_MS]) {
    clock.advance(ms);
    await webhooks.deliver();
  }
  assert.equal(receiver.received.length, 1);
  assert.deepEqual(await webhooks.deliverySummaries(id, firstPayment.id), [
    "payment_received pending 1",
    "payment_settled pending 0",
  ]);

  receiver.received.length = 0;
  const enabled = await webhooks.change(id, { enabled: true });
  assert.deepEqual([enabled.enabled, enabled.disabled_reason, enabled.failing_since], [
    true,
    null,
    null,
  ]);
  await webhooks.deliver();
  for (const payment of [firstPayment, secondPayment]) {
    assert.deepEqual(receivedNames(receiver.received, payment.id), [
      "payment_received",
      "payment_settled",
    ]);
  }
  assert.deepEqual(receivedNames(receiver.received, id), ["webhook_endpoint_disabled"]);
  assert.equal(receiver.received.length, 5);
  assert.deepEqual(await webhooks.deliveries(id, "?status=pending"), []);
  // A second 410 disables it again, with another event.
  receiver.answer({ status: 410 });
  await webhooks.charge();
  await webhooks.deliver();
  assert.equal((await readDisabledEvents(webhooks, id)).length, 2);
});

Deno.test("endpoint: many concurrent 410 responses write one event", async () => {
  await using webhooks = await openWebhooks({ poolSize: 8 });
  const { id } = await webhooks.endpoint();
  await Promise.all(Array.from({ length: MANY }, () => webhooks.charge()));
  const { held, respond, release } = holdResponses();
  webhooks.receiver.answer(respond);
  const delivering = webhooks.deliver();
  try {
    await until("several attempts are in progress", () => held.length >= 5);
  } finally {
    webhooks.receiver.answer({ status: 410 });
    release(410);
    await delivering;
  }
  assert.equal((await readDisabledEvents(webhooks, id)).length, 1);
  const sent = webhooks.receiver.received.length;
  assert.ok(sent < MANY, "not all deliveries were attempted");
  await webhooks.deliver();
  assert.equal(webhooks.receiver.received.length, sent);
});

Deno.test("endpoint: sends its waiting deliveries at once when it is enabled again", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.charge("gopay");
  receiver.answer({ status: 500 });
  for (const ms of [0, 6 * SECOND_MS, 6 * 60 * SECOND_MS]) {
    clock.advance(ms);
    await webhooks.deliver();
  }
  await notifyAndRead(webhooks, buildNotification(payment, "settlement"));
  assert.equal(receiver.received.length, 3);
  await webhooks.change(id, { enabled: false });
  receiver.answer({});
  clock.advance(SECOND_MS);
  await webhooks.change(id, { enabled: true });
  await webhooks.deliver();
  assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
    "payment_received delivered 4",
    "payment_settled delivered 1",
  ]);
});

Deno.test("endpoint: enabling it does not shorten the retry delays of later failures", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint({ enabled: false });
  const failing = await webhooks.charge();
  receiver.answer((webhook) => ({ status: eventIn(webhook).data.id === failing.id ? 500 : 200 }));
  await webhooks.change(id, { enabled: true });
  await webhooks.deliver();
  clock.advance(6 * SECOND_MS);
  await webhooks.deliver();
  assert.deepEqual(await webhooks.deliverySummaries(id, failing.id), [
    "payment_received pending 2",
  ]);
  // The third attempt is due only minutes later.
  for (let i = 0; i < 5; i++) {
    clock.advance(10 * SECOND_MS);
    await webhooks.charge();
    await webhooks.deliver();
  }
  assert.deepEqual(await webhooks.deliverySummaries(id, failing.id), [
    "payment_received pending 2",
  ]);
});

Deno.test("endpoint: is disabled after 24 h of failures", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  receiver.answer({ status: 500 });
  const failingSince = new Date(clock.now()).toISOString();
  const payment = await webhooks.charge();
  await webhooks.deliver();
  assert.equal((await webhooks.readEndpoint(id)).failing_since, failingSince);
  clock.advance(DAY_MS - 1);
  await webhooks.charge();
  await webhooks.deliver();
  assert.equal((await webhooks.readEndpoint(id)).enabled, true, "not before 24 h are over");
  assert.equal((await webhooks.readEndpoint(id)).failing_since, failingSince);
  clock.advance(1);
  const lastPayment = await webhooks.charge();
  await webhooks.deliver();
  const { enabled, disabled_reason } = await webhooks.readEndpoint(id);
  assert.deepEqual([enabled, disabled_reason], [false, "failing"]);
  const [event, ...more] = await readDisabledEvents(webhooks, id);
  assert.deepEqual([event.data.disabled_reason, more], ["failing", []]);
  assert.deepEqual(await webhooks.deliverySummaries(id, lastPayment.id), [
    "payment_received pending 1",
  ]);
  const sent = receiver.received.length;
  clock.advance(3 * DAY_MS);
  await webhooks.deliver();
  assert.equal(receiver.received.length, sent);

  receiver.answer({ status: 500 });
  await webhooks.change(id, { enabled: true });
  await webhooks.deliver();
  assert.equal((await webhooks.readEndpoint(id)).enabled, true, "it has another 24 h");
  receiver.answer({});
  clock.advance(DAY_MS);
  await webhooks.deliver();
  for (const each of [payment, lastPayment]) {
    assert.match(
      (await webhooks.deliverySummaries(id, each.id)).join(),
      /^payment_received delivered \d$/,
    );
  }
  assert.equal((await webhooks.readEndpoint(id)).failing_since, null);
});

Deno.test("endpoint: one success resets the 24 h after which failures disable it", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  for (const status of [500, 200, 500]) {
    receiver.answer({ status });
    await webhooks.charge();
    await webhooks.deliver();
    const { failing_since } = await webhooks.readEndpoint(id);
    assert.equal(failing_since, status === 200 ? null : new Date(clock.now()).toISOString());
    clock.advance(20 * HOUR_MS);
  }
  await webhooks.charge();
  await webhooks.deliver();
  assert.equal((await webhooks.readEndpoint(id)).enabled, true);
  clock.advance(4 * HOUR_MS);
  await webhooks.charge();
  await webhooks.deliver();
  assert.equal((await webhooks.readEndpoint(id)).disabled_reason, "failing");
});

Deno.test("endpoint: stays enabled if a concurrent attempt fails after a success", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  receiver.answer({ status: 500 });
  const [succeeding, failing] = [await webhooks.charge(), await webhooks.charge()];
  await webhooks.deliver();
  clock.advance(DAY_MS);
  const { held, respond, respondWith, release } = holdResponses();
  receiver.answer(respond);
  const delivering = webhooks.deliver();
  try {
    await until("both attempts are in progress", () => held.length === 2);
    respondWith(succeeding.id, 200);
    await until(
      "the successful attempt is stored",
      async () => (await webhooks.readEndpoint(id)).failing_since === null,
    );
    respondWith(failing.id, 500);
  } finally {
    release();
    await delivering;
  }
  const { enabled, disabled_reason } = await webhooks.readEndpoint(id);
  assert.deepEqual([enabled, disabled_reason], [true, null]);
});

Deno.test("endpoint: a change by staff is not undone by an attempt that began before it", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  await using newReceiver = openWebhookReceiver();
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  receiver.answer({ status: 500 });
  const payment = await webhooks.charge();
  await webhooks.deliver();
  clock.advance(DAY_MS);
  const { held, respond, release } = holdResponses();
  receiver.answer(respond);
  const delivering = webhooks.deliver();
  try {
    await until("the attempt is in progress", () => held.length === 1);
    await webhooks.change(id, { url: newReceiver.url });
  } finally {
    release(500);
    await delivering;
  }
  assert.equal((await webhooks.readEndpoint(id)).enabled, true);
  clock.advance(HOUR_MS);
  await webhooks.deliver();
  assert.deepEqual(receivedNames(newReceiver.received, payment.id), ["payment_received"]);
});

/** More deliveries than one endpoint gets at the same time (10). */
const MANY = 30;

for (
  const [newState, method, body] of [["disabled", "PATCH", { enabled: false }], [
    "deleted",
    "DELETE",
  ]] as const
) {
  Deno.test(`endpoint: starts no more attempts after it is ${newState}`, async () => {
    await using webhooks = await openWebhooks({ poolSize: 8 });
    const { receiver } = webhooks;
    const { id } = await webhooks.endpoint();
    await Promise.all(Array.from({ length: MANY }, () => webhooks.charge()));
    const { held, respond, release } = holdResponses();
    receiver.answer(respond);
    const delivering = webhooks.deliver();
    let startedAttempts: number;
    try {
      await until("some attempts are in progress", () => held.length >= 5);
      const answer = await webhooks.requestAsStaff(method, `/webhook-endpoints/${id}/`, body);
      assert.ok(answer.ok, await answer.text());
      startedAttempts = held.length;
    } finally {
      receiver.answer({});
      release();
      await delivering;
    }
    // Up to 10 attempts (the concurrency of an endpoint) may have started before the change, and
    // reached the receiver after `startedAttempts` was read.
    const after = receiver.received.length - startedAttempts;
    assert.ok(after <= 10, `${after} more after ${startedAttempts}`);
    await webhooks.deliver();
    assert.equal(receiver.received.length, startedAttempts + after);
  });
}

Deno.test("secret rotation: the new secret signs all later attempts, including those of deliveries that were already due", async () => {
  await using webhooks = await openWebhooks({ poolSize: 8 });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  await Promise.all(Array.from({ length: MANY }, () => webhooks.charge()));
  const { held, respond, release } = holdResponses();
  receiver.answer(respond);
  const delivering = webhooks.deliver();
  let startedAttempts = 0;
  try {
    await until("some attempts are in progress", () => held.length >= 5);
    await expectStatus(
      webhooks.requestAsStaff("POST", `/webhook-endpoints/${id}/rotate-secret/`),
      200,
    );
    startedAttempts = held.length;
  } finally {
    receiver.answer({});
    release();
    await delivering;
  }
  assert.equal(receiver.received.length, MANY);
  const oneSignature = receiver.received.slice(startedAttempts)
    .filter(({ headers }) => !headers["webhook-signature"]!.includes(" "));
  assert.ok(oneSignature.length <= 10, `${oneSignature.length} with only one signature`);
});
