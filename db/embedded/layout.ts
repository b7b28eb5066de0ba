/** Where the embedded PostgreSQL keeps its parts, and as whom it runs. */

import { createHash } from "node:crypto";
import { join, resolve } from "node:path";

export interface Layout {
  /**
   * Holds everything of the server: `DATA_DIR/postgres`, or elsewhere (see `chooseHome`). It is the
   * service's own; only the cluster and the log belong to whom the server runs as.
   */
  home: string;
  programs: string;
  leash: string;
  cluster: string;
  passwordFile: string;
  logFile: string;
  lockFile: string;
  pidFile: string;
  /** Whom the server runs as; null is the service's own user. */
  runAs: { uid: number; gid: number } | null;
}

/** PostgreSQL refuses to run as root; this is `nobody`, which every Linux has. */
export const NOBODY = { uid: 65534, gid: 65534 };

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

/** The layout that was prepared for this data folder, or null where none was yet. */
export async function readLayout(dataDir: string): Promise<Layout | null> {
  try {
    const { home, runAs } = JSON.parse(await Deno.readTextFile(recordFile(dataDir)));
    return layoutIn(resolve(dataDir, home), runAs);
  } catch (error) {
    // A record cut short by a crash counts as none: preparing again chooses the same place.
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Remembers the choice; a home inside the data folder is kept relative, so the folder can move. */
export async function writeLayout(dataDir: string, { home, runAs }: Layout): Promise<void> {
  const inside = home.startsWith(dataDir + "/") ? home.slice(dataDir.length + 1) : home;
  await Deno.writeTextFile(recordFile(dataDir), JSON.stringify({ home: inside, runAs }) + "\n");
}

/**
 * As an ordinary user the server lives in the data folder. As root it runs as `nobody`, so it can
 * live there only if every folder above lets `nobody` pass; below a closed one (a 0700 home) it
 * gets a place of its own under /var/lib, one for each data folder.
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
