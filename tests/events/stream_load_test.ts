import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { createBoundedStream } from "../../core/events/bounded_stream.ts";
import type { Database } from "../../db/database.ts";
import { openApp, REAL_INSTALLATION } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { follow, type Follower, serveApp, writeEvent } from "../support/events/event_stream.ts";
import { openPayments } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

const UNLIMITED = {
  ...REAL_INSTALLATION,
  RATE_LIMIT_PER_SECOND: "100000",
  RATE_LIMIT_BURST: "100000",
};

/** Asks for the stream, reads the first of it, and then nothing more. */
async function readNothing(url: string, key: string): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const request = "GET /events/stream/ HTTP/1.1\r\nHost: x\r\n" +
    `Authorization: Bearer ${key}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  await connection.read(new Uint8Array(64));
  return connection;
}

Deno.test("who does not read is dropped, while others hear everything", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, streamOptions: { pollMs: 10, heartbeatMs: 20 } });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const staff = await app.createKey({ isStaff: true });
  await using server = serveApp(app);
  await using follower = await follow(server.url, staff);
  using _slow = await readNothing(server.url, staff);
  await until("both are there", () => app.streams.count() === 2);
  const written = [];
  // Until then the system's own buffers take what is sent, and they are large.
  while (app.streams.count() === 2) {
    written.push(await writeEvent(sql, { bytes: 200_000 }));
    await follower.untilTold(written.length);
    assert.ok(written.length < 500, "it is not kept for ever");
  }
  written.push(await writeEvent(sql));
  await follower.untilTold(written.length);
  assert.deepEqual(follower.told.map(({ id }) => id), written);
  assert.equal(app.streams.count(), 1);
  await sql.end();
});

Deno.test("what waits for a reader is bounded by number and by size, but one piece always fits", async () => {
  let gone = 0;
  const fill = (bytes: number) => {
    const stream = createBoundedStream({ onIdle() {}, onClosed: () => gone++ });
    let count = 0;
    while (stream.write(new Uint8Array(bytes))) count++;
    return { count, stream };
  };
  const [small, large, huge] = [fill(10), fill(100_000), fill(50_000_000)];
  assert.equal(small.count, 1_000);
  assert.equal(large.count, 20);
  assert.equal(huge.count, 1);
  // What was read makes room.
  const reader = small.stream.readable.getReader();
  assert.equal((await reader.read()).value!.length, 10_000);
  assert.ok(small.stream.write(new Uint8Array(1)));
  small.stream.end();
  assert.equal((await reader.read()).value!.length, 1);
  assert.ok((await reader.read()).done);
  large.stream.abort();
  const broken = large.stream.readable.getReader().read();
  assert.match(await broken.then(() => "", String), /aborted: the reader is too slow/);
  await huge.stream.readable.cancel();
  assert.equal(gone, 3);
  for (const { stream } of [small, large, huge]) {
    stream.end();
    stream.abort();
    assert.equal(stream.write(new Uint8Array(1)), false);
  }
  assert.equal(gone, 3);
});

Deno.test("a reader who is far behind is read to in pieces that fit, however large they are", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, streamOptions: { pollMs: 10 } });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const staff = await app.createKey({ isStaff: true });
  const written = [];
  for (let i = 0; i < 60; i++) written.push(await writeEvent(sql, { bytes: 100_000 }));
  written.push(await writeEvent(sql, { bytes: 3_000_000 }), await writeEvent(sql));
  await using follower = await follow(app, staff, { after: randomUUID() });
  await follower.untilTold(written.length);
  written.push(await writeEvent(sql));
  await follower.untilTold(written.length);
  assert.deepEqual(follower.told.map(({ id }) => id), written);
  await sql.end();
});

Deno.test("a thousand streams on one instance all hear of an event, which is read once", async () => {
  let reads = 0;
  const counting = (database: Database): Database => ({
    ...database,
    query(work, name) {
      if (name === "catch up with events") reads++;
      return database.query(work, name);
    },
  });
  await using payments = await openPayments({ wrapDatabase: counting });
  const { app, key } = payments;
  await using server = serveApp(app);
  const followers: Follower[] = [];
  // Not all at once: those who ask are in this process, too, and would keep it from answering.
  while (followers.length < 1_000) {
    const some = Array.from({ length: 50 }, () => follow(server.url, key));
    followers.push(...await Promise.all(some));
  }
  assert.equal(app.streams.count(), 1_000);
  const { id } = await payments.charge();
  for (const follower of followers) {
    const [told] = await follower.untilTold(1);
    assert.equal(JSON.parse(told!.data).data.id, id);
  }
  assert.equal(reads, 0);
  await Promise.all(followers.map((follower) => follower.close()));
  await until("all are gone", () => app.streams.count() === 0);
});

Deno.test("hundreds who come back at once read what they missed a few at a time", async () => {
  const databaseUrl = await createDatabase();
  let [underWay, most] = [0, 0];
  const counting = (database: Database): Database => ({
    ...database,
    async query(work, name) {
      const isReading = name === "catch up with events" || name === "find last event";
      if (isReading) most = Math.max(most, ++underWay);
      return await database.query(work, name).finally(() => isReading && underWay--);
    },
  });
  await using app = await openApp({ databaseUrl, env: UNLIMITED, wrapDatabase: counting });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const staff = await app.createKey({ isStaff: true });
  const written: string[] = [];
  for (let i = 0; i < 60; i++) written.push(await writeEvent(sql));
  const followers = await Promise.all(
    Array.from({ length: 300 }, () => follow(app, staff, { after: written[0] })),
  );
  for (const follower of followers) {
    const told = await follower.untilTold(59);
    assert.deepEqual(told.map(({ id }) => id), written.slice(1));
    await follower.close();
  }
  assert.ok(most > 0 && most <= 3, `${most} at once`);
  await sql.end();
});
