import assert from "node:assert/strict";
import { type Database, DatabaseUnavailable } from "../../db/database.ts";
import { createDatabase } from "../support/database/database.ts";
import { newKey } from "../support/idempotency.ts";
import {
  type Operation,
  OPERATIONS,
  type Prepared,
  timesDone,
} from "../support/payments/operations.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";

const databaseUrl = await createDatabase();

/** Whether the statement is lost on its way there, or its answer on the way back: it is done then. */
const LOSSES = ["statement", "answer"] as const;

const MANY = 20;

/** A database that loses one query, and tells nobody which. */
function createLossyDatabase() {
  let countdown = Infinity;
  let loss: (typeof LOSSES)[number] = "statement";
  return {
    lose(number: number, what: typeof loss) {
      countdown = number;
      loss = what;
    },
    isStruck: () => countdown === 0,
    mend: () => countdown = Infinity,
    wrapDatabase: (database: Database): Database => ({
      ...database,
      async query(work, name) {
        if (countdown === 0 || --countdown > 0) return await database.query(work, name);
        if (loss === "answer") await database.query(work, name);
        throw new DatabaseUnavailable(`The ${loss} was lost`);
      },
    }),
  };
}

/** Loses each query of an operation in turn; `after` sees what came of each. */
async function loseEach(
  operation: Operation,
  fault: string | null,
  after: (
    payments: RelayedPayments,
    lost: { number: number; send: () => Promise<Response>; prepared: Prepared },
    pass: (ms: number) => void,
  ) => Promise<void>,
): Promise<void> {
  const lossy = createLossyDatabase();
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now, ...lossy });
  for (const loss of LOSSES) {
    for (let number = 1;; number++) {
      const prepared = await operation.prepare(payments);
      const headers = newKey();
      const send = () => payments.post(prepared.path, prepared.body, headers);
      if (fault) await payments.sandbox.fault(operation.name, fault);
      lossy.lose(number, loss);
      const answer = await send();
      const isStruck = lossy.isStruck();
      lossy.mend();
      await payments.sandbox.control("faults", undefined, "DELETE");
      if (!isStruck) {
        assert.ok(number > 2 && number < MANY, "there is something to lose, and an end of it");
        break;
      }
      // A loss may go unnoticed where nothing depends on it, but is never an error of ours.
      assert.ok([operation.status, 400, 502, 503].includes(answer.status), await answer.text());
      await after(payments, { number, send, prepared }, (ms) => now += ms);
    }
  }
}

for (const operation of OPERATIONS) {
  for (const fault of [null, "answer_lost"]) {
    const also = fault ? ", and the gateway's answer too" : "";

    Deno.test(`${operation.name}: whichever query is lost${also}, the same key does it once`, async () => {
      await loseEach(operation, fault, async (payments, { number, send, prepared }, pass) => {
        pass(10 * 60_000);
        const answer = await send();
        const text = await answer.text();
        assert.equal(answer.status, operation.status, `${number}: ${text}`);
        assert.equal(await timesDone(payments, operation, prepared), 1, `${number}`);
        const { id } = operation.paymentIn(JSON.parse(text));
        assert.deepEqual(await payments.refresh(id), await payments.read(id));
      });
    });

    Deno.test(`${operation.name}: whichever query is lost${also}, the task finds out`, async () => {
      await loseEach(operation, fault, async (payments, { number, prepared }, pass) => {
        const { orderId } = prepared;
        const [row] = await payments.app.database.query((sql) =>
          sql`select id from gateway.payments where order_id = ${orderId}`
        );
        const [transaction, ...more] = await payments.transactions(orderId);
        assert.deepEqual(more, [], `${number}`);
        if (!row) return assert.equal(transaction, undefined, `${number}: nobody knows of it`);
        pass(16 * 60_000);
        await payments.check(row.id);
        const payment = await payments.read(row.id);
        const [now] = await payments.transactions(orderId);
        assert.equal(payment.transaction_status, now?.transaction_status ?? "failure");
        assert.equal(payment.transaction_id, now?.transaction_id ?? null);
        assert.equal(payment.refund_amount, now?.refund_amount ?? "0.00");
        assert.ok(payment.refunds.every(({ status }) => status === "succeeded"), `${number}`);
        assert.ok(await timesDone(payments, operation, prepared) <= 1, `${number}`);
      });
    });
  }
}
