/**
 * `deno task chaos [--kills N] [--minutes M] [--seed N] [--instances N] [--database single|pair]`:
 * runs instances of the service with the sandbox while they and the database are killed, the
 * gateway fails, and its notifications are lost, doubled, reordered and forged. Then judges all
 * answers together with the gateway's books. `pair`: PostgreSQL under Patroni, whose primary
 * changes.
 *
 * Exit code 1: something differs. Exit code 2: an option or a program is wrong.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { hasPatroni } from "../../tests/support/database/pair.ts";
import { createProgressLine } from "../../tests/support/progress_line.ts";
import { type Progress, runChaos } from "./chaos.ts";
import { openPairDatabase, openSingleDatabase } from "./database.ts";
import { openChaosInstallation } from "./installation.ts";
import { reportText } from "./report.ts";

const KILLS = 20;

const DATABASES = { single: openSingleDatabase, pair: openPairDatabase };

const { seed, kills, minutes, instances, database } = readOptions();
if (database === "pair" && !await hasPatroni("`--database pair` is")) Deno.exit(2);
console.log(`Starting the database (${database}) and ${instances} instances; seed ${seed}`);
const random = createRandom(seededState(seed));
await using installation = await openChaosInstallation({
  instances,
  database: await DATABASES[database](),
  random,
});
const progressLine = createProgressLine({
  isTerminal: Deno.stdout.isTerminal(),
  print: (text) => void Deno.stdout.writeSync(new TextEncoder().encode(text)),
  now: () => performance.now(),
});
const result = await runChaos(installation, { seed, kills, minutes, onProgress: showProgress });
progressLine.clear();
console.log(reportText(result, installation));
if (result.differences.length > 0) {
  const file = join(await Deno.makeTempDir({ prefix: "chaos-" }), "history.json");
  await Deno.writeTextFile(file, JSON.stringify(result.history, null, 1));
  console.log(`All calls and answers: ${file}`);
  Deno.exitCode = 1;
}

function showProgress({ kills: killed, orders, seconds }: Progress): void {
  const goal = kills === Infinity ? `of ${minutes} min` : `of ${kills} kills`;
  const done = kills === Infinity ? (seconds / 60).toFixed(1) : killed;
  const share = kills === Infinity ? seconds / 60 / minutes : killed / kills;
  const bar = "#".repeat(Math.floor(20 * share)).padEnd(20, ".");
  progressLine.show(`[${bar}] ${done} ${goal}, ${killed} kills, ${orders} orders`);
}

function readOptions() {
  const type = "string" as const;
  try {
    const { values } = parseArgs({
      options: {
        kills: { type },
        minutes: { type },
        seed: { type },
        instances: { type },
        database: { type },
      },
    });
    const { database = "single" } = values;
    if (database !== "single" && database !== "pair") {
      throw new Error("--database must be single or pair");
    }
    const ofMinutes = values.minutes === undefined ? KILLS : Infinity;
    return {
      seed: readNumber("seed", values.seed) ?? 1,
      kills: readNumber("kills", values.kills) ?? ofMinutes,
      minutes: readNumber("minutes", values.minutes) ?? Infinity,
      instances: readNumber("instances", values.instances) ?? 3,
      database: database as keyof typeof DATABASES,
    };
  } catch (error) {
    console.error((error as Error).message);
    Deno.exit(2);
  }
}

function readNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Error(`--${name} must be a whole number from 1 to 999999999`);
}
