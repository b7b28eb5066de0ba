import assert from "node:assert/strict";
import postgres from "postgres";
import type { Database } from "../../db/connection/database.ts";
import { openApp } from "../support/app.ts";
import { callService } from "../support/client.ts";
import { createDatabase } from "../support/database/database.ts";
import { follow, type Follower, serveApp, writeEvent } from "../support/events/event_stream.ts";
import { until } from "../support/until.ts";

// The names that the service gives to these queries.
const CATCH_UP_QUERY = "catch up with events";
const FOLLOW_QUERY = "follow events";

interface Hold {
  arrived: Promise<void>;
  release(): void;
}

/** A database that holds a query back before it is sent, or its result before it is returned. */
function createHolds() {
  const holds = new Map<string, { arrive(): void; released: Promise<void> }>();
  async function waitWhileHeld(what: string): Promise<void> {
    const hold = holds.get(what);
    holds.delete(what);
    hold?.arrive();
    await hold?.released;
  }
  return {
    wrapDatabase: (database: Database): Database => ({
      ...database,
      async query(work, name = "") {
        await waitWhileHeld(`query ${name}`);
        const result = await database.query(work, name);
        await waitWhileHeld(`result ${name}`);
        return result;
      },
    }),
    /** Holds the next query of this name, or its result. */
    hold(what: "query" | "result", name: string): Hold {
      const arrived = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      holds.set(`${what} ${name}`, { arrive: arrived.resolve, released: released.promise });
      return { arrived: arrived.promise, release: released.resolve };
    },
  };
}

async function openCatchUp() {
  const databaseUrl = await createDatabase();
  const { wrapDatabase, hold } = createHolds();
  const app = await openApp({ databaseUrl, wrapDatabase, streamOptions: { pollMs: 10 } });
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => {} });
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const otherReader = await follow(app, staff);
  const firstEvent = await writeEvent(sql);
  await otherReader.untilReceived(1);
  return {
    hold,
    write: () => writeEvent(sql),
    /** A reader that was connected before the first event. */
    otherReader,
    resume: () => follow(app, staff, { after: firstEvent }),
    async [Symbol.asyncDispose]() {
      await otherReader.close();
      await sql.end();
      await app[Symbol.asyncDispose]();
    },
  };
}

function idsOf({ messages }: Follower): string[] {
  return messages.map(({ id }) => id);
}

Deno.test("catch-up: an event pushed before the page was read is not sent twice", async () => {
  await using setup = await openCatchUp();
  const heldRead = setup.hold("query", CATCH_UP_QUERY);
  const resuming = setup.resume();
  await heldRead.arrived;
  const event = await setup.write();
  await setup.otherReader.untilReceived(2);
  heldRead.release();
  await using resumed = await resuming;
  await resumed.untilReceived(1);
  const nextEvent = await setup.write();
  await resumed.untilReceived(2);
  assert.deepEqual(idsOf(resumed), [event, nextEvent]);
});

Deno.test("catch-up: an event pushed after the page was read is not sent twice", async () => {
  await using setup = await openCatchUp();
  const heldRead = setup.hold("query", CATCH_UP_QUERY);
  const resuming = setup.resume();
  await heldRead.arrived;
  const heldPoll = setup.hold("query", FOLLOW_QUERY);
  await heldPoll.arrived;
  const event = await setup.write();
  heldRead.release();
  await using resumed = await resuming;
  heldPoll.release();
  await resumed.untilReceived(1);
  const nextEvent = await setup.write();
  await resumed.untilReceived(2);
  assert.deepEqual(idsOf(resumed), [event, nextEvent]);
});

Deno.test("catch-up: an event that is pushed during the read and missing in the page is still sent", async () => {
  await using setup = await openCatchUp();
  const heldRead = setup.hold("result", CATCH_UP_QUERY);
  const resuming = setup.resume();
  await heldRead.arrived;
  const pushedEvent = await setup.write();
  await setup.otherReader.untilReceived(2);
  heldRead.release();
  await using resumed = await resuming;
  await resumed.untilReceived(1);
  const nextEvent = await setup.write();
  await resumed.untilReceived(2);
  assert.deepEqual(idsOf(resumed), [pushedEvent, nextEvent]);
});

Deno.test("follower: events that were read for a closed stream are not passed to a new stream", async () => {
  await using setup = await openCatchUp();
  const heldPoll = setup.hold("query", FOLLOW_QUERY);
  await heldPoll.arrived;
  const heldPollResult = setup.hold("result", FOLLOW_QUERY);
  const firstEvent = await setup.write();
  heldPoll.release();
  await heldPollResult.arrived;
  await setup.otherReader.close();
  await using resumed = await setup.resume();
  const secondEvent = await setup.write();
  await resumed.untilReceived(2);
  heldPollResult.release();
  const thirdEvent = await setup.write();
  await resumed.untilReceived(3);
  assert.deepEqual(idsOf(resumed), [firstEvent, secondEvent, thirdEvent]);
});

Deno.test("event stream: a client that disconnects before the stream is open leaves no stream behind", async () => {
  const { wrapDatabase, hold } = createHolds();
  await using app = await openApp({
    databaseUrl: await createDatabase(),
    wrapDatabase,
    streamOptions: { heartbeatMs: 10 },
  });
  const staff = await app.createKey({ isStaff: true });
  await using server = serveApp(app);
  const opening = hold("query", "find last position");
  const disconnecting = new AbortController();
  const request = callService(`${server.url}/events/stream/`, {
    headers: { Authorization: `Bearer ${staff}` },
    signal: disconnecting.signal,
  });
  await opening.arrived;
  assert.equal(app.streams.count(), 1);
  disconnecting.abort();
  await assert.rejects(request, { name: "AbortError" });
  opening.release();
  await until("no stream is open", () => app.streams.count() === 0);
});
