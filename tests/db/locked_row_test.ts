import assert from "node:assert/strict";
import postgres from "postgres";
import { newPayment } from "../../core/payments/new_payment.ts";
import { codeOf, type Database, type Sql } from "../../db/connection/database.ts";
import { notificationWrites } from "../../db/payments/notifications.ts";
import { paymentInserts, paymentWrites } from "../../db/writing/payment_writes.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openPool } from "../support/database/pools.ts";
import { newKey } from "../support/idempotency.ts";
import { chargeRequest, openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { until } from "../support/until.ts";

const CHARGES = 160;
const CONCURRENT_CHARGES = 16;
const CONCURRENT_CHECKS = 6;

interface OpenTransaction extends AsyncDisposable {
  end(): Promise<void>;
}

/** Runs a statement in a transaction that stays open, such as that of an operator in psql. */
async function openTransaction(databaseUrl: string, statement: string): Promise<OpenTransaction> {
  const sql = postgres(databaseUrl, { max: 1 });
  const session = await sql.reserve();
  await session`begin`;
  await session.unsafe(statement);
  let isOpen = true;
  async function end() {
    if (!isOpen) return;
    isOpen = false;
    await session`rollback`;
    session.release();
    await sql.end();
  }
  return { end, [Symbol.asyncDispose]: end };
}

/** A payment with a locked row. Its next check finds it paid and has to update that row. */
async function lockPayment(payments: TestPayments) {
  const { id, transaction_id } = await payments.charge("gopay");
  await payments.sandbox.control(`transactions/${transaction_id}/pay`);
  const lock = await openTransaction(
    payments.databaseUrl,
    `select from gateway.payments where id = '${id}' for update`,
  );
  return { lock, check: () => payments.get(`/payments/${id}/check_status/`) };
}

/** Counts the attempts to write a payment. */
function countWrites() {
  const counts = { writes: 0 };
  return {
    counts,
    wrapDatabase: (database: Database): Database => ({
      ...database,
      query(work, name) {
        if (name === "write payment") counts.writes++;
        return database.query(work, name);
      },
    }),
  };
}

Deno.test("charge: a locked payment does not fail the charges of other payments", async () => {
  await using payments = await openPayments({ poolSize: 10 });
  const { lock, check } = await lockPayment(payments);
  await using _ = lock;
  const body = await chargeRequest(payments.sandbox, "bca");
  const charges: number[] = [];
  let remaining = CHARGES;
  async function chargeAll() {
    while (remaining-- > 0) charges.push((await payments.post("/charge/", body, newKey())).status);
  }
  // They wait for the lock until it is released.
  const checks = Promise.all(Array.from({ length: CONCURRENT_CHECKS }, check));
  await Promise.all(Array.from({ length: CONCURRENT_CHARGES }, chargeAll));
  assert.deepEqual(charges, Array(CHARGES).fill(201));
  await lock.end();
  for (const answer of await checks) assert.equal(answer.status, 200);
});

Deno.test("check_status: of a payment that stays locked gets 503 with Retry-After", async () => {
  await using payments = await openPayments({ databaseDeadlineMs: 5_000 });
  const { lock, check } = await lockPayment(payments);
  await using _ = lock;
  for (const answer of await Promise.all(Array.from({ length: CONCURRENT_CHECKS }, check))) {
    assert.ok(Number(answer.headers.get("retry-after")) > 0);
    await assertProblem(answer, 503, "unavailable");
  }
  await lock.end();
  assert.equal((await check()).status, 200);
});

Deno.test("check_status: waits for a locked payment and writes it when the lock is released", async () => {
  const { counts, wrapDatabase } = countWrites();
  await using payments = await openPayments({ wrapDatabase });
  const { lock, check } = await lockPayment(payments);
  await using _ = lock;
  const before = counts.writes;
  const answer = check();
  await until("the write is tried again", () => counts.writes >= before + 2);
  await lock.end();
  assert.equal((await answer).status, 200);
});

Deno.test("charge: if an open transaction holds an order id, charges with other order ids succeed", async () => {
  await using payments = await openPayments();
  await using transaction = await openTransaction(
    payments.databaseUrl,
    `insert into gateway.order_ids (order_id, user_id, holder_id)
     values ('taken', 'alice', gen_random_uuid())`,
  );
  const body = await chargeRequest(payments.sandbox, "bca");
  const orders = ["one", "two", "taken", "three", "four"];
  const answers = orders.map((order_id) =>
    payments.post("/charge/", { ...body, order_id }, newKey())
  );
  const [taken] = answers.splice(2, 1);
  for (const answer of await Promise.all(answers)) assert.equal(answer.status, 201);
  await transaction.end();
  assert.equal((await taken!).status, 201);
});

Deno.test("API key: works while its row is locked", async () => {
  await using payments = await openPayments();
  await using _ = await openTransaction(
    payments.databaseUrl,
    "select from gateway.api_keys for update",
  );
  assert.equal((await payments.get("/payments/")).status, 200);
});

const ID = "01900000-0000-7000-8000-000000000001";
const NOW = new Date("2026-03-05T00:00:00Z");
const PAYMENT = {
  ...newPayment({ payment_type: "qris", gross_amount: 1_000, order_id: "o1" }, "alice", NOW),
  id: ID,
};
const KEY = { user_id: "alice", scope: "POST /charge/", key: "k1" };
const UPDATE = {
  record: { ...PAYMENT, version: 1 },
  history: [],
  events: [],
  refunds: [],
  charges: [],
  attempts: [],
  notifications: [],
  jobs: [],
  key: null,
};

const ROWS = `
  insert into gateway.payments (id, version, user_id, order_id, payment_type, gross_amount, currency,
    transaction_status, sent_at, created_at, updated_at)
  values ('${ID}', 1, 'alice', 'o1', 'qris', 1000, 'IDR', 'pending', now(), now(), now());
  insert into gateway.idempotency_keys (user_id, scope, key, body_hash, lease_id, created_at)
  values ('alice', 'POST /charge/', 'k1', '', '${ID}', now());
  insert into gateway.notifications (id, order_id, transaction_status, status_code, gross_amount,
    status, raw_payload, created_at)
  values ('${ID}', 'o1', 'settlement', '200', '1000.00', 'received', '{}', now());
  insert into gateway.webhook_deliveries (event_id, endpoint_id, event_name, resource_id, sequence,
    next_attempt_at, created_at)
  values ('${ID}', '${ID}', 'payment_settled', '${ID}', 1, '2026-03-05', now())`;

/** Every batched statement that locks rows, with the table in which another session locks them. */
const WRITES: [name: string, table: string, write: (sql: Sql) => Promise<unknown>][] = [
  [
    "insert of a payment",
    "idempotency_keys",
    (sql) =>
      paymentInserts.run(sql, [{
        record: { ...PAYMENT, order_id: "o2" },
        key: {
          ...KEY,
          body_hash: "\\x",
          resource_id: ID,
          lease_id: ID,
          holder: null,
          created_at: NOW,
        },
        keysSince: NOW,
        replaces: null,
      }]),
  ],
  ["update of a payment", "payments", (sql) => paymentWrites.run(sql, [UPDATE])],
  [
    "fenced update of a payment",
    "idempotency_keys",
    (sql) => {
      const lease = { lease_id: ID, is_ended: true };
      const key = { ...KEY, ...lease, resource_id: ID, refund_id: null, reply: null };
      return paymentWrites.run(sql, [{ ...UPDATE, key }]);
    },
  ],
  [
    "write of a notification",
    "notifications",
    (sql) =>
      notificationWrites.run(sql, [{
        notification: {
          id: ID,
          payment_id: null,
          order_id: "o1",
          transaction_id: null,
          transaction_status: "settlement",
          fraud_status: null,
          payment_type: null,
          status_code: "200",
          gross_amount: "1000.00",
          status: "processed",
          error_message: null,
          raw_payload: {},
          created_at: NOW,
        },
        jobs: [],
      }]),
  ],
];

for (const [name, table, write] of WRITES) {
  Deno.test(`${name}: stops waiting for a locked row, and sets no lock timeout for later statements`, async () => {
    const url = await createDatabase({ isNew: true });
    await runSql(url, ROWS);
    // One connection, so that the test reads the setting of the connection that waited.
    const database = openPool({ url, poolSize: 1 });
    const lock = await openTransaction(url, `select from gateway.${table} for update`);
    try {
      await assert.rejects(database.query(write), (error: Error) => {
        assert.equal(codeOf(error.cause), "55P03");
        return true;
      });
      await lock.end();
      await database.query(write);
      const [row] = await database.query((sql) => sql`show lock_timeout`);
      assert.equal(row!.lock_timeout, "0");
    } finally {
      await lock[Symbol.asyncDispose]();
      await database.close();
    }
  });
}
