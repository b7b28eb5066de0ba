/**
 * Starts a PostgreSQL server and runs the tests against it.
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
import { findTests, selectTests } from "./select.ts";
import { createDatabase, runSql, TEMPLATE } from "./support/database/database.ts";
import { runTask } from "./support/service.ts";
import { TOOLS } from "./support/tools.ts";

const QUICK = "--quick";

const CORES = navigator.hardwareConcurrency;

/** The share of random and generated inputs that a quick run tries; a full run tries all. */
const QUICK_SHARE = "0.05";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const folder = await Deno.makeTempDir({ prefix: "payment-gateway-test-" });
// If root runs the tests, PostgreSQL runs as an ordinary user, who needs access to the folder.
await Deno.chmod(folder, 0o755);
await using cleanup = new AsyncDisposableStack();
cleanup.defer(() => Deno.remove(folder, { recursive: true }));

await downloadTools();
const serverUrl = await startTestServer();

const hasPassed = Deno.args.length === 0
  ? await runEverything()
  : Deno.args[0] === QUICK
  ? await runQuick()
  : await runSome(Deno.args);
if (!hasPassed) Deno.exitCode = 1;

async function runQuick(): Promise<boolean> {
  const options = { environment: { TEST_SHARE: QUICK_SHARE }, jobs: CORES + 1 };
  return summarize(await runFiles((await selectTests()).quick, options));
}

/**
 * The check runs during the quick tests. They start no processes, so they can be stopped when the
 * check fails. The other tests often wait for processes, so one more file than cores runs at the
 * same time.
 */
async function runEverything(): Promise<boolean> {
  const { quick, slow } = await selectTests();
  const stop = new AbortController();
  const checking = check().then((isClean) => {
    if (!isClean) stop.abort();
    return isClean;
  });
  const quickResults = await runFiles(quick, { signal: stop.signal });
  if (!await checking) return false;
  const environment = { TEST_DATA_FOLDER: await prepareDataFolder() };
  const slowResults = await runFiles(slow, { environment, jobs: CORES + 1 });
  return summarize([...quickResults, ...slowResults]);
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

/** Arguments that are not paths are options of `deno test`. */
async function runSome(args: string[]): Promise<boolean> {
  const paths: string[] = [];
  const options: string[] = [];
  for (const arg of args) {
    const found = await Deno.stat(arg).catch(() => null);
    if (found?.isDirectory) paths.push(...await findTests(arg));
    else (found ? paths : options).push(arg);
  }
  const { quick, slow } = await selectTests();
  const selected = paths.length > 0 ? paths : [...quick, ...slow];
  return summarize(await runFiles(selected, { options }));
}

interface RunOptions {
  /** Options of `deno test`. */
  options?: string[];
  /** Further environment variables. */
  environment?: Record<string, string>;
  /** How many files run at the same time; by default as many as there are cores. */
  jobs?: number;
  /** Stops the running files and starts no others. */
  signal?: AbortSignal;
}

/** Runs test files in this order, several at the same time, and prints a line for each. */
async function runFiles(paths: string[], options: RunOptions = {}): Promise<Result[]> {
  const queue = [...paths];
  const results: Result[] = [];
  async function work() {
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
      const result = await runFile(path, options, paths.length === 1);
      if (options.signal?.aborted) return;
      results.push(result);
      show(result);
    }
  }
  await Promise.all(Array.from({ length: options.jobs ?? CORES }, work));
  return results;
}

/** Prints the failed files and the total, and returns whether all passed. */
function summarize(results: Result[]): boolean {
  const failed = results.filter(({ hasPassed }) => !hasPassed);
  for (const { path } of failed) console.log(`failed: ${path}`);
  const sum = (name: keyof Counts) =>
    results.reduce((total, { counts }) => total + counts[name], 0);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`);
  return failed.length === 0;
}

interface Result {
  path: string;
  hasPassed: boolean;
  counts: Counts;
  seconds: number;
  output: string;
}

/**
 * Runs one file in its own process: given many files, `deno test` chooses the order itself. The
 * output of a file that runs alone is shown at once.
 */
async function runFile(
  path: string,
  { options = [], environment = {}, signal }: RunOptions,
  isAlone: boolean,
): Promise<Result> {
  const startedAt = performance.now();
  const report = join(folder, `${crypto.randomUUID()}.xml`);
  const output = isAlone ? "inherit" : "piped";
  const ended = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["test", "-P=test", "--no-check", "--no-lock", "--sanitize-ops", "--sanitize-resources"],
      ...[`--junit-path=${report}`, ...options, path],
    ],
    env: { TEST_SERVER_URL: serverUrl, ...environment },
    stdin: "null",
    stdout: output,
    stderr: output,
    signal,
  }).output();
  const text = await Deno.readTextFile(report).catch(() => "");
  return {
    path,
    hasPassed: ended.success,
    counts: countTests(text, ended.success),
    seconds: (performance.now() - startedAt) / 1000,
    output: isAlone
      ? ""
      : new TextDecoder().decode(ended.stdout) + new TextDecoder().decode(ended.stderr),
  };
}

/** Reads the counts from a JUnit report. */
function countTests(report: string, hasPassed: boolean): Counts {
  // A file that cannot be loaded fails the run, but the report has no failed test for it.
  const failed = report.match(/<(failure|error)\b/g)?.length ?? (hasPassed ? 0 : 1);
  const skipped = report.match(/<skipped\b/g)?.length ?? 0;
  const all = report.match(/<testcase\b/g)?.length ?? 0;
  return { passed: Math.max(0, all - failed - skipped), failed, skipped };
}

function show({ path, hasPassed, counts, seconds, output }: Result): void {
  if (!hasPassed) console.log(output);
  // In lines with `***`, tests say that they are skipped, and why.
  for (const [line] of output.matchAll(/^\*\*\* .*$/gm)) console.log(line);
  const time = `${seconds.toFixed(1)} s`.padStart(8);
  const count = `${counts.passed} passed`.padStart(11);
  console.log(`${hasPassed ? "ok    " : "FAILED"}${time}${count}  ${path}`);
}

/** Starts PostgreSQL and creates the database that tests copy. */
async function startTestServer(): Promise<string> {
  const layout = await install(folder, (line) => console.error(line));
  const { url, stop } = await startServer(layout, {
    settings: [
      "fsync=off",
      "synchronous_commit=off",
      "full_page_writes=off",
      // Autovacuum workers would visit the database of every test.
      "autovacuum=off",
      "max_connections=500",
    ],
  });
  cleanup.defer(stop);
  // Tests open thousands of connections; by default each login hashes the password 4,096 times.
  const { username, password } = new URL(url);
  await runSql(url, `set scram_iterations = 1; alter role ${username} password '${password}'`);
  const template = await createDatabase({ server: url, name: TEMPLATE, template: null });
  await migrate(template, await loadMigrations());
  return url;
}

/** Creates a data folder that tests copy, because a first start takes much longer than a copy. */
async function prepareDataFolder(): Promise<string> {
  const path = join(folder, "data");
  await Deno.mkdir(path);
  await Deno.chmod(path, 0o755);
  const { code, stderr } = await runTask(["migrate"], { DATA_DIR: path });
  if (code !== 0) throw new Error(`The data folder cannot be prepared: ${stderr}`);
  return path;
}

/**
 * Downloads missing packages before the first test. During a download Deno blocks every other
 * process that loads a package, so tests would wait too long for the services that they start.
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
