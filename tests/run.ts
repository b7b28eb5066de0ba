/**
 * Starts a PostgreSQL server and runs the tests against it.
 *
 * - `deno task test`: checks format, lint and types, and runs the tests, with a share of the random
 *   inputs and kill rounds.
 * - `deno task test --full`: tries all inputs, and also runs the files that take very long.
 * - `deno task test PATH…`: runs the tests in these files and folders; checks nothing else. Options
 *   of `deno test`, such as `--filter`, can be added.
 * - `deno task test:quick`: runs the tests that start no other processes, without the slowest.
 * - `deno task test --pooled`: runs the core part of the tests through PgBouncer. The run of all
 *   tests includes a part of this, and `--full` all of it.
 * - `deno task test --oldest`: runs the tests of statements and plans on PostgreSQL 15, the oldest
 *   supported version, if Debian's is installed. The run of all tests includes a part of this, and
 *   `--full` all of it.
 */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { install } from "../db/embedded/install.ts";
import { startServer } from "../db/embedded/server.ts";
import { loadMigrations, migrate } from "../db/migrations/migrate.ts";
import { createProgress, readResults, type Result } from "./report.ts";
import { watchProcess } from "./watch.ts";
import {
  findTests,
  FULL_ONLY,
  isQuick,
  MORE_OLDEST,
  MORE_POOLED,
  OLDEST,
  POOLED,
  secondsOf,
  selectTests,
  type TestFiles,
} from "./select.ts";
import { createDatabase, runSql, TEMPLATE } from "./support/database/database.ts";
import { findOldestPrograms, startDebianPostgres } from "./support/database/debian_postgres.ts";
import { hasPgBouncer, startPgBouncer } from "./support/database/pgbouncer.ts";
import { portsOf } from "./support/free_port.ts";
import { missingPrograms } from "./support/programs.ts";
import { PROJECT } from "./support/project.ts";
import { runTask } from "./support/service.ts";
import { TOOLS } from "./support/tools.ts";

const FULL = "--full";
const QUICK = "--quick";

/** More processes than cores, because many tests wait for a timeout or for another process. */
const PROCESSES = 3 * navigator.hardwareConcurrency;

/**
 * How many files run in one process, one after the other: loading the service takes longer than
 * most quick files.
 */
const GROUP_SIZES = { quick: 30, slow: 8 };

/** The share of random inputs and kill rounds that a run without `--full` tries. */
const SHARE = "0.05";

const isFull = Deno.args.includes(FULL);
const args = Deno.args.filter((arg) => arg !== FULL);
const share = { TEST_SHARE: isFull ? "1" : SHARE };

/**
 * A process that prints and does nothing for so long hangs. Deno prints the name of a slow test
 * after 1, 2, 4 and 8 minutes, so a test that hangs is ended after 7 minutes, and with `--full`
 * after 26.
 */
const SILENCE_MS = (isFull ? 10 : 3) * 60_000;

const SERVER_SETTINGS = [
  "fsync=off",
  "synchronous_commit=off",
  "full_page_writes=off",
  // Autovacuum workers would visit the database of every test.
  "autovacuum=off",
  "max_connections=500",
];

const folder = await Deno.makeTempDir({ prefix: "payment-gateway-test-" });
// If root runs the tests, PostgreSQL runs as an ordinary user, who needs access to the folder.
await Deno.chmod(folder, 0o755);
await using cleanup = new AsyncDisposableStack();
cleanup.defer(() => Deno.remove(folder, { recursive: true }));

const [serverUrl] = await Promise.all([startTestServer(), downloadTools()]);

const hasPassed = args.length === 0
  ? await runEverything()
  : args[0] === QUICK
  ? await runQuick()
  : args[0] === "--pooled"
  ? await runGroups(await pooledGroups())
  : args[0] === "--oldest"
  ? await runGroups(await oldestGroups())
  : await runSome(args);
if (!hasPassed) Deno.exitCode = 1;

async function runQuick(): Promise<boolean> {
  const { quick, isolated } = await selectTests();
  const files = { quick: quick.filter(isQuick), isolated: isolated.filter(isQuick) };
  return await runGroups(quickGroups(files, share));
}

/**
 * Runs the check and the quick tests at the same time. If the check fails, the quick tests are
 * stopped, which is safe because they start no processes. The slow tests wait for the check. They
 * start in turn with the quick tests: many of them wait for timeouts or other processes, while the
 * quick tests use the processor.
 */
async function runEverything(): Promise<boolean> {
  const files = await selectTests();
  const stop = new AbortController();
  const checking = check().then((isClean) => {
    if (!isClean) stop.abort();
    return isClean;
  });
  // Starts after the check, because the check downloads all libraries.
  const prepared = checking.then((isClean) => isClean ? prepareDataFolder() : null);
  async function slowEnvironment(): Promise<Environment | null> {
    const dataFolder = await prepared;
    return dataFolder === null ? null : { TEST_DATA_FOLDER: dataFolder, ...share };
  }
  const slow = files.slow.filter((path) => isFull || !FULL_ONLY.includes(path));
  const quick = [
    ...await pooledGroups(),
    ...await oldestGroups(),
    ...quickGroups(files, share),
  ];
  const slowGroups = divideFiles(slow, files.isolated, GROUP_SIZES.slow)
    .map((paths): Group => ({ paths, environment: slowEnvironment }));
  // No process waits for the check: the first groups take longer than it does.
  const first = quick.splice(0, PROCESSES);
  const groups = [...first, ...takeTurns(slowGroups, quick)];
  const hasPassed = await runGroups(groups, { signal: stop.signal });
  return await checking && hasPassed;
}

/** The core part of the tests, with the connections of the service through PgBouncer. */
async function pooledGroups(): Promise<Group[]> {
  const pooler = await startPooler();
  if (pooler === null) return [];
  const files = isFull || args[0] === "--pooled" ? [...POOLED, ...MORE_POOLED] : POOLED;
  const groups = quickGroups({ quick: files, isolated: [] }, {
    TEST_POOLER: pooler,
    ...share,
  });
  return groups.map((group) => ({ ...group, note: "(through PgBouncer)" }));
}

/** The tests of statements and plans, on the oldest supported version of PostgreSQL. */
async function oldestGroups(): Promise<Group[]> {
  const programs = findOldestPrograms();
  if (programs === null) return [];
  const path = join(folder, "oldest");
  await Deno.mkdir(path);
  const server = await startDebianPostgres(programs, path, { settings: SERVER_SETTINGS });
  cleanup.use(server);
  await createTemplate(server.url);
  const files = isFull || args[0] === "--oldest" ? [...OLDEST, ...MORE_OLDEST] : OLDEST;
  const groups = quickGroups({ quick: files, isolated: [] }, {
    TEST_SERVER_URL: server.url,
    ...share,
  });
  return groups.map((group) => ({ ...group, note: "(on PostgreSQL 15)" }));
}

/** Starts PgBouncer in transaction mode and returns its address. Null: it is not installed. */
async function startPooler(): Promise<string | null> {
  if (!await hasPgBouncer()) return null;
  // Each test has its own databases, so idle sessions would soon use up the connections of the
  // server.
  const settings = ["server_idle_timeout = 30"];
  const pgbouncer = await startPgBouncer({ server: serverUrl, mode: "transaction", settings });
  cleanup.use(pgbouncer);
  return new URL(pgbouncer.through(serverUrl)).host;
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
    if (!found && arg.endsWith(".ts")) {
      console.error(`There is no test file ${arg}.`);
      return false;
    }
    if (found?.isDirectory) paths.push(...await findTests(arg));
    else (found ? paths : options).push(arg);
  }
  const { quick, slow } = await selectTests();
  const selected = paths.length > 0 ? paths : [...quick, ...slow];
  const groups = selected.map((path) => ({ paths: [path], environment: share }));
  return await runGroups(groups, { options });
}

type Environment = Record<string, string>;

/** Files that run in one process. */
interface Group {
  paths: string[];
  /** Environment variables, or a function that waits until the files may start; null skips them. */
  environment?: Environment | (() => Promise<Environment | null>);
  /** Printed after the path of each file. */
  note?: string;
}

interface RunOptions {
  /** Options of `deno test`. */
  options?: string[];
  /** Stops the processes and starts no others. */
  signal?: AbortSignal;
}

function quickGroups(
  { quick, isolated }: Pick<TestFiles, "quick" | "isolated">,
  environment?: Environment,
): Group[] {
  return divideFiles(quick, isolated, GROUP_SIZES.quick).map((paths) => ({ paths, environment }));
}

/**
 * Divides files into groups, one for each process. The isolated ones get processes of their own.
 * They start in turn with the groups: many of them wait for timeouts, while the groups use the
 * processor.
 */
function divideFiles(paths: string[], isolated: string[], size: number): string[][] {
  const shared = paths.filter((path) => !isolated.includes(path));
  const alone = paths.filter((path) => isolated.includes(path));
  return takeTurns(divide(shared, size), divide(alone, 1));
}

/** Groups that take about equally long, with about `size` files each; the longest group first. */
function divide(paths: string[], size: number): string[][] {
  const groups = Array.from(
    { length: Math.ceil(paths.length / size) },
    () => ({ paths: [] as string[], seconds: 0 }),
  );
  const seconds = (path: string) => secondsOf(path, { isFull });
  for (const path of paths.toSorted((a, b) => seconds(b) - seconds(a))) {
    const shortest = groups.reduce((a, b) => b.seconds < a.seconds ? b : a);
    shortest.paths.push(path);
    shortest.seconds += seconds(path);
  }
  return groups.sort((a, b) => b.seconds - a.seconds).map(({ paths }) => paths);
}

/** The first of each list, then the second of each, and so on. */
function takeTurns<T>(...lists: T[][]): T[] {
  const length = Math.max(...lists.map((list) => list.length));
  return Array.from({ length }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1)))
    .flat();
}

/** Runs groups of files in this order, several at the same time. Returns whether all passed. */
async function runGroups(groups: Group[], options: RunOptions = {}): Promise<boolean> {
  const total = groups.flatMap(({ paths }) => paths).length;
  const isAlone = total === 1;
  const queue = [...groups];
  const progress = createProgress({
    total,
    isTerminal: Deno.stdout.isTerminal() && !isAlone,
    print: (text) => Deno.stdout.writeSync(new TextEncoder().encode(text)),
    now: () => performance.now(),
    options: isFull ? [FULL] : [],
  });
  async function work(_: unknown, index: number) {
    const ports = { TEST_PORTS: portsOf(index, PROCESSES) };
    for (let group = queue.shift(); group !== undefined; group = queue.shift()) {
      const { paths, environment = {} } = group;
      const variables = typeof environment === "function" ? await environment() : environment;
      if (variables === null) return;
      const { output, files } = await runGroup(group, { ...ports, ...variables }, options, isAlone);
      if (options.signal?.aborted) return;
      // An error outside of tests ends the process, and so does a test that hangs. Files that did
      // not run because of it are queued again, each in its own process.
      const cancelled = paths.length > 1
        ? files.filter(({ path, isCancelled }) => isCancelled && paths.includes(path))
        : [];
      const done = files.filter((file) => !cancelled.includes(file));
      if (cancelled.length > 0) done.push({ ...cancelled[0]!, path: "an error outside of tests" });
      queue.push(...cancelled.map(({ path }) => ({ ...group, paths: [path] })));
      const noted = done.map((file) => ({
        ...file,
        path: group.note ? `${file.path} ${group.note}` : file.path,
      }));
      progress.add(noted, output);
    }
  }
  await Promise.all(Array.from({ length: PROCESSES }, work));
  // What this process itself could not start, such as PgBouncer.
  progress.add([], missingPrograms.join(""));
  return !options.signal?.aborted && progress.end();
}

/**
 * Runs files in one process. One module imports them: given many files, `deno test` loads and
 * compiles the whole service again for each of them. The output of a file that runs alone is shown
 * at once.
 */
async function runGroup(
  { paths }: Group,
  environment: Environment,
  { options = [], signal }: RunOptions,
  isAlone: boolean,
): Promise<{ output: string; files: Result[] }> {
  const name = join(folder, crypto.randomUUID());
  // Each process has its own lock file, because Deno writes packages into it that only tests use.
  await Deno.copyFile(join(PROJECT, "deno.lock"), `${name}.lock`);
  const imports = paths.map((path) => `import "${pathToFileURL(path)}";\n`);
  await Deno.writeTextFile(`${name}_test.ts`, imports.join(""));
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      ...["test", "-P=test", "--no-check", "--sanitize-ops", "--sanitize-resources"],
      ...[`--lock=${name}.lock`, `--junit-path=${name}.xml`, ...options, `${name}_test.ts`],
    ],
    env: { TEST_SERVER_URL: serverUrl, ...environment },
    stdin: "null",
    stdout: isAlone ? "inherit" : "piped",
    stderr: isAlone ? "inherit" : "piped",
    signal,
  });
  const { success, output, isHung } = isAlone
    ? { success: (await command.output()).success, output: "", isHung: false }
    : await watchProcess(command.spawn(), SILENCE_MS);
  const report = await Deno.readTextFile(`${name}.xml`).catch(() => "");
  const files = readResults(paths, report);
  // After an error outside of tests, such as an import that fails, tests are missing in the report.
  const hasFailed = files.some(({ counts }) => counts.failed > 0);
  // The tests of a file can be reported under a shared module, which registers them.
  const hasShared = files.length > paths.length;
  for (const file of success ? [] : files) {
    const { counts } = file;
    const isMissing = counts.passed + counts.failed + counts.skipped === 0 &&
      options.length === 0 && !hasShared;
    if (isMissing || !hasFailed) counts.failed = 1;
    if (isHung) file.isCancelled = true;
  }
  return { output, files };
}

/** Starts PostgreSQL and creates the database that tests copy. */
async function startTestServer(): Promise<string> {
  const layout = await install(folder, (line) => console.error(line));
  const { url, stop } = await startServer(layout, { settings: SERVER_SETTINGS });
  cleanup.defer(stop);
  // Tests open thousands of connections; by default each login hashes the password 4,096 times.
  const { username, password } = new URL(url);
  await runSql(url, `set scram_iterations = 1; alter role ${username} password '${password}'`);
  await createTemplate(url);
  return url;
}

async function createTemplate(server: string): Promise<void> {
  const template = await createDatabase({ server, name: TEMPLATE, template: null });
  await migrate(template, await loadMigrations());
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
