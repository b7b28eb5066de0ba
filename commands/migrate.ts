/** `deno task migrate`: brings the database's schema up to date, and does nothing else. */

import type { Config } from "../core/config/config.ts";
import { loadMigrations } from "../db/migrations.ts";
import { bringUpToDate } from "./bring_up_to_date.ts";
import { joinServer } from "./database_server.ts";

export async function run(readConfig: () => Config): Promise<void> {
  const config = readConfig();
  await using server = await joinServer(config);
  const url = await server.start();
  const applied = await bringUpToDate(url, await loadMigrations(), config.queue);
  for (const name of applied) console.log(`applied ${name}`);
  if (applied.length === 0) console.log("Nothing to apply: the database is up to date.");
}
