import assert from "node:assert/strict";
import { createLoad, MAX_DELAY_MS } from "../../core/status/load.ts";
import { openApp } from "../support/app.ts";
import { formsOf, signInTo } from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { errorsOf } from "../support/logged_errors.ts";
import { until } from "../support/until.ts";

const PAGES = 20;

/** A service with a user of the console; `overload` makes it reject most requests. */
async function openOverloadable() {
  let queries = 0;
  const load = createLoad({ info: () => {} });
  const app = await openApp({
    databaseUrl: await createDatabase(),
    load,
    wrapDatabase: (database) => ({
      ...database,
      query(work, name) {
        queries++;
        return database.query(work, name);
      },
    }),
  });
  const key = await app.createKey({ userId: "ops", isStaff: true });
  const record = (delayMs: number) => {
    for (let i = 0; i < 200; i++) load.record(delayMs);
  };
  return {
    app,
    key,
    load,
    staff: await signInTo(app, key),
    overload: () => record(2 * MAX_DELAY_MS),
    recover: () => record(0),
    queries: () => queries,
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

Deno.test("console under load: pages are rejected like requests of the API, with a page that loads itself again", async () => {
  await using service = await openOverloadable();
  const { staff, load } = service;
  service.overload();
  let rejected = 0;
  for (let i = 0; i < PAGES; i++) {
    const before = service.queries();
    const { status, html, headers } = await staff.open("/console/payments/");
    if (status === 200) continue;
    rejected++;
    assert.equal(status, 503);
    assert.equal(service.queries(), before, "a rejected page costs no query");
    assert.match(headers.get("content-type")!, /text\/html/);
    assert.match(html, /The service is overloaded\. Nothing was done/);
    assert.match(html, /loaded again every few seconds/);
    assert.ok(Number(headers.get("retry-after")) > 0);
    assert.equal(headers.get("refresh"), "5");
    assert.match(headers.get("content-security-policy")!, /default-src 'none'/);
  }
  assert.ok(rejected > PAGES / 2);
  assert.equal(load.rejectedRequests(), rejected);
  assert.deepEqual(errorsOf(service.app), [], "rejected pages are not logged as errors");

  await until(
    "a page is rejected",
    async () => (await staff.open("/console/", { "accept-language": "id" })).status === 503,
  );
  assert.match(staff.page.html, /Layanan kelebihan beban/);

  service.recover();
  for (let i = 0; i < PAGES; i++) {
    assert.equal((await staff.open("/console/payments/")).status, 200);
  }
});

Deno.test("console under load: a rejected form does nothing, is not sent again by itself, and works when it is sent again", async () => {
  await using service = await openOverloadable();
  const { staff } = service;
  await staff.open("/console/keys/");
  const form = formsOf(staff.page.html).find(({ action }) => action === "/console/keys/")!;
  const fields = { ...form.fields, user_id: "shop", role: "user" };
  service.overload();
  await until("the form is rejected", async () => {
    const before = service.queries();
    const { status } = await staff.post("/console/keys/", { ...fields, token: "wrong" });
    return status === 503 && service.queries() === before;
  });
  assert.equal(staff.page.headers.get("refresh"), null);
  assert.match(staff.page.html, /Nothing was done/);
  await until("the form is accepted", async () => {
    const { html } = await staff.post("/console/keys/", fields);
    return /gk_[\w-]{43}/.test(html);
  });
});

Deno.test("console under load: signing in and out, the status, the language and the stylesheet work", async () => {
  await using service = await openOverloadable();
  const { app, key, staff } = service;
  service.overload();
  for (let i = 0; i < PAGES; i++) {
    for (
      const path of ["status/", "status", "sign-in/", "console.css", "console.js", "upload.js"]
    ) {
      assert.equal((await staff.open(`/console/${path}`)).status, 200, path);
    }
  }
  const { cookies } = await signInTo(app, key);
  assert.ok(cookies.has("console_session"));
  const { token } = formsOf((await staff.open("/console/status/")).html)[0]!.fields;
  await staff.post("/console/preferences/", { language: "id", path: "/status/" });
  assert.match(staff.page.html, /<html lang="id"/);
  await staff.post("/console/sign-out/", { token: token! });
  assert.equal(staff.page.path, "/console/sign-in/");
});
