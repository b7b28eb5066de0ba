/**
 * Charges through a gateway that is as slow as the real one: what the service adds to the gateway's
 * time, compared with a gateway client that sends the same charges directly, and the memory of a
 * charge that waits for the gateway.
 */

import { setTimeout as delay } from "node:timers/promises";
import { createGatewayClient } from "../core/gateway/client.ts";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { readMemory, WITH_MEMORY_SERVER } from "../proofs/fuzz/memory.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { mainCommand, startService } from "../tests/support/service.ts";
import { until } from "../tests/support/until.ts";
import { type Caller, connect, timed } from "./support/caller.ts";
import { median, milliseconds, percentile, row } from "./support/figures.ts";
import { post } from "./support/load.ts";
import { startPostgres } from "./support/postgres.ts";
import { createProgress } from "./support/progress.ts";
import { SERVER_KEY } from "./support/service.ts";
import { startSlowGateway } from "./support/slow_gateway.ts";

const IN_FLIGHT = 1_000;
/** So that all of them are in flight long before the first one's deadline of 15 s. */
const SENT_PER_SECOND = 200;
/** The first round is not counted: caches fill and the JIT compiler optimizes the code. */
const ROUNDS = 3;

/** Charges a second. */
const RATE = 100;
const WARM_UP_CHARGES = 500;
const CHARGES = Deno.args.includes("--large") ? 10_000 : 2_000;

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
await using gateway = startSlowGateway();
const apiKey = generateApiKey();
const settings = {
  HOST: "127.0.0.1",
  PORT: "0",
  DATABASE_URL: await server.createDatabase("slow_gateway"),
  GATEWAY_BASE_URL: gateway.url,
  GATEWAY_SERVER_KEY: SERVER_KEY,
  // More than the charges in flight, so that none of them waits for another one.
  GATEWAY_MAX_IN_FLIGHT: `${2 * IN_FLIGHT}`,
  RATE_LIMIT_PER_SECOND: "1000000",
  RATE_LIMIT_BURST: "1000000",
  BOOTSTRAP_STAFF_KEY: apiKey,
};
const [deno, run, ...args] = await mainCommand(settings, { hasOwnDeadline: true });
await using service = await startService({
  settings,
  command: [deno!, run!, ...WITH_MEMORY_SERVER, ...args],
});
const idle: Caller[] = [];
const bareClient = createGatewayClient({
  baseUrl: gateway.url,
  serverKey: SERVER_KEY,
  clientKey: null,
  maxInFlight: 2 * IN_FLIGHT,
});
let orderCount = 0;

const progress = createProgress("slow_gateway", ROUNDS + 4);
progress.begin("warm-up");
await sendSteadily(WARM_UP_CHARGES, chargeByService);
progress.begin(`${CHARGES} charges, ${RATE} a second`);
const byService = await sendSteadily(CHARGES, chargeByService);
progress.begin("the same without the service");
const byClient = await sendSteadily(CHARGES, chargeByClient);
const bytes: number[] = [];
for (let round = 0; round <= ROUNDS; round++) {
  progress.begin(`round ${round} of ${IN_FLIGHT} charges in flight`);
  const added = await measureMemory();
  if (round > 0) bytes.push(added);
}
progress.clear();
for (const caller of idle) caller[Symbol.dispose]();

console.log(row("added to the gateway's time", ["p50", "p99", "not answered"]));
for (const [name, charges] of [["the service", byService], ["bare client", byClient]] as const) {
  const added = charges.flatMap(({ addedMs }) => addedMs ?? []);
  const unanswered = charges.filter(({ addedMs }) => addedMs === null);
  console.log(row(name, [
    milliseconds(median(added)),
    milliseconds(percentile(added, 99)),
    `${unanswered.length}`,
  ]));
}
const ended = byService.filter(({ addedMs }) => addedMs === null).map(({ ms }) => ms);
console.log(row("the service's answer without one of the gateway", [
  `${(median(ended) / 1000).toFixed(1)} s`,
]));
const kilobytes = (median(bytes) / IN_FLIGHT / 1024).toFixed(1);
console.log(row(`memory of each of ${IN_FLIGHT} charges in flight`, [`${kilobytes} kB`]));

interface Charge {
  ms: number;
  /** Null if the gateway did not answer. */
  addedMs: number | null;
}

/** Starts `RATE` charges a second, however long each of them takes. */
async function sendSteadily(
  count: number,
  charge: (orderId: string) => Promise<unknown>,
): Promise<Charge[]> {
  return await startEach(count, RATE, async () => {
    const orderId = nextOrderId();
    const ms = await timed(() => charge(orderId));
    const gatewayMs = gateway.msOf(orderId);
    return { ms, addedMs: gatewayMs === undefined ? null : ms - gatewayMs };
  });
}

/** The bytes by which the charges in flight increase the memory of the service. */
async function measureMemory(): Promise<number> {
  const before = await readMemory(service.output);
  gateway.hold();
  const sent = startEach(IN_FLIGHT, SENT_PER_SECOND, () => chargeByService(nextOrderId()));
  await until("all charges wait for the gateway", () => gateway.held() >= IN_FLIGHT);
  const during = await readMemory(service.output);
  gateway.release();
  await sent;
  return during.used - before.used;
}

async function startEach<T>(
  count: number,
  perSecond: number,
  work: () => Promise<T>,
): Promise<T[]> {
  const begin = performance.now();
  const started: Promise<T>[] = [];
  for (let number = 0; number < count; number++) {
    await delay(Math.max(0, begin + number / perSecond * 1000 - performance.now()));
    started.push(work());
  }
  return await Promise.all(started);
}

/** Any status is a result: a charge without an answer of the gateway is no 201. */
async function chargeByService(order_id: string): Promise<void> {
  const caller = idle.pop() ?? await connect(service.url);
  const body = { payment_type: "bank_transfer", bank: "bca", order_id, gross_amount: 44_000 };
  await caller.send(post(`${service.url}/charge/`, { Authorization: `Bearer ${apiKey}` }, body));
  idle.push(caller);
}

/** The request that the service sends to the gateway for the same charge. */
async function chargeByClient(order_id: string): Promise<void> {
  await bareClient.charge({
    payment_type: "bank_transfer",
    transaction_details: { order_id, gross_amount: 44_000 },
    bank_transfer: { bank: "bca" },
  }).catch(() => {});
}

function nextOrderId(): string {
  return `order-${String(++orderCount).padStart(9, "0")}`;
}
