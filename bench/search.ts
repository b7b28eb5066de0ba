/**
 * Latency of the search of payments in a small and in a large table, compared with the first page
 * of the list; and latency of charges with and without what the search adds to them.
 */

import postgres from "postgres";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { createKey } from "../core/auth/api_keys.ts";
import { changeAccount } from "../db/access/gateway_account.ts";
import { openDatabase } from "../db/connection/database.ts";
import { loadMigrations, migrate } from "../db/migrations/migrate.ts";
import { TRIGRAM_INDEX } from "../db/payments/search.ts";
import { runSql } from "../tests/support/database/database.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { type Caller, connect, timed } from "./support/caller.ts";
import { goal, median, milliseconds, percentile, row } from "./support/figures.ts";
import { getRequest, post } from "./support/load.ts";
import { startPostgres } from "./support/postgres.ts";
import { startProgram } from "./support/program.ts";
import { SERVER_KEY, startService } from "./support/service.ts";

const SMALL_ROWS = 1_000;
const LARGE_ROWS = Number(Deno.args.find((each) => each.startsWith("--rows="))?.slice(7) ?? 1e6);
const WARM_UP = 5;
const MEASURED_CALLS = 50;
const WARM_UP_CHARGES = 500;
const CHARGES = 2_000;

/** Goal for the search of a text that few payments have, in the large table. */
const MAX_MS = 50;
/** Goal for the 99th percentile of charges, divided by that without the index. */
const MAX_CHARGE_RATIO = 1.2;

/** `ten` has ten payments, `half` has half of all. */
const USERS = ["staff", "half", "ten"] as const;
type UserName = (typeof USERS)[number];

/** What is searched, by what it is. The last two are in many payments. */
const TEXTS: Record<string, (rows: number) => string> = {
  "a payment's order id": (rows) => orderId(Math.round(rows * 0.512437)),
  "an end of an order id": (rows) => orderId(Math.round(rows * 0.512437)).slice(-6),
  "a part of an email": () => "ser7919@gm",
  "a phone number": () => "0812 0000 7919",
  "an amount of 0.2 %": () => "Rp 91.000",
  "no payment's text": () => "zzqxv",
  "a name of 1.4 %": () => "budi santoso",
  "a year of the oldest 60 %": () => "ord-2025",
  "every order id": () => "ord-",
};

interface BenchService {
  caller: Caller;
  url: string;
  keys: Record<UserName, string>;
  rows: number;
}

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
await using resources = new AsyncDisposableStack();
const sandboxArgs = ["--port", "0", "--memory", "--server-key", SERVER_KEY];
await using sandbox = await startProgram(`${folder.path}/sandbox.log`, [
  ...["run", "--allow-net", "--ignore-env", "--ignore-read", "sandbox/main.ts"],
  ...sandboxArgs,
]);
const small = await startOn(await createPayments(SMALL_ROWS), SMALL_ROWS);
const largeUrl = await createPayments(LARGE_ROWS);
const plainUrl = await copyDatabase(largeUrl);
const large = await startOn(largeUrl, LARGE_ROWS);

await measureSearches();
await measureCharges();

async function measureSearches(): Promise<void> {
  const sizes = [small, large].map(({ rows }) => rows.toLocaleString("en"));
  const titles = sizes.flatMap((rows) => [`p50, ${rows}`, `p99, ${rows}`]);
  console.log(row("GET /payments/?q=…", titles));
  for (const user of USERS) {
    const [, reference] = await measureBoth(user, () => "");
    for (const [name, textOf] of Object.entries(TEXTS)) {
      const times = await measureBoth(user, (rows) => `q=${encodeURIComponent(textOf(rows))}`);
      const [, inLarge] = times;
      const ratio = `${(median(inLarge) / median(reference)).toFixed(1)} times the list`;
      const isRare = !/%|every/.test(name);
      const remark = isRare ? `; ${goal(`${MAX_MS} ms`, median(inLarge) <= MAX_MS)}` : "";
      const figures = times.flatMap((each) => [median(each), percentile(each, 99)]);
      console.log(row(`${user}: ${name}`, figures.map(milliseconds), ratio + remark));
    }
  }
}

/** The latencies in the small and in the large table. The requests take turns. */
async function measureBoth(
  user: UserName,
  queryOf: (rows: number) => string,
): Promise<[number[], number[]]> {
  const times: [number[], number[]] = [[], []];
  for (let call = -WARM_UP; call < MEASURED_CALLS; call++) {
    for (const [index, { caller, url, keys, rows }] of [small, large].entries()) {
      const headers = { Authorization: `Bearer ${keys[user]}` };
      const ms = await timed(async () => {
        const head = await caller.send(getRequest(`${url}payments/?${queryOf(rows)}`, headers)());
        if (!head.startsWith("HTTP/1.1 200")) throw new Error(`Expected 200: ${head}`);
      });
      if (call >= 0) times[index]!.push(ms);
    }
  }
  return times;
}

/** A copy of the large database has neither the indexes of the search nor the keys of names. */
async function measureCharges(): Promise<void> {
  const plain = await startOn(plainUrl, LARGE_ROWS);
  await removeSearch(plainUrl);
  const variants = { "without the search": plain, "with the search": large };
  const times: Record<string, number[]> = {};
  for (let call = -WARM_UP_CHARGES; call < CHARGES; call++) {
    for (const [name, { caller, url, keys }] of Object.entries(variants)) {
      const body = chargeBody(call + WARM_UP_CHARGES);
      const headers = { Authorization: `Bearer ${keys.staff}` };
      const ms = await timed(async () => {
        const head = await caller.send(post(`${url}charge/`, headers, body));
        if (!head.startsWith("HTTP/1.1 201")) throw new Error(`Expected 201: ${head}`);
      });
      if (call >= 0) (times[name] ??= []).push(ms);
    }
  }
  console.log(`\n${row("POST /charge/, one caller", ["p50", "p99", "p99.9"])}`);
  for (const [name, each] of Object.entries(times)) {
    const figures = [50, 99, 99.9].map((percent) => percentile(each, percent));
    console.log(row(name, figures.map(milliseconds)));
  }
  const [before, after] = Object.values(times).map((each) => percentile(each, 99));
  const ratio = after! / before!;
  const remark = goal(`at most ${MAX_CHARGE_RATIO}`, ratio <= MAX_CHARGE_RATIO);
  console.log(row("ratio of the 99th percentiles", [ratio.toFixed(2)], remark));
}

function chargeBody(number: number) {
  return {
    payment_type: "bank_transfer",
    bank: "bca",
    order_id: `new-${crypto.randomUUID()}`,
    gross_amount: 1_000 * (number % 500 + 1),
    customer_details: {
      first_name: "Budi",
      last_name: `Kurnia${number % 50}`,
      email: `customer${number * 7919 % 100_000}@mail.example`,
      phone: `+62812${String(number).padStart(8, "0")}`,
    },
  };
}

/** Starts a service on this database. */
async function startOn(databaseUrl: string, rows: number): Promise<BenchService> {
  const staff = generateApiKey();
  const database = openDatabase({ url: databaseUrl, poolSize: 1 });
  const service = resources.use(
    await startService(`${folder.path}/${new URL(databaseUrl).pathname.slice(1)}.log`, {
      DATABASE_URL: databaseUrl,
      GATEWAY_BASE_URL: sandbox.url.replace(/\/$/, ""),
      BOOTSTRAP_STAFF_KEY: staff,
    }),
  );
  const keyOf = (userId: UserName) => createKey(database, { userId, isStaff: false, name: null });
  const keys = { staff, half: await keyOf("half"), ten: await keyOf("ten") };
  await database.close();
  const caller = resources.use(await connect(service.url));
  return { caller, url: service.url, keys, rows };
}

async function createPayments(rows: number): Promise<string> {
  const url = await server.createDatabase(`payments_${rows}`);
  await migrate(url, await loadMigrations());
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  // The service builds it again when it starts, which takes less time.
  await sql.unsafe(`drop index gateway.${TRIGRAM_INDEX}`);
  await sql`
    insert into gateway.payments (
      id, user_id, order_id, transaction_id, payment_type, gross_amount, currency,
      transaction_status, customer_first_name, customer_last_name, customer_email, customer_phone,
      settlement_time, sent_at, created_at, updated_at
    )
    select uuidv7(age),
      case when n % (${rows}::int / 10) = 3 then 'ten' when n % 2 = 0 then 'half'
        else 'user-' || n % 999 end,
      'ORD-' || case when n <= ${rows}::int * 0.6 then '2025-' else '2026-' end
        || lpad(n::text, 7, '0'),
      gen_random_uuid(), 'qris', 1000 * (n % 500 + 1), 'IDR', 'settlement',
      (array['Budi', 'Siti', 'Agus', 'Dewi', 'Rina', 'Joko', 'Putri', 'Andi', 'Wati', 'Hendra'])
        [1 + n % 10],
      (array['Santoso', 'Wijaya', 'Halim', 'Susanto', 'Pratama', 'Nugroho', 'Saputra'])[1 + n % 7],
      'user' || customer || '@'
        || (array['gmail.com', 'yahoo.co.id', 'shop.example'])[1 + customer % 3],
      '+62812' || lpad(customer::text, 8, '0'), now() + age, now() + age, now() + age, now() + age
    from generate_series(1::bigint, ${rows}::int) n
    cross join lateral (
      select make_interval(secs => ((n - ${rows}) * 30)::float8) as age,
        n * 7919 % 300000 as customer
    ) made
    order by n`;
  // The sandbox does not know these payments.
  await changeAccount(sql, "sandbox");
  await sql`vacuum analyze gateway.payments, gateway.payment_filters,
    gateway.payment_search_keys`;
  // Otherwise a checkpoint could run during the measurement.
  await sql`checkpoint`;
  await sql.end();
  return url;
}

function orderId(number: number): string {
  return `ORD-2025-${String(number).padStart(7, "0")}`;
}

/** Copies a database to which no service is connected. */
async function copyDatabase(url: string): Promise<string> {
  const name = `copy_of_${new URL(url).pathname.slice(1)}`;
  const at = (pathname: string) => Object.assign(new URL(url), { pathname }).href;
  const template = new URL(url).pathname.slice(1);
  await runSql(at("/postgres"), `create database ${name} template ${template} strategy file_copy`);
  return at(`/${name}`);
}

/** Undoes what the search writes with each charge. A start would build the index again. */
async function removeSearch(url: string): Promise<void> {
  await runSql(
    url,
    `drop index gateway.${TRIGRAM_INDEX}; drop index gateway.payments_by_amount;
    create or replace function gateway.name_key(first_name text, last_name text) returns text
    language sql immutable parallel safe as 'select null::text'`,
  );
}
