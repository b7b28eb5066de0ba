/** `deno task chaos`: see USAGE. */

import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { hasPatroni } from "../../tests/support/database/pair.ts";
import { createProgressLine } from "../../tests/support/progress_line.ts";
import { readNumber, readOptions } from "../options.ts";
import { untilInterrupted } from "../until_interrupted.ts";
import { emptyHistory, type Progress, runChaos } from "./chaos.ts";
import { openPairDatabase, openSingleDatabase } from "./database.ts";
import { writeHistory } from "./history_file.ts";
import { type Installation, openChaosInstallation } from "./installation.ts";
import { reportText } from "./report.ts";

const KILLS = 20;
const INSTANCES = 3;

const USAGE = `Usage: deno task chaos [--kills N] [--minutes N] [--instances N] [--seed N]
                       [--database single|pair]
  --kills N       ends after this many kills or failovers, and at least one disturbance of each
                  kind (default: ${KILLS}; with --minutes: no limit)
  --minutes N     ends after this many minutes (default: no limit)
  --instances N   the number of instances (default: ${INSTANCES})
  --seed N        the seed of all choices (default: 1)
  --database      single: one PostgreSQL (default);
                  pair: two under Patroni, whose primary changes

Runs instances of the service with the sandbox while they and the database are killed, the gateway
fails, and its notifications are lost, duplicated, reordered and forged. Then judges all answers
together with the gateway's books.
Exit code 1: something differs, or the run failed; 2: wrong usage, or a program is missing;
130: Ctrl-C.`;

const DATABASES = { single: openSingleDatabase, pair: openPairDatabase };

const BAR_LENGTH = 20;

const { seed, kills, minutes, instances, database } = readOptions(
  USAGE,
  ["kills", "minutes", "instances", "seed", "database"],
  readValues,
);
if (database === "pair" && !await hasPatroni("`--database pair` is")) Deno.exit(2);
console.log(`Starting the database (${database}) and ${instances} instances; seed ${seed}`);
await untilInterrupted({
  open: (signal) =>
    openChaosInstallation({
      instances,
      openDatabase: DATABASES[database],
      random: createRandom(seededState(seed)),
      signal,
    }),
  run,
});

async function run(installation: Installation, signal: AbortSignal): Promise<void> {
  console.log("All instances are ready; Ctrl-C stops them and removes their files");
  const history = emptyHistory();
  let hasPassed = false;
  const progressLine = createProgressLine({
    isTerminal: Deno.stdout.isTerminal(),
    print: (text) => void Deno.stdout.writeSync(new TextEncoder().encode(text)),
    now: () => performance.now(),
  });
  const onProgress = (progress: Progress) => progressLine.show(progressText(progress));
  try {
    const options = { seed, kills, minutes, history, onProgress };
    const result = await runChaos(installation, options);
    progressLine.clear();
    console.log(reportText(result, installation));
    hasPassed = result.differences.length === 0;
  } finally {
    if (!hasPassed && !signal.aborted) {
      const notifications = installation.courier.accepted;
      console.log(`All calls and answers: ${await writeHistory({ ...history, notifications })}`);
      Deno.exitCode = 1;
    }
  }
}

function progressText({ kills: killed, orders, seconds, end }: Progress): string {
  const counts = `${killed} kills, ${orders} orders`;
  if (end !== null) return `${counts}; ${end}`;
  const isTimed = kills === Infinity;
  const goal = isTimed ? `of ${minutes} min` : `of ${kills} kills`;
  const done = isTimed ? (seconds / 60).toFixed(1) : killed;
  const share = Math.min(1, isTimed ? seconds / 60 / minutes : killed / kills);
  const bar = "#".repeat(Math.floor(BAR_LENGTH * share)).padEnd(BAR_LENGTH, ".");
  return `[${bar}] ${done} ${goal}, ${counts}`;
}

function readValues(values: Record<string, string | undefined>) {
  const { database = "single" } = values;
  if (database !== "single" && database !== "pair") {
    throw new Error("--database must be single or pair");
  }
  const ofMinutes = values.minutes === undefined ? KILLS : Infinity;
  return {
    seed: readNumber("seed", values.seed, 0) ?? 1,
    kills: readNumber("kills", values.kills, 1) ?? ofMinutes,
    minutes: readNumber("minutes", values.minutes, 1) ?? Infinity,
    instances: readNumber("instances", values.instances, 1) ?? INSTANCES,
    database: database as keyof typeof DATABASES,
  };
}
