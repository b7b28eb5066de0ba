/**
 * Measures how many notifications per second the service processes, and compares this with two
 * pgbench workloads: one statement in tables with few indexes, and a transaction that writes the
 * same rows to the service's own tables.
 */

import { setTimeout as delay } from "node:timers/promises";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { runSql } from "../tests/support/database/database.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { until } from "../tests/support/until.ts";
import { type Caller, connect, timed } from "./support/caller.ts";
import { processorTime } from "./support/cpu.ts";
import {
  goal,
  median,
  milliseconds,
  percentile,
  perSecond,
  ratio,
  row,
} from "./support/figures.ts";
import { getRequest, postText } from "./support/load.ts";
import { insertPayments, nthRow, PENDING, settlement } from "./support/pending_payments.ts";
import { startPostgres } from "./support/postgres.ts";
import { createProgress } from "./support/progress.ts";
import { startService } from "./support/service.ts";
import {
  createReference,
  settleByOneStatement,
  settleByPgbench,
  settlePacedByPgbench,
} from "./support/settle_by_pgbench.ts";
import { addTableRow } from "./support/table.ts";
import { isWrkInstalled, sendByWrk } from "./support/wrk.ts";

const SMALL_ROWS = 100_000;
const LARGE_ROWS = 1_000_000;
/** Filling a table with a million rows takes minutes. */
const IS_LARGE = Deno.args.includes("--large");
const SIZES = IS_LARGE ? [SMALL_ROWS, LARGE_ROWS] : [SMALL_ROWS];

const ROUNDS = IS_LARGE ? 4 : 3;
/** Calls in each round, for the service and for pgbench; divisible by 16 and by 64 connections. */
const CALLS_PER_ROUND = 3_840;
/** Calls that are not measured, so that the JIT compiler optimizes the code first. */
const WARM_UP_CALLS = 3_840;
const SEQUENTIAL_CALLS = 1_000;
/** Enough calls that a single pause does not determine the 99th percentile. */
const PACED_CALLS = IS_LARGE ? 8_000 : 3_840;

/** `minRatio` is the goal: the rate of the service divided by the rate of a reference. */
const LOADS = [{ connections: 16, minRatio: 0.5 }, { connections: 64, minRatio: 0.8 }];
const CONNECTIONS = LOADS.map(({ connections }) => connections);
const MAX_P99_MS = 50;
/** Goal for the rate with 100,000 payments divided by the rate with 1,000,000. */
const MAX_SLOWDOWN = 1.2;
/** Goal for the processor time of one notification, for the service and PostgreSQL each. */
const MAX_MICROSECONDS = 150;

interface Table {
  rows: number;
  databaseUrl: string;
  /** The URL of the service that uses this table. */
  url: string;
  /** The process of that service. */
  pid: number;
  /** Notifications that settle the next `count` payments. */
  nextBodies(count: number): string[];
  /** Reserves the next `count` payments; returns the `n` of the first one for `nthRow`. */
  reserve(count: number): number;
  /** Like `reserve`, for the copied payments, which the one-statement workload settles. */
  reserveReference(count: number): number;
}

interface Figures {
  service: number[];
  /** pgbench, one statement in tables with few indexes. */
  statement: number[];
  /** pgbench, the same rows in the service's tables. */
  pgbench: number[];
  /** Microseconds of processor time per notification. */
  serviceCpu: number[];
  postgresCpu: number[];
  /** Latencies at half of the goal. The goal is `minRatio` times pgbench's rate. */
  atHalf: number[];
  pgbenchAtHalf: number[];
}

const progress = createProgress("notifications", SIZES.length * (ROUNDS + 2) + 1);
await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
await using resources = new AsyncDisposableStack();
const hasWrk = await isWrkInstalled();
const tables: Table[] = [];
for (const rows of SIZES) tables.push(await openTable(rows));

const figures = new Map<string, Figures>();
const figuresOf = ({ rows }: Pick<Table, "rows">, connections: number) =>
  figures.getOrInsertComputed(
    `${rows} ${connections}`,
    () => ({
      service: [],
      statement: [],
      pgbench: [],
      serviceCpu: [],
      postgresCpu: [],
      atHalf: [],
      pgbenchAtHalf: [],
    }),
  );

progress.begin("warm-up and one caller");
for (const table of tables) await measureService(table, Math.max(...CONNECTIONS), WARM_UP_CALLS);
const oneCaller = await measureOneCaller(tables[0]!);
for (let round = 0; round < ROUNDS; round++) {
  for (const table of tables) {
    progress.begin(`round ${round + 1} with ${table.rows} payments`);
    for (const connections of CONNECTIONS) {
      await vacuum(table);
      await measureInTurns(table, connections, round);
    }
  }
}
for (const table of tables) {
  progress.begin(`latencies with ${table.rows} payments`);
  await vacuum(table);
  for (const { connections, minRatio } of LOADS) {
    const { pgbench, atHalf, pgbenchAtHalf } = figuresOf(table, connections);
    const pace = minRatio * median(pgbench) / 2;
    atHalf.push(...await measureServicePaced(table, connections, pace));
    pgbenchAtHalf.push(...await measurePgbenchPaced(table, connections, pace));
  }
}
for (const table of tables) await check(table);
progress.clear();

for (const table of tables) {
  console.log(row(`POST /notification/, ${table.rows.toLocaleString("en")} payments`, [
    "service",
    "pgbench",
    "ratio",
  ]));
  for (const { connections, minRatio } of LOADS) {
    const { service, statement, pgbench, serviceCpu, postgresCpu } = figuresOf(table, connections);
    const references = { "one statement, three rows": statement, "the same rows": pgbench };
    for (const [name, reference] of Object.entries(references)) {
      const reached = ratio(service, reference);
      console.log(row(
        `${connections} connections; ${name}`,
        [perSecond(service, "calls"), perSecond(reference, "calls"), reached],
        goal(`at least ${minRatio}`, Number(reached) >= minRatio),
      ));
    }
    const times = [serviceCpu, postgresCpu].map(median);
    await addTableRow({
      operation: `POST /notification/, ${connections} connections, ` +
        `${table.rows.toLocaleString("en")} payments`,
      perSecond: median(service),
      deno: times[0]!,
      postgres: times[1]!,
      ratio: ratio(service, pgbench),
      reference: "pgbench that writes the same rows",
    });
    console.log(row(
      `${connections} connections, processor time: Deno, PostgreSQL`,
      times.map((time) => `${Math.round(time)} µs`),
      goal(`at most ${MAX_MICROSECONDS} µs`, times.every((time) => time <= MAX_MICROSECONDS)),
    ));
  }
  for (const connections of CONNECTIONS) {
    const { atHalf, pgbenchAtHalf } = figuresOf(table, connections);
    const p99s = [atHalf, pgbenchAtHalf].map((times) => percentile(times, 99));
    const remark = goal(`p99 below ${MAX_P99_MS} ms`, p99s[0]! < MAX_P99_MS);
    const label = `${connections} connections, half the goal's rate`;
    console.log(row(`${label}, p50`, [atHalf, pgbenchAtHalf].map(median).map(milliseconds)));
    console.log(row(`${label}, p99`, p99s.map(milliseconds), remark));
  }
}
for (const connections of IS_LARGE ? CONNECTIONS : []) {
  const sizes = [
    figuresOf({ rows: SMALL_ROWS }, connections),
    figuresOf({ rows: LARGE_ROWS }, connections),
  ];
  const ofService = ratio(sizes[0]!.service, sizes[1]!.service);
  const ofPgbench = ratio(sizes[0]!.pgbench, sizes[1]!.pgbench);
  const remark = goal(`at most ${MAX_SLOWDOWN}`, Number(ofService) <= MAX_SLOWDOWN);
  console.log(
    row(
      `ratio 100,000 to 1,000,000 payments, ${connections} connections`,
      [ofService, ofPgbench],
      remark,
    ),
  );
}
console.log(row("one caller, p50; one pgbench client, average", oneCaller.map(milliseconds)));

/**
 * The service goes first in even rounds, and last in odd rounds. Its processor time includes the
 * small requests that each connection starts with (see `sendByWrk`).
 */
async function measureInTurns(table: Table, connections: number, round: number): Promise<void> {
  const { service, statement, pgbench, serviceCpu, postgresCpu } = figuresOf(table, connections);
  const turns = [
    async () => {
      const before = await processorTimes(table);
      service.push(await measureService(table, connections, CALLS_PER_ROUND));
      const after = await processorTimes(table);
      serviceCpu.push((after.service - before.service) / CALLS_PER_ROUND);
      postgresCpu.push((after.postgres - before.postgres) / CALLS_PER_ROUND);
    },
    async () => statement.push(await measureStatement(table, connections, CALLS_PER_ROUND)),
    async () => pgbench.push(await measurePgbench(table, connections, CALLS_PER_ROUND)),
  ];
  for (const turn of round % 2 === 0 ? turns : turns.reverse()) await turn();
}

async function processorTimes({ pid }: Table) {
  return {
    service: await processorTime(pid),
    postgres: await processorTime(await server.findProcess()),
  };
}

/** Notifications per second. */
async function measureService(table: Table, connections: number, count: number): Promise<number> {
  const bodies = table.nextBodies(count);
  const url = `${table.url}notification/`;
  if (hasWrk) return await sendByWrk({ url, bodies, connections });
  const requests = bodies.map((body) => postText(url, {}, body));
  using callers = await connectAll(table, connections);
  let next = 0;
  const ms = await timed(() =>
    callers.each(async (caller) => {
      while (next < count) await notify(caller, requests[next++]!);
    })
  );
  return count / (ms / 1000);
}

async function measureStatement(table: Table, clients: number, count: number): Promise<number> {
  const { databaseUrl, rows } = table;
  const transactions = count / clients;
  const workload = { rows, first: table.reserveReference(count), clients, transactions };
  return await settleByOneStatement(databaseUrl, workload);
}

async function measurePgbench(table: Table, clients: number, count: number): Promise<number> {
  const { databaseUrl, rows } = table;
  return await settleByPgbench(databaseUrl, {
    rows,
    first: table.reserve(count),
    clients,
    transactions: count / clients,
  });
}

function nextRequests(table: Table, count: number): string[] {
  return table.nextBodies(count).map((body) => postText(`${table.url}notification/`, {}, body));
}

/** The median latency of a single caller, and the average of a single pgbench client. */
async function measureOneCaller(table: Table): Promise<[number, number]> {
  const times: number[] = [];
  const requests = nextRequests(table, SEQUENTIAL_CALLS);
  using caller = await connectWarm(table.url);
  for (const request of requests) times.push(await timed(() => notify(caller, request)));
  return [median(times), 1000 / await measurePgbench(table, 1, SEQUENTIAL_CALLS)];
}

/**
 * Sends requests at a fixed rate, with at most one open request per connection. Latencies count
 * from the due time, so they include the wait for a free connection.
 */
async function measureServicePaced(
  table: Table,
  connections: number,
  perSecond: number,
): Promise<number[]> {
  const requests = nextRequests(table, PACED_CALLS);
  using callers = await connectAll(table, connections);
  const begin = performance.now();
  const times: number[] = [];
  let next = 0;
  await callers.each(async (caller) => {
    while (next < requests.length) {
      const request = requests[next]!;
      const due = begin + next++ * 1000 / perSecond;
      const early = due - performance.now();
      if (early > 0) await delay(Math.ceil(early));
      await notify(caller, request);
      times.push(performance.now() - due);
    }
  });
  return times;
}

async function measurePgbenchPaced(
  table: Table,
  clients: number,
  perSecond: number,
): Promise<number[]> {
  const { databaseUrl, rows } = table;
  const transactions = PACED_CALLS / clients;
  const workload = { rows, first: table.reserve(PACED_CALLS), clients, transactions };
  return await settlePacedByPgbench(databaseUrl, workload, perSecond);
}

/**
 * Cleans up after earlier rounds, so that autovacuum and checkpoints do not disturb the next ones.
 */
async function vacuum({ databaseUrl }: Table): Promise<void> {
  const tables = ["payments", "payment_filters", "notifications", "events", "history"];
  await runSql(databaseUrl, `vacuum analyze ${tables.map((name) => `gateway.${name}`)}`);
  await runSql(databaseUrl, "checkpoint");
}

/** Connects before the measurement starts, as pgbench does. */
async function connectAll({ url }: Table, connections: number) {
  const callers = await Promise.all(
    Array.from({ length: connections }, () => connectWarm(url)),
  );
  return {
    each: (work: (caller: Caller) => Promise<void>) => Promise.all(callers.map(work)),
    [Symbol.dispose]() {
      for (const caller of callers) caller[Symbol.dispose]();
    },
  };
}

/**
 * Sends a small request first. Deno (up to 2.9.5) closes a connection after a request that does not
 * fit into its read buffer (denoland/deno#36657), which has 512 bytes at first and 1,024
 * afterwards. Connecting is not measured.
 */
async function connectWarm(url: string): Promise<Caller> {
  const caller = await connect(url);
  await caller.send(getRequest(`${url}health/live/`)());
  return caller;
}

async function notify(caller: Caller, request: string): Promise<void> {
  const head = await caller.send(request);
  if (!head.startsWith("HTTP/1.1 200")) throw new Error(`Expected 200: ${head}`);
}

/**
 * Checks that the service and pgbench did all the work: each payment is paid and has an event.
 * Waits, because the last requests of `wrk` may still be running.
 */
async function check(table: Table): Promise<void> {
  const sent = table.reserve(0);
  const findWrong = async () =>
    Object.entries(await countResults(table)).filter(([, count]) => Number(count) !== sent);
  await until("every notification is processed", async () => (await findWrong()).length === 0)
    .catch(async (cause) => {
      throw new Error(`Sent ${sent} notifications, but found ${(await findWrong()).join("; ")}`, {
        cause,
      });
    });
}

async function countResults({ databaseUrl, rows }: Table) {
  const [counts] = await runSql(
    databaseUrl,
    `select
      (select count(*) from gateway.notifications where status = 'processed') as processed,
      (select count(*) from gateway.notifications) as notifications,
      (select count(*) from gateway.events where name = 'payment_settled') as events,
      (select count(*) from gateway.payments where transaction_status = 'settlement')
        - ${rows - PENDING} as payments`,
  );
  return counts!;
}

/** Starts a service on a table with this many payments. */
async function openTable(rows: number): Promise<Table> {
  progress.begin(`filling a table with ${rows} payments`);
  const databaseUrl = await server.createDatabase(`notifications_${rows}`);
  const service = resources.use(
    await startService(`${folder.path}/${rows}.log`, {
      DATABASE_URL: databaseUrl,
      GATEWAY_BASE_URL: "http://127.0.0.1:2",
      BOOTSTRAP_STAFF_KEY: generateApiKey(),
    }),
  );
  await insertPayments(databaseUrl, rows);
  await createReference(databaseUrl);
  const reserve = countUp();
  return {
    rows,
    databaseUrl,
    url: service.url,
    pid: service.pid,
    reserve,
    reserveReference: countUp(),
    nextBodies(count) {
      const first = reserve(count);
      return Array.from(
        { length: count },
        (_, n) => JSON.stringify(settlement(nthRow(rows, first + n))),
      );
    },
  };
}

function countUp(): (count: number) => number {
  let used = 0;
  return (count) => {
    const first = used;
    used += count;
    if (used > PENDING) throw new Error(`All ${PENDING} pending payments are used`);
    return first;
  };
}
