/** Starts, supervises and stops the embedded PostgreSQL that `install.ts` installed. */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { waitAtMost } from "../../concurrency/deadlines.ts";
import type { Layout } from "./layout.ts";

/**
 * For this long, failed starts are tried again: a killed server can block a new one for seconds,
 * until its child processes have ended.
 */
const START_RETRY_MS = 10_000;

/** The pause between attempts to restart a server. The number of attempts is not limited. */
const RESTART_PAUSE_MS = 1_000;

/** How long the server may take to end. */
const STOP_TIMEOUT_MS = 5_000;

export interface EmbeddedServer {
  url: string;
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** Further `name=value` settings of the server. */
  settings?: string[];
  /** Called when the server crashed, and with the error of each failed restart. */
  onCrash?: (failedRestart?: unknown) => void;
}

/** Starts the server and keeps it running until `stop()`. The caller holds the folder's lock. */
export async function startServer(
  layout: Layout,
  options: ServerOptions = {},
): Promise<EmbeddedServer> {
  if (await findServer(layout)) await pgCtl(layout, "stop", "-m", "fast", "-w");
  const port = freePort();
  let process: Deno.ChildProcess | null = await launch(layout, port, options);
  let isStopping = false;

  async function supervise() {
    while (!isStopping) {
      if (process) {
        await process.status;
        await closeQuietly(process.stdin);
        if (!isStopping) options.onCrash?.();
      }
      process = isStopping ? null : await restart();
    }
    // `stop()` was called during a restart, so it could not stop this server.
    if (!process) return;
    await closeQuietly(process.stdin);
    await process.status;
  }

  /** Restarts on the same port, because callers keep the URL. Null: failed; the caller retries. */
  async function restart() {
    try {
      return await launch(layout, port, options);
    } catch (error) {
      options.onCrash?.(error);
      await delay(RESTART_PAUSE_MS);
      return null;
    }
  }

  const supervision = supervise();
  return {
    url: await serverUrl(layout, port),
    async stop() {
      isStopping = true;
      if (process) await closeQuietly(process.stdin);
      // If the server takes longer, `run_server.sh` still stops it.
      await waitAtMost(STOP_TIMEOUT_MS, supervision);
    },
  };
}

/** The URL of the server that already runs in this folder, or null. */
export async function findServer(layout: Layout): Promise<string | null> {
  const pidFile = await readPidFile(layout);
  if (!pidFile?.isReady) return null;
  // A pid file can outlive its server, and another program may use that port by now. The program at
  // that port is this folder's server only if it accepts the password and reports this folder.
  const url = await serverUrl(layout, pidFile.port);
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => {} });
  try {
    const [row] = await sql`select current_setting('data_directory') as folder`;
    return row?.folder === layout.cluster ? url : null;
  } catch {
    return null;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

async function launch(layout: Layout, port: number, options: ServerOptions) {
  const settings = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "timezone=UTC",
    "log_timezone=UTC",
    ...options.settings ?? [],
  ];
  const deadline = Date.now() + START_RETRY_MS;
  while (true) {
    const stale = await readPidFile(layout);
    const process = new Deno.Command(layout.serverScript, {
      args: [String(port), ...settings],
      cwd: layout.home,
      stdin: "piped",
      stdout: "null",
      stderr: "null",
      // In its own process group, so that Ctrl-C in the terminal reaches only the service.
      detached: true,
      ...layout.runAs,
    }).spawn();
    if (await becomesReady(layout, port, process, stale)) return process;
    await closeQuietly(process.stdin);
    if (Date.now() > deadline) {
      throw new Error(`PostgreSQL did not start. See ${layout.logFile} for the reason.`);
    }
    // This process holds the lock and no server responds, so the pid file is left over; another
    // process may have that pid by now. If a server does run, PostgreSQL finds its shared memory
    // and refuses to start a second one.
    if (!await findServer(layout)) await Deno.remove(layout.pidFile).catch(() => {});
    await delay(100);
  }
}

/** False: the server ended first. Ignores the pid file that a killed server has left. */
async function becomesReady(
  layout: Layout,
  port: number,
  process: Deno.ChildProcess,
  stale: PidFile | null,
): Promise<boolean> {
  let hasEnded = false;
  const end = process.status.then(() => hasEnded = true);
  while (!hasEnded) {
    const pidFile = await readPidFile(layout);
    // In a container that was restarted, the new server can have the pid of the killed one.
    const isNew = pidFile?.pid !== stale?.pid || pidFile?.startedAt !== stale?.startedAt;
    if (pidFile?.isReady && pidFile.port === port && isNew) return true;
    await Promise.race([delay(10), end]);
  }
  return false;
}

async function serverUrl(layout: Layout, port: number): Promise<string> {
  const password = await Deno.readTextFile(layout.passwordFile);
  return `postgres://gateway:${password}@127.0.0.1:${port}/postgres`;
}

/** What PostgreSQL writes about a running server. */
interface PidFile {
  pid: number;
  /** In seconds. */
  startedAt: number;
  port: number;
  isReady: boolean;
}

/** The lines of the file have fixed meanings; the eighth is the state. */
async function readPidFile(layout: Layout): Promise<PidFile | null> {
  const text = await Deno.readTextFile(layout.pidFile).catch(() => null);
  if (text === null) return null;
  const lines = text.split("\n");
  return {
    pid: Number(lines[0]),
    startedAt: Number(lines[2]),
    port: Number(lines[3]),
    isReady: lines[7]?.trim() === "ready",
  };
}

async function pgCtl(layout: Layout, ...args: string[]): Promise<void> {
  await new Deno.Command(join(layout.programs, "bin/pg_ctl"), {
    args: [...args, "-D", layout.cluster],
    cwd: layout.home,
    stdout: "null",
    stderr: "null",
    ...layout.runAs,
  }).output();
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function closeQuietly(stream: WritableStream): Promise<void> {
  await stream.close().catch(() => {});
}
