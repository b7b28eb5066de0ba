import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { EventSchema } from "../../routes/events/schemas.ts";
import { WebhookTestResultSchema } from "../../routes/webhook_endpoints/schemas.ts";
import { createRollbackDatabase } from "../support/database/held_database.ts";
import { openWebhookReceiver, verifyWebhook } from "../support/events/webhook_receiver.ts";
import {
  type Delivery,
  expectStatus,
  isSignedWith,
  openWebhooks,
  receivedNames,
  type TestWebhooks,
} from "../support/events/webhooks.ts";
import { buildNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { createHeldDatabase } from "../support/database/held_database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { manualClock } from "../support/manual_clock.ts";
import { assertProblem } from "../support/problem.ts";
import {
  invoiceRequest,
  parseInvoice,
  parseSubscription,
  subscriptionRequest,
} from "../support/records/requests.ts";
import { until } from "../support/until.ts";

const DAY_MS = 24 * 3_600_000;

/** The only delivery of the endpoint. */
async function findOnlyDelivery(webhooks: TestWebhooks, endpointId: string): Promise<Delivery> {
  const deliveries = await webhooks.deliveries(endpointId);
  assert.equal(deliveries.length, 1);
  return deliveries[0]!;
}

async function resend(webhooks: TestWebhooks, endpointId: string, eventId: string) {
  const path = `/webhook-endpoints/${endpointId}/deliveries/${eventId}/resend/`;
  await expectStatus(webhooks.requestAsStaff("POST", path), 202);
}

async function testEndpoint(webhooks: TestWebhooks, endpointId: string) {
  const path = `/webhook-endpoints/${endpointId}/test/`;
  return WebhookTestResultSchema.strict().parse(
    await expectStatus(webhooks.requestAsStaff("POST", path), 200),
  );
}

/** All rows of endpoints, deliveries and events. */
async function readRows({ app }: TestWebhooks): Promise<Json> {
  const [row] = await app.database.query((sql) =>
    sql`
      select array(select to_json(r)::text from gateway.webhook_endpoints r order by id) as endpoints,
        array(select to_json(r)::text from gateway.webhook_deliveries r order by event_id) as deliveries,
        array(select to_json(r)::text from gateway.events r order by id) as events`
  );
  return row;
}

Deno.test("webhook delivery: sends a signed event once", async () => {
  await using webhooks = await openWebhooks();
  const { id, secret } = await webhooks.endpoint();
  const payment = await webhooks.paid();
  await webhooks.deliver();
  const receivedEvents = webhooks.receivedEvents(secret);
  assert.deepEqual(receivedEvents.map(({ name }) => name), ["payment_received", "payment_settled"]);
  assert.deepEqual(receivedEvents.map(({ data }) => data.id), [payment.id, payment.id]);
  const deliveries = await webhooks.deliveries(id);
  assert.deepEqual(deliveries.map(({ status, attempts }) => [status, attempts]), [
    ["delivered", 1],
    ["delivered", 1],
  ]);
  assert.deepEqual(
    deliveries.map(({ id }) => id),
    webhooks.receiver.received.map(({ headers }) => headers["webhook-id"]).reverse(),
  );
  await webhooks.deliver();
  assert.equal(webhooks.receiver.received.length, 2);
});

Deno.test("webhook delivery: the body is the event of GET /events/, with the state of the resource at commit", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { secret } = await webhooks.endpoint();
  const payment = await webhooks.charge("gopay", { metadata: { note: "é 😀 \u2028 </script>" } });
  const atCharge = await webhooks.read(payment.id);
  clock.advance(1_500);
  const notification = await notifyAndRead(webhooks, buildNotification(payment, "settlement"));
  const settled = await webhooks.read(payment.id);
  assert.notDeepEqual(settled, atCharge);
  clock.advance(2_500);
  await webhooks.deliver();

  const { received } = webhooks.receiver;
  const receivedEvents = webhooks.receivedEvents(secret);
  assert.deepEqual(receivedEvents.map(({ data }) => data), [
    { ...atCharge, notification_id: null },
    { ...settled, notification_id: notification.id },
  ]);
  await until("the events are listed", async () => {
    const path = `/events/?resource_id=${payment.id}&order=oldest_first`;
    const events = await expectStatus(webhooks.requestAsStaff("GET", path), 200) as unknown[];
    if (events.length < 2) return false;
    EventSchema.array().parse(events);
    const sent = received.map(({ body }) => JSON.parse(new TextDecoder().decode(body)));
    assert.deepEqual(sent, events);
    return true;
  });
  for (const [index, webhook] of received.entries()) {
    const { headers, method, path } = webhook;
    assert.deepEqual([method, path], ["POST", "/webhooks"]);
    assert.equal(headers["webhook-id"], receivedEvents[index]!.id);
    assert.equal(headers["webhook-timestamp"], String(Math.floor(clock.now() / 1_000)));
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers["authorization"], undefined);
    const [lastByte] = webhook.body.slice(-1);
    const changed = Uint8Array.from([...webhook.body.slice(0, -1), lastByte! ^ 1]);
    assert.throws(() => verifyWebhook(secret, { ...webhook, body: changed }));
    for (
      const [name, value] of Object.entries({
        "webhook-id": randomUUID(),
        "webhook-timestamp": "1",
      })
    ) {
      assert.throws(() =>
        verifyWebhook(secret, { ...webhook, headers: { ...headers, [name]: value } })
      );
    }
  }
});

Deno.test("webhook delivery: each endpoint gets the events of its event_names since its creation, signed with its own secret", async () => {
  await using webhooks = await openWebhooks();
  await using otherReceiver = openWebhookReceiver();
  const earlyPayment = await webhooks.charge();
  await webhooks.app.publishEvents();
  const forAllEvents = await webhooks.endpoint();
  const forSomeEvents = await webhooks.endpoint({
    url: `${otherReceiver.url}/some?x=1`,
    event_names: ["payment_settled", "invoice_paid"],
  });
  const forNoEvents = await webhooks.endpoint({
    url: otherReceiver.url,
    event_names: ["subscription_charged"],
  });
  const payment = await webhooks.paid();
  await webhooks.deliver();
  assert.deepEqual(webhooks.receivedEvents(forAllEvents.secret).map(({ name }) => name), [
    "payment_received",
    "payment_settled",
  ]);
  assert.deepEqual(otherReceiver.received.map(({ path }) => path), ["/webhooks/some?x=1"]);
  const [settled] = otherReceiver.received;
  const [, settledForAll] = webhooks.receiver.received;
  verifyWebhook(forSomeEvents.secret, settled!);
  assert.throws(() => verifyWebhook(forAllEvents.secret, settled!));
  assert.equal(settled!.headers["webhook-id"], settledForAll!.headers["webhook-id"]);
  assert.deepEqual(settled!.body, settledForAll!.body);
  assert.deepEqual(await webhooks.deliveries(forNoEvents.id), []);
  assert.deepEqual(await webhooks.deliverySummaries(forAllEvents.id, earlyPayment.id), []);

  // The `event_names` apply that are set when the event is published, not when it is delivered.
  const laterPayment = await webhooks.charge();
  await webhooks.app.publishEvents();
  await webhooks.change(forAllEvents.id, { event_names: ["payment_denied"] });
  await webhooks.change(forSomeEvents.id, { event_names: null });
  await webhooks.deliver();
  assert.deepEqual(receivedNames(webhooks.receiver.received, laterPayment.id), [
    "payment_received",
  ]);
  assert.deepEqual(receivedNames(otherReceiver.received, laterPayment.id), []);
  const lastPayment = await webhooks.paid();
  await webhooks.deliver();
  assert.deepEqual(receivedNames(webhooks.receiver.received, lastPayment.id), []);
  assert.deepEqual(receivedNames(otherReceiver.received, lastPayment.id), [
    "payment_received",
    "payment_settled",
  ]);
  assert.deepEqual(await webhooks.deliverySummaries(forAllEvents.id, payment.id), [
    "payment_received delivered 1",
    "payment_settled delivered 1",
  ]);
});

Deno.test("webhook delivery: sends events of invoices and subscriptions", async () => {
  await using webhooks = await openWebhooks();
  const { secret } = await webhooks.endpoint();
  const invoice = await parseInvoice(await webhooks.post("/invoices/", invoiceRequest()), 201);
  const request = await subscriptionRequest(webhooks.sandbox);
  const subscription = await parseSubscription(
    await webhooks.post("/subscriptions/", request),
    201,
  );
  await expectStatus(webhooks.post(`/subscriptions/${subscription.id}/disable/`), 200);
  await webhooks.deliver();
  const receivedEvents = webhooks.receivedEvents(secret);
  const of = (id: string) => receivedEvents.filter(({ data }) => data.id === id);
  assert.deepEqual(of(invoice.id).map(({ data }) => data), [{ ...invoice, notification_id: null }]);
  assert.deepEqual(of(subscription.id).map(({ name }) => name), [
    "subscription_created",
    "subscription_disabled",
  ]);
  assert.equal(receivedEvents.length, 3);
});

Deno.test("webhook delivery: a rolled-back event creates no delivery, and concurrent reports of a change create one", async () => {
  const { hooks, wrapDatabase } = createRollbackDatabase();
  await using webhooks = await openWebhooks({ wrapDatabase });
  const { id: endpointId } = await webhooks.endpoint();
  const { id, transaction_id } = await webhooks.charge("gopay");
  await webhooks.deliver();
  await webhooks.sandbox.control(`transactions/${transaction_id}/pay`);
  hooks.beforeRollback = () => webhooks.deliver();
  assert.equal((await webhooks.get(`/payments/${id}/check_status/`)).status, 500);
  delete hooks.beforeRollback;
  await webhooks.deliver();
  assert.deepEqual(await webhooks.deliverySummaries(endpointId, id), [
    "payment_received delivered 1",
  ]);
  assert.deepEqual(receivedNames(webhooks.receiver.received, id), ["payment_received"]);
  // Only one of many concurrent reports of the same change writes the event.
  await Promise.all(Array.from({ length: 8 }, () => webhooks.refresh(id)));
  assert.deepEqual(await webhooks.deliverySummaries(endpointId, id), [
    "payment_received delivered 1",
    "payment_settled pending 0",
  ]);
  await webhooks.deliver();
  assert.deepEqual(receivedNames(webhooks.receiver.received, id), [
    "payment_received",
    "payment_settled",
  ]);
});

Deno.test("publisher: a committed event queues one job for each enabled endpoint that receives it", async () => {
  await using webhooks = await openWebhooks();
  const { app } = webhooks;
  const queuedEndpoints = async () => {
    await app.publishEvents();
    await app.service.waker[Symbol.asyncDispose]();
    const rows = await app.database.query((sql) =>
      sql`select id, subject_id from gateway.jobs
        where task = 'deliver_webhooks' and status = 'queued' order by subject_id`
    );
    const enqueued = app.enqueued.map(({ id }) => id);
    assert.ok(rows.every(({ id }) => enqueued.includes(id)), "the job is enqueued");
    return rows.map(({ subject_id }) => subject_id);
  };
  await webhooks.charge();
  assert.deepEqual(await queuedEndpoints(), []);
  const { id } = await webhooks.endpoint();
  const otherEndpoint = await webhooks.endpoint();
  await webhooks.endpoint({ enabled: false });
  await webhooks.endpoint({ event_names: ["invoice_paid"] });
  await Promise.all(Array.from({ length: 10 }, () => webhooks.charge()));
  await until("both jobs are queued", async () => (await queuedEndpoints()).length === 2);
  assert.deepEqual(await queuedEndpoints(), [id, otherEndpoint.id]);
});

Deno.test("resend: sends a delivered, failed or waiting delivery again with the same id", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  await webhooks.charge();
  await webhooks.deliver();
  const { id: eventId } = await findOnlyDelivery(webhooks, id);

  await resend(webhooks, id, eventId);
  const waitingDelivery = await findOnlyDelivery(webhooks, id);
  assert.deepEqual(
    [waitingDelivery.status, waitingDelivery.attempts, waitingDelivery.delivered_at],
    ["pending", 0, null],
  );
  receiver.answer({ status: 500 });
  await webhooks.deliver();
  assert.deepEqual((await findOnlyDelivery(webhooks, id)).attempts, 1);
  await resend(webhooks, id, eventId);
  await webhooks.deliver();
  assert.equal(receiver.received.length, 3, "without waiting for its retry time");

  await webhooks.app.database.query((sql) =>
    sql`update gateway.webhook_deliveries set status = 'failed', next_attempt_at = null, attempts = 10`
  );
  await webhooks.deliver();
  assert.equal(receiver.received.length, 3);
  receiver.answer({});
  await resend(webhooks, id, eventId);
  await webhooks.deliver();
  const { status, attempts, delivered_at } = await findOnlyDelivery(webhooks, id);
  assert.deepEqual([status, attempts, delivered_at], [
    "delivered",
    1,
    new Date(clock.now()).toISOString(),
  ]);
  assert.equal(receiver.received.length, 4);
  assert.deepEqual([...new Set(receiver.received.map(({ headers }) => headers["webhook-id"]))], [
    eventId,
  ]);
  const otherEndpoint = await webhooks.endpoint();
  const path = `/webhook-endpoints/${otherEndpoint.id}/deliveries/${eventId}/resend/`;
  await assertProblem(await webhooks.requestAsStaff("POST", path), 404, "not_found");
});

Deno.test("secret rotation: both secrets sign for a day, then only the new one", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { id, secret: first } = await webhooks.endpoint();
  const rotate = async () => {
    const path = `/webhook-endpoints/${id}/rotate-secret/`;
    const { secret, previous_secret_until } = await expectStatus(
      webhooks.requestAsStaff("POST", path),
      200,
    ) as Json;
    assert.equal(previous_secret_until, new Date(clock.now() + DAY_MS).toISOString());
    return secret;
  };
  const signedBy = async (...secrets: string[]) => {
    await webhooks.charge();
    await webhooks.deliver();
    const lastWebhook = webhooks.receiver.received.at(-1)!;
    return secrets.map((secret) => isSignedWith(secret, lastWebhook));
  };
  assert.deepEqual(await signedBy(first), [true]);
  const second = await rotate();
  assert.deepEqual(await signedBy(first, second), [true, true]);
  const lastWebhook = webhooks.receiver.received.at(-1)!;
  for (const secret of [first, second]) verifyWebhook(secret, lastWebhook);
  clock.advance(DAY_MS - 1);
  assert.deepEqual(await signedBy(first, second), [true, true]);
  clock.advance(1);
  assert.deepEqual(await signedBy(first, second), [false, true]);
  const third = await rotate();
  const fourth = await rotate();
  assert.deepEqual(await signedBy(first, second, third, fourth), [false, false, true, true]);
});

Deno.test("secret rotation: of two at the same moment, both new secrets sign", async () => {
  const { holdNext, wrapDatabase } = createHeldDatabase();
  await using webhooks = await openWebhooks({ wrapDatabase });
  const { id } = await webhooks.endpoint();
  const rotate = async () => {
    const path = `/webhook-endpoints/${id}/rotate-secret/`;
    const { secret } = await expectStatus(webhooks.requestAsStaff("POST", path), 200) as Json;
    return secret as string;
  };
  const held = holdNext("rotate secret");
  const rotating = rotate();
  await held.arrived;
  const secrets = [await rotate()];
  held.release();
  secrets.push(await rotating);
  await webhooks.charge();
  await webhooks.deliver();
  const lastWebhook = webhooks.receiver.received.at(-1)!;
  assert.deepEqual(secrets.map((secret) => isSignedWith(secret, lastWebhook)), [true, true]);
});

Deno.test("endpoint test: returns the result at once and stores nothing", async () => {
  await using webhooks = await openWebhooks({ posting: { timeoutMs: 5_000 } });
  const { receiver } = webhooks;
  const { id, secret } = await webhooks.endpoint({ event_names: ["invoice_paid"] });
  const before = await readRows(webhooks);
  receiver.answer({ status: 202, body: "received" });
  const succeeded = await testEndpoint(webhooks, id);
  assert.deepEqual(
    [succeeded.succeeded, succeeded.status_code, succeeded.answer, succeeded.error],
    [
      true,
      202,
      "received",
      null,
    ],
  );
  const event = verifyWebhook(secret, receiver.received[0]!) as Json;
  assert.deepEqual([event.id, event.name, event.data.id], [
    succeeded.id,
    "webhook_endpoint_tested",
    id,
  ]);
  assert.equal(receiver.received[0]!.headers["webhook-id"], succeeded.id);

  for (
    const [answer, code] of [[{ status: 500 }, 500], [{ status: 410 }, 410], [
      "hang",
      null,
    ]] as const
  ) {
    receiver.answer(answer);
    const failed = await testEndpoint(webhooks, id);
    assert.deepEqual([failed.succeeded, failed.status_code, failed.error === null], [
      false,
      code,
      code !== null,
    ]);
  }
  assert.deepEqual(await readRows(webhooks), before);
  await webhooks.change(id, { enabled: false });
  receiver.answer({});
  assert.equal(
    (await testEndpoint(webhooks, id)).succeeded,
    true,
    "a disabled endpoint can be tested, too",
  );
  assert.equal((await webhooks.readEndpoint(id)).enabled, false);
});

Deno.test("endpoint: creation and deletion on another instance apply to the next event", async () => {
  await using firstInstance = await openWebhooks();
  await using secondInstance = await openWebhooks({ databaseUrl: firstInstance.databaseUrl });
  await firstInstance.charge();
  await firstInstance.app.publishEvents();
  const { id } = await secondInstance.endpoint();
  const delivered = await firstInstance.charge();
  assert.deepEqual((await secondInstance.deliveries(id)).map(({ resource_id }) => resource_id), [
    delivered.id,
  ]);
  await expectStatus(secondInstance.requestAsStaff("DELETE", `/webhook-endpoints/${id}/`), 204);
  await secondInstance.deliver();
  await firstInstance.charge();
  await firstInstance.charge();
  await firstInstance.app.publishEvents();
  const { id: newEndpointId } = await secondInstance.endpoint();
  const lastPayment = await firstInstance.charge();
  const receivedEvents = await secondInstance.deliveries(newEndpointId);
  assert.deepEqual(receivedEvents.map(({ resource_id }) => resource_id), [lastPayment.id]);
});
