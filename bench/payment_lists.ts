/**
 * Latency of payment lists: page 1 and page 1,000 (or the last full page), in a small and in a
 * large table.
 */

import postgres from "postgres";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { createKey } from "../core/auth/api_keys.ts";
import { openDatabase } from "../db/connection/database.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { type Caller, connect, timed } from "./support/caller.ts";
import { goal, median, milliseconds, row } from "./support/figures.ts";
import { getRequest } from "./support/load.ts";
import { startPostgres } from "./support/postgres.ts";
import { startService } from "./support/service.ts";

const SMALL_ROWS = 1_000;
const LARGE_ROWS = 1_000_000;
const PAGE_SIZE = 50;
const LATE_PAGE_NUMBER = 1_000;
const WARM_UP = 50;
const MEASURED_CALLS = 300;
const MAX_RATIO = 1.3;

/**
 * The filters by ovo, by chargeback, and by qris with expire each match 20 of the 40 oldest rows;
 * the other filters match many pages.
 */
const FILTERS = [
  "",
  "payment_type=bank_transfer",
  "status=settlement",
  "payment_type=bank_transfer&status=settlement",
  "payment_type=ovo",
  "status=chargeback",
  "payment_type=qris&status=expire",
  "status=expire&status=settlement&payment_type=bank_transfer&payment_type=qris",
  "customer_email=BUDI%40example.com",
  "customer_email=budi%40example.com&status=settlement&min_amount=40000",
  "customer_phone=0812-3456-789",
  "created_from=2020-01-01T00:00:00Z&status=settlement",
  "settled_from=2020-01-01T00:00:00Z",
  "settled_from=2020-01-01T00:00:00Z&payment_type=bank_transfer",
];

/** `regular` has half of all payments; `former` has only old payments. */
const USERS = ["staff", "regular", "former"] as const;
type UserName = (typeof USERS)[number];

type SendRequest = () => Promise<void>;

interface BenchService {
  caller: Caller;
  url: string;
  keys: Record<UserName, string>;
}

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
await using resources = new AsyncDisposableStack();
const small = await startWithPayments(SMALL_ROWS);
const large = await startWithPayments(LARGE_ROWS);

const titles = ["page 1", "late page"].flatMap((page) =>
  [SMALL_ROWS, LARGE_ROWS].map((rows) => `${page}, ${rows.toLocaleString("en")}`)
);
console.log(row("GET /payments/, p50", titles));
let largestRatio = 0;
for (const filter of FILTERS) {
  for (const user of USERS) {
    const [firstOfSmall, lateOfSmall] = await pagesOf(small, user, filter);
    const [firstOfLarge, lateOfLarge] = await pagesOf(large, user, filter);
    // The requests alternate between the services, so that all caches are in the same state.
    const times = await measure([firstOfSmall, firstOfLarge, lateOfSmall, lateOfLarge]);
    const ratio = Math.max(...times) / Math.min(...times);
    largestRatio = Math.max(largestRatio, ratio);
    console.log(row(`${user} ${filter}`, times.map(milliseconds), `ratio ${ratio.toFixed(2)}`));
  }
}
const remark = goal(`ratio at most ${MAX_RATIO}`, largestRatio <= MAX_RATIO);
console.log(row("largest ratio of the slowest to the fastest", [largestRatio.toFixed(2)], remark));

/** Functions that request the first page and a late page. */
async function pagesOf(
  { url, keys, caller }: BenchService,
  user: UserName,
  filter: string,
): Promise<[SendRequest, SendRequest]> {
  const first = `${url}payments/?${filter}`;
  const headers = { Authorization: `Bearer ${keys[user]}` };
  const requestPage = (page: string): SendRequest => async () => {
    const head = await caller.send(getRequest(page, headers)());
    if (!head.startsWith("HTTP/1.1 200")) throw new Error(`Expected 200: ${head}`);
  };
  return [requestPage(first), requestPage(await latePage(first, headers))];
}

/** Sends the requests in turns, and returns the median latency of each. */
async function measure(requests: SendRequest[]): Promise<number[]> {
  const times = requests.map((): number[] => []);
  for (let call = -WARM_UP; call < MEASURED_CALLS; call++) {
    for (const [index, request] of requests.entries()) {
      const ms = await timed(request);
      if (call >= 0) times[index]!.push(ms);
    }
  }
  return times.map(median);
}

/** The URL of page 1,000, or of the last full page: a page with fewer rows would be faster. */
async function latePage(first: string, headers: Record<string, string>): Promise<string> {
  let page = first;
  for (let number = 1, next: string | null = first; next && number <= LATE_PAGE_NUMBER; number++) {
    const response: Response = await fetch(next, { headers });
    const { length } = await response.json();
    if (length < PAGE_SIZE) break;
    page = next;
    const link = response.headers.get("Link")?.match(/<([^>]+)>; rel="next"/)?.[1];
    next = link ? new URL(link, first).href : null;
  }
  return page;
}

/** Starts a service with this many payments in its database. */
async function startWithPayments(rows: number): Promise<BenchService> {
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
  const keyOf = (userId: UserName) => createKey(database, { userId, isStaff: false, name: null });
  const keys = { staff, regular: await keyOf("regular"), former: await keyOf("former") };
  await database.close();
  await insertPayments(url, rows);
  return {
    caller: resources.use(await connect(service.url)),
    url: service.url,
    keys,
  };
}

async function insertPayments(url: string, rows: number): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`
    insert into gateway.payments (
      id, user_id, order_id, transaction_id, payment_type, gross_amount, currency,
      transaction_status, customer_email, customer_phone, settlement_time, sent_at, created_at,
      updated_at
    )
    select uuidv7(age),
      case when n % 2 = 0 then 'regular' when n <= ${rows}::int / 2 then 'former'
        else 'user-' || n % 999 end,
      'order-' || n, gen_random_uuid(), payment_type, 44000, 'IDR', status, 'budi@example.com',
      '+628123456789', now() + age,
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
  await sql`vacuum analyze gateway.payments, gateway.payment_filters,
    gateway.payment_search_keys`;
  // Otherwise a checkpoint could run during the measurement.
  await sql`checkpoint`;
  await sql.end();
}
