/** A PostgreSQL as Debian installs it: unlike the embedded one it comes with `pg_dump`. */

import { join } from "node:path";
import { NOBODY } from "../../db/embedded/layout.ts";
import { ask } from "./database.ts";
import { sayMissing } from "./programs.ts";
import { until } from "./until.ts";

const VERSIONS = "/usr/lib/postgresql";

const NEEDED = ["initdb", "postgres", "pg_dump", "pg_restore"];

export interface DebianPostgres extends AsyncDisposable {
  url: string;
  /** Where its programs are. */
  programs: string;
}

/** Null: there is none on this machine, which is said loudly. */
export function findPrograms(versions = VERSIONS): string | null {
  const found = foldersIn(versions).map((version) => join(version, "bin"))
    .find((folder) => NEEDED.every((name) => isFile(join(folder, name))));
  if (!found) sayMissing("pg_dump", `the test of the guide's backup is (looked in ${versions})`);
  return found ?? null;
}

export async function startDebianPostgres(
  programs: string,
  folder: string,
): Promise<DebianPostgres> {
  const runAs = Deno.uid() === 0 ? NOBODY : {};
  if (Deno.uid() === 0) await Deno.chown(folder, NOBODY.uid, NOBODY.gid);
  const cluster = join(folder, "cluster");
  const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
  const initdb = ["-D", cluster, "-A", "trust", "-U", "postgres", "--no-sync"];
  await new Deno.Command(join(programs, "initdb"), { args: initdb, ...runAs, ...quiet }).output();
  const port = freePort();
  const process = new Deno.Command(join(programs, "postgres"), {
    args: ["-D", cluster, "-h", "127.0.0.1", "-p", String(port), "-k", "", "-F"],
    ...runAs,
    ...quiet,
  }).spawn();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await until("it takes connections", () => ask(url, "select 1").then(() => true, () => false));
  return {
    url,
    programs,
    async [Symbol.asyncDispose]() {
      process.kill("SIGINT");
      await process.status;
    },
  };
}

function foldersIn(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
