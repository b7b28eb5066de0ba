import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createDatabase } from "../support/database/database.ts";
import { newKey } from "../support/idempotency.ts";
import type { ChargeKind, Payment } from "../support/payments/payments.ts";
import { manualClock } from "../support/manual_clock.ts";
import { assertProblem } from "../support/problem.ts";
import {
  assertRefundsMatchGateway,
  DIRECT_REFUND,
  parseRefunded,
  REFUND,
  refund,
} from "../support/payments/refunds.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { AMOUNT } from "../support/gateway/sandbox.ts";

const databaseUrl = await createDatabase();

Deno.test("refund: partial refunds add up until nothing is left", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.paid("gopay");
  const first = await parseRefunded(
    await refund(payments, payment, { amount: 10_000, reason: "Out of stock" }),
  );
  assert.equal(first.refund.amount, "10000.00");
  assert.equal(first.refund.reason, "Out of stock");
  assert.equal(first.refund.status, "succeeded");
  assert.equal(first.refund.is_direct, false);
  assert.equal(first.refund.status_code, "200");
  assert.equal(first.payment.transaction_status, "partial_refund");
  assert.equal(first.payment.refund_amount, "10000.00");
  assert.equal(first.payment.net_amount, "34000.00");
  assert.equal(first.payment.is_paid, true);

  const second = await parseRefunded(await refund(payments, payment, { amount: 10_000 }));
  assert.equal(second.payment.refund_amount, "20000.00", "the amounts are added");
  assert.deepEqual(await payments.read(payment.id), second.payment);

  const tooMuch = await refund(payments, payment, { amount: 24_001 });
  const problem = await assertProblem(tooMuch, 400, "validation_error");
  assert.equal(problem.errors![0]!.field, "amount");
  assert.match(problem.errors![0]!.message, /24000/);
  assert.deepEqual([problem.payment_id, problem.outcome], [payment.id, "refused"]);

  const rest = await parseRefunded(await refund(payments, payment));
  assert.equal(rest.refund.amount, "24000.00");
  assert.equal(rest.payment.transaction_status, "refund");
  assert.equal(rest.payment.net_amount, "0.00");
  assert.equal(rest.payment.is_paid, false);
  assert.equal(rest.payment.refunds.length, 3);

  await assertProblem(await refund(payments, payment, { amount: 1 }), 400, "invalid_state");
  await assertRefundsMatchGateway(payments, payment.id);
  assert.equal(payments.relay.times(REFUND), 3);
  assert.deepEqual(
    (await payments.events(payment.id)).filter((name) => name === "payment_refunded").length,
    3,
  );
});

Deno.test("refund: rejects fractions and other invalid amounts without calling the gateway", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.paid("gopay");
  for (const amount of [0.999, 10_000.5, 0, -1, 1e308, "10000", "NaN", true]) {
    const answer = await refund(payments, payment, { amount });
    const problem = await assertProblem(answer, 400, "validation_error");
    assert.equal(problem.errors![0]!.field, "amount");
  }
  assert.equal(payments.relay.times(REFUND), 0);
  assert.deepEqual((await payments.read(payment.id)).refunds, []);
});

Deno.test("refund: of 50 concurrent refunds only as many as the balance allows reach the gateway", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.paid("gopay", { gross_amount: 100_000 });
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => refund(payments, payment, { amount: 6_000 })),
  );
  const accepted = answers.filter(({ status }) => status === 200);
  assert.equal(accepted.length, 16);
  for (const each of answers) {
    if (each.status === 200) await parseRefunded(each);
    else await assertProblem(each, 400, "validation_error");
  }
  assert.equal(payments.relay.times(REFUND), 16);
  const after = await assertRefundsMatchGateway(payments, payment.id);
  assert.equal(after.refund_amount, "96000.00");
  assert.equal(after.refunds.length, 16);
});

Deno.test("refund: of 20 concurrent full refunds one succeeds", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.paid("gopay");
  const answers = await Promise.all(Array.from({ length: 20 }, () => refund(payments, payment)));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  for (const each of answers) {
    if (each.status !== 200) await assertProblem(each, 400, "invalid_state");
  }
  assert.equal(payments.relay.times(REFUND), 1);
  assert.equal((await assertRefundsMatchGateway(payments, payment.id)).refund_amount, "44000.00");
});

Deno.test("refund: with `direct`, uses the gateway's direct refund call and is marked is_direct", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.paid("gopay");
  const { refund: newRefund, payment: after } = await parseRefunded(
    await refund(payments, payment, { amount: 10_000, direct: true }),
  );
  assert.deepEqual([newRefund.is_direct, newRefund.status], [true, "succeeded"]);
  assert.equal(after.refund_amount, "10000.00");
  const again = await parseRefunded(
    await refund(payments, payment, { amount: 5_000, direct: true }),
  );
  assert.equal(again.payment.refund_amount, "15000.00");
  assert.equal(payments.relay.times(DIRECT_REFUND), 2);
  assert.equal(payments.relay.times(REFUND), 0);
  await assertRefundsMatchGateway(payments, payment.id);
});

for (const direct of [false, true]) {
  const operation = direct ? "direct_refund" : "refund";
  Deno.test(`${operation}: is denied and leaves the payment unchanged if the bank declines`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const payment = await payments.paid("gopay");
    await payments.sandbox.fault(operation, "bank_refuses");
    const answer = await refund(payments, payment, { direct });
    const problem = await assertProblem(answer, 400, "refund_denied");
    assert.equal(problem.refund!.status, "denied");
    assert.equal(problem.refund!.status_code, "202");
    assert.deepEqual([problem.payment_id, problem.outcome], [payment.id, "refused"]);
    const after = await payments.read(payment.id);
    assert.deepEqual(after.refunds, [problem.refund]);
    const unchanged = { ...after, refunds: [], updated_at: payment.updated_at };
    assert.deepEqual(unchanged, payment);
    assert.deepEqual(await payments.events(payment.id), ["payment_received", "payment_settled"]);
    // The reserved amount is released: the full amount can be refunded.
    const { payment: refunded } = await parseRefunded(await refund(payments, payment, { direct }));
    assert.equal(refunded.transaction_status, "refund");
  });
}

for (const direct of [false, true]) {
  const operation = direct ? "direct_refund" : "refund";
  Deno.test(`${operation}: stays pending if the bank makes it later, and is not sent again`, async () => {
    const clock = manualClock();
    await using payments = await openRelayed({ databaseUrl, now: clock.now });
    const payment = await payments.paid("gopay");
    await payments.sandbox.fault(operation, "bank_pending");
    const answer = await refund(payments, payment, { amount: 10_000, direct });
    const { refund: newRefund, payment: after } = await parseRefunded(answer);
    assert.deepEqual([newRefund.status, newRefund.status_code], ["pending", "201"]);
    assert.deepEqual([after.transaction_status, after.refund_amount], ["settlement", "0.00"]);
    // The amount stays reserved.
    await assertProblem(
      await refund(payments, payment, { amount: 34_001 }),
      400,
      "validation_error",
    );
    clock.advance(10 * 60_000);
    await payments.check(payment.id);
    assert.equal((await payments.read(payment.id)).refunds[0]!.status, "pending");
    assert.equal(payments.relay.times(direct ? DIRECT_REFUND : REFUND), 1);

    await payments.sandbox.control(`transactions/${payment.transaction_id}/confirm_refund`);
    await payments.check(payment.id);
    const confirmed = await assertRefundsMatchGateway(payments, payment.id);
    assert.equal(confirmed.refunds[0]!.status, "succeeded");
    assert.deepEqual([confirmed.transaction_status, confirmed.refund_amount], [
      "partial_refund",
      "10000.00",
    ]);
    assert.equal(payments.relay.times(direct ? DIRECT_REFUND : REFUND), 1);
  });
}

Deno.test("refund: a refund that waits at the bank ends if the full amount is refunded in the gateway's dashboard", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.paid("gopay");
  await payments.sandbox.fault("refund", "bank_pending");
  await parseRefunded(await refund(payments, payment));
  // The bank has refused the first refund, of which the gateway shows nothing.
  payments.relay.intercept = async (_request, pass) =>
    Response.json({
      ...await (await pass()).json(),
      transaction_status: "refund",
      refund_amount: "44000.00",
      refunds: [{ refund_key: "dashboard-1", refund_amount: "44000.00" }],
    });
  const refreshed = await payments.refresh(payment.id);
  assert.deepEqual([refreshed.transaction_status, refreshed.refund_amount], [
    "refund",
    "44000.00",
  ]);
  assert.deepEqual(refreshed.refunds.map(({ status }) => status).sort(), ["denied", "succeeded"]);
});

Deno.test("refund: fails and releases the reserved amount if the gateway rejects it", async () => {
  await using payments = await openRelayed({ databaseUrl });
  // OVO supports full refunds only.
  const payment = await payments.paid("ovo");
  const part = await refund(payments, payment, { amount: 1_000 });
  const problem = await assertProblem(part, 400, "gateway_error");
  assert.deepEqual([problem.payment_id, problem.outcome], [payment.id, "refused"]);
  const [failed] = (await payments.read(payment.id)).refunds;
  assert.deepEqual([failed!.status, failed!.status_code], ["failed", "414"]);
  const { payment: afterFullRefund } = await parseRefunded(await refund(payments, payment));
  assert.equal(afterFullRefund.refund_amount, "44000.00");
  assert.deepEqual(afterFullRefund.refunds.map(({ status }) => status), ["failed", "succeeded"]);
});

Deno.test("refund: is refused before the gateway is asked if the method has no refunds, and says what to do", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const methods = {
    bca: "BCA virtual accounts",
    permata: "Permata virtual accounts",
    echannel: "Mandiri bills",
    cstore: "Payments at Alfamart",
  } as const;
  for (const kind of Object.keys(methods) as (keyof typeof methods)[]) {
    const payment = await payments.paid(kind);
    const reason = `${methods[kind]} have no refunds; return the money by bank transfer.`;
    assert.equal(payment.no_refund_reason, reason);
    const problem = await assertProblem(await refund(payments, payment), 400, "invalid_state");
    assert.equal(problem.detail, reason);
    const after = await payments.read(payment.id);
    assert.equal(after.transaction_status, "settlement");
    assert.deepEqual(after.refunds, []);
  }
  assert.equal(payments.relay.times("POST /v2/:id/refund"), 0);
  assert.equal((await payments.charge("gopay")).no_refund_reason, null);
});

const NOT_REFUNDABLE: Record<string, (payments: RelayedPayments) => Promise<Payment>> = {
  pending: (payments) => payments.charge("gopay"),
  authorize: (payments) => payments.charge("card_auth"),
  capture: (payments) => payments.charge("card"),
  async cancel(payments) {
    const payment = await payments.charge("gopay");
    assert.equal((await payments.post(`/payments/${payment.id}/cancel/`)).status, 200);
    return payment;
  },
  async refund(payments) {
    const payment = await payments.paid("gopay");
    await parseRefunded(await refund(payments, payment));
    return payment;
  },
  async chargeback(payments) {
    const payment = await payments.paid("card");
    await payments.sandbox.control(`transactions/${payment.transaction_id}/chargeback`);
    return await payments.refresh(payment.id);
  },
};

Deno.test("refund: rejects a payment that is not settled at the gateway, and sends no refund", async (t) => {
  await using payments = await openRelayed({ databaseUrl });
  for (const [status, make] of Object.entries(NOT_REFUNDABLE)) {
    await t.step(status, async () => {
      const payment = await make(payments);
      const sentBefore = payments.relay.times(REFUND);
      const problem = await assertProblem(await refund(payments, payment), 400, "invalid_state");
      assert.equal(problem.transaction_status, status);
      assert.equal(payments.relay.times(REFUND), sentBefore);
    });
  }
});

Deno.test("refund: succeeds if the payment is settled at the gateway but its notification was lost", async (t) => {
  await using payments = await openRelayed({ databaseUrl });
  for (const [kind, control] of [["gopay", "pay"], ["card", "settle"]] as const) {
    await t.step(kind, async () => {
      const payment = await payments.charge(kind);
      assert.notEqual(payment.transaction_status, "settlement");
      await payments.sandbox.control(`transactions/${payment.transaction_id}/${control}`);
      const refunded = await parseRefunded(await refund(payments, payment, { amount: 10_000 }));
      assert.deepEqual([refunded.refund.status, refunded.payment.refund_amount], [
        "succeeded",
        "10000.00",
      ]);
      assert.deepEqual((await payments.events(payment.id)).slice(-2), [
        "payment_settled",
        "payment_refunded",
      ]);
    });
  }
});

Deno.test("refund: is limited to the captured amount", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.charge("card_auth");
  const captured = await payments.post(`/payments/${payment.id}/capture/`, { amount: 40_000 });
  assert.equal(captured.status, 200);
  await payments.sandbox.control(`transactions/${payment.transaction_id}/settle`);
  await payments.refresh(payment.id);
  const tooMuch = await assertProblem(
    await refund(payments, payment, { amount: 40_001 }),
    400,
    "validation_error",
  );
  assert.match(tooMuch.errors![0]!.message, /40000/);
  assert.equal(payments.relay.times(REFUND), 0);
  const { payment: refunded } = await parseRefunded(await refund(payments, payment));
  assert.equal(refunded.refund_amount, "40000.00");
  assert.equal(refunded.net_amount, "0.00");
  assert.equal(refunded.gross_amount, "44000.00");
  assert.equal(refunded.transaction_status, "refund");
});

Deno.test("refund: a refund made outside the service is stored and reduces the balance", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { sandbox } = payments;
  const payment = await payments.paid("gopay");
  const refund_key = `dashboard-${randomUUID()}`;
  await sandbox.post(`/v2/${payment.transaction_id}/refund`, {
    refund_key,
    amount: 14_000,
    reason: "By hand",
  });
  const refreshed = await payments.refresh(payment.id);
  assert.equal(refreshed.transaction_status, "partial_refund");
  const [externalRefund] = refreshed.refunds;
  assert.deepEqual(
    [
      externalRefund!.refund_key,
      externalRefund!.amount,
      externalRefund!.reason,
      externalRefund!.status,
    ],
    [refund_key, "14000.00", "By hand", "succeeded"],
  );
  await payments.refresh(payment.id);
  assert.equal((await assertRefundsMatchGateway(payments, payment.id)).refunds.length, 1);
  await assertProblem(await refund(payments, payment, { amount: 30_001 }), 400, "validation_error");
  const { payment: after } = await parseRefunded(await refund(payments, payment));
  assert.equal(after.refund_amount, "44000.00");
  assert.equal(after.transaction_status, "refund");
  await assertRefundsMatchGateway(payments, payment.id);
});

Deno.test("refund: fails if a refund made outside the service already used the balance", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.paid("gopay");
  await payments.sandbox.post(`/v2/${payment.transaction_id}/refund`, { amount: 40_000 });
  const answer = await refund(payments, payment, { amount: 10_000 });
  const problem = await assertProblem(answer, 400, "gateway_error");
  assert.equal(problem.outcome, "refused");
  await payments.refresh(payment.id);
  const after = await assertRefundsMatchGateway(payments, payment.id);
  assert.equal(after.refund_amount, "40000.00");
  assert.deepEqual(after.refunds.map(({ status }) => status).sort(), ["failed", "succeeded"]);
});

Deno.test("refund: concurrent requests with two keys make one refund for each key", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.paid("gopay");
  const keys = [newKey(), newKey()];
  const answers = await Promise.all(
    Array.from(
      { length: 20 },
      (_, index) => refund(payments, payment, { amount: 10_000 }, keys[index % 2]),
    ),
  );
  for (const each of answers) assert.ok([200, 409].includes(each.status), await each.text());
  const after = await assertRefundsMatchGateway(payments, payment.id);
  assert.equal(after.refund_amount, "20000.00");
  assert.equal(payments.relay.times(REFUND), 2);
});

Deno.test("refund: every refundable payment type except OVO supports partial and full refunds", async (t) => {
  await using payments = await openRelayed({ databaseUrl });
  const kinds: ChargeKind[] = ["card", "gopay", "shopeepay", "qris", "akulaku", "kredivo", "dana"];
  for (const kind of kinds) {
    await t.step(kind, async () => {
      const payment = await payments.paid(kind);
      const part = await parseRefunded(await refund(payments, payment, { amount: 4_000 }));
      assert.equal(part.payment.transaction_status, "partial_refund");
      const rest = await parseRefunded(await refund(payments, payment));
      assert.equal(rest.refund.amount, `${AMOUNT - 4_000}.00`);
      assert.equal(rest.payment.transaction_status, "refund");
      await assertRefundsMatchGateway(payments, payment.id);
    });
  }
});
