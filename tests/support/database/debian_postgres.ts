/** A PostgreSQL installed by Debian: unlike the embedded one it includes `pg_dump`. */

import { join } from "node:path";
import { NOBODY_USER } from "../../../db/embedded/platform.ts";
import { freePort } from "../free_port.ts";
import { printMissing } from "../programs.ts";
import { until } from "../until.ts";
import { runSql } from "./database.ts";

const VERSIONS = "/usr/lib/postgresql";

const NEEDED = ["initdb", "postgres", "pg_dump", "pg_restore"];

export interface DebianPostgres extends AsyncDisposable {
  url: string;
  /** The folder of its programs. */
  programs: string;
}

/** The folder of PostgreSQL's programs; if there is none, prints a warning and returns null. */
export function findPrograms(versions = VERSIONS): string | null {
  const found = foldersIn(versions).map((version) => join(version, "bin"))
    .find((folder) => NEEDED.every((name) => isFile(join(folder, name))));
  if (!found) {
    printMissing("pg_dump", `the test of the guide's backup (searched in ${versions}) is`);
  }
  return found ?? null;
}

/**
 * The folder of the programs of the oldest version that the service supports. If it is not
 * installed, prints a warning and returns null.
 */
export function findOldestPrograms(): string | null {
  const programs = join(VERSIONS, "15", "bin");
  if (NEEDED.every((name) => isFile(join(programs, name)))) return programs;
  printMissing("PostgreSQL 15", "the tests on the oldest supported version are");
  return null;
}

export interface ServerOptions {
  choosePort?: () => number;
  /** Such as `autovacuum=off`. */
  settings?: readonly string[];
}

export async function startDebianPostgres(
  programs: string,
  folder: string,
  { choosePort = freePort, settings = [] }: ServerOptions = {},
): Promise<DebianPostgres> {
  const runAs = Deno.uid() === 0 ? NOBODY_USER : {};
  if (Deno.uid() === 0) await Deno.chown(folder, NOBODY_USER.uid, NOBODY_USER.gid);
  const cluster = join(folder, "cluster");
  const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
  const initdb = ["-D", cluster, "-A", "trust", "-U", "postgres", "--no-sync"];
  await new Deno.Command(join(programs, "initdb"), { args: initdb, ...runAs, ...quiet }).output();
  // Another process may take the free port before the server does; the server then ends at once.
  for (let attempt = 0; attempt < 3; attempt++) {
    const port = choosePort();
    const process = new Deno.Command(join(programs, "postgres"), {
      args: [
        ...["-D", cluster, "-h", "127.0.0.1", "-p", String(port), "-k", "", "-F"],
        ...settings.flatMap((setting) => ["-c", setting]),
      ],
      ...runAs,
      ...quiet,
    }).spawn();
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    if (!await acceptsConnections(url, cluster, process.status)) continue;
    return {
      url,
      programs,
      async [Symbol.asyncDispose]() {
        process.kill("SIGINT");
        await process.status;
      },
    };
  }
  throw new Error(`PostgreSQL ended after each start in ${cluster}`);
}

/** False if the server ended. Compares data folders, as another PostgreSQL may use the port. */
async function acceptsConnections(
  url: string,
  cluster: string,
  status: Promise<unknown>,
): Promise<boolean> {
  let hasEnded = false;
  const ended = status.then(() => hasEnded = true);
  await until("PostgreSQL accepts connections", () => {
    const isOurs = runSql(url, "show data_directory")
      .then(([row]) => row?.data_directory === cluster, () => false);
    return Promise.race([isOurs, ended]);
  });
  return !hasEnded;
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
