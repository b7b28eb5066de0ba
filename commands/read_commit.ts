/** Reads the commit of a Git checkout, which tells two builds of the same version apart. */

import { join } from "node:path";

/** The files and folders below `.git` that contain the commit. */
export const COMMIT_FILES = ["HEAD", "refs", "packed-refs"];

/** Null if the folder is not the main folder of a checkout, as in a container. */
export async function readCommit(projectDir: string): Promise<string | null> {
  const read = async (name: string) =>
    await Deno.readTextFile(join(projectDir, ".git", name)).catch(() => null);
  const head = (await read("HEAD"))?.trim();
  const branch = head?.match(/^ref: (refs\/.+)$/)?.[1];
  if (branch === undefined) return asCommit(head);
  // Git moves the commits of branches into one file from time to time.
  const packed = async () =>
    (await read("packed-refs"))?.split("\n").find((line) => line.endsWith(` ${branch}`));
  return asCommit(await read(branch) ?? await packed());
}

function asCommit(text: string | undefined): string | null {
  return text?.match(/^[0-9a-f]{40,64}\b/)?.[0] ?? null;
}
