import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { ask } from "../support/database/database.ts";
import { notify } from "../support/gateway/notifications.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { jobsOf } from "../support/jobs/due_jobs.ts";
import { assertProblem } from "../support/problem.ts";
import { HOUR, MINUTE } from "../support/records/invoices.ts";
import {
  assertAllCharged,
  CREATE,
  hintOf,
  namesOf,
  openSubscriptions,
  parseSubscription,
  secondOf,
  type Subscription,
  type TestSubscriptions,
} from "../support/records/subscriptions.ts";

/** Sends hints that have to be taken, as all are, and kept nowhere, as none is. */
async function hint(subscriptions: TestSubscriptions, ...bodies: Json[]): Promise<void> {
  for (const body of bodies) {
    const response = await notify(subscriptions, body);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.deepEqual(JSON.parse(text), { status: "ok", notification_id: null });
  }
}

async function countRows({ databaseUrl }: TestSubscriptions): Promise<Json> {
  const [counts] = await ask(
    databaseUrl,
    `select (select count(*) from gateway.jobs) as jobs,
       (select count(*) from gateway.notifications) as notifications,
       (select count(*) from gateway.payments) as payments,
       (select count(*) from gateway.subscriptions) as subscriptions,
       (select count(*) from gateway.events) as events`,
  );
  return { ...counts };
}

/** One that the gateway was last asked about more than a minute ago. */
async function createBefore(subscriptions: TestSubscriptions): Promise<Subscription> {
  const subscription = await subscriptions.create();
  await subscriptions.pass(MINUTE + 1);
  return subscription;
}

/** A create that the gateway did, and whose answer was lost; the row waits. */
async function createLost(subscriptions: TestSubscriptions, headers = newKey()) {
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
  const waiting = await subscriptions.stored(id);
  assert.equal(waiting.status, "pending");
  assert.equal(waiting.gateway_subscription_id, null);
  return { id, headers, request };
}

/** The gateway's own word of the one that it made last. */
async function lastMade(subscriptions: TestSubscriptions): Promise<Json> {
  const made = await subscriptions.made();
  assert.ok(made.length > 0);
  return made.at(-1);
}

async function assertAdopted(
  subscriptions: TestSubscriptions,
  id: string,
  made: Json,
): Promise<Subscription> {
  const adopted = await subscriptions.stored(id);
  assert.equal(adopted.status, "active");
  assert.equal(adopted.gateway_subscription_id, made.id);
  assert.equal(secondOf(adopted.next_execution_at), secondOf(made.schedule.next_execution_at));
  assert.deepEqual(namesOf(await subscriptions.told(id)), ["subscription_created"]);
  return adopted;
}

Deno.test("hints of subscriptions that nobody knows store nothing and ask nobody", async () => {
  await using subscriptions = await openSubscriptions();
  await subscriptions.create();
  await subscriptions.runJobs();
  const [before, asked] = [await countRows(subscriptions), subscriptions.relay.asked().length];
  const ref = { subscription_ref: randomUUID() };
  await hint(
    subscriptions,
    hintOf(randomUUID()),
    hintOf(randomUUID(), { metadata: ref }),
    hintOf("../../v2/charge", { metadata: { subscription_ref: "no id" } }),
    { id: randomUUID(), status: "inactive", schedule: {}, metadata: ref },
    { account_id: randomUUID(), account_status: "ENABLED", status_code: "200" },
  );
  await subscriptions.runJobs();
  assert.deepEqual(await countRows(subscriptions), before);
  assert.equal(subscriptions.relay.asked().length, asked);
});

Deno.test("hints of any shape are taken and do no harm", async () => {
  await using subscriptions = await openSubscriptions();
  const before = await countRows(subscriptions);
  const odd = [null, 5, "x", [], [[]], {}, true, "\0", "\ud800", "x".repeat(10_000), { id: "x" }];
  await hint(
    subscriptions,
    ...odd.map((subscription) => ({ event_name: "subscription.charge", subscription })),
    ...odd.map((id) => ({ subscription: { id } })),
    ...odd.map((metadata) => ({ subscription: { id: "x", metadata } })),
    ...odd.map((subscription_ref) => ({
      subscription: { id: "x", metadata: { subscription_ref } },
    })),
    ...odd.map((schedule) => ({ id: "x", schedule })),
  );
  assert.deepEqual(await countRows(subscriptions), before);
});

Deno.test("however many hints come, the gateway is asked once a minute", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await createBefore(subscriptions);
  const body = hintOf(subscription.gateway_subscription_id!);
  for (let minute = 1; minute <= 3; minute++) {
    for (let count = 0; count < 5; count++) {
      await Promise.all(Array.from({ length: 5 }, () => hint(subscriptions, body)));
      await subscriptions.runJobs();
    }
    assert.equal(subscriptions.looks(subscription), minute);
    await subscriptions.pass(MINUTE + 1);
  }
  const jobs = await jobsOf(subscriptions.app, subscription.id);
  assert.ok(jobs.length <= 4, `${jobs.length} jobs`);
});

Deno.test("hints that come while the gateway is being asked do not make it two questions", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await createBefore(subscriptions);
  const id = subscription.gateway_subscription_id!;
  const held = subscriptions.relay.holdAnswer(`GET /v1/subscriptions/${id}`);
  await hint(subscriptions, hintOf(id));
  const running = subscriptions.runJobs();
  await held.arrived;
  await hint(subscriptions, hintOf(id), hintOf(id));
  held.release();
  await running;
  await subscriptions.runJobs();
  assert.equal(subscriptions.looks(subscription), 1);
});

Deno.test("where the gateway does not say, hints do not make it hear the question more often", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await createBefore(subscriptions);
  const id = subscription.gateway_subscription_id!;
  subscriptions.relay.intercept = ({ method }, pass) =>
    method === "GET" ? Response.json({ status_message: "No." }, { status: 404 }) : pass();
  for (let count = 0; count < 4; count++) {
    await hint(subscriptions, hintOf(id));
    await subscriptions.runJobs();
  }
  assert.equal(subscriptions.looks(subscription), 1);
});

Deno.test("what a hint says is not believed: the gateway is asked, and nothing else changes", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await createBefore(subscriptions);
  const { sandbox, app, databaseUrl } = subscriptions;
  // A payment of somebody else's, told as this one's cycle.
  const { transaction_id } = await sandbox.charge("card");
  const lie = hintOf(subscription.gateway_subscription_id!, {
    status: "inactive",
    name: "Mallory",
    amount: "1",
    current_interval: 11,
    transaction_ids: [transaction_id],
    schedule: { current_interval: 11, next_execution_at: null, interval: 9 },
    metadata: { subscription_ref: randomUUID() },
  });
  await hint(subscriptions, { ...lie, transaction: { transaction_id, status_code: "200" } });
  await subscriptions.runJobs();
  const { updated_at: _before, ...before } = subscription;
  const { updated_at: _after, ...after } = await subscriptions.stored(subscription.id);
  assert.deepEqual(after, before);
  assert.equal(subscriptions.looks(subscription), 1);
  assert.deepEqual(await subscriptions.payments(subscription), []);
  assert.deepEqual(namesOf(await subscriptions.told(subscription.id)), ["subscription_created"]);
  assert.equal((await ask(databaseUrl, "select from gateway.payments")).length, 0);
  assert.equal((await jobsOf(app, subscription.id)).every(({ error }) => error === null), true);
});

Deno.test("a create whose answer is lost is found by the gateway's own hint", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "recurring";
  const { id } = await createLost(subscriptions);
  const made = await lastMade(subscriptions);
  await subscriptions.runJobs();
  await subscriptions.pass(2 * MINUTE);
  await subscriptions.runJobs();
  await assertAdopted(subscriptions, id, made);
  assert.equal((await subscriptions.made()).length, 1);
});

Deno.test("a hint finds the one that was never answered although a look at it is planned", async () => {
  await using subscriptions = await openSubscriptions();
  const { id } = await createLost(subscriptions);
  const made = await lastMade(subscriptions);
  // The job that was left by the create has not run yet.
  assert.equal((await jobsOf(subscriptions.app, id)).length, 1);
  await hint(subscriptions, made);
  await subscriptions.pass(MINUTE + 1);
  await subscriptions.runJobs();
  await assertAdopted(subscriptions, id, made);
});

Deno.test("a create whose answer is lost is never made twice, also minutes later", async (t) => {
  await using subscriptions = await openSubscriptions();
  const { post, relay } = subscriptions;
  const { id, headers, request } = await createLost(subscriptions);
  const again = () => post("/subscriptions/", request, headers);

  await t.step("the job sends nothing", async () => {
    await subscriptions.pass(MINUTE + 1);
    await subscriptions.runJobs();
    assert.equal(relay.times(CREATE), 1);
  });
  await t.step("nor does the cron", async () => {
    await subscriptions.sync();
    assert.equal(relay.times(CREATE), 1);
  });
  await t.step(
    "near the end of the gateway's window the client's own retry sends nothing",
    async () => {
      await subscriptions.pass(100);
      for (let time = 0; time < 2; time++) {
        const problem = await assertProblem(await again(), 504, "gateway_timeout");
        assert.deepEqual([problem.outcome, problem.subscription_id], ["unknown", id]);
      }
      await subscriptions.pass(2 * HOUR);
      await assertProblem(await again(), 504, "gateway_timeout");
      assert.equal(relay.times(CREATE), 1);
      assert.equal((await subscriptions.stored(id)).status, "pending");
    },
  );
  await t.step("it is taken over when the gateway tells of it", async () => {
    const made = await lastMade(subscriptions);
    await hint(subscriptions, made);
    await subscriptions.runJobs();
    await assertAdopted(subscriptions, id, made);
  });
  await t.step("and the client's retry is answered with it from then on", async () => {
    assert.equal((await parseSubscription(await again(), 201)).id, id);
    assert.equal((await parseSubscription(await again(), 201)).status, "active");
    assert.equal((await subscriptions.made()).length, 1);
  });
});

Deno.test("within the gateway's window the client's own retry is sent with the same key", async () => {
  await using subscriptions = await openSubscriptions();
  const { post, relay } = subscriptions;
  const { id, headers, request } = await createLost(subscriptions);
  await subscriptions.pass(2 * MINUTE);
  await subscriptions.runJobs();
  const made = await parseSubscription(await post("/subscriptions/", request, headers), 201);
  assert.deepEqual([made.id, made.status], [id, "active"]);
  const sent = relay.received.filter(({ method }) => method === "POST");
  assert.equal(sent.length, 2);
  assert.equal(sent[0]!.body, sent[1]!.body);
  const keys = sent.map(({ headers }) => headers.get("idempotency-key"));
  assert.deepEqual(keys, [id, id]);
  assert.equal((await subscriptions.made()).length, 1);
  await assertAdopted(subscriptions, id, await lastMade(subscriptions));
});

Deno.test("a look that finds nothing does not make the answer to a retry count for nothing", async () => {
  await using subscriptions = await openSubscriptions();
  const { post, relay } = subscriptions;
  const { id, headers, request } = await createLost(subscriptions);
  await subscriptions.pass(MINUTE + 1);
  const held = relay.holdAnswer(CREATE);
  const retry = post("/subscriptions/", request, headers);
  await held.arrived;
  await subscriptions.runJobs();
  held.release();
  const answered = await parseSubscription(await retry, 201);
  assert.equal(answered.status, "active");
  await assertAdopted(subscriptions, id, await lastMade(subscriptions));
});

Deno.test("a false hint does not make the answer to the create count for nothing", async () => {
  await using subscriptions = await openSubscriptions();
  const { post, relay, get } = subscriptions;
  const held = relay.holdAnswer(CREATE);
  const creating = post("/subscriptions/", await subscriptions.request());
  await held.arrived;
  const [{ id }] = await (await get("/subscriptions/")).json();
  await hint(subscriptions, hintOf(randomUUID(), { metadata: { subscription_ref: id } }));
  await subscriptions.runJobs();
  held.release();
  assert.equal((await parseSubscription(await creating, 201)).status, "active");
  await assertAdopted(subscriptions, id, await lastMade(subscriptions));
});

Deno.test("a hint that is quicker than the answer leaves one subscription and one event", async () => {
  await using subscriptions = await openSubscriptions();
  const { post, relay } = subscriptions;
  const held = relay.holdAnswer(CREATE);
  const headers = newKey();
  const request = await subscriptions.request();
  const creating = post("/subscriptions/", request, headers);
  await held.arrived;
  const made = await lastMade(subscriptions);
  await hint(subscriptions, made, made);
  await subscriptions.runJobs();
  held.release();
  const { id } = await parseSubscription(await creating, 201);
  await assertAdopted(subscriptions, id, made);
  assert.equal(
    (await parseSubscription(await post("/subscriptions/", request, headers), 201)).id,
    id,
  );
  assert.equal(relay.times(CREATE), 1);
});

Deno.test("a hint cannot make somebody's waiting subscription out of another's", async (t) => {
  await using subscriptions = await openSubscriptions();
  const { app, sandbox } = subscriptions;
  const { id } = await createLost(subscriptions);
  const mine = await lastMade(subscriptions);
  const bob = await app.createKey({ userId: "bob" });
  const bobs = await subscriptions.create({}, bob);
  // As like as it can be without our id in it.
  const { id: _id, ...request } = mine;
  const { id: foreign } = await sandbox.post("/v1/subscriptions", {
    ...request,
    schedule: { interval: 1, interval_unit: "month" },
    metadata: { plan: "gold" },
  });
  for (const named of [bobs.gateway_subscription_id, foreign, randomUUID()]) {
    await t.step(`named as ${named}`, async () => {
      const body = hintOf(named, { ...mine, id: named });
      await hint(subscriptions, body);
      await subscriptions.pass(MINUTE + 1);
      await subscriptions.runJobs();
      const waiting = await subscriptions.stored(id);
      assert.deepEqual([waiting.status, waiting.gateway_subscription_id], ["pending", null]);
    });
  }
  assert.equal((await subscriptions.stored(bobs.id, bob)).status, "active");
  await hint(subscriptions, mine);
  await subscriptions.pass(MINUTE + 1);
  await subscriptions.runJobs();
  await assertAdopted(subscriptions, id, mine);
});

Deno.test("one with another amount or name than was asked for is not taken over", async () => {
  await using subscriptions = await openSubscriptions();
  const { sandbox } = subscriptions;
  const { id, request } = await createLost(subscriptions);
  const mine = await lastMade(subscriptions);
  const update = { name: mine.name, amount: "1", currency: "IDR", token: request.token };
  await sandbox.call("PATCH", `/v1/subscriptions/${mine.id}`, update);
  await hint(subscriptions, mine);
  await subscriptions.pass(MINUTE + 1);
  await subscriptions.runJobs();
  assert.equal((await subscriptions.stored(id)).status, "pending");
});

Deno.test("one that was never answered hears of its cycles when the hint of the first names it", async () => {
  await using subscriptions = await openSubscriptions();
  const { id } = await createLost(subscriptions);
  await subscriptions.pass(10 * MINUTE);
  await subscriptions.runJobs();
  const made = await lastMade(subscriptions);
  subscriptions.delivery = "both";
  // Both notifications of the cycle arrive before any job runs.
  await subscriptions.passToCycle({ gateway_subscription_id: made.id } as Subscription);
  await subscriptions.runJobs();
  await subscriptions.pass(2 * MINUTE);
  await subscriptions.runJobs();
  const adopted = await subscriptions.stored(id);
  assert.equal(adopted.gateway_subscription_id, made.id);
  await assertAllCharged(subscriptions, adopted, 1);
  assert.deepEqual(namesOf(await subscriptions.told(id)), [
    "subscription_created",
    "subscription_charged",
  ]);
});
