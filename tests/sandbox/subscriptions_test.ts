import assert from "node:assert/strict";
import {
  type Hook,
  type Json,
  linkedAccount,
  openSandbox,
  savedCard,
  type TestSandbox,
} from "../support/gateway/sandbox.ts";
import { SUBSCRIPTION } from "../support/gateway/sandbox_requests.ts";

const DAY = 86_400;
const HOUR = 3_600;

const DENIED_CARD = "4911111111111113";

async function createSubscription(box: TestSandbox, more: Json = {}): Promise<Json> {
  const token = more.token ?? await savedCard(box);
  const schedule = { interval: 1, interval_unit: "day", ...more.schedule };
  const { http, body } = await box.call("POST", "/v1/subscriptions", {
    ...SUBSCRIPTION,
    ...more,
    token,
    schedule,
  });
  assert.equal(http, 200, JSON.stringify(body));
  return body;
}

const getSubscription = (box: TestSandbox, id: string): Promise<Json> =>
  box.get(`/v1/subscriptions/${id}`);
const recurringWebhooks = (box: TestSandbox): Json[] => bodies(box, "/recurring");
const paymentWebhooks = (box: TestSandbox): Json[] => bodies(box, "/payment");

function bodies({ hooks }: { hooks: Hook[] }, path: string): Json[] {
  return hooks.filter((hook) => hook.path === path).map(({ body }) => body);
}

Deno.test("subscription: has the requested fields and the time of its next charge", async () => {
  await using box = await openSandbox();
  await box.control("clock", { to: "2081-01-31T05:00:00.000Z" });
  const start_time = "2081-02-01 07:00:00 +0700";
  const { http, body } = await box.call("POST", "/v1/subscriptions", {
    ...SUBSCRIPTION,
    schedule: { ...SUBSCRIPTION.schedule, start_time },
  });
  assert.equal(http, 200);
  const { transaction_ids, ...subscription } = body;
  assert.deepEqual(transaction_ids, []);
  const { id, created_at, merchant_id, schedule, ...rest } = subscription;
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.match(created_at, /^2081-01-31 12:00:0\d$/);
  assert.match(merchant_id, /^G\d+$/);
  const { schedule: _schedule, ...requested } = SUBSCRIPTION;
  assert.deepEqual(rest, { ...requested, status: "active" });
  assert.deepEqual(schedule, {
    interval: 1,
    interval_unit: "month",
    current_interval: 0,
    max_interval: 12,
    start_time: "2081-02-01 07:00:00",
    next_execution_at: "2081-02-01 07:00:00",
  });
  await box.waitForWebhooks();
  // The webhook is the subscription object, without a signature.
  assert.deepEqual(recurringWebhooks(box), [subscription]);
});

Deno.test("subscription without start time: is first charged after one interval, and has no end", async () => {
  await using box = await openSandbox();
  const { id, schedule } = await createSubscription(box);
  assert.equal(schedule.max_interval, undefined);
  await box.advance(DAY - 60);
  assert.equal((await getSubscription(box, id)).transaction_ids.length, 0);
  await box.advance(61);
  assert.equal((await getSubscription(box, id)).transaction_ids.length, 1);
  await box.advance(30 * DAY);
  const later = await getSubscription(box, id);
  assert.deepEqual([later.transaction_ids.length, later.status], [31, "active"]);
});

Deno.test("subscription charge: sends both kinds of webhooks; the order id is the name and 32 digits", async () => {
  await using box = await openSandbox();
  const { id } = await createSubscription(box);
  await box.advance(DAY + 1);
  const [, webhook] = recurringWebhooks(box);
  const { transaction_ids: [transactionId], ...subscription } = await getSubscription(box, id);
  assert.deepEqual(webhook, {
    event_name: "subscription.charge",
    transaction: {
      transaction_status: "capture",
      transaction_id: transactionId,
      status_code: "200",
      channel_response_code: "0",
      channel_response_message: "Approved",
    },
    subscription,
  });
  assert.equal(webhook.subscription.schedule.current_interval, 1);
  const [payment] = paymentWebhooks(box);
  assert.match(payment.order_id, /^MONTHLY_2024\d{32}$/);
  assert.match(payment.signature_key, /^[0-9a-f]{128}$/);
  assert.equal(payment.gross_amount, "14000.00");
  const status = await box.status(transactionId);
  assert.equal(status.transaction_id, transactionId);
});

Deno.test("monthly subscription: keeps its day or uses the last day of the month", async () => {
  // At 3:00 in Jakarta it is still the day before in UTC.
  for (const time of ["12:00:00", "03:00:00"]) {
    await using box = await openSandbox();
    await box.control("clock", { to: "2081-01-01T00:00:00Z" });
    const { id } = await createSubscription(box, {
      schedule: { interval_unit: "month", start_time: `2081-01-31 ${time} +0700` },
    });
    const days = [];
    for (let month = 0; month < 4; month++) {
      const { schedule } = await getSubscription(box, id);
      days.push(schedule.next_execution_at.slice(0, 10));
      await box.control("clock", { to: schedule.next_execution_at });
    }
    assert.deepEqual(days, ["2081-01-31", "2081-02-28", "2081-03-31", "2081-04-30"]);
  }
});

Deno.test("subscription max_interval: is the number of charges; 0 means one", async () => {
  await using box = await openSandbox();
  for (const [max_interval, cycles] of [[0, 1], [1, 1], [3, 3]] as const) {
    const { id } = await createSubscription(box, { schedule: { max_interval } });
    await box.advance(10 * DAY);
    const { status, transaction_ids, schedule } = await getSubscription(box, id);
    assert.deepEqual([status, transaction_ids.length], ["inactive", cycles]);
    assert.equal(schedule.next_execution_at, null);
  }
});

Deno.test("declined subscription charge: is retried as retry_schedule says, then the subscription becomes inactive", async () => {
  await using box = await openSandbox();
  const { id } = await createSubscription(box, {
    token: await savedCard(box, DENIED_CARD),
    retry_schedule: { interval: 1, interval_unit: "hour", max_interval: 2 },
  });
  await box.advance(DAY + 60);
  assert.deepEqual([paymentWebhooks(box).length, recurringWebhooks(box).length], [1, 1]);
  await box.advance(HOUR);
  assert.deepEqual([paymentWebhooks(box).length, recurringWebhooks(box).length], [2, 1]);
  assert.equal((await getSubscription(box, id)).status, "active");
  await box.advance(HOUR);
  assert.equal(paymentWebhooks(box).length, 3);
  const orders = new Set(paymentWebhooks(box).map(({ order_id }) => order_id));
  assert.equal(orders.size, 3);
  const webhook = recurringWebhooks(box).at(-1);
  assert.equal(webhook.event_name, "subscription.charge");
  assert.deepEqual([webhook.transaction.transaction_status, webhook.transaction.status_code], [
    "deny",
    "202",
  ]);
  assert.equal(webhook.subscription.status, "inactive");
  const ended = await getSubscription(box, id);
  assert.deepEqual([ended.status, ended.transaction_ids], ["inactive", []]);
  await box.advance(30 * DAY);
  assert.equal(paymentWebhooks(box).length, 3);
});

Deno.test("subscription retries: max_interval 0 means none; the default is three, one hour apart", async () => {
  await using box = await openSandbox();
  const token = await savedCard(box, DENIED_CARD);
  await createSubscription(box, {
    token,
    retry_schedule: { interval: 1, interval_unit: "hour", max_interval: 0 },
  });
  await box.advance(DAY + DAY / 2);
  assert.equal(paymentWebhooks(box).length, 1);
  box.hooks.length = 0;
  await createSubscription(box, { token, retry_schedule: undefined });
  await box.advance(DAY + 2.5 * HOUR);
  assert.equal(paymentWebhooks(box).length, 3);
  await box.advance(HOUR);
  assert.equal(paymentWebhooks(box).length, 4);
});

Deno.test("subscription charge with an unknown token: fails with 411 and creates no transaction", async () => {
  await using box = await openSandbox();
  const { id } = await createSubscription(box, { token: "dummy" });
  await box.advance(2 * DAY);
  assert.equal(paymentWebhooks(box).length, 0);
  const { transaction, subscription } = recurringWebhooks(box).at(-1);
  assert.deepEqual(transaction, {
    status_code: "411",
    status_message: "Credit card token is no longer available. Please create a new one.",
  });
  assert.deepEqual([subscription.id, subscription.status], [id, "inactive"]);
});

Deno.test("disabled subscription: starts no new cycles, but scheduled retries still run", async () => {
  await using box = await openSandbox();
  const { id } = await createSubscription(box, { token: await savedCard(box, DENIED_CARD) });
  await box.advance(DAY + 60);
  assert.equal(paymentWebhooks(box).length, 1);
  const { http, body } = await box.call("POST", `/v1/subscriptions/${id}/disable`);
  assert.deepEqual([http, body], [200, { status_message: "Subscription is updated." }]);
  assert.equal((await getSubscription(box, id)).status, "inactive");
  await box.advance(HOUR);
  assert.equal(paymentWebhooks(box).length, 2);
  await box.advance(10 * DAY);
  assert.equal(paymentWebhooks(box).length, 3);
});

Deno.test("cancelled subscription: drops its retries and cannot be enabled", async () => {
  await using box = await openSandbox();
  const { id } = await createSubscription(box, { token: await savedCard(box, DENIED_CARD) });
  await box.advance(DAY + 60);
  const { body } = await box.call("POST", `/v1/subscriptions/${id}/cancel`);
  assert.deepEqual(body, { status_message: "Subscription is updated." });
  await box.advance(10 * DAY);
  assert.equal(paymentWebhooks(box).length, 1);
  const enabled = await box.call("POST", `/v1/subscriptions/${id}/enable`);
  assert.equal(enabled.http, 400);
  assert.equal((await getSubscription(box, id)).status, "inactive");
});

Deno.test("re-enabled subscription: continues at its usual time and does not charge missed cycles", async () => {
  await using box = await openSandbox();
  const { id } = await createSubscription(box);
  await box.advance(DAY + 60);
  await box.post(`/v1/subscriptions/${id}/disable`);
  await box.advance(5 * DAY);
  assert.equal((await getSubscription(box, id)).transaction_ids.length, 1);
  const { body } = await box.call("POST", `/v1/subscriptions/${id}/enable`);
  assert.deepEqual(body, { status_message: "Subscription is updated." });
  assert.equal((await getSubscription(box, id)).status, "active");
  assert.equal((await getSubscription(box, id)).transaction_ids.length, 1);
  await box.advance(DAY);
  assert.equal((await getSubscription(box, id)).transaction_ids.length, 2);
});

const UPDATE = { name: "NEW_NAME", amount: "20000", currency: "IDR" };

Deno.test("subscription update: changes the allowed fields and keeps the time of the next charge", async () => {
  await using box = await openSandbox();
  const token = await savedCard(box);
  const { id, schedule } = await createSubscription(box, { token });
  const { http, body } = await box.call("PATCH", `/v1/subscriptions/${id}`, {
    ...UPDATE,
    token,
    schedule: { interval: 3 },
    retry_schedule: { interval: 2, interval_unit: "minute", max_interval: 1 },
  });
  assert.deepEqual([http, body], [200, { status_message: "Subscription is updated." }]);
  const updated = await getSubscription(box, id);
  assert.deepEqual([updated.name, updated.amount, updated.schedule.interval], [
    "NEW_NAME",
    "20000",
    3,
  ]);
  assert.equal(updated.schedule.next_execution_at, schedule.next_execution_at);
  assert.deepEqual(updated.retry_schedule, {
    interval: 2,
    interval_unit: "minute",
    max_interval: 1,
  });
  await box.advance(DAY + 60);
  assert.equal(paymentWebhooks(box)[0].gross_amount, "20000.00");
  const { next_execution_at } = (await getSubscription(box, id)).schedule;
  assert.equal(
    Date.parse(next_execution_at) - Date.parse(schedule.next_execution_at),
    3 * DAY * 1000,
  );
});

Deno.test("subscription update with a future time: reactivates an ended subscription", async () => {
  await using box = await openSandbox();
  await box.control("clock", { to: "2081-01-01T00:00:00Z" });
  const { id } = await createSubscription(box, { token: "dummy" });
  await box.advance(2 * DAY);
  assert.equal((await getSubscription(box, id)).status, "inactive");
  const token = await savedCard(box);
  const update = (next_execution_at: string) =>
    box.call("PATCH", `/v1/subscriptions/${id}`, {
      ...UPDATE,
      token,
      schedule: { next_execution_at },
    });
  const past = await update("2080-01-01 00:00:00 +0700");
  assert.deepEqual(past.body.validation_messages, [
    "subscription.schedule.next_execution_at must be in the future",
  ]);
  assert.equal((await update("2081-02-01 00:00:00 +0700")).http, 200);
  assert.equal((await getSubscription(box, id)).status, "active");
  await box.control("clock", { to: "2081-02-01T00:00:00Z" });
  assert.equal((await getSubscription(box, id)).transaction_ids.length, 1);
});

Deno.test("subscription with invalid fields: gets HTTP 400 and a message with the path of each field", async () => {
  await using box = await openSandbox();
  const { http, body } = await box.call("POST", "/v1/subscriptions", {
    ...SUBSCRIPTION,
    amount: undefined,
    name: "x".repeat(41),
    schedule: { interval: 0, interval_unit: "year" },
    retry_schedule: { interval: 1, interval_unit: "hour", max_interval: 4 },
    metadata: { text: "x".repeat(1024) },
  });
  assert.equal(http, 400);
  assert.equal(body.status_message, "Invalid parameter.");
  assert.equal(body.status_code, undefined);
  assert.ok(body.validation_messages.includes("subscription.amount is required"));
  assert.equal(body.validation_messages.length, 6, body.validation_messages.join());
  const past = { ...SUBSCRIPTION.schedule, start_time: "2001-01-01 00:00:00 +0700" };
  const late = await box.call("POST", "/v1/subscriptions", { ...SUBSCRIPTION, schedule: past });
  assert.deepEqual(late.body.validation_messages, [
    "subscription.schedule.start_time must be in the future",
  ]);
});

Deno.test("subscription amount: must be a whole number within the limits", async () => {
  await using box = await openSandbox();
  const code = async (amount: unknown) =>
    (await box.call("POST", "/v1/subscriptions", { ...SUBSCRIPTION, amount })).http;
  assert.equal(await code("1"), 200);
  assert.equal(await code(14_000), 200);
  assert.equal(await code("99999999999"), 200);
  for (const amount of ["0", "100000000000", "1.5", "a lot", "", null]) {
    assert.equal(await code(amount), 400, String(amount));
  }
});

Deno.test("gopay subscription: requires an account and is charged without a PIN", async () => {
  await using box = await openSandbox();
  const { account_id, payment_option_token: token } = await linkedAccount(box);
  const more = { payment_type: "gopay", amount: "150000", token };
  const missing = await box.call("POST", "/v1/subscriptions", { ...SUBSCRIPTION, ...more });
  assert.deepEqual(missing.body.validation_messages, ["subscription.gopay.account_id is required"]);
  const { id } = await createSubscription(box, { ...more, gopay: { account_id } });
  await box.advance(DAY + 60);
  assert.equal(paymentWebhooks(box).at(-1).transaction_status, "settlement");
  assert.equal((await getSubscription(box, id)).transaction_ids.length, 1);
});

Deno.test("subscription: returns HTTP 404 without a code in the body for an unknown id", async () => {
  await using box = await openSandbox();
  const calls: [string, string][] = [
    ["GET", ""],
    ["PATCH", ""],
    ["POST", "/disable"],
    ["POST", "/enable"],
    ["POST", "/cancel"],
  ];
  for (const [method, suffix] of calls) {
    const body = method === "PATCH" ? { ...UPDATE, token: "t" } : undefined;
    const answer = await box.call(method, `/v1/subscriptions/unknown${suffix}`, body);
    assert.equal(answer.http, 404);
    assert.deepEqual(answer.body, { status_message: "Subscription doesn't exist." });
  }
});

Deno.test("control API, subscription run: charges the next cycle at once; for a disabled subscription, runs its pending retry", async () => {
  await using box = await openSandbox();
  const { id } = await createSubscription(box);
  assert.equal((await box.control(`subscriptions/${id}/run`)).transaction_ids.length, 1);
  assert.equal((await box.control(`subscriptions/${id}/run`)).transaction_ids.length, 2);
  const other = await createSubscription(box, { token: await savedCard(box, DENIED_CARD) });
  await box.control(`subscriptions/${other.id}/run`);
  await box.post(`/v1/subscriptions/${other.id}/disable`);
  const before = paymentWebhooks(box).length;
  const planned = (await getSubscription(box, other.id)).schedule;
  const { schedule } = await box.control(`subscriptions/${other.id}/run`);
  assert.equal(paymentWebhooks(box).length, before + 1);
  assert.deepEqual(schedule, planned);
  await box.post(`/v1/subscriptions/${other.id}/cancel`);
  assert.equal((await box.call("POST", `/_sandbox/subscriptions/${other.id}/run`)).http, 412);
});

Deno.test("completed subscription: cannot be enabled", async () => {
  await using box = await openSandbox();
  const schedule = { interval: 1, interval_unit: "day", max_interval: 1 };
  const token = await savedCard(box);
  const { id } = await box.post("/v1/subscriptions", { ...SUBSCRIPTION, token, schedule });
  await box.advance(2 * 86_400);
  const { http, body } = await box.call("POST", `/v1/subscriptions/${id}/enable`);
  assert.equal(http, 400);
  assert.deepEqual(body.validation_messages, ["subscription.schedule.max_interval is reached"]);
  await box.advance(3 * 86_400);
  assert.equal((await box.get(`/v1/subscriptions/${id}`)).transaction_ids.length, 1);
});
