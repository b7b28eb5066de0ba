import assert from "node:assert/strict";
import { type Database, DatabaseUnavailable } from "../../db/connection/database.ts";
import { createDatabase } from "../support/database/database.ts";
import { newKey } from "../support/idempotency.ts";
import {
  type Operation,
  OPERATIONS,
  type Prepared,
  timesDone,
} from "../support/payments/operations.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { STATEMENT_STEP } from "../support/share.ts";

const databaseUrl = await createDatabase();

/** Either the statement is lost before it runs, or its result after it ran. */
const LOSSES = ["statement", "result"] as const;

/** More queries than any operation runs. */
const MAX_QUERIES = 20;

/** A database whose connection breaks at the query with a chosen number. */
function createLossyDatabase() {
  let countdown = Infinity;
  let loss: (typeof LOSSES)[number] = "statement";
  return {
    lose(number: number, kind: typeof loss) {
      countdown = number;
      loss = kind;
    },
    wasLost: () => countdown === 0,
    stopLosing: () => countdown = Infinity,
    wrapDatabase: (database: Database): Database => ({
      ...database,
      async query(work, name) {
        if (countdown === 0 || --countdown > 0) return await database.query(work, name);
        if (loss === "result") await database.query(work, name);
        throw new DatabaseUnavailable(`The ${loss} was lost`);
      },
    }),
  };
}

/** The first query to lose. If a run tries a share of them, each operation begins with another. */
function firstOf(operation: Operation, loss: (typeof LOSSES)[number]): number {
  return 1 + (OPERATIONS.indexOf(operation) + LOSSES.indexOf(loss)) % STATEMENT_STEP;
}

/**
 * Runs the operation once for each of its queries and loses that query; calls `after` each time.
 */
async function loseEach(
  operation: Operation,
  after: (
    payments: RelayedPayments,
    lost: { number: number; send: () => Promise<Response>; prepared: Prepared },
    advance: (ms: number) => void,
  ) => Promise<void>,
): Promise<void> {
  const lossy = createLossyDatabase();
  let aheadMs = 0;
  let gatewayBehindMs = 0;
  const now = () => Date.now() + aheadMs;
  await using payments = await openRelayed({ databaseUrl, now, ...lossy });
  for (
    const [loss, hasMetadata] of LOSSES.flatMap((each) => [[each, false], [each, true]] as const)
  ) {
    await payments.sandbox.showMetadata(hasMetadata);
    for (let number = firstOf(operation, loss);; number += STATEMENT_STEP) {
      await payments.sandbox.advance(gatewayBehindMs / 1_000);
      gatewayBehindMs = 0;
      const prepared = await operation.prepare(payments);
      const headers = newKey();
      const send = () => payments.post(prepared.path, prepared.body, headers);
      lossy.lose(number, loss);
      const answer = await send();
      const wasLost = lossy.wasLost();
      lossy.stopLosing();
      if (!wasLost) {
        assert.ok(
          number > 2 && number < MAX_QUERIES,
          "the operation runs at least 2 queries and fewer than MAX_QUERIES",
        );
        break;
      }
      // An operation may succeed without the lost query, but never fails with an internal error.
      assert.ok([operation.status, 400, 502, 503].includes(answer.status), await answer.text());
      await after(payments, { number, send, prepared }, (ms) => {
        aheadMs += ms;
        gatewayBehindMs += ms;
      });
    }
  }
}

for (const operation of OPERATIONS) {
  Deno.test(`${operation.name}: after the loss of one query, a retry with the same key completes the operation once`, async () => {
    await loseEach(operation, async (payments, { number, send, prepared }, advance) => {
      advance(10 * 60_000);
      const answer = await send();
      const text = await answer.text();
      assert.equal(answer.status, operation.status, `${number}: ${text}`);
      assert.equal(await timesDone(payments, operation, prepared), 1, `${number}`);
      const { id } = operation.paymentIn(JSON.parse(text));
      assert.deepEqual(await payments.refresh(id), await payments.read(id));
    });
  });

  Deno.test(`${operation.name}: after the loss of one query, check_payment_status stores the gateway's state`, async () => {
    await loseEach(operation, async (payments, { number, prepared }, advance) => {
      const { orderId } = prepared;
      const [row] = await payments.app.database.query((sql) =>
        sql`select id from gateway.payments where order_id = ${orderId}`
      );
      const [transaction, ...more] = await payments.transactions(orderId);
      assert.deepEqual(more, [], `${number}`);
      if (!row) return assert.equal(transaction, undefined, `${number}: nothing was sent`);
      advance(16 * 60_000);
      await payments.check(row.id);
      const payment = await payments.read(row.id);
      const [latest] = await payments.transactions(orderId);
      assert.equal(payment.transaction_status, latest?.transaction_status ?? "failure");
      assert.equal(payment.transaction_id, latest?.transaction_id ?? null);
      assert.equal(payment.refund_amount, latest?.refund_amount ?? "0.00");
      assert.ok(payment.refunds.every(({ status }) => status === "succeeded"), `${number}`);
      assert.ok(await timesDone(payments, operation, prepared) <= 1, `${number}`);
    });
  });
}
