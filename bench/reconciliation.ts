/** How long it takes to upload and compare a report with 100,000 lines, among 300,000 payments. */

import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { requiredGoal, row } from "./support/figures.ts";
import { startPostgres } from "./support/postgres.ts";
import { startService } from "./support/service.ts";

const PAYMENTS = 300_000;
const LINES = 100_000;
const MAX_SECONDS = 60;
const POLL_MS = 200;

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const url = await server.createDatabase("reconciliation");
const staff = generateApiKey();
await using service = await startService(`${folder.path}/reconciliation.log`, {
  DATABASE_URL: url,
  GATEWAY_BASE_URL: "http://127.0.0.1:2",
  BOOTSTRAP_STAFF_KEY: staff,
});
await insertPayments();
const file = createFile();
const headers = { Authorization: `Bearer ${staff}` };

const began = performance.now();
const { id, job_id } = await call("reconciliations/", {
  method: "POST",
  body: file,
  headers: { ...headers, "Content-Type": "text/csv" },
});
const uploadSeconds = secondsSince(began);
const size = `${(file.length / 1_048_576).toFixed(1)} MiB`;
console.log(row(`upload ${LINES.toLocaleString("en")} lines, ${size}`, [seconds(uploadSeconds)]));

const seen = new Set<number>();
for (let status = ""; status !== "succeeded"; await delay(POLL_MS)) {
  const job = await call(`jobs/${job_id}/`);
  if (job.status === "failed") throw new Error(job.error);
  if (job.result) seen.add(job.result.compared_lines);
  status = job.status;
}
const total = secondsSince(began);
console.log(row("compare them", [seconds(total - uploadSeconds)]));
console.log(row("progress in /jobs/, different values", [String(seen.size)]));
const remark = requiredGoal(`at most ${MAX_SECONDS} s`, total <= MAX_SECONDS);
console.log(row("together", [seconds(total)], remark));
const { results } = await call(`reconciliations/${id}/`);
console.log(row("results", [JSON.stringify(results)]));

// deno-lint-ignore no-explicit-any -- the body depends on the path
async function call(path: string, init: RequestInit = { headers }): Promise<any> {
  const response = await fetch(service.url + path, init);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return await response.json();
}

function secondsSince(time: number): number {
  return (performance.now() - time) / 1_000;
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}

/** Every hundredth line has another amount than its payment. */
function createFile(): string {
  const lines = Array.from({ length: LINES }, (_, index) => {
    const number = index + 1;
    const amount = number % 100 === 0 ? 43_000 : 44_000;
    return `order-${number},t-${number},${amount}.00,308.00,43692.00,2026-03-05 10:00:00\r\n`;
  });
  return `order_id,transaction_id,gross_amount,fee,net_amount,settlement_time\r\n${lines.join("")}`;
}

/** The payments of the file, and others that were settled on other days. */
async function insertPayments(): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`
    insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type, gross_amount,
      captured_amount, currency, transaction_status, settlement_time, paid_at, sent_at, created_at,
      updated_at)
    select uuidv7(), 'user-' || n % 999, 'order-' || n, 't-' || n, 'qris', 44000, 44000, 'IDR',
      'settlement', settled, settled, settled, settled, settled
    from generate_series(1, ${PAYMENTS}::int) n
    cross join lateral (
      select timestamptz '2026-03-05 10:00:00+07' + n / ${LINES + 1}::int * interval '1 day'
        as settled
    ) made
    order by n`;
  await sql`vacuum analyze`;
  await sql`checkpoint`;
  await sql.end();
}
