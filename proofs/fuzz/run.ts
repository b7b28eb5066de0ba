/** `deno task fuzz`: see USAGE. */

import { createProgressLine, minutesLeft } from "../../tests/support/progress_line.ts";
import { readNumber, readOptions } from "../options.ts";
import { untilInterrupted } from "../until_interrupted.ts";
import { fuzz } from "./fuzz.ts";
import { type FuzzedService, startFuzzedService } from "./service.ts";

const REQUESTS = 10_000;

const USAGE = `Usage: deno task fuzz [--requests N] [--seed N]
  --requests N   the number of requests (default: ${REQUESTS})
  --seed N       the seed of all choices (default: 1)

Starts the service, its sandbox and its database in a temporary folder, sends valid, boundary and
mutated requests to every operation of the OpenAPI document with every role, and reports what is
wrong.
Exit code 1: an error of the service, an answer that the document does not declare, data or a secret
that the caller must not see, an operation that its role must not use, or records that contradict
each other; 2: wrong usage; 130: Ctrl-C.`;

/** After this number of requests, the progress is shown again. */
const SHOWN_EVERY = 20;

const { requests, seed } = readOptions(USAGE, ["requests", "seed"], (values) => ({
  requests: readNumber("requests", values.requests, 1) ?? REQUESTS,
  seed: readNumber("seed", values.seed, 0) ?? 1,
}));
console.log(`Starting the service; ${requests} requests, seed ${seed}`);
await untilInterrupted({ open: startFuzzedService, run });

async function run(service: FuzzedService): Promise<void> {
  console.log("The service is ready; Ctrl-C stops it and removes its files");
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
}
