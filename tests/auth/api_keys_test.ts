import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { displayPrefix, generateApiKey } from "../../core/secrets/api_key.ts";
import { ensureKey } from "../../core/auth/api_keys.ts";
import { listApiKeys, revokeApiKey } from "../../db/access/api_keys.ts";
import type { Database } from "../../db/connection/database.ts";
import { MeSchema } from "../../routes/access/me.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();

/** Counts the app's database queries. */
function countQueries() {
  const counter = { count: 0 };
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query(work) {
      counter.count++;
      return database.query(work);
    },
  });
  return { counter, wrapDatabase };
}

Deno.test("GET /me/: returns the owner of the API key", async () => {
  await using app = await openApp({ databaseUrl });
  for (const isStaff of [false, true]) {
    const key = await app.createKey({ userId: "ada", isStaff });
    const response = await app.as(key, "/me/");
    assert.equal(response.status, 200);
    assert.deepEqual(MeSchema.strict().parse(await response.json()), {
      user_id: "ada",
      is_staff: isStaff,
      role: isStaff ? "staff" : "user",
      credential: "api_key",
      key_prefix: displayPrefix(key),
    });
  }
});

Deno.test("API key: consists of gk_ and 32 random bytes, and only its hash is stored", async () => {
  await using app = await openApp({ databaseUrl });
  const key = await app.createKey({ userId: "hashed" });
  assert.match(key, /^gk_[A-Za-z0-9_-]{43}$/);
  assert.equal(new Set(Array.from({ length: 100 }, generateApiKey)).size, 100);
  const [row] = await app.database.query((sql) =>
    sql`select *, hash::text as hex from gateway.api_keys where user_id = 'hashed'`
  );
  assert.equal(row!.hex, "\\x" + createHash("sha256").update(key).digest("hex"));
  assert.doesNotMatch(JSON.stringify(row), new RegExp(key.slice(12)));
});

Deno.test("authentication: every invalid credential gets the same 401", async () => {
  await using app = await openApp({ databaseUrl });
  const revoked = await app.createKey();
  await app.database.query((sql) => revokeApiKey(sql, displayPrefix(revoked)));
  const valid = await app.createKey();
  const headers = [
    ...[undefined, "", "Bearer", "Bearer ", "Basic dXNlcjpwdw==", `Basic ${valid}`, valid],
    ...[`Bearer ${revoked}`, `Bearer ${generateApiKey()}`, "Bearer x", "Bearer gk_short"],
    ...[`Bearer ${valid}x`, `Bearer ${valid.slice(0, -1)}`, `Bearer ${valid.toUpperCase()}`],
    ...[`Bearer ${valid} ${valid}`, `Bearer ${valid}, Bearer ${valid}`, `Bearer "${valid}"`],
    ...["Bearer a.b.c", `Bearer ${"x".repeat(8000)}`, "Bearer ' or 1=1 --", "Bearer \u00ff\u00fe"],
  ];
  const answers = new Set<string>();
  for (const header of headers) {
    const response = await app.request("/me/", {
      headers: header === undefined ? {} : { Authorization: header },
    });
    assert.equal(response.headers.get("www-authenticate"), "Bearer", header);
    const { instance: _, ...problem } = await assertProblem(response, 401, "unauthenticated");
    answers.add(JSON.stringify(problem));
  }
  assert.equal(answers.size, 1);
});

Deno.test("authentication: the scheme is not case-sensitive", async () => {
  await using app = await openApp({ databaseUrl });
  const key = await app.createKey();
  for (const scheme of ["bearer", "BEARER", "Bearer "]) {
    const response = await app.request("/me/", { headers: { Authorization: `${scheme} ${key}` } });
    assert.equal(response.status, 200);
  }
});

Deno.test("API key: if it is malformed, revoked or unknown, each request runs exactly one query", async () => {
  const { counter, wrapDatabase } = countQueries();
  await using app = await openApp({ databaseUrl, wrapDatabase });
  const revoked = await app.createKey();
  await app.database.query((sql) => revokeApiKey(sql, displayPrefix(revoked)));
  for (const key of ["nonsense", revoked, generateApiKey()]) {
    for (const _attempt of [1, 2]) {
      counter.count = 0;
      assert.equal((await app.as(key, "/me/")).status, 401);
      assert.equal(counter.count, 1, `one query for ${displayPrefix(key)}`);
    }
  }
});

Deno.test("API key: is cached while it is valid, and stops working within 5 s of its revocation", async () => {
  const { counter, wrapDatabase } = countQueries();
  let now = Date.now();
  await using app = await openApp({ databaseUrl, wrapDatabase, now: () => now });
  const key = await app.createKey();
  counter.count = 0;
  for (let i = 0; i < 20; i++) assert.equal((await app.as(key, "/me/")).status, 200);
  assert.equal(counter.count, 1);

  await app.database.query((sql) => revokeApiKey(sql, displayPrefix(key)));
  // The next lookup can take 1.8 s, so the cache entry must expire 1.8 s before the 5 s are over.
  now += 5_000 - 1_800;
  await assertProblem(await app.as(key, "/me/"), 401, "unauthenticated");
});

Deno.test("API key: last_used_at is updated at most once a minute", async () => {
  let now = Date.now();
  await using app = await openApp({ databaseUrl, now: () => now });
  const key = await app.createKey();
  const lastUsed = async () =>
    (await app.database.query(listApiKeys)).find(({ prefix }) => prefix === displayPrefix(key))
      ?.last_used_at;
  assert.equal(await lastUsed(), null);
  await app.as(key, "/me/");
  const firstUse = await lastUsed();
  assert.ok(firstUse instanceof Date);
  now += 10_000;
  await app.as(key, "/me/");
  assert.deepEqual(await lastUsed(), firstUse);

  await app.database.query((sql) =>
    sql`update gateway.api_keys set last_used_at = now() - interval '61 seconds'
        where prefix = ${displayPrefix(key)}`
  );
  now += 10_000;
  await app.as(key, "/me/");
  assert.ok(await lastUsed() as Date >= firstUse);
});

Deno.test("API key: is rejected after its revocation even if the clock is set back", async () => {
  let now = Date.now();
  await using app = await openApp({ databaseUrl, now: () => now });
  const key = await app.createKey();
  assert.equal((await app.as(key, "/me/")).status, 200);
  await app.database.query((sql) => revokeApiKey(sql, displayPrefix(key)));
  now -= 3_600_000;
  assert.equal((await app.as(key, "/me/")).status, 401);
});

Deno.test("development key: is valid in the embedded default only", async () => {
  await using embedded = await openApp({ databaseUrl, env: {} });
  const key = await embedded.createKey({ isDevelopment: true });
  assert.equal((await embedded.as(key, "/me/")).status, 200);

  const realGateway = { GATEWAY_SERVER_KEY: "Mid-server-real" };
  const realDatabase = { ...realGateway, DATABASE_URL: "postgres://host/database" };
  for (const env of [realGateway, realDatabase]) {
    await using realApp = await openApp({ databaseUrl, env });
    await assertProblem(await realApp.as(key, "/me/"), 401, "unauthenticated");
  }
});

Deno.test("ensureKey: neither changes nor reactivates an existing key", async () => {
  await using app = await openApp({ databaseUrl });
  const key = generateApiKey();
  const owner = { userId: "bootstrap", isStaff: true, name: null };
  assert.equal(await ensureKey(app.database, key, owner), true);
  assert.equal(await ensureKey(app.database, key, { ...owner, userId: "mallory" }), true);
  assert.equal(await ensureKey(app.database, key, { ...owner, isStaff: false }), false);
  const viewer = { ...owner, isStaff: false, isViewer: true };
  assert.equal(await ensureKey(app.database, key, viewer), false);
  assert.equal((await (await app.as(key, "/me/")).json()).user_id, "bootstrap");
  await app.database.query((sql) => revokeApiKey(sql, displayPrefix(key)));
  assert.equal(await ensureKey(app.database, key, owner), false);
});
