/** `deno task doctor`: examines the installation and says what to do. */

import type { Config } from "../core/config/config.ts";
import { ConfigError } from "../core/config/problems.ts";
import { type CheckResult, type Examined, problemText } from "../core/doctor/check_result.ts";
import { runDoctor, settingsProblem } from "../core/doctor/doctor.ts";
import { describeResult, renderResults } from "../core/doctor/render.ts";
import { createPoster } from "../core/posting/post.ts";
import { settingsOf } from "../core/service.ts";
import { createLog } from "../core/telemetry/log.ts";
import { systemClock } from "../core/time/clock.ts";
import { createClockCheck } from "../core/time/clock_check.ts";
import { openServiceClock } from "../core/time/service_clock.ts";
import { type Database, openDatabase } from "../db/connection/database.ts";
import { loadMigrations } from "../db/migrations/migrate.ts";
import { reachDatabase } from "./database_access.ts";
import { joinServer } from "./database_server.ts";
import { openGateway } from "./gateway.ts";

const USAGE = `Usage: doctor [--json]
  --json   print the results as JSON

Examines settings, database, gateway, PUBLIC_URL and background work, and says what to do.
Exit code 0: no fault; 1: a fault; 2: wrong usage.`;

/** Shorter than at the start of the service: an operator waits. */
const CONNECT_TIMEOUT_MS = 5_000;

const CONNECTIONS = 2;

export async function run(readConfig: () => Config, args: string[]): Promise<void> {
  if (args.some((each) => each === "--help" || each === "-h")) return console.log(USAGE);
  if (args.some((each) => each !== "--json") || args.length > 1) {
    console.error(USAGE);
    Deno.exitCode = 2;
    return;
  }
  const results = await examine(readConfig);
  if (args.includes("--json")) {
    const described = results.map((result) => describeResult(result));
    console.log(JSON.stringify({ results: described }, null, 2));
  } else console.log(renderResults(results));
  if (results.some(({ status }) => status === "fault")) Deno.exitCode = 1;
}

async function examine(readConfig: () => Config): Promise<CheckResult[]> {
  try {
    const config = readConfig();
    await using resources = new AsyncDisposableStack();
    return await runDoctor(await open(config, resources));
  } catch (error) {
    if (error instanceof ConfigError) return settingsProblem(error);
    throw error;
  }
}

/** Opens what the checks need. Nothing is migrated, and a missing part is no error. */
async function open(config: Config, resources: AsyncDisposableStack): Promise<Examined> {
  const log = createLog(() => {});
  resources.defer(() => log.flush());
  const opened = await tryToOpenDatabase(config, resources);
  const database = opened instanceof Error ? null : opened;
  // The service, not this command, runs the sandbox.
  const gateway =
    resources.use(await openGateway({ ...config, sandboxPort: null }, log)).background;
  const serviceClock = database &&
    await openServiceClock({ database, log, refreshMs: null }).catch(() => null);
  return {
    config,
    database,
    databaseProblem: opened instanceof Error ? problemText(opened) : null,
    migrations: await loadMigrations(),
    gateway,
    clock: serviceClock?.now ?? systemClock,
    clockCheck: serviceClock && createClockCheck({ serviceClock, gateway }),
    secrets: settingsOf(config).secrets,
    poster: resources.use(createPoster({ allowPrivate: config.webhookAllowPrivate })),
    publicUrl: config.publicUrl ?? ownUrl(config),
  };
}

async function tryToOpenDatabase(
  config: Config,
  resources: AsyncDisposableStack,
): Promise<Database | Error> {
  try {
    const server = resources.use(await joinServer(config));
    const url = await server.start();
    const access = await reachDatabase(url, config.databaseDirectUrl, CONNECT_TIMEOUT_MS);
    const database = openDatabase({ ...access, poolSize: CONNECTIONS });
    resources.defer(() => database.close());
    return database;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Without PUBLIC_URL, only the embedded default knows its own address. */
function ownUrl({ isEmbeddedDefault, port, basePath }: Config): string | null {
  return isEmbeddedDefault ? `http://127.0.0.1:${port}${basePath}` : null;
}
