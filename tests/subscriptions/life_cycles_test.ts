import assert from "node:assert/strict";
import { checkSubscriptionStatus } from "../../core/subscriptions/check_subscription_status.ts";
import { syncSubscriptionStatus } from "../../core/subscriptions/sync_subscription_status.ts";
import { type Json, linkedAccount, savedCard } from "../support/gateway/sandbox.ts";
import { createHeldDatabase } from "../support/database/held_database.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { jobsOf } from "../support/jobs/due_jobs.ts";
import { assertProblem } from "../support/problem.ts";
import {
  assertAllCharged,
  chargedPaymentIds,
  DAY,
  type Delivery,
  DENIED_CARD,
  HOUR,
  MINUTE,
  namesOf,
  openSubscriptions,
  parseSubscription,
  secondOf,
  type Subscription,
  type TestSubscriptions,
} from "../support/records/subscriptions.ts";

/** Advances the clock to the gateway's next charge, and runs the jobs that this charge causes. */
async function runNextCycle(subscriptions: TestSubscriptions, subscription: Subscription) {
  await subscriptions.advanceToNextCycle(subscription);
  await runAllJobs(subscriptions);
}

/** Runs all jobs, including checks that recurring notifications delay by up to a minute. */
async function runAllJobs(subscriptions: TestSubscriptions): Promise<void> {
  await subscriptions.runJobs();
  await subscriptions.advance(MINUTE + 1);
  await subscriptions.runJobs();
}

/** Changes the card of the subscription at the gateway, without the service. */
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
  const source = delivery === "none" ? "the sync only" : `${delivery} notifications`;
  Deno.test(`subscription: each cycle becomes one payment and one event with ${source}`, async () => {
    await using subscriptions = await openSubscriptions();
    subscriptions.delivery = delivery;
    const subscription = await subscriptions.create();
    for (let cycle = 1; cycle <= 3; cycle++) {
      if (delivery === "none") {
        await subscriptions.advanceToNextCycle(subscription);
        await subscriptions.sync();
      } else await runNextCycle(subscriptions, subscription);
      await assertAllCharged(subscriptions, subscription, cycle);
      assert.equal((await subscriptions.stored(subscription.id)).current_interval, cycle);
    }
    const events = await subscriptions.readEvents(subscription.id);
    assert.deepEqual(namesOf(events), [
      "subscription_created",
      ...Array.from({ length: 3 }, () => "subscription_charged"),
    ]);
    const payments = await subscriptions.payments(subscription);
    assert.deepEqual(chargedPaymentIds(events), payments.map(({ id }) => id), "oldest first");
    for (const { id } of payments) {
      const names = await subscriptions.events(id);
      assert.equal(names.filter((name) => name === "payment_settled").length, 1);
    }
  });
}

Deno.test("subscription_charged: names the signed notification that reported the charge", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "signed";
  const subscription = await subscriptions.create();
  await runNextCycle(subscriptions, subscription);
  const [, charged] = await subscriptions.readEvents(subscription.id);
  const { data } = charged!;
  assert.ok("payment_id" in data && data.notification_id);
  const { id, payment_id } =
    (await (await subscriptions.get("/notifications/", subscriptions.staff)).json()).at(-1);
  assert.deepEqual([data.notification_id, data.payment_id], [id, payment_id]);
});

Deno.test("subscription: 12 monthly cycles with a declined card in between are each charged once", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "both";
  const { sandbox } = subscriptions;
  const [validToken, deniedToken] = [
    await savedCard(sandbox),
    await savedCard(sandbox, DENIED_CARD),
  ];
  const subscription = await subscriptions.create({ token: validToken, max_interval: 12 });
  const denied = async () =>
    (await subscriptions.payments(subscription))
      .filter(({ transaction_status }) => transaction_status === "deny");

  for (let cycle = 1; cycle <= 5; cycle++) await runNextCycle(subscriptions, subscription);
  await changeCard(subscriptions, subscription, deniedToken);
  await runNextCycle(subscriptions, subscription);
  for (let retries = 0; retries < 2; retries++) {
    assert.equal((await denied()).length, retries + 1, "failed attempts are stored");
    const stored = await subscriptions.stored(subscription.id);
    assert.deepEqual([stored.status, stored.current_interval], ["active", 6]);
    await assertAllCharged(subscriptions, subscription, 5);
    if (retries === 1) await changeCard(subscriptions, subscription, validToken);
    await subscriptions.advance(HOUR);
    await runAllJobs(subscriptions);
  }
  await assertAllCharged(subscriptions, subscription, 6);
  for (let cycle = 7; cycle <= 12; cycle++) {
    await runNextCycle(subscriptions, subscription);
    await assertAllCharged(subscriptions, subscription, cycle);
  }

  const ended = await subscriptions.stored(subscription.id);
  assert.deepEqual(
    [ended.status, ended.current_interval, ended.next_execution_at],
    ["inactive", 12, null],
  );
  await subscriptions.advance(40 * DAY);
  await subscriptions.sync();
  await assertAllCharged(subscriptions, subscription, 12);
  const failed = await denied();
  assert.equal(failed.length, 2);
  assert.deepEqual(await subscriptions.events(failed[0]!.id), ["payment_denied"]);
  const eventNames = namesOf(await subscriptions.readEvents(subscription.id));
  assert.equal(eventNames.filter((name) => name === "subscription_charged").length, 12);
  assert.equal(eventNames.length, 13);
});

Deno.test("subscription: becomes inactive after the last retry fails, and stores every reported attempt", async () => {
  for (const delivery of ["both", "signed", "recurring", "none"] as Delivery[]) {
    await using subscriptions = await openSubscriptions();
    subscriptions.delivery = delivery;
    const subscription = await subscriptions.create({
      token: await savedCard(subscriptions.sandbox, DENIED_CARD),
      interval_unit: "week",
      retry_schedule: { interval: 2, interval_unit: "hour", max_interval: 2 },
    });
    await runNextCycle(subscriptions, subscription);
    for (let retry = 0; retry < 2; retry++) {
      await subscriptions.advance(2 * HOUR);
      await runAllJobs(subscriptions);
    }
    if (delivery === "none") await subscriptions.sync();
    const ended = await subscriptions.stored(subscription.id);
    assert.deepEqual([ended.status, ended.next_execution_at], ["inactive", null], delivery);
    const payments = await subscriptions.payments(subscription);
    // The gateway lists only paid transactions, so failed attempts are known only from signed
    // notifications.
    const reported = delivery === "both" || delivery === "signed" ? 3 : 0;
    assert.deepEqual(
      payments.map(({ transaction_status }) => transaction_status),
      Array.from({ length: reported }, () => "deny"),
    );
    assert.deepEqual(namesOf(await subscriptions.readEvents(subscription.id)), [
      "subscription_created",
    ]);
    assert.deepEqual(
      await subscriptions.transitions(subscription.id),
      [">pending create", "pending>active create", "active>inactive check_subscription_status"],
    );
    // An inactive subscription can only be cancelled.
    await assertProblem(await subscriptions.act(ended.id, "enable"), 400, "invalid_state");
    await assertProblem(await subscriptions.act(ended.id, "disable"), 400, "invalid_state");
    assert.equal((await subscriptions.actAndParse(ended.id, "cancel")).status, "cancelled");
  }
});

Deno.test("subscription: if the gateway does not confirm the reference in a notification, the payment is linked only if it looks like a charge of the subscription", async (t) => {
  await using subscriptions = await openSubscriptions();
  const { app, sandbox } = subscriptions;
  const subscription = await subscriptions.create();
  const digits = (digit: number) => String(digit).repeat(32);
  const cases: Record<string, ["card" | "gopay", order_id: string, gross_amount: number, number]> =
    {
      "another amount": ["card", `coffee-club${digits(1)}`, 149_999, 0],
      "another type": ["gopay", `coffee-club${digits(2)}`, 150_000, 0],
      "the order id of another subscription": ["card", `tea-club${digits(3)}`, 150_000, 0],
      "another form of order id": ["card", "coffee-club", 150_000, 0],
      "like a charge": ["card", `coffee-club${digits(4)}`, 150_000, 1],
    };
  for (const [caseName, [kind, order_id, gross_amount, linked]] of Object.entries(cases)) {
    await t.step(caseName, async () => {
      await sandbox.charge(kind, { transaction_details: { order_id, gross_amount } });
      await sandbox.waitForWebhooks();
      const { body } = sandbox.hooks.findLast((hook) => hook.body.order_id === order_id)!;
      const named = { ...body, metadata: { subscription_ref: subscription.id } };
      const answer = await app.request("/notification/", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(named),
      });
      assert.equal(answer.status, 200);
      await runAllJobs(subscriptions);
      const [adopted] = await app.database.query((sql) =>
        sql`select subscription_id from gateway.payments where order_id = ${order_id}`
      );
      assert.equal(adopted!.subscription_id, linked === 1 ? subscription.id : null);
      assert.equal((await subscriptions.payments(subscription)).length, linked);
    });
  }
});

Deno.test("subscription: an invalid token makes it inactive without a payment", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "both";
  const subscription = await subscriptions.create({
    token: "dummy",
    retry_schedule: { interval: 1, interval_unit: "minute", max_interval: 0 },
  });
  await runNextCycle(subscriptions, subscription);
  assert.equal((await subscriptions.stored(subscription.id)).status, "inactive");
  assert.deepEqual(await subscriptions.payments(subscription), []);
});

Deno.test("subscription: is not charged while disabled, continues when enabled, ends when cancelled", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.delivery = "both";
  const subscription = await subscriptions.create();
  const { id } = subscription;
  await runNextCycle(subscriptions, subscription);
  await runNextCycle(subscriptions, subscription);

  assert.equal((await subscriptions.actAndParse(id, "disable")).status, "disabled");
  await subscriptions.advance(100 * DAY);
  await subscriptions.sync();
  assert.equal((await subscriptions.stored(id)).status, "disabled");
  await assertAllCharged(subscriptions, subscription, 2);

  assert.equal((await subscriptions.actAndParse(id, "enable")).status, "active");
  await subscriptions.sync();
  const { schedule } = await subscriptions.atGateway(subscription);
  const enabled = await subscriptions.stored(id);
  assert.equal(secondOf(enabled.next_execution_at), secondOf(schedule.next_execution_at));
  await runNextCycle(subscriptions, subscription);
  await assertAllCharged(subscriptions, subscription, 3);

  assert.equal((await subscriptions.actAndParse(id, "cancel")).status, "cancelled");
  await subscriptions.advance(100 * DAY);
  await subscriptions.sync();
  assert.equal((await subscriptions.stored(id)).status, "cancelled");
  await assertAllCharged(subscriptions, subscription, 3);
  assert.deepEqual(namesOf(await subscriptions.readEvents(id)), [
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
  Deno.test(`subscription action: is resent after ${fault} until the gateway confirms it`, async () => {
    await using subscriptions = await openSubscriptions();
    for (const action of ["disable", "enable", "cancel"] as const) {
      const subscription = await subscriptions.create();
      const { id } = subscription;
      if (action === "enable") await subscriptions.actAndParse(id, "disable");
      const before = subscriptions.sentActions(subscription).length;
      await subscriptions.sandbox.fault(`subscription_${action}`, fault, { count: 2 });
      const response = await subscriptions.act(id, action);
      const { outcome, subscription_id } = await response.json();
      assert.deepEqual([outcome, subscription_id], ["unknown", id]);
      assert.equal((await subscriptions.row(id)).intent, action);
      for (let check = 0; check < 2; check++) {
        await subscriptions.advance(2 * MINUTE);
        await subscriptions.runJobs();
      }
      const { status } = await subscriptions.stored(id);
      assert.equal(status, { disable: "disabled", enable: "active", cancel: "cancelled" }[action]);
      const sent = subscriptions.sentActions(subscription).slice(before);
      assert.deepEqual(sent, [action, action, action]);
      await subscriptions.advance(30 * MINUTE);
      await subscriptions.sync();
      assert.equal(
        subscriptions.sentActions(subscription).length,
        before + 3,
        "not sent again after the response",
      );
      const eventNames = namesOf(await subscriptions.readEvents(id)).slice(1);
      const expected =
        { disable: ["disabled"], enable: ["disabled"], cancel: ["cancelled"] }[action];
      assert.deepEqual(eventNames, expected.map((name) => `subscription_${name}`));
    }
  });
}

Deno.test("subscription action: the scheduled sync resends it after its jobs have failed", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  await subscriptions.sandbox.fault("subscription_cancel", "error_500", { count: 5 });
  await subscriptions.act(subscription.id, "cancel");
  for (let check = 0; check < 4; check++) {
    await subscriptions.advance(20 * MINUTE);
    await subscriptions.runJobs();
  }
  assert.equal((await subscriptions.stored(subscription.id)).status, "active");
  await subscriptions.sync();
  assert.equal((await subscriptions.stored(subscription.id)).status, "cancelled");
  assert.equal((await subscriptions.atGateway(subscription)).status, "inactive");
});

const UNAUTHORIZED = { status_code: "401", status_message: "Unauthorized" };

for (const second of ["disable", "enable", "cancel"] as const) {
  Deno.test(`subscription action: an unanswered disable is resent even if the gateway rejects the server key of a later ${second}`, async () => {
    await using subscriptions = await openSubscriptions();
    const { relay } = subscriptions;
    const subscription = await subscriptions.create();
    const { id } = subscription;
    await subscriptions.sandbox.fault("subscription_disable", "reset");
    await assertProblem(await subscriptions.act(id, "disable"), 502, "gateway_unreachable");
    relay.intercept = () => Response.json(UNAUTHORIZED, { status: 401 });
    const response = await subscriptions.act(id, second);
    const problem = await assertProblem(response, 400, "gateway_authentication");
    assert.equal(problem.outcome, second === "disable" ? "unknown" : "refused");
    assert.equal((await subscriptions.row(id)).intent, "disable");
    relay.intercept = (_request, pass) => pass();
    await subscriptions.advance(2 * MINUTE);
    await subscriptions.runJobs();
    assert.equal((await subscriptions.stored(id)).status, "disabled");
    assert.equal((await subscriptions.atGateway(subscription)).status, "inactive");
    assert.deepEqual(namesOf(await subscriptions.readEvents(id)), [
      "subscription_created",
      "subscription_disabled",
    ]);
  });
}

for (const action of ["enable", "cancel"] as const) {
  Deno.test(`subscription ${action}: the sync resends it if the subscription was disabled over a week ago`, async () => {
    await using subscriptions = await openSubscriptions();
    const { id } = await subscriptions.create();
    await subscriptions.actAndParse(id, "disable");
    await subscriptions.advance(8 * DAY);
    await subscriptions.sync();
    await subscriptions.sandbox.fault(`subscription_${action}`, "error_500", { count: 5 });
    await (await subscriptions.act(id, action)).body?.cancel();
    // A check by a caller does not end the scheduled checks.
    await (await subscriptions.get(`/subscriptions/${id}/check_status/`)).body?.cancel();
    assert.notEqual((await subscriptions.row(id)).check_at, null);
    for (let check = 0; check < 4; check++) {
      await subscriptions.advance(20 * MINUTE);
      await subscriptions.runJobs();
    }
    assert.equal((await subscriptions.stored(id)).status, "disabled");
    await subscriptions.sync();
    const { status } = await subscriptions.stored(id);
    assert.equal(status, action === "enable" ? "active" : "cancelled");
  });
}

Deno.test("subscription action: a retry with the same idempotency key completes an action with unknown outcome, and the next retry gets the stored reply", async () => {
  await using subscriptions = await openSubscriptions();
  const { id } = await subscriptions.create();
  const headers = newKey();
  await subscriptions.sandbox.fault("subscription_disable", "answer_lost");
  const lostResponse = await subscriptions.act(id, "disable", headers);
  await assertProblem(lostResponse, 502, "gateway_unreachable");
  const again = await parseSubscription(await subscriptions.act(id, "disable", headers), 200);
  assert.equal(again.status, "disabled");
  assert.equal(isReplayed(await subscriptions.act(id, "disable", headers)), true);
  await subscriptions.advance(2 * MINUTE);
  await subscriptions.runJobs();
  assert.deepEqual(namesOf(await subscriptions.readEvents(id)), [
    "subscription_created",
    "subscription_disabled",
  ]);
});

Deno.test("subscription action: a retry with the same idempotency key succeeds if a job completes the action during the retry", async () => {
  const { holdNext, wrapDatabase } = createHeldDatabase();
  await using subscriptions = await openSubscriptions({ wrapDatabase });
  const { id } = await subscriptions.create();
  const headers = newKey();
  await subscriptions.sandbox.fault("subscription_disable", "reset");
  await assertProblem(
    await subscriptions.act(id, "disable", headers),
    502,
    "gateway_unreachable",
  );
  const checkWrite = holdNext("write subscription");
  const retry = subscriptions.act(id, "disable", headers);
  await checkWrite.arrived;
  const held = holdNext("write subscription");
  checkWrite.release();
  await held.arrived;
  await subscriptions.advance(2 * MINUTE);
  await subscriptions.runJobs();
  assert.equal((await subscriptions.stored(id)).status, "disabled");
  held.release();
  assert.equal((await parseSubscription(await retry, 200)).status, "disabled");
  assert.equal(isReplayed(await subscriptions.act(id, "disable", headers)), true);
});

Deno.test("subscription action: is not resent if the gateway rejects it", async () => {
  await using subscriptions = await openSubscriptions();
  // The gateway rejects `enable` because the only cycle is over, which the service does not know
  // yet.
  const subscription = await subscriptions.create({ interval_unit: "day", max_interval: 1 });
  const { id } = subscription;
  await subscriptions.advance(DAY + 1);
  await subscriptions.actAndParse(id, "disable");
  const problem = await assertProblem(
    await subscriptions.act(id, "enable"),
    400,
    "invalid_state",
  );
  assert.deepEqual([problem.outcome, problem.subscription_id], ["refused", id]);
  assert.equal((await subscriptions.row(id)).intent, null);
  await subscriptions.advance(30 * MINUTE);
  await subscriptions.sync();
  assert.deepEqual(subscriptions.sentActions(subscription), ["disable", "enable"]);
  assert.equal((await subscriptions.stored(id)).status, "disabled");
});

Deno.test("subscription cancel: is not replaced by a later disable while its outcome is unknown", async (t) => {
  await t.step("the response arrives late", async () => {
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
    await subscriptions.advance(2 * MINUTE);
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
      await subscriptions.advance(2 * MINUTE);
      await subscriptions.runJobs();
      assert.equal((await subscriptions.stored(id)).status, "cancelled");
    });
  }
});

Deno.test("cancelled subscription: is cancelled again if it is reactivated at the gateway", async () => {
  await using subscriptions = await openSubscriptions();
  const { relay } = subscriptions;
  const subscription = await subscriptions.create();
  const { id } = subscription;
  await subscriptions.actAndParse(id, "cancel");
  let isReactivated = true;
  relay.intercept = async ({ method, target }, pass) => {
    if (target.endsWith("/cancel")) isReactivated = false;
    const answer = await pass();
    if (method !== "GET" || !isReactivated) return answer;
    return Response.json({ ...await answer.json(), status: "active" });
  };
  await subscriptions.advance(30 * MINUTE);
  await subscriptions.sync();
  await subscriptions.advance(2 * MINUTE);
  await subscriptions.runJobs();
  assert.equal(isReactivated, false);
  assert.deepEqual(subscriptions.sentActions(subscription), ["cancel", "cancel"]);
  assert.equal((await subscriptions.stored(id)).status, "cancelled");
  await subscriptions.advance(30 * MINUTE);
  await subscriptions.sync();
  assert.equal(subscriptions.sentActions(subscription).length, 2);
  assert.deepEqual(namesOf(await subscriptions.readEvents(id)), [
    "subscription_created",
    "subscription_cancelled",
  ]);
});

Deno.test("disabled subscription: a charge that the gateway retries for the current cycle is stored", async () => {
  await using subscriptions = await openSubscriptions();
  const { sandbox } = subscriptions;
  const subscription = await subscriptions.create({ token: await savedCard(sandbox, DENIED_CARD) });
  await subscriptions.advanceToNextCycle(subscription);
  await subscriptions.actAndParse(subscription.id, "disable");
  await changeCard(subscriptions, subscription, await savedCard(sandbox));
  await subscriptions.advance(HOUR);
  assert.deepEqual(await subscriptions.payments(subscription), []);
  await subscriptions.sync();
  await assertAllCharged(subscriptions, subscription, 1);
  assert.equal((await subscriptions.stored(subscription.id)).status, "disabled");
});

Deno.test("subscription: a GoPay account is charged like a card", async () => {
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
  await runNextCycle(subscriptions, subscription);
  await runNextCycle(subscriptions, subscription);
  await assertAllCharged(subscriptions, subscription, 2);
  const [payment] = await subscriptions.payments(subscription);
  assert.deepEqual([payment!.payment_type, payment!.transaction_status], ["gopay", "settlement"]);
});

Deno.test("sync: finds every charge once if all notifications of three cycles were lost", async (t) => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  for (let cycle = 0; cycle < 3; cycle++) await subscriptions.advanceToNextCycle(subscription);
  assert.deepEqual(await subscriptions.payments(subscription), []);

  await t.step("first sync", async () => {
    await subscriptions.sync();
    await assertAllCharged(subscriptions, subscription, 3);
  });
  await t.step("second sync", async () => {
    await subscriptions.sync();
    await assertAllCharged(subscriptions, subscription, 3);
  });
  await t.step("late notifications", async () => {
    subscriptions.delivery = "both";
    for (const { id } of await subscriptions.sandbox.control("webhooks", undefined, "GET")) {
      await subscriptions.sandbox.control(`webhooks/${id}/resend`);
    }
    await subscriptions.sandbox.waitForWebhooks();
    await runAllJobs(subscriptions);
    await assertAllCharged(subscriptions, subscription, 3);
  });
});

Deno.test("subscription: concurrent checks, syncs and notifications store each charge once", async () => {
  await using subscriptions = await openSubscriptions({ poolSize: 10 });
  const { app, sandbox } = subscriptions;
  const subscription = await subscriptions.create();
  for (let cycle = 0; cycle < 3; cycle++) await subscriptions.advanceToNextCycle(subscription);
  subscriptions.delivery = "both";
  const webhooks: Json[] = await sandbox.control("webhooks", undefined, "GET");
  await Promise.all([
    ...Array.from({ length: 6 }, () => checkSubscriptionStatus(app.service, subscription.id)),
    ...Array.from({ length: 2 }, () => syncSubscriptionStatus(app.service)),
    ...webhooks.map(({ id }) => sandbox.control(`webhooks/${id}/resend`)),
    subscriptions.runJobs(),
    subscriptions.runJobs(),
  ]);
  await sandbox.waitForWebhooks();
  await runAllJobs(subscriptions);
  await assertAllCharged(subscriptions, subscription, 3);
});

Deno.test("sync: two concurrent runs queue one check", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  await subscriptions.advanceToNextCycle(subscription);
  const { service } = subscriptions.app;
  await Promise.all([syncSubscriptionStatus(service), syncSubscriptionStatus(service)]);
  assert.equal((await jobsOf(subscriptions.app, subscription.id)).length, 1);
  await Promise.all([subscriptions.runJobs(), subscriptions.runJobs()]);
  await assertAllCharged(subscriptions, subscription, 1);
});

Deno.test("sync: the next run finds the charge if the gateway was down", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  await subscriptions.advanceToNextCycle(subscription);
  const { relay } = subscriptions;
  const { intercept } = relay;
  relay.intercept = () => Response.json({ status_message: "Sorry" }, { status: 500 });
  for (let check = 0; check < 5; check++) {
    await subscriptions.sync();
    await subscriptions.advance(30 * MINUTE);
  }
  relay.intercept = intercept;
  assert.deepEqual(await subscriptions.payments(subscription), []);
  assert.equal((await subscriptions.stored(subscription.id)).status, "active");
  await subscriptions.sync();
  await assertAllCharged(subscriptions, subscription, 1);
});

Deno.test("sync: stores all charges, even if one of them could not be read at first", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  await subscriptions.advanceToNextCycle(subscription);
  await subscriptions.advanceToNextCycle(subscription);
  await subscriptions.sandbox.fault("status", "error_500", { count: 4 });
  await subscriptions.sync();
  await subscriptions.advance(MINUTE + 1);
  await subscriptions.runJobs();
  await assertAllCharged(subscriptions, subscription, 2);
});

Deno.test("sync: if the gateway lists a charge but responds 404 for it, the other charges are stored", async () => {
  await using subscriptions = await openSubscriptions();
  const subscription = await subscriptions.create();
  await subscriptions.advanceToNextCycle(subscription);
  await subscriptions.advanceToNextCycle(subscription);
  const { transaction_ids: [lost, found] } = await subscriptions.atGateway(subscription);
  const { relay } = subscriptions;
  relay.intercept = ({ target }, pass) =>
    target.includes(lost)
      ? Response.json({ status_code: "404", status_message: "Transaction doesn't exist." })
      : pass();
  await subscriptions.sync();
  const payments = await subscriptions.payments(subscription);
  assert.deepEqual(payments.map(({ transaction_id }) => transaction_id), [found]);
  assert.equal(chargedPaymentIds(await subscriptions.readEvents(subscription.id)).length, 1);
  relay.intercept = (_request, pass) => pass();
  await subscriptions.advance(30 * MINUTE);
  await subscriptions.sync();
  await assertAllCharged(subscriptions, subscription, 2);
});

Deno.test("sync: skips subscriptions that were disabled or cancelled over a week ago", async () => {
  await using subscriptions = await openSubscriptions();
  const [active, disabled, cancelled, ended] = [
    await subscriptions.create(),
    await subscriptions.create(),
    await subscriptions.create(),
    await subscriptions.create({ interval_unit: "day", max_interval: 1 }),
  ];
  await subscriptions.actAndParse(disabled.id, "disable");
  await subscriptions.actAndParse(cancelled.id, "cancel");
  const checked = [active, disabled, cancelled, ended];
  const statusChecks = () => checked.map((each) => subscriptions.statusChecks(each));
  await subscriptions.advance(6 * DAY);
  await subscriptions.sync();
  assert.equal(statusChecks().every((count) => count > 0), true);
  await subscriptions.advance(2 * DAY);
  await subscriptions.sync();
  const before = statusChecks();
  await subscriptions.advance(HOUR);
  await subscriptions.sync();
  const [ofActive, ofDisabled, ofCancelled, ofEnded] = before as [number, number, number, number];
  assert.deepEqual(statusChecks(), [ofActive + 1, ofDisabled, ofCancelled, ofEnded + 1]);
  assert.equal((await subscriptions.stored(ended.id)).status, "inactive");
});

for (const isMetadataOmitted of [false, true]) {
  const condition = isMetadataOmitted
    ? "if the gateway omits the service's metadata"
    : "if the gateway returns the service's metadata";
  Deno.test(`subscriptions with the same name: each gets only its own charges ${condition}`, async () => {
    await using subscriptions = await openSubscriptions();
    const { app, relay, get } = subscriptions;
    // Only signed notifications, because recurring ones contain the id of the subscription.
    subscriptions.delivery = "signed";
    if (isMetadataOmitted) {
      subscriptions.intercept = withoutMetadata;
      relay.intercept = async ({ target }, pass) => {
        const answer = await pass();
        return target.endsWith("/status")
          ? Response.json(withoutMetadata(await answer.json()))
          : answer;
      };
    }
    const bob = await app.createKey({ userId: "bob" });
    const ofAlice = await subscriptions.create({ name: "same name", amount: 10_000 });
    const ofBob = await subscriptions.create({ name: "same name", amount: 10_000 }, bob);
    for (let cycle = 1; cycle <= 2; cycle++) {
      // Both are charged at almost the same time.
      await runNextCycle(subscriptions, ofAlice);
      await runAllJobs(subscriptions);
      await assertAllCharged(subscriptions, ofAlice, cycle);
      await assertAllCharged(subscriptions, ofBob, cycle, bob);
    }
    const paymentsOfAlice = await subscriptions.payments(ofAlice);
    const paymentsOfBob = await subscriptions.payments(ofBob, bob);
    assert.deepEqual(await subscriptions.payments(ofAlice, bob), []);
    assert.deepEqual(await subscriptions.payments(ofBob), []);
    const newest = await get(`/payments/?subscription_id=${ofAlice.id}&limit=1`);
    const [, link] = newest.headers.get("link")!.match(/^<(.+)>/)!;
    const older = await get(link!);
    const pages = [...await newest.json(), ...await older.json()];
    assert.deepEqual(
      pages.map(({ id }: Json) => id),
      paymentsOfAlice.map(({ id }) => id).reverse(),
    );
    assert.equal(older.headers.get("link"), null);
    for (const { id } of paymentsOfBob) {
      await assertProblem(await get(`/payments/${id}/`), 404, "not_found");
    }
    for (const { id } of paymentsOfAlice) {
      await assertProblem(await get(`/payments/${id}/`, bob), 404, "not_found");
    }
  });
}

function withoutMetadata({ metadata: _metadata, ...body }: Json): Json {
  return body;
}
