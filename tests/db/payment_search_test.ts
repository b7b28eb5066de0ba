import assert from "node:assert/strict";
import { readTerms } from "../../core/payments/search.ts";
import type { Database, Sql } from "../../db/connection/database.ts";
import { MAX_EXAMINED, type WalkCursor } from "../../db/records/list_walk.ts";
import { listPayments, type PaymentFilter } from "../../db/payments/lists.ts";
import { searchExact, searchNewest, searchParts } from "../../db/payments/search.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openForCounting, rowsReadBy } from "../support/database/rows_read.ts";
import { reportStatistics } from "../support/database/statistics.ts";
import { buildNotification, notify } from "../support/gateway/notifications.ts";
import { openPayments } from "../support/payments/payments.ts";
import { isPartial } from "../support/share.ts";
import { until } from "../support/until.ts";

/** The keys of all payments, as `kind value`. */
async function readKeys(databaseUrl: string): Promise<string[]> {
  const rows = await runSql(
    databaseUrl,
    "select kind::text || ' ' || value as key from gateway.payment_search_keys order by kind, value",
  );
  return rows.map(({ key }) => key);
}

/** Keys that are missing, and keys that no payment has. */
async function findDifferentKeys(databaseUrl: string): Promise<unknown[]> {
  const rows = await runSql(
    databaseUrl,
    `select * from (
       select payment.id as payment_id, key.kind, key.value
       from gateway.payments payment cross join lateral gateway.search_keys(
         payment.order_id, payment.customer_email, payment.customer_phone, payment.va_number,
         payment.customer_first_name, payment.customer_last_name) key
       union all
       select id, 'c', gateway.card_key(card) from gateway.payments
       where gateway.card_key(card) is not null
     ) expected
     full join gateway.payment_search_keys known using (kind, value, payment_id)
     where expected.* is null or known.* is null`,
  );
  return [...rows];
}

Deno.test("search keys: are written by the charge and by the gateway's answer, and removed with the payment", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const { databaseUrl } = payments;
  const { id, va_number } = await payments.charge("bca", {
    order_id: "order-1",
    customer_details: {
      first_name: "Budi",
      last_name: "SANTOSO",
      email: "Budi@Shop.example",
      phone: "0812-3456",
    },
  });
  await payments.charge("gopay", { order_id: "order-2" });
  assert.deepEqual(await readKeys(databaseUrl), [
    "e budi@shop.example",
    "n budi santoso",
    "o order-1",
    "o order-2",
    "p 628123456",
    `v ${va_number}`,
  ]);
  await runSql(databaseUrl, `update gateway.payments set va_number = '12345' where id = '${id}'`);
  assert.deepEqual((await readKeys(databaseUrl)).at(-1), "v 12345");
  await runSql(databaseUrl, `delete from gateway.payments where id = '${id}'`);
  assert.deepEqual(await readKeys(databaseUrl), ["o order-2"]);
});

Deno.test("search keys: a notification about a known payment writes none", async () => {
  // A new database, because PostgreSQL would also count the writes by earlier tests.
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const charged = [];
  for (let count = 0; count < 5; count++) charged.push(await payments.charge("bca"));
  const countWrites = async (updates: number) => {
    let keys = "";
    await until(`${updates} updates of payments are counted`, async () => {
      await reportStatistics(payments.app.database);
      const [row] = await runSql(
        payments.databaseUrl,
        `select payment.n_tup_upd::int as updates,
           concat_ws(' ', key.n_tup_ins, key.n_tup_upd, key.n_tup_del) as keys
         from pg_stat_user_tables payment, pg_stat_user_tables key
         where payment.relid = 'gateway.payments'::regclass
           and key.relid = 'gateway.payment_search_keys'::regclass`,
      );
      keys = row!.keys;
      return row!.updates >= updates;
    });
    return keys;
  };
  const secure = await payments.charge("card_3ds");
  assert.equal(
    await countWrites(6),
    "12 0 0",
    "order ids, virtual account numbers and the end of the card number",
  );
  for (const payment of charged) {
    await payments.sandbox.control(`transactions/${payment.transaction_id}/pay`);
    const response = await notify(payments, buildNotification(payment, "settlement"));
    assert.equal(response.status, 200);
  }
  payments.sandbox.receiver.answer = ({ body }) => notify(payments, body);
  await payments.sandbox.control(`transactions/${secure.transaction_id}/three_ds`, {
    result: "success",
  });
  await payments.sandbox.waitForWebhooks();
  assert.equal((await payments.read(secure.id)).card!.three_d_secure, "authenticated");
  assert.equal(await countWrites(12), "12 0 0");
  assert.deepEqual(await findDifferentKeys(payments.databaseUrl), []);
});

const SMALL_ROWS = 1_000;
const LARGE_ROWS = isPartial ? 10_000 : 30_000;
/** The late page continues after this payment, so it begins with the next older one. */
const LATE = 701;
const PAGE = 3;
const MAX_RATIO = 1.3;

function idOf(number: number): string {
  return `01900000-0000-7000-8000-${number.toString(16).padStart(12, "0")}`;
}

const START = Date.parse("2026-01-01T00:00:00Z");

/** Payments 1, 2, 3, … with ascending ids, each settled a second after the previous one. */
async function createPayments(rows: number): Promise<string> {
  const url = await createDatabase({ isNew: true });
  await runSql(
    url,
    `insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type, gross_amount,
       currency, transaction_status, fraud_status, customer_email, customer_phone, va_number,
       settlement_time, sent_at, created_at, updated_at)
     select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
       case when n % 2 = 0 then 'alice' else 'bob' end, 'order-' || n, 't' || n,
       case when n % 6 < 3 then 'qris' else 'gopay' end, 1000 * (n % 20 + 1), 'IDR',
       case when n % 10 < 2 then 'deny' else 'settlement' end,
       case when n % 20 = 4 then 'challenge' else 'accept' end,
       'c' || n % 10 || '@shop.example', '+6281200' || n % 10, 'va' || n % 10,
       timestamptz '2026-01-01' + n * interval '1 second', now(), now(), now()
     from generate_series(1, ${rows}) n`,
  );
  await runSql(
    url,
    "analyze gateway.payments, gateway.payment_filters, gateway.payment_search_keys",
  );
  return url;
}

/** Created once, because that takes seconds. The tests only read. */
let created: Promise<{ small: string; large: string }> | null = null;

async function createTables(): Promise<{ small: string; large: string }> {
  return { small: await createPayments(SMALL_ROWS), large: await createPayments(LARGE_ROWS) };
}

async function openTables(): Promise<
  { databases: Record<"small" | "large", Database> } & AsyncDisposable
> {
  const urls = await (created ??= createTables());
  const databases = { small: openForCounting(urls.small), large: openForCounting(urls.large) };
  return {
    databases,
    async [Symbol.asyncDispose]() {
      for (const database of Object.values(databases)) await database.close();
    },
  };
}

/** `rows` is the number of payments. Filters by time select nearly all payments. */
const FLAT_FILTERS: Record<string, (rows: number) => Partial<PaymentFilter>> = {
  "no filter": () => ({}),
  "a time of creation": (rows) => ({ firstId: idOf(1), endId: idOf(rows) }),
  "a status": () => ({ status: ["deny"] }),
  "several statuses": () => ({ status: ["deny", "settlement", "refund"] }),
  "several types": () => ({ payment_type: ["qris", "gopay", "nosuch"] }),
  "several statuses and types": () => ({
    status: ["deny", "settlement"],
    payment_type: ["qris", "gopay"],
  }),
  "an email": () => ({ customer_email: "C4@shop.example" }),
  "an email and a status": () => ({ customer_email: "c4@shop.example", status: ["settlement"] }),
  "an email and an amount": () => ({ customer_email: "c4@shop.example", min_amount: 15_000 }),
  "an email and a status that no payment has": () => ({
    customer_email: "c4@shop.example",
    status: ["refund"],
    firstId: idOf(1),
  }),
  "a phone number": () => ({ customer_phone: "081200-4" }),
  "a virtual account": () => ({ va_number: "va4" }),
  "a transaction": () => ({ transaction_id: "t500" }),
  "a fraud alert": () => ({ fraud_status: "challenge" }),
  "a frequent fraud status": () => ({ fraud_status: "accept" }),
  "a time of settlement": () => ({ settled_from: new Date(START) }),
  "a time of settlement and a status": () => ({ settled_from: new Date(START), status: ["deny"] }),
  "a time of settlement and an amount": () => ({
    settled_from: new Date(START),
    firstId: idOf(1),
    min_amount: 15_000,
  }),
  "an amount": () => ({ firstId: idOf(1), min_amount: 5_000, max_amount: 5_000 }),
  "an amount and a status": () => ({
    firstId: idOf(1),
    min_amount: 15_000,
    status: ["settlement"],
  }),
};

/** These match no payment: each request examines the maximum number of payments and finds none. */
const RARE = ["an email and a status that no payment has"];

Deno.test("payment list: each filter reads about as many rows for a late page as for the first, in a small and in a large table; a filter without matches reads a bounded number", async () => {
  await using tables = await openTables();
  for (const [name, filterOf] of Object.entries(FLAT_FILTERS)) {
    for (const owner of [null, "alice"]) {
      const counts: Record<string, number> = {};
      for (const [size, database] of Object.entries(tables.databases)) {
        const rows = size === "small" ? SMALL_ROWS : LARGE_ROWS;
        const filter = { ...filterOf(rows), owner, limit: PAGE };
        const isByTime = name.includes("settlement");
        const late: WalkCursor = {
          id: idOf(LATE),
          at: isByTime ? new Date(START + LATE * 1_000) : null,
        };
        for (const [page, after] of [["first", null], ["late", late]] as const) {
          const read = async (database: Database) => {
            const found = await database.query((sql) => listPayments(sql, { ...filter, after }));
            const expected = name === "a transaction" ? [0, 1] : RARE.includes(name) ? [0] : [PAGE];
            assert.ok(expected.includes(found.rows.length), `${name}: ${found.rows.length} rows`);
          };
          counts[`${size}, ${page} page`] = await rowsReadBy(database, read);
        }
      }
      const all = Object.values(counts);
      const ratio = Math.max(...all) / Math.min(...all);
      const isFlat = ratio <= MAX_RATIO || Math.max(...all) <= 10;
      const report = `${name} of ${owner ?? "all"}: ${JSON.stringify(counts)}`;
      if (RARE.includes(name)) {
        assert.ok(Math.max(...all) <= 4 * MAX_EXAMINED, report);
      } else {
        assert.ok(isFlat, report);
      }
    }
  }
});

Deno.test("payment search: reads a bounded number of rows, in a small and in a large table", async () => {
  await using tables = await openTables();
  for (const text of ["order-500", "rder-50", "t500", "c4@shop.example", "+62812004", "5000"]) {
    for (const owner of [null, "alice"]) {
      const search = { owner, terms: readTerms(text) };
      for (const database of Object.values(tables.databases)) {
        const found: Record<string, number> = {};
        for (
          const [name, run] of Object.entries({
            exact: (sql: Sql) => searchExact(sql, search),
            newest: (sql: Sql) => searchNewest(sql, search, 1_000),
          })
        ) {
          found[name] = await rowsReadBy(database, (database) => database.query(run));
        }
        // At most 1,001 entries of each index, and their payments.
        const report = `${text} of ${owner ?? "all"}: ${JSON.stringify(found)}`;
        assert.ok(Math.max(...Object.values(found)) <= 5_000, report);
      }
    }
  }
});

Deno.test("payment search: a part of a text that few payments have reads few rows of a large table", async () => {
  await using tables = await openTables();
  const terms = readTerms("RDER-999");
  const count = await rowsReadBy(
    tables.databases.large,
    (database) => database.query((sql) => searchParts(sql, { owner: null, terms })),
  );
  assert.ok(count <= 500, `${count} rows`);
});
