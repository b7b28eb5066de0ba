/**
 * `main.ts prepare`: installs the embedded database if it is needed, and prints the permission
 * flags for the service or another command. Every task that uses the database runs this step first.
 * Only this short step has the permission to write all files and run all programs.
 */

import { relative } from "node:path";
import type { Config } from "../core/config/config.ts";
import { ConfigError } from "../core/config/problems.ts";
import { SETTING_NAMES } from "../core/config/settings.ts";
import { JOBS_FILE } from "../core/jobs/kv_queue.ts";
import type { Layout } from "../db/embedded/layout.ts";
import { DEVELOPMENT_KEYS } from "./development_keys.ts";
import { SANDBOX_FILE } from "./gateway.ts";
import { COMMIT_FILES } from "./read_commit.ts";
import { printStatus, showSteps } from "./terminal.ts";

export async function run(readConfig: () => Config): Promise<void> {
  const config = readValidConfig(readConfig);
  const layout = config && config.databaseUrl === null
    ? await installDatabase(config.dataDir)
    : null;
  // The service may write its queue file there, but not create the folder.
  if (config?.queue === "kv") await Deno.mkdir(config.dataDir, { recursive: true });
  const projectDir = new URL("..", import.meta.url).pathname.replace(/\/$/, "");
  console.log(permissionFlags(config, layout, decodeURIComponent(projectDir)).join(" "));
}

/** Null for invalid settings: the service, which starts next, reports them. */
function readValidConfig(readConfig: () => Config): Config | null {
  try {
    return readConfig();
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}

async function installDatabase(dataDir: string): Promise<Layout | null> {
  const { install } = await import("../db/embedded/install.ts");
  const { FolderInUse } = await import("../db/embedded/folder_lock.ts");
  const { readLayout } = await import("../db/embedded/layout.ts");
  try {
    using steps = showSteps();
    return await install(dataDir, steps.begin);
  } catch (error) {
    // If the folder is in use, the database is installed. The command that starts next decides
    // whether this is an error.
    if (error instanceof FolderInUse) return await readLayout(dataDir);
    printStatus(error instanceof Error ? error.message : String(error));
    return null;
  }
}

/**
 * Deno's permission flags for the service. Anything outside the lists looks absent instead of
 * raising an error (`--ignore-…`), because libraries probe for optional variables and files. The
 * network is unrestricted, because gateway, key sets and databases can have any address.
 */
export function permissionFlags(
  config:
    | Pick<Config, "dataDir" | "queue">
      & Partial<Pick<Config, "merchant" | "backupTimeFile">>
    | null,
  layout: Layout | null,
  projectDir: string,
): string[] {
  // The task runs in the project folder. Relative paths omit the path of that folder, which may
  // contain spaces: the shell would split the flag at a space.
  const paths = (...list: string[]) =>
    list.map((path) => relative(projectDir, path) || ".").join(",");
  const flags = ["--allow-net", `--allow-env=${SETTING_NAMES.join(",")}`, "--ignore-env"];
  const sys = [
    // The PostgreSQL driver looks for a settings file in the home folder.
    ...config?.queue === "postgres" ? ["homedir"] : [],
    // The doctor looks at the free disk of the embedded database.
    ...config && layout ? ["statfs"] : [],
  ];
  if (sys.length > 0) flags.push(`--allow-sys=${sys.join(",")}`);
  const readable = [
    `${projectDir}/db/migrations`,
    ...COMMIT_FILES.map((name) => `${projectDir}/.git/${name}`),
    ...config?.merchant?.logoFile ? [config.merchant.logoFile] : [],
    ...config?.backupTimeFile ? [config.backupTimeFile] : [],
  ];
  if (!config || !layout) {
    const queue = config?.queue === "kv" ? [`${config.dataDir}/${JOBS_FILE}`] : [];
    return [
      ...flags,
      `--allow-read=${paths(...readable, ...queue)}`,
      "--ignore-read",
      ...queue.length > 0 ? [`--allow-write=${paths(...queue)}`] : [],
    ];
  }
  // The service may write these files, so none of them may be in `--allow-run`.
  const ownFiles = [DEVELOPMENT_KEYS, JOBS_FILE, SANDBOX_FILE].map((name) =>
    `${config.dataDir}/${name}`
  );
  return [
    ...flags,
    `--allow-read=${paths(...readable, config.dataDir, layout.home)}`,
    "--ignore-read",
    `--allow-write=${paths(...ownFiles, layout.lockFile, layout.pidFile)}`,
    `--allow-run=${paths(layout.serverScript, `${layout.programs}/bin/pg_ctl`)}`,
  ];
}
