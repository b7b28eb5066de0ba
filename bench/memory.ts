/**
 * Memory of the embedded default (service, sandbox and PostgreSQL) under a mixed load: random
 * requests, most of which are refused, charges, reads, and webhooks to endpoints that refuse the
 * connection. `--minutes=30` sets the length, `--rate=50` the requests per second.
 */

import { setTimeout as delay } from "node:timers/promises";
import { createRandom, seededState } from "../sandbox/engine/random.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { startService } from "../tests/support/service.ts";
import { requiredGoal, row } from "./support/figures.ts";

const MINUTES = numberOption("minutes", 30);
const RATE = numberOption("rate", 50);
/** The last third is compared with the second: in the first, caches fill. */
const MAX_GROWTH = 1.15;
const ENDPOINTS = 3;
const CONNECTIONS = 8;

await using folder = await createDataFolder();
await using service = await startService({
  settings: { DATA_DIR: folder.path, WEBHOOK_ALLOW_PRIVATE: "true" },
  hasOwnDeadline: true,
});
const { staff } = service.keys;
const random = createRandom(seededState(1));
const pick = <T>(values: readonly T[]): T => values[random.below(values.length)]!;
const document = await (await fetch(`${service.url}/openapi.json`)).json();
const paths = Object.keys(document.paths);

for (let n = 0; n < ENDPOINTS; n++) {
  // Port 9 of this machine has no server.
  await send("POST", "/webhook-endpoints/", staff, { url: `https://127.0.0.1:9/${n}` });
}

const statuses: Record<string, number> = {};
const begin = performance.now();
const end = begin + MINUTES * 60_000;
let sent = 0;
const samples: number[] = [];

console.log(row("minute", ["requests", "resident", "JavaScript heap"]));
await Promise.all([...Array.from({ length: CONNECTIONS }, sendRequests), sampleEachMinute()]);
const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
console.log(row("responses", [counts.join(", ")]));
const third = Math.floor(samples.length / 3);
const growth = highest(samples.slice(-third)) / highest(samples.slice(third, -third));
console.log(row(
  "highest value of the last third / of the second third",
  [growth.toFixed(2)],
  requiredGoal(`at most ${MAX_GROWTH}`, growth <= MAX_GROWTH),
));

async function sendRequests(): Promise<void> {
  while (performance.now() < end) {
    await delay(Math.max(0, begin + sent++ / RATE * 1_000 - performance.now()));
    const status = await sendRandom().catch(() => "no response");
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
}

async function sendRandom(): Promise<string> {
  const kind = random.below(10);
  if (kind === 0) {
    const body = { payment_type: pick(["gopay", "qris"]), gross_amount: 10_000 };
    return await send("POST", "/charge/", staff, body, crypto.randomUUID());
  }
  if (kind === 1) return await send("GET", pick(["/payments/", "/events/", "/status/"]), staff);
  const method = pick(["GET", "POST", "PUT", "PATCH", "DELETE"]);
  const path = pick([...paths, "/unknown/"]).replaceAll(
    /\{\w+\}/g,
    () => pick([crypto.randomUUID(), "1", "%00", "é"]),
  );
  // Exports and streams stay open, and stopping the service would end the run.
  if (/stream|export/.test(path)) return "skipped";
  const key = pick([staff, `gk_${crypto.randomUUID()}`, ""]);
  const query = pick(["", "", "?limit=1000000", `?${crypto.randomUUID()}=1`, "?status=?"]);
  const body = pick([undefined, {}, [], { payment_type: "gopay" }, { [crypto.randomUUID()]: 1 }]);
  return await send(
    method,
    path + query,
    key,
    method === "GET" ? undefined : body,
    pick([undefined, crypto.randomUUID()]),
  );
}

async function send(
  method: string,
  path: string,
  key: string,
  body?: unknown,
  idempotencyKey?: string,
): Promise<string> {
  const response = await fetch(service.url + path, {
    method,
    headers: {
      ...key && { Authorization: `Bearer ${key}` },
      ...body !== undefined && { "Content-Type": "application/json" },
      ...idempotencyKey && { "Idempotency-Key": idempotencyKey },
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  await response.body?.cancel();
  return String(response.status);
}

async function sampleEachMinute(): Promise<void> {
  for (let minute = 1; minute <= MINUTES; minute++) {
    await delay(begin + minute * 60_000 - performance.now());
    const metrics = (await service.get("/metrics/", staff)).text;
    const [resident, heap] = ["resident", "heap"].map((kind) =>
      Number(metrics.match(new RegExp(`^payment_gateway_memory_${kind}_bytes (\\S+)`, "m"))?.[1])
    ) as [number, number];
    samples.push(resident);
    console.log(row(String(minute), [String(sent), megabytes(resident), megabytes(heap)]));
  }
}

function highest(values: number[]): number {
  return Math.max(...values);
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

function numberOption(name: string, standard: number): number {
  const given = Deno.args.find((each) => each.startsWith(`--${name}=`));
  return given ? Number(given.slice(name.length + 3)) : standard;
}
