/** A PgBouncer in front of the test server. */

import { join } from "node:path";
import { NOBODY_USER } from "../../../db/embedded/platform.ts";
import { freePort } from "../free_port.ts";
import { hasProgram } from "../programs.ts";
import { until } from "../until.ts";
import "./stray_errors.ts";

/** Debian installs it in a folder that is not in the PATH of ordinary users. */
const PROGRAM = "/usr/sbin/pgbouncer";

export type PoolMode = "session" | "transaction" | "statement";

export interface PgBouncer extends AsyncDisposable {
  /** The URL that leads to the same database through the pooler. */
  through(databaseUrl: string): string;
  start(): Promise<void>;
  /** Ends the pooler at once, and all of its connections. */
  kill(): Promise<void>;
}

/** If PgBouncer is missing, prints that tests are skipped. */
export function hasPgBouncer(): Promise<boolean> {
  return hasProgram(PROGRAM, "the tests with a connection pooler are");
}

export interface PgBouncerOptions {
  /** A database of the server. */
  server: string;
  mode: PoolMode;
  /** The number of sessions for each database. */
  sessions?: number;
  /** Other settings of PgBouncer. */
  settings?: string[];
}

export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  const { server, mode, sessions = 10, settings = [] } = options;
  const { hostname, port, username, password } = new URL(server);
  const folder = await Deno.makeTempDir({ prefix: "pgbouncer-" });
  const pooler = { hostname: "127.0.0.1", port: String(freePort()) };
  const runAs = Deno.uid() === 0 ? NOBODY_USER : {};
  await Deno.chmod(folder, 0o755);
  await Deno.writeTextFile(
    join(folder, "users"),
    `"${username}" "${decodeURIComponent(password)}"\n`,
  );
  await Deno.writeTextFile(
    join(folder, "settings"),
    [
      "[databases]",
      `* = host=${hostname} port=${port}`,
      "[pgbouncer]",
      `listen_addr = ${pooler.hostname}`,
      `listen_port = ${pooler.port}`,
      "unix_socket_dir =",
      "auth_type = trust",
      `auth_file = ${folder}/users`,
      `pool_mode = ${mode}`,
      `default_pool_size = ${sessions}`,
      // The pause after PgBouncer failed to connect; the default is 15 s.
      "server_login_retry = 1",
      ...["max_client_conn = 1000", ...settings],
    ].join("\n"),
  );
  let process: Deno.ChildProcess | null = null;

  const pgbouncer: PgBouncer = {
    through: (databaseUrl) => Object.assign(new URL(databaseUrl), pooler).href,
    async start() {
      process = new Deno.Command(PROGRAM, {
        args: ["-q", join(folder, "settings")],
        ...runAs,
        stdin: "null",
        stdout: "null",
        stderr: "null",
      }).spawn();
      await until("PgBouncer accepts connections", async () => {
        const connection = await Deno.connect({ ...pooler, port: Number(pooler.port) })
          .catch(() => null);
        connection?.close();
        return connection !== null;
      });
    },
    async kill() {
      process?.kill("SIGKILL");
      await process?.status;
      process = null;
    },
    async [Symbol.asyncDispose]() {
      await pgbouncer.kill();
      await Deno.remove(folder, { recursive: true });
    },
  };
  await pgbouncer.start();
  return pgbouncer;
}
