/**
 * The memory of the service with 1,000 open event streams, while it processes as many notifications
 * as it can. `--minutes=30` sets the length of the run.
 */

import { setTimeout as delay } from "node:timers/promises";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { createKey } from "../core/auth/api_keys.ts";
import { openDatabase } from "../db/connection/database.ts";
import { readEventStream } from "../sdk/src/event_stream.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { until } from "../tests/support/until.ts";
import { goal, median, row } from "./support/figures.ts";
import { residentMemory } from "./support/memory.ts";
import { insertPending, settlement, USERS } from "./support/pending_payments.ts";
import { startPostgres } from "./support/postgres.ts";
import { startService } from "./support/service.ts";
import { isWrkInstalled, sendByWrk } from "./support/wrk.ts";

const MINUTES = Number(
  Deno.args.find((each) => each.startsWith("--minutes="))?.slice("--minutes=".length) ?? 3,
);
/** How many payments are inserted, and then settled, before the next ones are inserted. */
const CHUNK = 10_000;
const CONNECTIONS = 64;
const SAMPLE_MS = 1_000;
/** Goal for the memory in the last third of the run divided by the memory in the second third. */
const MAX_GROWTH = 1.05;

/** Streams that are opened at the same time. Each needs a few statements before it starts. */
const OPENED_AT_ONCE = 20;
/** The service sends at least a comment every 15 seconds. */
const MAX_SILENCE_MS = 60_000;

interface Reader {
  /** The number of events that have arrived. */
  events(): number;
}

if (!await isWrkInstalled()) throw new Error("Install wrk: this benchmark needs it.");
await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const databaseUrl = await server.createDatabase("streams");
const staffKey = generateApiKey();
await using service = await startService(`${folder.path}/service.log`, {
  DATABASE_URL: databaseUrl,
  GATEWAY_BASE_URL: "http://127.0.0.1:2",
  BOOTSTRAP_STAFF_KEY: staffKey,
});
const reading = new AbortController();
// One stream for each user, which gets the events of that user, and one for staff, which gets all.
const ofUsers: Reader[] = [];
for (const keys of inGroups(await createKeys(), OPENED_AT_ONCE)) {
  ofUsers.push(...await Promise.all(keys.map((key) => openStream(key, reading.signal))));
}
const ofStaff = await openStream(staffKey, reading.signal);

const samples: number[] = [await readMemory()];
const running = new AbortController();
const sampling = takeSamples(running.signal);
const begin = performance.now();
let settled = 0;
let wrkSeconds = 0;
while (performance.now() < begin + MINUTES * 60_000) wrkSeconds += await settleChunk();
running.abort();
await sampling;
const received = () => ofUsers.reduce((sum, { events }) => sum + events(), 0);
await until(
  "every event has arrived",
  () => received() === settled && ofStaff.events() === settled,
);
reading.abort();

const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
const third = Math.floor(samples.length / 3);
const [second, last] = [samples.slice(third, 2 * third), samples.slice(-third)].map(median);
console.log(row(`${ofUsers.length + 1} streams, ${MINUTES} minutes`, [
  `${settled.toLocaleString("en")} events`,
  `${Math.round(settled / wrkSeconds).toLocaleString("en")}/s`,
]));
console.log(row("memory without load", [megabytes(samples[0]!)]));
console.log(row("second third of the run", [megabytes(second!)]));
console.log(row(
  "last third of the run",
  [megabytes(last!), (last! / second!).toFixed(2)],
  goal(`at most ${MAX_GROWTH} times the second third`, last! / second! <= MAX_GROWTH),
));

function inGroups<T>(items: T[], size: number): T[][] {
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, n) => items.slice(n * size, (n + 1) * size),
  );
}

/** One API key for each user of the payments. */
async function createKeys(): Promise<string[]> {
  const database = openDatabase({ url: databaseUrl, poolSize: 1 });
  const keys: string[] = [];
  for (const userId of USERS) {
    keys.push(await createKey(database, { userId, isStaff: false, name: null }));
  }
  await database.close();
  return keys;
}

/**
 * Opens a stream, and reads it until the benchmark ends. The service ends each stream after about
 * 15 minutes; the reader then reconnects.
 */
async function openStream(key: string, signal: AbortSignal): Promise<Reader> {
  const isOpen = Promise.withResolvers<void>();
  let events = 0;
  let lastId = "";

  async function readUntilEnd(): Promise<void> {
    const headers = { Authorization: `Bearer ${key}`, ...lastId && { "Last-Event-ID": lastId } };
    const response = await fetch(`${service.url}events/stream/`, { headers, signal });
    if (!response.ok) throw new Error(`Expected 200: ${await response.text()}`);
    isOpen.resolve();
    for await (const message of readEventStream(response.body!, MAX_SILENCE_MS, signal)) {
      lastId = message.id ?? lastId;
      if (message.data !== undefined) events++;
    }
  }

  async function read(): Promise<void> {
    while (!signal.aborted) await readUntilEnd().catch(isOpen.reject);
  }

  read();
  await isOpen.promise;
  return { events: () => events };
}

/** Returns the seconds that the notifications took. */
async function settleChunk(): Promise<number> {
  const first = settled + 1;
  await insertPending(databaseUrl, first, settled + CHUNK);
  const bodies = Array.from({ length: CHUNK }, (_, n) => JSON.stringify(settlement(first + n)));
  const url = `${service.url}notification/`;
  const perSecond = await sendByWrk({ url, bodies, connections: CONNECTIONS });
  settled += CHUNK;
  return CHUNK / perSecond;
}

async function takeSamples(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await delay(SAMPLE_MS);
    samples.push(await readMemory());
  }
}

/** The memory of the process that `deno task start` starts. */
async function readMemory(): Promise<number> {
  return await residentMemory(/ main\.ts$/);
}
