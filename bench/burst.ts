/**
 * A burst of notifications, as the gateway sends them after an outage: 20,000 over 200 connections,
 * as fast as they are answered, while a caller charges. `--notifications=20000` sets the number.
 */

import { generateApiKey } from "../core/secrets/api_key.ts";
import { runSql } from "../tests/support/database/database.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { connect, measureCharges } from "./support/caller.ts";
import { goal, median, milliseconds, percentile, requiredGoal, row } from "./support/figures.ts";
import { residentMemory } from "./support/memory.ts";
import { insertPayments, nthRow, PENDING, settlement } from "./support/pending_payments.ts";
import { startPostgres } from "./support/postgres.ts";
import { startSandbox } from "./support/program.ts";
import { createProgress } from "./support/progress.ts";
import { SERVER_KEY, startService } from "./support/service.ts";
import { isWrkInstalled, sendByWrk } from "./support/wrk.ts";

const COUNT = Number(
  Deno.args.find((arg) => arg.startsWith("--notifications="))?.slice("--notifications=".length) ??
    20_000,
);
const BURSTS = 3;
const CONNECTIONS = 200;
const ALONE_MS = 5_000;
/** How often memory is read. */
const SAMPLE_MS = 250;
const MAX_SECONDS = 10;

if (!await isWrkInstalled()) throw new Error("Install wrk: this benchmark needs it.");
await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const databaseUrl = await server.createDatabase("burst");
await using sandbox = await startSandbox(folder.path, SERVER_KEY);
const apiKey = generateApiKey();
await using service = await startService(`${folder.path}/service.log`, {
  DATABASE_URL: databaseUrl,
  GATEWAY_BASE_URL: sandbox.url.replace(/\/$/, ""),
  BOOTSTRAP_STAFF_KEY: apiKey,
});
using caller = await connect(service.url);
let settled = 0;

const progress = createProgress("burst", BURSTS + 2);
progress.begin("filling a table");
await insertPayments(databaseUrl, PENDING);
progress.begin("charges without a burst");
const charge = (ms: number) => measureCharges(caller, { url: service.url, apiKey, ms });
const alone = await charge(ALONE_MS);
const bursts: Burst[] = [];
for (let number = 1; number <= BURSTS; number++) {
  progress.begin(`burst ${number} of ${COUNT} notifications`);
  bursts.push(await measureBurst());
}
progress.clear();

console.log(row(`${COUNT} notifications`, ["seconds", "charges p50", "p99", "memory"]));
console.log(row("without notifications", ["", ...latencies(alone)]));
for (const { seconds, charges, bytes } of bursts) {
  const figures = [seconds.toFixed(1), ...latencies(charges), `${Math.round(bytes / 2 ** 20)} MiB`];
  const isMet = seconds <= MAX_SECONDS;
  console.log(row("burst", figures, goal(`at most ${MAX_SECONDS} s`, isMet)));
}
const [found] = await runSql(
  databaseUrl,
  "select count(*)::int as count from gateway.payments where transaction_status = 'settlement'",
);
console.log(row(
  "settled payments",
  [`${found!.count}`],
  requiredGoal(`all ${settled} that were answered with 200`, found!.count === settled),
));

interface Burst {
  seconds: number;
  /** The latencies of the caller's charges meanwhile. */
  charges: number[];
  /** The most memory that the service had. */
  bytes: number;
}

/** Fails if a notification gets another response than 200. */
async function measureBurst(): Promise<Burst> {
  const bodies = Array.from(
    { length: COUNT },
    () => JSON.stringify(settlement(nthRow(PENDING, settled++))),
  );
  let isOver = false;
  const charges: number[] = [];
  let bytes = 0;
  const url = `${service.url}notification/`;
  const sending = sendByWrk({ url, bodies, connections: CONNECTIONS }).finally(() => isOver = true);
  while (!isOver) {
    charges.push(...await charge(SAMPLE_MS));
    bytes = Math.max(bytes, await residentMemory(/ main\.ts$/));
  }
  return { seconds: COUNT / await sending, charges, bytes };
}

function latencies(times: number[]): string[] {
  return [median(times), percentile(times, 99)].map(milliseconds);
}
