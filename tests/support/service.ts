/** Runs the service and its tasks as processes. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { permissionFlags } from "../../commands/prepare.ts";
import { FolderInUse } from "../../db/embedded/folder_lock.ts";
import { install } from "../../db/embedded/install.ts";
import { readLayout } from "../../db/embedded/layout.ts";
import { callService } from "./client.ts";
import { freePort } from "./free_port.ts";
import { createDataFolder, PROJECT } from "./project.ts";
import { inTime, until } from "./until.ts";

const START_TIMEOUT_MS = 120_000;

/** Far longer than a stop takes. Without it, a service that does not stop would stop all tests. */
const STOP_TIMEOUT_MS = 180_000;

/**
 * For processes that may download. Behind a proxy that re-signs TLS, only the system's store
 * contains the proxy's certificate authority.
 */
export const DOWNLOAD_ENV = { DENO_TLS_CA_STORE: "mozilla,system" };

/**
 * The flag with which a service waits longer for the database. For a command line that a test puts
 * together itself; the path is relative to the project.
 */
export const PATIENT = "--preload=tests/support/patient.ts";

/** The environment of a process: the settings and what Deno needs, without the tests' variables. */
export function environment(settings: Record<string, string>): Record<string, string> {
  const inherited = ["PATH", "HOME", "DENO_DIR", "TMPDIR"].flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(inherited), NO_COLOR: "1", ...settings };
}

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a task and waits until it ends. */
export async function runTask(
  args: string[],
  settings: Record<string, string>,
  cwd = PROJECT,
): Promise<Outcome> {
  return await runProcess([Deno.execPath(), "task", "-q", ...args], settings, cwd);
}

/**
 * Runs a command of `main.ts`, by default the service, and waits until it ends. A task would start
 * three processes instead of one.
 */
export async function runCommand(
  args: string[],
  settings: Record<string, string>,
): Promise<Outcome> {
  return await runProcess([...await mainCommand(settings), ...args], settings, PROJECT);
}

async function runProcess(
  [program, ...args]: string[],
  settings: Record<string, string>,
  cwd: string,
): Promise<Outcome> {
  const { code, stdout, stderr } = await new Deno.Command(program!, {
    args,
    env: environment(settings),
    clearEnv: true,
    cwd,
    stdin: "null",
  }).output();
  return {
    code,
    stdout: new TextDecoder().decode(stdout),
    stderr: new TextDecoder().decode(stderr),
  };
}

/**
 * The message with which a start failed. Every line is JSON, because the output is not a terminal.
 */
export function startError(stderr: string): string {
  const lines = stderr.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const { level, event, message } = lines.at(-1)!;
  assert.deepEqual([level, event], ["error", "start_failed"]);
  return `${message}\n`;
}

export interface ServiceProcess extends AsyncDisposable {
  url: string;
  /** The URL of the sandbox; empty if there is none. */
  sandbox: string;
  /** The keys in the start message; empty if there are none. */
  keys: { user: string; staff: string };
  /** Sends a request with or without a key, and reads the whole response. */
  get(path: string, key?: string): Promise<{ status: number; text: string }>;
  /** Standard output and error so far. */
  output(): string;
  /** The pid of the service, from the lock file in its data folder. */
  pid(): Promise<number>;
  /** Sends a signal to the started process. `deno task` passes it on to the service. */
  signal(name: Deno.Signal): void;
  ended: Promise<Outcome>;
}

export interface StartOptions {
  settings?: Record<string, string>;
  cwd?: string;
  /** The command line; by default that of the service itself, without `deno task`. */
  command?: string[];
  /** Called with the output so far whenever there is more. */
  onOutput?: (output: string) => void;
  /** Gets the output after the start, which is then not kept: a long run logs many requests. */
  onLog?: (text: string) => void;
  /** The user to run as; by default the user of the tests. */
  runAs?: { uid: number; gid: number };
  /**
   * Whether the service has its own, short deadline for the database, as the tests of outages need.
   * Without it, and without `command`, the service waits longer.
   */
  hasOwnDeadline?: boolean;
}

/** For tests of `deno task start`, which needs three processes and takes twice as long. */
export const START_TASK = [Deno.execPath(), "task", "start"];

/**
 * The command with which `deno task start` runs the service at its end, by default with more time
 * for the database.
 */
export async function mainCommand(
  settings: Record<string, string>,
  { hasOwnDeadline = false }: Pick<StartOptions, "hasOwnDeadline"> = {},
) {
  const { DATABASE_URL, DATA_DIR, QUEUE, BACKUP_TIME_FILE: backupTimeFile } = settings;
  const isEmbedded = !DATABASE_URL;
  const dataDir = DATA_DIR ?? "/nowhere";
  const layout = isEmbedded ? await installDatabase(dataDir) : null;
  const queue = QUEUE ?? (isEmbedded ? "kv" : "postgres");
  const config = { dataDir, queue: queue as "kv" | "postgres", backupTimeFile };
  const flags = permissionFlags(config, layout, PROJECT);
  const run = ["run", "--no-prompt", "--env-file=deploy/telemetry.env"];
  const patience = hasOwnDeadline ? [] : [PATIENT];
  return [Deno.execPath(), ...run, ...patience, ...flags, "main.ts"];
}

async function installDatabase(dataDir: string) {
  try {
    return await install(dataDir, () => {});
  } catch (error) {
    // A service runs in the folder, so the database is installed.
    if (error instanceof FolderInUse) return await readLayout(dataDir);
    throw error;
  }
}

/** Starts the service and waits until it prints its URL. */
export async function startService(options: StartOptions = {}): Promise<ServiceProcess> {
  const { settings = {}, cwd = PROJECT } = options;
  const [program, ...args] = options.command ?? await mainCommand(settings, options);
  const process = new Deno.Command(program!, {
    args,
    env: environment({
      PORT: String(freePort()),
      DRAIN_SECONDS: "0",
      ...sandboxPort(settings),
      ...settings,
    }),
    clearEnv: true,
    cwd,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    detached: true,
    ...options.runAs,
  }).spawn();

  const written = { stdout: "", stderr: "" };
  const output = () => written.stdout + written.stderr;
  const { promise: listening, resolve } = Promise.withResolvers<string>();
  let isListening = false;
  async function collect(name: "stdout" | "stderr") {
    for await (const text of process[name].pipeThrough(new TextDecoderStream())) {
      if (isListening && options.onLog) {
        options.onLog(text);
        continue;
      }
      written[name] += text;
      options.onOutput?.(output());
      if (isListening) continue;
      // The pattern matches only a complete URL; the output may arrive in parts.
      const url = written.stdout.match(/(?:^ +API +|"url":")(http:[^\s"]+)["\s]/m)?.[1];
      isListening = url !== undefined;
      if (url) resolve(url);
    }
  }
  const collected = Promise.all([collect("stdout"), collect("stderr")]);
  const ended = process.status.then(async ({ code }) => {
    await collected;
    return { code, ...written };
  });
  const tooLate = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    process.kill("SIGKILL");
    tooLate.reject(new Error(`The service did not start in ${START_TIMEOUT_MS} ms:\n${output()}`));
  }, START_TIMEOUT_MS);
  const url = await Promise.race([
    listening,
    ended.then(({ code }) => assert.fail(`The service ended with ${code}:\n${output()}`)),
    tooLate.promise,
  ]).finally(() => clearTimeout(timer));
  let hasEnded = false;
  ended.then(() => hasEnded = true);
  return {
    url: url.replace(/\/$/, ""),
    sandbox: output().match(/^ +Sandbox +(http:\S+)\//m)?.[1] ?? "",
    keys: {
      user: output().match(/^ +user +(gk_\S+)$/m)?.[1] ?? "",
      staff: output().match(/^ +staff +(gk_\S+)$/m)?.[1] ?? "",
    },
    async get(path, key) {
      const headers = key ? { Authorization: `Bearer ${key}` } : undefined;
      const response = await callService(
        url.replace(/\/$/, "") + path,
        { headers },
        settings.BASE_PATH,
      );
      return { status: response.status, text: await response.text() };
    },
    output,
    pid: async () =>
      parseInt(await Deno.readTextFile(join(postgresHome(settings.DATA_DIR!), "lock"))),
    signal: (name) => Deno.kill(process.pid, name),
    ended,
    async [Symbol.asyncDispose]() {
      if (!hasEnded) Deno.kill(process.pid, "SIGTERM");
      await inTime("the service has ended", ended, STOP_TIMEOUT_MS).catch((error) => {
        throw new Error(`The service did not stop:\n${output()}`, { cause: error });
      });
    },
  };
}

/** The service is not ready for a moment if the database responds late. */
export async function untilReady(service: ServiceProcess): Promise<void> {
  await until(
    "the service is ready",
    async () => (await service.get("/health/ready/")).status === 200,
  );
}

/** Only the embedded default has a sandbox; other installations reject its setting. */
function sandboxPort(settings: Record<string, string>): Record<string, string> {
  const { DATABASE_URL, GATEWAY_SERVER_KEY, DENO_DEPLOY } = settings;
  return DATABASE_URL || GATEWAY_SERVER_KEY || DENO_DEPLOY
    ? {}
    : { SANDBOX_PORT: String(freePort()) };
}

/**
 * A data folder for one test, removed afterwards. When the whole suite runs, the folder already has
 * a database, which saves the time of a first start.
 */
export async function preparedFolder(): Promise<{ path: string } & AsyncDisposable> {
  const folder = await createDataFolder();
  const prepared = Deno.env.get("TEST_DATA_FOLDER");
  if (!prepared) return folder;
  const [home, preparedHome] = [postgresHome(folder.path), postgresHome(prepared)];
  await Deno.mkdir(home);
  // If the tests run as root, PostgreSQL runs as another user, who needs access to the folder.
  await Deno.chmod(home, 0o755);
  await copyAll(prepared, folder.path, ["postgres"]);
  await copyAll(preparedHome, home, ["programs"]);
  // Nothing changes the programs, so links are enough; a copy would take most of the time.
  await runCopy(["--link", join(preparedHome, "programs"), home]);
  return folder;
}

/** Copies the content of a folder, except for some names. */
async function copyAll(from: string, to: string, except: string[]): Promise<void> {
  const names = await Array.fromAsync(Deno.readDir(from), ({ name }) => name);
  const copied = names.filter((name) => !except.includes(name));
  if (copied.length > 0) await runCopy([...copied.map((name) => join(from, name)), to]);
}

async function runCopy(args: string[]): Promise<void> {
  // `-a` keeps the owners: if the tests run as root, the database belongs to another user.
  const { success, stderr } = await new Deno.Command("cp", { args: ["-a", ...args] }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

export function postgresHome(dataDir: string): string {
  return join(dataDir, "postgres");
}

/** Whether the embedded server runs: it removes its pid file at the very end. */
export async function postgresRuns(dataDir: string): Promise<boolean> {
  const pidFile = join(postgresHome(dataDir), "cluster/postmaster.pid");
  return await Deno.stat(pidFile).then(() => true, () => false);
}
