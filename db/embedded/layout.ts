/** The files of the embedded PostgreSQL, and the user that it runs as. */

import { createHash } from "node:crypto";
import { join, resolve } from "node:path";

export interface Layout {
  /**
   * The folder of the server: `DATA_DIR/postgres`, or another one (see `chooseHome`). It belongs to the
   * service's user; only the cluster and the log belong to the user that the server runs as.
   */
  home: string;
  programs: string;
  /** The script that runs the server and stops it when the service ends (`leash.sh`). */
  leash: string;
  cluster: string;
  passwordFile: string;
  logFile: string;
  lockFile: string;
  pidFile: string;
  /** The user that the server runs as; null: the service's own user. */
  runAs: { uid: number; gid: number } | null;
}

/** PostgreSQL refuses to run as root. Every Linux has the user `nobody`, with this id. */
export const NOBODY_USER = { uid: 65534, gid: 65534 };

export function layoutIn(home: string, runAs: Layout["runAs"]): Layout {
  return {
    home,
    programs: join(home, "programs"),
    leash: join(home, "leash"),
    cluster: join(home, "cluster"),
    passwordFile: join(home, "password"),
    logFile: join(home, "server.log"),
    lockFile: join(home, "lock"),
    pidFile: join(home, "cluster/postmaster.pid"),
    runAs,
  };
}

/** The layout that was installed for this data folder; null: none was. */
export async function readLayout(dataDir: string): Promise<Layout | null> {
  try {
    const { home, runAs } = JSON.parse(await Deno.readTextFile(recordFile(dataDir)));
    return layoutIn(resolve(dataDir, home), runAs);
  } catch (error) {
    // A file that is incomplete after a crash counts as missing: the installation chooses the same folder.
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Stores the choice. A home inside the data folder is stored as relative, so the folder can be moved. */
export async function writeLayout(dataDir: string, { home, runAs }: Layout): Promise<void> {
  const inside = home.startsWith(dataDir + "/") ? home.slice(dataDir.length + 1) : home;
  await Deno.writeTextFile(recordFile(dataDir), JSON.stringify({ home: inside, runAs }) + "\n");
}

/**
 * The data folder, unless the service runs as root. Then the server runs as the user `nobody`, which
 * may not have access to a parent of the data folder (such as a home folder with mode 0700). In that
 * case the server gets a folder of its own under /var/lib, one for each data folder.
 */
export async function chooseHome(dataDir: string): Promise<string> {
  const home = join(dataDir, "postgres");
  if (Deno.uid() !== 0 || await othersMayPass(dataDir)) return home;
  const name = createHash("sha256").update(dataDir).digest("hex").slice(0, 16);
  return join("/var/lib/payment-gateway", name);
}

async function othersMayPass(path: string): Promise<boolean> {
  for (let folder = path;; folder = join(folder, "..")) {
    const { mode } = await Deno.stat(folder);
    if (((mode ?? 0) & 0o001) === 0) return false;
    if (folder === "/") return true;
  }
}

function recordFile(dataDir: string): string {
  return join(dataDir, "postgres.json");
}
