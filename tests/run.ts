/**
 * Runs the tests against a PostgreSQL server of their own.
 *
 * - `deno task test`: checks format, lint and types, and runs all tests.
 * - `deno task test PATH…`: runs the tests in these files and folders; checks nothing else. Options
 *   of `deno test`, such as `--filter`, can be added.
 * - `deno task test:quick`: runs the tests that start no other processes.
 */

import { join } from "node:path";
import { install } from "../db/embedded/install.ts";
import { startServer } from "../db/embedded/server.ts";
import { loadMigrations, migrate } from "../db/migrations.ts";
import { selectTests } from "./select.ts";
import { ask, createDatabase, TEMPLATE } from "./support/database/database.ts";
import { TOOLS } from "./support/tools.ts";

const QUICK = "--quick";

/** Tests that start processes often wait for them, so one more file than cores can run. */
const SLOW_JOBS = navigator.hardwareConcurrency + 1;

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const folder = await Deno.makeTempDir({ prefix: "payment-gateway-test-" });
// As root, PostgreSQL runs as the user "nobody", who must be able to enter.
await Deno.chmod(folder, 0o755);
await using cleanup = new AsyncDisposableStack();
cleanup.defer(() => Deno.remove(folder, { recursive: true }));

await downloadTools();
const layout = await install(folder, (line) => console.error(line));
const server = await startServer(layout, {
  settings: [
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=500",
  ],
});
cleanup.defer(() => server.stop());
await makeLoginsCheap();
const template = await createDatabase({ server: server.url, name: TEMPLATE, template: null });
await migrate(template, await loadMigrations());

const isPassed = Deno.args.length === 0
  ? await runEverything()
  : Deno.args[0] === QUICK
  ? await runQuick()
  : (await runTests(Deno.args)).isPassed;
if (!isPassed) Deno.exitCode = 1;

/** Tests open thousands of connections, and by default each derives a key in 4,096 iterations. */
async function makeLoginsCheap(): Promise<void> {
  const { username, password } = new URL(server.url);
  await ask(
    server.url,
    `set scram_iterations = 1; alter role ${username} password '${password}'`,
  );
}

async function runQuick(): Promise<boolean> {
  const { isPassed, counts } = await runTests((await selectTests()).quick);
  report([counts]);
  return isPassed;
}

/**
 * The quick tests run while the types are checked. They start no processes, so they can be stopped
 * when the check fails.
 */
async function runEverything(): Promise<boolean> {
  const { quick, slow } = await selectTests();
  const stop = new AbortController();
  const checking = check().then((isClean) => {
    if (!isClean) stop.abort();
    return isClean;
  });
  const first = await runTests(quick, { signal: stop.signal });
  if (!await checking) return false;
  const second = await runTests(slow, { jobs: SLOW_JOBS });
  report([first.counts, second.counts]);
  return first.isPassed && second.isPassed;
}

/** Runs `deno task check` and shows its output if it fails. */
async function check(): Promise<boolean> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "-q", "check"],
    stdin: "null",
  }).output();
  if (!success) {
    console.error(new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
    console.error("`deno task check` failed; the tests were stopped.");
  }
  return success;
}

interface RunOptions {
  /** How many files run at the same time; as many as there are cores unless given. */
  jobs?: number;
  signal?: AbortSignal;
}

/** Runs `deno test` with these arguments. */
async function runTests(
  args: string[],
  { jobs = navigator.hardwareConcurrency, signal }: RunOptions = {},
): Promise<{ isPassed: boolean; counts: Counts }> {
  const reportPath = join(folder, "report.xml");
  const options = ["--parallel", "--sanitize-ops", "--sanitize-resources"];
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["test", "-P=test", "--no-check", "--no-lock", ...options],
      ...[`--junit-path=${reportPath}`, ...args],
    ],
    env: { TEST_SERVER_URL: server.url, DENO_JOBS: String(jobs) },
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
    signal,
  }).output();
  const text = await Deno.readTextFile(reportPath).catch(() => "");
  return { isPassed: success, counts: count(text, success) };
}

/** Reads the counts from a JUnit report. */
function count(text: string, isPassed: boolean): Counts {
  // A file that cannot be loaded fails the run, but the report has no failed test for it.
  const failed = text.match(/<(failure|error)\b/g)?.length ?? (isPassed ? 0 : 1);
  const skipped = text.match(/<skipped\b/g)?.length ?? 0;
  const all = text.match(/<testcase\b/g)?.length ?? 0;
  return { passed: all - failed - skipped, failed, skipped };
}

function report(runs: Counts[]): void {
  const sum = (name: keyof Counts) => runs.reduce((total, counts) => total + counts[name], 0);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`);
}

/**
 * Downloads missing packages before the first test. During a download Deno blocks every other
 * process that loads a package, which would include the services that tests wait for.
 */
async function downloadTools(): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["cache", "-q", "--no-lock", "--no-config", ...TOOLS],
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).output();
  if (!success) console.error("Packages are missing; the tests that use them will fail.");
}
