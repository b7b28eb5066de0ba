import assert from "node:assert/strict";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { type Batched, batched } from "../../db/records/batched.ts";
import type { Sql } from "../../db/connection/database.ts";
import { createDatabase } from "../support/database/database.ts";
import { createHeldDatabase } from "../support/database/held_database.ts";
import { openPool } from "../support/database/pools.ts";
import { newKey } from "../support/idempotency.ts";
import { chargeRequest, openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { until } from "../support/until.ts";

const CHARGES = 50;

/** A statement that records its batches. */
function createCountingStatement(
  run: (sql: Sql, items: number[]) => Promise<unknown> = () => Promise.resolve(),
) {
  const batches: number[][] = [];
  const running = new Set<Promise<unknown>>();
  const statement: Batched<number, number> = {
    name: "count",
    conflictKeys: (item) => [String(item)],
    async run(sql, items) {
      batches.push(items);
      const work = sql`select 1`.then(() => run(sql, items)).finally(() => running.delete(work));
      running.add(work);
      await work;
      return items.map((item) => item * 10);
    },
  };
  return { batches, running, statement };
}

/** A statement that fails with this SQLSTATE. */
function raise(sqlState: string): string {
  return `do $$ begin raise exception sqlstate '${sqlState}'; end $$`;
}

async function openCounter(
  run?: Parameters<typeof createCountingStatement>[0],
  deadlineMs?: number,
) {
  const url = await createDatabase({ template: null });
  const database = openPool({ url, poolSize: 4, deadlineMs });
  // Connects now: a first batch that waits for a connection could run after the next batch.
  await database.query((sql) => sql`select 1`);
  const { batches, running, statement } = createCountingStatement(run);
  return {
    batches,
    count: (item: number) => batched(database, statement, item),
    async [Symbol.asyncDispose]() {
      await until("no statement runs", () => running.size === 0);
      await database.close();
    },
  };
}

Deno.test("batched: runs a single item at once, and items that arrive meanwhile in one batch", async () => {
  await using counter = await openCounter();
  const results = await Promise.all([1, 2, 3, 4].map(counter.count));
  assert.deepEqual(results, [10, 20, 30, 40]);
  assert.deepEqual(counter.batches, [[1], [2, 3, 4]]);
  assert.equal(await counter.count(5), 50);
  assert.deepEqual(counter.batches.at(-1), [5]);
});

Deno.test("batched: after a batch of several items, the next items also run in one batch", async () => {
  await using counter = await openCounter();
  await Promise.all([1, 2, 3, 4].map(counter.count));
  await Promise.all([5, 6, 7].map(counter.count));
  assert.deepEqual(counter.batches, [[1], [2, 3, 4], [5, 6, 7]]);
});

Deno.test("batched: after a batch of several items, a single item does not wait for more items", async () => {
  await using counter = await openCounter();
  await Promise.all([1, 2, 3, 4].map(counter.count));
  assert.equal(await counter.count(5), 50);
  assert.equal(await counter.count(6), 60);
  assert.deepEqual(counter.batches, [[1], [2, 3, 4], [5], [6]]);
});

Deno.test("batched: items with the same conflict key run in separate batches, in order", async () => {
  await using counter = await openCounter();
  await Promise.all([1, 2, 3, 2, 2, 4].map(counter.count));
  assert.deepEqual(counter.batches, [[1], [2, 3, 4], [2], [2]]);
});

Deno.test("batched: many waiting items start a second batch, without items whose key is in the running batch", async () => {
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
  await using counter = await openCounter((_, [first]) =>
    first === 1 ? isReleased : Promise.resolve()
  );
  const first = counter.count(1);
  const others = Array.from({ length: 15 }, (_, index) => counter.count(index + 2));
  const again = counter.count(1);
  await Promise.all(others);
  assert.deepEqual(counter.batches[0], [1]);
  assert.deepEqual(counter.batches[1], Array.from({ length: 15 }, (_, index) => index + 2));
  release();
  assert.deepEqual([await first, await again], [10, 10]);
  assert.deepEqual(counter.batches.slice(2), [[1]]);
});

Deno.test("batched: limits the size of a batch", async () => {
  await using counter = await openCounter();
  const items = Array.from({ length: 1_000 }, (_, index) => index);
  const results = await Promise.all(items.map(counter.count));
  assert.deepEqual(results, items.map((item) => item * 10));
  assert.ok(counter.batches.every(({ length }) => length <= 64));
  assert.ok(counter.batches.length <= 20, `${counter.batches.length} statements`);
});

Deno.test("batched: a failing item does not fail the others of its batch", async () => {
  await using counter = await openCounter(async (sql, items) => {
    if (items.includes(3)) await sql`select 1 / 0`;
  });
  const results = await Promise.allSettled([1, 2, 3, 4].map(counter.count));
  assert.deepEqual(results.map(({ status }) => status === "fulfilled"), [true, true, false, true]);
});

for (
  const [what, sqlState] of Object.entries({
    "waited too long for a lock": "55P03",
    "took too long": "57014",
  })
) {
  Deno.test(`batched: after a batch ${what}, runs its items one by one`, async () => {
    await using counter = await openCounter(async (sql, items) => {
      if (items.length > 1) await sql.unsafe(raise(sqlState));
    });
    assert.deepEqual(await Promise.all([1, 2, 3].map(counter.count)), [10, 20, 30]);
    assert.deepEqual(counter.batches, [[1], [2, 3], [2], [3]]);
  });
}

Deno.test("batched: retries an item while its row is locked, after the other items of its batch", async () => {
  let isLocked = true;
  await using counter = await openCounter(async (sql, items) => {
    if (items.includes(2) && isLocked) await sql.unsafe(raise("55P03"));
  });
  const results = Promise.all([1, 2, 3, 4].map(counter.count));
  await until("the item runs again", () => counter.batches.length > 6);
  isLocked = false;
  assert.deepEqual(await results, [10, 20, 30, 40]);
  const expected = [[1], [2, 3, 4], [2], [3], [4], [2]];
  assert.deepEqual(counter.batches.slice(0, expected.length), expected);
});

Deno.test("batched: an item joins no batch while an earlier item with the same key waits for a lock", async () => {
  let isLocked = true;
  await using counter = await openCounter(async (sql, items) => {
    if (items.includes(1) && isLocked) await sql.unsafe(raise("55P03"));
  });
  const lockedItem = counter.count(1);
  await until("the item runs again", () => counter.batches.length >= 2);
  const laterItems = Promise.all([2, 1, 3].map(counter.count));
  assert.equal(await counter.count(4), 40);
  isLocked = false;
  assert.deepEqual([await lockedItem, ...await laterItems], [10, 20, 10, 30]);
  assert.ok(counter.batches.every((batch) => batch.length === 1 || !batch.includes(1)));
});

Deno.test("batched: rejects an item and those with the same key if the row stays locked", async () => {
  await using counter = await openCounter(async (sql, items) => {
    if (items.includes(1)) await sql.unsafe(raise("55P03"));
  }, 5_000);
  const lockedItem = counter.count(1);
  await until("the item runs again", () => counter.batches.length >= 2);
  const results = await Promise.allSettled([lockedItem, counter.count(1), counter.count(2)]);
  assert.deepEqual(
    results.map((result) => result.status === "rejected" ? result.reason.name : result.value),
    ["DatabaseUnavailable", "DatabaseUnavailable", 20],
  );
});

Deno.test("batched: a slow batch does not delay the next one", async () => {
  const release = Promise.withResolvers<void>();
  await using counter = await openCounter((_sql, items) =>
    items.includes(1) ? release.promise : Promise.resolve()
  );
  const slowItem = counter.count(1);
  assert.equal(await counter.count(2), 20);
  release.resolve();
  assert.equal(await slowItem, 10);
});

Deno.test("charge: concurrent charges are combined in few statements, and each gets its own result", async () => {
  const statements = new Map<string, number>();
  await using payments = await openPayments({
    wrapDatabase: (database) => ({
      ...database,
      query(work, name = "query") {
        statements.set(name, (statements.get(name) ?? 0) + 1);
        return database.query(work, name);
      },
    }),
  });
  await payments.charge();
  // On a slow machine a batch starts before the other charges have arrived.
  await until("the charges are combined", async () => {
    statements.clear();
    await chargeAtOnce(payments);
    return ["insert payment", "write payment"].every((name) => statements.get(name)! < CHARGES / 2);
  });
});

/** Charges many orders, and some of them twice. */
async function chargeAtOnce(payments: TestPayments): Promise<void> {
  const body = await chargeRequest(payments.sandbox, "bca");
  const prefix = crypto.randomUUID();
  const answers = await Promise.all(
    Array.from({ length: CHARGES }, (_, index) => {
      const order_id = `${prefix}-${index % (CHARGES - 5)}`;
      return payments.post("/charge/", { ...body, order_id }, index % 2 ? newKey() : {});
    }),
  );
  const orders = new Set<string>();
  for (const answer of answers) {
    if (answer.status !== 201) {
      await assertProblem(answer, 400, "duplicate_order");
      continue;
    }
    const payment = PaymentSchema.parse(await answer.json());
    assert.deepEqual(payment, await payments.read(payment.id));
    assert.deepEqual(await payments.transitions(payment.id), [">pending charge"]);
    assert.deepEqual(await payments.events(payment.id), ["payment_received"]);
    assert.ok(!orders.has(payment.order_id), "an order is charged once");
    orders.add(payment.order_id);
  }
  assert.equal(orders.size, CHARGES - 5);
}

Deno.test("charge: a charge that cannot be stored does not fail the other charges of its batch", async () => {
  await using payments = await openPayments();
  await payments.app.database.query((sql) =>
    sql`alter table gateway.events add constraint odd check (data->>'order_id' <> 'odd')`
  );
  const orders = ["one", "two", "odd", "three", "four"];
  const body = await chargeRequest(payments.sandbox, "bca");
  const answers = await Promise.all(
    orders.map((order_id) => payments.post("/charge/", { ...body, order_id }, newKey())),
  );
  for (const [index, answer] of answers.entries()) {
    if (orders[index] === "odd") await assertProblem(answer, 500, "internal_error");
    else assert.equal(PaymentSchema.parse(await answer.json()).order_id, orders[index]);
  }
});

Deno.test("charge: a slow insert does not delay other charges", async () => {
  const { wrapDatabase, holdNext } = createHeldDatabase();
  await using payments = await openPayments({ wrapDatabase });
  const held = holdNext("insert payment");
  const slowCharge = payments.charge();
  await held.arrived;
  await payments.charge();
  held.release();
  await slowCharge;
});
