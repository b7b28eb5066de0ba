/**
 * Latency of one caller's charges while staff upload hostile report files, one after the other, and
 * the memory of the service. The files are rejected: at once, or at their last line. Needs `curl`.
 */

import { setTimeout as delay } from "node:timers/promises";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { connect, measureCharges } from "./support/caller.ts";
import { median, milliseconds, percentile, requiredGoal, row } from "./support/figures.ts";
import { residentMemory } from "./support/memory.ts";
import { startPostgres } from "./support/postgres.ts";
import { startSandbox } from "./support/program.ts";
import { SERVER_KEY, startService } from "./support/service.ts";

const MIB = 1_048_576;
const WARM_UP_MS = 5_000;
const PHASE_MS = 4_000;
const SAMPLE_MS = 200;
/** More than was measured (38 ms), because other programs may use the processor, too. */
const MAX_ADDED_MS = 100;
const MAX_ADDED_MEMORY = 200 * MIB;

const HEADER = "order_id,transaction_id,gross_amount,fee,net_amount,settlement_time\n";
const FILES: Record<string, string> = {
  "2 MiB of commas": ",".repeat(2 * MIB),
  "60 MiB of commas": ",".repeat(60 * MIB),
  "60 MiB of commas after the header": HEADER + ",".repeat(60 * MIB),
  "60 MiB of lines with 1,000 cells": repeatLine("", `${",".repeat(999)}\n`),
  "60 MiB of lines with one cell": repeatLine(HEADER, "x\n"),
  "60 MiB of empty lines": repeatLine(HEADER, "\n"),
  "4 MiB of valid lines, and an invalid one": HEADER +
    "order-1,t-1,44000.00,308.00,43692.00,2026-03-05 10:00:00\n".repeat(72_000) + "x\n",
};

function repeatLine(header: string, line: string): string {
  return header + line.repeat(60 * MIB / line.length);
}

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const databaseUrl = await server.createDatabase("hostile_reports");
await using sandbox = await startSandbox(folder.path, SERVER_KEY);
const apiKey = generateApiKey();
await using service = await startService(`${folder.path}/service.log`, {
  DATABASE_URL: databaseUrl,
  GATEWAY_BASE_URL: sandbox.url.replace(/\/$/, ""),
  BOOTSTRAP_STAFF_KEY: apiKey,
});
using caller = await connect(service.url);

await measureCharges(caller, { url: service.url, apiKey, ms: WARM_UP_MS });
console.log(row("charges of one caller", ["p50", "p99", "memory"]));
const alone: Figures[] = [];
const during: Figures[] = [];
for (const [name, file] of Object.entries(FILES)) {
  alone.push(await measure("without uploads"));
  during.push(await measureUploads(name, file));
}

const p99 = (phases: Figures[]) => percentile(phases.flatMap(({ times }) => times), 99);
const most = (phases: Figures[]) => Math.max(...phases.map(({ memory }) => memory));
const added = p99(during) - p99(alone);
const memory = most(during) - alone[0]!.memory;
console.log(row(
  "p99 with uploads - p99 without",
  [milliseconds(added)],
  requiredGoal(`at most ${MAX_ADDED_MS} ms`, added <= MAX_ADDED_MS),
));
console.log(row(
  "memory with uploads - memory without",
  [mebibytes(memory)],
  requiredGoal(`at most ${mebibytes(MAX_ADDED_MEMORY)}`, memory <= MAX_ADDED_MEMORY),
));

interface Figures {
  times: number[];
  memory: number;
}

async function measure(name: string): Promise<Figures> {
  const sampling = new AbortController();
  const sampled = sampleMemory(sampling.signal);
  const times = await measureCharges(caller, { url: service.url, apiKey, ms: PHASE_MS });
  sampling.abort();
  const memory = await sampled;
  const latencies = [median(times), percentile(times, 99)].map(milliseconds);
  console.log(row(name, [...latencies, mebibytes(memory)]));
  return { times, memory };
}

/** Uploads the file again and again while it measures. */
async function measureUploads(name: string, file: string): Promise<Figures> {
  const path = `${folder.path}/report.csv`;
  await Deno.writeTextFile(path, file);
  const statuses: Record<string, number> = {};
  let isMeasured = false;
  async function upload() {
    while (!isMeasured) {
      const status = await uploadOnce(path);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  }
  const uploads = upload();
  const figures = await measure(name);
  isMeasured = true;
  await uploads;
  const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
  console.log(row("  responses to the uploads", [counts.join(", ")]));
  return figures;
}

/** Another process sends the file, because reading it here would delay the charges. */
async function uploadOnce(path: string): Promise<string> {
  const { stdout } = await new Deno.Command("curl", {
    args: [
      ...["-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Content-Type: text/csv"],
      ...["-H", `Authorization: Bearer ${apiKey}`, "-H", "Expect:", "--data-binary", `@${path}`],
      `${service.url}reconciliations/`,
    ],
    stdin: "null",
    stderr: "null",
  }).output();
  return new TextDecoder().decode(stdout);
}

/** The most memory that the service had. */
async function sampleMemory(signal: AbortSignal): Promise<number> {
  let most = 0;
  while (!signal.aborted) {
    most = Math.max(most, await residentMemory(/ main\.ts$/));
    await delay(SAMPLE_MS);
  }
  return most;
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}
