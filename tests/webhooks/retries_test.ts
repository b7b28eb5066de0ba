import assert from "node:assert/strict";
import { buildNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { until } from "../support/until.ts";
import { openWebhookReceiver, type ReceiverAnswer } from "../support/events/webhook_receiver.ts";
import { manualClock } from "../support/manual_clock.ts";
import {
  type Delivery,
  eventIn,
  expectStatus,
  isSignedWith,
  openWebhooks,
  receivedNames,
} from "../support/events/webhooks.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const SUCCESSES: Record<string, ReceiverAnswer> = {
  "200": { status: 200, body: "thanks" },
  "201": { status: 201 },
  "202": { status: 202 },
  "204": { status: 204 },
  "299": { status: 299 },
  "a truncated 200": "cut",
  "a binary body": { body: Uint8Array.from([0, 255, 254, 0, 65, 0xc3]) },
};

Deno.test("webhook delivery: any 2xx status is a success", async () => {
  await using webhooks = await openWebhooks();
  const { id } = await webhooks.endpoint();
  for (const [name, answer] of Object.entries(SUCCESSES)) {
    webhooks.receiver.answer(answer);
    const payment = await webhooks.charge();
    await webhooks.deliver();
    assert.deepEqual(
      await webhooks.deliverySummaries(id, payment.id),
      ["payment_received delivered 1"],
      name,
    );
  }
  assert.equal((await webhooks.readEndpoint(id)).failing_since, null);
});

const FAILURES: Record<string, [ReceiverAnswer | "down", number | null]> = {
  "300": [{ status: 300 }, 300],
  "304": [{ status: 304 }, 304],
  "400": [{ status: 400 }, 400],
  "404": [{ status: 404, body: "not here\0" }, 404],
  "429": [{ status: 429, headers: { "Retry-After": "1" } }, 429],
  "500": [{ status: 500 }, 500],
  "503": [{ status: 503 }, 503],
  "101": [
    { raw: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" },
    null,
  ],
  "no response": ["hang", null],
  "an early close": ["close", null],
  "a response that is not HTTP": [{ raw: "SSH-2.0-OpenSSH\r\n\r\n" }, null],
  "no server": ["down", null],
};

Deno.test("webhook delivery: a status other than 2xx or an error is a failure, and the event is sent again once the endpoint works", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now, posting: { timeoutMs: 5_000 } });
  const { id, secret } = await webhooks.endpoint();
  const payments: string[] = [];
  for (const [name, [answer, code]] of Object.entries(FAILURES)) {
    if (answer === "down") webhooks.receiver.down();
    else webhooks.receiver.answer(answer);
    const payment = await webhooks.charge();
    await webhooks.deliver();
    payments.push(payment.id);
    const delivery = (await webhooks.deliveries(id)).find((each) =>
      each.resource_id === payment.id
    )!;
    const { status, attempts, status_code, delivered_at, duration_ms } = delivery;
    assert.deepEqual([status, attempts, delivered_at], ["pending", 1, null], name);
    assert.equal(status_code, code, name);
    assert.equal(delivery.error === null, code !== null, name);
    assert.ok(duration_ms !== null && duration_ms >= 0);
    assert.equal(delivery.last_attempt_at, new Date(clock.now()).toISOString());
  }
  webhooks.receiver.up();
  webhooks.receiver.answer({ body: "x".repeat(5_000) });
  webhooks.receiver.received.length = 0;
  clock.advance(6 * SECOND_MS);
  await webhooks.deliver();
  const receivedEvents = webhooks.receiver.received.map((webhook) => {
    assert.ok(isSignedWith(secret, webhook));
    return eventIn(webhook).data.id;
  });
  assert.deepEqual(receivedEvents.toSorted(), payments.toSorted());
  for (const { status, attempts, status_code, answer, error } of await webhooks.deliveries(id)) {
    assert.deepEqual([status, attempts, status_code, error], ["delivered", 2, 200, null]);
    assert.ok(answer!.length >= 100 && answer!.length <= 1_000);
  }
});

Deno.test("webhook delivery: does not follow a redirect", async () => {
  await using webhooks = await openWebhooks();
  await using redirectTarget = openWebhookReceiver();
  const { id } = await webhooks.endpoint();
  for (const status of [301, 302, 303, 307, 308]) {
    webhooks.receiver.answer({ status, headers: { location: redirectTarget.url } });
    const payment = await webhooks.charge();
    await webhooks.deliver();
    assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
      "payment_received pending 1",
    ]);
  }
  assert.equal(redirectTarget.received.length, 0);
});

/** The delay after each failure. */
const DELAYS_MS = [
  ...[5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS],
  ...[14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS],
];

Deno.test("webhook delivery: fails after nine retries with growing delays, and a success of a later event does not change the delays", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver } = webhooks;
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.charge("gopay");
  const isRejected = ({ name, data }: ReturnType<typeof eventIn>) =>
    data.id === payment.id && name === "payment_received";
  receiver.answer((webhook) => ({ status: isRejected(eventIn(webhook)) ? 500 : 200 }));
  await webhooks.deliver();
  await notifyAndRead(webhooks, buildNotification(payment, "settlement"));
  await webhooks.deliver();
  const receivedEvents = () => receivedNames(receiver.received, payment.id);
  const attempts = () => receivedEvents().filter((name) => name === "payment_received");
  for (const [index, delay] of DELAYS_MS.entries()) {
    const failed = (await webhooks.deliveries(id, "?status=pending")).at(-1)!;
    assert.equal(failed.attempts, index + 1);
    const waits = Date.parse(failed.next_attempt_at!) - clock.now();
    assert.ok(waits >= 0.9 * delay - 1 && waits <= 1.1 * delay + 1, `${waits} for ${delay}`);
    // Another delivery succeeds meanwhile, so the endpoint is not disabled.
    await webhooks.charge();
    await webhooks.deliver();
    clock.set(new Date(Date.parse(failed.next_attempt_at!) - 1));
    await webhooks.deliver();
    assert.equal(attempts().length, index + 1, "no attempt before its time");
    clock.advance(1);
    await webhooks.deliver();
    assert.equal(attempts().length, index + 2);
  }
  assert.deepEqual(receivedEvents().toSorted(), [
    ...Array(10).fill("payment_received"),
    "payment_settled",
  ]);
  const [received, settled] = (await webhooks.deliveries(id))
    .filter(({ resource_id }) => resource_id === payment.id).reverse();
  assert.deepEqual(
    [received!.status, received!.attempts, received!.next_attempt_at, received!.delivered_at],
    ["failed", 10, null, null],
  );
  assert.deepEqual([settled!.status, settled!.attempts], ["delivered", 1]);
  clock.advance(3 * DAY_MS);
  receiver.answer({});
  await webhooks.deliver();
  assert.deepEqual(await webhooks.deliverySummaries(id, payment.id), [
    "payment_received failed 10",
    "payment_settled delivered 1",
  ]);
  assert.equal((await webhooks.readEndpoint(id)).enabled, true);
  const ids = new Set(
    receiver.received.filter((webhook) => eventIn(webhook).name === "payment_received")
      .filter((webhook) => eventIn(webhook).data.id === payment.id)
      .map(({ headers }) => headers["webhook-id"]),
  );
  assert.deepEqual([...ids], [received!.id], "all attempts have the same id");
});

Deno.test("resend: a resend during the last attempt sends the delivery again, even if that attempt fails", async () => {
  const clock = manualClock();
  await using webhooks = await openWebhooks({ now: clock.now });
  const { receiver, app } = webhooks;
  const { id } = await webhooks.endpoint();
  const payment = await webhooks.charge();
  await app.database.query((sql) => sql`update gateway.webhook_deliveries set attempts = 9`);
  const answer = Promise.withResolvers<void>();
  receiver.answer(async () => {
    await answer.promise;
    return { status: 500 };
  });
  const delivering = webhooks.deliver();
  try {
    await until("the last attempt is in progress", () => receiver.received.length === 1);
    const [delivery] = await webhooks.deliveries(id);
    const path = `/webhook-endpoints/${id}/deliveries/${delivery!.id}/resend/`;
    const { status, attempts } = await expectStatus(
      webhooks.requestAsStaff("POST", path),
      202,
    ) as Delivery;
    assert.deepEqual([status, attempts], ["pending", 0]);
    receiver.answer({});
  } finally {
    answer.resolve();
    await delivering;
  }
  clock.advance(6 * SECOND_MS);
  await webhooks.deliver();
  assert.deepEqual(receivedNames(receiver.received, payment.id).length, 2);
  assert.match(
    (await webhooks.deliverySummaries(id, payment.id)).join(),
    /^payment_received delivered \d$/,
  );
});
