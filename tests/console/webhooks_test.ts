import assert from "node:assert/strict";
import { createDatabase, runSql } from "../support/database/database.ts";
import { formsOf, openStaff, openTab, signInTo } from "../support/console/browsing.ts";
import { openWebhooks, type TestWebhooks } from "../support/events/webhooks.ts";
import { openAtNoon, today } from "../support/noon.ts";

async function openNew(): Promise<TestWebhooks> {
  return await openWebhooks({ databaseUrl: await createDatabase() });
}

const secretIn = (html: string) => html.match(/whsec_[\w+/=]+/)?.[0];

Deno.test("console events: are listed by name, day and resource, with a link to the resource", async () => {
  const databaseUrl = await createDatabase();
  await using webhooks = await openAtNoon((options) => openWebhooks({ databaseUrl, ...options }));
  const paid = await webhooks.paid("gopay");
  const pending = await webhooks.charge("bca");
  await webhooks.app.publishEvents();
  const staff = await openStaff(webhooks);
  const find = async (query: string) => {
    const { status, html } = await staff.open(`/console/events/?${query}`);
    assert.equal(status, 200, html);
    return [...html.matchAll(/<a href="\/console\/events\/[^"]+">([^<]+)<\/a>/g)]
      .map(([, name]) => name);
  };
  assert.deepEqual(await find(""), ["payment_received", "payment_settled", "payment_received"]);
  assert.ok(staff.page.html.includes(`href="/console/payments/${paid.id}/"`));
  assert.match(staff.page.html, /data-live="\*"/);
  assert.deepEqual(await find("name=payment_settled"), ["payment_settled"]);
  assert.deepEqual(
    await find("name=payment_settled&name=payment_received"),
    ["payment_received", "payment_settled", "payment_received"],
  );
  assert.deepEqual(await find(`resource=${pending.id}`), ["payment_received"]);
  assert.deepEqual(await find("to=2020-01-01"), []);
  const day = today();
  assert.equal((await find(`from=${day}&to=${day}`)).length, 3);
  for (const invalid of ["resource=x", "from=2026-13-45", `from=${day}&to=2020-01-01`]) {
    const page = await staff.open(`/console/events/?${invalid}`);
    assert.equal(page.status, 400, invalid);
    assert.match(page.html, /role="alert"/);
  }
  assert.ok((await staff.open(`/console/payments/${paid.id}/`)).html.includes(
    `href="/console/events/?resource=${paid.id}"`,
  ));
});

Deno.test("console events: the next page keeps the filters", async () => {
  await using webhooks = await openNew();
  for (let count = 0; count < 51; count++) await webhooks.charge("bca");
  await webhooks.app.publishEvents();
  const staff = await openStaff(webhooks);
  const first = await staff.open("/console/events/?name=payment_received&name=payment_settled");
  const link = first.html.match(/class="next" href="([^"]+)"/)![1]!.replaceAll("&amp;", "&");
  assert.match(link, /name=payment_received&name=payment_settled|name=payment_settled&name=/);
  const second = await staff.open(link);
  assert.equal(second.html.match(/\/console\/events\/[0-9a-f-]{36}\//g)!.length, 1);
  assert.doesNotMatch(second.html, /data-live/, "an older page does not change");
});

Deno.test("console event: shows its data and its deliveries, and sends one again", async () => {
  await using webhooks = await openNew();
  const endpoint = await webhooks.endpoint({ description: "Shop" });
  webhooks.receiver.answer({ status: 500, body: "out of <b>stock</b>" });
  const payment = await webhooks.charge("bca");
  await webhooks.app.publishEvents();
  await webhooks.deliver();
  const staff = await openStaff(webhooks);
  const { html: timeline } = await staff.open(`/console/payments/${payment.id}/`);
  const [path] = timeline.match(/\/console\/events\/[0-9a-f-]{36}\//)!;
  const { html } = await staff.open(path);
  assert.match(html, /<h1>payment_received<\/h1>/);
  assert.ok(html.includes(`href="/console/payments/${payment.id}/"`));
  assert.ok(html.includes(`href="/console/webhooks/${endpoint.id}/"`));
  assert.ok(html.includes(`&quot;order_id&quot;: &quot;${payment.order_id}&quot;`));
  assert.match(html, /500 · \d+ ms · out of &lt;b&gt;stock&lt;\/b&gt;/);
  assert.match(html, /class="status wait">Waiting/);
  webhooks.receiver.answer({ status: 200 });
  assert.match((await staff.submit(/resend/)).html, /is sent again/);
  assert.equal(staff.page.path.split("?")[0], path, "the page of the event is shown again");
  await webhooks.deliver();
  assert.match((await staff.open(path)).html, /class="status good">Delivered/);
  const viewer = await signInTo(
    webhooks.app,
    await webhooks.app.createKey({ isViewer: true }),
  );
  assert.doesNotMatch((await viewer.open(path)).html, /resend/);
  assert.equal((await staff.open(path.replace(/[0-9a-f]{4}\/$/, "0000/"))).status, 404);
});

Deno.test("console event: names the notification that caused it", async () => {
  await using webhooks = await openNew();
  const payment = await webhooks.charge("bca");
  const notification = "0197a3c5-90e4-7f28-8b6a-3d1c5e7f9a02";
  await webhooks.app.publishEvents();
  await runSql(
    webhooks.databaseUrl,
    `update gateway.events
    set data = (data::jsonb || '{"notification_id":"${notification}"}')::json
    where resource_id = '${payment.id}'`,
  );
  const staff = await openStaff(webhooks);
  await staff.open("/console/events/");
  const [path] = staff.page.html.match(/\/console\/events\/[0-9a-f-]{36}\//)!;
  const { html } = await staff.open(path);
  assert.ok(html.includes(`href="/console/notifications/${notification}/"`));
});

Deno.test("console webhooks: an endpoint is created, edited, disabled, enabled and deleted", async () => {
  await using webhooks = await openNew();
  const staff = await openStaff(webhooks);
  await staff.open("/console/webhooks/");
  assert.match(staff.page.html, /There are no endpoints yet/);
  await staff.open("/console/webhooks/new/");
  const { html } = await staff.submit(/new/, {
    url: webhooks.receiver.url,
    description: "Shop & warehouse",
    event_payment_settled: "on",
  });
  assert.ok(secretIn(html), html);
  const [, id] = html.match(/\/console\/webhooks\/([0-9a-f-]{36})\//)!;
  const created = await webhooks.readEndpoint(id!);
  assert.equal(created.url, webhooks.receiver.url);
  assert.equal(created.description, "Shop & warehouse");
  assert.deepEqual(created.event_names, ["payment_settled"]);
  assert.ok(created.enabled);

  await staff.open(`/console/webhooks/${id}/edit/`);
  assert.match(staff.page.html, /value="Shop &amp; warehouse"/);
  assert.match(staff.page.html, /name="event_payment_settled" checked/);
  const refused = await staff.submit(/edit/, { url: "ftp://x" });
  assert.equal(refused.status, 400);
  assert.match(refused.html, /role="alert"/);
  assert.match(refused.html, /value="ftp:\/\/x"/, "the form keeps its values");
  await staff.open(`/console/webhooks/${id}/edit/`);
  const form = formsOf(staff.page.html).find(({ action }) => action.endsWith("/edit/"))!;
  const { event_payment_settled: _, ...fields } = form.fields;
  await staff.post(form.action, { ...fields, description: "" });
  assert.match(staff.page.html, /The endpoint is saved/);
  const edited = await webhooks.readEndpoint(id!);
  assert.deepEqual([edited.event_names, edited.description], [null, null]);

  await staff.submit(/disable/);
  assert.match(staff.page.html, /Its deliveries wait/);
  assert.match(staff.page.html, /Disabled by staff/);
  assert.ok(!(await webhooks.readEndpoint(id!)).enabled);
  await staff.submit(/enable/);
  assert.match(staff.page.html, /Waiting deliveries are sent now/);
  assert.ok((await webhooks.readEndpoint(id!)).enabled);

  await staff.open(`/console/webhooks/${id}/delete/`);
  await staff.submit(/delete/);
  assert.match(staff.page.html, /The endpoint is deleted/);
  assert.ok(!staff.page.html.includes(webhooks.receiver.url));
});

Deno.test("console webhooks: a form that is sent twice creates one endpoint", async () => {
  await using webhooks = await openNew();
  const staff = await openStaff(webhooks);
  await staff.open("/console/webhooks/new/");
  const form = formsOf(staff.page.html).find(({ action }) => action.endsWith("/new/"))!;
  const fields = { ...form.fields, url: webhooks.receiver.url };
  const sent = await Promise.all([
    staff.post(form.action, fields),
    openTab(webhooks.app, staff).post(form.action, fields),
  ]);
  assert.equal(sent.filter(({ html }) => secretIn(html)).length, 1);
  const again = await staff.post(form.action, fields);
  assert.match(again.html, /was created once/);
  assert.equal(secretIn(again.html), undefined);
  const list = await webhooks.requestAsStaff("GET", "/webhook-endpoints/");
  assert.equal((await list.json()).length, 1);
  for (
    const id of ["00000000-0000-7000-8000-000000000000", "ffffffff-ffff-7fff-bfff-ffffffffffff"]
  ) {
    const page = await staff.post(form.action, { ...fields, id });
    assert.equal(page.status, 400, "an id of another time would change the order of the list");
  }
});

Deno.test("console webhooks: a second or an old form replaces no secret and undoes no change", async () => {
  await using webhooks = await openNew();
  const { id } = await webhooks.endpoint();
  const staff = await openStaff(webhooks);
  const tab = openTab(webhooks.app, staff);
  await staff.open(`/console/webhooks/${id}/rotate-secret/`);
  await tab.open(`/console/webhooks/${id}/rotate-secret/`);
  assert.ok(secretIn((await staff.submit(/rotate-secret/)).html));
  const [before] = await runSql(
    webhooks.databaseUrl,
    "select secret, previous_secret from gateway.webhook_endpoints",
  );
  const second = await tab.submit(/rotate-secret/);
  assert.equal(second.status, 400);
  assert.match(second.html, /was changed after this page was shown/);
  const forged = formsOf(tab.page.html)[0]!.fields.token ?? "";
  await staff.open(`/console/webhooks/${id}/`);
  const { token } = formsOf(staff.page.html)[0]!.fields;
  assert.equal(forged, "", "the page of a problem has no form that acts");
  await staff.post(`/console/webhooks/${id}/rotate-secret/`, { token: token! });
  assert.equal(staff.page.status, 400, "a form without the time is an old one");
  const [after] = await runSql(
    webhooks.databaseUrl,
    "select secret, previous_secret from gateway.webhook_endpoints",
  );
  assert.deepEqual(after, before);

  await tab.open(`/console/webhooks/${id}/edit/`);
  await webhooks.change(id, { description: "by another user" });
  assert.equal((await tab.submit(/edit/, { description: "old" })).status, 400);
  assert.equal((await webhooks.readEndpoint(id)).description, "by another user");
});

Deno.test("console webhooks: deliveries are filtered by status, and a test shows what the receiver answered", async () => {
  await using webhooks = await openNew();
  const { id } = await webhooks.endpoint();
  await webhooks.charge("bca");
  await webhooks.app.publishEvents();
  await webhooks.deliver();
  const staff = await openStaff(webhooks);
  await staff.open(`/console/webhooks/${id}/?status=delivered`);
  assert.match(staff.page.html, /payment_received/);
  await staff.open(`/console/webhooks/${id}/?status=failed`);
  assert.doesNotMatch(staff.page.html, /payment_received<\/a>/);
  webhooks.receiver.answer({ status: 503, body: "<script>alert(1)</script>" });
  const { html } = await staff.submit(/\/test\//);
  assert.match(html, /did not accept the test/);
  assert.match(html, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
  assert.match(html, />503</);
});
