/**
 * Allows one process at a time in a data folder; the kernel releases the lock when the process
 * ends.
 */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export class FolderInUse extends Error {
  override name = "FolderInUse";
}

/** A service holds the lock for as long as it runs, a tool only briefly. */
export type FolderOwner = "service" | "tool";

/** Longer than any tool takes, including a download of PostgreSQL with a slow connection. */
const LOCK_TIMEOUT_MS = 15 * 60_000;

/** Takes the lock. Waits for a tool to release it, but not for a service. */
export async function lockFolder(folder: string, as: FolderOwner): Promise<Disposable> {
  const path = join(folder, "lock");
  const deadline = Date.now() + LOCK_TIMEOUT_MS;
  const file = await Deno.open(path, { create: true, read: true, write: true });
  while (!await file.tryLock(true)) {
    const [pid, owner] = (await Deno.readTextFile(path)).trim().split(" ");
    if (owner === "service" || Date.now() > deadline) {
      file.close();
      throw new FolderInUse(
        `${folder} is in use by another instance (process ${
          pid || "?"
        }). Stop it, or set DATA_DIR to another folder.`,
      );
    }
    await delay(50);
  }
  await file.truncate();
  await file.write(new TextEncoder().encode(`${Deno.pid} ${as}\n`));
  return { [Symbol.dispose]: () => file.close() };
}
