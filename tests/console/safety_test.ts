import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { openApp, REAL_INSTALLATION } from "../support/app.ts";
import { PUBLIC_URL } from "../support/checkouts/checkouts.ts";
import {
  browse,
  type Browsing,
  type FormFields,
  formsOf,
  signInTo,
  XSS_PROBE,
} from "../support/console/browsing.ts";
import { addressOf, type PathValues, routesOf } from "../support/console/routes.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openWebhooks, type TestWebhooks } from "../support/events/webhooks.ts";
import { inTime } from "../support/until.ts";

const databaseUrl = await createDatabase();

/** A service with one record of each kind, and the values of path parameters that lead to them. */
async function openFilled(): Promise<TestWebhooks & { values: PathValues }> {
  const env = { PUBLIC_URL };
  const webhooks = await openWebhooks({ databaseUrl: await createDatabase(), env });
  const { app, post } = webhooks;
  const endpoint = await webhooks.endpoint({ description: "Shop" });
  const payment = await webhooks.paid("gopay");
  const invoice = await (await post("/invoices/", {
    customer_name: "Budi",
    due_date: "2099-12-31",
    items: [{ description: "Beans", price: 75_000, quantity: 1 }],
  })).json();
  const checkout = await (await post("/checkouts/", { gross_amount: 75_000 })).json();
  await app.publishEvents();
  await webhooks.deliver();
  const [job, notification] = [randomUUID(), randomUUID()];
  await runSql(
    webhooks.databaseUrl,
    `insert into gateway.jobs (id, task, subject_id, payload, status, attempts, error, result, run_at,
      created_at, updated_at)
    values ('${job}', 'check_payment_status', '${payment.id}', '{}', 'failed', 6, 'no response', '{}',
      now(), now(), now());
    insert into gateway.notifications (id, order_id, transaction_id, transaction_status, status_code,
      gross_amount, status, raw_payload, created_at, payment_id)
    values ('${notification}', '${payment.order_id}', '${payment.transaction_id}', 'settlement', '200',
      '44000.00', 'failed', '{}', now(), '${payment.id}')`,
  );
  const [event] = await runSql(
    webhooks.databaseUrl,
    `select id from gateway.events where resource_id = '${payment.id}' order by sequence`,
  );
  const victim = await app.createKey({ userId: "victim", isStaff: true });
  await signInTo(app, victim);
  const [session] = await runSql(
    webhooks.databaseUrl,
    "select id from gateway.console_sessions where user_id = 'victim'",
  );
  const values = {
    payments: payment.id,
    checkouts: checkout.id,
    invoices: invoice.id,
    webhooks: endpoint.id,
    delivery: event!.id,
    events: event!.id,
    jobs: job,
    notifications: notification,
    sessions: session!.id,
    prefix: victim.slice(0, 11),
  };
  return { ...webhooks, values };
}

/** What the database contains, apart from the audit and the times of use. */
async function snapshot(databaseUrl: string): Promise<Record<string, string>> {
  const tables = await runSql(
    databaseUrl,
    `select table_name as name from information_schema.tables
    where table_schema = 'gateway' and table_type = 'BASE TABLE'
      and table_name not in ('audit', 'event_publication')`,
  );
  const rows = tables.map(({ name }) =>
    `select '${name}' as name, md5(string_agg((to_jsonb(t) - 'last_used_at')::text, ','
      order by (to_jsonb(t) - 'last_used_at')::text)) as content from gateway.${name} t`
  );
  const contents = await runSql(databaseUrl, rows.join(" union all "));
  return Object.fromEntries(contents.map(({ name, content }) => [name, content]));
}

/** Fields that the forms have, so that a request fails for no other reason. */
function fieldsOf(token: string): Record<string, string> {
  return {
    token,
    key: randomUUID(),
    amount: "1000",
    reason: "forged",
    user_id: "mallory",
    role: "viewer",
    url: "https://evil.example/",
    credential: "gk_" + "a".repeat(43),
    shown_at: new Date().toISOString(),
  };
}

/** The form of a route: the upload of a report is sent as multipart, all others as text. */
function formOf({ path }: { path: string }, token: string): FormFields {
  if (path !== "/reconciliations/") return fieldsOf(token);
  const form = new FormData();
  form.append("token", token);
  form.append("file", new File(["order_id,amount\nA-1,1000\n"], "report.csv"));
  return form;
}

/** Forms that need no session: they only set cookies, or create the session. */
const WITHOUT_SESSION = ["/preferences/", "/sign-in/"];

const ASSETS = ["/console.css/", "/console.js/", "/upload.js/", "/invoice_form.js/"];

Deno.test("console: no form acts if another site sends it, or without the session's token", async () => {
  await using webhooks = await openFilled();
  const { app, staff: key, values } = webhooks;
  const staff = await signInTo(app, key);
  const { token } = formsOf(staff.page.html)[0]!.fields;
  const forms = routesOf(app).filter(({ method }) => method !== "GET");
  assert.ok(forms.length > 15);
  const before = await snapshot(webhooks.databaseUrl);
  for (const route of forms) {
    const path = addressOf(route, values, randomUUID());
    assert.equal(route.method, "POST", `${path}: forms can send only GET and POST`);
    for (
      const origin of ["https://evil.example", "null", "", "http://console.example.evil.example"]
    ) {
      const sent = await staff.post(path, formOf(route, token!), { Origin: origin });
      assert.equal(sent.status, 403, `${path} from "${origin}"`);
    }
    if (route.path === "/preferences/") continue;
    for (const wrong of ["", "x", token!.slice(1)]) {
      const sent = await staff.post(path, formOf(route, wrong));
      assert.equal(sent.status, 403, `${path} with the token "${wrong}"`);
    }
  }
  assert.deepEqual(await snapshot(webhooks.databaseUrl), before);
});

Deno.test("console: no form that a viewer forges changes anything", async () => {
  await using webhooks = await openFilled();
  const { app, values } = webhooks;
  const viewer = await signInTo(app, await app.createKey({ userId: "vera", isViewer: true }));
  const { token } = formsOf(viewer.page.html)[0]!.fields;
  const forms = routesOf(app).filter(({ method, path }) =>
    method === "POST" && ![...WITHOUT_SESSION, "/sign-out/"].includes(path)
  );
  const before = await snapshot(webhooks.databaseUrl);
  for (const route of forms) {
    const path = addressOf(route, values, randomUUID());
    const sent = await viewer.post(path, formOf(route, token!));
    assert.equal(sent.status, 403, path);
    assert.match(sent.html, /role="alert"/, path);
  }
  assert.deepEqual(await snapshot(webhooks.databaseUrl), before);
});

Deno.test("console: without a session, no page is shown and no form acts", async () => {
  await using webhooks = await openFilled();
  const { app, values } = webhooks;
  const before = await snapshot(webhooks.databaseUrl);
  for (const route of routesOf(app)) {
    if ([...WITHOUT_SESSION, ...ASSETS].includes(route.path)) continue;
    const path = addressOf(route, values, randomUUID());
    const stranger = browse(app);
    if (route.method === "GET") await stranger.open(path);
    else await stranger.post(path, formOf(route, "x"));
    assert.equal(stranger.page.path, "/console/sign-in/", `${route.method} ${path}`);
  }
  assert.deepEqual(await snapshot(webhooks.databaseUrl), before);
});

/** All pages that a user can read, with the response of each. */
async function* readPages({ app, values }: TestWebhooks & { values: PathValues }, user: Browsing) {
  for (const route of routesOf(app)) {
    if (route.method !== "GET" || route.path === "/live/") continue;
    const page = await user.open(addressOf(route, values, randomUUID()));
    assert.ok(page.status < 500, `${page.path}: ${page.status} ${page.html}`);
    yield page;
  }
  yield await user.open("/console/not-there/");
}

Deno.test("console: every page forbids frames, foreign content and caching, and is small", async () => {
  await using webhooks = await openFilled();
  const staff = await signInTo(webhooks.app, webhooks.staff);
  let count = 0;
  for await (const { path, headers, html } of readPages(webhooks, staff)) {
    assert.equal(headers.get("x-content-type-options"), "nosniff", path);
    if (!headers.get("content-type")?.startsWith("text/html")) continue;
    count++;
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/, path);
    assert.match(policy, /form-action 'self'; frame-ancestors 'none'/, path);
    assert.doesNotMatch(policy, /unsafe|\*/, path);
    assert.equal(headers.get("x-frame-options"), "DENY", path);
    assert.equal(headers.get("cache-control"), "no-store", path);
    assert.doesNotMatch(html, /\sstyle=|<style|javascript:|<script>|\son\w+=/, path);
    assert.ok(html.length < 60_000, `${path} has ${html.length} characters`);
  }
  assert.ok(count > 20);
});

/** Would break out of attributes, elements and scripts if it were not escaped. */
Deno.test("console: text of receivers, callers, users and the gateway is shown as text on every page", async () => {
  await using webhooks = await openFilled();
  const text = XSS_PROBE.replaceAll("'", "''");
  const json = JSON.stringify({ [XSS_PROBE]: [XSS_PROBE] }).replaceAll("'", "''");
  await runSql(
    webhooks.databaseUrl,
    `update gateway.notifications set order_id = '${text}', transaction_id = '${text}',
      transaction_status = '${text}', fraud_status = '${text}', payment_type = '${text}',
      status_code = '${text}', gross_amount = '${text}', error_message = '${text}',
      raw_payload = '${json}';
    update gateway.jobs set task = '${text}', error = '${text}', result = '${json}'
      where status = 'failed';
    update gateway.webhook_endpoints set url = 'javascript:alert(3)//${text}',
      description = '${text}', event_names = array['${text}'];
    update gateway.webhook_deliveries set answer = '${text}', error = '${text}';
    update gateway.events set data = (data::jsonb || jsonb_build_object('order_id', '${text}',
      'customer_first_name', '${text}', 'metadata', '${json}'::jsonb))::json;
    update gateway.payments set customer_first_name = '${text}', customer_email = '${text}',
      customer_phone = '${text}', status_message = '${text}';
    insert into gateway.cron_runs (task, minute, started_at, finished_at, result, error)
      values ('prune', now(), now(), now(), '${json}', '${text}'),
        ('update_stats', now(), now(), now(), '${json}', null)
      on conflict do nothing;
    insert into gateway.audit (id, actor, user_id, action, resource_id, outcome, status, code,
      attempts, request_id, created_at)
      values (gen_random_uuid(), 'jwt:${text}', '${text}', 'POST /${text}/', '${text}', 'refused',
        400, '${text}', 2, '${text}', now());
    update gateway.api_keys set name = '${text}', user_id = '${text}' where user_id = 'victim';
    update gateway.console_sessions set user_id = '${text}' where user_id = 'victim'`,
  );
  // The list is ordered by id, newest first: the highest id puts the entry on the first page.
  await runSql(
    webhooks.databaseUrl,
    `update gateway.audit set id = '${"f".repeat(8)}-ffff-7fff-bfff-${"f".repeat(12)}'
    where user_id = '${text}'`,
  );
  const { app } = webhooks;
  const name = `x${XSS_PROBE}`;
  const staff = await signInTo(app, await app.createKey({ userId: name, isStaff: true }));
  let probed = 0;
  for await (const { path, html, headers } of readPages(webhooks, staff)) {
    if (!headers.get("content-type")?.startsWith("text/html")) continue;
    assert.doesNotMatch(html, /<script>|<img|href="javascript:/, path);
    assert.doesNotMatch(html, /<script(?! src="\/console\/\w+\.js")|<script[^>]*>[^<]/, path);
    if (html.includes("&lt;script&gt;")) probed++;
  }
  assert.ok(probed > 15, `${probed} pages show the probe`);
  for (const page of ["events", "notifications", "jobs", "audit"]) {
    const query = new URLSearchParams(
      ["actor", "action", "resource", "task", "order", "from", "name", "done", "cursor", "status"]
        .map((each) => [each, XSS_PROBE]),
    );
    const { html } = await staff.open(`/console/${page}/?${query}`);
    assert.doesNotMatch(html, /<script>|<img/, page);
  }
});

Deno.test("console: the development key signs in only by a form of this machine's own page", async () => {
  await using app = await openApp({ databaseUrl, hasDevelopmentSignIn: true });
  const signIn = async (host: string, origin = `http://${host}`) => {
    const browsing = browse(app, { origin: `http://${host}` });
    const { html } = await browsing.open("/console/sign-in/");
    const token = browsing.cookies.get("console_form")!;
    const fields = { token, development: "yes" };
    const { path } = await browsing.post("/console/sign-in/", fields, { Origin: origin });
    return {
      isOffered: html.includes('name="development"'),
      isSignedIn: path !== "/console/sign-in/",
    };
  };
  for (const host of ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "localhost"]) {
    assert.deepEqual(await signIn(host), { isOffered: true, isSignedIn: true }, host);
  }
  // Another site can point its host name at this machine, so the request may come from that site.
  const foreign = [
    "evil.example:8000",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "10.0.0.1",
  ];
  for (const host of foreign) {
    assert.deepEqual(await signIn(host), { isOffered: false, isSignedIn: false }, host);
  }
  for (const origin of ["http://evil.example:8000", "null", ""]) {
    const { isSignedIn } = await signIn("127.0.0.1:8000", origin);
    assert.ok(!isSignedIn, `a form of "${origin}"`);
  }
  const direct = browse(app, { origin: "http://127.0.0.1:8000" });
  await direct.open("/console/sign-in/?development=yes");
  assert.equal(
    (await direct.open("/console/payments/")).path,
    "/console/sign-in/",
    "GET does nothing",
  );
  const forged = browse(app, { origin: "http://127.0.0.1:8000" });
  const sent = await forged.post("/console/sign-in/", { development: "yes", token: "guessed" });
  assert.equal(sent.status, 403, "a form without the cookie of the page");
});

Deno.test("console: a sign-in does not use a session that another user planted in the browser", async () => {
  await using app = await openApp({ databaseUrl });
  const mallory = await signInTo(app, await app.createKey({ userId: "mallory", isStaff: true }));
  const planted = mallory.cookies.get("console_session")!;
  const victim = browse(app);
  victim.cookies.set("console_session", planted);
  await victim.open("/console/sign-in/");
  await victim.submit(/sign-in/, {
    credential: await app.createKey({ userId: "vic", isStaff: true }),
  });
  assert.match(victim.page.html, /vic · Staff/);
  assert.notEqual(victim.cookies.get("console_session"), planted);
  assert.match((await mallory.open("/console/payments/")).html, /mallory · Staff/);

  // With TLS, a page of a sibling host can plant only the cookie that is not bound to the host.
  const origin = "https://console.example";
  const secure = browse(app, { origin });
  secure.cookies.set("console_session", planted);
  const { token } = formsOf(mallory.page.html)[0]!.fields;
  await secure.post("/console/keys/", { token: token!, user_id: "x", role: "user" });
  assert.equal(secure.page.path, "/console/sign-in/", "the planted cookie does not count");
});

Deno.test("console: after signing out in one tab, the forms of another tab do nothing", async () => {
  await using webhooks = await openFilled();
  const { app, staff: key, values } = webhooks;
  const staff = await signInTo(app, key);
  const tab = browse(app);
  for (const [name, value] of staff.cookies) tab.cookies.set(name, value);
  await tab.open(`/console/payments/${values.payments}/refund/`);
  await staff.submit(/sign-out/);
  const before = await snapshot(webhooks.databaseUrl);
  await tab.submit(/refund/, { amount: "1000" });
  assert.equal(tab.page.path, "/console/sign-in/");
  assert.deepEqual(await snapshot(webhooks.databaseUrl), before);

  // Signed in again, as another user: the old form has the token of the session that has ended.
  const other = await signInTo(app, await app.createKey({ userId: "other", isStaff: true }));
  const { token } = formsOf(staff.page.html)[0]?.fields ?? {};
  const sent = await other.post(`/console/payments/${values.payments}/refund/`, {
    ...fieldsOf(token ?? "old"),
  });
  assert.equal(sent.status, 403);
});

Deno.test("console: a revoked key ends its pages and its live connection, on all instances", async () => {
  await using first = await openApp({ databaseUrl });
  await using second = await openApp({ databaseUrl, streamOptions: { keyCheckMs: 10 } });
  const boss = await first.createKey({ userId: "boss", isStaff: true });
  const key = await first.createKey({ userId: "leaver", isStaff: true });
  const leaver = await signInTo(second, key);
  const cookie = [...leaver.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const live = await second.fetchUnchecked(
    new Request("http://console.example/console/live/", { headers: { Cookie: cookie } }),
  );
  assert.equal(live.headers.get("content-type"), "text/event-stream");
  await first.as(boss, `/keys/${key.slice(0, 11)}/`, { method: "DELETE" });
  assert.equal((await leaver.open("/console/payments/")).path, "/console/sign-in/");
  // It ends with an error or without one, depending on what was sent before.
  await inTime("the live connection ends", live.text().then(() => {}, () => {}));
  assert.equal(second.streams.count(), 0);
});

Deno.test("console: pages that update themselves do not keep the session of an absent user alive", async () => {
  let now = Date.now();
  await using app = await openApp({ databaseUrl, now: () => now });
  const staff = await signInTo(app, await app.createKey({ isStaff: true }));
  now += 20 * 60_000;
  const refreshed = await staff.open("/console/payments/", { "Console-Refresh": "yes" });
  assert.equal(refreshed.path, "/console/payments/");
  now += 11 * 60_000;
  assert.equal((await staff.open("/console/payments/")).path, "/console/sign-in/");
});

const LIMITED = { ...REAL_INSTALLATION, RATE_LIMIT_PER_SECOND: "1", RATE_LIMIT_BURST: "5" };

Deno.test("console: a user has one rate limit for pages and the API; other users are not affected", async () => {
  const now = Date.now();
  await using app = await openApp({ databaseUrl, env: LIMITED, now: () => now });
  const key = await app.createKey({ userId: "busy", isStaff: true });
  const busy = await signInTo(app, key);
  const other = await signInTo(app, await app.createKey({ userId: "calm", isStaff: true }));
  let page = busy.page;
  for (let count = 0; count < 5 && page.status === 200; count++) {
    page = await busy.open("/console/payments/");
  }
  assert.equal(page.status, 429);
  assert.ok(Number(page.headers.get("retry-after")) > 0);
  assert.match(page.html, /Too many requests/);
  assert.equal((await app.as(key, "/payments/")).status, 429);
  assert.equal((await other.open("/console/payments/")).status, 200);
});

Deno.test("console: invented sessions are limited per address, before they reach the database", async () => {
  const now = Date.now();
  let queries = 0;
  await using app = await openApp({
    databaseUrl,
    env: LIMITED,
    now: () => now,
    wrapDatabase: (database) => ({
      ...database,
      query: (work, name) => {
        if (name === "find session") queries++;
        return database.query(work, name);
      },
    }),
  });
  const guesser = browse(app);
  const statuses = [];
  for (let count = 0; count < 8; count++) {
    guesser.cookies.set("console_session", randomUUID());
    statuses.push((await guesser.open("/console/payments/")).status);
  }
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429, 429]);
  assert.equal(queries, 5);
});
