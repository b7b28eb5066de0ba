/** Starts, supervises and stops the embedded PostgreSQL that `install.ts` laid out. */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import type { Layout } from "./layout.ts";

/** A killed server can linger for seconds (as a zombie, or with clients) before a new one may start. */
const START_PATIENCE_MS = 10_000;

export interface EmbeddedServer {
  url: string;
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** Further `name=value` settings of the server. */
  settings?: string[];
  /** Told when the server died by itself and is being started again. */
  onCrash?: () => void;
}

/** Starts the server and keeps it running until `stop()`. The caller holds the folder's lock. */
export async function startServer(
  layout: Layout,
  options: ServerOptions = {},
): Promise<EmbeddedServer> {
  if (await findServer(layout)) await pgCtl(layout, "stop", "-m", "fast", "-w");
  const port = freePort();
  let process = await launch(layout, port, options);
  let stopping = false;

  const supervision = (async () => {
    while (true) {
      await process.status;
      await closeQuietly(process.stdin);
      if (stopping) return;
      options.onCrash?.();
      process = await launch(layout, port, options);
    }
  })();
  // Whoever stops the server hears of a failed restart; until then it must not end the service.
  supervision.catch(() => {});

  return {
    url: await serverUrl(layout, port),
    async stop() {
      stopping = true;
      await closeQuietly(process.stdin);
      await supervision;
    },
  };
}

/** The address of the server that runs in this folder already, or null. */
export async function findServer(layout: Layout): Promise<string | null> {
  const pidFile = await readPidFile(layout);
  if (!pidFile?.ready) return null;
  // A pid file can outlive its server, and its port can belong to a stranger by now: only who
  // takes the password and names the same folder is ours.
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
  const deadline = Date.now() + START_PATIENCE_MS;
  while (true) {
    const process = new Deno.Command(layout.leash, {
      args: [
        layout.logFile,
        join(layout.programs, "bin/postgres"),
        "-D",
        layout.cluster,
        "-p",
        String(port),
        ...settings.flatMap((setting) => ["-c", setting]),
      ],
      cwd: layout.home,
      stdin: "piped",
      stdout: "null",
      stderr: "null",
      // In a process group of its own, so that a Ctrl-C in the terminal reaches the service alone.
      detached: true,
      ...layout.runAs,
    }).spawn();
    if (await becomesReady(layout, port, process)) return process;
    await closeQuietly(process.stdin);
    if (Date.now() > deadline) {
      throw new Error(`PostgreSQL does not start; the reason is in ${layout.logFile}`);
    }
    await delay(100);
    // Its process is gone but a stranger has its number now: only then is the file in the way.
    // Should a server still live, its shared memory keeps the new one from starting.
    if (Date.now() > deadline) await Deno.remove(pidFilePath(layout)).catch(() => {});
  }
}

async function becomesReady(layout: Layout, port: number, process: Deno.ChildProcess) {
  let ended = false;
  const end = process.status.then(() => ended = true);
  while (!ended) {
    const pidFile = await readPidFile(layout);
    if (pidFile?.ready && pidFile.port === port) return true;
    await Promise.race([delay(10), end]);
  }
  return false;
}

async function serverUrl(layout: Layout, port: number): Promise<string> {
  const password = await Deno.readTextFile(layout.passwordFile);
  return `postgres://gateway:${password}@127.0.0.1:${port}/postgres`;
}

/** The fourth line of the pid file is the port, the eighth the state. */
async function readPidFile(layout: Layout): Promise<{ port: number; ready: boolean } | null> {
  const text = await Deno.readTextFile(pidFilePath(layout)).catch(() => null);
  if (text === null) return null;
  const lines = text.split("\n");
  return { port: Number(lines[3]), ready: lines[7]?.trim() === "ready" };
}

function pidFilePath(layout: Layout): string {
  return join(layout.cluster, "postmaster.pid");
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
