import assert from "node:assert/strict";
import { displayPrefix } from "../../core/secrets/api_key.ts";
import { revokeApiKey } from "../../db/access/api_keys.ts";
import { type Database, DatabaseUnavailable } from "../../db/connection/database.ts";
import { openApp, REAL_INSTALLATION, type TestApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { follow } from "../support/events/event_stream.ts";
import { errorsOf } from "../support/logged_errors.ts";
import { assertProblem } from "../support/problem.ts";
import { inTime, until } from "../support/until.ts";

const databaseUrl = await createDatabase();

async function assertTooManyStreams(app: TestApp, key: string, detail: RegExp): Promise<void> {
  const response = await app.as(key, "/events/stream/");
  assert.ok(Number(response.headers.get("retry-after")) > 0);
  const problem = await assertProblem(response, 429, "rate_limited");
  assert.match(problem.detail!, detail);
}

async function revoke(app: TestApp, key: string): Promise<void> {
  await app.database.query((sql) => revokeApiKey(sql, displayPrefix(key)));
}

Deno.test("event stream: a caller with too many streams gets 429, and others are not affected", async () => {
  const env = { ...REAL_INSTALLATION, STREAMS_PER_CALLER: "2" };
  await using app = await openApp({ databaseUrl, env });
  const [ada, secondKeyOfAda, bob] = [
    await app.createKey({ userId: "ada" }),
    await app.createKey({ userId: "ada" }),
    await app.createKey({ userId: "bob" }),
  ];
  await using firstStream = await follow(app, ada);
  await using _second = await follow(app, secondKeyOfAda);
  for (const key of [ada, secondKeyOfAda]) {
    await assertTooManyStreams(app, key, /You have 2 open event streams/);
  }
  await using _other = await follow(app, bob);
  assert.equal(app.streams.count(), 3);
  // After a stream is closed, another one can be opened.
  await firstStream.close();
  await using _again = await follow(app, ada);
  await assertTooManyStreams(app, ada, /limit is 2/);
});

Deno.test("event stream: above the total limit, every caller gets 429", async () => {
  const env = { ...REAL_INSTALLATION, STREAMS_TOTAL: "2" };
  await using app = await openApp({ databaseUrl, env });
  const keys = await Promise.all(
    ["ada", "bob", "eve"].map((userId) => app.createKey({ userId })),
  );
  await using _first = await follow(app, keys[0]!);
  await using secondStream = await follow(app, keys[1]!);
  await assertTooManyStreams(app, keys[2]!, /no room for more event streams/);
  await secondStream.close();
  await using _third = await follow(app, keys[2]!);
});

Deno.test("event stream: of many streams opened at the same time, only as many as allowed are opened", async () => {
  const env = { ...REAL_INSTALLATION, STREAMS_PER_CALLER: "3" };
  await using app = await openApp({ databaseUrl, env });
  const key = await app.createKey();
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => app.as(key, "/events/stream/")),
  );
  const opened = responses.filter(({ status }) => status === 200);
  assert.equal(opened.length, 3);
  assert.ok(responses.every(({ status }) => status === 200 || status === 429));
  for (const { body } of opened) await body!.cancel();
  await until("all streams are closed", () => app.streams.count() === 0);
});

Deno.test("event stream: ends when its key is revoked; one query checks all keys", async () => {
  const checks: number[] = [];
  let now = Date.now();
  const countChecks = (database: Database): Database => ({
    ...database,
    query(work, name) {
      if (name === "check keys of streams") checks.push(app.streams.count());
      return database.query(work, name);
    },
  });
  await using app = await openApp({
    databaseUrl,
    wrapDatabase: countChecks,
    now: () => now,
    streamOptions: { keyCheckMs: 20 },
  });
  const keys = [await app.createKey({ userId: "ada" }), await app.createKey({ userId: "ada" })];
  await using keptStream = await follow(app, keys[0]!);
  await using _alsoKept = await follow(app, keys[0]!);
  await using endedStream = await follow(app, keys[1]!);
  await using alsoEnded = await follow(app, keys[1]!);
  await revoke(app, keys[1]!);
  assert.equal(await inTime("the stream ends", endedStream.ended), "ended");
  assert.equal(await inTime("the stream ends", alsoEnded.ended), "ended");
  const before = checks.length;
  await until("the keys are checked again", () => checks.length > before + 1);
  assert.equal(app.streams.count(), 2);
  assert.ok(checks.includes(4) && checks.includes(2), checks.join());
  await revoke(app, keys[0]!);
  assert.equal(await inTime("the stream ends", keptStream.ended), "ended");
  await until("all streams are closed", () => app.streams.count() === 0);
  // The caller cannot reconnect once the cached key has expired.
  now += 5_000;
  await assertProblem(await app.as(keys[0]!, "/events/stream/"), 401, "unauthenticated");
});

Deno.test("event stream: if its key is revoked while the reader is behind, the stream fails with the reason", async () => {
  await using app = await openApp({ databaseUrl, streamOptions: { keyCheckMs: 20 } });
  const key = await app.createKey({ userId: "ada" });
  const { body } = await app.as(key, "/events/stream/");
  await revoke(app, key);
  await until("the stream is closed", () => app.streams.count() === 0);
  const reading = Array.fromAsync(body!).then(() => "", String);
  assert.equal(await reading, "Event stream aborted: its API key was revoked");
});

Deno.test("event stream: if its longest time is over while the reader is behind, the stream fails and keeps no backlog", async () => {
  let now = Date.now();
  await using app = await openApp({
    databaseUrl,
    now: () => now,
    streamOptions: { keyCheckMs: 20 },
  });
  const key = await app.createKey({ userId: "ada" });
  const { body } = await app.as(key, "/events/stream/");
  now += 15 * 60_000;
  await until("the stream is closed", () => app.streams.count() === 0);
  // A stream that ended normally would still send what its reader has not read.
  const reading = Array.fromAsync(body!).then(() => "", String);
  assert.equal(await reading, "Event stream aborted: its longest time is over");
});

Deno.test("event stream: stays open while its key cannot be checked in the database", async () => {
  let isUnavailable = false;
  let failedChecks = 0;
  const failChecks = (database: Database): Database => ({
    ...database,
    async query(work, name) {
      if (!isUnavailable || name !== "check keys of streams") {
        return await database.query(work, name);
      }
      failedChecks++;
      throw new DatabaseUnavailable("The database is unavailable");
    },
  });
  await using app = await openApp({
    databaseUrl,
    wrapDatabase: failChecks,
    streamOptions: { keyCheckMs: 20 },
  });
  const key = await app.createKey();
  await using follower = await follow(app, key);
  isUnavailable = true;
  // Checks run one after the other, so after a failed check all earlier checks have ended.
  await until("a check has failed", () => failedChecks >= 1);
  await revoke(app, key);
  const before = failedChecks;
  await until("two more checks have failed", () => failedChecks >= before + 2);
  assert.equal(app.streams.count(), 1);
  isUnavailable = false;
  assert.equal(await inTime("the stream ends", follower.ended), "ended");
  assert.deepEqual(errorsOf(app), []);
});
