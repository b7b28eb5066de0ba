/** `deno task bench`: notifications through the service next to `pgbench` on the same tables. */

import { setTimeout as delay } from "node:timers/promises";
import { generateApiKey } from "../core/auth/api_key.ts";
import { ask } from "../tests/support/database/database.ts";
import { dataFolder } from "../tests/support/project.ts";
import { type Caller, connect, timed } from "./support/caller.ts";
import {
  goal,
  median,
  milliseconds,
  percentile,
  perSecond,
  ratio,
  row,
} from "./support/figures.ts";
import { get, post } from "./support/load.ts";
import { fill, nthRow, PENDING, settlement } from "./support/pending_payments.ts";
import { startPostgres } from "./support/postgres.ts";
import { startService } from "./support/service.ts";
import { settleByPgbench, settlePacedByPgbench } from "./support/settle_by_pgbench.ts";

const FEW = 100_000;
const MANY = 1_000_000;
const SIZES = [FEW, MANY];

const ROUNDS = 4;
/** In each round, by each of the two; as many for each of 16 connections, and of 64. */
const ROUND = 3_840;
/** The first ones are for the compilers to see everything. */
const WARM_UP = 3_840;
const ALONE = 1_000;
/** Enough that one stall does not decide what the hundredth of them is. */
const PACED = 8_000;

/** How many connections, and what share of pgbench's rate is to be had with them. */
const LOADS = [{ connections: 16, share: 0.5 }, { connections: 64, share: 0.8 }];
const CONNECTIONS = LOADS.map(({ connections }) => connections);
const LATEST_MS = 50;
const MOST_APART = 1.2;

interface Table {
  rows: number;
  databaseUrl: string;
  /** Of the service on it. */
  url: string;
  /** Requests that tell of the next so many payments that each was paid. */
  nextRequests(count: number): string[];
  /** The first of the next so many, for pgbench to take. */
  reserve(count: number): number;
}

interface Figures {
  service: number[];
  pgbench: number[];
  /** How long each took at half of what is to be reached, and pgbench's at the same pace. */
  atHalf: number[];
  pgbenchAtHalf: number[];
}

await using folder = await dataFolder();
await using server = await startPostgres(folder.path);
await using resources = new AsyncDisposableStack();
const tables: Table[] = [];
for (const rows of SIZES) tables.push(await openTable(rows));

const figures = new Map<string, Figures>();
const figuresOf = ({ rows }: Pick<Table, "rows">, connections: number) =>
  figures.getOrInsertComputed(
    `${rows} ${connections}`,
    () => ({ service: [], pgbench: [], atHalf: [], pgbenchAtHalf: [] }),
  );

for (const table of tables) await byService(table, Math.max(...CONNECTIONS), WARM_UP);
const alone = await oneCaller(tables[0]!);
for (let round = 0; round < ROUNDS; round++) {
  for (const table of tables) {
    for (const connections of CONNECTIONS) await measureInTurns(table, connections, round);
  }
}
for (const table of tables) {
  await tidyUp(table);
  for (const { connections, share } of LOADS) {
    const { pgbench, atHalf, pgbenchAtHalf } = figuresOf(table, connections);
    const pace = share * median(pgbench) / 2;
    atHalf.push(...await paced(table, connections, pace));
    pgbenchAtHalf.push(...await pgbenchPaced(table, connections, pace));
  }
}
for (const table of tables) await check(table);

for (const table of tables) {
  console.log(row(`POST /notification/, ${table.rows.toLocaleString("en")} payments`, [
    "service",
    "pgbench",
    "ratio",
  ]));
  for (const { connections, share } of LOADS) {
    const { service, pgbench } = figuresOf(table, connections);
    const reached = ratio(service, pgbench);
    console.log(row(
      `${connections} connections`,
      [perSecond(service, "calls"), perSecond(pgbench, "calls"), reached],
      goal(`at least ${share}`, Number(reached) >= share),
    ));
  }
  for (const connections of CONNECTIONS) {
    const { atHalf, pgbenchAtHalf } = figuresOf(table, connections);
    const p99s = [atHalf, pgbenchAtHalf].map((times) => percentile(times, 99));
    const remark = goal(`p99 below ${LATEST_MS} ms`, p99s[0]! < LATEST_MS);
    const label = `${connections} connections, half that load`;
    console.log(row(`${label}, p50`, [atHalf, pgbenchAtHalf].map(median).map(milliseconds)));
    console.log(row(`${label}, p99`, p99s.map(milliseconds), remark));
  }
}
for (const connections of CONNECTIONS) {
  const apart = [figuresOf({ rows: FEW }, connections), figuresOf({ rows: MANY }, connections)];
  const ofService = ratio(apart[0]!.service, apart[1]!.service);
  const ofPgbench = ratio(apart[0]!.pgbench, apart[1]!.pgbench);
  const remark = goal(`at most ${MOST_APART} times apart`, Number(ofService) <= MOST_APART);
  console.log(row(`few to many, ${connections} connections`, [ofService, ofPgbench], remark));
}
console.log(row("one caller, p50; one pgbench client's average", alone.map(milliseconds)));

/** Each goes first every other time. */
async function measureInTurns(table: Table, connections: number, round: number): Promise<void> {
  const { service, pgbench } = figuresOf(table, connections);
  const turns = [
    async () => service.push(await byService(table, connections, ROUND)),
    async () => pgbench.push(await byPgbench(table, connections, ROUND)),
  ];
  for (const turn of round % 2 === 0 ? turns : turns.reverse()) await turn();
}

/** Notifications a second. */
async function byService(table: Table, connections: number, count: number): Promise<number> {
  const requests = table.nextRequests(count);
  using callers = await connectAll(table, connections);
  let next = 0;
  const ms = await timed(() =>
    callers.each(async (caller) => {
      while (next < count) await tell(caller, requests[next++]!);
    })
  );
  return count / (ms / 1000);
}

async function byPgbench(table: Table, clients: number, count: number): Promise<number> {
  const { databaseUrl, rows } = table;
  return await settleByPgbench(databaseUrl, {
    rows,
    first: table.reserve(count),
    clients,
    transactions: count / clients,
  });
}

/** The middle of what one takes when it is alone, and the average of one client of pgbench. */
async function oneCaller(table: Table): Promise<[number, number]> {
  const times: number[] = [];
  const requests = table.nextRequests(ALONE);
  using caller = await greet(table.url);
  for (const request of requests) times.push(await timed(() => tell(caller, request)));
  return [median(times), 1000 / await byPgbench(table, 1, ALONE)];
}

/** They come when they are due, whether the earlier ones are through or not, and count from then. */
async function paced(table: Table, connections: number, perSecond: number): Promise<number[]> {
  const requests = table.nextRequests(PACED);
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
      await tell(caller, request);
      times.push(performance.now() - due);
    }
  });
  return times;
}

async function pgbenchPaced(table: Table, clients: number, perSecond: number): Promise<number[]> {
  const { databaseUrl, rows } = table;
  const transactions = PACED / clients;
  const share = { rows, first: table.reserve(PACED), clients, transactions };
  return await settlePacedByPgbench(databaseUrl, share, perSecond);
}

/** What the rounds before left for PostgreSQL to clean up is not what the next ones are to wait for. */
async function tidyUp({ databaseUrl }: Table): Promise<void> {
  const tables = ["payments", "notifications", "events", "history"];
  await ask(databaseUrl, `vacuum analyze ${tables.map((name) => `gateway.${name}`)}`);
  await ask(databaseUrl, "checkpoint");
}

/** Connected before the clock starts, as pgbench does it. */
async function connectAll({ url }: Table, connections: number) {
  const callers = await Promise.all(
    Array.from({ length: connections }, () => greet(url)),
  );
  return {
    each: (work: (caller: Caller) => Promise<void>) => Promise.all(callers.map(work)),
    [Symbol.dispose]() {
      for (const caller of callers) caller[Symbol.dispose]();
    },
  };
}

/**
 * With a small request first: up to its version 2.9.5 Deno closes a connection after a request that
 * does not fit into what it reads at once (denoland/deno#36657), which is half a kilobyte at first and
 * twice that from then on. Connections are not what is measured.
 */
async function greet(url: string): Promise<Caller> {
  const caller = await connect(url);
  await caller.ask(get(`${url}health/live/`)());
  return caller;
}

async function tell(caller: Caller, request: string): Promise<void> {
  const head = await caller.ask(request);
  if (!head.startsWith("HTTP/1.1 200")) throw new Error(`No 200: ${head}`);
}

/** Whoever was measured has done all of it: each payment is paid, and there is an event of it. */
async function check({ databaseUrl, rows, reserve }: Table): Promise<void> {
  const told = reserve(0);
  const [counts] = await ask(
    databaseUrl,
    `select
      (select count(*) from gateway.notifications where status = 'processed') as processed,
      (select count(*) from gateway.notifications) as notifications,
      (select count(*) from gateway.events where name = 'payment_settled') as events,
      (select count(*) from gateway.payments where transaction_status = 'settlement')
        - ${rows - PENDING} as payments`,
  );
  const wrong = Object.entries(counts!).filter(([, count]) => Number(count) !== told);
  if (wrong.length > 0) throw new Error(`Told ${told} times, and there are ${wrong.join("; ")}`);
}

/** A service on a table with so many payments. */
async function openTable(rows: number): Promise<Table> {
  const databaseUrl = await server.createDatabase(`notifications_${rows}`);
  const service = resources.use(
    await startService(`${folder.path}/${rows}.log`, {
      DATABASE_URL: databaseUrl,
      GATEWAY_BASE_URL: "http://127.0.0.1:2",
      BOOTSTRAP_STAFF_KEY: generateApiKey(),
    }),
  );
  await fill(databaseUrl, rows);
  let told = 0;
  function reserve(count: number): number {
    const first = told;
    told += count;
    if (told > PENDING) throw new Error(`There are but ${PENDING} payments to be paid`);
    return first;
  }
  return {
    rows,
    databaseUrl,
    url: service.url,
    reserve,
    nextRequests(count) {
      const first = reserve(count);
      return Array.from(
        { length: count },
        (_, n) => post(`${service.url}notification/`, {}, settlement(nthRow(rows, first + n))),
      );
    },
  };
}
