import assert from "node:assert/strict";
import { Transaction } from "../../core/gateway/responses.ts";
import {
  type AppliedReport,
  applyReport,
  type GatewayReport,
} from "../../core/payments/apply_report.ts";
import type { PaymentType } from "../../core/payments/payment_types.ts";
import { newPayment } from "../../core/payments/new_payment.ts";
import { viewPayment } from "../../core/payments/views.ts";
import { batched } from "../../db/records/batched.ts";
import { findPayment } from "../../db/payments/statements.ts";
import { paymentInserts } from "../../db/writing/payment_writes.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import { listHistory } from "../../db/records/records.ts";
import { createDatabase } from "../support/database/database.ts";
import { openProxiedPayments } from "../support/gateway/proxy.ts";
import { AMOUNT, CHALLENGED_CARD, CUSTOMER, ITEMS, type Json } from "../support/gateway/sandbox.ts";
import {
  chargeRequest,
  openPayments,
  parsePayment,
  type Payment,
  type TestPayments,
} from "../support/payments/payments.ts";
import { permutations } from "../support/permutations.ts";
import { assertProblem } from "../support/problem.ts";
import { shareOf, someOf } from "../support/share.ts";

const databaseUrl = await createDatabase();

const STATUS = /^GET .*\/status$/;
const MINUTE_MS = 60_000;

Deno.test("apply report: the same reports lead to the same payment in every order", async () => {
  await using payments = await openPayments({ databaseUrl });
  const reports = await cardReports(payments);
  const orders = someOf(permutations(reports));
  // Each sequence runs with unrequested reports (null) and with responses to an old check (-1).
  const runs = [null, -1].flatMap((askedAtVersion) =>
    orders.map((order) => ({ order, askedAtVersion }))
  );
  const ends = await runInBatchesOfEight(runs, async ({ order, askedAtVersion }) => {
    const { id, order_id } = await storeUnansweredPayment(payments, {
      payment_type: "credit_card",
    });
    const ids = { transaction_id: crypto.randomUUID(), order_id };
    for (const answer of order) {
      await applyAnswer(payments, id, { ...answer, ...ids }, { askedAtVersion });
    }
    const { events } = await assertConsistentHistory(payments, id);
    assert.equal(events.filter((name) => name === "payment_settled").length, 1);
    const laterEvents = events.filter((name) => name !== "payment_received");
    assert.deepEqual(laterEvents.slice(0, 2), ["payment_settled", "payment_refunded"]);
    const end = viewPayment(await readStored(payments, id));
    assert.equal(end.transaction_id, ids.transaction_id);
    return withoutIdsAndTimes(end);
  });
  for (const [index, end] of ends.entries()) {
    const statuses = runs[index]!.order.map(({ transaction_status }) => transaction_status);
    assert.deepEqual(end, ends[0], statuses.join(", "));
  }
  assert.equal(ends.length, shareOf(240));
  const [end] = ends;
  assert.equal(end.transaction_status, "refund");
  assert.equal(end.captured_amount, "44000.00");
  assert.equal(end.refund_amount, "44000.00");
  assert.equal(end.net_amount, "0.00");
  assert.deepEqual(
    end.refunds.map(({ amount, status }: Json) => [amount, status]).sort(),
    [["14000.00", "succeeded"], ["30000.00", "succeeded"]],
  );
});

Deno.test("apply report: of two reports with equal times, a settlement wins over a capture, in either order", async () => {
  await using payments = await openPayments({ databaseUrl });
  const [, capture, settlement] = await cardReports(payments);
  const sameTime = {
    transaction_time: "2026-03-05 11:12:09",
    settlement_time: "2026-03-05 11:12:09",
  };
  for (const order of [[capture, settlement], [settlement, capture]]) {
    const payment = await storeUnansweredPayment(payments, { payment_type: "credit_card" });
    const ids = { transaction_id: crypto.randomUUID(), order_id: payment.order_id };
    for (const answer of order) {
      await applyAnswer(payments, payment.id, { ...answer, ...ids, ...sameTime });
    }
    assert.equal((await readStored(payments, payment.id)).transaction_status, "settlement");
    assert.deepEqual(await payments.events(payment.id), ["payment_settled"]);
  }
});

Deno.test("check_status: after wrong reports in any order, the payment gets the gateway's state again", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const order of permutations(["expire", "cancel", "pending", "deny"])) {
    const { id, transaction_id } = await payments.charge("gopay");
    await payments.sandbox.control(`transactions/${transaction_id}/pay`);
    const answer = await payments.sandbox.status(transaction_id!);
    for (const transaction_status of order) {
      await applyAnswer(payments, id, { ...answer, transaction_status });
    }
    const settled = await payments.refresh(id);
    assert.equal(settled.transaction_status, "settlement", order.join());
    assert.equal(settled.captured_amount, "44000.00");
    const { events } = await assertConsistentHistory(payments, id);
    assert.equal(events.filter((name) => name === "payment_settled").length, 1);
  }
});

Deno.test("apply report: a repeated report changes nothing", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const answer of await cardReports(payments)) {
    const payment = await storeUnansweredPayment(payments, { payment_type: "credit_card" });
    const ids = { transaction_id: crypto.randomUUID(), order_id: payment.order_id };
    await applyAnswer(payments, payment.id, { ...answer, ...ids });
    const before = await readStored(payments, payment.id);
    const recorded = await assertConsistentHistory(payments, payment.id);
    for (const askedAtVersion of [null, before.version]) {
      const { step } = await applyAnswer(payments, payment.id, { ...answer, ...ids }, {
        askedAtVersion,
      });
      assert.equal(step, "duplicate", answer.transaction_status);
    }
    assert.deepEqual(await readStored(payments, payment.id), before);
    assert.deepEqual(await assertConsistentHistory(payments, payment.id), recorded);
  }
});

Deno.test("check_status: an outdated response does not undo a newer state", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { sandbox, proxy } = payments;
  const { id, transaction_id } = await payments.charge("gopay");
  const held = proxy.holdAnswer(STATUS);
  const slowCheck = payments.refresh(id);
  await held.arrived;
  await sandbox.control(`transactions/${transaction_id}/pay`);
  const settled = await payments.refresh(id);
  assert.equal(settled.transaction_status, "settlement");
  held.release();
  await slowCheck;
  assert.deepEqual(await payments.read(id), settled);
  assert.deepEqual(await payments.transitions(id), [
    ">pending charge",
    "pending>settlement check_status",
  ]);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("check_status: checks again if the payment changed before the gateway's response arrived", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { sandbox, proxy } = payments;
  const { id, transaction_id } = await payments.charge("card_3ds");
  await sandbox.control(`transactions/${transaction_id}/three_ds`);
  const held = proxy.holdAnswer(STATUS);
  const slowCheck = payments.refresh(id);
  await held.arrived;
  await sandbox.control(`transactions/${transaction_id}/settle`);
  const settled = await payments.refresh(id);
  const callsBefore = proxy.received.length;
  held.release();
  assert.deepEqual(await slowCheck, settled, "the slow caller gets the current state");
  assert.equal(proxy.received.length, callsBefore + 1);
  assert.deepEqual(await payments.transitions(id), [
    ">pending charge",
    "pending>settlement check_status",
  ]);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("check_payment_status: an outdated response does not undo a capture", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { id } = await payments.charge("card_auth");
  const held = payments.proxy.holdAnswer(STATUS);
  const check = payments.check(id);
  await held.arrived;
  const response = await payments.post(`/payments/${id}/capture/`, { amount: 20_000 });
  const captured = await parsePayment(response, 200);
  held.release();
  await check;
  assert.deepEqual(await payments.read(id), captured);
  assert.deepEqual(await payments.transitions(id), [
    ">pending charge",
    "pending>authorize charge",
    "authorize>capture capture",
  ]);
});

Deno.test("check_status: a response from before a refund does not undo it", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { id } = await payments.paid("gopay");
  const held = payments.proxy.holdAnswer(STATUS);
  const slowCheck = payments.refresh(id);
  await held.arrived;
  const response = await payments.post(`/payments/${id}/refund/`, { amount: 10_000 });
  assert.equal(response.status, 200);
  const refunded = await payments.read(id);
  assert.equal(refunded.refund_amount, "10000.00");
  assert.equal(refunded.net_amount, "34000.00");
  held.release();
  await slowCheck;
  assert.deepEqual(await payments.read(id), refunded);
});

Deno.test("check_status: an outdated denial does not undo a later settlement", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { sandbox, proxy } = payments;
  const { id, transaction_id } = await payments.charge("gopay");
  const pending = await sandbox.status(transaction_id!);
  const denied = { ...pending, status_code: "202", transaction_status: "deny" };
  const held = proxy.holdAnswer(STATUS, denied);
  const slowCheck = payments.refresh(id);
  await held.arrived;
  await applyAnswer(payments, id, denied);
  await sandbox.control(`transactions/${transaction_id}/pay`);
  const settled = await payments.refresh(id);
  assert.equal(settled.transaction_status, "settlement");
  held.release();
  assert.deepEqual(await slowCheck, settled);
  assert.deepEqual(await payments.events(id), [
    "payment_received",
    "payment_denied",
    "payment_settled",
  ]);
});

Deno.test("check_status: stores a reversal of a settled payment", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.paid("echannel");
  await payments.sandbox.control(`transactions/${transaction_id}/reverse`);
  const reversed = await payments.refresh(id);
  assert.equal(reversed.transaction_status, "deny");
  assert.equal(reversed.captured_amount, null);
  assert.equal(reversed.net_amount, "0.00");
  assert.equal(reversed.is_paid, false);
  const events = ["payment_received", "payment_settled", "payment_denied"];
  assert.deepEqual(await payments.events(id), events);

  const settled = { ...await payments.sandbox.status(transaction_id!), status_code: "200" };
  settled.transaction_status = "settlement";
  const { step, payment } = await applyAnswer(payments, id, settled, { isLatest: true });
  assert.equal(step, "revived", "a settlement after the reversal is stored");
  assert.equal(payment.captured_amount, 44_000);
  assert.deepEqual(await payments.events(id), events, "payment_settled is sent once");
});

Deno.test("apply report: a report without fraud_status keeps the stored one", async () => {
  await using payments = await openPayments({ databaseUrl });
  const token_id = await payments.sandbox.token(CHALLENGED_CARD);
  const { id, transaction_id } = await payments.charge("card", { token_id });
  const { fraud_status, ...capture } = await payments.sandbox.status(transaction_id!);
  assert.equal(fraud_status, "challenge");
  const { step } = await applyAnswer(payments, id, capture, { isLatest: true });
  assert.equal(step, "duplicate");
  assert.equal((await payments.read(id)).is_paid, false);
  const settlement = { ...capture, transaction_status: "settlement" };
  const { payment } = await applyAnswer(payments, id, settlement, { isLatest: true });
  assert.equal(payment.transaction_status, "settlement");
  assert.equal(payment.fraud_status, "challenge");
});

Deno.test("charge: 20 status checks before its response cause one transition and one event", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const charge = chargeDuringChecks(payments, "card");
  const captured = await charge;
  assert.equal(captured.transaction_status, "capture");
  assert.equal(captured.captured_amount, "44000.00");
  assert.deepEqual(await payments.transitions(captured.id), [
    ">pending charge",
    "pending>capture check_status",
  ]);
  assert.deepEqual(await payments.events(captured.id), ["payment_settled"]);
});

Deno.test("charge: keeps the request's fields and redirect_url if status checks come before its response", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const order_id = crypto.randomUUID();
  const more = {
    order_id,
    customer_details: CUSTOMER,
    item_details: ITEMS,
    metadata: { cart: "c-1" },
    custom_fields: ["one"],
  };
  const payment = await chargeDuringChecks(payments, "card_3ds", more);
  assert.equal(payment.transaction_status, "pending");
  assert.ok(payment.redirect_url, "only the charge response contains it");
  assert.equal(payment.payment_type, "credit_card");
  assert.deepEqual(payment.metadata, { cart: "c-1" });
  assert.equal(payment.custom_field1, "one");
  assert.equal(payment.customer_first_name, "Budi");
  assert.equal(payment.items.length, 1);
  assert.deepEqual(await payments.read(payment.id), payment);
  assert.equal((await payments.transactions(order_id)).length, 1);
  const rows = await payments.app.database.query((sql) =>
    sql`select id from gateway.payments where order_id = ${order_id}`
  );
  assert.equal(rows.length, 1);
  assert.deepEqual(await payments.transitions(payment.id), [">pending charge"]);
  assert.deepEqual(await payments.events(payment.id), ["payment_received"]);
});

Deno.test("charge: returns a settled payment if it was paid before the response arrived", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { proxy, sandbox } = payments;
  const order_id = crypto.randomUUID();
  const held = proxy.holdAnswer(/^POST \/v2\/charge$/);
  const charge = payments.charge("gopay", { order_id });
  await held.arrived;
  await sandbox.control(`transactions/${order_id}/pay`);
  const [{ metadata: { payment_ref } }] = await payments.transactions(order_id);
  const settled = await payments.refresh(payment_ref);
  held.release();
  const answered = await charge;
  assert.equal(answered.transaction_status, "settlement");
  assert.equal(answered.captured_amount, settled.captured_amount);
  assert.deepEqual(await payments.read(payment_ref), answered);
  assert.deepEqual(await payments.events(payment_ref), ["payment_settled"]);
});

Deno.test("capture: with concurrent status checks causes one transition, and all callers see it", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { id } = await payments.charge("card_auth");
  const held = payments.proxy.holdAnswer(/^POST \/v2\/capture$/);
  const capture = payments.post(`/payments/${id}/capture/`);
  await held.arrived;
  const checks = await Promise.all(Array.from({ length: 10 }, () => payments.refresh(id)));
  for (const { transaction_status } of checks) assert.equal(transaction_status, "capture");
  held.release();
  assert.equal((await parsePayment(await capture, 200)).transaction_status, "capture");
  assert.deepEqual((await payments.transitions(id)).slice(2), ["authorize>capture check_status"]);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("capture: 10 concurrent captures cause one transition, and each gets the capture or an error", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("card_auth");
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => payments.post(`/payments/${id}/capture/`)),
  );
  let succeeded = 0;
  for (const answer of answers) {
    if (answer.status === 200) {
      assert.equal((await parsePayment(answer, 200)).transaction_status, "capture");
      succeeded++;
    } else {
      const { code, outcome } = await answer.json();
      // While another capture runs, the gateway answers only that a request is being processed.
      const isExpected = code === "invalid_state" ||
        (code === "gateway_error" && outcome === "unknown");
      assert.ok(isExpected, `${code} ${outcome}`);
    }
  }
  assert.ok(succeeded >= 1);
  const payment = await payments.refresh(id);
  assert.equal(payment.transaction_status, "capture");
  assert.equal(payment.captured_amount, "44000.00");
  assert.equal((await payments.sandbox.status(transaction_id!)).transaction_status, "capture");
  assert.equal((await payments.transitions(id)).length, 3);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("capture: after failed attempts and a capture, rejects another capture and does not cancel the payment", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { sandbox, proxy } = payments;
  const { id, transaction_id } = await payments.charge("card_auth");
  for (const fault of ["bank_refuses", "error_500", "rate_limit", "answer_lost"]) {
    await sandbox.fault("capture", fault);
    const response = await payments.post(`/payments/${id}/capture/`);
    assert.ok(response.status >= 400, fault);
    await response.body?.cancel();
  }
  const captured = await payments.refresh(id);
  assert.equal(
    captured.transaction_status,
    "capture",
    "the last attempt succeeded, only its response was lost",
  );
  for (let times = 0; times < 2; times++) {
    const response = await payments.post(`/payments/${id}/capture/`);
    await assertProblem(response, 400, "invalid_state");
  }
  assert.deepEqual(await payments.read(id), captured);
  assert.equal((await sandbox.status(transaction_id!)).transaction_status, "capture");
  const otherWrites = proxy.writes().filter((name) => !/\/(charge|capture)$/.test(name));
  assert.deepEqual(otherWrites, [], "only charges and captures were sent");
});

for (const [kind, paidStatus] of [["bca", "settlement"], ["card_3ds", "capture"]] as const) {
  Deno.test(`apply report: ignores a payment report with a smaller amount and logs an error (${kind})`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const { id, transaction_id, ...before } = await payments.charge(kind);
    const pending = await payments.sandbox.status(transaction_id!);
    const answer = { ...pending, transaction_status: paidStatus };
    for (const gross_amount of ["43999.00", 43_999, "43999.99", "0.00", "1"]) {
      const { step } = await applyAnswer(payments, id, { ...answer, gross_amount }, {
        isLatest: true,
      });
      assert.equal(step, "stale", String(gross_amount));
    }
    const after = await payments.read(id);
    assert.equal(after.transaction_status, before.transaction_status);
    assert.equal(after.captured_amount, null);
    assertAlert(payments, id);
  });
}

Deno.test("apply report: accepts every notation of the same amount", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const gross_amount of ["44000.00", "44000", "44000.0", 44_000]) {
    const { id, transaction_id } = await payments.charge("bca");
    const pending = await payments.sandbox.status(transaction_id!);
    const settled = { ...pending, gross_amount, transaction_status: "settlement" };
    const { payment } = await applyAnswer(payments, id, settled);
    assert.equal(payment.transaction_status, "settlement", String(gross_amount));
    assert.equal(payment.captured_amount, 44_000);
  }
});

Deno.test("apply report: a larger gross_amount is a customer fee and is not added to the captured amount", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("gopay");
  const pending = await payments.sandbox.status(transaction_id!);
  const settled = { ...pending, gross_amount: "49000.00", transaction_status: "settlement" };
  const { payment } = await applyAnswer(payments, id, settled);
  assert.equal(payment.transaction_status, "settlement");
  assert.equal(payment.gross_amount, 44_000);
  assert.equal(payment.captured_amount, 44_000);
});

Deno.test("apply report: ignores a report about another transaction and logs an error", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("bca");
  const before = await readStored(payments, id);
  const answer = await payments.sandbox.status(transaction_id!);
  const foreignReport = {
    ...answer,
    transaction_id: crypto.randomUUID(),
    transaction_status: "settlement",
  };
  for (const isLatest of [false, true]) {
    const { step } = await applyAnswer(payments, id, foreignReport, { isLatest });
    assert.equal(step, "stale");
  }
  assert.deepEqual(await readStored(payments, id), before);
  assertAlert(payments, id);
});

Deno.test("cancel: if the customer pays at the same time, the stored state equals the gateway's state", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  const charges = await Promise.all(Array.from({ length: 12 }, () => payments.charge("gopay")));
  await Promise.all(charges.flatMap(({ id, transaction_id }, index) => {
    const cancel = async () => {
      const response = await payments.post(`/payments/${id}/cancel/`);
      if (response.status === 200) {
        assert.equal((await parsePayment(response, 200)).transaction_status, "cancel");
      } else {
        const problem = await assertProblem(response, 400, "invalid_state");
        assert.equal(problem.transaction_status, "settlement");
      }
    };
    const pay = () => sandbox.call("POST", `/_sandbox/transactions/${transaction_id}/pay`);
    const race = [cancel, pay, () => payments.refresh(id)];
    return (index % 2 ? race : race.reverse()).map((run) => run());
  }));
  for (const { id, transaction_id } of charges) {
    const payment = await payments.refresh(id);
    const transaction = await sandbox.status(transaction_id!);
    assert.equal(payment.transaction_status, transaction.transaction_status);
    const end = transaction.transaction_status === "cancel"
      ? "payment_cancelled"
      : "payment_settled";
    assert.deepEqual(await payments.events(id), ["payment_received", end]);
    await assertConsistentHistory(payments, id);
  }
});

Deno.test("cancel: is rejected if the customer pays before the gateway receives the request", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("gopay");
  const held = payments.proxy.holdCall(/^POST .*\/cancel$/);
  const cancel = payments.post(`/payments/${id}/cancel/`);
  await held.arrived;
  await payments.sandbox.control(`transactions/${transaction_id}/pay`);
  const settled = await payments.refresh(id);
  held.release();
  const problem = await assertProblem(await cancel, 400, "invalid_state");
  assert.equal(problem.transaction_status, "settlement");
  assert.deepEqual(await payments.read(id), settled);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("cancel: causes one transition if a status check sees the new state before the response arrives", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { id } = await payments.charge("gopay");
  const held = payments.proxy.holdAnswer(/^POST .*\/cancel$/);
  const cancel = payments.post(`/payments/${id}/cancel/`);
  await held.arrived;
  assert.equal((await payments.refresh(id)).transaction_status, "cancel");
  held.release();
  assert.equal((await parsePayment(await cancel, 200)).transaction_status, "cancel");
  assert.deepEqual(await payments.transitions(id), [
    ">pending charge",
    "pending>cancel check_status",
  ]);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_cancelled"]);
});

for (const failedStatus of ["expire", "cancel", "deny", "failure"]) {
  Deno.test(`check_status: revives a payment in ${failedStatus} that the gateway reports as settled`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const { sandbox } = payments;
    const { id, transaction_id } = await payments.charge("gopay");
    const pending = await sandbox.status(transaction_id!);
    await applyAnswer(payments, id, { ...pending, transaction_status: failedStatus });
    assert.equal((await payments.read(id)).transaction_status, failedStatus);
    await sandbox.control(`transactions/${transaction_id}/pay`);

    const { step } = await applyAnswer(payments, id, await sandbox.status(transaction_id!));
    assert.equal(step, "stale", "an unrequested report does not revive it");
    assert.equal((await payments.read(id)).transaction_status, failedStatus);

    const settled = await payments.refresh(id);
    assert.equal(settled.transaction_status, "settlement");
    assert.equal(settled.captured_amount, "44000.00");
    assert.equal(settled.is_paid, true);
    assert.equal(
      (await payments.transitions(id)).at(-1),
      `${failedStatus}>settlement check_status`,
    );
    const { events } = await assertConsistentHistory(payments, id);
    assert.equal(events.at(-1), "payment_settled");
    const response = await payments.post(`/payments/${id}/refund/`, { amount: 1_000 });
    assert.equal(response.status, 200, "it can be refunded");
  });
}

Deno.test("check_status: revives a charge that was marked failed but exists at the gateway", async () => {
  let now = Date.now();
  await using payments = await openProxiedPayments({ databaseUrl, now: () => now });
  const { sandbox, proxy } = payments;
  await sandbox.fault("charge", "answer_lost");
  const response = await payments.post("/charge/", await chargeRequest(sandbox, "bca"));
  const { payment_id: id, order_id } = await assertProblem(response, 502, "gateway_unreachable");
  now += 16 * MINUTE_MS;
  proxy.answer(STATUS, { status_code: "404", status_message: "Transaction doesn't exist." });
  assert.deepEqual(await payments.check(id!), { transaction_status: "failure" });

  assert.equal((await payments.refresh(id!)).transaction_status, "pending");
  await sandbox.control(`transactions/${order_id}/pay`);
  assert.equal((await payments.refresh(id!)).transaction_status, "settlement");
  assert.deepEqual(await payments.transitions(id!), [
    ">pending charge",
    "pending>failure check_payment_status",
    "failure>pending check_status",
    "pending>settlement check_status",
  ]);
  assert.deepEqual(await payments.events(id!), [
    "payment_failed",
    "payment_received",
    "payment_settled",
  ]);
});

Deno.test("apply report: no report revives a charge that the gateway rejected", async () => {
  await using payments = await openPayments({ databaseUrl });
  const request = await chargeRequest(payments.sandbox, "card");
  const response = await payments.post("/charge/", { ...request, token_id: "unknown-token" });
  const { payment_id: id } = await assertProblem(response, 400, "gateway_error");
  const before = await readStored(payments, id!);
  const [, , settlement] = await cardReports(payments);
  const ids = { transaction_id: crypto.randomUUID(), order_id: before.order_id };
  for (const isLatest of [false, true]) {
    const { step } = await applyAnswer(payments, id!, { ...settlement, ...ids }, { isLatest });
    assert.equal(step, "stale");
  }
  assert.deepEqual(await readStored(payments, id!), before);
  assert.deepEqual(await payments.events(id!), ["payment_failed"]);
});

Deno.test("check_status: sends payment_settled before payment_refunded if both happened since the last check", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  const cases = [
    { refund: { amount: 14_000 }, to: "partial_refund", refunded: "14000.00" },
    { refund: {}, to: "refund", refunded: "44000.00" },
  ];
  for (const { refund, to, refunded } of cases) {
    const { id, transaction_id } = await payments.charge("gopay");
    await sandbox.control(`transactions/${transaction_id}/pay`);
    await sandbox.post(`/v2/${transaction_id}/refund`, refund);
    const payment = await payments.refresh(id);
    assert.equal(payment.transaction_status, to);
    assert.equal(payment.captured_amount, "44000.00");
    assert.equal(payment.refund_amount, refunded);
    assert.deepEqual(await payments.transitions(id), [
      ">pending charge",
      `pending>${to} check_status`,
    ]);
    assert.deepEqual(await payments.events(id), [
      "payment_received",
      "payment_settled",
      "payment_refunded",
    ]);
  }
});

Deno.test("check_status: sends one event for each chargeback", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.paid("card");
  const statusAfterChargeback = async (details: Json) => {
    await payments.sandbox.control(`transactions/${transaction_id}/chargeback`, details);
    await payments.refresh(id);
    return (await payments.refresh(id)).transaction_status;
  };
  assert.equal(await statusAfterChargeback({ amount: 1_000 }), "partial_chargeback");
  assert.equal(await statusAfterChargeback({}), "chargeback");
  assert.deepEqual(await payments.events(id), [
    "payment_settled",
    "payment_refunded",
    "payment_refunded",
  ]);
});

Deno.test("events: contain the payment as the API returns it", async () => {
  // The app's clock is ahead of the gateway's, so a later change at the gateway has an earlier
  // time than the app's changes.
  await using payments = await openPayments({
    databaseUrl,
    now: () => Date.now() + 10 * MINUTE_MS,
  });
  const { sandbox } = payments;
  const charged = await payments.charge("gopay", { item_details: ITEMS, metadata: { a: [1] } });
  const { id, transaction_id } = charged;
  assert.deepEqual(await newestEvents(payments, id), [["payment_received", charged]]);

  await sandbox.control(`transactions/${transaction_id}/pay`);
  const settled = await payments.refresh(id);
  assert.deepEqual(await newestEvents(payments, id), [["payment_settled", settled]]);

  const response = await payments.post(`/payments/${id}/refund/`, { amount: 10_000, reason: "A" });
  const { payment: refunded } = await response.json();
  assert.deepEqual(await payments.read(id), refunded);
  assert.deepEqual(await newestEvents(payments, id), [["payment_refunded", refunded]]);

  await sandbox.post(`/v2/${transaction_id}/refund`, { refund_key: "elsewhere", amount: 5_000 });
  const refundedTwice = await payments.refresh(id);
  assert.equal(refundedTwice.refunds.length, 2);
  assert.equal(refundedTwice.refund_amount, "15000.00");
  assert.deepEqual(await payments.read(id), refundedTwice);
  assert.deepEqual(await newestEvents(payments, id), [["payment_refunded", refundedTwice]]);
});

Deno.test("events: two events of one change contain the same final payment", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("gopay");
  await payments.sandbox.control(`transactions/${transaction_id}/pay`);
  await payments.sandbox.post(`/v2/${transaction_id}/refund`, { amount: 14_000 });
  const refunded = await payments.refresh(id);
  assert.deepEqual(await newestEvents(payments, id, 2), [
    ["payment_settled", refunded],
    ["payment_refunded", refunded],
  ]);
});

Deno.test("history: records from, to, source and time of every transition", async () => {
  let now = Date.UTC(2026, 2, 5, 4, 12, 9);
  await using payments = await openPayments({ databaseUrl, now: () => now });
  const { id, transaction_id } = await payments.charge("card_auth");
  now += MINUTE_MS;
  assert.equal((await payments.post(`/payments/${id}/capture/`)).status, 200);
  now += MINUTE_MS;
  await payments.sandbox.control(`transactions/${transaction_id}/settle`);
  await payments.check(id);
  now += MINUTE_MS;
  assert.equal((await payments.post(`/payments/${id}/refund/`)).status, 200);
  const history = await payments.app.database.query((sql) => listHistory(sql, id));
  const transitions = history.map((
    { from_status, to_status, fraud_status, source, created_at },
  ) => [
    from_status,
    to_status,
    fraud_status,
    source,
    created_at.toISOString(),
  ]);
  assert.deepEqual(transitions, [
    [null, "pending", null, "charge", "2026-03-05T04:12:09.000Z"],
    ["pending", "authorize", "accept", "charge", "2026-03-05T04:12:09.000Z"],
    ["authorize", "capture", "accept", "capture", "2026-03-05T04:13:09.000Z"],
    ["capture", "settlement", "accept", "check_payment_status", "2026-03-05T04:14:09.000Z"],
    ["settlement", "refund", "accept", "refund", "2026-03-05T04:15:09.000Z"],
  ]);
  await assertConsistentHistory(payments, id);
});

/** The status responses of a card payment: pending, captured, settled, refunded in two parts. */
async function cardReports({ charge, sandbox }: TestPayments): Promise<Json[]> {
  const { transaction_id } = await charge("card_3ds");
  const refund = (refund_key: string, amount: number) =>
    sandbox.post(`/v2/${transaction_id}/refund`, { refund_key, amount });
  const steps = [
    () => Promise.resolve(),
    () => sandbox.control(`transactions/${transaction_id}/three_ds`),
    () => sandbox.control(`transactions/${transaction_id}/settle`),
    () => refund("first", 14_000),
    () => refund("second", 30_000),
  ];
  const answers = [];
  for (const step of steps) {
    await step();
    answers.push(await sandbox.status(transaction_id!));
  }
  assert.deepEqual(
    answers.map(({ transaction_status }) => transaction_status),
    ["pending", "capture", "settlement", "partial_refund", "refund"],
  );
  return answers;
}

/** Stores a payment that has no gateway response yet. */
async function storeUnansweredPayment(
  { app }: TestPayments,
  input: { payment_type: PaymentType },
): Promise<GatewayPayment> {
  const payment = newPayment({ gross_amount: AMOUNT, ...input }, "alice", new Date());
  const insert = { record: payment, key: null, keysSince: new Date(0), replaces: null };
  await batched(app.database, paymentInserts, insert);
  return payment;
}

async function readStored({ app }: TestPayments, id: string): Promise<GatewayPayment> {
  const payment = await app.database.query((sql) => findPayment(sql, id));
  assert.ok(payment);
  return payment;
}

/** Applies a report; with `isLatest`, as the response to a check of the current version. */
async function applyAnswer(
  payments: TestPayments,
  id: string,
  answer: Json,
  { isLatest = false, ...more }: Partial<GatewayReport> & { isLatest?: boolean } = {},
): Promise<AppliedReport> {
  const known = await readStored(payments, id);
  return await applyReport(payments.app.service, known, {
    answer: Transaction.parse(answer),
    source: "check_status",
    askedAtVersion: isLatest ? known.version : null,
    ...more,
  });
}

/** A charge whose response arrives only after 20 status checks. */
async function chargeDuringChecks(
  payments: Awaited<ReturnType<typeof openProxiedPayments>>,
  kind: "card" | "card_3ds",
  more: Json = {},
): Promise<Payment> {
  const order_id = more.order_id ?? crypto.randomUUID();
  const held = payments.proxy.holdAnswer(/^POST \/v2\/charge$/);
  const charge = payments.charge(kind, { ...more, order_id });
  await held.arrived;
  const [transaction] = await payments.transactions(order_id);
  const { transaction_id, metadata: { payment_ref } } = transaction;
  const checks = Array.from({ length: 20 }, () => payments.refresh(payment_ref));
  for (const check of await Promise.all(checks)) assert.equal(check.transaction_id, transaction_id);
  held.release();
  const payment = await charge;
  assert.equal(payment.id, payment_ref);
  assert.equal(payment.transaction_id, transaction_id);
  return payment;
}

/** Fails unless each transition starts where the last one ended and event numbers have no gaps. */
async function assertConsistentHistory({ app }: TestPayments, id: string) {
  const history = await app.database.query((sql) => listHistory(sql, id));
  const payment = await app.database.query((sql) => findPayment(sql, id));
  for (const [index, { from_status }] of history.entries()) {
    assert.equal(from_status, history[index - 1]?.to_status ?? null);
  }
  assert.equal(history.at(-1)!.to_status, payment!.transaction_status);
  const rows = await app.database.query((sql) =>
    sql`select name, sequence from gateway.events where resource_id = ${id} order by sequence`
  );
  assert.deepEqual(rows.map(({ sequence }) => sequence), rows.map((_, index) => index + 1));
  return { changes: history.length, events: rows.map(({ name }) => name as string) };
}

/** Fails unless mismatch errors were logged, all of them for this payment. */
function assertAlert({ app }: TestPayments, id: string): void {
  const alerts = app.logged().filter(({ event }) => event === "report_does_not_match");
  assert.ok(alerts.length > 0);
  for (const { level, payment_id } of alerts) assert.deepEqual([level, payment_id], ["error", id]);
}

/** The latest events with their payload. */
async function newestEvents({ app }: TestPayments, id: string, count = 1): Promise<Json[]> {
  const rows = await app.database.query((sql) =>
    sql`select name, data from gateway.events where resource_id = ${id} order by sequence`
  );
  return rows.slice(-count).map(({ name, data: { notification_id, ...payment } }) => {
    assert.equal(notification_id, null, "not caused by a notification");
    return [name, payment];
  });
}

/** The view without ids and times, which differ between payments with the same reports. */
function withoutIdsAndTimes(view: Json): Json {
  const { id: _id, order_id: _order, transaction_id: _transaction, ...rest } = view;
  const { created_at: _created, updated_at: _updated, ...comparable } = rest;
  const refunds = comparable.refunds.map(({ id: _, ...refund }: Json) => refund);
  return { ...comparable, refunds };
}

async function runInBatchesOfEight<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += 8) {
    results.push(...await Promise.all(items.slice(start, start + 8).map(work)));
  }
  return results;
}
