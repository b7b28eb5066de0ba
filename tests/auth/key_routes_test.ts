import assert from "node:assert/strict";
import { displayPrefix } from "../../core/secrets/api_key.ts";
import { listApiKeys } from "../../db/access/api_keys.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { assertProblem } from "../support/problem.ts";

interface Keys extends AsyncDisposable {
  app: TestApp;
  databaseUrl: string;
  staff: string;
  create(body: unknown, key?: string, headers?: Record<string, string>): Promise<Response>;
  revoke(prefix: string, key?: string): Promise<Response>;
  list(query?: string, key?: string): Promise<Json[]>;
}

async function openKeys(now?: () => number): Promise<Keys> {
  const databaseUrl = await createDatabase();
  const app = await openApp({ databaseUrl, now });
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  return {
    app,
    databaseUrl,
    staff,
    create: (body, key = staff, headers = {}) =>
      app.as(key, "/keys/", {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    revoke: (prefix, key = staff) => app.as(key, `/keys/${prefix}/`, { method: "DELETE" }),
    async list(query = "", key = staff) {
      const response = await app.as(key, `/keys/${query}`);
      assert.equal(response.status, 200, await response.clone().text());
      return await response.json();
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

Deno.test("POST /keys/: creates keys for users and viewers, which work at once", async () => {
  await using keys = await openKeys();
  for (const [body, role] of [[{}, "user"], [{ role: "viewer" }, "viewer"]] as const) {
    const response = await keys.create({ user_id: "shop", name: "web shop", ...body });
    assert.equal(response.status, 201);
    assert.equal(response.headers.get("Cache-Control"), "no-store");
    const { key, ...created } = await response.json();
    assert.match(key, /^gk_[\w-]{43}$/);
    assert.deepEqual(
      [created.prefix, created.user_id, created.role, created.name, created.revoked_at],
      [displayPrefix(key), "shop", role, "web shop", null],
    );
    const caller = await (await keys.app.as(key, "/me/")).json();
    assert.deepEqual([caller.user_id, caller.role, caller.is_staff], ["shop", role, false]);
  }
});

Deno.test("POST /keys/: the secret is in no table, no log and no later response", async () => {
  await using keys = await openKeys();
  const headers = { "Idempotency-Key": "key-1" };
  const body = { user_id: "shop" };
  const created: Json[] = [
    await (await keys.create(body, keys.staff, headers)).json(),
    await (await keys.create(body, keys.staff)).json(),
  ];
  // The reply for a repeated request is stored, but it does not contain the key.
  const repeated = await keys.create(body, keys.staff, headers);
  const { prefix } = await assertProblem(repeated, 400, "invalid_state");
  assert.equal(prefix, created[0]!.prefix);
  const tables = await runSql(
    keys.databaseUrl,
    "select table_name as name from information_schema.tables where table_schema = 'gateway'",
  );
  const stored: unknown[] = [await keys.list(), keys.app.logged()];
  for (const { name } of tables) {
    stored.push(await runSql(keys.databaseUrl, `select t::text from gateway.${name} t`));
  }
  for (const { key } of created) {
    const secret = key.slice(displayPrefix(key).length);
    assert.ok(!JSON.stringify(stored).includes(secret));
  }
});

Deno.test("POST /keys/: creates no staff key", async () => {
  await using keys = await openKeys();
  for (
    const more of [{ role: "staff" }, { role: "admin" }, { is_staff: true }, { isStaff: true }]
  ) {
    const response = await keys.create({ user_id: "eve", ...more });
    const { errors } = await assertProblem(response, 400, "validation_error");
    const expected = "role" in more ? "must be one of user, viewer" : "is not known; remove it";
    assert.deepEqual(errors!.map(({ message }) => message), [expected]);
  }
  assert.equal((await keys.list()).length, 1);
});

Deno.test("POST /keys/: rejects a user id or name that cannot be shown", async () => {
  await using keys = await openKeys();
  const bodies = [
    ...[{}, { user_id: "" }, { user_id: " " }, { user_id: 7 }, { user_id: "x".repeat(256) }],
    ...[{ user_id: "a\u001b[31m" }, { user_id: "\u202e" }, { user_id: "a", name: "b\nc" }],
  ];
  for (const body of bodies) {
    await assertProblem(await keys.create(body), 400, "validation_error");
  }
  const response = await keys.create({ user_id: "a", name: "", role: null });
  const { name, role } = await response.json();
  assert.deepEqual([name, role], [null, "user"]);
});

Deno.test("/keys/: users get 403, and viewers can only list", async () => {
  await using keys = await openKeys();
  const user = await keys.app.createKey();
  const viewer = await keys.app.createKey({ userId: "vera", isViewer: true });
  await assertProblem(await keys.app.as(user, "/keys/"), 403, "forbidden");
  assert.equal((await keys.list("", viewer)).length, 3);
  for (const key of [user, viewer]) {
    await assertProblem(await keys.create({ user_id: "eve" }, key), 403, "forbidden");
    for (const prefix of [displayPrefix(user), displayPrefix(keys.staff), "gk_unknown0"]) {
      await assertProblem(await keys.revoke(prefix, key), 403, "forbidden");
    }
  }
  assert.ok((await keys.list()).every(({ revoked_at }) => revoked_at === null));
});

Deno.test("GET /keys/: lists all keys without secrets, newest first, in pages", async () => {
  await using keys = await openKeys();
  const created = [keys.staff];
  for (const userId of ["a", "b", "c", "d"]) created.unshift(await keys.app.createKey({ userId }));
  const found: string[] = [];
  let path: string | undefined = "/keys/?limit=2";
  for (let pages = 1; path; pages++) {
    assert.ok(pages <= 3);
    const response: Response = await keys.app.as(keys.staff, path);
    const page: Json[] = await response.json();
    assert.ok(page.every((key) => !("key" in key) && !("hash" in key)));
    found.push(...page.map(({ prefix }) => prefix));
    path = response.headers.get("link")?.match(/<(.+)>/)?.[1];
  }
  assert.deepEqual(found, created.map(displayPrefix));
  for (const cursor of ["x", "AZejwl9OfWGfCyxk0bCn5Q", displayPrefix(keys.staff), ""]) {
    const response = await keys.app.as(keys.staff, `/keys/?cursor=${cursor}`);
    await assertProblem(response, 400, "validation_error");
  }
});

Deno.test("DELETE /keys/{prefix}/: the key stops working within 5 s, and stays in the list", async () => {
  let now = Date.now();
  await using keys = await openKeys(() => now);
  const key = await keys.app.createKey({ userId: "shop" });
  assert.equal((await keys.app.as(key, "/me/")).status, 200);
  const prefix = displayPrefix(key);
  assert.equal((await keys.revoke(prefix)).status, 204);
  const [listed] = await keys.list("?limit=1");
  assert.equal(listed!.prefix, prefix);
  assert.ok(listed!.revoked_at);
  now += 3_000;
  await assertProblem(await keys.app.as(key, "/me/"), 401, "unauthenticated");
  assert.equal((await keys.revoke(prefix)).status, 204);
  assert.deepEqual((await keys.list("?limit=1"))[0], listed, "a second call changes nothing");
});

Deno.test("DELETE /keys/{prefix}/: an unknown prefix or a complete key gets 404", async () => {
  await using keys = await openKeys();
  const key = await keys.app.createKey();
  for (const prefix of ["gk_unknown0", "x", key, `${displayPrefix(key)}%27`]) {
    await assertProblem(await keys.revoke(prefix), 404, "not_found");
  }
  assert.equal((await keys.app.as(key, "/me/")).status, 200);
  const secret = key.slice(displayPrefix(key).length);
  assert.ok(!JSON.stringify(keys.app.logged()).includes(secret), "the log does not show the key");
});

Deno.test("DELETE /keys/{prefix}/: the last valid staff key cannot be revoked", async () => {
  await using keys = await openKeys();
  const { app, staff } = keys;
  // A revoked key and a development key do not count as valid staff keys here.
  const revoked = await app.createKey({ userId: "old", isStaff: true });
  assert.equal((await keys.revoke(displayPrefix(revoked))).status, 204);
  await app.createKey({ userId: "dev", isStaff: true, isDevelopment: true });
  const problem = await assertProblem(
    await keys.revoke(displayPrefix(staff)),
    400,
    "invalid_state",
  );
  assert.match(problem.detail!, /is the last valid staff key\. Create another one first/);
  assert.equal((await app.as(staff, "/me/")).status, 200);

  const second = await app.createKey({ userId: "ops", isStaff: true });
  assert.equal((await keys.revoke(displayPrefix(staff))).status, 204, "its own key");
  await assertProblem(await keys.revoke(displayPrefix(second), second), 400, "invalid_state");
});

Deno.test("DELETE /keys/{prefix}/: concurrent requests leave one staff key valid", async () => {
  await using keys = await openKeys();
  const all = [keys.staff];
  for (let i = 0; i < 5; i++) all.push(await keys.app.createKey({ isStaff: true }));
  // Uses each key once, so that it is cached and accepted until the test ends.
  for (const key of all) assert.equal((await keys.app.as(key, "/me/")).status, 200);
  const responses = await Promise.all(
    all.map((key, index) => keys.revoke(displayPrefix(all[(index + 1) % all.length]!), key)),
  );
  assert.deepEqual(
    responses.map(({ status }) => status).sort(),
    [...Array(all.length - 1).fill(204), 400],
  );
  const valid = (await keys.app.database.query(listApiKeys))
    .filter(({ revoked_at }) => revoked_at === null);
  assert.equal(valid.length, 1);
});

Deno.test("DELETE /keys/{prefix}/: development keys count as valid staff keys in the embedded default", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, env: {} });
  const own = await app.createKey({ userId: "ops", isStaff: true });
  const development = { userId: "developer-staff", isStaff: true, isDevelopment: true };
  const staff = await app.createKey(development);
  const revoke = (key: string) =>
    app.as(staff, `/keys/${displayPrefix(key)}/`, { method: "DELETE" });
  assert.equal((await revoke(own)).status, 204);
  await assertProblem(await revoke(staff), 400, "invalid_state");
});
