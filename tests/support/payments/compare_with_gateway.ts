/** Compares stored payments with the gateway's transactions: ids, status, amounts and refunds. */

import assert from "node:assert/strict";
import { formatMoney } from "../../../core/money.ts";
import type { Database } from "../../../db/connection/database.ts";
import type { GatewayEvent } from "../../../db/events/events.ts";
import type { GatewayPayment } from "../../../db/payments/payments.ts";
import type { History } from "../../../db/records/records.ts";
import type { Json, TestSandbox } from "../gateway/sandbox.ts";

interface StoredPayment extends Omit<GatewayPayment, "items"> {
  history: History[];
  events: GatewayEvent[];
}

/**
 * Compares all payments with the transactions. No request or job may run meanwhile.
 * `isRestored`: payments that the backup did not have got new ids, and numbers of events are left
 * out.
 */
export async function assertPaymentsMatchGateway(
  database: Database,
  sandbox: TestSandbox,
  { isRestored = false } = {},
): Promise<void> {
  const payments = await readPayments(database);
  const transactions = await readTransactions(sandbox, payments);
  const byTransaction = Map.groupBy(payments, ({ transaction_id }) => transaction_id);
  for (const transaction of transactions) {
    const own = byTransaction.get(transaction.transaction_id) ?? [];
    const expected = fieldsAtGateway(transaction);
    assert.deepEqual(own.map(fieldsStored), [{ ...expected, ...isRestored && { id: own[0]?.id } }]);
  }
  for (const { id, order_id, transaction_status } of byTransaction.get(null) ?? []) {
    assert.equal(transaction_status, "failure", `${order_id} has no transaction`);
    const found = transactions.filter(({ metadata }) => metadata.payment_ref === id);
    assert.deepEqual(found, [], "a failed charge has no transaction");
  }
  for (const payment of payments) {
    // A payment whose transaction has moved to another payment keeps its events.
    const hasMoved = isRestored && payment.transaction_id === null;
    if (!hasMoved) assertConsistent(payment, isRestored);
  }
}

async function readPayments(database: Database): Promise<StoredPayment[]> {
  return await database.query((sql) =>
    sql<StoredPayment[]>`
      select payment.*,
        coalesce((select json_agg(refund) from gateway.refunds refund
          where refund.payment_id = payment.id), '[]') as refunds,
        coalesce((select json_agg(entry order by entry.id) from gateway.history entry
          where entry.resource_id = payment.id), '[]') as history,
        coalesce((select json_agg(event order by event.sequence) from gateway.events event
          where event.resource_id = payment.id), '[]') as events
      from gateway.payments payment order by id desc`
  );
}

/** The sandbox lists its newest 100 transactions, and all of an order. */
async function readTransactions(sandbox: TestSandbox, payments: StoredPayment[]): Promise<Json[]> {
  const listed: Json[] = await sandbox.control("transactions", undefined, "GET");
  const older = new Set(payments.map(({ order_id }) => order_id))
    .difference(new Set(listed.map(({ order_id }) => order_id)));
  for (const order of older) {
    listed.push(...await sandbox.control(`transactions?order_id=${order}`, undefined, "GET"));
  }
  return listed;
}

const PAID = ["capture", "settlement", "partial_refund", "refund"];

function fieldsAtGateway(transaction: Json) {
  const { gross_amount, transaction_status, fraud_status = null, refunds = [] } = transaction;
  return {
    id: transaction.metadata.payment_ref,
    order_id: transaction.order_id,
    transaction_status,
    fraud_status,
    captured_amount: PAID.includes(transaction_status) ? gross_amount : null,
    refunded_amount: transaction.refund_amount ?? "0.00",
    refunds: refunds.map((refund: Json) => [refund.refund_key, refund.refund_amount]).sort(),
  };
}

function fieldsStored(payment: StoredPayment): ReturnType<typeof fieldsAtGateway> {
  const { id, order_id, transaction_status, fraud_status, captured_amount } = payment;
  const succeeded = payment.refunds.filter(({ status }) => status === "succeeded");
  return {
    id,
    order_id,
    transaction_status,
    fraud_status,
    captured_amount: captured_amount === null ? null : formatMoney(captured_amount),
    refunded_amount: formatMoney(payment.refunded_amount),
    refunds: succeeded.map(({ refund_key, amount }) => [refund_key, formatMoney(amount)]).sort(),
  };
}

/** No reservation or pending refund is left, and history and events lead to the current state. */
function assertConsistent(payment: StoredPayment, isRestored: boolean): void {
  const { order_id, history, events } = payment;
  assert.equal(payment.reserved_amount, 0, `${order_id}: nothing is reserved`);
  assert.ok(!payment.refunds.some(({ status }) => status === "pending"), order_id);

  assert.equal(history.at(-1)?.to_status, payment.transaction_status, order_id);
  const before = history.map((_, index) => history[index - 1]?.to_status ?? null);
  assert.deepEqual(history.map(({ from_status }) => from_status), before, order_id);

  const numbers = Array.from({ length: payment.event_count }, (_, index) => index + 1);
  if (!isRestored) assert.deepEqual(events.map(({ sequence }) => sequence), numbers, order_id);
  const timesSettled = events.filter(({ name }) => name === "payment_settled").length;
  assert.equal(timesSettled, payment.captured_amount === null ? 0 : 1, order_id);
}
