/**
 * The memory of the service while it exports 1,000,000 payments to a fast reader, and to a slow reader
 * at the same time. `--payments=100000` sets their number.
 */

import { setTimeout as delay } from "node:timers/promises";
import { generateApiKey } from "../core/api_key.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { connect, timed } from "./support/caller.ts";
import { goal, median, milliseconds, requiredGoal, row } from "./support/figures.ts";
import { getRequest } from "./support/load.ts";
import { residentMemory } from "./support/memory.ts";
import { insertPayments, PENDING } from "./support/pending_payments.ts";
import { startPostgres } from "./support/postgres.ts";
import { startService } from "./support/service.ts";

const PAYMENTS = Math.max(
  PENDING,
  Number(
    Deno.args.find((each) => each.startsWith("--payments="))?.slice("--payments=".length) ??
      1_000_000,
  ),
);
/** Memory is compared between the second tenth of the file and the last one. */
const TENTHS = 10;
const SAMPLE_MS = 500;
const MAX_GROWTH = 1.2;
const LATENCY_MS = 5_000;
/** The slow reader takes this many bytes, four times a second. */
const SLOW_BYTES = 16_384;
const SLOW_PAUSE_MS = 250;

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const url = await server.createDatabase("exports");
const staff = generateApiKey();
const headers = { Authorization: `Bearer ${staff}` };
const log = `${folder.path}/service.log`;
await using service = await startService(log, {
  DATABASE_URL: url,
  GATEWAY_BASE_URL: "http://127.0.0.1:2",
  BOOTSTRAP_STAFF_KEY: staff,
  // The log then has the size of the heap after each garbage collection.
  DENO_V8_FLAGS: "--trace-gc",
});
await insertPayments(url, PAYMENTS);
using caller = await connect(service.url);
const path = `${service.url}exports/payments/`;

await readRows(20_000);
console.log(row("GET /payments/, p50", [milliseconds(median(await measureLatency()))]));
const slow = openSlowReader();
const [withSlow, slowBytes] = [median(await measureLatency()), slow.bytes()];
console.log(row("GET /payments/, p50, with a slow reader", [milliseconds(withSlow)]));

const before = await residentMemory(/ main\.ts$/);
const heapBefore = await lastHeap();
const begin = performance.now();
const { rows, memory, heaps } = await exportAll();
const seconds = (performance.now() - begin) / 1_000;
const slowTotal = await slow.stop();

const isWhole = rows === PAYMENTS;
const count = rows.toLocaleString("en");
const rate = `${Math.round(rows / seconds).toLocaleString("en")}/s`;
console.log(row("exported rows", [count, rate], requiredGoal("all", isWhole)));
console.log(row("bytes that the slow reader took", [slowBytes, slowTotal].map(String)));
report("resident memory", before, memory);
report("heap after garbage collections", heapBefore, heaps);

/** The latency of another caller's requests. */
async function measureLatency(): Promise<number[]> {
  const request = getRequest(`${service.url}payments/?limit=10`, headers)();
  const times: number[] = [];
  for (const end = performance.now() + LATENCY_MS; performance.now() < end;) {
    times.push(await timed(() => caller.send(request)));
  }
  return times;
}

/** Reads the beginning of an export. */
async function readRows(count: number): Promise<void> {
  let rows = 0;
  for await (const chunk of await openExport()) {
    rows += countLines(chunk);
    if (rows >= count) return;
  }
}

async function openExport(): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(path, { headers });
  if (response.status !== 200) throw new Error(`Expected 200: ${await response.text()}`);
  return response.body!;
}

/** Reads the whole file. `memory` and `heaps` are medians of the samples in each tenth of it. */
async function exportAll() {
  const samples: { tenth: number; memory: number; heap: number }[] = [];
  // The first line is the header.
  let rows = -1;
  let isRunning = true;
  async function sample(): Promise<void> {
    while (isRunning) {
      const tenth = Math.min(TENTHS - 1, Math.floor(rows / PAYMENTS * TENTHS));
      samples.push({
        tenth,
        memory: await residentMemory(/ main\.ts$/),
        heap: await lastHeap(),
      });
      await delay(SAMPLE_MS);
    }
  }
  const sampling = sample();
  for await (const chunk of await openExport()) rows += countLines(chunk);
  isRunning = false;
  await sampling;
  const medians = (name: "memory" | "heap") =>
    Array.from({ length: TENTHS }, (_, tenth) => {
      const found = samples.filter((each) => each.tenth === tenth).map((each) => each[name]);
      return found.length > 0 ? median(found) : NaN;
    });
  return { rows, memory: medians("memory"), heaps: medians("heap") };
}

function countLines(chunk: Uint8Array): number {
  let lines = 0;
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++;
  return lines;
}

/** The size of the service's heap after its last full garbage collection. */
async function lastHeap(): Promise<number> {
  const found = (await Deno.readTextFile(log)).matchAll(/Mark-Compact.*? -> ([\d.]+) \(/g);
  return Number([...found].at(-1)?.[1] ?? NaN) * 1e6;
}

/** Reads an export over its own connection, slowly. */
function openSlowReader() {
  const { hostname, port } = new URL(service.url);
  let bytes = 0;
  let isStopped = false;
  async function read(): Promise<number> {
    using connection = await Deno.connect({ hostname, port: Number(port) });
    await connection.write(new TextEncoder().encode(getRequest(path, headers)()));
    const buffer = new Uint8Array(SLOW_BYTES);
    while (!isStopped) {
      const n = await connection.read(buffer);
      if (n === null) throw new Error("The service closed the connection of the slow reader");
      bytes += n;
      await delay(SLOW_PAUSE_MS);
    }
    return bytes;
  }
  const reading = read();
  return {
    bytes: () => bytes,
    stop() {
      isStopped = true;
      return reading;
    },
  };
}

function report(name: string, before: number, tenths: number[]): void {
  const megabytes = (bytes: number) => String(Math.round(bytes / 1e6));
  const growth = tenths.at(-1)! / tenths[1]!;
  console.log(row(
    `${name}, MB: ${megabytes(before)}, then ${tenths.map(megabytes).join(" ")}`,
    [growth.toFixed(2)],
    goal(`at most ${MAX_GROWTH} times the second tenth`, growth <= MAX_GROWTH),
  ));
}
