import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { type Database, openDatabase } from "../../db/connection/database.ts";
import { listen } from "../../db/connection/listen.ts";
import { findPrimary } from "../../db/connection/primary.ts";
import { joinServers } from "../../db/connection/server_urls.ts";
import { runSql } from "../support/database/database.ts";
import {
  type DatabasePair,
  FAILOVER_KINDS,
  hasPatroni,
  startPair,
} from "../support/database/pair.ts";
import { hasPgBouncer, startPgBouncer } from "../support/database/pgbouncer.ts";
import { assertNothingLostOrDoubled } from "../support/failover/audit.ts";
import { type Acknowledged, startLoad } from "../support/failover/load.ts";
import { openSandbox, type TestSandbox } from "../support/gateway/sandbox.ts";
import { startUntilUp } from "../support/crash/start_until_up.ts";
import { callService } from "../support/client.ts";
import type { ServiceProcess } from "../support/service.ts";
import { isPartial, shareOf } from "../support/share.ts";
import { until } from "../support/until.ts";

const ignore = !await hasPatroni("the tests of failovers are");

const SERVER_KEY = "Mid-server-of-failovers";

/** The callers' key. Staff see the payments of both instances. */
const API_KEY = "gk_" + "f".repeat(43);

/** Without `--full`, one primary is killed. */
const PROMOTIONS = shareOf(20);

let pair: DatabasePair;

/** One for all tests, because a database belongs to one gateway account. */
let sandbox: TestSandbox;

Deno.test.beforeAll(async () => {
  if (ignore) return;
  pair = await startPair();
  sandbox = await openSandbox({ serverKey: SERVER_KEY });
});

Deno.test.afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
  await pair?.[Symbol.asyncDispose]();
});

function settingsOf(databaseUrl: string): Record<string, string> {
  return {
    HOST: "127.0.0.1",
    DATABASE_URL: databaseUrl,
    GATEWAY_BASE_URL: sandbox.url,
    GATEWAY_SERVER_KEY: SERVER_KEY,
    BOOTSTRAP_STAFF_KEY: API_KEY,
    PUBLIC_URL: sandbox.receiver.url,
    RATE_LIMIT_PER_SECOND: "1000000",
    RATE_LIMIT_BURST: "1000000",
  };
}

interface Recovery {
  how: string;
  /** Until a caller got its first answer to a write, for each service. */
  ms: number[];
  /** Until an event of a payment that was charged after the promotion is listed. */
  eventMs: number;
}

function recoveryAfter(promotedAt: number, service: number, acknowledged: Acknowledged[]): number {
  const first = acknowledged.find((each) => each.service === service && each.at > promotedAt);
  return first ? first.at - promotedAt : Infinity;
}

/** The publisher of events has a connection and a lock of its own. */
async function untilEventIsListed(
  { url }: ServiceProcess,
  promotedAt: number,
  acknowledged: Acknowledged[],
): Promise<number> {
  await until("an event of a new payment is listed", async () => {
    const charge = acknowledged.find(({ kind, at }) => kind === "charge" && at > promotedAt);
    if (!charge) return false;
    const headers = { Authorization: `Bearer ${API_KEY}` };
    const query = `resource_id=${charge.answer.id}`;
    const response = await callService(`${url}/events/?${query}`, { headers });
    const events = await response.json();
    return response.status === 200 && events.length > 0;
  });
  return performance.now() - promotedAt;
}

function report(recoveries: Recovery[], acknowledged: Acknowledged[]): void {
  const lines = FAILOVER_KINDS.map((how) => {
    const those = recoveries.filter((each) => each.how === how);
    const times = (ms: number[]) => {
      const sorted = ms.map(Math.round).sort((a, b) => a - b);
      return `median ${sorted[Math.floor(sorted.length / 2)]} ms, longest ${sorted.at(-1)} ms`;
    };
    return [
      `${how}, ${those.length} times: several hosts: ${times(those.map(({ ms }) => ms[0]!))}`,
      `one address: ${times(those.map(({ ms }) => ms[1]!))}`,
      `events: ${times(those.map(({ eventMs }) => eventMs))}`,
    ].join("; ");
  });
  const retried = acknowledged.filter(({ attempts }) => attempts > 1).length;
  console.log(`${acknowledged.length} acknowledged writes, ${retried} of them after retries`);
  for (const line of lines) console.log(line);
}

Deno.test({
  name:
    "failover: under load, no acknowledged write is lost or doubled, and both instances continue without a restart",
  ignore,
  // Patroni is started before the test, and again by it.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using byHosts = await startUntilUp(settingsOf(pair.url), { hasOwnDeadline: true });
    await using byAddress = await startUntilUp(settingsOf(pair.address), { hasOwnDeadline: true });
    const services = [byHosts, byAddress];
    const load = startLoad({ services, sandbox, apiKey: API_KEY });
    const recoveries: Recovery[] = [];
    for (let i = 0; i < PROMOTIONS; i++) {
      const how = FAILOVER_KINDS[i % FAILOVER_KINDS.length]!;
      const former = await pair.primary();
      const promoted = await pair.failOver(how);
      const promotedAt = performance.now();
      assert.notEqual(promoted, former);
      const ms = () =>
        services.map((_, each) => recoveryAfter(promotedAt, each, load.acknowledged));
      await until("both instances answer", () => ms().every(Number.isFinite));
      const eventMs = await untilEventIsListed(byHosts, promotedAt, load.acknowledged);
      recoveries.push({ how, ms: ms(), eventMs });
      if (how === "kill") former.start();
      if (how === "pause") await former.resume();
      await pair.untilBothStream();
    }
    await load.stop();
    report(recoveries, load.acknowledged);
    const database: Database = openDatabase({ url: pair.url, poolSize: 2, deadlineMs: 60_000 });
    try {
      const books = { database, sandbox, service: byHosts, apiKey: API_KEY };
      await assertNothingLostOrDoubled(books, load.acknowledged);
    } finally {
      await database.close();
    }
  },
});

/** A connection whose commits wait for the standby, so its statements must not time out. */
function openRaw(url: string): postgres.Sql {
  return postgres(url, {
    max: 1,
    onnotice: () => {},
    connection: { statement_timeout: 3_000 },
  });
}

async function waitingCommits(url: string): Promise<number[]> {
  const rows = await runSql(url, "select pid from pg_stat_activity where wait_event = 'SyncRep'");
  return rows.map(({ pid }) => pid);
}

/** Much shorter than the time limit of a write, after which the service looks for the primary. */
const READ_PAUSE_MS = 20;

/** More connections than there are writes that wait without a response before a time limit ends. */
const MANY = 50;

Deno.test({
  name:
    "former primary: while it still accepts connections, no write to it is acknowledged, and the service leaves it",
  ignore: ignore || isPartial,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await runSql(
      (await pair.primary()).superuserUrl,
      "create table if not exists public.marks (mark text)",
    );
    await runSql((await pair.primary()).superuserUrl, "grant all on public.marks to payments");
    await pair.untilBothStream();
    const former = await pair.primary();
    const other = pair.members.find((each) => each !== former)!;
    await using resources = new AsyncDisposableStack();
    const open = (url: string, poolSize: number) => {
      const database = openDatabase({ url, poolSize });
      resources.defer(() => database.close());
      return database;
    };
    const databases = [open(pair.url, MANY), open(pair.address, 2)];
    const port = new URL(former.url).port;
    for (const database of databases) await portOf(database);
    let signals = 0;
    const channel = "failover_test";
    resources.use(
      listen({ url: pair.url, name: "test", channel, onSignal: () => signals++, onError() {} }),
    );
    await until("it listens", () => signals === 1);

    // Patroni hangs, so it does not stop the server when its lease ends.
    former.pausePatroni();
    await until("the other server is promoted", async () => await pair.primary() === other);

    const stale = openRaw(former.url);
    resources.defer(() => stale.end({ timeout: 0 }));
    let isAcknowledged = false;
    const commit = stale`insert into public.marks values ('stale')`
      .then(() => isAcknowledged = true, () => {});
    await until(
      "the commit waits",
      async () => (await waitingCommits(former.superuserUrl)).length > 0,
    );

    // Reads get responses there, so a write without a response does not mean that it has ended.
    let isReading = true;
    async function keepReading() {
      while (isReading) {
        await databases[0]!.query((sql) => sql`select 1`).catch(() => {});
        await delay(READ_PAUSE_MS);
      }
    }
    const reading = keepReading();
    for (const [index, database] of databases.entries()) {
      const write = () =>
        database.query((sql) => sql`insert into public.marks values (${`new ${index}`})`)
          .then(() => true, () => false);
      await until("a write is acknowledged", write);
      assert.notEqual(await portOf(database), port);
    }
    isReading = false;
    await reading;
    // The connection for signals follows, although its former server still responds.
    await until("it listens at the new primary", async () => {
      await runSql(other.url, `notify ${channel}`);
      return signals > 2;
    });
    const marks = await runSql(other.url, "select mark from public.marks");
    assert.deepEqual(new Set(marks.map(({ mark }) => mark)), new Set(["new 0", "new 1"]));
    assert.equal(isAcknowledged, false, "not even by the statement timeout");

    // It still accepts writes, but it is known to be a former primary.
    await other.pause();
    await until("it is refused", async () => {
      const message = await findPrimary(pair.url).then(({ url }) => url, String);
      assert.notEqual(message.split("?")[0], former.url);
      return /is a former primary: it is on timeline/.test(message);
    });
    await other.resume();
    await until(
      "the new primary is found",
      async () => (await findPrimary(pair.url).catch(() => null))?.url.split("?")[0] === other.url,
    );

    former.resumePatroni();
    await pair.untilBothStream();
    await commit;
    assert.equal(isAcknowledged, false);
    const kept = await runSql((await pair.primary()).url, "select mark from public.marks");
    assert.ok(kept.every(({ mark }) => mark !== "stale"));
  },
});

Deno.test({
  name: "failover: a pool through a pooler in front of each server continues at the new primary",
  ignore: ignore || isPartial || !await hasPgBouncer(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await pair.untilBothStream();
    await using resources = new AsyncDisposableStack();
    const urls: string[] = [];
    for (const { url } of pair.members) {
      const pooler = await startPgBouncer({ server: url, mode: "transaction" });
      resources.use(pooler);
      urls.push(pooler.through(url));
    }
    const database = openDatabase({
      url: joinServers(urls),
      poolSize: 2,
      pooling: "transaction",
    });
    resources.defer(() => database.close());
    // The search asks the standby, too, so that its pooler knows it as a standby.
    await until("it is connected", () => canWrite(database));
    await pair.promote();
    await until("it is connected again", () => canWrite(database));
  },
});

/** The port of the server that the pool uses. On a slow machine it can exceed its time limit. */
async function portOf(database: Database): Promise<string> {
  let port = "";
  await until("the database responds", async () => {
    const [row] = await database.query((sql) => sql`select inet_server_port() as port`)
      .catch(() => []);
    port = String(row?.port ?? "");
    return port !== "";
  });
  return port;
}

async function canWrite(database: Database): Promise<boolean> {
  const [row] = await database.query((sql) =>
    sql`select current_setting('transaction_read_only') = 'off' as can_write`
  ).catch(() => []);
  return row?.can_write === true;
}

Deno.test({
  name: "failover guide: its commands show, check, change and switch over the pair",
  ignore: ignore || isPartial,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await pair.untilBothStream();
    await pair.runGuide("haproxy -c");
    assert.match(await pair.runGuide("pg_stat_replication"), /db\d +\| streaming +\| sync/);
    assert.match(await pair.runGuide("edit-config"), /^\+loop_wait: 5$/m);

    if ((await pair.primary()).name === "db2") await pair.promote();
    await pair.untilBothStream();
    await using service = await startUntilUp(settingsOf(pair.url), { hasOwnDeadline: true });
    const listed = await pair.runGuide("switchover payments", {
      "http://127.0.0.1:8000": service.url,
    });
    assert.match(listed, /Successfully switched over to "db2"/);
    assert.match(listed, /db2 +\| \S+ +\| Leader/);
    await pair.untilBothStream();
    assert.match(await pair.runGuide("role of each server"), /db1 +\| \S+ +\| Sync Standby/);
  },
});
