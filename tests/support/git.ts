/** Reads earlier versions of the project's files. */

import { createDataFolder, PROJECT } from "./project.ts";
import { printMissing } from "./programs.ts";

/** The output of a command of Git; null: Git, or the commit that the command names, is missing. */
export async function runGit(...args: string[]): Promise<string | null> {
  try {
    const { success, stdout } = await new Deno.Command("git", { args, cwd: PROJECT }).output();
    return success ? new TextDecoder().decode(stdout) : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/**
 * Checks a released version out into a new folder. Its commit is the last one that changed its
 * document. Null: there is no Git, or the clone does not reach back to that commit.
 */
export async function checkOutRelease(
  version: string,
): Promise<({ path: string } & AsyncDisposable) | null> {
  const document = `openapi/released/${version}.json`;
  const commit = (await runGit("log", "-1", "--format=%H", "--", document))?.trim();
  const isShallow = (await runGit("rev-parse", "--is-shallow-repository"))?.trim() !== "false";
  if (!commit || isShallow) {
    printMissing("git", `the upgrade from version ${version} is`);
    return null;
  }
  const folder = await createDataFolder();
  const archive = `${folder.path}/release.tar`;
  await runGit("archive", `--output=${archive}`, commit);
  await new Deno.Command("tar", { args: ["-xf", archive, "-C", folder.path] }).output();
  return folder;
}
