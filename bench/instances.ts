/**
 * Rates of reads and charges with one, two and three instances on this machine, and with shared
 * limits. They take turns, because the ratio of rates from the same moment varies less than the
 * rates. PostgreSQL, the sandbox and the callers use the same cores.
 */

import { generateApiKey } from "../core/secrets/api_key.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { connect } from "./support/caller.ts";
import { perSecond, ratio, row } from "./support/figures.ts";
import { getRequest, post } from "./support/load.ts";
import { startPostgres } from "./support/postgres.ts";
import { type Program, startSandbox } from "./support/program.ts";
import { SERVER_KEY, startService } from "./support/service.ts";

const CALLERS = 24;
/** So that the JIT compiler has optimized the code of each instance. */
const WARM_UP_ROUNDS = 3;
const ROUNDS = 7;
const ROUND_MS = 1_500;

/** Far above what a caller reaches here, and low enough for an exchange every 2,000 requests. */
const SHARED = {
  SHARED_LIMITS: "true",
  RATE_LIMIT_PER_SECOND: "20000",
  RATE_LIMIT_BURST: "20000",
};

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
await using resources = new AsyncDisposableStack();
const sandbox = resources.use(
  await startSandbox(folder.path, SERVER_KEY),
);
const apiKey = generateApiKey();
const settings = {
  DATABASE_URL: await server.createDatabase("instances"),
  GATEWAY_BASE_URL: sandbox.url.replace(/\/$/, ""),
  BOOTSTRAP_STAFF_KEY: apiKey,
};
const [first, second, third, shared] = [
  await start("first"),
  await start("second"),
  await start("third"),
  await start("shared", SHARED),
];
const variants: Record<string, Program[]> = {
  "one instance": [first!],
  "two instances": [first!, second!],
  "three instances": [first!, second!, third!],
  "one instance with SHARED_LIMITS": [shared!],
};

const headers = { Authorization: `Bearer ${apiKey}` };
const charge = { payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000 };
const requests: Record<string, { expected: string; of: (url: string) => string }> = {
  "GET /payments/{pk}/": { expected: "200", of: getRequestOf(await createPayment()) },
  "POST /charge/": { expected: "201", of: (url) => post(`${url}charge/`, headers, charge) },
};

for (const [name, { expected, of }] of Object.entries(requests)) {
  const rates: Record<string, number[]> = {};
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const [variant, programs] of Object.entries(variants)) {
      const rate = await measure(programs, of, expected);
      if (round >= 0) (rates[variant] ??= []).push(rate);
    }
  }
  console.log(row(`${name}, ${CALLERS} callers`, ["rate", "ratio"]));
  for (const [variant, each] of Object.entries(rates)) {
    console.log(row(variant, [perSecond(each), ratio(each, rates["one instance"]!)]));
  }
}

async function start(name: string, more = {}): Promise<Program> {
  const log = `${folder.path}/${name}.log`;
  return resources.use(await startService(log, { ...settings, ...more }));
}

async function createPayment(): Promise<string> {
  const response = await fetch(`${first!.url}charge/`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify(charge),
  });
  return (await response.json()).id;
}

function getRequestOf(id: string): (url: string) => string {
  return (url) => getRequest(`${url}payments/${id}/`, headers)();
}

/** Requests per second of all callers, which are divided among the instances. */
async function measure(
  programs: Program[],
  of: (url: string) => string,
  expected: string,
): Promise<number> {
  const begin = performance.now();
  let count = 0;
  await Promise.all(Array.from({ length: CALLERS }, async (_, index) => {
    const { url } = programs[index % programs.length]!;
    using caller = await connect(url);
    const request = of(url);
    for (; performance.now() < begin + ROUND_MS; count++) {
      const head = await caller.send(request);
      if (!head.startsWith(`HTTP/1.1 ${expected}`)) {
        throw new Error(`Expected ${expected}: ${head}`);
      }
    }
  }));
  return count / (performance.now() - begin) * 1000;
}
