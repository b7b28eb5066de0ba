import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { runSql } from "../support/database/database.ts";
import { notify } from "../support/gateway/notifications.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { jobsOf } from "../support/jobs/due_jobs.ts";
import { assertProblem } from "../support/problem.ts";
import {
  assertAllCharged,
  buildRecurringNotification,
  CREATE,
  HOUR,
  MINUTE,
  namesOf,
  openSubscriptions,
  parseSubscription,
  secondOf,
  type Subscription,
  type TestSubscriptions,
} from "../support/records/subscriptions.ts";

/** Sends unsigned notifications. The service responds to each with 200, and never stores it. */
async function sendHints(subscriptions: TestSubscriptions, ...bodies: Json[]): Promise<void> {
  for (const body of bodies) {
    const response = await notify(subscriptions, body);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.deepEqual(JSON.parse(text), { status: "ok", notification_id: null });
  }
}

async function countRows({ databaseUrl }: TestSubscriptions): Promise<Json> {
  const [counts] = await runSql(
    databaseUrl,
    `select (select count(*) from gateway.jobs) as jobs,
       (select count(*) from gateway.notifications) as notifications,
       (select count(*) from gateway.payments) as payments,
       (select count(*) from gateway.subscriptions) as subscriptions,
       (select count(*) from gateway.events) as events`,
  );
  return { ...counts };
}

/** A subscription that was created more than a minute ago and has not been checked since. */
async function createUncheckedForAMinute(subscriptions: TestSubscriptions): Promise<Subscription> {
  const subscription = await subscriptions.create();
  await subscriptions.advance(MINUTE + 1);
  return subscription;
}

/** The gateway creates the subscription, but the response is lost: the row stays pending. */
async function createWithLostResponse(subscriptions: TestSubscriptions, headers = newKey()) {
  const { sandbox, post } = subscriptions;
  await sandbox.fault("subscription_create", "answer_lost");
  const request = await subscriptions.request();
  const problem = await assertProblem(
    await post("/subscriptions/", request, headers),
    502,
    "gateway_unreachable",
  );
  assert.equal(problem.outcome, "unknown");
  const id = problem.subscription_id!;
  const pending = await subscriptions.stored(id);
  assert.equal(pending.status, "pending");
  assert.equal(pending.gateway_subscription_id, null);
  return { id, headers, request };
}

/** The gateway's notification about the subscription that it created last. */
async function lastCreated(subscriptions: TestSubscriptions): Promise<Json> {
  const created = await subscriptions.createdAtGateway();
  assert.ok(created.length > 0);
  return created.at(-1);
}

async function assertCreated(
  subscriptions: TestSubscriptions,
  id: string,
  created: Json,
): Promise<Subscription> {
  const active = await subscriptions.stored(id);
  assert.equal(active.status, "active");
  assert.equal(active.gateway_subscription_id, created.id);
  assert.equal(secondOf(active.next_execution_at), secondOf(created.schedule.next_execution_at));
  assert.deepEqual(namesOf(await subscriptions.readEvents(id)), ["subscription_created"]);
  return active;
}

Deno.test("recurring notification of an unknown subscription: stores nothing and causes no check", async () => {
  await using subscriptions = await openSubscriptions();
  await subscriptions.create();
  await subscriptions.runJobs();
  const [before, callsBefore] = [
    await countRows(subscriptions),
    subscriptions.relay.asked().length,
  ];
  const ref = { subscription_ref: randomUUID() };
  await sendHints(
    subscriptions,
    buildRecurringNotification(randomUUID()),
    buildRecurringNotification(randomUUID(), { metadata: ref }),
    buildRecurringNotification("../../v2/charge", { metadata: { subscription_ref: "no id" } }),
    { id: randomUUID(), status: "inactive", schedule: {}, metadata: ref },
    { account_id: randomUUID(), account_status: "ENABLED", status_code: "200" },
  );
  await subscriptions.runJobs();
  assert.deepEqual(await countRows(subscriptions), before);
  assert.equal(subscriptions.relay.asked().length, callsBefore);
});

Deno.test("recurring notification with invalid values: gets a 200 and changes nothing", async () => {
  await using subscriptions = await openSubscriptions();
  const before = await countRows(subscriptions);
  const unusual = [null, 5, "x", [], [[]], {}, true, "\0", "\ud800", "x".repeat(10_000), {
    id: "x",
  }];
  await sendHints(
    subscriptions,
    ...unusual.map((subscription) => ({ event_name: "subscription.charge", subscription })),
    ...unusual.map((id) => ({ subscription: { id } })),
    ...unusual.map((metadata) => ({ subscription: { id: "x", metadata } })),
    ...unusual.map((subscription_ref) => ({
      subscription: { id: "x", metadata: { subscription_ref } },
    })),
    ...unusual.map((schedule) => ({ id: "x", schedule })),
  );
  assert.deepEqual(await countRows(subscriptions), before);
});

Deno.test("recurring notification: many notifications within one minute cause one check", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await createUncheckedForAMinute(subscriptions);
  const body = buildRecurringNotification(subscription.gateway_subscription_id!);
  for (let minute = 1; minute <= 3; minute++) {
    for (let count = 0; count < 5; count++) {
      await Promise.all(Array.from({ length: 5 }, () => sendHints(subscriptions, body)));
      await subscriptions.runJobs();
    }
    assert.equal(subscriptions.statusChecks(subscription), minute);
    await subscriptions.advance(MINUTE + 1);
  }
  const jobs = await jobsOf(subscriptions.app, subscription.id);
  assert.ok(jobs.length <= 4, `${jobs.length} jobs`);
});

Deno.test("recurring notification during a check: does not cause a second check", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await createUncheckedForAMinute(subscriptions);
  const id = subscription.gateway_subscription_id!;
  const held = subscriptions.relay.holdAnswer(`GET /v1/subscriptions/${id}`);
  await sendHints(subscriptions, buildRecurringNotification(id));
  const running = subscriptions.runJobs();
  await held.arrived;
  await sendHints(subscriptions, buildRecurringNotification(id), buildRecurringNotification(id));
  held.release();
  await running;
  await subscriptions.runJobs();
  assert.equal(subscriptions.statusChecks(subscription), 1);
});

Deno.test("recurring notification: repeats do not cause more checks if the gateway responds with 404", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await createUncheckedForAMinute(subscriptions);
  const id = subscription.gateway_subscription_id!;
  subscriptions.relay.intercept = ({ method }, pass) =>
    method === "GET" ? Response.json({ status_message: "No." }, { status: 404 }) : pass();
  for (let count = 0; count < 4; count++) {
    await sendHints(subscriptions, buildRecurringNotification(id));
    await subscriptions.runJobs();
  }
  assert.equal(subscriptions.statusChecks(subscription), 1);
});

Deno.test("recurring notification: its content is not trusted; the state comes from the gateway", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await createUncheckedForAMinute(subscriptions);
  const { sandbox, app, databaseUrl } = subscriptions;
  // A transaction of another customer, sent as a charge of this subscription.
  const { transaction_id } = await sandbox.charge("card");
  const forged = buildRecurringNotification(subscription.gateway_subscription_id!, {
    status: "inactive",
    name: "Mallory",
    amount: "1",
    current_interval: 11,
    transaction_ids: [transaction_id],
    schedule: { current_interval: 11, next_execution_at: null, interval: 9 },
    metadata: { subscription_ref: randomUUID() },
  });
  await sendHints(subscriptions, {
    ...forged,
    transaction: { transaction_id, status_code: "200" },
  });
  await subscriptions.runJobs();
  const { updated_at: _before, ...before } = subscription;
  const { updated_at: _after, ...after } = await subscriptions.stored(subscription.id);
  assert.deepEqual(after, before);
  assert.equal(subscriptions.statusChecks(subscription), 1);
  assert.deepEqual(await subscriptions.payments(subscription), []);
  assert.deepEqual(namesOf(await subscriptions.readEvents(subscription.id)), [
    "subscription_created",
  ]);
  assert.equal((await runSql(databaseUrl, "select from gateway.payments")).length, 0);
  assert.equal((await jobsOf(app, subscription.id)).every(({ error }) => error === null), true);
});

Deno.test("subscription with an unknown outcome: becomes active when the gateway's notification arrives", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "recurring";
  const { id } = await createWithLostResponse(subscriptions);
  const created = await lastCreated(subscriptions);
  await subscriptions.runJobs();
  await subscriptions.advance(2 * MINUTE);
  await subscriptions.runJobs();
  await assertCreated(subscriptions, id, created);
  assert.equal((await subscriptions.createdAtGateway()).length, 1);
});

Deno.test("subscription with an unknown outcome: becomes active after a notification although a check is already queued", async () => {
  await using subscriptions = await openSubscriptions();
  const { id } = await createWithLostResponse(subscriptions);
  const created = await lastCreated(subscriptions);
  // The job that the create request queued has not run yet.
  assert.equal((await jobsOf(subscriptions.app, id)).length, 1);
  await sendHints(subscriptions, created);
  await subscriptions.advance(MINUTE + 1);
  await subscriptions.runJobs();
  await assertCreated(subscriptions, id, created);
});

Deno.test("subscription with an unknown outcome: no job, sync or late retry sends it again, and a notification makes it active", async (t) => {
  await using subscriptions = await openSubscriptions();
  const { post, relay } = subscriptions;
  const { id, headers, request } = await createWithLostResponse(subscriptions);
  const retry = () => post("/subscriptions/", request, headers);

  await t.step("the job sends nothing", async () => {
    await subscriptions.advance(MINUTE + 1);
    await subscriptions.runJobs();
    assert.equal(relay.times(CREATE), 1);
  });
  await t.step("the scheduled sync sends nothing", async () => {
    await subscriptions.sync();
    assert.equal(relay.times(CREATE), 1);
  });
  await t.step(
    "shortly before the gateway's idempotency key expires, and later, a retry sends nothing",
    async () => {
      await subscriptions.advance(100);
      for (let time = 0; time < 2; time++) {
        const problem = await assertProblem(await retry(), 504, "gateway_timeout");
        assert.deepEqual([problem.outcome, problem.subscription_id], ["unknown", id]);
      }
      await subscriptions.advance(2 * HOUR);
      await assertProblem(await retry(), 504, "gateway_timeout");
      assert.equal(relay.times(CREATE), 1);
      assert.equal((await subscriptions.stored(id)).status, "pending");
    },
  );
  await t.step("the gateway's notification makes it active", async () => {
    const created = await lastCreated(subscriptions);
    await sendHints(subscriptions, created);
    await subscriptions.runJobs();
    await assertCreated(subscriptions, id, created);
  });
  await t.step("a retry with the same key then returns it", async () => {
    assert.equal((await parseSubscription(await retry(), 201)).id, id);
    assert.equal((await parseSubscription(await retry(), 201)).status, "active");
    assert.equal((await subscriptions.createdAtGateway()).length, 1);
  });
});

Deno.test("subscription creation: a retry after two minutes is sent with the same key, which the gateway still knows", async () => {
  await using subscriptions = await openSubscriptions();
  const { post, relay } = subscriptions;
  const { id, headers, request } = await createWithLostResponse(subscriptions);
  await subscriptions.advance(2 * MINUTE);
  await subscriptions.runJobs();
  const created = await parseSubscription(await post("/subscriptions/", request, headers), 201);
  assert.deepEqual([created.id, created.status], [id, "active"]);
  const sent = relay.received.filter(({ method }) => method === "POST");
  assert.equal(sent.length, 2);
  assert.equal(sent[0]!.body, sent[1]!.body);
  const keys = sent.map(({ headers }) => headers.get("idempotency-key"));
  assert.deepEqual(keys, [id, id]);
  assert.equal((await subscriptions.createdAtGateway()).length, 1);
  await assertCreated(subscriptions, id, await lastCreated(subscriptions));
});

Deno.test("subscription creation: a check that finds nothing does not discard the response to a retry", async () => {
  await using subscriptions = await openSubscriptions();
  const { post, relay } = subscriptions;
  const { id, headers, request } = await createWithLostResponse(subscriptions);
  await subscriptions.advance(MINUTE + 1);
  const held = relay.holdAnswer(CREATE);
  const retry = post("/subscriptions/", request, headers);
  await held.arrived;
  await subscriptions.runJobs();
  held.release();
  const answered = await parseSubscription(await retry, 201);
  assert.equal(answered.status, "active");
  await assertCreated(subscriptions, id, await lastCreated(subscriptions));
});

Deno.test("subscription creation: a forged notification does not discard the gateway's response", async () => {
  await using subscriptions = await openSubscriptions();
  const { post, relay, get } = subscriptions;
  const held = relay.holdAnswer(CREATE);
  const creating = post("/subscriptions/", await subscriptions.request());
  await held.arrived;
  const [{ id }] = await (await get("/subscriptions/")).json();
  await sendHints(
    subscriptions,
    buildRecurringNotification(randomUUID(), { metadata: { subscription_ref: id } }),
  );
  await subscriptions.runJobs();
  held.release();
  assert.equal((await parseSubscription(await creating, 201)).status, "active");
  await assertCreated(subscriptions, id, await lastCreated(subscriptions));
});

Deno.test("subscription creation: a notification before the response leads to one subscription and one event", async () => {
  await using subscriptions = await openSubscriptions();
  const { post, relay } = subscriptions;
  const held = relay.holdAnswer(CREATE);
  const headers = newKey();
  const request = await subscriptions.request();
  const creating = post("/subscriptions/", request, headers);
  await held.arrived;
  const created = await lastCreated(subscriptions);
  await sendHints(subscriptions, created, created);
  await subscriptions.runJobs();
  held.release();
  const { id } = await parseSubscription(await creating, 201);
  await assertCreated(subscriptions, id, created);
  assert.equal(
    (await parseSubscription(await post("/subscriptions/", request, headers), 201)).id,
    id,
  );
  assert.equal(relay.times(CREATE), 1);
});

Deno.test("subscription with an unknown outcome: stays pending if a notification names another subscription", async (t) => {
  await using subscriptions = await openSubscriptions();
  const { app, sandbox } = subscriptions;
  const { id } = await createWithLostResponse(subscriptions);
  const original = await lastCreated(subscriptions);
  const bob = await app.createKey({ userId: "bob" });
  const ofBob = await subscriptions.create({}, bob);
  // Equal in all fields except the metadata, which lacks `subscription_ref`.
  const { id: _id, ...request } = original;
  const { id: foreignId } = await sandbox.post("/v1/subscriptions", {
    ...request,
    schedule: { interval: 1, interval_unit: "month" },
    metadata: { plan: "gold" },
  });
  for (const namedId of [ofBob.gateway_subscription_id, foreignId, randomUUID()]) {
    await t.step(`the notification has the id ${namedId}`, async () => {
      const body = buildRecurringNotification(namedId, { ...original, id: namedId });
      await sendHints(subscriptions, body);
      await subscriptions.advance(MINUTE + 1);
      await subscriptions.runJobs();
      const pending = await subscriptions.stored(id);
      assert.deepEqual([pending.status, pending.gateway_subscription_id], ["pending", null]);
    });
  }
  assert.equal((await subscriptions.stored(ofBob.id, bob)).status, "active");
  await sendHints(subscriptions, original);
  await subscriptions.advance(MINUTE + 1);
  await subscriptions.runJobs();
  await assertCreated(subscriptions, id, original);
});

Deno.test("subscription with an unknown outcome: stays pending if the gateway's subscription has another amount", async () => {
  await using subscriptions = await openSubscriptions();
  const { sandbox } = subscriptions;
  const { id, request } = await createWithLostResponse(subscriptions);
  const original = await lastCreated(subscriptions);
  const update = { name: original.name, amount: "1", currency: "IDR", token: request.token };
  await sandbox.call("PATCH", `/v1/subscriptions/${original.id}`, update);
  await sendHints(subscriptions, original);
  await subscriptions.advance(MINUTE + 1);
  await subscriptions.runJobs();
  assert.equal((await subscriptions.stored(id)).status, "pending");
});

Deno.test("subscription with an unknown outcome: becomes active, and its charge is stored, if the first notification reports a charge", async () => {
  await using subscriptions = await openSubscriptions();
  const { id } = await createWithLostResponse(subscriptions);
  await subscriptions.advance(10 * MINUTE);
  await subscriptions.runJobs();
  const created = await lastCreated(subscriptions);
  subscriptions.delivery = "both";
  // Both notifications of the cycle arrive before any job runs.
  await subscriptions.advanceToNextCycle({ gateway_subscription_id: created.id } as Subscription);
  await subscriptions.runJobs();
  await subscriptions.advance(2 * MINUTE);
  await subscriptions.runJobs();
  const active = await subscriptions.stored(id);
  assert.equal(active.gateway_subscription_id, created.id);
  await assertAllCharged(subscriptions, active, 1);
  assert.deepEqual(namesOf(await subscriptions.readEvents(id)), [
    "subscription_created",
    "subscription_charged",
  ]);
});

Deno.test("signed notification with a subscription_id: is not mistaken for a recurring notification, and the charge is stored", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "signed";
  const subscription = await subscriptions.create();
  let count = 0;
  subscriptions.intercept = (body) => {
    count++;
    return { ...body, subscription_id: subscription.gateway_subscription_id };
  };
  await subscriptions.advanceToNextCycle(subscription);
  await subscriptions.sandbox.waitForWebhooks();
  await subscriptions.runJobs();
  assert.equal(count, 1);
  await assertAllCharged(subscriptions, subscription, 1);
});
