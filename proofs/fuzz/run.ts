/**
 * `deno task fuzz [--requests N] [--seed N]`: starts the service, its sandbox and its database in a
 * temporary folder, sends valid, boundary and mutated requests to every operation of the OpenAPI
 * document with every role, and reports what is wrong.
 *
 * Exit code 1: an error of the service, an answer that the document does not declare, or a fault of
 * security or of the records. Exit code 2: an option is wrong.
 */

import { parseArgs } from "node:util";
import { createProgressLine, minutesLeft } from "../../tests/support/progress_line.ts";
import { fuzz } from "./fuzz.ts";
import { startFuzzedService } from "./service.ts";

const REQUESTS = 10_000;

/** So many requests take a moment, also for a terminal that shows the progress. */
const SHOWN_EVERY = 20;

const { requests, seed } = readOptions();
console.log(`Starting the service; ${requests} requests, seed ${seed}`);
await using service = await startFuzzedService();
const begin = performance.now();
const elapsedMs = () => performance.now() - begin;
const progress = createProgressLine({
  isTerminal: Deno.stdout.isTerminal(),
  print: (text) => void Deno.stdout.writeSync(new TextEncoder().encode(text)),
  now: elapsedMs,
});
const report = await fuzz(service, {
  requests,
  seed,
  onProgress(sent) {
    if (sent === 0 || sent % SHOWN_EVERY > 0) return;
    const minutes = minutesLeft(elapsedMs(), sent, requests);
    progress.show(`${sent} of ${requests} requests, about ${minutes} min left`);
  },
});
progress.clear();
console.log(report.text(elapsedMs() / 1_000));
console.log(`Repeat with: deno task fuzz --requests ${requests} --seed ${seed}`);
if (report.hasFailed()) Deno.exitCode = 1;

function readOptions() {
  const type = "string" as const;
  try {
    const { values } = parseArgs({ options: { requests: { type }, seed: { type } } });
    return {
      requests: readNumber("requests", values.requests ?? `${REQUESTS}`),
      seed: readNumber("seed", values.seed ?? "1"),
    };
  } catch (error) {
    console.error((error as Error).message);
    Deno.exit(2);
  }
}

function readNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`--${name} must be a whole number of at most 9 digits`);
}
