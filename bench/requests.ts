/**
 * The rate of an authenticated request, compared with a bare Hono route. Both are measured in
 * turns, because the ratio of two rates from the same moment varies less than the rates.
 */

import { createDataFolder } from "../tests/support/project.ts";
import { perSecond, ratio } from "./support/figures.ts";
import { getRequest, requestsPerSecond } from "./support/load.ts";
import { startProgram } from "./support/program.ts";

const ROUNDS = 11;
/**
 * Enough to keep a server busy. With more, the rate of the bare route varies by 20 % between runs.
 */
const LOAD = { connections: 4, seconds: 1 };

await using folder = await createDataFolder();
await using service = await startProgram(`${folder.path}/service.log`, ["task", "start"], {
  DATA_DIR: folder.path,
  PORT: "0",
  SANDBOX_PORT: "0",
  RATE_LIMIT_PER_SECOND: "1000000",
  RATE_LIMIT_BURST: "1000000",
});
const bareArgs = ["run", "--allow-net", "--ignore-env", "bench/support/bare_hono.ts"];
await using bare = await startProgram(`${folder.path}/bare.log`, bareArgs);

const [, key] = service.output.match(/user +(gk_\S+)/) ?? [];
const headers = { Authorization: `Bearer ${key}` };
const measured = { service: [] as number[], bare: [] as number[] };
// The first round is a warm-up and is not counted.
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, { url }] of [["service", service], ["bare", bare]] as const) {
    const rate = await requestsPerSecond({
      ...LOAD,
      url,
      request: getRequest(`${url}me/`, headers),
    });
    if (round > 0) measured[name].push(rate);
  }
}

console.log(`GET /me/ with an API key  ${perSecond(measured.service)}`);
console.log(`a bare Hono route         ${perSecond(measured.bare)}`);
console.log(
  `ratio                     ${ratio(measured.service, measured.bare)} (goal: at least 0.50)`,
);
