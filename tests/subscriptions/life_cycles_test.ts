import assert from "node:assert/strict";
import { checkSubscriptionStatus } from "../../core/subscriptions/check_subscription_status.ts";
import { syncSubscriptionStatus } from "../../core/subscriptions/sync_subscription_status.ts";
import { type Json, linkedAccount, savedCard } from "../support/gateway/sandbox.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { jobsOf } from "../support/jobs/due_jobs.ts";
import { assertProblem } from "../support/problem.ts";
import { DAY, HOUR, MINUTE } from "../support/records/invoices.ts";
import {
  assertAllCharged,
  chargesIn,
  type Delivery,
  DENIED_CARD,
  namesOf,
  openSubscriptions,
  parseSubscription,
  secondOf,
  type Subscription,
  type TestSubscriptions,
} from "../support/records/subscriptions.ts";

/** The gateway's next cycle, and what the service makes of it. */
async function liveCycle(subscriptions: TestSubscriptions, subscription: Subscription) {
  await subscriptions.passToCycle(subscription);
  await settleDown(subscriptions);
}

/** All that is to happen of what was told, hints included, which are looked into within a minute. */
async function settleDown(subscriptions: TestSubscriptions): Promise<void> {
  await subscriptions.runJobs();
  await subscriptions.pass(MINUTE + 1);
  await subscriptions.runJobs();
}

/** The gateway charges another card from now on, as its customer wanted. */
async function changeCard(
  { sandbox }: TestSubscriptions,
  { gateway_subscription_id: id }: Subscription,
  token: string,
): Promise<void> {
  const { name, amount } = await sandbox.get(`/v1/subscriptions/${id}`);
  const update = { name, amount, currency: "IDR", token };
  const { http } = await sandbox.call("PATCH", `/v1/subscriptions/${id}`, update);
  assert.equal(http, 200);
}

for (const delivery of ["signed", "recurring", "both", "none"] as Delivery[]) {
  const means = delivery === "none" ? "the sync alone" : `${delivery} notifications`;
  Deno.test(`each cycle is one payment and one event, learned by ${means}`, async () => {
    await using subscriptions = await openSubscriptions();
    subscriptions.delivery = delivery;
    const subscription = await subscriptions.create();
    for (let cycle = 1; cycle <= 3; cycle++) {
      if (delivery === "none") {
        await subscriptions.passToCycle(subscription);
        await subscriptions.sync();
      } else await liveCycle(subscriptions, subscription);
      await assertAllCharged(subscriptions, subscription, cycle);
      assert.equal((await subscriptions.stored(subscription.id)).current_interval, cycle);
    }
    const told = await subscriptions.told(subscription.id);
    assert.deepEqual(namesOf(told), [
      "subscription_created",
      ...Array.from({ length: 3 }, () => "subscription_charged"),
    ]);
    const payments = await subscriptions.payments(subscription);
    assert.deepEqual(chargesIn(told), payments.map(({ id }) => id), "the oldest first");
    for (const { id } of payments) {
      const names = await subscriptions.events(id);
      assert.equal(names.filter((name) => name === "payment_settled").length, 1);
    }
  });
}

Deno.test("the event of a cycle names the signed notification that told of it", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "signed";
  const subscription = await subscriptions.create();
  await liveCycle(subscriptions, subscription);
  const [, charged] = await subscriptions.told(subscription.id);
  const { data } = charged!;
  assert.ok("payment_id" in data && data.notification_id);
  const { id, payment_id } =
    (await (await subscriptions.get("/notifications/", subscriptions.staff)).json()).at(-1);
  assert.deepEqual([data.notification_id, data.payment_id], [id, payment_id]);
});

Deno.test("a year of monthly cycles, with a card that was declined in between", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "both";
  const { sandbox } = subscriptions;
  const [good, bad] = [await savedCard(sandbox), await savedCard(sandbox, DENIED_CARD)];
  const subscription = await subscriptions.create({ token: good, max_interval: 12 });
  const denied = async () =>
    (await subscriptions.payments(subscription))
      .filter(({ transaction_status }) => transaction_status === "deny");

  for (let cycle = 1; cycle <= 5; cycle++) await liveCycle(subscriptions, subscription);
  await changeCard(subscriptions, subscription, bad);
  await liveCycle(subscriptions, subscription);
  for (let retries = 0; retries < 2; retries++) {
    assert.equal((await denied()).length, retries + 1, "a failed attempt is visible");
    const stored = await subscriptions.stored(subscription.id);
    assert.deepEqual([stored.status, stored.current_interval], ["active", 6]);
    await assertAllCharged(subscriptions, subscription, 5);
    if (retries === 1) await changeCard(subscriptions, subscription, good);
    await subscriptions.pass(HOUR);
    await settleDown(subscriptions);
  }
  await assertAllCharged(subscriptions, subscription, 6);
  for (let cycle = 7; cycle <= 12; cycle++) {
    await liveCycle(subscriptions, subscription);
    await assertAllCharged(subscriptions, subscription, cycle);
  }

  const ended = await subscriptions.stored(subscription.id);
  assert.deepEqual(
    [ended.status, ended.current_interval, ended.next_execution_at],
    ["inactive", 12, null],
  );
  await subscriptions.pass(40 * DAY);
  await subscriptions.sync();
  await assertAllCharged(subscriptions, subscription, 12);
  const failed = await denied();
  assert.equal(failed.length, 2);
  assert.deepEqual(await subscriptions.events(failed[0]!.id), ["payment_denied"]);
  const told = namesOf(await subscriptions.told(subscription.id));
  assert.equal(told.filter((name) => name === "subscription_charged").length, 12);
  assert.equal(told.length, 13);
});

Deno.test("when the last retry fails it is inactive, and every attempt is there to be seen", async () => {
  for (const delivery of ["both", "signed", "recurring", "none"] as Delivery[]) {
    await using subscriptions = await openSubscriptions();
    subscriptions.delivery = delivery;
    const subscription = await subscriptions.create({
      token: await savedCard(subscriptions.sandbox, DENIED_CARD),
      interval_unit: "week",
      retry_schedule: { interval: 2, interval_unit: "hour", max_interval: 2 },
    });
    await liveCycle(subscriptions, subscription);
    for (let retry = 0; retry < 2; retry++) {
      await subscriptions.pass(2 * HOUR);
      await settleDown(subscriptions);
    }
    if (delivery === "none") await subscriptions.sync();
    const ended = await subscriptions.stored(subscription.id);
    assert.deepEqual([ended.status, ended.next_execution_at], ["inactive", null], delivery);
    const payments = await subscriptions.payments(subscription);
    // The gateway lists what was paid alone, so that without its signed words nobody hears of these.
    const heard = delivery === "both" || delivery === "signed" ? 3 : 0;
    assert.deepEqual(
      payments.map(({ transaction_status }) => transaction_status),
      Array.from({ length: heard }, () => "deny"),
    );
    assert.deepEqual(namesOf(await subscriptions.told(subscription.id)), ["subscription_created"]);
    assert.deepEqual(
      await subscriptions.transitions(subscription.id),
      [">pending create", "pending>active create", "active>inactive check_subscription_status"],
    );
    // It can still be ended for good, and no more than that.
    await assertProblem(await subscriptions.act(ended.id, "enable"), 400, "invalid_state");
    await assertProblem(await subscriptions.act(ended.id, "disable"), 400, "invalid_state");
    assert.equal((await subscriptions.acted(ended.id, "cancel")).status, "cancelled");
  }
});

Deno.test("a token that is none ends it without a payment", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "both";
  const subscription = await subscriptions.create({
    token: "dummy",
    retry_schedule: { interval: 1, interval_unit: "minute", max_interval: 0 },
  });
  await liveCycle(subscriptions, subscription);
  assert.equal((await subscriptions.stored(subscription.id)).status, "inactive");
  assert.deepEqual(await subscriptions.payments(subscription), []);
});

Deno.test("disabled it is not charged, enabled it goes on, cancelled it is over", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "both";
  const subscription = await subscriptions.create();
  const { id } = subscription;
  await liveCycle(subscriptions, subscription);
  await liveCycle(subscriptions, subscription);

  assert.equal((await subscriptions.acted(id, "disable")).status, "disabled");
  await subscriptions.pass(100 * DAY);
  await subscriptions.sync();
  assert.equal((await subscriptions.stored(id)).status, "disabled");
  await assertAllCharged(subscriptions, subscription, 2);

  assert.equal((await subscriptions.acted(id, "enable")).status, "active");
  await subscriptions.sync();
  const { schedule } = await subscriptions.atGateway(subscription);
  const enabled = await subscriptions.stored(id);
  assert.equal(secondOf(enabled.next_execution_at), secondOf(schedule.next_execution_at));
  await liveCycle(subscriptions, subscription);
  await assertAllCharged(subscriptions, subscription, 3);

  assert.equal((await subscriptions.acted(id, "cancel")).status, "cancelled");
  await subscriptions.pass(100 * DAY);
  await subscriptions.sync();
  assert.equal((await subscriptions.stored(id)).status, "cancelled");
  await assertAllCharged(subscriptions, subscription, 3);
  assert.deepEqual(namesOf(await subscriptions.told(id)), [
    "subscription_created",
    "subscription_charged",
    "subscription_charged",
    "subscription_disabled",
    "subscription_charged",
    "subscription_cancelled",
  ]);
  assert.deepEqual(await subscriptions.transitions(id), [
    ">pending create",
    "pending>active create",
    "active>disabled disable",
    "disabled>active enable",
    "active>cancelled cancel",
  ]);
});

for (const fault of ["answer_lost", "reset", "error_500", "broken_json"]) {
  Deno.test(`an action that ends with ${fault} is sent again until it is answered`, async () => {
    await using subscriptions = await openSubscriptions();
    for (const action of ["disable", "enable", "cancel"] as const) {
      const subscription = await subscriptions.create();
      const { id } = subscription;
      if (action === "enable") await subscriptions.acted(id, "disable");
      const before = subscriptions.sent(subscription).length;
      await subscriptions.sandbox.fault(`subscription_${action}`, fault, { count: 2 });
      const response = await subscriptions.act(id, action);
      const { outcome, subscription_id } = await response.json();
      assert.deepEqual([outcome, subscription_id], ["unknown", id]);
      assert.equal((await subscriptions.row(id)).intent, action);
      for (let check = 0; check < 2; check++) {
        await subscriptions.pass(2 * MINUTE);
        await subscriptions.runJobs();
      }
      const { status } = await subscriptions.stored(id);
      assert.equal(status, { disable: "disabled", enable: "active", cancel: "cancelled" }[action]);
      const sent = subscriptions.sent(subscription).slice(before);
      assert.deepEqual(sent, [action, action, action]);
      await subscriptions.pass(30 * MINUTE);
      await subscriptions.sync();
      assert.equal(
        subscriptions.sent(subscription).length,
        before + 3,
        "answered, it is left alone",
      );
      const told = namesOf(await subscriptions.told(id)).slice(1);
      const all = { disable: ["disabled"], enable: ["disabled"], cancel: ["cancelled"] }[action];
      assert.deepEqual(told, all.map((name) => `subscription_${name}`));
    }
  });
}

Deno.test("an action is sent again by the cron when its jobs have given up", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  await subscriptions.sandbox.fault("subscription_cancel", "error_500", { count: 5 });
  await subscriptions.act(subscription.id, "cancel");
  for (let check = 0; check < 4; check++) {
    await subscriptions.pass(20 * MINUTE);
    await subscriptions.runJobs();
  }
  assert.equal((await subscriptions.stored(subscription.id)).status, "active");
  await subscriptions.sync();
  assert.equal((await subscriptions.stored(subscription.id)).status, "cancelled");
  assert.equal((await subscriptions.atGateway(subscription)).status, "inactive");
});

Deno.test("an unknown end, then the same key: the action is done, and answered from then on", async () => {
  await using subscriptions = await openSubscriptions();
  const { id } = await subscriptions.create();
  const headers = newKey();
  await subscriptions.sandbox.fault("subscription_disable", "answer_lost");
  const lost = await subscriptions.act(id, "disable", headers);
  await assertProblem(lost, 502, "gateway_unreachable");
  const again = await parseSubscription(await subscriptions.act(id, "disable", headers), 200);
  assert.equal(again.status, "disabled");
  assert.equal(isReplayed(await subscriptions.act(id, "disable", headers)), true);
  await subscriptions.pass(2 * MINUTE);
  await subscriptions.runJobs();
  assert.deepEqual(namesOf(await subscriptions.told(id)), [
    "subscription_created",
    "subscription_disabled",
  ]);
});

Deno.test("an action that the gateway refuses is not sent again", async () => {
  await using subscriptions = await openSubscriptions();
  // Its only cycle is over, of which nobody here has heard: there is nothing to go on with.
  const subscription = await subscriptions.create({ interval_unit: "day", max_interval: 1 });
  const { id } = subscription;
  await subscriptions.pass(DAY + 1);
  await subscriptions.acted(id, "disable");
  const problem = await assertProblem(
    await subscriptions.act(id, "enable"),
    400,
    "invalid_state",
  );
  assert.deepEqual([problem.outcome, problem.subscription_id], ["refused", id]);
  assert.equal((await subscriptions.row(id)).intent, null);
  await subscriptions.pass(30 * MINUTE);
  await subscriptions.sync();
  assert.deepEqual(subscriptions.sent(subscription), ["disable", "enable"]);
  assert.equal((await subscriptions.stored(id)).status, "disabled");
});

Deno.test("a cancel under way is not forgotten for a disable that comes after it", async (t) => {
  await t.step("answered late", async () => {
    await using subscriptions = await openSubscriptions();
    const { id, gateway_subscription_id } = await subscriptions.create();
    const held = subscriptions.relay.holdAnswer(
      `POST /v1/subscriptions/${gateway_subscription_id}/cancel`,
    );
    const cancelling = subscriptions.act(id, "cancel");
    await held.arrived;
    const disabling = await subscriptions.act(id, "disable");
    await disabling.body?.cancel();
    held.release();
    await parseSubscription(await cancelling, 200);
    await subscriptions.pass(2 * MINUTE);
    await subscriptions.runJobs();
    assert.equal((await subscriptions.stored(id)).status, "cancelled");
  });
  for (const fault of ["answer_lost", "reset"]) {
    await t.step(fault, async () => {
      await using subscriptions = await openSubscriptions();
      const { id } = await subscriptions.create();
      await subscriptions.sandbox.fault("subscription_cancel", fault);
      await assertProblem(await subscriptions.act(id, "cancel"), 502, "gateway_unreachable");
      await (await subscriptions.act(id, "disable")).body?.cancel();
      await subscriptions.pass(2 * MINUTE);
      await subscriptions.runJobs();
      assert.equal((await subscriptions.stored(id)).status, "cancelled");
    });
  }
});

Deno.test("one that somebody brings back at the gateway after our cancel is cancelled again", async () => {
  await using subscriptions = await openSubscriptions();
  const { relay } = subscriptions;
  const subscription = await subscriptions.create();
  const { id } = subscription;
  await subscriptions.acted(id, "cancel");
  let isBack = true;
  relay.intercept = async ({ method, target }, pass) => {
    if (target.endsWith("/cancel")) isBack = false;
    const answer = await pass();
    if (method !== "GET" || !isBack) return answer;
    return Response.json({ ...await answer.json(), status: "active" });
  };
  await subscriptions.pass(30 * MINUTE);
  await subscriptions.sync();
  await subscriptions.pass(2 * MINUTE);
  await subscriptions.runJobs();
  assert.equal(isBack, false);
  assert.deepEqual(subscriptions.sent(subscription), ["cancel", "cancel"]);
  assert.equal((await subscriptions.stored(id)).status, "cancelled");
  await subscriptions.pass(30 * MINUTE);
  await subscriptions.sync();
  assert.equal(subscriptions.sent(subscription).length, 2);
  assert.deepEqual(namesOf(await subscriptions.told(id)), [
    "subscription_created",
    "subscription_cancelled",
  ]);
});

Deno.test("the retry of a cycle that still runs after disable is heard of", async () => {
  await using subscriptions = await openSubscriptions();
  const { sandbox } = subscriptions;
  const subscription = await subscriptions.create({ token: await savedCard(sandbox, DENIED_CARD) });
  await subscriptions.passToCycle(subscription);
  await subscriptions.acted(subscription.id, "disable");
  await changeCard(subscriptions, subscription, await savedCard(sandbox));
  await subscriptions.pass(HOUR);
  assert.deepEqual(await subscriptions.payments(subscription), []);
  await subscriptions.sync();
  await assertAllCharged(subscriptions, subscription, 1);
  assert.equal((await subscriptions.stored(subscription.id)).status, "disabled");
});

Deno.test("a wallet's subscription is charged like a card's", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "both";
  const { account_id, payment_option_token: token } = await linkedAccount(subscriptions.sandbox);
  const subscription = await subscriptions.create({
    payment_type: "gopay",
    gopay_account_id: account_id,
    token,
    interval: 3,
    interval_unit: "day",
  });
  assert.equal(subscription.payment_type, "gopay");
  await liveCycle(subscriptions, subscription);
  await liveCycle(subscriptions, subscription);
  await assertAllCharged(subscriptions, subscription, 2);
  const [payment] = await subscriptions.payments(subscription);
  assert.deepEqual([payment!.payment_type, payment!.transaction_status], ["gopay", "settlement"]);
});

Deno.test("all notifications lost for three cycles: one sync finds every charge, once", async (t) => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  for (let cycle = 0; cycle < 3; cycle++) await subscriptions.passToCycle(subscription);
  assert.deepEqual(await subscriptions.payments(subscription), []);

  await t.step("one sync", async () => {
    await subscriptions.sync();
    await assertAllCharged(subscriptions, subscription, 3);
  });
  await t.step("another", async () => {
    await subscriptions.sync();
    await assertAllCharged(subscriptions, subscription, 3);
  });
  await t.step("notifications that come after all", async () => {
    subscriptions.delivery = "both";
    for (const { id } of await subscriptions.sandbox.control("webhooks", undefined, "GET")) {
      await subscriptions.sandbox.control(`webhooks/${id}/resend`);
    }
    await subscriptions.sandbox.settled();
    await settleDown(subscriptions);
    await assertAllCharged(subscriptions, subscription, 3);
  });
});

Deno.test("many who look at once find each charge once", async () => {
  await using subscriptions = await openSubscriptions({ poolSize: 10 });
  const { app, sandbox } = subscriptions;
  const subscription = await subscriptions.create();
  for (let cycle = 0; cycle < 3; cycle++) await subscriptions.passToCycle(subscription);
  subscriptions.delivery = "both";
  const webhooks: Json[] = await sandbox.control("webhooks", undefined, "GET");
  await Promise.all([
    ...Array.from({ length: 6 }, () => checkSubscriptionStatus(app.deps, subscription.id)),
    ...Array.from({ length: 2 }, () => syncSubscriptionStatus(app.deps)),
    ...webhooks.map(({ id }) => sandbox.control(`webhooks/${id}/resend`)),
    subscriptions.runJobs(),
    subscriptions.runJobs(),
  ]);
  await sandbox.settled();
  await settleDown(subscriptions);
  await assertAllCharged(subscriptions, subscription, 3);
});

Deno.test("two syncs at once queue one look", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  await subscriptions.passToCycle(subscription);
  const { deps } = subscriptions.app;
  await Promise.all([syncSubscriptionStatus(deps), syncSubscriptionStatus(deps)]);
  assert.equal((await jobsOf(subscriptions.app, subscription.id)).length, 1);
  await Promise.all([subscriptions.runJobs(), subscriptions.runJobs()]);
  await assertAllCharged(subscriptions, subscription, 1);
});

Deno.test("a sync that the gateway does not answer is made up for by the next one", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  await subscriptions.passToCycle(subscription);
  const { relay } = subscriptions;
  const { intercept } = relay;
  relay.intercept = () => Response.json({ status_message: "Sorry" }, { status: 500 });
  for (let check = 0; check < 5; check++) {
    await subscriptions.sync();
    await subscriptions.pass(30 * MINUTE);
  }
  relay.intercept = intercept;
  assert.deepEqual(await subscriptions.payments(subscription), []);
  assert.equal((await subscriptions.stored(subscription.id)).status, "active");
  await subscriptions.sync();
  await assertAllCharged(subscriptions, subscription, 1);
});

Deno.test("one charge that cannot be read yet keeps none of the others back for good", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  await subscriptions.passToCycle(subscription);
  await subscriptions.passToCycle(subscription);
  await subscriptions.sandbox.fault("status", "error_500", { count: 4 });
  await subscriptions.sync();
  await subscriptions.pass(MINUTE + 1);
  await subscriptions.runJobs();
  await assertAllCharged(subscriptions, subscription, 2);
});

Deno.test("a charge that the gateway lists and does not know keeps none of the others back", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  await subscriptions.passToCycle(subscription);
  await subscriptions.passToCycle(subscription);
  const { transaction_ids: [lost, found] } = await subscriptions.atGateway(subscription);
  const { relay } = subscriptions;
  relay.intercept = ({ target }, pass) =>
    target.includes(lost)
      ? Response.json({ status_code: "404", status_message: "Transaction doesn't exist." })
      : pass();
  await subscriptions.sync();
  const payments = await subscriptions.payments(subscription);
  assert.deepEqual(payments.map(({ transaction_id }) => transaction_id), [found]);
  assert.equal(chargesIn(await subscriptions.told(subscription.id)).length, 1);
  relay.intercept = (_request, pass) => pass();
  await subscriptions.pass(30 * MINUTE);
  await subscriptions.sync();
  await assertAllCharged(subscriptions, subscription, 2);
});

Deno.test("the sync leaves alone what was ended over a week ago, and nothing else", async () => {
  await using subscriptions = await openSubscriptions();
  const [kept, disabled, cancelled, ended] = [
    await subscriptions.create(),
    await subscriptions.create(),
    await subscriptions.create(),
    await subscriptions.create({ interval_unit: "day", max_interval: 1 }),
  ];
  await subscriptions.acted(disabled.id, "disable");
  await subscriptions.acted(cancelled.id, "cancel");
  const all = [kept, disabled, cancelled, ended];
  const looks = () => all.map((each) => subscriptions.looks(each));
  await subscriptions.pass(6 * DAY);
  await subscriptions.sync();
  assert.equal(looks().every((count) => count > 0), true);
  await subscriptions.pass(2 * DAY);
  await subscriptions.sync();
  const before = looks();
  await subscriptions.pass(HOUR);
  await subscriptions.sync();
  const [k, d, c, e] = before as [number, number, number, number];
  assert.deepEqual(looks(), [k + 1, d, c, e + 1]);
  assert.equal((await subscriptions.stored(ended.id)).status, "inactive");
});

for (const isStripped of [false, true]) {
  const how = isStripped
    ? "where the gateway does not pass our id on"
    : "by the id that we sent along";
  Deno.test(`two with one name never see each other's charges, ${how}`, async () => {
    await using subscriptions = await openSubscriptions();
    const { app, relay, get } = subscriptions;
    // The other ones would name whom they are about.
    subscriptions.delivery = "signed";
    if (isStripped) {
      subscriptions.intercept = withoutMetadata;
      relay.intercept = async ({ target }, pass) => {
        const answer = await pass();
        return target.endsWith("/status")
          ? Response.json(withoutMetadata(await answer.json()))
          : answer;
      };
    }
    const bob = await app.createKey({ userId: "bob" });
    const alices = await subscriptions.create({ name: "same name", amount: 10_000 });
    const bobs = await subscriptions.create({ name: "same name", amount: 10_000 }, bob);
    for (let cycle = 1; cycle <= 2; cycle++) {
      // Both are charged within the same moments.
      await liveCycle(subscriptions, alices);
      await settleDown(subscriptions);
      await assertAllCharged(subscriptions, alices, cycle);
      await assertAllCharged(subscriptions, bobs, cycle, bob);
    }
    const mine = await subscriptions.payments(alices);
    const his = await subscriptions.payments(bobs, bob);
    assert.deepEqual(await subscriptions.payments(alices, bob), []);
    assert.deepEqual(await subscriptions.payments(bobs), []);
    const newest = await get(`/payments/?subscription_id=${alices.id}&limit=1`);
    const [, link] = newest.headers.get("link")!.match(/^<(.+)>/)!;
    const older = await get(link!);
    const pages = [...await newest.json(), ...await older.json()];
    assert.deepEqual(pages.map(({ id }: Json) => id), mine.map(({ id }) => id).reverse());
    assert.equal(older.headers.get("link"), null);
    for (const { id } of his) await assertProblem(await get(`/payments/${id}/`), 404, "not_found");
    for (const { id } of mine) {
      await assertProblem(await get(`/payments/${id}/`, bob), 404, "not_found");
    }
  });
}

function withoutMetadata({ metadata: _metadata, ...body }: Json): Json {
  return body;
}
