/** The project's files, and temporary folders for tests. */

import { join } from "node:path";

/** The root of the repository. */
export const PROJECT = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");

/** A new folder for `DATA_DIR`, which is removed when it is disposed. */
export async function createDataFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "payment-gateway-data-" });
  // If the tests run as root, PostgreSQL runs as another user, who needs access to the folder.
  await Deno.chmod(path, 0o755);
  return {
    path,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

/** Copies the project without its Git data, installed packages and generated files. */
export async function copyProject(to: string, from = PROJECT): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if ([".data", ".git", "dist", "node_modules"].includes(name)) continue;
    if (isDirectory) await copyProject(join(to, name), join(from, name));
    else await Deno.copyFile(join(from, name), join(to, name));
  }
}
