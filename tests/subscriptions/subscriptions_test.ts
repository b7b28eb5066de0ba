import { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import type { Caller } from "../../core/auth/caller.ts";
import * as actions from "../../core/subscriptions/actions.ts";
import { updateSubscription } from "../../core/subscriptions/actions.ts";
import { getSubscriptionStatus } from "../../core/subscriptions/check_at_gateway.ts";
import { createSubscription } from "../../core/subscriptions/create.ts";
import { SUBSCRIPTION_STATUSES } from "../../core/subscriptions/states.ts";
import type { Database } from "../../db/connection/database.ts";
import { SubscriptionSchema } from "../../core/subscriptions/schema.ts";
import { runSql } from "../support/database/database.ts";
import { pauseAfter } from "../support/database/pause_after.ts";
import { type Json, savedCard } from "../support/gateway/sandbox.ts";
import { expireLeases, isReplayed, newKey } from "../support/idempotency.ts";
import { openPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import {
  type ActionName,
  CREATE,
  DAY,
  MINUTE,
  namesOf,
  openSubscriptions,
  parseSubscription,
  secondOf,
  type Subscription,
  type TestSubscriptions,
} from "../support/records/subscriptions.ts";

const Page = z.array(SubscriptionSchema.strict());

const ALICE: Caller = {
  userId: "alice",
  isStaff: false,
  isViewer: false,
  credential: "api_key",
  keyPrefix: null,
};

function requestOf(id: string) {
  return { caller: ALICE, id, requestKey: null };
}

async function readPage(subscriptions: TestSubscriptions, path: string, key?: string) {
  const response = await subscriptions.get(path, key);
  assert.equal(response.status, 200);
  const page = Page.parse(await response.json());
  const next = response.headers.get("link")?.match(/^<([^<>\s]+)>; rel="next"$/)?.[1] ?? null;
  return { page, ids: page.map(({ id }) => id), next };
}

async function createMany(subscriptions: TestSubscriptions, count: number): Promise<string[]> {
  const ids = [];
  for (let created = 0; created < count; created++) ids.unshift((await subscriptions.create()).id);
  return ids;
}

Deno.test("subscription creation: stores, sends and returns every field, and sends an event", async () => {
  await using subscriptions = await openSubscriptions();
  const { post } = subscriptions;
  const token = await savedCard(subscriptions.sandbox);
  const request = {
    name: "Coffee club_1.0~a-b",
    amount: 150_000,
    payment_type: "credit_card",
    token,
    interval: 2,
    interval_unit: "week",
    max_interval: 12,
    start_time: "2098-01-01T09:00:00+07:00",
    retry_schedule: { interval: 1, interval_unit: "day", max_interval: 2 },
    customer_details: {
      first_name: "Budi",
      last_name: "Utomo",
      email: "budi@shop.example",
      phone: "+628123456789",
    },
    metadata: { plan: "gold", seats: [1, 2] },
  };
  const response = await post("/subscriptions/", request);
  const location = response.headers.get("location");
  const created = await parseSubscription(response, 201);
  assert.equal(location, `/subscriptions/${created.id}/`);
  const { id, gateway_subscription_id, created_at: _created, updated_at: _updated, ...rest } =
    created;
  assert.ok(gateway_subscription_id);
  assert.deepEqual(rest, {
    name: "Coffee club_1.0~a-b",
    payment_type: "credit_card",
    amount: "150000.00",
    currency: "IDR",
    interval: 2,
    interval_unit: "week",
    max_interval: 12,
    current_interval: 0,
    start_time: "2098-01-01T02:00:00.000Z",
    next_execution_at: "2098-01-01T02:00:00.000Z",
    status: "active",
    customer_first_name: "Budi",
    customer_last_name: "Utomo",
    customer_email: "budi@shop.example",
    customer_phone: "+628123456789",
    metadata: { plan: "gold", seats: [1, 2] },
  });
  assert.deepEqual(await subscriptions.stored(id), created);
  const [createdEvent, ...more] = await subscriptions.readEvents(id);
  assert.deepEqual(more, []);
  assert.equal(createdEvent!.name, "subscription_created");
  assert.deepEqual(createdEvent!.data, { ...created, notification_id: null });
  assert.deepEqual(await subscriptions.transitions(id), [
    ">pending create",
    "pending>active create",
  ]);

  const sent = JSON.parse(subscriptions.relay.received[0]!.body);
  assert.deepEqual(sent, {
    name: request.name,
    amount: "150000",
    currency: "IDR",
    payment_type: "credit_card",
    token,
    schedule: {
      interval: 2,
      interval_unit: "week",
      max_interval: 12,
      start_time: "2098-01-01 09:00:00 +0700",
    },
    retry_schedule: request.retry_schedule,
    metadata: { plan: "gold", seats: [1, 2], subscription_ref: id },
    customer_details: request.customer_details,
  });
});

Deno.test("subscription: omitted fields are null, and start_time is taken from the gateway", async () => {
  await using subscriptions = await openSubscriptions();
  const created = await subscriptions.create();
  const { schedule } = await subscriptions.atGateway(created);
  assert.equal(secondOf(created.start_time), secondOf(schedule.start_time));
  const { max_interval, customer_first_name, customer_last_name, customer_email } = created;
  assert.deepEqual(
    [max_interval, customer_first_name, customer_last_name, customer_email],
    [null, null, null, null],
  );
  assert.deepEqual([created.customer_phone, created.metadata], [null, null]);
});

Deno.test("subscription routes: Location and Link include BASE_PATH", async () => {
  await using subscriptions = await openSubscriptions({ env: { BASE_PATH: "/shop/pay" } });
  const { app, key } = subscriptions;
  const create = async () =>
    await app.as(key, "/shop/pay/subscriptions/", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(await subscriptions.request()),
    });
  const response = await create();
  const { id } = await parseSubscription(response.clone(), 201);
  assert.equal(response.headers.get("location"), `/shop/pay/subscriptions/${id}/`);
  await create();
  const { next } = await readPage(subscriptions, "/shop/pay/subscriptions/?limit=1");
  assert.match(next!, /^\/shop\/pay\/subscriptions\/\?limit=1&cursor=/);
});

Deno.test("subscription list: returns the caller's subscriptions in pages, newest first, and new subscriptions do not shift pages", async () => {
  await using subscriptions = await openSubscriptions();
  const bob = await subscriptions.app.createKey({ userId: "bob" });
  assert.deepEqual(await readPage(subscriptions, "/subscriptions"), {
    page: [],
    ids: [],
    next: null,
  });
  const ids = await createMany(subscriptions, 5);
  const ofBob = await subscriptions.create({}, bob);
  const read: string[] = [];
  for (let next: string | null = "/subscriptions/?limit=2"; next !== null;) {
    const page = await readPage(subscriptions, next);
    read.push(...page.ids);
    next = page.next;
    if (read.length < 5) await subscriptions.create();
  }
  assert.deepEqual(read, ids);
  assert.deepEqual((await readPage(subscriptions, "/subscriptions/", bob)).page, [ofBob]);
  const staffPage = await readPage(subscriptions, "/subscriptions/?limit=100", subscriptions.staff);
  assert.equal(
    staffPage.ids.includes(ofBob.id) && ids.every((id) => staffPage.ids.includes(id)),
    true,
  );
  assert.deepEqual(staffPage.ids, staffPage.ids.toSorted().reverse());
});

Deno.test("subscription list: filters by status, and keeps the filter in the next link", async () => {
  await using subscriptions = await openSubscriptions();
  const [thirdId, secondId, firstId] = await createMany(subscriptions, 3);
  await subscriptions.actAndParse(firstId!, "cancel");
  await subscriptions.actAndParse(thirdId!, "cancel");
  const page = await readPage(subscriptions, "/subscriptions/?status=cancelled&limit=1");
  assert.deepEqual(page.ids, [thirdId]);
  const nextPage = await readPage(subscriptions, page.next!);
  assert.deepEqual([nextPage.ids, nextPage.next], [[firstId], null]);
  assert.deepEqual((await readPage(subscriptions, "/subscriptions/?status=active")).ids, [
    secondId,
  ]);
  for (const status of SUBSCRIPTION_STATUSES.filter((each) => !/^(active|cancel)/.test(each))) {
    assert.deepEqual((await readPage(subscriptions, `/subscriptions/?status=${status}`)).ids, []);
  }
});

Deno.test("subscription: another user can neither read nor change it; staff can", async () => {
  await using subscriptions = await openSubscriptions();
  const { app, get, staff } = subscriptions;
  const bob = await app.createKey({ userId: "bob" });
  const { id } = await subscriptions.create();
  const unknownId = crypto.randomUUID();
  for (const action of ["disable", "enable", "cancel"]) {
    const problem = await assertProblem(
      await subscriptions.act(id, action, {}, bob),
      404,
      "not_found",
    );
    const expected = await assertProblem(
      await subscriptions.act(unknownId, action),
      404,
      "not_found",
    );
    assert.deepEqual({ ...problem, instance: "" }, { ...expected, instance: "" });
  }
  for (
    const path of [`/subscriptions/${id}/`, `/subscriptions/${unknownId}/`, "/subscriptions/none/"]
  ) {
    await assertProblem(await get(path, bob), 404, "not_found");
  }
  assert.deepEqual(subscriptions.relay.asked(), [CREATE]);
  assert.equal((await subscriptions.stored(id, staff)).id, id);
  const response = await subscriptions.act(id, "disable", {}, staff);
  assert.equal((await parseSubscription(response, 200)).status, "disabled");
  assert.equal((await subscriptions.stored(id)).status, "disabled");
});

/** For each state: creates a subscription in this state, and returns its id. */
const STATES: Record<
  Subscription["status"],
  (subscriptions: TestSubscriptions) => Promise<string>
> = {
  async pending(subscriptions) {
    await subscriptions.sandbox.fault("subscription_create", "reset");
    const response = await subscriptions.post("/subscriptions/", await subscriptions.request());
    return (await assertProblem(response, 502, "gateway_unreachable")).subscription_id!;
  },
  active: async (subscriptions) => (await subscriptions.create()).id,
  async inactive(subscriptions) {
    const { id } = await subscriptions.create({ interval_unit: "day", max_interval: 1 });
    await subscriptions.advance(DAY + 1);
    await subscriptions.sync();
    return id;
  },
  async disabled(subscriptions) {
    return (await subscriptions.actAndParse((await subscriptions.create()).id, "disable")).id;
  },
  async cancelled(subscriptions) {
    return (await subscriptions.actAndParse((await subscriptions.create()).id, "cancel")).id;
  },
  async failed(subscriptions) {
    const { relay, post } = subscriptions;
    const { intercept } = relay;
    relay.intercept = () =>
      Response.json({ status_message: "Invalid parameter." }, { status: 400 });
    const response = await post("/subscriptions/", await subscriptions.request());
    relay.intercept = intercept;
    const problem = await assertProblem(response, 400, "gateway_validation");
    assert.equal(problem.outcome, "refused");
    return problem.subscription_id!;
  },
};

/** For each action: the states in which it is allowed, and the state that it leads to. */
const ALLOWED: Record<ActionName, Partial<Record<Subscription["status"], string>>> = {
  disable: { active: "disabled" },
  enable: { disabled: "active" },
  cancel: { active: "cancelled", inactive: "cancelled", disabled: "cancelled" },
};

Deno.test("subscription actions: each succeeds in the allowed states and is rejected in all others", async (t) => {
  await using subscriptions = await openSubscriptions();
  for (const [state, create] of Object.entries(STATES)) {
    for (const action of ["disable", "enable", "cancel"] as const) {
      await t.step(`${action} while ${state}`, async () => {
        const id = await create(subscriptions);
        const before = await subscriptions.stored(id);
        assert.equal(before.status, state);
        const sent = subscriptions.sentActions(before).length;
        const eventsBefore = namesOf(await subscriptions.readEvents(id));
        const response = await subscriptions.act(id, action);
        const to = ALLOWED[action][before.status];
        if (!to) {
          const isRetryable = state === "pending" && action === "cancel";
          assert.equal(response.headers.has("retry-after"), isRetryable);
          const problem = await assertProblem(response, 400, "invalid_state");
          assert.deepEqual(
            [problem.subscription_id, problem.subscription_status, problem.outcome],
            [id, state, "refused"],
          );
          assert.equal(subscriptions.sentActions(before).length, sent, "the gateway is not called");
          assert.deepEqual(await subscriptions.stored(id), before);
          return;
        }
        const after = await parseSubscription(response, 200);
        assert.equal(after.status, to);
        assert.deepEqual(await subscriptions.stored(id), after);
        assert.equal(subscriptions.sentActions(before).length, sent + 1);
        const newEvents = namesOf(await subscriptions.readEvents(id)).slice(eventsBefore.length);
        assert.deepEqual(newEvents, action === "enable" ? [] : [`subscription_${to}`]);
        assert.equal((await subscriptions.transitions(id)).at(-1), `${state}>${to} ${action}`);
        const { status } = await subscriptions.atGateway(after);
        assert.equal(status, to === "active" ? "active" : "inactive");
      });
    }
  }
});

Deno.test("subscription action: runs once for an Idempotency-Key, and replays its response", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  const headers = newKey();
  const firstResponse = await subscriptions.act(subscription.id, "disable", headers);
  await subscriptions.actAndParse(subscription.id, "enable");
  const secondResponse = await subscriptions.act(subscription.id, "disable", headers);
  assert.deepEqual([isReplayed(firstResponse), isReplayed(secondResponse)], [false, true]);
  assert.deepEqual(await secondResponse.json(), await firstResponse.json());
  assert.deepEqual(subscriptions.sentActions(subscription), ["disable", "enable"]);
  assert.equal((await subscriptions.stored(subscription.id)).status, "active");
});

Deno.test("subscription creation: replays the response for the same key, and rejects the key with another body", async () => {
  await using subscriptions = await openSubscriptions();
  const { post, relay } = subscriptions;
  const [request, headers] = [await subscriptions.request(), newKey()];
  const firstResponse = await post("/subscriptions/", request, headers);
  const secondResponse = await post("/subscriptions/", request, headers);
  assert.deepEqual([isReplayed(firstResponse), isReplayed(secondResponse)], [false, true]);
  assert.equal(secondResponse.headers.get("location"), firstResponse.headers.get("location"));
  assert.deepEqual(
    await parseSubscription(secondResponse, 201),
    await parseSubscription(firstResponse, 201),
  );
  const withOtherBody = await post("/subscriptions/", { ...request, amount: 1 }, headers);
  await assertProblem(withOtherBody, 422, "idempotency_key_reused");
  assert.equal(relay.times(CREATE), 1);
  assert.equal((await subscriptions.createdAtGateway()).length, 1);
});

Deno.test("subscription creation: concurrent requests with one key create one subscription", async () => {
  await using subscriptions = await openSubscriptions({ poolSize: 8 });
  const { post, relay } = subscriptions;
  const [request, headers] = [await subscriptions.request(), newKey()];
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => post("/subscriptions/", request, headers)),
  );
  for (const response of responses) {
    if (response.status !== 201) await assertProblem(response, 409, "idempotency_in_progress");
    else await response.body?.cancel();
  }
  assert.equal(relay.times(CREATE), 1);
  assert.equal((await subscriptions.createdAtGateway()).length, 1);
});

Deno.test("subscription creation: fails if the gateway is rate limiting, and a retry with the same key creates a new subscription", async () => {
  await using subscriptions = await openSubscriptions();
  const { post, sandbox } = subscriptions;
  const [request, headers] = [await subscriptions.request(), newKey()];
  await sandbox.fault("subscription_create", "rate_limit", { retry_after: 7 });
  const refused = await post("/subscriptions/", request, headers);
  assert.equal(refused.headers.get("retry-after"), "7");
  const problem = await assertProblem(refused, 400, "gateway_rate_limited");
  assert.equal(problem.outcome, "refused");
  const created = await parseSubscription(await post("/subscriptions/", request, headers), 201);
  assert.notEqual(created.id, problem.subscription_id);
  assert.equal((await subscriptions.stored(problem.subscription_id!)).status, "failed");
  assert.equal((await subscriptions.createdAtGateway()).length, 1);
});

Deno.test("subscription creation: a process that was paused for minutes does not send what another instance has sent", async () => {
  const paused = pauseAfter("insert subscription");
  await using subscriptions = await openSubscriptions(paused);
  const { app, databaseUrl, sandbox, relay } = subscriptions;
  const [request, headers] = [await subscriptions.request(), newKey()];
  const pausedRequest = subscriptions.post("/subscriptions/", request, headers);
  await paused.arrived;
  await subscriptions.advance(MINUTE + 1);
  await expireLeases(app.database);
  const { clock: now } = app.service;
  await using other = await openPayments({ databaseUrl, gatewayUrl: sandbox.url, now });
  const created = await parseSubscription(
    await other.post("/subscriptions/", request, headers),
    201,
  );
  // The gateway has forgotten the idempotency key of the creation.
  await subscriptions.advance(4 * MINUTE);
  paused.continue();
  const problem = await assertProblem(await pausedRequest, 504, "gateway_timeout");
  assert.deepEqual([problem.outcome, problem.subscription_id], ["unknown", created.id]);
  assert.equal(relay.times(CREATE), 0);
  assert.equal((await subscriptions.createdAtGateway()).length, 1);
  assert.equal((await subscriptions.stored(created.id)).status, "active");
});

Deno.test("subscription creation: is sent although the clock is set back after the insert", async () => {
  let now = Date.now();
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query: async (work, name) => {
      const result = await database.query(work, name);
      if (name === "insert subscription") now -= 1_000;
      return result;
    },
  });
  await using subscriptions = await openSubscriptions({ now: () => now, wrapDatabase });
  assert.equal((await subscriptions.create()).status, "active");
});

Deno.test("subscription: requests are rejected without being stored or sent while the circuit breaker is open", async () => {
  await using subscriptions = await openSubscriptions();
  const { post, app, relay, sandbox } = subscriptions;
  const { id } = await subscriptions.create();
  const request = await subscriptions.request();
  await sandbox.fault("subscription_disable", "reset", { count: 5 });
  for (let call = 0; call < 5; call++) {
    await assert.rejects(app.gateway.disableSubscription("any"));
  }
  assert.equal(app.gateway.breakerState("write"), "open");
  const callsBefore = relay.asked().length;
  for (
    const response of [
      await post("/subscriptions/", request),
      await subscriptions.act(id, "cancel"),
    ]
  ) {
    const problem = await assertProblem(response, 502, "gateway_unreachable");
    assert.equal(problem.outcome, "refused");
  }
  assert.equal(relay.asked().length, callsBefore);
  assert.equal((await readPage(subscriptions, "/subscriptions/")).ids.length, 1);
  assert.equal((await subscriptions.row(id)).intent, null);
});

Deno.test("inactive subscription: becomes active again if it is reactivated at the gateway", async () => {
  await using subscriptions = await openSubscriptions();
  const { sandbox } = subscriptions;
  const id = await STATES.inactive(subscriptions);
  const ended = await subscriptions.stored(id);
  const { name, amount, token } = await subscriptions.atGateway(ended);
  await sandbox.call("PATCH", `/v1/subscriptions/${ended.gateway_subscription_id}`, {
    ...{ name, amount, token, currency: "IDR" },
    schedule: { next_execution_at: "2098-01-01 09:00:00 +0700" },
  });
  await subscriptions.sync();
  const { status, next_execution_at } = await subscriptions.stored(id);
  assert.deepEqual([status, next_execution_at], ["active", "2098-01-01T02:00:00.000Z"]);
});

Deno.test("subscription functions: do the same as the routes", async (t) => {
  await using subscriptions = await openSubscriptions();
  const { app: { service }, sandbox } = subscriptions;
  const token = await savedCard(sandbox);
  const { body } = await createSubscription(service, ALICE, {
    name: "club",
    amount: 20_000,
    payment_type: "credit_card",
    token,
    interval: 1,
    interval_unit: "month",
    metadata: { plan: "gold" },
  }, null);
  const { id } = SubscriptionSchema.parse(body);
  const subscription = await subscriptions.stored(id);

  await t.step("getSubscriptionStatus checks at the gateway", async () => {
    await subscriptions.advanceToNextCycle(subscription);
    assert.equal((await subscriptions.stored(id)).current_interval, 0);
    const checked = await getSubscriptionStatus(service, ALICE, id);
    assert.equal(checked.subscription.current_interval, 1);
    assert.equal(checked.gateway_response!.id, subscription.gateway_subscription_id);
    const bob = { ...ALICE, userId: "bob" };
    await assert.rejects(getSubscriptionStatus(service, bob, id), { code: "not_found" });
  });
  await t.step("updateSubscription changes name, amount and interval", async () => {
    const update = { token, name: "new-club", amount: 30_000, interval: 2 };
    const { body } = await updateSubscription(service, requestOf(id), update);
    assert.deepEqual([body.name, body.amount, body.interval], ["new-club", "30000.00", 2]);
    const { name, amount, schedule } = await subscriptions.atGateway(subscription);
    assert.deepEqual([name, amount, schedule.interval], ["new-club", "30000", 2]);
    const [sent] = subscriptions.relay.received.filter(({ method }) => method === "PATCH");
    assert.deepEqual(JSON.parse(sent!.body).metadata, { plan: "gold", subscription_ref: id });
    await subscriptions.advanceToNextCycle(subscription);
    await subscriptions.sync();
    const [, payment] = await subscriptions.payments(subscription);
    assert.equal(payment!.gross_amount, "30000.00");
    assert.match(payment!.order_id, /^new-club\d{32}$/);
  });
  await t.step("an update whose response is lost is found by a check", async () => {
    await sandbox.fault("subscription_update", "answer_lost");
    const update = updateSubscription(service, requestOf(id), { token, amount: 40_000 });
    await assert.rejects(update, { code: "gateway_unreachable" });
    await subscriptions.advance(2 * MINUTE);
    await subscriptions.runJobs();
    assert.equal((await subscriptions.stored(id)).amount, "40000.00");
  });
  await t.step(
    "disableSubscription, enableSubscription and cancelSubscription set the status",
    async () => {
      const functions = [
        [actions.disableSubscription, "disabled"],
        [actions.enableSubscription, "active"],
        [actions.cancelSubscription, "cancelled"],
      ] as const;
      for (const [call, status] of functions) {
        assert.equal((await call(service, requestOf(id))).body.status, status);
      }
      const update = updateSubscription(service, requestOf(id), { token });
      await assert.rejects(update, { code: "invalid_state" });
    },
  );
});

/** Responses of the gateway that may contain the token. Null: the sandbox responds. */
const RESPONSES: Record<string, ((token: string) => Response) | null> = {
  "success": null,
  "rejection": (token) =>
    Response.json({
      status_message: `Invalid parameter ${token}.`,
      validation_messages: [`subscription.token ${token} is bad`],
    }, { status: 400 }),
  "server error": (token) => Response.json({ status_message: `Oh ${token}` }, { status: 500 }),
  "wrong fields": (token) =>
    Response.json({ id: token, name: token, status: token, metadata: { token } }),
  "HTML error page": (token) => new Response(`<p>${token}</p>`, { status: 502 }),
};

Deno.test("subscription token: is sent to the gateway and neither stored, logged nor returned", async (t) => {
  for (const [name, answer] of Object.entries(RESPONSES)) {
    await t.step(name, async () => {
      await using subscriptions = await openSubscriptions({ env: { LOG_GATEWAY: "true" } });
      const { post, get, relay, app, databaseUrl, staff } = subscriptions;
      subscriptions.delivery = "both";
      const token = await savedCard(subscriptions.sandbox);
      const { intercept } = relay;
      if (answer) relay.intercept = () => answer(token);
      const answers: string[] = [];
      const collect = async (response: Response) => {
        answers.push(JSON.stringify([...response.headers]), await response.text());
        return JSON.parse(answers.at(-1)!);
      };
      const request = await subscriptions.request({ token });
      const { id, subscription_id } = await collect(
        await post("/subscriptions/", request, newKey()),
      );
      relay.intercept = intercept;
      if (id) {
        await subscriptions.advanceToNextCycle(await subscriptions.stored(id));
        await subscriptions.runJobs();
        await collect(await subscriptions.act(id, "disable"));
        await updateSubscription(app.service, requestOf(id), { token, amount: 1 });
        assert.equal((await subscriptions.payments(await subscriptions.stored(id))).length, 1);
      }
      await subscriptions.advance(2 * MINUTE);
      await subscriptions.runJobs();
      await collect(await get(`/subscriptions/${id ?? subscription_id}/`));
      for (const path of ["/subscriptions/", "/payments/", "/events/", "/notifications/"]) {
        await collect(await get(path, staff));
      }
      assert.ok(relay.received.some(({ body }) => body.includes(token)), "the gateway received it");
      for (const text of answers) assert.equal(text.includes(token), false, text);
      const logged = JSON.stringify(app.logged());
      assert.equal(logged.includes(token), false);
      assert.ok(logged.includes("gateway_exchange"), "exchanges are logged");
      for (const row of await dump(databaseUrl)) assert.equal(row.includes(token), false, row);
    });
  }
});

/** All rows of all tables, as text. */
async function dump(databaseUrl: string): Promise<string[]> {
  const tables = await runSql(
    databaseUrl,
    "select table_name as name from information_schema.tables where table_schema = 'gateway'",
  );
  assert.ok(tables.length >= 10);
  const rows = await Promise.all(
    tables.map(({ name }: Json) =>
      runSql(databaseUrl, `select t::text as row from gateway.${name} t`)
    ),
  );
  return rows.flat().map(({ row }: Json) => row);
}
