/**
 * Processor time of the task `check_invariants` with 1,000,000 payments, 600 of which change each
 * minute. `--runs=60` sets the number of runs, each of which stands for a minute.
 */

import postgres from "postgres";
import { NIL } from "uuid";
import { firstIdAt } from "../core/ids.ts";
import { rebuildStats, startOfJakartaDay, updateStats } from "../core/reports/count_payments.ts";
import { checkInvariants } from "../core/tasks/check_invariants.ts";
import { openDatabase } from "../db/connection/database.ts";
import { loadMigrations, migrate } from "../db/migrations/migrate.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { processorTime } from "./support/cpu.ts";
import { goal, median, requiredGoal, row } from "./support/figures.ts";
import { withoutIndexes } from "./support/pending_payments.ts";
import { startPostgres } from "./support/postgres.ts";

const PAYMENTS = 1_000_000;
const DAYS = 30;
const CHANGED = 600;
const WARM_UP = 10;
const RUNS = Number(Deno.args.find((arg) => arg.startsWith("--runs="))?.slice(7) ?? 60);
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
const MAX_SHARE = 0.01;

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const url = await server.createDatabase("invariants");
await migrate(url, await loadMigrations());
const sql = postgres(url, { max: 1, onnotice: () => {} });
const database = openDatabase({ url, poolSize: 4, deadlineMs: 600_000 });

let minute = 0;
const begin = startOfJakartaDay(Date.now());
const service = {
  database,
  clock: () => begin + minute * MINUTE_MS,
  keep: { events: 400 } as Parameters<typeof checkInvariants>[0]["keep"],
};

const TABLES = ["payments", "payment_filters", "payment_items", "history", "events"];
await withoutIndexes(sql, TABLES, insertPayments);
await sql`vacuum analyze`;
console.log(row("payments", [String(PAYMENTS)]));
// Counts the payments by their ids, which is faster than by the entries of the history.
await sql`update gateway.stats_progress set position = (select max(id) from gateway.history)`;
await rebuildStats(service);
await updateStats(service);
await sql`vacuum analyze`;
await sql`checkpoint`;

const seconds: number[] = [];
const waits: number[] = [];
const checked: number[] = [];
const lags: number[] = [];
for (let run = -WARM_UP; run < RUNS; run++) {
  minute++;
  await changePayments();
  // The server is a child of this process.
  const before = await processorTime(Deno.pid);
  const startedAt = performance.now();
  const result = await checkInvariants(service);
  const waited = (performance.now() - startedAt) / 1_000;
  const after = await processorTime(Deno.pid);
  if (result.contradictions > 0) throw new Error(`${result.contradictions} contradictions`);
  if (run < 0) continue;
  lags.push(result.lag_seconds);
  seconds.push((after - before) / 1e6);
  waits.push(waited);
  checked.push(result.checked);
}
const [walked, hours] = await readProgress();
const share = sum(seconds) / RUNS / 60;
const perDay = 1_440 / (WARM_UP + RUNS);
const payments = walked * perDay;
console.log(row("records and hours checked by a run", [String(Math.round(sum(checked) / RUNS))]));
console.log(row(
  "age of the oldest unchecked change after a run, highest",
  [`${Math.max(...lags)} s`],
  goal("less than 60 s", Math.max(...lags) < 60),
));
console.log(row("duration of a run, median", [`${median(waits).toFixed(2)} s`]));
console.log(row(
  "payments that a day's runs reach",
  [Math.round(payments).toLocaleString("en")],
  requiredGoal(`at least ${PAYMENTS.toLocaleString("en")}`, payments >= PAYMENTS),
));
console.log(row(
  "hours of statistics that a day's runs reach",
  [Math.round(hours * perDay).toLocaleString("en")],
  requiredGoal(`at least ${DAYS * 24}`, hours * perDay >= DAYS * 24),
));
console.log(row(
  "processor time of Deno and PostgreSQL, share of a core",
  [`${(100 * share).toFixed(2)} %`],
  goal(`at most ${100 * MAX_SHARE} %`, share <= MAX_SHARE),
));
await database.close();
await sql.end();

/** Payments with their items, order ids, history and events; nine of ten are paid. */
async function insertPayments(): Promise<void> {
  const rows = `from generate_series(1::bigint, ${PAYMENTS}) n cross join lateral (
      select ${begin}::bigint - ((${PAYMENTS} - n + 1) * ${DAYS * DAY_MS / PAYMENTS})::bigint as ms,
        n % 10 > 0 as is_paid
    ) made cross join lateral (
      select (lpad(to_hex(ms), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid as id,
        to_timestamp(ms / 1000.0) as made_at,
        to_timestamp(ms / 1000.0) + make_interval(secs => n % 3600) as paid_at
    ) payment`;
  await sql.unsafe(`
    insert into gateway.payments (
      id, user_id, order_id, transaction_id, payment_type, bank, gross_amount, captured_amount,
      currency, transaction_status, fraud_status, paid_at, sent_at, event_count, version,
      created_by, created_at, updated_at
    )
    select id, 'user-' || n % 999, n || '-web', gen_random_uuid(), 'bank_transfer', 'bca', 44000,
      case when is_paid then 44000 end, 'IDR', case when is_paid then 'settlement' else 'pending' end,
      'accept', case when is_paid then paid_at end, made_at, case when is_paid then 2 else 1 end, 1,
      'api_key:gk_bench', made_at, case when is_paid then paid_at else made_at end
    ${rows}`);
  await sql.unsafe(`
    insert into gateway.payment_items (id, payment_id, position, price, quantity, name)
    select gen_random_uuid(), id, 0, 22000, 2, 'Coffee' ${rows}`);
  await sql.unsafe(`
    insert into gateway.order_ids (order_id, user_id, holder_id)
    select n || '-web', 'user-' || n % 999, id ${rows}`);
  await sql.unsafe(`
    insert into gateway.history
      (resource, resource_id, from_status, to_status, fraud_status, source, created_at)
    select 'payment', id, from_status, to_status, null, source, changed_at
    ${rows} cross join lateral (values
      (null, 'pending', 'charge', made_at), ('pending', 'settlement', 'notification', paid_at)
    ) entry (from_status, to_status, source, changed_at)
    where is_paid or from_status is null order by changed_at`);
  await sql.unsafe(`
    insert into gateway.events (id, name, resource, resource_id, sequence, user_id, data, created_at)
    select gen_random_uuid(), name, 'payment', id, sequence, 'user-' || n % 999,
      json_build_object('id', id, 'padding', repeat('x', 500)), happened_at
    ${rows} cross join lateral (values
      ('payment_received', 1, made_at), ('payment_settled', 2, paid_at)
    ) event (name, sequence, happened_at)
    where is_paid or sequence = 1`);
}

/** Entries without a transition, so that the payments are still correct. */
async function changePayments(): Promise<void> {
  const first = firstIdAt(new Date(begin - Math.random() * DAYS * DAY_MS));
  await sql`
    insert into gateway.history
      (resource, resource_id, from_status, to_status, source, created_at)
    select 'payment', id, transaction_status, transaction_status, 'recount', now()
    from gateway.payments where id >= ${first} order by id limit ${CHANGED}`;
}

/** How many payments and hours the walks have reached. */
async function readProgress(): Promise<[number, number]> {
  const rows = await sql`select name, last_id from gateway.invariant_cursors`;
  const cursors = new Map(rows.map(({ name, last_id }) => [name, last_id]));
  const [{ count }] = await sql<[{ count: number }]>`
    select count(*)::int as count from gateway.payments
    where id <= ${cursors.get("payment") ?? NIL}`;
  const first = startOfJakartaDay(begin - DAYS * DAY_MS);
  return [count, (Number(cursors.get("statistics")) - first) / (60 * MINUTE_MS) + 1];
}

function sum(values: number[]): number {
  return values.reduce((total, each) => total + each, 0);
}
