/**
 * `deno task fuzz [--requests=N] [--seed=N]`: starts the service with its sandbox and its database
 * in a temporary folder, sends valid, boundary and mutated requests to every operation of the
 * OpenAPI document with every role, and reports what is wrong. Exit code 1: an error of the
 * service, an answer that the document does not declare, or a fault of security or of the records.
 */

import { parseArgs } from "node:util";
import { fuzz } from "./fuzz.ts";
import { startFuzzedService } from "./service.ts";

const REQUESTS = 10_000;

const { values } = parseArgs({
  options: { requests: { type: "string" }, seed: { type: "string" } },
});
const requests = readNumber("requests", values.requests ?? `${REQUESTS}`);
const seed = readNumber("seed", values.seed ?? "1");

console.log(`Starting the service; ${requests} requests, seed ${seed}`);
await using service = await startFuzzedService();
const begin = performance.now();
const secondsSince = () => (performance.now() - begin) / 1_000;
const report = await fuzz(service, {
  requests,
  seed,
  onProgress: (sent) => console.log(`${sent} requests, ${secondsSince().toFixed(0)} s`),
});
console.log(`\n${report.text(secondsSince())}`);
console.log(`Repeat with: deno task fuzz --requests=${requests} --seed=${seed}`);
if (report.hasFailed()) Deno.exitCode = 1;

function readNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  console.error(`--${name} must be a whole number of at most 9 digits`);
  Deno.exit(1);
}
