import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { displayPrefix, generateApiKey } from "../../core/secrets/api_key.ts";
import { createApiKeyVerifier } from "../../core/auth/api_keys.ts";
import { createTokenBuckets } from "../../http/middleware/token_bucket.ts";
import { revokeApiKey } from "../../db/access/api_keys.ts";
import type { Database } from "../../db/connection/database.ts";
import { openApp, REAL_INSTALLATION, type TestApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { sign } from "../support/gateway/notifications.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();
const SMALL_LIMIT = { ...REAL_INSTALLATION, RATE_LIMIT_PER_SECOND: "2", RATE_LIMIT_BURST: "3" };

async function collectStatuses(
  times: number,
  send: () => Response | Promise<Response>,
): Promise<number[]> {
  const result: number[] = [];
  for (let i = 0; i < times; i++) result.push((await send()).status);
  return result;
}

/** Sends a wrong key from this address, with the client addresses that a proxy reports. */
function sendWrongKey(app: TestApp, hostname: string, forwardedFor?: string) {
  const request = new Request("http://localhost/me/", {
    headers: {
      Authorization: "Bearer wrong",
      ...forwardedFor && { "X-Forwarded-For": forwardedFor },
    },
  });
  return app.fetch(request, { remoteAddr: { transport: "tcp", hostname, port: 1 } });
}

Deno.test("rate limit: a caller can burst, then continues at the steady rate; others are not affected", async () => {
  let now = 1_000_000;
  await using app = await openApp({ databaseUrl, env: SMALL_LIMIT, now: () => now });
  const [ada, bob] = [
    await app.createKey({ userId: "ada" }),
    await app.createKey({ userId: "bob" }),
  ];
  const send = () => app.as(ada, "/me/");
  assert.deepEqual(await collectStatuses(5, send), [200, 200, 200, 429, 429]);
  assert.equal((await app.as(bob, "/me/")).status, 200);
  now += 1_000;
  assert.deepEqual(await collectStatuses(3, send), [200, 200, 429]);
});

Deno.test("rate limit: two keys of one user share a limit", async () => {
  await using app = await openApp({ databaseUrl, env: SMALL_LIMIT, now: () => 1_000_000 });
  const keys = [await app.createKey({ userId: "eve" }), await app.createKey({ userId: "eve" })];
  let turn = 0;
  assert.deepEqual(await collectStatuses(4, () => app.as(keys[turn++ % 2]!, "/me/")), [
    200,
    200,
    200,
    429,
  ]);
});

Deno.test("rate limit: 429 has Retry-After and the RateLimit headers", async () => {
  await using app = await openApp({ databaseUrl, env: SMALL_LIMIT, now: () => 1_000_000 });
  const key = await app.createKey({ userId: "hasty" });
  await collectStatuses(3, () => app.as(key, "/me/"));
  const response = await app.as(key, "/me/");
  assert.equal(response.headers.get("retry-after"), "1");
  assert.equal(response.headers.get("ratelimit"), '"caller";r=0;t=1');
  assert.equal(response.headers.get("ratelimit-policy"), '"caller";q=3;w=2');
  await assertProblem(response, 429, "rate_limited");
});

Deno.test("rate limit: wrong credentials are limited by address; valid callers at this address are not affected", async () => {
  await using app = await openApp({ databaseUrl, env: SMALL_LIMIT, now: () => 1_000_000 });
  const refused = () => sendWrongKey(app, "203.0.113.1");
  assert.deepEqual(await collectStatuses(4, refused), [401, 401, 401, 429]);
  assert.equal((await sendWrongKey(app, "203.0.113.2")).status, 401);
  const key = await app.createKey({ userId: "neighbour" });
  const request = new Request("http://localhost/me/", {
    headers: { Authorization: `Bearer ${key}` },
  });
  const remoteAddr = { transport: "tcp", hostname: "203.0.113.1", port: 1 } as const;
  assert.equal((await app.fetch(request, { remoteAddr })).status, 200);
});

/** Counts the app's database queries. */
function countQueries() {
  const counter = { count: 0 };
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query(work, name) {
      counter.count++;
      return database.query(work, name);
    },
  });
  return { counter, wrapDatabase };
}

/** An app that counts its queries. Its small limits never refill: its clock stands still. */
async function openCountedApp(): Promise<TestApp & { counter: { count: number } }> {
  const { counter, wrapDatabase } = countQueries();
  const now = () => 1_000_000;
  return { ...await openApp({ databaseUrl, env: SMALL_LIMIT, wrapDatabase, now }), counter };
}

const ATTACKER = { remoteAddr: { transport: "tcp", hostname: "203.0.113.9", port: 1 } } as const;

function sendKey(app: TestApp, key: string): Response | Promise<Response> {
  const headers = { Authorization: `Bearer ${key}` };
  return app.fetch(new Request("http://localhost/me/", { headers }), ATTACKER);
}

Deno.test("rate limit: wrong keys above the limit of their address are looked up with one query, and a valid key among them works", async () => {
  await using app = await openCountedApp();
  const { counter } = app;
  const key = await app.createKey({ userId: "first-time" });
  counter.count = 0;
  const wrongKeys = Array.from({ length: 50 }, () => sendKey(app, generateApiKey()));
  const valid = sendKey(app, key);
  const answers = (await Promise.all(wrongKeys)).map(({ status }) => status);
  assert.equal(answers.filter((status) => status === 401).length, 3);
  assert.equal(answers.filter((status) => status === 429).length, 47);
  assert.equal((await valid).status, 200);
  assert.equal(counter.count, 3 + 1);
});

Deno.test("rate limit: the lookup of a valid key does not count towards the limit of its address", async () => {
  await using app = await openApp({ databaseUrl, env: SMALL_LIMIT, now: () => 1_000_000 });
  for (let user = 0; user < 10; user++) {
    const key = await app.createKey({ userId: `neighbour-${user}` });
    assert.equal((await sendKey(app, key)).status, 200);
  }
  const sendWrong = () => sendKey(app, generateApiKey());
  assert.deepEqual(await collectStatuses(4, sendWrong), [401, 401, 401, 429]);
});

Deno.test("rate limit: a revoked key that was valid before is limited like a wrong key", async () => {
  const { counter, wrapDatabase } = countQueries();
  let now = 1_000_000;
  await using app = await openApp({ databaseUrl, env: SMALL_LIMIT, wrapDatabase, now: () => now });
  const key = await app.createKey({ userId: "former" });
  assert.equal((await sendKey(app, key)).status, 200);
  await app.database.query((sql) => revokeApiKey(sql, displayPrefix(key)));
  now += 10_000;
  assert.deepEqual(await collectStatuses(3, () => sendKey(app, key)), [401, 401, 401]);
  counter.count = 0;
  const answers = await Promise.all(Array.from({ length: 100 }, () => sendKey(app, key)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([429]));
  assert.equal(counter.count, 1);
});

Deno.test("rate limit: at most 1,000 wrong keys wait for one query, and the others get 503", async () => {
  await using app = await openApp({ databaseUrl });
  const { counter, wrapDatabase } = countQueries();
  const verify = createApiKeyVerifier({
    database: wrapDatabase(app.database),
    clock: Date.now,
    acceptDevelopmentKeys: false,
  });
  const results = await Promise.allSettled(
    Array.from({ length: 1_100 }, () => verify(generateApiKey(), () => false)),
  );
  const rejected = results.filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
  assert.equal(rejected.length, 100);
  assert.equal(rejected[0]!.reason.code, "unavailable");
  assert.equal(rejected[0]!.reason.headers["Retry-After"], "1");
  assert.equal(counter.count, 1);
});

Deno.test("rate limit: unsigned notifications above the limit of their address run no query, and signed ones are not limited", async () => {
  await using app = await openCountedApp();
  const { counter } = app;
  const send = (body: unknown) =>
    app.fetch(
      new Request("http://localhost/notification/", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      }),
      ATTACKER,
    );
  const hint = { subscription: { id: randomUUID() } };
  assert.deepEqual(await collectStatuses(3, () => send(hint)), [200, 200, 200]);
  counter.count = 0;
  const answers = await Promise.all(Array.from({ length: 200 }, () => send(hint)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([429]));
  assert.equal(counter.count, 0);
  assert.ok(Number(answers[0]!.headers.get("retry-after")) >= 1);
  const signed = sign({
    order_id: randomUUID(),
    transaction_status: "settlement",
    transaction_id: randomUUID(),
    status_code: "200",
    gross_amount: "44000.00",
  }, REAL_INSTALLATION.GATEWAY_SERVER_KEY);
  assert.deepEqual(await collectStatuses(10, () => send(signed)), Array(10).fill(200));
});

Deno.test("rate limit: X-Forwarded-For is used only from trusted proxies; its last untrusted address counts", async () => {
  const env = { ...SMALL_LIMIT, TRUST_PROXY: "127.0.0.1, 10.0.0.0/8, ::1" };
  await using app = await openApp({ databaseUrl, env, now: () => 1_000_000 });
  let n = 0;
  // From an untrusted address the header is ignored: the connection's address counts.
  const fromUntrusted = () => sendWrongKey(app, "198.51.100.1", `192.0.2.${n++}`);
  assert.deepEqual(await collectStatuses(4, fromUntrusted), [401, 401, 401, 429]);
  // From a proxy each client has its own limit; addresses that the client sent itself do not count.
  const client = (address: string) => () =>
    sendWrongKey(app, "127.0.0.1", `192.0.2.${n++}, ${address}, 10.1.2.3`);
  assert.deepEqual(await collectStatuses(4, client("203.0.113.7")), [401, 401, 401, 429]);
  assert.deepEqual(await collectStatuses(4, client("2001:db8::7")), [401, 401, 401, 429]);
  // An IPv4-mapped IPv6 address is the same proxy.
  const mapped = () => sendWrongKey(app, "::ffff:127.0.0.1", "203.0.113.8");
  assert.deepEqual(await collectStatuses(4, mapped), [401, 401, 401, 429]);
  // The search for an address stops at an invalid entry; then the proxy's own address counts.
  const invalid = () => sendWrongKey(app, "10.9.9.9", `invalid-${n++}, `);
  assert.deepEqual(await collectStatuses(4, invalid), [401, 401, 401, 429]);
});

Deno.test("rate limit: health routes are not limited", async () => {
  await using app = await openApp({ databaseUrl, env: SMALL_LIMIT, now: () => 1_000_000 });
  assert.deepEqual(
    new Set(await collectStatuses(10, () => app.request("/health/ready/"))),
    new Set([200]),
  );
});

Deno.test("token buckets: full buckets are dropped, and the number of buckets is limited", () => {
  let now = 0;
  const options = { perSecond: 1, burst: 2, clock: () => now, capacity: 10 };
  const buckets = createTokenBuckets(options);
  assert.deepEqual([1, 2, 3].map(() => buckets.take("a")), [0, 0, 1]);
  for (let i = 0; i < 1_000; i++) buckets.take(`flood-${i}`);
  // "a" was dropped because of the limit, so it starts with a full bucket.
  assert.equal(buckets.take("a"), 0);
  now += 60_000;
  assert.equal(buckets.take("flood-999"), 0);
});

Deno.test("token buckets: a clock that steps back removes no tokens", () => {
  let now = 10_000;
  const buckets = createTokenBuckets({ perSecond: 1, burst: 2, clock: () => now });
  assert.equal(buckets.take("a"), 0);
  now = 0;
  assert.equal(buckets.take("a"), 0);
  assert.equal(buckets.take("a"), 1);
});
