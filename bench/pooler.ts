/** Latency of charges and notifications, with direct connections and through PgBouncer. */

import { generateApiKey } from "../core/secrets/api_key.ts";
import {
  hasPgBouncer,
  type PoolMode,
  startPgBouncer,
} from "../tests/support/database/pgbouncer.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { type Caller, connect, timed } from "./support/caller.ts";
import { median, milliseconds, row } from "./support/figures.ts";
import { post } from "./support/load.ts";
import { insertPayments, nthRow, PENDING, settlement } from "./support/pending_payments.ts";
import { type Postgres, startPostgres } from "./support/postgres.ts";
import { startSandbox } from "./support/program.ts";
import { SERVER_KEY, startService } from "./support/service.ts";

/** Null: without a pooler, the reference. */
const MODES: (PoolMode | null)[] = [null, "session", "transaction"];

/** Calls that are not measured, so that the JIT compiler optimizes the code first. */
const WARM_UP_CALLS = 200;
const CALLS = 200;

interface Variant {
  name: string;
  url: string;
  charge(caller: Caller): Promise<void>;
  notify(caller: Caller): Promise<void>;
  /** The latency of each call, in milliseconds. */
  chargeMs: number[];
  notificationMs: number[];
}

if (!await hasPgBouncer()) Deno.exit(1);

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
await using resources = new AsyncDisposableStack();
const sandbox = resources.use(
  await startSandbox(folder.path, SERVER_KEY),
);
const variants: Variant[] = [];
for (const mode of MODES) variants.push(await openVariant(server, mode));

await measure();
const [direct] = variants;
console.log(row("one caller, p50", ["charge", "ratio", "notification", "ratio"]));
for (const { name, chargeMs, notificationMs } of variants) {
  const cells = [[chargeMs, direct!.chargeMs], [notificationMs, direct!.notificationMs]]
    .flatMap(([own, reference]) => [
      milliseconds(median(own!)),
      (median(own!) / median(reference!)).toFixed(2),
    ]);
  console.log(row(name, cells));
}

/** Each variant has its own database and service. */
async function openVariant(postgres: Postgres, mode: PoolMode | null): Promise<Variant> {
  const name = mode === null ? "direct" : `pooler in ${mode} mode`;
  const databaseUrl = await postgres.createDatabase(`bench_${mode ?? "direct"}`);
  const pgbouncer = mode && resources.use(
    await startPgBouncer({ server: databaseUrl, mode, sessions: 20 }),
  );
  const apiKey = generateApiKey();
  const { url } = resources.use(
    await startService(`${folder.path}/${mode}.log`, {
      DATABASE_URL: pgbouncer?.through(databaseUrl) ?? databaseUrl,
      DATABASE_DIRECT_URL: databaseUrl,
      GATEWAY_BASE_URL: sandbox.url.replace(/\/$/, ""),
      BOOTSTRAP_STAFF_KEY: apiKey,
    }),
  );
  await insertPayments(databaseUrl, PENDING);
  let orders = 0;
  let settled = 0;
  async function send(caller: Caller, request: string, status: number) {
    const head = await caller.send(request);
    if (!head.startsWith(`HTTP/1.1 ${status}`)) throw new Error(`Expected ${status}: ${head}`);
  }
  return {
    name,
    url,
    charge(caller) {
      const order_id = `${mode}-${++orders}`;
      const body = { payment_type: "bank_transfer", bank: "bca", order_id, gross_amount: 44_000 };
      const headers = { Authorization: `Bearer ${apiKey}` };
      return send(caller, post(`${url}charge/`, headers, body), 201);
    },
    notify(caller) {
      const body = settlement(nthRow(PENDING, settled++));
      return send(caller, post(`${url}notification/`, {}, body), 200);
    },
    chargeMs: [],
    notificationMs: [],
  };
}

/**
 * The variants take turns, because a CPU that was idle is slower at first, and this must affect all
 * of them equally.
 */
async function measure(): Promise<void> {
  const callers = await Promise.all(variants.map(({ url }) => connect(url)));
  for (let call = -WARM_UP_CALLS; call < CALLS; call++) {
    for (const [index, variant] of variants.entries()) {
      const chargeMs = await timed(() => variant.charge(callers[index]!));
      const notificationMs = await timed(() => variant.notify(callers[index]!));
      if (call < 0) continue;
      variant.chargeMs.push(chargeMs);
      variant.notificationMs.push(notificationMs);
    }
  }
  for (const caller of callers) caller[Symbol.dispose]();
}
