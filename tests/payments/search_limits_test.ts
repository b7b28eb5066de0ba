import assert from "node:assert/strict";
import type { Caller } from "../../core/auth/caller.ts";
import { type FoundPage, SEARCH_LIMITS, searchPayments } from "../../core/payments/search.ts";
import type { Database } from "../../db/connection/database.ts";
import { openPool } from "../support/database/pools.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { until } from "../support/until.ts";

const caller = (userId: string, isStaff = false): Caller => ({
  userId,
  isStaff,
  isViewer: false,
  credential: "api_key",
  keyPrefix: null,
});

const STAFF = caller("carol", true);
const ALICE = caller("alice");
const BOB = caller("bob");

interface SearchedDatabase extends AsyncDisposable {
  url: string;
  database: Database;
}

async function openSearched(): Promise<SearchedDatabase> {
  const url = await createDatabase({ isNew: true });
  const database = openPool({ url, poolSize: 4 });
  return { url, database, [Symbol.asyncDispose]: () => database.close() };
}

/** Inserts payments; their order ids are the prefix and the numbers 1 to `count`. */
async function insertOrders(
  { url }: SearchedDatabase,
  prefix: string,
  count: number,
  { user = "alice", name = "Budi" } = {},
): Promise<void> {
  await runSql(
    url,
    `insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type, gross_amount,
       currency, transaction_status, customer_first_name, sent_at, created_at, updated_at)
     select uuidv7(), '${user}', '${prefix}' || n, gen_random_uuid(), 'qris', 5000, 'IDR',
       'pending', '${name}', now(), now(), now()
     from generate_series(1, ${count}) n order by n`,
  );
}

async function search(
  database: Database,
  user: Caller,
  q: string,
  limits: Partial<typeof SEARCH_LIMITS> = {},
): Promise<FoundPage> {
  const input = { q, after: null, limit: 100 };
  return await searchPayments({ database }, user, input, { ...SEARCH_LIMITS, ...limits });
}

const orderIdsOf = ({ payments }: FoundPage) => payments.map(({ order_id }) => order_id);

Deno.test("payment search: if the trigram index takes too long, finds the newest matches among older payments, up to a limit", async () => {
  await using searched = await openSearched();
  await insertOrders(searched, "order-2026-", 1_500);
  await insertOrders(searched, "other-", 2_500);
  const { database } = searched;
  const slow: Database = {
    ...database,
    transaction: (work, name) =>
      database.transaction(async (sql) => {
        const result = await work(sql);
        // Exceeds the timeout that the search has set.
        if (name === "search parts") await sql`select pg_sleep(600)`;
        return result;
      }, name),
  };
  const find = (user: Caller, examinedIfFrequent: number) =>
    search(slow, user, "rder-2026", { partsMs: 50, examined: 1_000, examinedIfFrequent });
  const newest = Array.from({ length: 100 }, (_, index) => `order-2026-${1_500 - index}`);
  for (const user of [STAFF, ALICE]) {
    const found = await find(user, 4_000);
    assert.deepEqual(orderIdsOf(found), newest);
    assert.equal(found.search.limit, "matches");

    const half = await find(user, 3_000);
    assert.deepEqual(orderIdsOf(half), newest);
    assert.equal(half.search.limit, "frequent");

    const none = await find(user, 2_000);
    assert.deepEqual([orderIdsOf(none), none.search.limit], [[], "frequent"]);
  }
  await insertOrders(searched, "order-2026-of-bob", 1, { user: "bob" });
  await insertOrders(searched, "other-of-bob-", 1_200, { user: "bob" });
  const bobs = await find(BOB, 2_000);
  assert.deepEqual([orderIdsOf(bobs), bobs.search.limit], [["order-2026-of-bob1"], null]);
});

Deno.test("payment search: finds parts of names in other alphabets in any case among older payments, and says if not all were compared", async () => {
  await using searched = await openSearched();
  const names = {
    "日本 太郎": ["本 太郎", "日本 "],
    "Éda": ["éda", "ÉDA"],
    "ИВАН": ["иван", "ВАН", "Иван"],
  };
  for (const name of Object.keys(names)) {
    await insertOrders(searched, `${name}-`, 1, { name });
  }
  await insertOrders(searched, "other-", 600);
  for (const [name, texts] of Object.entries(names)) {
    for (const q of texts) {
      for (const user of [STAFF, ALICE]) {
        const found = await search(searched.database, user, q);
        assert.deepEqual([orderIdsOf(found), found.search.limit], [[`${name}-1`], null], q);
      }
    }
  }
  const few = { examined: 550 };
  const part = await search(searched.database, STAFF, "本 太郎", few);
  assert.deepEqual([orderIdsOf(part), part.search.limit], [[], "letters"]);
  const beginning = await search(searched.database, STAFF, "日本 ", few);
  assert.deepEqual([orderIdsOf(beginning), beginning.search.limit], [["日本 太郎-1"], "letters"]);

  await runSql(searched.url, "drop index gateway.payment_search_keys_by_trigram");
  const withoutIndex = await search(searched.database, STAFF, "Budi", few);
  assert.equal(withoutIndex.search.limit, "extension");
  const all = await search(searched.database, STAFF, "ther-1");
  assert.equal(all.search.limit, null, "all payments were compared one by one");
});

/** A database whose large statements wait until `release` is called. */
function holdLarge(database: Database) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const held = { count: 0, release };
  const query: Database["query"] = async (work, name) => {
    if (name === "search older payments") {
      held.count++;
      await released;
    }
    return await database.query(work, name);
  };
  return { held, database: { ...database, query } };
}

Deno.test("payment search: many searches of one caller do not delay another caller's", async () => {
  await using searched = await openSearched();
  await insertOrders(searched, "order-", 600);
  const { held, database } = holdLarge(searched.database);
  const limits = { waitMs: 600_000 };
  const alices = Array.from({ length: 5 }, () => search(database, ALICE, "order-", limits));
  try {
    await until("a large statement runs", () => held.count > 0);
    let found: FoundPage | null = null;
    const ended = search(searched.database, STAFF, "order-", limits).then((page) => found = page);
    await until("the search of staff has ended", () => found !== null);
    assert.equal(orderIdsOf(await ended)[0], "order-600");
    assert.equal(held.count, 1, "the others of alice wait");
  } finally {
    held.release();
  }
  for (const each of alices) assert.equal(orderIdsOf(await each)[0], "order-600");
});

Deno.test("payment search: is rejected with Retry-After if searches of other callers take too long", async () => {
  await using searched = await openSearched();
  await insertOrders(searched, "order-", 600);
  await insertOrders(searched, "order-of-bob-", 600, { user: "bob" });
  const { held, database } = holdLarge(searched.database);
  const others = [ALICE, BOB].map((user) => search(database, user, "order-"));
  try {
    await until("two large statements run", () => held.count === 2);
    await assert.rejects(
      search(searched.database, STAFF, "order-", { waitMs: 1 }),
      ({ code, headers }) => code === "rate_limited" && headers["Retry-After"] === "2",
    );
  } finally {
    held.release();
  }
  await Promise.all(others);
  assert.equal(orderIdsOf(await search(searched.database, STAFF, "order-"))[0], "order-of-bob-600");
});
