/** The paths of the embedded PostgreSQL, and the user it runs as. */

import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { type ServerUser, SHARED_FOLDER } from "./platform.ts";

export interface Layout {
  /**
   * Contains all files of the server: `DATA_DIR/postgres`, or elsewhere (see `chooseHome`). It
   * belongs to the service's user; only the cluster, the password and the log belong to the
   * server's user.
   */
  home: string;
  programs: string;
  /** The installed `run_server.sh`, which stops the server when the service ends. */
  serverScript: string;
  cluster: string;
  passwordFile: string;
  logFile: string;
  lockFile: string;
  pidFile: string;
  /** The user of the server; null: the service's user. */
  runAs: ServerUser | null;
}

export function layoutIn(home: string, runAs: Layout["runAs"]): Layout {
  return {
    home,
    programs: join(home, "programs"),
    serverScript: join(home, "run_server"),
    cluster: join(home, "cluster"),
    passwordFile: join(home, "password"),
    logFile: join(home, "server.log"),
    lockFile: join(home, "lock"),
    pidFile: join(home, "cluster/postmaster.pid"),
    runAs,
  };
}

/** The layout of this data folder, or null if nothing is installed yet. */
export async function readLayout(dataDir: string): Promise<Layout | null> {
  try {
    const { home, runAs } = JSON.parse(await Deno.readTextFile(layoutFile(dataDir)));
    return layoutIn(resolve(dataDir, home), runAs);
  } catch (error) {
    // A file that a crash left incomplete counts as missing: installing again chooses the same
    // place.
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return null;
    throw error;
  }
}

/**
 * Stores the layout; a path inside the data folder is stored as relative, so the folder can be
 * moved.
 */
export async function writeLayout(dataDir: string, { home, runAs }: Layout): Promise<void> {
  const storedHome = home.startsWith(dataDir + "/") ? home.slice(dataDir.length + 1) : home;
  await Deno.writeTextFile(layoutFile(dataDir), JSON.stringify({ home: storedHome, runAs }) + "\n");
}

/**
 * Chooses the folder of the server's files, normally in the data folder. If root runs the service,
 * the server runs as a user without privileges, who needs access to the data folder and to every
 * folder above it. If one of them denies access (such as a home folder with mode 0700), the server
 * gets a folder under /var/lib, one per data folder.
 */
export async function chooseHome(dataDir: string): Promise<string> {
  const home = join(dataDir, "postgres");
  if (Deno.uid() !== 0 || await isAccessibleToOthers(dataDir)) return home;
  const name = createHash("sha256").update(dataDir).digest("hex").slice(0, 16);
  return join(SHARED_FOLDER, name);
}

async function isAccessibleToOthers(path: string): Promise<boolean> {
  for (let folder = path;; folder = join(folder, "..")) {
    const { mode } = await Deno.stat(folder);
    if (((mode ?? 0) & 0o001) === 0) return false;
    if (folder === "/") return true;
  }
}

function layoutFile(dataDir: string): string {
  return join(dataDir, "postgres.json");
}
