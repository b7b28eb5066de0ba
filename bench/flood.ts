/**
 * Latency of one caller's charges while another client with the same IP address floods the service
 * with wrong API keys and notifications without a signature. `--rate=2000` sets the requests per
 * second of that client.
 */

import { setTimeout as delay } from "node:timers/promises";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { connect, measureCharges } from "./support/caller.ts";
import { median, milliseconds, percentile, row } from "./support/figures.ts";
import { startPostgres } from "./support/postgres.ts";
import { startSandbox } from "./support/program.ts";
import { SERVER_KEY, startService } from "./support/service.ts";

const RATE = Number(
  Deno.args.find((each) => each.startsWith("--rate="))?.slice("--rate=".length) ?? 527,
);
const WARM_UP_MS = 5_000;
const PHASE_MS = 8_000;
await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const databaseUrl = await server.createDatabase("flood");
await using sandbox = await startSandbox(folder.path, SERVER_KEY);
const apiKey = generateApiKey();
await using service = await startService(`${folder.path}/service.log`, {
  DATABASE_URL: databaseUrl,
  GATEWAY_BASE_URL: sandbox.url.replace(/\/$/, ""),
  BOOTSTRAP_STAFF_KEY: apiKey,
  // The defaults of the service; `startService` would set much higher limits.
  RATE_LIMIT_PER_SECOND: "100",
  RATE_LIMIT_BURST: "200",
});
using caller = await connect(service.url);

await measureCharges(caller, { url: service.url, apiKey, ms: WARM_UP_MS });
console.log(row("charges of one caller", ["p50", "p99"]));
// The phases without the flood are the first and the last: the service becomes faster while it
// runs, which would favour the later phases.
const alone = [await measure("without the flood")];
const flooded = [await measureFlooded(), await measureFlooded()];
alone.push(await measure("without the flood"));
const ratio = median(flooded.flat()) / median(alone.flat());
console.log(row("median with the flood / without the flood", [ratio.toFixed(2)]));

async function measure(name: string): Promise<number[]> {
  const times = await measureCharges(caller, { url: service.url, apiKey, ms: PHASE_MS });
  console.log(row(name, [median(times), percentile(times, 99)].map(milliseconds)));
  return times;
}

async function measureFlooded(): Promise<number[]> {
  // Longer than the measurement by a second at both ends.
  const seconds = PHASE_MS / 1_000 + 2;
  const flooder = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "--no-lock", "--allow-net", "bench/support/flooder.ts"],
      ...[service.url, String(RATE), String(seconds)],
    ],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const lines = flooder.stdout.pipeThrough(new TextDecoderStream());
  const reader = lines.getReader();
  await reader.read();
  await delay(1_000);
  const times = await measure(`with ${RATE} bad requests per second`);
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
  await flooder.status;
  const { statuses, seconds: taken } = JSON.parse(text);
  const counts = Object.entries<number>(statuses);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const responses = counts.map(([status, count]) => `${count} × ${status}`).join(", ");
  console.log(row("  responses to the flood", [responses], `${Math.round(total / taken)}/s`));
  return times;
}
