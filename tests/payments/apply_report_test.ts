import assert from "node:assert/strict";
import { Transaction } from "../../core/gateway/responses.ts";
import {
  type AppliedReport,
  applyReport,
  type GatewayReport,
} from "../../core/payments/apply_report.ts";
import type { PaymentType } from "../../core/payments/charge_input.ts";
import { newPayment } from "../../core/payments/new_payment.ts";
import { viewPayment } from "../../core/payments/views.ts";
import { batched } from "../../db/batched.ts";
import { findPayment, paymentInserts } from "../../db/payment_statements.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import { listHistory } from "../../db/records.ts";
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

const databaseUrl = await createDatabase();

const STATUS = /^GET .*\/status$/;
const MINUTE = 60_000;

Deno.test("whatever order its news come in, a payment ends alike", async () => {
  await using payments = await openPayments({ databaseUrl });
  const life = await cardLife(payments);
  const orders = permutations(life);
  // As answers to something else, and as answers to a question that all others overtook.
  const runs = [null, -1].flatMap((askedAt) => orders.map((order) => ({ order, askedAt })));
  const ends = await eightAtATime(runs, async ({ order, askedAt }) => {
    const { id, order_id } = await writtenOnly(payments, { payment_type: "credit_card" });
    const own = { transaction_id: crypto.randomUUID(), order_id };
    for (const answer of order) await tell(payments, id, { ...answer, ...own }, { askedAt });
    const { events } = await assertWellTold(payments, id);
    assert.equal(events.filter((name) => name === "payment_settled").length, 1);
    const told = events.filter((name) => name !== "payment_received");
    assert.deepEqual(told.slice(0, 2), ["payment_settled", "payment_refunded"]);
    const end = viewPayment(await stored(payments, id));
    assert.equal(end.transaction_id, own.transaction_id);
    return withoutOwn(end);
  });
  for (const [index, end] of ends.entries()) {
    const heard = runs[index]!.order.map(({ transaction_status }) => transaction_status);
    assert.deepEqual(end, ends[0], heard.join(", "));
  }
  assert.equal(ends.length, 240);
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

Deno.test("news of the same second: what is further on counts, whichever came first", async () => {
  await using payments = await openPayments({ databaseUrl });
  const [, capture, settlement] = await cardLife(payments);
  const second = {
    transaction_time: "2026-03-05 11:12:09",
    settlement_time: "2026-03-05 11:12:09",
  };
  for (const order of [[capture, settlement], [settlement, capture]]) {
    const payment = await writtenOnly(payments, { payment_type: "credit_card" });
    const own = { transaction_id: crypto.randomUUID(), order_id: payment.order_id };
    for (const answer of order) await tell(payments, payment.id, { ...answer, ...own, ...second });
    assert.equal((await stored(payments, payment.id)).transaction_status, "settlement");
    assert.deepEqual(await payments.events(payment.id), ["payment_settled"]);
  }
});

Deno.test("whatever was heard before, one look at the gateway ends it as the gateway has it", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const order of permutations(["expire", "cancel", "pending", "deny"])) {
    const { id, transaction_id } = await payments.charge("gopay");
    await payments.sandbox.control(`transactions/${transaction_id}/pay`);
    const answer = await payments.sandbox.status(transaction_id!);
    for (const transaction_status of order) {
      await tell(payments, id, { ...answer, transaction_status });
    }
    const settled = await payments.refresh(id);
    assert.equal(settled.transaction_status, "settlement", order.join());
    assert.equal(settled.captured_amount, "44000.00");
    const { events } = await assertWellTold(payments, id);
    assert.equal(events.filter((name) => name === "payment_settled").length, 1);
  }
});

Deno.test("the same news again change nothing", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const answer of await cardLife(payments)) {
    const payment = await writtenOnly(payments, { payment_type: "credit_card" });
    const own = { transaction_id: crypto.randomUUID(), order_id: payment.order_id };
    await tell(payments, payment.id, { ...answer, ...own });
    const before = await stored(payments, payment.id);
    const told = await assertWellTold(payments, payment.id);
    for (const askedAt of [null, before.version]) {
      const { step } = await tell(payments, payment.id, { ...answer, ...own }, { askedAt });
      assert.equal(step, "duplicate", answer.transaction_status);
    }
    assert.deepEqual(await stored(payments, payment.id), before);
    assert.deepEqual(await assertWellTold(payments, payment.id), told);
  }
});

Deno.test("a status that was overtaken never steps back", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { sandbox, proxy } = payments;
  const { id, transaction_id } = await payments.charge("gopay");
  const held = proxy.holdAnswer(STATUS);
  const slow = payments.refresh(id);
  await held.arrived;
  await sandbox.control(`transactions/${transaction_id}/pay`);
  const settled = await payments.refresh(id);
  assert.equal(settled.transaction_status, "settlement");
  held.release();
  await slow;
  assert.deepEqual(await payments.read(id), settled);
  assert.deepEqual(await payments.story(id), [
    ">pending charge",
    "pending>settlement check_status",
  ]);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("news that were overtaken are no news: the gateway is asked again", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { sandbox, proxy } = payments;
  const { id, transaction_id } = await payments.charge("card_3ds");
  await sandbox.control(`transactions/${transaction_id}/three_ds`);
  const held = proxy.holdAnswer(STATUS);
  const slow = payments.refresh(id);
  await held.arrived;
  await sandbox.control(`transactions/${transaction_id}/settle`);
  const settled = await payments.refresh(id);
  const asked = proxy.received.length;
  held.release();
  assert.deepEqual(await slow, settled, "whoever asked hears how it stands now");
  assert.equal(proxy.received.length, asked + 1);
  assert.deepEqual(await payments.story(id), [
    ">pending charge",
    "pending>settlement check_status",
  ]);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("a look from the background that was overtaken by a capture takes nothing back", async () => {
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
  assert.deepEqual(await payments.story(id), [
    ">pending charge",
    "pending>authorize charge",
    "authorize>capture capture",
  ]);
});

Deno.test("a status from before a refund takes nothing of it back", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { id } = await payments.paid("gopay");
  const held = payments.proxy.holdAnswer(STATUS);
  const slow = payments.refresh(id);
  await held.arrived;
  const response = await payments.post(`/payments/${id}/refund/`, { amount: 10_000 });
  assert.equal(response.status, 200);
  const refunded = await payments.read(id);
  assert.equal(refunded.refund_amount, "10000.00");
  assert.equal(refunded.net_amount, "34000.00");
  held.release();
  await slow;
  assert.deepEqual(await payments.read(id), refunded);
});

Deno.test("a denial that was overtaken does not take back that it was paid after all", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { sandbox, proxy } = payments;
  const { id, transaction_id } = await payments.charge("gopay");
  const pending = await sandbox.status(transaction_id!);
  const denied = { ...pending, status_code: "202", transaction_status: "deny" };
  const held = proxy.holdAnswer(STATUS, denied);
  const slow = payments.refresh(id);
  await held.arrived;
  await tell(payments, id, denied);
  await sandbox.control(`transactions/${transaction_id}/pay`);
  const settled = await payments.refresh(id);
  assert.equal(settled.transaction_status, "settlement");
  held.release();
  assert.deepEqual(await slow, settled);
  assert.deepEqual(await payments.events(id), [
    "payment_received",
    "payment_denied",
    "payment_settled",
  ]);
});

Deno.test("a provider that takes a payment back is believed when asked", async () => {
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
  const { step, payment } = await tell(payments, id, settled, { isLatest: true });
  assert.equal(step, "revived", "should it change its mind again");
  assert.equal(payment.captured_amount, 44_000);
  assert.deepEqual(await payments.events(id), events, "that it was paid is told once");
});

Deno.test("an answer that says nothing of fraud leaves what is known of it", async () => {
  await using payments = await openPayments({ databaseUrl });
  const token_id = await payments.sandbox.token(CHALLENGED_CARD);
  const { id, transaction_id } = await payments.charge("card", { token_id });
  const { fraud_status, ...capture } = await payments.sandbox.status(transaction_id!);
  assert.equal(fraud_status, "challenge");
  const { step } = await tell(payments, id, capture, { isLatest: true });
  assert.equal(step, "duplicate");
  assert.equal((await payments.read(id)).is_paid, false);
  const settlement = { ...capture, transaction_status: "settlement" };
  const { payment } = await tell(payments, id, settlement, { isLatest: true });
  assert.equal(payment.transaction_status, "settlement");
  assert.equal(payment.fraud_status, "challenge");
});

Deno.test("twenty looks while a charge is being made: one transition, one event", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const charge = chargeWhileLooking(payments, "card");
  const captured = await charge;
  assert.equal(captured.transaction_status, "capture");
  assert.equal(captured.captured_amount, "44000.00");
  assert.deepEqual(await payments.story(captured.id), [
    ">pending charge",
    "pending>capture check_status",
  ]);
  assert.deepEqual(await payments.events(captured.id), ["payment_settled"]);
});

Deno.test("a look that overtakes the charge's answer costs neither the caller's fields nor the link", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const order_id = crypto.randomUUID();
  const more = {
    order_id,
    customer_details: CUSTOMER,
    item_details: ITEMS,
    metadata: { cart: "c-1" },
    custom_fields: ["one"],
  };
  const payment = await chargeWhileLooking(payments, "card_3ds", more);
  assert.equal(payment.transaction_status, "pending");
  assert.ok(payment.redirect_url, "which a status does not have");
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
  assert.deepEqual(await payments.story(payment.id), [">pending charge"]);
  assert.deepEqual(await payments.events(payment.id), ["payment_received"]);
});

Deno.test("a charge that is paid before its answer comes is answered as paid", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { proxy, sandbox } = payments;
  const order_id = crypto.randomUUID();
  const held = proxy.holdAnswer(/^POST \/v2\/charge$/);
  const charge = payments.charge("gopay", { order_id });
  await held.arrived;
  await sandbox.control(`transactions/${order_id}/pay`);
  const { metadata: { payment_ref } } = await sandbox.status(order_id);
  const settled = await payments.refresh(payment_ref);
  held.release();
  const answered = await charge;
  assert.equal(answered.transaction_status, "settlement");
  assert.equal(answered.captured_amount, settled.captured_amount);
  assert.deepEqual(await payments.read(payment_ref), answered);
  assert.deepEqual(await payments.events(payment_ref), ["payment_settled"]);
});

Deno.test("a capture and looks at once: one transition, and everybody hears of it", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { id } = await payments.charge("card_auth");
  const held = payments.proxy.holdAnswer(/^POST \/v2\/capture$/);
  const capture = payments.post(`/payments/${id}/capture/`);
  await held.arrived;
  const looks = await Promise.all(Array.from({ length: 10 }, () => payments.refresh(id)));
  for (const { transaction_status } of looks) assert.equal(transaction_status, "capture");
  held.release();
  assert.equal((await parsePayment(await capture, 200)).transaction_status, "capture");
  assert.deepEqual((await payments.story(id)).slice(2), ["authorize>capture check_status"]);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("captures at once: the money is taken once, and whoever comes second is told how it stands", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("card_auth");
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => payments.post(`/payments/${id}/capture/`)),
  );
  let done = 0;
  for (const answer of answers) {
    if (answer.status === 200) {
      assert.equal((await parsePayment(answer, 200)).transaction_status, "capture");
      done++;
    } else {
      const { code, outcome } = await answer.json();
      // The gateway says of a call that still runs only that it does.
      const isTold = code === "invalid_state" ||
        (code === "gateway_error" && outcome === "unknown");
      assert.ok(isTold, `${code} ${outcome}`);
    }
  }
  assert.ok(done >= 1);
  const payment = await payments.refresh(id);
  assert.equal(payment.transaction_status, "capture");
  assert.equal(payment.captured_amount, "44000.00");
  assert.equal((await payments.sandbox.status(transaction_id!)).transaction_status, "capture");
  assert.equal((await payments.story(id)).length, 3);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("a second capture is refused, and a capture that fails moves no money back", async () => {
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
  assert.equal(captured.transaction_status, "capture", "the last one went through after all");
  for (let times = 0; times < 2; times++) {
    const response = await payments.post(`/payments/${id}/capture/`);
    await assertProblem(response, 400, "invalid_state");
  }
  assert.deepEqual(await payments.read(id), captured);
  assert.equal((await sandbox.status(transaction_id!)).transaction_status, "capture");
  const others = proxy.writes().filter((name) => !/\/(charge|capture)$/.test(name));
  assert.deepEqual(others, [], "nothing was undone");
});

for (const [kind, paidAs] of [["bca", "settlement"], ["card_3ds", "capture"]] as const) {
  Deno.test(`an amount that is not the payment's to the rupiah does not make it paid (${kind})`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const { id, transaction_id, ...before } = await payments.charge(kind);
    const pending = await payments.sandbox.status(transaction_id!);
    const answer = { ...pending, transaction_status: paidAs };
    for (const gross_amount of ["43999.00", 43_999, "43999.99", "0.00", "1"]) {
      const { step } = await tell(payments, id, { ...answer, gross_amount }, { isLatest: true });
      assert.equal(step, "stale", String(gross_amount));
    }
    const after = await payments.read(id);
    assert.equal(after.transaction_status, before.transaction_status);
    assert.equal(after.captured_amount, null);
    assertAlert(payments, id);
  });
}

Deno.test("an amount is the same however the gateway writes it", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const gross_amount of ["44000.00", "44000", "44000.0", 44_000]) {
    const { id, transaction_id } = await payments.charge("bca");
    const pending = await payments.sandbox.status(transaction_id!);
    const settled = { ...pending, gross_amount, transaction_status: "settlement" };
    const { payment } = await tell(payments, id, settled);
    assert.equal(payment.transaction_status, "settlement", String(gross_amount));
    assert.equal(payment.captured_amount, 44_000);
  }
});

Deno.test("a fee on top is the customer's, whether the gateway itemizes it or not", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("gopay");
  const pending = await payments.sandbox.status(transaction_id!);
  const settled = { ...pending, gross_amount: "49000.00", transaction_status: "settlement" };
  const { payment } = await tell(payments, id, settled);
  assert.equal(payment.transaction_status, "settlement");
  assert.equal(payment.gross_amount, 44_000);
  assert.equal(payment.captured_amount, 44_000);
});

Deno.test("what is said of another transaction changes nothing", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("bca");
  const before = await stored(payments, id);
  const answer = await payments.sandbox.status(transaction_id!);
  const anothers = {
    ...answer,
    transaction_id: crypto.randomUUID(),
    transaction_status: "settlement",
  };
  for (const isLatest of [false, true]) {
    const { step } = await tell(payments, id, anothers, { isLatest });
    assert.equal(step, "stale");
  }
  assert.deepEqual(await stored(payments, id), before);
  assertAlert(payments, id);
});

Deno.test("cancelled while the customer pays: whichever was first, both sides agree", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  const made = await Promise.all(Array.from({ length: 12 }, () => payments.charge("gopay")));
  await Promise.all(made.flatMap(({ id, transaction_id }, index) => {
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
  for (const { id, transaction_id } of made) {
    const payment = await payments.refresh(id);
    const seen = await sandbox.status(transaction_id!);
    assert.equal(payment.transaction_status, seen.transaction_status);
    const end = seen.transaction_status === "cancel" ? "payment_cancelled" : "payment_settled";
    assert.deepEqual(await payments.events(id), ["payment_received", end]);
    await assertWellTold(payments, id);
  }
});

Deno.test("a payment that comes before the cancellation is kept", async () => {
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

Deno.test("a cancellation that is seen before it is answered is one", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const { id } = await payments.charge("gopay");
  const held = payments.proxy.holdAnswer(/^POST .*\/cancel$/);
  const cancel = payments.post(`/payments/${id}/cancel/`);
  await held.arrived;
  assert.equal((await payments.refresh(id)).transaction_status, "cancel");
  held.release();
  assert.equal((await parsePayment(await cancel, 200)).transaction_status, "cancel");
  assert.deepEqual(await payments.story(id), [">pending charge", "pending>cancel check_status"]);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_cancelled"]);
});

for (const dead of ["expire", "cancel", "deny", "failure"]) {
  Deno.test(`back from the dead: after ${dead} it was paid in the last second`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const { sandbox } = payments;
    const { id, transaction_id } = await payments.charge("gopay");
    const pending = await sandbox.status(transaction_id!);
    await tell(payments, id, { ...pending, transaction_status: dead });
    assert.equal((await payments.read(id)).transaction_status, dead);
    await sandbox.control(`transactions/${transaction_id}/pay`);

    const { step } = await tell(payments, id, await sandbox.status(transaction_id!));
    assert.equal(step, "stale", "whoever did not ask for it does not bring it back");
    assert.equal((await payments.read(id)).transaction_status, dead);

    const settled = await payments.refresh(id);
    assert.equal(settled.transaction_status, "settlement");
    assert.equal(settled.captured_amount, "44000.00");
    assert.equal(settled.is_paid, true);
    assert.equal((await payments.story(id)).at(-1), `${dead}>settlement check_status`);
    const { events } = await assertWellTold(payments, id);
    assert.equal(events.at(-1), "payment_settled");
    const response = await payments.post(`/payments/${id}/refund/`, { amount: 1_000 });
    assert.equal(response.status, 200, "and it can be refunded as any other");
  });
}

Deno.test("back from the dead: a charge that was given up had gone through after all", async () => {
  let now = Date.now();
  await using payments = await openProxiedPayments({ databaseUrl, now: () => now });
  const { sandbox, proxy } = payments;
  await sandbox.fault("charge", "answer_lost");
  const response = await payments.post("/charge/", await chargeRequest(sandbox, "bca"));
  const { payment_id: id, order_id } = await assertProblem(response, 502, "gateway_unreachable");
  now += 16 * MINUTE;
  proxy.answer(STATUS, { status_code: "404", status_message: "Transaction doesn't exist." });
  assert.deepEqual(await payments.check(id!), { transaction_status: "failure" });

  assert.equal((await payments.refresh(id!)).transaction_status, "pending");
  await sandbox.control(`transactions/${order_id}/pay`);
  assert.equal((await payments.refresh(id!)).transaction_status, "settlement");
  assert.deepEqual(await payments.story(id!), [
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

Deno.test("a charge that was refused does not come back, whatever is said", async () => {
  await using payments = await openPayments({ databaseUrl });
  const request = await chargeRequest(payments.sandbox, "card");
  const response = await payments.post("/charge/", { ...request, token_id: "of-nobody" });
  const { payment_id: id } = await assertProblem(response, 400, "gateway_error");
  const before = await stored(payments, id!);
  const [, , settlement] = await cardLife(payments);
  const own = { transaction_id: crypto.randomUUID(), order_id: before.order_id };
  for (const isLatest of [false, true]) {
    const { step } = await tell(payments, id!, { ...settlement, ...own }, { isLatest });
    assert.equal(step, "stale");
  }
  assert.deepEqual(await stored(payments, id!), before);
  assert.deepEqual(await payments.events(id!), ["payment_failed"]);
});

Deno.test("states that nobody told of are jumped over, and paid is told first", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  const jumps = [
    { refund: { amount: 14_000 }, to: "partial_refund", refunded: "14000.00" },
    { refund: {}, to: "refund", refunded: "44000.00" },
  ];
  for (const { refund, to, refunded } of jumps) {
    const { id, transaction_id } = await payments.charge("gopay");
    await sandbox.control(`transactions/${transaction_id}/pay`);
    await sandbox.post(`/v2/${transaction_id}/refund`, refund);
    const payment = await payments.refresh(id);
    assert.equal(payment.transaction_status, to);
    assert.equal(payment.captured_amount, "44000.00");
    assert.equal(payment.refund_amount, refunded);
    assert.deepEqual(await payments.story(id), [">pending charge", `pending>${to} check_status`]);
    assert.deepEqual(await payments.events(id), [
      "payment_received",
      "payment_settled",
      "payment_refunded",
    ]);
  }
});

Deno.test("chargebacks are told, each once", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.paid("card");
  const seen = async (particulars: Json) => {
    await payments.sandbox.control(`transactions/${transaction_id}/chargeback`, particulars);
    await payments.refresh(id);
    return (await payments.refresh(id)).transaction_status;
  };
  assert.equal(await seen({ amount: 1_000 }), "partial_chargeback");
  assert.equal(await seen({}), "chargeback");
  assert.deepEqual(await payments.events(id), [
    "payment_settled",
    "payment_refunded",
    "payment_refunded",
  ]);
});

Deno.test("events tell the payment as it is read", async () => {
  // Ahead of the gateway's clock, so that what is made later there looks earlier.
  await using payments = await openPayments({ databaseUrl, now: () => Date.now() + 10 * MINUTE });
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
  const more = await payments.refresh(id);
  assert.equal(more.refunds.length, 2);
  assert.equal(more.refund_amount, "15000.00");
  assert.deepEqual(await payments.read(id), more);
  assert.deepEqual(await newestEvents(payments, id), [["payment_refunded", more]]);
});

Deno.test("events of one change tell the same, what it has come to", async () => {
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

Deno.test("a payment can tell its story: from, to, who brought it about, and when", async () => {
  let now = Date.UTC(2026, 2, 5, 4, 12, 9);
  await using payments = await openPayments({ databaseUrl, now: () => now });
  const { id, transaction_id } = await payments.charge("card_auth");
  now += MINUTE;
  assert.equal((await payments.post(`/payments/${id}/capture/`)).status, 200);
  now += MINUTE;
  await payments.sandbox.control(`transactions/${transaction_id}/settle`);
  await payments.check(id);
  now += MINUTE;
  assert.equal((await payments.post(`/payments/${id}/refund/`)).status, 200);
  const history = await payments.app.database.query((sql) => listHistory(sql, id));
  const told = history.map(({ from_status, to_status, fraud_status, source, created_at }) => [
    from_status,
    to_status,
    fraud_status,
    source,
    created_at.toISOString(),
  ]);
  assert.deepEqual(told, [
    [null, "pending", null, "charge", "2026-03-05T04:12:09.000Z"],
    ["pending", "authorize", "accept", "charge", "2026-03-05T04:12:09.000Z"],
    ["authorize", "capture", "accept", "capture", "2026-03-05T04:13:09.000Z"],
    ["capture", "settlement", "accept", "check_payment_status", "2026-03-05T04:14:09.000Z"],
    ["settlement", "refund", "accept", "refund", "2026-03-05T04:15:09.000Z"],
  ]);
  await assertWellTold(payments, id);
});

/** The status answers of a card payment on its way: pending, captured, settled, refunded in two parts. */
async function cardLife({ charge, sandbox }: TestPayments): Promise<Json[]> {
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

/** A payment that waits for its first answer. */
async function writtenOnly(
  { app }: TestPayments,
  input: { payment_type: PaymentType },
): Promise<GatewayPayment> {
  const payment = newPayment({ gross_amount: AMOUNT, ...input }, "alice", new Date());
  const insert = { record: payment, key: null, keysSince: new Date(0), replaces: null };
  await batched(app.database, paymentInserts, insert);
  return payment;
}

async function stored({ app }: TestPayments, id: string): Promise<GatewayPayment> {
  const payment = await app.database.query((sql) => findPayment(sql, id));
  assert.ok(payment);
  return payment;
}

/** Lets the gate hear something; as the answer to the latest question, where it is said to be that. */
async function tell(
  payments: TestPayments,
  id: string,
  answer: Json,
  { isLatest = false, ...more }: Partial<GatewayReport> & { isLatest?: boolean } = {},
): Promise<AppliedReport> {
  const known = await stored(payments, id);
  return await applyReport(payments.app.deps, known, {
    answer: Transaction.parse(answer),
    source: "check_status",
    askedAt: isLatest ? known.version : null,
    ...more,
  });
}

/** A charge whose answer comes only after twenty others have asked the gateway how it stands. */
async function chargeWhileLooking(
  payments: Awaited<ReturnType<typeof openProxiedPayments>>,
  kind: "card" | "card_3ds",
  more: Json = {},
): Promise<Payment> {
  const order_id = more.order_id ?? crypto.randomUUID();
  const held = payments.proxy.holdAnswer(/^POST \/v2\/charge$/);
  const charge = payments.charge(kind, { ...more, order_id });
  await held.arrived;
  const { transaction_id, metadata: { payment_ref } } = await payments.sandbox.status(order_id);
  const looks = Array.from({ length: 20 }, () => payments.refresh(payment_ref));
  for (const check of await Promise.all(looks)) assert.equal(check.transaction_id, transaction_id);
  held.release();
  const payment = await charge;
  assert.equal(payment.id, payment_ref);
  assert.equal(payment.transaction_id, transaction_id);
  return payment;
}

/** Every change begins where the one before ended, and no event is missing or double. */
async function assertWellTold({ app }: TestPayments, id: string) {
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

/** Somebody has to look into it. */
function assertAlert({ app }: TestPayments, id: string): void {
  const alerts = app.logged().filter(({ event }) => event === "report_does_not_match");
  assert.ok(alerts.length > 0);
  for (const { level, payment_id } of alerts) assert.deepEqual([level, payment_id], ["error", id]);
}

/** The latest events, with what they tell. */
async function newestEvents({ app }: TestPayments, id: string, count = 1): Promise<Json[]> {
  const rows = await app.database.query((sql) =>
    sql`select name, data from gateway.events where resource_id = ${id} order by sequence`
  );
  return rows.slice(-count).map(({ name, data: { notification_id, ...payment } }) => {
    assert.equal(notification_id, null, "no notification brought it about");
    return [name, payment];
  });
}

/** What is the same for two payments of the same fate. */
function withoutOwn(view: Json): Json {
  const { id: _id, order_id: _order, transaction_id: _transaction, ...rest } = view;
  const { created_at: _created, updated_at: _updated, ...alike } = rest;
  const refunds = alike.refunds.map(({ id: _, ...refund }: Json) => refund);
  return { ...alike, refunds };
}

async function eightAtATime<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let done = 0; done < items.length; done += 8) {
    results.push(...await Promise.all(items.slice(done, done + 8).map(work)));
  }
  return results;
}
