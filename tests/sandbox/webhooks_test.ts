import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createSchedule } from "../../sandbox/engine/schedule.ts";
import { createClock } from "../../sandbox/engine/time.ts";
import { createReplay } from "../../sandbox/sandbox.ts";
import {
  type Hook,
  type Json,
  type Kind,
  openReceiver,
  openSandbox,
  SERVER_KEY,
  type TestSandbox,
} from "../support/gateway/sandbox.ts";
import { until } from "../support/until.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;

function signatureOf({ order_id, status_code, gross_amount }: Json, key = SERVER_KEY): string {
  return createHash("sha512").update(order_id + status_code + gross_amount + key).digest("hex");
}

Deno.test("webhook signature: is computed from the fields of the webhook and matches the test vectors", async () => {
  const serverKey = "SB-Mid-server-abc123cde456";
  await using receiver = openReceiver();
  await using box = await openSandbox({ serverKey }, receiver);
  const authorized: HeadersInit = { Authorization: `Basic ${btoa(`${serverKey}:`)}` };
  const order = { order_id: "order-101", gross_amount: 44_000 };
  const body = {
    payment_type: "bank_transfer",
    transaction_details: order,
    bank_transfer: { bank: "bca" },
  };
  await box.call("POST", "/v2/charge", body, authorized);
  await box.control("transactions/order-101/pay");
  const signatures = box.hooks.map((
    { body },
  ) => [body.status_code, body.signature_key.slice(0, 8)]);
  assert.deepEqual(signatures, [["201", "fda93cc6"], ["200", "f483fae0"]]);
  for (const { body } of box.hooks) assert.equal(body.signature_key, signatureOf(body, serverKey));
  await box.call("POST", "/v2/charge", {
    ...body,
    transaction_details: { ...order, order_id: "2" },
  }, authorized);
  const cancelled = await box.call("POST", "/v2/2/cancel", undefined, authorized);
  assert.equal(cancelled.body.status_code, "200");
  await box.waitForWebhooks();
  // The code is 202 in the webhook and 200 in the status response, so the signatures differ.
  const webhook = box.hooks.at(-1)!.body;
  assert.equal(webhook.signature_key, signatureOf(webhook, serverKey));
  const status = (await box.call("GET", "/v2/2/status", undefined, authorized)).body;
  assert.equal(status.signature_key, signatureOf(status, serverKey));
  assert.notEqual(status.signature_key, webhook.signature_key);
});

Deno.test("webhook: is a JSON POST with the user agent Veritrans", async () => {
  await using box = await openSandbox();
  await box.charge("bca");
  await box.waitForWebhooks();
  const { headers, path } = box.hooks[0]!;
  assert.equal(path, "/payment");
  assert.equal(headers.get("user-agent"), "Veritrans");
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(headers.get("accept"), "application/json");
  assert.equal(headers.get("authorization"), null);
});

const COMMON_FIELDS = [
  "currency",
  "expiry_time",
  "gross_amount",
  "merchant_id",
  "order_id",
  "payment_type",
  "pop_id",
  "signature_key",
  "status_code",
  "status_message",
  "transaction_id",
  "transaction_status",
  "transaction_time",
];

const CARD_FIELDS = [
  "approval_code",
  "bank",
  "card_type",
  "channel",
  "channel_response_code",
  "channel_response_message",
  "eci",
  "masked_card",
  "on_us",
];

/** Fields of a settlement webhook, in addition to the common ones. */
const METHOD_FIELDS: Partial<Record<Kind, string[]>> = {
  card: [...CARD_FIELDS, "fraud_status"],
  bca: ["fraud_status", "payment_amounts", "va_numbers"],
  bni: ["fraud_status", "payment_amounts", "va_numbers"],
  permata: ["fraud_status", "permata_va_number"],
  permata_old: ["fraud_status", "permata_va_number"],
  echannel: ["bill_key", "biller_code", "fraud_status"],
  gopay: ["fraud_status", "payment_option_type"],
  qris: ["acquirer", "fraud_status", "issuer", "merchant_cross_reference_id", "transaction_type"],
  qris_airpay: [
    "acquirer",
    "fraud_status",
    "issuer",
    "merchant_cross_reference_id",
    "reference_id",
    "shopeepay_reference_number",
    "transaction_type",
  ],
  shopeepay: ["fraud_status", "reference_id", "shopeepay_reference_number"],
  indomaret: ["approval_code", "payment_code", "store"],
  alfamart: ["fraud_status", "payment_code", "store"],
  akulaku: ["customer_details", "fraud_status"],
  kredivo: ["customer_details", "fraud_status"],
  dana: ["fraud_status"],
  ovo: ["fraud_status", "merchant_invoice", "payer_phone_number"],
};

for (const [kind, fields] of Object.entries(METHOD_FIELDS)) {
  Deno.test(`settlement webhook of ${kind}: has the fields of its method`, async () => {
    await using box = await openSandbox();
    await box.paid(kind as Kind);
    const { body } = box.hooks.at(-1)!;
    assert.deepEqual(
      Object.keys(body).sort(),
      [...COMMON_FIELDS, ...fields, "settlement_time"].sort(),
    );
    assert.equal(body.status_message, "midtrans payment notification");
    assert.deepEqual([body.status_code, body.transaction_status], ["200", "settlement"]);
    assert.equal(body.signature_key, signatureOf(body));
    assert.match(body.settlement_time, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    if (kind === "bni") assert.equal(body.payment_amounts[0].amount, "44000.00");
    if (kind === "bca") assert.deepEqual(body.payment_amounts, []);
  });
}

Deno.test("webhook of an unpaid transaction: has no payment reference", async () => {
  await using box = await openSandbox();
  for (const kind of ["shopeepay", "qris", "qris_airpay"] as const) {
    const { transaction_id } = await box.charge(kind);
    await box.control(`transactions/${transaction_id}/deny`);
    const { body } = box.hooks.at(-1)!;
    assert.equal(body.transaction_status, "deny");
    assert.equal(body.reference_id, undefined);
    assert.equal(body.issuer, undefined);
  }
});

/** Number of retries for each response status, as documented by the gateway. */
const RETRIES: [status: number, retries: number][] = [
  [200, 0],
  [201, 0],
  [204, 0],
  [301, 0],
  [302, 0],
  [303, 0],
  [500, 1],
  [400, 2],
  [404, 2],
  [503, 4],
  [401, 5],
  [403, 5],
  [418, 5],
  [502, 5],
];

for (const [status, retries] of RETRIES) {
  Deno.test(`webhook answered with ${status}: is retried ${retries} times`, async () => {
    await using box = await openSandbox();
    const headers: HeadersInit = status < 400 && status >= 300 ? { Location: box.url } : {};
    box.receiver.answer = () => new Response(null, { status, headers });
    await box.charge("akulaku", { custom_expiry: { expiry_duration: 100, unit: "day" } });
    await box.advance(24 * HOUR);
    assert.equal(box.hooks.length, 1 + retries);
    for (const { text } of box.hooks) assert.equal(text, box.hooks[0]!.text);
    const [webhook] = await box.get("/_sandbox/webhooks");
    assert.equal(webhook.state, status < 300 ? "delivered" : "failed");
    assert.deepEqual(
      webhook.attempts.map((attempt: Json) => attempt.status),
      Array(1 + retries).fill(status),
    );
  });
}

Deno.test("webhook to an unreachable receiver: is retried five times", async () => {
  // Nothing listens on this port any more.
  const closed = openReceiver();
  await closed[Symbol.asyncDispose]();
  await using box = await openSandbox({ settings: { notification_url: closed.url } });
  await box.charge("bca");
  await box.advance(20 * HOUR);
  const [webhook] = await box.get("/_sandbox/webhooks");
  assert.deepEqual(
    webhook.attempts.map((attempt: Json) => attempt.status),
    Array(6).fill(null),
  );
  assert.equal(webhook.state, "failed");
});

Deno.test("webhook retries: wait at most 2, 10, 30, 90 and 210 minutes, and at least a quarter of that", async () => {
  await using box = await openSandbox();
  box.receiver.answer = () => new Response(null, { status: 502 });
  await box.charge("bca");
  await box.advance(20 * HOUR);
  const [webhook] = await box.get("/_sandbox/webhooks");
  const times = webhook.attempts.map(({ at }: Json) => Date.parse(at) / 1000);
  const waits = times.slice(1).map((at: number, index: number) => at - times[index]);
  [2, 10, 30, 90, 210].forEach((maximum, index) => {
    const wait = waits[index] / MINUTE;
    assert.ok(wait >= maximum / 4 - 0.1 && wait <= maximum + 0.1, `${maximum}: ${wait}`);
  });
});

Deno.test("webhook: is delivered once after the receiver recovers", async () => {
  await using box = await openSandbox();
  box.receiver.answer = (_, number) => new Response(null, { status: number < 3 ? 503 : 200 });
  await box.charge("bca");
  await box.advance(20 * HOUR);
  assert.equal(box.hooks.length, 3);
  const [webhook] = await box.get("/_sandbox/webhooks");
  assert.equal(webhook.state, "delivered");
  assert.equal(webhook.next_attempt_at, null);
});

for (const status of [307, 308]) {
  Deno.test(`webhook redirect ${status}: is followed with the same POST`, async () => {
    await using box = await openSandbox();
    box.receiver.answer = ({ path }) =>
      path === "/payment"
        ? new Response(null, { status, headers: { Location: "/elsewhere" } })
        : new Response("thanks");
    await box.charge("bca");
    await box.advance(20 * HOUR);
    assert.deepEqual(box.hooks.map(({ path }) => path), ["/payment", "/elsewhere"]);
    assert.equal(box.hooks[1]!.text, box.hooks[0]!.text);
    const [webhook] = await box.get("/_sandbox/webhooks");
    assert.deepEqual([webhook.state, webhook.attempts[0].answer], ["delivered", "thanks"]);
  });
}

Deno.test("webhook redirects: are followed at most five times", async () => {
  await using box = await openSandbox();
  box.receiver.answer = () =>
    new Response(null, { status: 307, headers: { Location: "/payment" } });
  await box.charge("bca");
  await box.waitForWebhooks();
  assert.equal(box.hooks.length, 6);
});

Deno.test("webhook headers: override replaces the merchant's URL, append adds to it; at most three URLs are used", async () => {
  await using box = await openSandbox();
  const urlsOf = (...names: string[]) =>
    names.map((name) => `${box.receiver.url}/${name}`).join(", ");
  const receivedPaths = async (headers: HeadersInit) => {
    const { transaction_id } = await box.charge("bca", {}, headers);
    await box.control(`transactions/${transaction_id}/pay`);
    return paths(box.hooks.splice(0));
  };
  const twice = (...names: string[]) => names.flatMap((name) => [`/${name}`, `/${name}`]).sort();
  assert.deepEqual(
    await receivedPaths({ "X-Append-Notification": urlsOf("a", "b") }),
    twice("payment", "a", "b"),
  );
  assert.deepEqual(
    await receivedPaths({ "X-Override-Notification": urlsOf("c", "d") }),
    twice("c", "d"),
  );
  const both = { "X-Append-Notification": urlsOf("a"), "X-Override-Notification": urlsOf("c") };
  assert.deepEqual(await receivedPaths(both), twice("c"));
  const many = { "X-Override-Notification": urlsOf("a", "b", "c", "d") };
  assert.deepEqual(await receivedPaths(many), twice("a", "b", "c"));
});

Deno.test("webhook headers: an address that is named several times counts once and gets one webhook", async () => {
  await using box = await openSandbox();
  const urlsOf = (...names: string[]) =>
    names.map((name) => `${box.receiver.url}/${name}`).join(", ");
  await box.charge("bca", {}, {
    "X-Override-Notification": urlsOf("a", "a", "a", "a", "b", "c", "d"),
  });
  await box.waitForWebhooks();
  assert.deepEqual(paths(box.hooks.splice(0)), ["/a", "/b", "/c"]);
  await box.charge("bca", {}, { "X-Append-Notification": urlsOf("payment", "a") });
  await box.waitForWebhooks();
  assert.deepEqual(paths(box.hooks), ["/a", "/payment"]);
});

Deno.test("webhook headers: the URL stays with the transaction, also for its refund after a change of the merchant's URL", async () => {
  await using box = await openSandbox();
  const headers = { "X-Override-Notification": `${box.receiver.url}/mine` };
  const { transaction_id } = await box.charge("gopay", {}, headers);
  await box.control("settings", { notification_url: `${box.receiver.url}/other` }, "PATCH");
  await box.control(`transactions/${transaction_id}/pay`);
  await box.post(`/v2/${transaction_id}/refund`, { refund_key: "one", amount: 1_000 });
  await box.waitForWebhooks();
  assert.deepEqual(paths(box.hooks), ["/mine", "/mine", "/mine"]);
  const statuses = box.hooks.map(({ body }) => body.transaction_status);
  assert.deepEqual(statuses, ["pending", "settlement", "partial_refund"]);
});

function paths(hooks: Hook[]): string[] {
  return hooks.map(({ path }) => path).sort();
}

Deno.test("webhook headers: text that is not a URL is accepted, and no webhook is sent to it", async () => {
  await using box = await openSandbox();
  const answer = await box.charge("bca", {}, { "X-Override-Notification": "dummyurl.com" });
  assert.equal(answer.status_code, "201");
  await box.waitForWebhooks();
  assert.equal(box.hooks.length, 0);
});

Deno.test("rejected call: sends no webhook", async () => {
  await using box = await openSandbox();
  await box.charge("bca", { transaction_details: { gross_amount: 0 } });
  await box.charge("ovo", { ovo: { payer_phone_number: "+628249134000" } });
  await box.charge("card", { credit_card: { token_id: "nothing" } });
  await box.waitForWebhooks();
  assert.equal(box.hooks.length, 0);
});

Deno.test("no webhook URL: nothing is sent and the transaction still changes", async () => {
  await using box = await openSandbox({ settings: { notification_url: null } });
  const { transaction_id } = await box.paid("bca");
  await box.waitForWebhooks();
  assert.equal(box.hooks.length, 0);
  assert.equal((await box.status(transaction_id)).transaction_status, "settlement");
});

const receivedStatuses = (box: TestSandbox) => box.hooks.map(({ body }) => body.transaction_status);

Deno.test("fault webhook_lost: the webhook never arrives but can be resent", async () => {
  await using box = await openSandbox();
  await box.fault("pay", "webhook_lost");
  await box.paid("bca");
  await box.advance(24 * HOUR);
  assert.deepEqual(receivedStatuses(box), ["pending"]);
  const [lost] = await box.get("/_sandbox/webhooks?state=lost");
  assert.equal(lost.event, "settlement");
  const sent = await box.control(`webhooks/${lost.id}/resend`);
  assert.equal(sent.state, "delivered");
  assert.deepEqual(receivedStatuses(box), ["pending", "settlement"]);
});

Deno.test("lost webhook: a failed resend is retried like any other delivery", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "webhook_lost");
  await box.charge("bca");
  const [{ id }] = await box.get("/_sandbox/webhooks");
  box.receiver.answer = () => new Response(null, { status: 503 });
  assert.equal((await box.control(`webhooks/${id}/resend`)).state, "waiting");
  box.receiver.answer = () => new Response();
  await box.advance(HOUR);
  assert.equal((await box.get("/_sandbox/webhooks"))[0].state, "delivered");
});

Deno.test("fault webhook_twice: sends the same body twice", async () => {
  await using box = await openSandbox();
  await box.fault("pay", "webhook_twice");
  await box.paid("bca");
  assert.deepEqual(receivedStatuses(box), ["pending", "settlement", "settlement"]);
  assert.equal(box.hooks[1]!.text, box.hooks[2]!.text);
});

Deno.test("fault webhook_out_of_order: settlement arrives before pending", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "webhook_out_of_order");
  await box.paid("bca");
  await box.waitForWebhooks();
  assert.deepEqual(receivedStatuses(box), ["settlement", "pending"]);
});

Deno.test("held webhook: is delivered by the settle call", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "webhook_out_of_order");
  await box.charge("bca");
  assert.equal(box.hooks.length, 0);
  await box.waitForWebhooks();
  assert.deepEqual(receivedStatuses(box), ["pending"]);
});

Deno.test("webhooks of one transaction: arrive in order at a slow receiver", async () => {
  await using box = await openSandbox();
  const { promise, resolve } = Promise.withResolvers<void>();
  box.receiver.answer = async (_, number) => {
    if (number === 1) await promise;
    return new Response();
  };
  const { transaction_id } = await box.charge("bca");
  const paying = box.control(`transactions/${transaction_id}/pay`);
  while ((await box.status(transaction_id)).transaction_status === "pending");
  // Long enough for a second webhook to arrive, if one were sent.
  for (let i = 0; i < 50; i++) await box.status(transaction_id);
  assert.equal(box.hooks.length, 1);
  resolve();
  await paying;
  assert.deepEqual(receivedStatuses(box), ["pending", "settlement"]);
});

Deno.test("webhook: may arrive before the response of its call", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "webhook_first");
  const { transaction_id } = await box.charge("bca");
  assert.equal(box.hooks[0]!.body.transaction_id, transaction_id);
});

Deno.test("webhook list: has payloads, attempts and responses", async () => {
  await using box = await openSandbox();
  box.receiver.answer = () => new Response("<html>what?</html>", { status: 404 });
  const { transaction_id } = await box.charge("bca");
  await box.charge("gopay");
  await box.waitForWebhooks();
  const list = await box.get(`/_sandbox/webhooks?transaction_id=${transaction_id}`);
  assert.equal(list.length, 1);
  const [webhook] = list;
  assert.deepEqual(webhook.payload, box.hooks[0]!.body);
  assert.deepEqual([webhook.event, webhook.cause, webhook.state], ["pending", "charge", "waiting"]);
  assert.equal(webhook.url, `${box.receiver.url}/payment`);
  assert.deepEqual(
    webhook.attempts.map(({ status, answer }: Json) => [status, answer]),
    [[404, "<html>what?</html>"]],
  );
  assert.ok(webhook.next_attempt_at > webhook.created_at);
});

Deno.test("webhook: only the first 500 characters of an endless response are read and stored", async () => {
  await using box = await openSandbox();
  box.receiver.answer = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new TextEncoder().encode("x".repeat(1000))),
      }),
    );
  await box.charge("bca");
  await box.waitForWebhooks();
  const [webhook] = await box.get("/_sandbox/webhooks");
  assert.equal(webhook.attempts[0].answer, "x".repeat(500));
});

Deno.test("webhook retries: duplicates and resends do not count as retries", async () => {
  await using box = await openSandbox();
  box.receiver.answer = () => new Response(null, { status: 500 });
  await box.fault("charge", "webhook_twice");
  await box.charge("bca");
  await box.waitForWebhooks();
  const [twice] = await box.get("/_sandbox/webhooks");
  assert.deepEqual([twice.state, twice.attempts.length], ["waiting", 2]);
  await box.advance(3_600);
  const [failed] = await box.get("/_sandbox/webhooks");
  assert.deepEqual([failed.state, failed.attempts.length], ["failed", 3]);
  // After a manual resend, the retries start again from zero.
  await box.control(`webhooks/${failed.id}/resend`);
  assert.equal((await box.get("/_sandbox/webhooks"))[0].state, "waiting");
});

Deno.test("held webhook: a resend delivers it once", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "webhook_out_of_order");
  await box.charge("bca");
  const [held] = await box.get("/_sandbox/webhooks");
  assert.equal(held.state, "held");
  await box.control(`webhooks/${held.id}/resend`);
  await box.waitForWebhooks();
  assert.equal(box.hooks.length, 1);
});

Deno.test("control call: waits for its own webhooks only", async () => {
  await using box = await openSandbox();
  const first = await box.charge("bca");
  const second = await box.charge("bca");
  await box.waitForWebhooks();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  box.receiver.answer = async ({ body }) => {
    if (body.order_id === first.order_id) await released;
    return new Response();
  };
  const hanging = box.control(`transactions/${first.transaction_id}/pay`);
  await until("the first webhook is being delivered", () => box.hooks.length === 3);
  await box.control(`transactions/${second.transaction_id}/pay`);
  assert.equal(box.hooks.at(-1)!.body.order_id, second.order_id);
  const [inDelivery] = await box.get(`/_sandbox/webhooks?transaction_id=${first.transaction_id}`);
  assert.deepEqual([inDelivery.event, inDelivery.attempts], ["settlement", []]);
  release();
  await hanging;
});

Deno.test("webhooks settle call: returns the number of webhooks that wait for a retry", async () => {
  await using box = await openSandbox();
  box.receiver.answer = () => new Response(null, { status: 503 });
  await box.charge("bca");
  assert.deepEqual(await box.control("webhooks/settle"), { waiting: 1 });
});

Deno.test("webhook redirect: is not followed to a URL that is not http", async () => {
  await using box = await openSandbox();
  box.receiver.answer = () =>
    new Response(null, { status: 307, headers: { Location: "data:text/plain,hello" } });
  await box.charge("bca");
  await box.waitForWebhooks();
  const [webhook] = await box.get("/_sandbox/webhooks");
  assert.deepEqual([webhook.state, webhook.attempts[0].status], ["waiting", 307]);
});

Deno.test("webhook: a receiver that does not respond does not delay webhooks to other receivers", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await using dead = openReceiver();
  dead.answer = async () => {
    await released;
    return new Response();
  };
  await using box = await openSandbox();
  const headers = { "X-Override-Notification": dead.url };
  await Promise.all(Array.from({ length: 120 }, () => box.charge("bca", {}, headers)));
  await until("the dead receiver has 50, the limit", () => dead.hooks.length === 50);
  // `paid` waits for the first attempt of its webhooks. It would hang if they waited for the dead
  // receiver.
  await box.paid("gopay");
  const healthy = box.hooks.map(({ body }) => body.transaction_status);
  assert.deepEqual(healthy, ["pending", "settlement"]);
  assert.equal(dead.hooks.length, 50);
  release();
  await until("the other webhooks are delivered", () => dead.hooks.length === 120);
  await box.waitForWebhooks();
});

Deno.test("replay: returns to the present if the last clock jump fails", async () => {
  const clock = createClock();
  const fail = () => Promise.reject(new Error("The jump failed."));
  const schedule = createSchedule(clock, () => Promise.resolve(), fail);
  const { replay, replayedTime } = createReplay({ clock, schedule, saveState() {} });
  const began = Date.now();
  const replayed = replay(began - 86_400_000, () => {
    assert.ok(replayedTime()! < began - 86_000_000);
    return Promise.resolve();
  });
  await assert.rejects(replayed, /The jump failed/);
  assert.equal(replayedTime(), null);
  assert.ok(clock.now() > began - 1_000);
});

Deno.test("clock jump: ends while other requests add new entries", async () => {
  const clock = createClock();
  const ran: string[] = [];
  const schedule = createSchedule(clock, async (key) => {
    ran.push(key);
    if (key === "first") schedule.set("consequence", clock.now() + 1);
    await Promise.resolve();
    // Like entries of other requests: added during the jump and due within it.
    if (ran.length < 100) schedule.set("deferred", clock.now() + 1);
    if (key === "first") schedule.set("joins jump", clock.now() + 2, true);
  }, () => Promise.resolve());
  schedule.start();
  const start = clock.now() + 60_000;
  schedule.set("first", start);
  await schedule.advance(start + 1_000);
  assert.deepEqual(ran, ["first", "consequence", "joins jump"]);
  assert.ok(clock.now() >= start + 1_000);
  await until("the deferred entries run", () => ran.includes("deferred"));
  schedule.close();
});
