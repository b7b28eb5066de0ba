import assert from "node:assert/strict";
import type { Database } from "../../db/connection/database.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { type Browsing, formsOf, openTab, signInTo } from "../support/console/browsing.ts";
import { createDatabase, runSql } from "../support/database/database.ts";

const PATH = "/console/keys/";

const KEY = /gk_[\w-]{43}/;

async function openKeys(wrapDatabase?: (database: Database) => Database) {
  const databaseUrl = await createDatabase();
  const app = await openApp({ databaseUrl, wrapDatabase });
  const staff = await signInTo(app, await app.createKey({ userId: "ops", isStaff: true }));
  await staff.open(PATH);
  return {
    app,
    staff,
    databaseUrl,
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

/** The form of the current page, as the user has filled it in. */
function formOf({ page }: Browsing, fields: Record<string, string>): Record<string, string> {
  const form = formsOf(page.html).find(({ action }) => action === PATH)!;
  return { ...form.fields, role: "user", ...fields };
}

async function keysOf({ app, staff }: { app: TestApp; staff: Browsing }, user: string) {
  const { html } = await openTab(app, staff).open(PATH);
  return html.split("<tr>").filter((row) => row.includes(`<td>${user}</td>`));
}

Deno.test("console keys: a form that is sent again creates no second key, and says what to do", async () => {
  await using keys = await openKeys();
  const { app, staff, databaseUrl } = keys;
  const form = formOf(staff, { user_id: "shop", name: "web" });
  const first = await staff.post(PATH, form);
  const [secret] = first.html.match(KEY)!;
  const prefix = secret.slice(0, 11);
  for (const _reload of [1, 2]) {
    const again = await staff.post(PATH, form);
    assert.equal(again.status, 200);
    assert.ok(!again.html.includes(secret.slice(11)), "the key is not shown again");
    assert.doesNotMatch(again.html, KEY);
    assert.ok(again.html.includes(`created the key ${prefix}…`));
    assert.match(again.html, /is not stored.*revoke it and create another one/);
    assert.ok(again.html.includes(`href="${PATH}${prefix}/revoke/"`));
  }
  assert.equal((await keysOf(keys, "shop")).length, 1);
  assert.equal((await app.as(secret, "/me/")).status, 200);

  const stored = await runSql(databaseUrl, "select t::text from gateway.idempotency_keys t");
  assert.equal(stored.length, 1);
  assert.ok(!JSON.stringify(stored).includes(secret.slice(11)), "the key is not stored");
  await app.audit.flush();
  const audit = await runSql(
    databaseUrl,
    "select resource_id from gateway.audit where action = 'POST /console/keys/'",
  );
  assert.deepEqual([...audit], [{ resource_id: prefix }], "one entry, which names the key");
});

Deno.test("console keys: of two forms that are sent at the same time, one creates a key", async () => {
  await using keys = await openKeys();
  const { app, staff } = keys;
  const form = formOf(staff, { user_id: "shop", name: "" });
  const tabs = [openTab(app, staff), openTab(app, staff), openTab(app, staff)];
  const pages = await Promise.all(tabs.map((tab) => tab.post(PATH, form)));
  assert.deepEqual(pages.map(({ status }) => status), [200, 200, 200]);
  assert.equal(pages.filter(({ html }) => KEY.test(html)).length, 1);
  assert.equal(pages.filter(({ html }) => html.includes("was already created")).length, 2);
  assert.equal((await keysOf(keys, "shop")).length, 1);
});

Deno.test("console keys: a form that has created a key and is sent with other values creates nothing, and can be sent again", async () => {
  await using keys = await openKeys();
  const { staff } = keys;
  const form = formOf(staff, { user_id: "shop", name: "" });
  await staff.post(PATH, form);
  const changed = await staff.post(PATH, { ...form, user_id: `shop-"2"`, role: "viewer" });
  assert.equal(changed.status, 400);
  assert.match(changed.html, /role="alert".*has already created a key/);
  assert.doesNotMatch(changed.html, KEY);
  assert.match(changed.html, /name="user_id"[^>]*value="shop-&quot;2&quot;"/);
  assert.match(changed.html, /<option value="viewer" selected/);
  assert.equal((await keysOf(keys, "shop-&quot;2&quot;")).length, 0);
  const sent = await staff.post(PATH, formOf(staff, { role: "viewer" }));
  assert.match(sent.html, KEY);
  assert.equal((await keysOf(keys, "shop-&quot;2&quot;")).length, 1);
});

Deno.test("console keys: a key can have a prefix of order ids, which other users cannot have", async () => {
  await using keys = await openKeys();
  const { app, staff } = keys;
  const form = formOf(staff, { user_id: "shop", name: "", order_prefix: "shop-" });
  assert.match((await staff.post(PATH, form)).html, KEY);
  const [row] = await keysOf(keys, "shop");
  assert.match(row!, /<code>shop-<\/code>/);
  const tab = openTab(app, staff);
  await tab.open(PATH);
  const refused = await tab.post(PATH, { ...formOf(tab, form), user_id: "other", key: UUID });
  assert.equal(refused.status, 400);
  assert.match(refused.html, /role="alert"[^>]*>Order id prefix: overlaps with the prefix/);
  assert.match(refused.html, /name="order_prefix"[^>]*value="shop-"/);
});

const UUID = "0b8e3f0e-6f0a-4c57-9d0e-5a3a9f2f7c11";

Deno.test("console keys: a form whose key was not stored can be sent again", async () => {
  let isBroken = true;
  await using keys = await openKeys((database) => ({
    ...database,
    transaction: (work, name) =>
      database.transaction(async (sql) => {
        const result = await work(sql);
        if (isBroken && name === "create key") throw new Error("broken before the commit");
        return result;
      }, name),
  }));
  const { staff } = keys;
  const form = formOf(staff, { user_id: "shop", name: "" });
  const failed = await staff.post(PATH, form);
  assert.equal(failed.status, 500);
  assert.doesNotMatch(failed.html, KEY);
  isBroken = false;
  assert.match((await staff.post(PATH, form)).html, KEY);
  assert.equal((await keysOf(keys, "shop")).length, 1);
});

Deno.test("console keys: a form without its Idempotency-Key, or with invalid values, creates nothing and keeps the values", async () => {
  await using keys = await openKeys();
  const { staff } = keys;
  const form = formOf(staff, { user_id: "shop", name: "" });
  for (const key of ["", "x", "a".repeat(300)]) {
    assert.equal((await staff.post(PATH, { ...form, key })).status, 400);
  }
  const { status, html } = await staff.post(PATH, { ...form, name: "a\tb" });
  assert.equal(status, 400);
  assert.match(html, /role="alert"[^>]*>Name: must not contain control characters/);
  assert.match(html, /name="user_id"[^>]*value="shop"/);
  assert.equal((await keysOf(keys, "shop")).length, 0);
  assert.match((await staff.post(PATH, formOf(staff, { name: "ab" }))).html, KEY, "sent again");
});
