/**
 * Latency and rate of charges through the service, compared with a gateway client that sends the
 * same charges directly to the sandbox.
 */

import postgres from "postgres";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { createGatewayClient } from "../core/gateway/client.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { connect, timed } from "./support/caller.ts";
import { processorTime } from "./support/cpu.ts";
import {
  goal,
  median,
  milliseconds,
  percentile,
  perSecond,
  ratio,
  row,
} from "./support/figures.ts";
import { post } from "./support/load.ts";
import { startPostgres } from "./support/postgres.ts";
import { startSandbox } from "./support/program.ts";
import { createProgress } from "./support/progress.ts";
import { SERVER_KEY, startService } from "./support/service.ts";
import { addTableRow } from "./support/table.ts";

const IS_LARGE = Deno.args.includes("--large");

/** Calls that are not measured, so that the JIT compiler optimizes the code first. */
const WARM_UP_CALLS = IS_LARGE ? 1_000 : 500;
const CALLS = IS_LARGE ? 1_000 : 500;
const CALLERS = 32;
const ROUNDS = IS_LARGE ? 7 : 4;
const ROUND_MS = 2_000;

/** Goal for the latency that the service adds to a charge. */
const MAX_ADDED_MS = 1.5;
/** Goal for the rate of the service divided by the rate of the bare client. */
const MIN_RATIO = 0.7;
/** Goal for the processor time of one charge in the service. */
const MAX_PROCESSOR_MS = 0.6;

const BARE = "bare gateway client";
const WITHOUT_KEY = "POST /charge/";
const WITH_KEY = "with an Idempotency-Key";
/** What the table compares with. */
const REFERENCE = "the gateway's client without the service";
/** The latency of one commit, for comparison: a charge needs two commits. */
const COMMIT = "one commit on this disk";

const ORDER = {
  gross_amount: 44_000,
  customer_details: { first_name: "Budi", email: "budi@example.com" },
  item_details: [{ id: "1", name: "Coffee", price: 22_000, quantity: 2 }],
};

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const databaseUrl = await server.createDatabase("charges");
await using sandbox = await startSandbox(folder.path, SERVER_KEY);
const gatewayUrl = sandbox.url.replace(/\/$/, "");
const apiKey = generateApiKey();
await using service = await startService(`${folder.path}/service.log`, {
  DATABASE_URL: databaseUrl,
  GATEWAY_BASE_URL: gatewayUrl,
  BOOTSTRAP_STAFF_KEY: apiKey,
});

const client = createGatewayClient({ baseUrl: gatewayUrl, serverKey: SERVER_KEY, clientKey: null });
let orderCount = 0;

const progress = createProgress("charges", 2 * ROUNDS + 3);
const latencies = await measureLatencies();
const lone = await measureRates(1, [BARE, WITHOUT_KEY]);
const { rates, serviceCpu, postgresCpu } = await measureRates(CALLERS, [
  BARE,
  WITHOUT_KEY,
  WITH_KEY,
]);
progress.clear();

console.log(row("one caller", ["p50", "p99"]));
for (const [name, times] of Object.entries(latencies)) {
  console.log(row(name, [median(times), percentile(times, 99)].map(milliseconds)));
}
for (const name of [WITHOUT_KEY, WITH_KEY]) {
  const added = median(latencies[name]!) - median(latencies[BARE]!);
  const remark = goal(`at most ${MAX_ADDED_MS} ms`, added <= MAX_ADDED_MS);
  console.log(row(`added by the service, ${name}`, [milliseconds(added)], remark));
}
console.log(row("processor time: Deno, PostgreSQL", [
  milliseconds(median(lone.serviceCpu[WITHOUT_KEY]!) / 1000),
  milliseconds(median(lone.postgresCpu[WITHOUT_KEY]!) / 1000),
]));
await addTableRow({
  operation: `${WITHOUT_KEY}, one caller`,
  perSecond: median(lone.rates[WITHOUT_KEY]!),
  deno: median(lone.serviceCpu[WITHOUT_KEY]!),
  postgres: median(lone.postgresCpu[WITHOUT_KEY]!),
  ratio: ratio(lone.rates[WITHOUT_KEY]!, lone.rates[BARE]!),
  reference: REFERENCE,
});
console.log(`\n${row(`${CALLERS} callers`, ["charges", "ratio", "processor time"])}`);
console.log(row(BARE, [perSecond(rates[BARE]!, "charges")]));
for (const name of [WITHOUT_KEY, WITH_KEY]) {
  const reached = ratio(rates[name]!, rates[BARE]!);
  const spent = median(serviceCpu[name]!) / 1000;
  const remarks = [
    goal(`at least ${MIN_RATIO}`, Number(reached) >= MIN_RATIO),
    goal(`at most ${MAX_PROCESSOR_MS} ms`, spent <= MAX_PROCESSOR_MS),
  ];
  const figures = [perSecond(rates[name]!, "charges"), reached, milliseconds(spent)];
  console.log(row(name, figures, remarks.join("; ")));
  await addTableRow({
    operation: name === WITHOUT_KEY ? `${name}, ${CALLERS} callers` : `The same ${name}`,
    perSecond: median(rates[name]!),
    deno: median(serviceCpu[name]!),
    postgres: median(postgresCpu[name]!),
    ratio: reached,
    reference: REFERENCE,
  });
}

/**
 * The latency of each variant. The variants take turns, because a CPU that was idle is slower at
 * first, and this must affect all of them equally.
 */
async function measureLatencies(): Promise<Record<string, number[]>> {
  progress.begin("one caller");
  const sql = postgres(databaseUrl, { max: 1 });
  await sql`create table public.commits (id bigint generated always as identity)`;
  using charger = await openCharger();
  const variants = {
    ...charger.variants,
    [COMMIT]: () => sql`insert into public.commits default values`,
  };
  const times: Record<string, number[]> = {};
  for (let call = -WARM_UP_CALLS; call < CALLS; call++) {
    for (const [name, charge] of Object.entries(variants)) {
      const ms = await timed(charge);
      if (call >= 0) (times[name] ??= []).push(ms);
    }
  }
  await sql.end();
  return times;
}

/**
 * The charges per second of each variant, and the microseconds of processor time that each charge
 * costs the service and PostgreSQL. The first round is a warm-up.
 */
async function measureRates(callers: number, names: readonly string[]) {
  const chargers = await Promise.all(Array.from({ length: callers }, openCharger));
  const rates: Record<string, number[]> = {};
  const serviceCpu: Record<string, number[]> = {};
  const postgresCpu: Record<string, number[]> = {};
  const postgresPid = await server.findProcess();
  for (let round = 0; round <= ROUNDS; round++) {
    progress.begin(`${round === 0 ? "warm-up" : `round ${round}`} with ${callers} callers`);
    for (const name of names) {
      const before = [await processorTime(service.pid), await processorTime(postgresPid)];
      const begin = performance.now();
      let charges = 0;
      await Promise.all(chargers.map(async ({ variants }) => {
        for (; performance.now() < begin + ROUND_MS; charges++) await variants[name]!();
      }));
      const seconds = (performance.now() - begin) / 1000;
      const after = [await processorTime(service.pid), await processorTime(postgresPid)];
      if (round === 0) continue;
      (rates[name] ??= []).push(charges / seconds);
      (serviceCpu[name] ??= []).push((after[0]! - before[0]!) / charges);
      (postgresCpu[name] ??= []).push((after[1]! - before[1]!) / charges);
    }
  }
  for (const charger of chargers) charger[Symbol.dispose]();
  return { rates, serviceCpu, postgresCpu };
}

/** Opens a connection, and returns a function for each variant of a charge. */
async function openCharger() {
  const caller = await connect(service.url);
  async function charge(headers: Record<string, string> = {}) {
    const order_id = nextOrderId();
    const body = { payment_type: "bank_transfer", bank: "bca", order_id, ...ORDER };
    const authorization = { Authorization: `Bearer ${apiKey}` };
    const head = await caller.send(
      post(`${service.url}charge/`, { ...authorization, ...headers }, body),
    );
    if (!head.startsWith("HTTP/1.1 201")) throw new Error(`Expected 201: ${head}`);
  }
  const variants: Record<string, () => Promise<unknown>> = {
    [BARE]: () => client.charge(gatewayRequest(nextOrderId())),
    [WITHOUT_KEY]: () => charge(),
    [WITH_KEY]: () => charge({ "Idempotency-Key": crypto.randomUUID() }),
  };
  return { variants, [Symbol.dispose]: () => caller[Symbol.dispose]() };
}

function nextOrderId(): string {
  return `order-${String(++orderCount).padStart(9, "0")}`;
}

/** The request that the service sends to the gateway for this charge, but without `metadata`. */
function gatewayRequest(order_id: string) {
  const { gross_amount, ...details } = ORDER;
  return {
    payment_type: "bank_transfer",
    transaction_details: { order_id, gross_amount },
    bank_transfer: { bank: "bca" },
    ...details,
  };
}
