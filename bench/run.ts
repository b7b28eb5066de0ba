/** `deno task bench`: the service next to a reference, in turns within one run; ratios, not times. */

import { setTimeout as delay } from "node:timers/promises";
import { dataFolder, environment } from "../tests/support/service.ts";
import { requestsPerSecond } from "./load.ts";

const ROUNDS = 11;
/** Enough to keep a server busy; with more, the bare route's rate jumps by a fifth from run to run. */
const LOAD = { connections: 4, seconds: 1 };

await using folder = await dataFolder();
await using service = await start("service", [Deno.execPath(), "task", "start"], {
  DATA_DIR: folder.path,
  PORT: "0",
  RATE_LIMIT_PER_SECOND: "1000000",
  RATE_LIMIT_BURST: "1000000",
});
const bareArgs = ["run", "--allow-net", "--ignore-env", "bench/bare_hono.ts"];
await using bare = await start("bare", [Deno.execPath(), ...bareArgs], {});

const [, key] = service.output.match(/user +(gk_\S+)/) ?? [];
const headers = { Authorization: `Bearer ${key}` };
const measured = { service: [] as number[], bare: [] as number[] };
// The first round warms both up and does not count.
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, { url }] of [["service", service], ["bare", bare]] as const) {
    const rate = await requestsPerSecond({ ...LOAD, url: `${url}me/`, headers });
    if (round > 0) measured[name].push(rate);
  }
}

const ratios = measured.service.map((rate, round) => rate / measured.bare[round]!);
console.log(`GET /me/ with an API key  ${perSecond(measured.service)}`);
console.log(`a bare Hono route         ${perSecond(measured.bare)}`);
console.log(`ratio                     ${median(ratios).toFixed(2)} (goal: at least 0.50)`);

/** Its output goes to a file, as in production: reading it here would cost the load its speed. */
async function start(name: string, command: string[], env: Record<string, string>) {
  const log = `${folder.path}/${name}.log`;
  const process = new Deno.Command("bash", {
    args: ["-c", 'exec "$@" >"$0"', log, ...command],
    env: environment(env),
    clearEnv: true,
  }).spawn();
  let output = "";
  while (!/^ *API .*\n/m.test(output)) {
    await delay(50);
    output = await Deno.readTextFile(log).catch(() => "");
  }
  return {
    url: output.match(/API +(http:\S+)/)![1]!,
    output,
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}

function perSecond(rates: number[]): string {
  return `${Math.round(median(rates)).toLocaleString("en")} requests/s`;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
