/** Latency and size of the console's pages at 1,000,000 payments (`--payments=` changes this). */

import postgres from "postgres";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { connect, timed } from "./support/caller.ts";
import { goal, median, milliseconds, row } from "./support/figures.ts";
import { getRequest } from "./support/load.ts";
import { startPostgres } from "./support/postgres.ts";
import { startService } from "./support/service.ts";

const option = Deno.args.find((each) => each.startsWith("--payments="));
const PAYMENTS = Number(option?.split("=")[1] ?? 1_000_000);
const DAYS = 90;
const WARM_UP = 10;
const MEASURED_CALLS = 50;
const MAX_MS = 50;
const MAX_BYTES = 60_000;

/** Filters of the list of payments, and a search. */
const VIEWS = [
  "status=settlement&status=capture&payment_type=gopay&payment_type=qris",
  "customer_email=user-7%40example.com",
  "settled_from=2020-01-01",
  "fraud_status=challenge",
  "outcome=unknown",
  "q=user-7%40example.com",
];

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const url = await server.createDatabase("console");
const staff = generateApiKey();
await using service = await startService(`${folder.path}/console.log`, {
  DATABASE_URL: url,
  GATEWAY_BASE_URL: "http://127.0.0.1:2",
  BOOTSTRAP_STAFF_KEY: staff,
});
const newestId = await insertRows();

const cookie = await signIn();
using caller = await connect(service.url);
const pages = [
  ...await navigation(),
  ...VIEWS.map((view) => `console/payments/?${view}`),
  `console/payments/${newestId}/`,
];
console.log(
  row(`pages with ${PAYMENTS.toLocaleString("en")} payments`, ["p50", "bytes"]),
);
let slowest = 0;
let largest = 0;
for (const page of pages) {
  const request = getRequest(service.url + page, { Cookie: cookie })();
  const times: number[] = [];
  let bytes = 0;
  for (let call = 0; call < WARM_UP + MEASURED_CALLS; call++) {
    const ms = await timed(async () => {
      const head = await caller.send(request);
      if (!head.startsWith("HTTP/1.1 200")) throw new Error(`Expected 200 of ${page}: ${head}`);
      bytes = Number(head.match(/^content-length: (\d+)/im)?.[1]);
    });
    if (call >= WARM_UP) times.push(ms);
  }
  slowest = Math.max(slowest, median(times));
  largest = Math.max(largest, bytes);
  console.log(row(`GET /${page}`, [milliseconds(median(times)), bytes.toLocaleString("en")]));
}
const isFast = goal(`at most ${MAX_MS} ms`, slowest <= MAX_MS);
console.log(row("the slowest page, p50", [milliseconds(slowest)], isFast));
const isSmall = goal(`at most ${MAX_BYTES} bytes`, largest <= MAX_BYTES);
console.log(row("the largest page", [largest.toLocaleString("en")], isSmall));

/** Exchanges the key for a session; returns its cookie. */
async function signIn(): Promise<string> {
  const address = `${service.url}console/sign-in/`;
  const form = await fetch(address);
  const [, token] = (await form.text()).match(/name="token" value="([^"]+)"/)!;
  const response = await fetch(address, {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams({ token: token!, credential: staff }),
    headers: { Origin: new URL(address).origin, Cookie: `console_form=${token}` },
  });
  await response.body?.cancel();
  return response.headers.getSetCookie().map((each) => each.split(";")[0]).join("; ");
}

/** The paths of all pages in the navigation. */
async function navigation(): Promise<string[]> {
  const response = await fetch(`${service.url}console/`, { headers: { Cookie: cookie } });
  const [nav] = (await response.text()).match(/<nav.*?<\/nav>/s)!;
  return [...nav.matchAll(/href="\/([^"]+)"/g)].map(([, path]) => path!);
}

/**
 * Inserts payments, spread evenly over the days, and refunds, notifications, jobs and statistics.
 * Returns the id of the newest payment.
 */
async function insertRows(): Promise<string> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`
    insert into gateway.payments (
      id, user_id, order_id, transaction_id, payment_type, bank, gross_amount, captured_amount,
      currency, transaction_status, fraud_status, customer_email, customer_phone, paid_at,
      settlement_time, sent_at, created_at, updated_at
    )
    select uuidv7(age), 'user-' || n % 999, 'order-' || n,
      case when n % 9999 > 0 then gen_random_uuid() end,
      (array['qris', 'gopay', 'shopeepay', 'credit_card', 'dana', 'ovo'])[1 + n % 6],
      case when n % 2 = 0 then (array['bca', 'bni', 'bri', 'cimb', 'permata'])[1 + n % 5] end,
      44000, case when n % 4 > 0 then 44000 end, 'IDR',
      (array['pending', 'settlement', 'settlement', 'capture'])[1 + n % 4],
      case when n % 999 = 0 then 'challenge' end, 'user-' || n % 999 || '@example.com',
      '+628123456' || n % 999, case when n % 4 > 0 then paid_at end,
      case when n % 4 in (1, 2) then paid_at end, now() + age, now() + age, now() + age
    from generate_series(1, ${PAYMENTS}::int) n
    cross join lateral (
      select make_interval(secs => (n - ${PAYMENTS}) * ${DAYS * 86_400 / PAYMENTS}::float8) as age
    ) made
    cross join lateral (select now() + age + make_interval(secs => n % 900) as paid_at) paid
    order by n`;
  await sql`
    insert into gateway.refunds (id, payment_id, refund_key, amount, reason, is_direct, status,
      created_at, updated_at)
    select uuidv7(payment.created_at - now()), payment.id, 'r', 10000, 'Broken', false,
      case when random() < 0.01 then 'pending' else 'succeeded' end, created_at, created_at
    from gateway.payments payment where payment.transaction_status = 'capture'
    order by payment.id limit ${PAYMENTS / 20}`;
  await sql`
    insert into gateway.notifications (id, order_id, transaction_id, transaction_status, status_code,
      gross_amount, status, raw_payload, created_at, payment_id)
    select uuidv7(payment.created_at - now()), order_id, transaction_id, 'settlement', '200',
      '44000.00', case when random() < 0.001 then 'failed' else 'processed' end, '{}', created_at, id
    from gateway.payments payment where payment.transaction_status = 'settlement'
      and transaction_id is not null
    order by payment.id limit ${PAYMENTS / 5}`;
  await sql`
    insert into gateway.jobs (id, task, payload, status, attempts, error, run_at, created_at,
      updated_at)
    select uuidv7(), 'check_payment_status', '{}',
      case when n % 500 = 0 then 'failed' else 'succeeded' end, 1, null, now(), now(), now()
    from generate_series(1, ${PAYMENTS / 10}::int) n`;
  // Inserts the statistics directly, because the service's task would take minutes to count the
  // payments. Only the statistics of all users (`*`): the measured pages read no others.
  for (const [table, unit] of [["hourly_payment_stats", "hour"], ["daily_payment_stats", "day"]]) {
    await sql`
      insert into ${sql(`gateway.${table}`)}
      select '*', date_trunc(${unit!}, created_at, 'Asia/Jakarta'), payment_type,
        coalesce(bank, ''), status, case when status = '' then 0 else count(*) end,
        count(captured_amount),
        case when status = '' then 0 else coalesce(sum(captured_amount), 0) end, 0, 0,
        case when status = '' then '{40, 41, 42}'::smallint[] else '{}' end,
        case when status = '' then array_fill(count(captured_amount)::int, array[3]) else '{}' end
      from gateway.payments cross join lateral unnest(array[transaction_status, '']) status
      group by 2, 3, 4, 5`;
  }
  await sql`vacuum analyze`;
  // Otherwise a checkpoint could run during the measurement.
  await sql`checkpoint`;
  const [newest] = await sql`select id from gateway.payments order by id desc limit 1`;
  await sql.end();
  return newest!.id;
}
