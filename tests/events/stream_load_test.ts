import assert from "node:assert/strict";
import postgres from "postgres";
import { NIL } from "uuid";
import { createBoundedStream } from "../../core/events/bounded_stream.ts";
import type { Database } from "../../db/connection/database.ts";
import { openApp, REAL_INSTALLATION } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { follow, type Follower, serveApp, writeEvent } from "../support/events/event_stream.ts";
import { untilPublished } from "../support/events/publication.ts";
import { openPayments } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

const UNLIMITED = {
  ...REAL_INSTALLATION,
  RATE_LIMIT_PER_SECOND: "100000",
  RATE_LIMIT_BURST: "100000",
  STREAMS_PER_CALLER: "300",
};

/** Opens the stream, reads its beginning, and then reads nothing more. */
async function openWithoutReading(url: string, key: string): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const request = "GET /events/stream/ HTTP/1.1\r\nHost: x\r\n" +
    `Authorization: Bearer ${key}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  await connection.read(new Uint8Array(64));
  return connection;
}

Deno.test("event stream: a reader that does not read is disconnected, and others get every event", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, streamOptions: { pollMs: 10, heartbeatMs: 20 } });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const staff = await app.createKey({ isStaff: true });
  await using server = serveApp(app);
  await using follower = await follow(server.url, staff);
  using _slow = await openWithoutReading(server.url, staff);
  await until("both streams are open", () => app.streams.count() === 2);
  const written = [];
  // The stream's buffer fills up only after the large socket buffers of the operating system.
  while (app.streams.count() === 2) {
    written.push(await writeEvent(sql, { bytes: 200_000 }));
    await follower.untilReceived(written.length);
    assert.ok(written.length < 500, "the stream was not aborted");
  }
  written.push(await writeEvent(sql));
  await follower.untilReceived(written.length);
  assert.deepEqual(follower.messages.map(({ id }) => id), written);
  assert.equal(app.streams.count(), 1);
  await sql.end();
});

Deno.test("bounded stream: limits the number and the total size of buffered chunks, and an empty buffer accepts a chunk of any size", async () => {
  let closedCount = 0;
  const fill = (bytes: number) => {
    const stream = createBoundedStream({ onIdle() {}, onClosed: () => closedCount++ });
    let count = 0;
    while (stream.write(new Uint8Array(bytes))) count++;
    return { count, stream };
  };
  const [small, large, huge] = [fill(10), fill(100_000), fill(50_000_000)];
  assert.equal(small.count, 1_000);
  assert.equal(large.count, 20);
  assert.equal(huge.count, 1);
  // Reading frees the buffer.
  const reader = small.stream.readable.getReader();
  assert.equal((await reader.read()).value!.length, 10_000);
  assert.ok(small.stream.write(new Uint8Array(1)));
  small.stream.end();
  assert.equal((await reader.read()).value!.length, 1);
  assert.ok((await reader.read()).done);
  large.stream.abort("the reader is too slow");
  const broken = large.stream.readable.getReader().read();
  assert.match(await broken.then(() => "", String), /aborted: the reader is too slow/);
  await huge.stream.readable.cancel();
  assert.equal(closedCount, 3);
  for (const { stream } of [small, large, huge]) {
    stream.end();
    stream.abort("it has ended");
    assert.equal(stream.write(new Uint8Array(1)), false);
  }
  assert.equal(closedCount, 3);
});

Deno.test("event stream: a reader that is far behind gets large events in pages that fit the buffer", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({
    databaseUrl,
    streamOptions: { pollMs: 10 },
    hasPositionPublisher: true,
  });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const staff = await app.createKey({ isStaff: true });
  const written = [];
  for (let i = 0; i < 60; i++) written.push(await writeEvent(sql, { bytes: 100_000 }));
  written.push(await writeEvent(sql, { bytes: 3_000_000 }), await writeEvent(sql));
  await untilPublished(app);
  await using follower = await follow(app, staff, { after: NIL });
  await follower.untilReceived(written.length);
  written.push(await writeEvent(sql));
  await follower.untilReceived(written.length);
  assert.deepEqual(follower.messages.map(({ id }) => id), written);
  await sql.end();
});

Deno.test("event stream: a thousand streams get a new event, and none of them reads it from the database", async () => {
  let catchUpReads = 0;
  const countReads = (database: Database): Database => ({
    ...database,
    query(work, name) {
      if (name === "catch up with events") catchUpReads++;
      return database.query(work, name);
    },
  });
  await using payments = await openPayments({
    wrapDatabase: countReads,
    env: { STREAMS_PER_CALLER: "1000" },
  });
  const { app, key } = payments;
  await using server = serveApp(app);
  const followers: Follower[] = [];
  // Opens the streams in batches: the clients run in this process and would block the server.
  while (followers.length < 1_000) {
    const batch = Array.from({ length: 50 }, () => follow(server.url, key));
    followers.push(...await Promise.all(batch));
  }
  assert.equal(app.streams.count(), 1_000);
  const { id } = await payments.charge();
  for (const follower of followers) {
    const [message] = await follower.untilReceived(1);
    assert.equal(JSON.parse(message!.data).data.id, id);
  }
  assert.equal(catchUpReads, 0);
  await Promise.all(followers.map((follower) => follower.close()));
  await until("all streams are closed", () => app.streams.count() === 0);
});

Deno.test("event stream: hundreds of readers that reconnect at the same time catch up a few at a time", async () => {
  const databaseUrl = await createDatabase();
  let [running, maxRunning] = [0, 0];
  const countReads = (database: Database): Database => ({
    ...database,
    async query(work, name) {
      const isReading = name === "catch up with events" || name === "find last event";
      if (isReading) maxRunning = Math.max(maxRunning, ++running);
      return await database.query(work, name).finally(() => isReading && running--);
    },
  });
  await using app = await openApp({ databaseUrl, env: UNLIMITED, wrapDatabase: countReads });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const staff = await app.createKey({ isStaff: true });
  const written: string[] = [];
  for (let i = 0; i < 60; i++) written.push(await writeEvent(sql));
  const followers = await Promise.all(
    Array.from({ length: 300 }, () => follow(app, staff, { after: written[0] })),
  );
  for (const follower of followers) {
    const messages = await follower.untilReceived(59);
    assert.deepEqual(messages.map(({ id }) => id), written.slice(1));
    await follower.close();
  }
  assert.ok(maxRunning > 0 && maxRunning <= 3, `${maxRunning} at the same time`);
  await sql.end();
});
