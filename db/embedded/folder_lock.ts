/** One process at a time in a data folder; the kernel frees the lock however its holder ends. */

import { join } from "node:path";

export class FolderInUse extends Error {
  override name = "FolderInUse";
}

/** Takes the lock, or throws `FolderInUse` naming the folder and the process that holds it. */
export async function lockFolder(folder: string): Promise<Disposable> {
  const path = join(folder, "lock");
  const file = await Deno.open(path, { create: true, read: true, write: true });
  if (!await file.tryLock(true)) {
    file.close();
    const holder = (await Deno.readTextFile(path)).trim();
    throw new FolderInUse(`${folder} is in use by another instance (process ${holder || "?"}).`);
  }
  await file.truncate();
  await file.write(new TextEncoder().encode(`${Deno.pid}\n`));
  return { [Symbol.dispose]: () => file.close() };
}
