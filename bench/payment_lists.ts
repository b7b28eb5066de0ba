/** Lists of payments: the first page and a late one, in a small table and in a large one. */

import postgres from "postgres";
import { generateApiKey } from "../core/api_key.ts";
import { createKey } from "../core/auth/api_keys.ts";
import { openDatabase } from "../db/database.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { type Caller, connect, timed } from "./support/caller.ts";
import { goal, median, milliseconds, row } from "./support/figures.ts";
import { get } from "./support/load.ts";
import { startPostgres } from "./support/postgres.ts";
import { startService } from "./support/service.ts";

const FEW = 1_000;
const MANY = 1_000_000;
const PAGE = 50;
const LATE = 1_000;
const WARM_UP = 50;
const CALLS = 300;
const MOST_APART = 1.3;

/** The last three match only a few rows, the oldest; the others have many pages in both tables. */
const FILTERS = [
  "",
  "payment_type=bank_transfer",
  "status=settlement",
  "payment_type=bank_transfer&status=settlement",
  "payment_type=ovo",
  "status=chargeback",
  "payment_type=qris&status=expire",
];

/** Staff, a user with half of all payments, and a user whose payments are all old. */
const CALLERS = ["staff", "regular", "former"] as const;
type Who = (typeof CALLERS)[number];

type SendRequest = () => Promise<void>;

interface Table {
  caller: Caller;
  url: string;
  keys: Record<Who, string>;
}

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
await using resources = new AsyncDisposableStack();
const few = await openTable(FEW);
const many = await openTable(MANY);

const titles = ["first", "late"].flatMap((page) =>
  [FEW, MANY].map((rows) => `${page} of ${rows.toLocaleString("en")}`)
);
console.log(row("GET /payments/, p50", titles));
let furthest = 0;
for (const filter of FILTERS) {
  for (const who of CALLERS) {
    const [firstOfFew, lateOfFew] = await pagesOf(few, who, filter);
    const [firstOfMany, lateOfMany] = await pagesOf(many, who, filter);
    // Both services in turns, so that their caches are in the same state.
    const times = await measure([firstOfFew, firstOfMany, lateOfFew, lateOfMany]);
    const apart = Math.max(...times) / Math.min(...times);
    furthest = Math.max(furthest, apart);
    console.log(row(`${who} ${filter}`, times.map(milliseconds), `ratio ${apart.toFixed(2)}`));
  }
}
const remark = goal(`ratio at most ${MOST_APART}`, furthest <= MOST_APART);
console.log(row("largest ratio of the slowest to the fastest", [furthest.toFixed(2)], remark));

/** Requests of the first page and of a late one. */
async function pagesOf(
  { url, keys, caller }: Table,
  who: Who,
  filter: string,
): Promise<[SendRequest, SendRequest]> {
  const first = `${url}payments/?${filter}`;
  const headers = { Authorization: `Bearer ${keys[who]}` };
  const ask = (page: string): SendRequest => async () => {
    const head = await caller.ask(get(page, headers)());
    if (!head.startsWith("HTTP/1.1 200")) throw new Error(`Expected 200: ${head}`);
  };
  return [ask(first), ask(await latePage(first, headers))];
}

/** The median latency of each request, sent in turns. */
async function measure(requests: SendRequest[]): Promise<number[]> {
  const times = requests.map((): number[] => []);
  for (let call = -WARM_UP; call < CALLS; call++) {
    for (const [index, request] of requests.entries()) {
      const ms = await timed(request);
      if (call >= 0) times[index]!.push(ms);
    }
  }
  return times.map(median);
}

/** Page 1,000, or the last full page: a page with fewer rows would be faster. */
async function latePage(first: string, headers: Record<string, string>): Promise<string> {
  let page = first;
  for (let number = 1, next: string | null = first; next && number <= LATE; number++) {
    const response: Response = await fetch(next, { headers });
    const { length } = await response.json();
    if (length < PAGE) break;
    page = next;
    const link = response.headers.get("Link")?.match(/<([^>]+)>; rel="next"/)?.[1];
    next = link ? new URL(link, first).href : null;
  }
  return page;
}

/** Starts a service on a table with this many payments. */
async function openTable(rows: number): Promise<Table> {
  const url = await server.createDatabase(`payments_${rows}`);
  const staff = generateApiKey();
  const service = resources.use(
    await startService(`${folder.path}/${rows}.log`, {
      DATABASE_URL: url,
      GATEWAY_BASE_URL: "http://127.0.0.1:2",
      BOOTSTRAP_STAFF_KEY: staff,
    }),
  );
  const database = openDatabase({ url, poolSize: 1 });
  const keyOf = (userId: Who) => createKey(database, { userId, isStaff: false, name: null });
  const keys = { staff, regular: await keyOf("regular"), former: await keyOf("former") };
  await database.close();
  await fill(url, rows);
  return {
    caller: resources.use(await connect(service.url)),
    url: service.url,
    keys,
  };
}

async function fill(url: string, rows: number): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`
    insert into gateway.payments (
      id, user_id, order_id, transaction_id, payment_type, gross_amount, currency,
      transaction_status, customer_email, sent_at, created_at, updated_at
    )
    select uuidv7(age),
      case when n % 2 = 0 then 'regular' when n <= ${rows}::int / 2 then 'former'
        else 'user-' || n % 999 end,
      'order-' || n, gen_random_uuid(), payment_type, 44000, 'IDR', status, 'budi@example.com',
      now() + age, now() + age, now() + age
    from generate_series(1, ${rows}::int) n
    cross join lateral (select make_interval(secs => n - ${rows}) as age) made
    cross join lateral (
      select
        case when n <= 20 then 'ovo' when n <= 40 then 'qris' when n % 8 < 2 then 'qris'
          else 'bank_transfer' end as payment_type,
        case when n <= 20 then 'chargeback' when n <= 40 then 'expire' when n % 8 in (2, 3)
          then 'expire' else 'settlement' end as status
    ) kind
    order by n`;
  await sql`vacuum analyze gateway.payments`;
  // Otherwise a checkpoint could run during the measurement.
  await sql`checkpoint`;
  await sql.end();
}
