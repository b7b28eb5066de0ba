/** One process at a time in a data folder; the kernel frees the lock however its holder ends. */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export class FolderInUse extends Error {
  override name = "FolderInUse";
}

/** A service holds the lock as long as it runs, a tool only for its moment. */
export type Holder = "service" | "tool";

/** Longer than any tool takes, the first start's preparation on a slow machine included. */
const PATIENCE_MS = 30_000;

/** Takes the lock, after waiting for a tool if need be; a service is not waited for. */
export async function lockFolder(folder: string, as: Holder): Promise<Disposable> {
  const path = join(folder, "lock");
  const deadline = Date.now() + PATIENCE_MS;
  const file = await Deno.open(path, { create: true, read: true, write: true });
  while (!await file.tryLock(true)) {
    const [pid, holder] = (await Deno.readTextFile(path)).trim().split(" ");
    if (holder === "service" || Date.now() > deadline) {
      file.close();
      throw new FolderInUse(`${folder} is in use by another instance (process ${pid || "?"}).`);
    }
    await delay(50);
  }
  await file.truncate();
  await file.write(new TextEncoder().encode(`${Deno.pid} ${as}\n`));
  return { [Symbol.dispose]: () => file.close() };
}
