/** A small file system for PostgreSQL, which a test can fill. Only root can mount one. */

import { join } from "node:path";
import { NOBODY_USER } from "../../../db/embedded/platform.ts";
import { createDataFolder } from "../project.ts";
import { hasProgram, printMissing } from "../programs.ts";
import { runSql, TEMPLATE, testServerUrl } from "./database.ts";

export interface SmallDisk extends AsyncDisposable {
  /** The URL of a migrated database whose tables are on the disk. WAL is elsewhere. */
  databaseUrl: string;
  /** Writes a file until there is no room left. */
  fill(): Promise<void>;
  /** Deletes that file. */
  free(): Promise<void>;
}

/** Room for a database and a few megabytes more. */
const SIZE = "96m";

/** Whether this process may mount a file system. If not, prints that tests are skipped. */
export async function canMountDisk(skipped: string): Promise<boolean> {
  if (Deno.uid() !== 0) {
    printMissing("root", `${skipped}, because only root mounts a small disk,`);
    return false;
  }
  return await hasProgram("unshare", skipped, ["--mount", "true"]);
}

export async function mountSmallDisk(): Promise<SmallDisk> {
  await using resources = new AsyncDisposableStack();
  const { path } = resources.use(await createDataFolder());
  await run("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", path]);
  resources.defer(() => run("umount", ["--lazy", path]));
  // If root runs the tests, PostgreSQL runs as this user.
  const tables = join(path, "tables");
  await Deno.mkdir(tables);
  await Deno.chown(tables, NOBODY_USER.uid, NOBODY_USER.gid);
  const server = testServerUrl();
  const name = `small_disk_${crypto.randomUUID().replaceAll("-", "")}`;
  await runSql(server, `create tablespace ${name} location '${tables}'`);
  resources.defer(async () => void await runSql(server, `drop tablespace ${name}`));
  await runSql(
    server,
    `create database ${name} template ${TEMPLATE} tablespace ${name} strategy file_copy`,
  );
  resources.defer(async () => void await runSql(server, `drop database ${name} with (force)`));
  const owned = resources.move();
  const filling = join(path, "filling");
  return {
    databaseUrl: Object.assign(new URL(server), { pathname: `/${name}` }).href,
    async fill() {
      using file = await Deno.open(filling, { create: true, append: true });
      for (const size of [65_536, 4_096]) await writeUntilFull(file, new Uint8Array(size));
    },
    free: () => Deno.remove(filling),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function writeUntilFull(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  try {
    for (;;) await file.write(bytes);
  } catch (error) {
    if (!/No space left/.test(String(error))) throw error;
  }
}

async function run(program: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args }).output();
  if (!success) throw new Error(`${program}: ${new TextDecoder().decode(stderr)}`);
}
