/** The permissions the service runs with: what it needs, spelled out, and nothing else. */

import { relative } from "node:path";
import type { Config } from "../core/config/config.ts";
import { SETTING_NAMES } from "../core/config/settings.ts";
import { JOBS_FILE } from "../core/jobs/kv_queue.ts";
import type { Layout } from "../db/embedded/layout.ts";
import { DEVELOPMENT_KEYS } from "./development_keys.ts";
import { SANDBOX_FILES } from "./gateway.ts";

/**
 * Deno's flags for the service. Everything outside a list looks absent instead of raising an error
 * (`--ignore-…`): libraries ask for variables and files that nobody has to have. The network is not
 * narrowed down: gateway, key sets and databases live anywhere.
 */
export function permissionFlags(
  config: Pick<Config, "dataDir" | "queue"> | null,
  layout: Layout | null,
  projectDir: string,
): string[] {
  // Relative to where the task runs, since a shell would split a path with spaces.
  const paths = (...list: string[]) =>
    list.map((path) => relative(projectDir, path) || ".").join(",");
  const flags = ["--allow-net", `--allow-env=${SETTING_NAMES.join(",")}`, "--ignore-env"];
  // Where it would look for settings of its own, of which there are none.
  if (config?.queue === "postgres") flags.push("--allow-sys=homedir");
  const migrations = `${projectDir}/db/migrations`;
  if (!config || !layout) {
    const queue = config?.queue === "kv" ? [`${config.dataDir}/${JOBS_FILE}`] : [];
    return [
      ...flags,
      `--allow-read=${paths(migrations, ...queue)}`,
      "--ignore-read",
      ...queue.length > 0 ? [`--allow-write=${paths(...queue)}`] : [],
    ];
  }
  // Nothing that it may write is anything that it may run.
  const ownFiles = [DEVELOPMENT_KEYS, JOBS_FILE, ...SANDBOX_FILES].map((name) =>
    `${config.dataDir}/${name}`
  );
  return [
    ...flags,
    `--allow-read=${paths(migrations, config.dataDir, layout.home)}`,
    "--ignore-read",
    `--allow-write=${paths(...ownFiles, layout.lockFile, layout.pidFile)}`,
    `--allow-run=${paths(layout.leash, `${layout.programs}/bin/pg_ctl`)}`,
  ];
}
