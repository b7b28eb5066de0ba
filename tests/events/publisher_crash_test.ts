import assert from "node:assert/strict";
import postgres from "postgres";
import { openApp } from "../support/app.ts";
import { callService } from "../support/client.ts";
import { startUntilUp } from "../support/crash/start_until_up.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { follow, type StreamMessage } from "../support/events/event_stream.ts";
import { untilPublished } from "../support/events/publication.ts";
import { openSandbox } from "../support/gateway/sandbox.ts";
import { shareOf } from "../support/share.ts";
import type { ServiceProcess } from "../support/service.ts";
import { until } from "../support/until.ts";

/** Not the sandbox's default key: that key is public, so the service refuses it. */
const SERVER_KEY = "Mid-server-of-the-publisher-test";

const CHARGE = { payment_type: "gopay", gross_amount: 7_000 };

/** How long a stream may stay open: its process is killed only after another one has started. */
const STREAM_TIMEOUT_MS = 10 * 60_000;

/** How often the publishing process is killed. The second kill also ends the reader's stream. */
const KILLS = shareOf(3, 2);

async function startInstance(databaseUrl: string, gatewayUrl: string): Promise<ServiceProcess> {
  return await startUntilUp({
    HOST: "127.0.0.1",
    DATABASE_URL: databaseUrl,
    GATEWAY_SERVER_KEY: SERVER_KEY,
    GATEWAY_BASE_URL: gatewayUrl,
    RATE_LIMIT_PER_SECOND: "1000000",
    RATE_LIMIT_BURST: "1000000",
  });
}

/** The process id of the PostgreSQL session with the publisher's lock; null if there is none. */
async function findPublisher(databaseUrl: string): Promise<number | null> {
  const [row] = await runSql(
    databaseUrl,
    `select pid from pg_stat_activity join pg_locks using (pid)
    where locktype = 'advisory' and granted and datname = current_database()
      and application_name = 'payment-gateway publisher'`,
  );
  return row?.pid ?? null;
}

/** A write transaction in another database of the server; it is never committed. */
async function openForeignTransaction(): Promise<AsyncDisposable> {
  const sql = postgres(await createDatabase({ template: null }), { max: 1, onnotice: () => {} });
  const connection = await sql.reserve();
  await connection`begin`;
  await connection`select pg_current_xact_id()`;
  return {
    async [Symbol.asyncDispose]() {
      await connection`rollback`;
      connection.release();
      await sql.end();
    },
  };
}

Deno.test("event publisher: if its process is killed under load, another process continues, and a reader gets each event once", async () => {
  await using resources = new AsyncDisposableStack();
  const databaseUrl = await createDatabase();
  const sandbox = resources.use(await openSandbox({ seed: undefined, serverKey: SERVER_KEY }));
  resources.use(await openForeignTransaction());
  const app = resources.use(await openApp({ databaseUrl, hasPositionPublisher: false }));
  const key = await app.createKey();
  const staff = await app.createKey({ isStaff: true });
  const start = async () => await startInstance(databaseUrl, sandbox.url);
  const hasPublisher = async () => await findPublisher(databaseUrl) !== null;

  let publishing = await start();
  await until("the first process publishes", hasPublisher);
  let waiting = await start();
  resources.defer(async () => {
    await publishing[Symbol.asyncDispose]();
    await waiting[Symbol.asyncDispose]();
  });

  let isSending = true;
  let isStarting = false;
  let charged = 0;
  /** Sends charges to one of the two processes; requests to a killed process fail. */
  async function sendCharges(target: () => ServiceProcess): Promise<void> {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(CHARGE) };
    while (isSending) {
      // A process starts faster if the others have nothing to do.
      await until("no process starts", () => !isStarting, STREAM_TIMEOUT_MS);
      const response = await callService(`${target().url}/charge/`, init).catch(() => null);
      if (response?.status === 201) charged++;
      await response?.body?.cancel();
    }
  }

  const received: StreamMessage[] = [];
  /** Follows the events. When a stream ends, a new one continues after the last received event. */
  async function read(isAll: () => boolean): Promise<void> {
    while (!isAll()) {
      const after = received.at(-1)?.id ?? "00000000-0000-0000-0000-000000000000";
      const stream = await follow(waiting.url, staff, { after }).catch(() => null);
      if (!stream) continue;
      let hasEnded = false;
      stream.ended.then(() => hasEnded = true);
      const before = received.length;
      await until("the stream ends or all events have arrived", () => {
        received.splice(before, Infinity, ...stream.messages);
        return hasEnded || isAll();
      }, STREAM_TIMEOUT_MS);
      await stream.close();
      received.splice(before, Infinity, ...stream.messages);
    }
  }

  let isDone = false;
  let count = Infinity;
  const reading = read(() => isDone && received.length >= count);
  const sending = Promise.all([
    sendCharges(() => publishing),
    sendCharges(() => waiting),
    sendCharges(() => waiting),
  ]);
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const target = charged + 20;
      await until("charges succeed", () => charged >= target);
      const publisher = await findPublisher(databaseUrl);
      publishing.signal("SIGKILL");
      await publishing.ended;
      await until("the other process publishes", async () => {
        const pid = await findPublisher(databaseUrl);
        return pid !== null && pid !== publisher;
      });
      const receivedBefore = received.length;
      await until("events arrive again", () => received.length > receivedBefore);
      if (kill === KILLS - 1) break;
      publishing = waiting;
      isStarting = true;
      waiting = await start();
      isStarting = false;
    }
  } finally {
    isSending = false;
    isStarting = false;
    await sending;
  }
  await untilPublished(app);
  const published = await runSql(
    databaseUrl,
    `select position::int, event_id from gateway.published_events order by position`,
  );
  count = published.length;
  isDone = true;
  await reading;

  const committed = await runSql(databaseUrl, "select id from gateway.events");
  assert.deepEqual(
    published.map(({ event_id }) => event_id).sort(),
    committed.map(({ id }) => id).sort(),
  );
  assert.deepEqual(published.map(({ position }) => position), published.map((_, i) => i + 1));
  assert.deepEqual(received.map(({ id }) => id), published.map(({ event_id }) => event_id));
  assert.ok(count >= charged, `${count} events of ${charged} charges`);
});
