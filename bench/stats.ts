/** Latency of payment statistics at 1,000,000 payments, and how long it takes to count them. */

import postgres from "postgres";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { rebuildStats } from "../core/reports/count_payments.ts";
import { openDatabase } from "../db/connection/database.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { connect, timed } from "./support/caller.ts";
import { goal, median, milliseconds, row } from "./support/figures.ts";
import { getRequest } from "./support/load.ts";
import { startPostgres } from "./support/postgres.ts";
import { startService } from "./support/service.ts";

const PAYMENTS = 1_000_000;
const DAYS = 90;
const WARM_UP = 3;
const MEASURED_CALLS = 20;
const MAX_MS = 200;

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const url = await server.createDatabase("stats");
const staff = generateApiKey();
await using service = await startService(`${folder.path}/stats.log`, {
  DATABASE_URL: url,
  GATEWAY_BASE_URL: "http://127.0.0.1:2",
  BOOTSTRAP_STAFF_KEY: staff,
});
await insertPayments();

const database = openDatabase({ url, poolSize: 1 });
const began = performance.now();
// The service itself counts only payments with entries in the history, which these do not have.
await rebuildStats({ database, clock: Date.now });
const countMs = performance.now() - began;
await database.close();
console.log(row("count 1,000,000 payments", [`${(countMs / 1_000).toFixed(0)} s`]));

using caller = await connect(service.url);
const from = new Date(Date.now() - DAYS * 86_400_000).toISOString().slice(0, 10);
const headers = { Authorization: `Bearer ${staff}` };
const QUERIES = [
  "",
  "&group_by=payment_type",
  "&group_by=bank",
  "&group_by=payment_type&group_by=bank",
  "&time_zone=Asia/Makassar",
  "&time_zone=Asia/Makassar&group_by=bank",
  "&time_zone=Asia/Jayapura&group_by=payment_type&group_by=bank",
];
let slowest = 0;
for (const query of QUERIES) {
  const path = `${service.url}stats/payments/?from=${from}${query}`;
  await requireAllCounted(path);
  const request = getRequest(path, headers)();
  const times: number[] = [];
  for (let call = 0; call < WARM_UP + MEASURED_CALLS; call++) {
    const ms = await timed(async () => {
      const head = await caller.send(request);
      if (!head.startsWith("HTTP/1.1 200")) throw new Error(`Expected 200: ${head}`);
    });
    if (call >= WARM_UP) times.push(ms);
  }
  slowest = Math.max(slowest, median(times));
  console.log(row(`GET /stats/payments/, 90 days by day ${query}`, [milliseconds(median(times))]));
}
const remark = goal(`at most ${MAX_MS} ms`, slowest <= MAX_MS);
console.log(row("the slowest of them, p50", [milliseconds(slowest)], remark));

/** Checks that the statistics include all payments: an empty table would be fast. */
async function requireAllCounted(path: string): Promise<void> {
  const response = await fetch(path, { headers });
  const { rows } = await response.json();
  const counted = rows.reduce((sum: number, { count }: { count: number }) => sum + count, 0);
  if (counted !== PAYMENTS) throw new Error(`${counted} payments are counted`);
}

/**
 * Payments of six types, half of them with one of five banks, spread evenly over the days. Three of
 * four are paid.
 */
async function insertPayments(): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`
    insert into gateway.payments (
      id, user_id, order_id, transaction_id, payment_type, bank, gross_amount, captured_amount,
      currency, transaction_status, paid_at, sent_at, created_at, updated_at
    )
    select uuidv7(age), 'user-' || n % 999, 'order-' || n, gen_random_uuid(),
      (array['qris', 'gopay', 'shopeepay', 'credit_card', 'dana', 'ovo'])[1 + n % 6],
      case when n % 2 = 0 then (array['bca', 'bni', 'bri', 'cimb', 'permata'])[1 + n % 5] end,
      44000, case when n % 4 > 0 then 44000 end, 'IDR',
      (array['expire', 'settlement', 'settlement', 'capture'])[1 + n % 4],
      case when n % 4 > 0 then now() + age + make_interval(secs => n % 900) end,
      now() + age, now() + age, now() + age
    from generate_series(1, ${PAYMENTS}::int) n
    cross join lateral (
      select make_interval(secs => (n - ${PAYMENTS}) * ${DAYS * 86_400 / PAYMENTS}::float8) as age
    ) made
    order by n`;
  await sql`vacuum analyze gateway.payments`;
  await sql`checkpoint`;
  await sql.end();
}
