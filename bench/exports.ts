/**
 * The memory of the service while it exports 1,000,000 payments to a fast reader, and to a slow
 * reader at the same time; then the heap of another process that exports the same payments,
 * measured after garbage collections. `--payments=200000` sets the number of payments, at least
 * 100,000.
 */

import { setTimeout as delay } from "node:timers/promises";
import { generateApiKey } from "../core/secrets/api_key.ts";
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
const databaseUrl = await server.createDatabase("exports");
const staff = generateApiKey();
const headers = { Authorization: `Bearer ${staff}` };
await using service = await startService(`${folder.path}/service.log`, {
  DATABASE_URL: databaseUrl,
  GATEWAY_BASE_URL: "http://127.0.0.1:2",
  BOOTSTRAP_STAFF_KEY: staff,
});
await insertPayments(databaseUrl, PAYMENTS);
using caller = await connect(service.url);
const exportUrl = `${service.url}exports/payments/`;

await readRows(20_000);
console.log(row("GET /payments/, p50", [milliseconds(median(await measureLatency()))]));
const slow = openSlowReader();
const [withSlow, slowBytes] = [median(await measureLatency()), slow.bytes()];
console.log(row("GET /payments/, p50, with a slow reader", [milliseconds(withSlow)]));

const before = await residentMemory(/ main\.ts$/);
const begin = performance.now();
const { rows, memory } = await exportAll();
const seconds = (performance.now() - begin) / 1_000;
const slowTotal = await slow.stop();

const isWhole = rows === PAYMENTS;
const count = rows.toLocaleString("en");
const rate = `${Math.round(rows / seconds).toLocaleString("en")}/s`;
console.log(row("exported rows", [count, rate], requiredGoal("all", isWhole)));
console.log(row("bytes that the slow reader took", [slowBytes, slowTotal].map(String)));
report(`resident memory, MB: ${megabytes(before)}, then`, memory);
report("heap after garbage collections, MB:", await measureHeap());

/** The latencies of a caller that lists payments for 5 seconds, one request after the other. */
async function measureLatency(): Promise<number[]> {
  const request = getRequest(`${service.url}payments/?limit=10`, headers)();
  const times: number[] = [];
  for (const end = performance.now() + LATENCY_MS; performance.now() < end;) {
    times.push(
      await timed(async () => {
        const head = await caller.send(request);
        if (!head.startsWith("HTTP/1.1 200")) throw new Error(`Expected 200: ${head}`);
      }),
    );
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
  const response = await fetch(exportUrl, { headers });
  if (response.status !== 200) throw new Error(`Expected 200: ${await response.text()}`);
  return response.body!;
}

/** Reads the whole file. `memory`: the medians of the samples in each tenth of it. */
async function exportAll(): Promise<{ rows: number; memory: number[] }> {
  const samples: number[][] = Array.from({ length: TENTHS }, () => []);
  // The first line is the header.
  let rows = -1;
  let isRunning = true;
  async function sample(): Promise<void> {
    while (isRunning) {
      const tenth = Math.floor(Math.max(0, rows) / PAYMENTS * TENTHS);
      samples[Math.min(tenth, TENTHS - 1)]!.push(await residentMemory(/ main\.ts$/));
      await delay(SAMPLE_MS);
    }
  }
  const sampling = sample();
  try {
    for await (const chunk of await openExport()) rows += countLines(chunk);
  } finally {
    isRunning = false;
    await sampling;
  }
  return { rows, memory: samples.filter((each) => each.length > 0).map(median) };
}

/** The used memory, in bytes, after each tenth of an export. */
async function measureHeap(): Promise<number[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "--no-lock", "-P=test", "--v8-flags=--expose-gc"],
      ...["tests/support/reports/export_memory.ts", databaseUrl, staff, String(PAYMENTS)],
    ],
    stdin: "null",
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).usedBytes;
}

function countLines(chunk: Uint8Array): number {
  let lines = 0;
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++;
  return lines;
}

/** Reads an export over its own connection, slowly. */
function openSlowReader() {
  const { hostname, port } = new URL(service.url);
  let bytes = 0;
  let isStopped = false;
  async function read(): Promise<number> {
    using connection = await Deno.connect({ hostname, port: Number(port) });
    await connection.write(new TextEncoder().encode(getRequest(exportUrl, headers)()));
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

function report(name: string, tenths: number[]): void {
  const growth = tenths.at(-1)! / tenths[1]!;
  console.log(row(
    `${name} ${tenths.map(megabytes).join(" ")}`,
    [growth.toFixed(2)],
    goal(`at most ${MAX_GROWTH} times the second tenth`, growth <= MAX_GROWTH),
  ));
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}
