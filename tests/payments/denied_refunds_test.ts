/** Refunds that the bank refuses after the gateway has accepted them. */

import assert from "node:assert/strict";
import { createDatabase } from "../support/database/database.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { manualClock } from "../support/manual_clock.ts";
import type { Payment } from "../support/payments/payments.ts";
import { parseRefunded, refund } from "../support/payments/refunds.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();

const HOUR_MS = 3_600_000;

interface BankRefunds extends RelayedPayments {
  staff: string;
  markDenied(refundId: string, headers?: HeadersInit, key?: string): Promise<Response>;
}

async function openBankRefunds(now?: () => number): Promise<BankRefunds> {
  const payments = await openRelayed({ databaseUrl, now });
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  return {
    ...payments,
    staff,
    markDenied: (refundId, headers = {}, key = staff) =>
      payments.post(`/refunds/${refundId}/mark-denied/`, undefined, headers, key),
  };
}

/** A paid payment with a refund that the gateway has accepted, and the bank has not made yet. */
async function refundAtBank(payments: RelayedPayments, amount = 10_000): Promise<Payment> {
  const payment = await payments.paid("gopay");
  await payments.sandbox.fault("refund", "bank_pending");
  return (await parseRefunded(await refund(payments, payment, { amount }))).payment;
}

async function statusOf({ get, staff }: BankRefunds, refundId: string): Promise<string> {
  return (await (await get(`/refunds/${refundId}/`, staff)).json()).status;
}

async function checkTime({ app }: RelayedPayments, id: string): Promise<Date | null> {
  const [row] = await app.database.query((sql) =>
    sql<[Json]>`select check_at from gateway.payments where id = ${id}`
  );
  return row.check_at;
}

Deno.test("mark-denied: staff end a refund that waits at the bank, and its amount can be refunded again", async () => {
  const clock = manualClock();
  await using payments = await openBankRefunds(clock.now);
  const { app, markDenied, staff } = payments;
  const { id, refunds } = await refundAtBank(payments);
  const refundId = refunds[0]!.id;
  await assertProblem(await markDenied(refundId, {}, payments.key), 403, "forbidden");
  assert.equal(await statusOf(payments, refundId), "pending");

  const key = newKey();
  const answer = await markDenied(refundId, key);
  assert.equal(answer.status, 200, await answer.clone().text());
  const marked = await answer.json();
  assert.deepEqual([marked.id, marked.payment_id, marked.status], [refundId, id, "denied"]);
  const repeated = await markDenied(refundId, key);
  assert.equal(isReplayed(repeated), true);
  assert.deepEqual(await repeated.json(), marked);

  const tooMuch = await refund(payments, { id }, { amount: 44_001 });
  const { errors } = await assertProblem(tooMuch, 400, "validation_error");
  assert.match(errors![0]!.message, /44000/);
  clock.advance(HOUR_MS);
  await payments.check(id);
  assert.equal(await checkTime(payments, id), null, "the payment is no longer checked");

  await app.audit.flush();
  const audited = await (await payments.get("/audit/?limit=2", staff)).json();
  assert.deepEqual(
    audited.map(({ action, outcome, resource_id }: Json) => [action, outcome, resource_id]).at(-1),
    ["POST /refunds/{pk}/mark-denied/", "changed", refundId],
  );
});

Deno.test("mark-denied: is rejected if the fresh check at the gateway shows that the refund was made", async () => {
  await using payments = await openBankRefunds();
  const { id, transaction_id, refunds } = await refundAtBank(payments);
  await payments.sandbox.control(`transactions/${transaction_id}/confirm_refund`);
  await assertProblem(await payments.markDenied(refunds[0]!.id), 400, "invalid_state");
  assert.equal(await statusOf(payments, refunds[0]!.id), "succeeded");
  assert.equal((await payments.read(id)).refund_amount, "10000.00");
});

Deno.test("mark-denied: changes nothing if the gateway cannot be asked", async () => {
  await using payments = await openBankRefunds();
  const { refunds } = await refundAtBank(payments);
  await payments.sandbox.fault("status", "reset", { count: 10 });
  const answer = await payments.markDenied(refunds[0]!.id, newKey());
  const problem = await assertProblem(answer, 502, "gateway_unreachable");
  assert.equal(problem.outcome, "refused");
  assert.equal(await statusOf(payments, refunds[0]!.id), "pending");
});

Deno.test("mark-denied: rejects a refund that the gateway has not answered", async () => {
  await using payments = await openBankRefunds();
  const payment = await payments.paid("gopay");
  await payments.sandbox.fault("refund", "reset");
  assert.equal((await refund(payments, payment)).status, 502);
  const [unanswered] = (await payments.read(payment.id)).refunds;
  const answer = await payments.markDenied(unanswered!.id);
  const problem = await assertProblem(answer, 400, "invalid_state");
  assert.match(problem.detail!, /has not answered/);
});

Deno.test("mark-denied: a refund that the bank makes after all becomes succeeded", async () => {
  await using payments = await openBankRefunds();
  const { id, transaction_id, refunds } = await refundAtBank(payments);
  assert.equal((await payments.markDenied(refunds[0]!.id)).status, 200);
  await payments.sandbox.control(`transactions/${transaction_id}/confirm_refund`);
  assert.equal((await payments.refresh(id)).refund_amount, "10000.00");
  assert.equal(await statusOf(payments, refunds[0]!.id), "succeeded");
});

Deno.test("refund: ends as denied if a status response says that the bank has refused it", async () => {
  await using payments = await openBankRefunds();
  const { id, refunds: [atBank] } = await refundAtBank(payments);
  payments.relay.intercept = async (_request, pass) =>
    Response.json({
      ...await (await pass()).json(),
      status_message: "Refund denied by the bank",
      refund_key: atBank!.refund_key,
    });
  const refreshed = await payments.refresh(id);
  assert.deepEqual(refreshed.refunds.map(({ status }) => status), ["denied"]);
  assert.deepEqual([refreshed.transaction_status, refreshed.refund_amount], [
    "settlement",
    "0.00",
  ]);
});
