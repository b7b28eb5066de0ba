import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { formsOf, openStaff, openTab } from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { openSubscriptions } from "../support/records/subscriptions.ts";

const databaseUrl = await createDatabase();

function namesIn(html: string): string[] {
  return [...html.matchAll(/<td><a href="\/console\/subscriptions\/[^"]+">([^<]+)<\/a><\/td>/g)]
    .map(([, name]) => name!);
}

Deno.test("console subscriptions: lists and filters the subscriptions of all users", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl: await createDatabase() });
  const { app } = subscriptions;
  const bob = await app.createKey({ userId: "bob" });
  const paused = await subscriptions.create({ name: "paused" });
  await subscriptions.actAndParse(paused.id, "disable");
  await subscriptions.create({ name: "club", interval: 3 }, bob);
  const staff = await openStaff(subscriptions);
  const find = async (...query: [string, string][]) => {
    await staff.open(`/console/subscriptions/?${new URLSearchParams(query)}`);
    assert.equal(staff.page.status, 200, staff.page.html);
    return namesIn(staff.page.html);
  };
  assert.deepEqual(await find(), ["club", "paused"]);
  assert.match(staff.page.html, /Rp 150\.000<\/td><td>every 3 months/);
  assert.deepEqual(await find(["status", "disabled"]), ["paused"]);
  assert.deepEqual(await find(["status", "disabled"], ["status", "active"]), ["club", "paused"]);
  assert.deepEqual(await find(["name", "club"]), ["club"]);
  assert.deepEqual(await find(["user_id", "bob"]), ["club"]);
  assert.deepEqual(await find(["payment_type", "credit_card"]), ["club", "paused"]);
  assert.deepEqual(await find(["payment_type", "gopay"]), []);
  assert.match(staff.page.html, /No subscriptions were found/);
  for (const query of ["status=paused", "payment_type=dana", "cursor=%00", "name=a&name=b"]) {
    const { status, html } = await staff.open(`/console/subscriptions/?${query}`);
    assert.equal(status, 400, query);
    assert.match(html, /The filter is not valid/, query);
  }
});

Deno.test("console subscription: shows plan, schedule, customer, charges and timeline", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const subscription = await subscriptions.create({
    max_interval: 12,
    customer_details: { first_name: "Siti", last_name: "Utami", email: "siti@example.com" },
  });
  let staff = await openStaff(subscriptions);
  const path = `/console/subscriptions/${subscription.id}/`;
  await staff.open(path);
  for (
    const text of [
      "Rp 150.000 every month",
      "0 of 12",
      "Siti Utami",
      "/console/customers/?email=siti%40example.com",
      "Nothing was charged yet",
      "subscription_created",
      "Next charge",
    ]
  ) assert.ok(staff.page.html.includes(text), text);

  await subscriptions.advanceToNextCycle(subscription);
  // The clock moved by a month, so the session has ended.
  staff = await openStaff(subscriptions);
  await staff.open(path);
  const checked = await staff.submit(/check-status/);
  assert.match(checked.html, /and its charges were checked at the gateway/);
  const [charge] = await subscriptions.payments(subscription);
  assert.ok(checked.html.includes(`href="/console/payments/${charge!.id}/"`));
  assert.match(checked.html, /1 of 12/);
  await staff.open(`/console/payments/${charge!.id}/`);
  assert.ok(staff.page.html.includes(`href="${path}"`), "the payment links to its subscription");
});

Deno.test("console subscription: is paused, resumed and cancelled, each after a confirmation", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const { id } = await subscriptions.create();
  const staff = await openStaff(subscriptions);
  const act = async (action: string, effect: RegExp, done: RegExp) => {
    await staff.open(`/console/subscriptions/${id}/${action}/`);
    assert.equal(staff.page.status, 200);
    assert.match(staff.page.html, effect);
    assert.match((await staff.submit(new RegExp(`/${action}/$`))).html, done);
    return (await subscriptions.stored(id)).status;
  };
  assert.equal(
    await act("disable", /charges of Rp 150\.000 every month stop. The charge of \d+/, /is paused/),
    "disabled",
  );
  assert.doesNotMatch(staff.page.html, /\/disable\//);
  assert.equal(
    await act("enable", /charged again: Rp 150\.000 every month/, /active again/),
    "active",
  );
  assert.equal(await act("cancel", /end permanently/, /is cancelled/), "cancelled");
  assert.match(staff.page.html, /cannot be changed in its current state/);
  assert.equal((await staff.open(`/console/subscriptions/${id}/enable/`)).status, 400);
  assert.equal((await staff.submit(/enable/)).status, 400);
  assert.equal((await subscriptions.stored(id)).status, "cancelled");
});

Deno.test("console subscription: a double click and a reload act once", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const subscription = await subscriptions.create();
  const staff = await openStaff(subscriptions);
  await staff.open(`/console/subscriptions/${subscription.id}/disable/`);
  const form = formsOf(staff.page.html).find(({ action }) => action.endsWith("/disable/"))!;
  const call = `POST /v1/subscriptions/${subscription.gateway_subscription_id}/disable`;
  const held = subscriptions.relay.holdNext(call);
  const first = openTab(subscriptions.app, staff).post(form.action, form.fields);
  await held.arrived;
  const second = openTab(subscriptions.app, staff).post(form.action, form.fields);
  held.release();
  for (const { html } of await Promise.all([first, second])) assert.match(html, /is paused/);
  await subscriptions.actAndParse(subscription.id, "enable");
  await staff.post(form.action, form.fields);
  assert.equal((await subscriptions.stored(subscription.id)).status, "active");
  assert.deepEqual(subscriptions.sentActions(subscription), ["disable", "enable"]);
});

Deno.test("console subscription: a stale tab does nothing", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const subscription = await subscriptions.create();
  const staff = await openStaff(subscriptions);
  await staff.open(`/console/subscriptions/${subscription.id}/cancel/`);
  await subscriptions.actAndParse(subscription.id, "disable");
  const { status, html } = await staff.submit(/cancel/);
  assert.equal(status, 400);
  assert.match(html, /has changed since the page was opened. Nothing was done/);
  assert.match(html, /class="status wait">Paused/);
  assert.equal((await subscriptions.stored(subscription.id)).status, "disabled");
  assert.match(
    (await staff.submit(/cancel/)).html,
    /is cancelled/,
    "the new form shows the change, so it acts",
  );
});

Deno.test("console subscription: an unknown outcome is shown with what happens next", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const subscription = await subscriptions.create();
  const staff = await openStaff(subscriptions);
  await staff.open(`/console/subscriptions/${subscription.id}/cancel/`);
  subscriptions.relay.intercept = () => new Response("", { status: 502 });
  const { status, html } = await staff.submit(/cancel/);
  assert.equal(status, 400);
  assert.match(html, /repeats the request until the gateway answers/);
  subscriptions.relay.intercept = (_request, pass) => pass();
  await subscriptions.advance(120);
  await subscriptions.sync();
  assert.equal((await subscriptions.stored(subscription.id)).status, "cancelled");
});

Deno.test("console subscription: a check that fails shows the error, and the stored state", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const subscription = await subscriptions.create({ name: `kept-${randomUUID().slice(0, 8)}` });
  const staff = await openStaff(subscriptions);
  await staff.open(`/console/subscriptions/${subscription.id}/`);
  subscriptions.relay.intercept = () => new Response("", { status: 503 });
  const { status, html } = await staff.submit(/check-status/);
  assert.equal(status, 400);
  assert.match(html, /role="alert" class="error"/);
  assert.ok(html.includes(subscription.name));
});
