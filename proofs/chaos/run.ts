/**
 * `deno task chaos [--kills N] [--minutes M] [--seed N] [--instances N] [--database single]`: runs
 * instances of the service with the sandbox while the service and the database are killed, the
 * gateway fails and notifications are lost, doubled, reordered and forged. Then judges all answers
 * together with the gateway's books. Exit code 1: something differs; 2: wrong usage.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { type Progress, runChaos } from "./chaos.ts";
import { openChaosInstallation, openSingleDatabase } from "./installation.ts";
import { reportText } from "./report.ts";

const text = { type: "string" } as const;
const { values } = parseArgs({
  options: { kills: text, minutes: text, seed: text, instances: text, database: text },
});
const seed = readNumber("seed", values.seed ?? "1");
const kills = readNumber("kills", values.kills ?? (values.minutes ? "1000000" : "20"));
const minutes = readNumber("minutes", values.minutes ?? "1000");
const instances = readNumber("instances", values.instances ?? "3");

console.log(`Starting ${instances} instances; seed ${seed}`);
const random = createRandom(seededState(seed));
const database = await openSingleDatabase();
await using installation = await openChaosInstallation({ instances, database, random });
const result = await runChaos(installation, { seed, kills, minutes, onProgress: showProgress });
console.log(`\n${reportText(result, installation)}`);
if (result.differences.length > 0) {
  const file = join(await Deno.makeTempDir({ prefix: "chaos-" }), "history.json");
  await Deno.writeTextFile(file, JSON.stringify(result.history, null, 1));
  console.log(`All calls and answers: ${file}`);
  Deno.exitCode = 1;
}

function showProgress({ kills: killed, orders, seconds }: Progress): void {
  console.log(`${killed} kills, ${orders} orders, ${seconds.toFixed(0)} s`);
}

function readNumber(name: string, value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  console.error(`--${name} must be a whole number from 1 to 999999999`);
  Deno.exit(2);
}
