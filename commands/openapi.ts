/** `deno task openapi`: writes the document that the service publishes to `openapi/openapi.json`. */

import type { Config } from "../core/config.ts";
import { systemClock } from "../core/clock.ts";
import { createLog } from "../core/log.ts";
import { openDatabase } from "../db/database.ts";
import { createApp } from "../routes/app.ts";

export async function run(readConfig: () => Config): Promise<void> {
  const app = createApp({
    config: readConfig(),
    // Nothing is asked of it, so nothing connects.
    database: openDatabase({ url: "postgres://127.0.0.1/none", poolSize: 1 }),
    migrations: [],
    log: createLog(() => {}),
    clock: systemClock,
    isDraining: () => false,
    developmentKey: null,
  });
  const path = new URL("../openapi/openapi.json", import.meta.url);
  await Deno.writeTextFile(path, JSON.stringify(app.document, null, 2) + "\n");
}
