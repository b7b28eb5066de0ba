/**
 * The rate of `GET /openapi.json`, compared with a bare route that sends the same bytes, and the
 * memory that the requests leak.
 */

import { createDataFolder } from "../tests/support/project.ts";
import { environment } from "../tests/support/service.ts";
import { median, perSecond, ratio, requiredGoal } from "./support/figures.ts";
import { getRequest, requestsPerSecond } from "./support/load.ts";
import { startProgram } from "./support/program.ts";

const ROUNDS = 7;
const LOAD = { connections: 4, seconds: 1 };
/** Goal for the bytes that each request leaks. */
const MAX_LEAKED_BYTES = 100;

await using folder = await createDataFolder();
await using service = await startProgram(`${folder.path}/service.log`, ["task", "start"], {
  DATA_DIR: folder.path,
  PORT: "0",
  SANDBOX_PORT: "0",
});
const bareArgs = ["run", "--allow-net", "--allow-read=openapi", "--ignore-env"];
await using bare = await startProgram(`${folder.path}/bare.log`, [
  ...bareArgs,
  "bench/support/bare_document.ts",
]);

const { url } = service;
const document = await fetch(`${url}openapi.json`, { headers: { "Accept-Encoding": "gzip" } });
const tag = document.headers.get("etag") ?? "";
const compressed = Number(document.headers.get("content-length"));
const plain = (await document.arrayBuffer()).byteLength;

const gzip = { "Accept-Encoding": "gzip" };
const measured = { service: [] as number[], bare: [] as number[] };
// The first round is a warm-up and is not counted.
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, { url }] of [["service", service], ["bare", bare]] as const) {
    const request = getRequest(`${url}openapi.json/`, gzip);
    const rate = await requestsPerSecond({ ...LOAD, url, request });
    if (round > 0) measured[name].push(rate);
  }
}
const notModified = await fetch(`${url}openapi.json`, {
  headers: { ...gzip, "If-None-Match": tag },
});
await notModified.body?.cancel();

const memoryInUse = await measureMemory();
const leaked = Math.round(
  (memoryInUse.at(-1)! - memoryInUse[1]!) / (memoryInUse.length - 2) / 1000,
);

console.log(`GET /openapi.json         ${perSecond(measured.service)}`);
console.log(`a bare Hono route         ${perSecond(measured.bare)}`);
console.log(`ratio                     ${ratio(measured.service, measured.bare)}`);
console.log(`bytes                     ${number(plain)}, compressed ${number(compressed)}`);
console.log(`with If-None-Match        ${notModified.status}`);
console.log(
  `10,000 requests           ${leaked} bytes leaked each, ${number(median(memoryInUse))} in use (${
    requiredGoal(`less than ${MAX_LEAKED_BYTES}`, leaked < MAX_LEAKED_BYTES)
  })`,
);

/** The bytes in use after each thousand requests. The first value is a warm-up. */
async function measureMemory(): Promise<number[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "--no-lock", "-P=test", "--v8-flags=--expose-gc"],
      "tests/support/document/memory.ts",
    ],
    env: environment({}),
    clearEnv: true,
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

function number(value: number): string {
  return value.toLocaleString("en");
}
