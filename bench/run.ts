/** `deno task bench`: `USAGE` describes it. */

import { join } from "node:path";
import { createDataFolder } from "../tests/support/project.ts";
import { HEADING, writeFigures } from "./support/figures_guide.ts";
import { watchOtherPrograms } from "./support/other_programs.ts";
import { formatTable, readTable, tableOption } from "./support/table.ts";

const BENCHMARKS = [
  "requests",
  "bodies",
  "sandbox",
  "charges",
  "slow_gateway",
  "payment_lists",
  "search",
  "console",
  "stats",
  "invariants",
  "reconciliation",
  "hostile_reports",
  "exports",
  "reads",
  "notifications",
  "burst",
  "bad_notifications",
  "flood",
  "memory",
  "jobs",
  "webhooks",
  "pooler",
  "instances",
  "streams",
  "document",
];

const WRITE = "--write";

const USAGE = `Usage: deno task bench [NAME…] [--large] [--write] [--OPTION=VALUE…]

Runs all benchmarks, or only the named ones, one after the other. At the end it shows a table of the
operations whose processor time was measured.

  --large         more rounds, and tables with a million payments; takes far longer
  --write         writes the table into docs/figures.md
  --OPTION=VALUE  for the benchmarks that have it, such as --notifications=20000

Benchmarks: ${BENCHMARKS.join(", ")}`;

if (Deno.args.includes("--help")) {
  console.log(USAGE);
  Deno.exit();
}

const args = Deno.args.filter((each) => each !== WRITE);
const options = args.filter((each) => each.startsWith("--"));
const names = args.filter((each) => !each.startsWith("--"));
const unknown = names.filter((name) => !BENCHMARKS.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown benchmark: ${unknown.join(", ")}\n\n${USAGE}`);
  Deno.exit(1);
}

await using folder = await createDataFolder();
const tablePath = join(folder.path, "table.jsonl");
await Deno.writeTextFile(tablePath, "");
const describeOthers = await watchOtherPrograms();
for (const name of names.length > 0 ? names : BENCHMARKS) {
  console.log(`\n## ${name}`);
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "--no-lock", "-P=test", `bench/${name}.ts`],
      ...[tableOption(tablePath), ...options],
    ],
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  // The other benchmarks still run; the exit code says that one failed or missed a required goal.
  if (!success) Deno.exitCode = 1;
}

const rows = await readTable(tablePath);
if (rows.length > 0) {
  const report = `${formatTable(rows)}\n${await describeOthers()}\n`;
  console.log(`\n${HEADING}\n\n${report}`);
  // After a failure the table is not complete.
  if (Deno.args.includes(WRITE) && !Deno.exitCode) await writeFigures(report);
}
