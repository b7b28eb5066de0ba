/**
 * Runs before the service: lays the embedded database out where one is needed, and prints the
 * permission flags the service is then started with. Only this short step may write and run freely.
 */

import type { Config } from "../core/config/config.ts";
import { ConfigError } from "../core/config/problems.ts";
import type { Layout } from "../db/embedded/layout.ts";
import { permissionFlags } from "./permissions.ts";
import { say } from "./say.ts";

export async function run(readConfig: () => Config): Promise<void> {
  const config = orNull(readConfig);
  const layout = config && config.databaseUrl === null ? await layOut(config.dataDir) : null;
  // The service itself may write its queue there, but make no folder.
  if (config?.queue === "kv") await Deno.mkdir(config.dataDir, { recursive: true });
  const projectDir = new URL("..", import.meta.url).pathname.replace(/\/$/, "");
  console.log(permissionFlags(config, layout, decodeURIComponent(projectDir)).join(" "));
}

/** Wrong settings are for the service itself to report, which starts next. */
function orNull(readConfig: () => Config): Config | null {
  try {
    return readConfig();
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}

async function layOut(dataDir: string): Promise<Layout | null> {
  const { install } = await import("../db/embedded/install.ts");
  const { FolderInUse } = await import("../db/embedded/folder_lock.ts");
  const { readLayout } = await import("../db/embedded/layout.ts");
  try {
    return await install(dataDir, say);
  } catch (error) {
    // Somebody uses it, so it is there; whether that is an error the command itself knows.
    if (error instanceof FolderInUse) return await readLayout(dataDir);
    say(error instanceof Error ? error.message : String(error));
    return null;
  }
}
