import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { hasSameIds } from "../../core/notifications/receive.ts";
import { createDatabase } from "../support/database/database.ts";
import { findSentNotification, notifyAndRead, sign } from "../support/gateway/notifications.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { chargeRequest, parsePayment } from "../support/payments/payments.ts";

const databaseUrl = await createDatabase();

/** With or without the merchant's order id in the gateway's responses about DANA. */
async function openDana(hasOrderId: boolean): Promise<RelayedPayments> {
  const payments = await openRelayed({ databaseUrl });
  await payments.sandbox.control("settings", { dana_order_id: hasOrderId }, "PATCH");
  return payments;
}

async function payAndNotify(payments: RelayedPayments, order_id: string): Promise<Json> {
  const [{ transaction_id }] = await payments.transactions(order_id);
  await payments.sandbox.control(`transactions/${transaction_id}/pay`);
  return await notifyAndRead(
    payments,
    await findSentNotification(payments, order_id, "settlement"),
  );
}

for (const hasOrderId of [true, false]) {
  const form = hasOrderId ? "the order id" : "the transaction id as order id";

  Deno.test(`DANA: with ${form} in responses, a payment is paid by its notification, checked and refunded`, async () => {
    await using payments = await openDana(hasOrderId);
    const charged = await payments.charge("dana");
    assert.equal((await payments.refresh(charged.id)).transaction_status, "pending");
    const notification = await payAndNotify(payments, charged.order_id);
    assert.deepEqual([notification.status, notification.payment_id], ["processed", charged.id]);
    const paid = await payments.refresh(charged.id);
    assert.deepEqual([paid.transaction_status, paid.order_id], ["settlement", charged.order_id]);
    const refunded = await payments.post(`/payments/${charged.id}/refund/`, { amount: 4_000 });
    assert.equal(refunded.status, 200, await refunded.clone().text());
    const { payment, refund } = await refunded.json();
    assert.deepEqual([payment.transaction_status, refund.status], ["partial_refund", "succeeded"]);
    assert.deepEqual((await payments.read(charged.id)).net_amount, "40000.00");
  });

  Deno.test(`DANA: with ${form} in responses, a payment is cancelled`, async () => {
    await using payments = await openDana(hasOrderId);
    const { id } = await payments.charge("dana");
    const cancelled = await parsePayment(await payments.post(`/payments/${id}/cancel/`), 200);
    assert.equal(cancelled.transaction_status, "cancel");
  });

  Deno.test(`DANA: with ${form} in responses, the notification of a charge without a response finds its payment`, async () => {
    await using payments = await openDana(hasOrderId);
    const order_id = randomUUID();
    await payments.sandbox.fault("charge", "answer_lost");
    const body = { ...await chargeRequest(payments.sandbox, "dana"), order_id };
    const { payment_id } = await (await payments.post("/charge/", body)).json();
    assert.equal((await payAndNotify(payments, order_id)).payment_id, payment_id);
    assert.equal((await payments.read(payment_id)).transaction_status, "settlement");
  });

  Deno.test(`DANA: with ${form} in responses, a notification before the charge's response changes the same payment`, async () => {
    await using payments = await openDana(hasOrderId);
    const order_id = randomUUID();
    const held = payments.relay.holdAnswer("POST /v2/charge");
    const charging = payments.charge("dana", { order_id });
    charging.catch(() => {});
    await held.arrived;
    const notification = await payAndNotify(payments, order_id);
    assert.equal(notification.status, "processed");
    held.release();
    const charged = await charging;
    assert.deepEqual([charged.id, charged.is_paid], [notification.payment_id, true]);
  });

  Deno.test(`DANA: with ${form} in responses, a transaction of another program is adopted with the order id of its notification`, async () => {
    await using payments = await openDana(hasOrderId);
    const order_id = randomUUID();
    await payments.sandbox.charge("dana", { transaction_details: { order_id } });
    const { payment_id } = await payAndNotify(payments, order_id);
    const staff = await payments.app.createKey({ isStaff: true });
    const adopted = await (await payments.get(`/payments/${payment_id}/`, staff)).json();
    assert.deepEqual([adopted.order_id, adopted.transaction_status], [order_id, "settlement"]);
  });

  Deno.test(`DANA: with ${form} in responses, the transaction of another order does not pay a charge without a response`, async () => {
    await using payments = await openDana(hasOrderId);
    const paid = await payments.paid("dana");
    const order_id = randomUUID();
    await payments.sandbox.fault("charge", "answer_lost");
    const body = { ...await chargeRequest(payments.sandbox, "dana"), order_id };
    const { payment_id } = await (await payments.post("/charge/", body)).json();
    const pending = await findSentNotification(payments, order_id, "pending");
    const { transaction_id } = paid;
    const forged = { ...pending, transaction_id, transaction_status: "settlement" };
    assert.equal((await notifyAndRead(payments, forged)).status, "unmatched");
    await runDueJobs(payments.app);
    const target = await payments.read(payment_id);
    assert.deepEqual([target.transaction_id, target.is_paid], [null, false]);
    assert.deepEqual(await payments.read(paid.id), paid);
  });
}

Deno.test("transaction-source: is sent with calls about DANA transactions only, and not with charges", async () => {
  await using payments = await openDana(false);
  const { id } = await payments.paid("dana");
  await payments.post(`/payments/${id}/refund/`, { amount: 4_000 });
  await payments.post(`/payments/${(await payments.charge("dana")).id}/cancel/`);
  const isAboutDana = payments.relay.received.length;
  await payments.post(`/payments/${(await payments.paid("gopay")).id}/refund/`, { amount: 4_000 });
  const sources = payments.relay.received.map((request) => [
    nameOf(request),
    request.headers.get("transaction-source"),
  ]);
  const calls = sources.slice(0, isAboutDana).filter(([name]) => name !== "POST /v2/charge");
  assert.ok(calls.length >= 4, JSON.stringify(sources));
  for (const [name, source] of calls) assert.equal(source, "SNAP_API", name!);
  for (const [name, source] of sources) {
    if (name === "POST /v2/charge") assert.equal(source, null);
  }
  for (const [name, source] of sources.slice(isAboutDana)) assert.equal(source, null, name!);
});

Deno.test("virtual account of a newer bank: is adopted and checked with the order id of its notification", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { relay, sandbox } = payments;
  const order_id = randomUUID();
  const { transaction_id } = await sandbox.charge("bca", { transaction_details: { order_id } });
  const va_numbers = [{ bank: "bsi", va_number: "9001234567" }];
  relay.intercept = async (_request, pass) => {
    const answer = await (await pass()).json();
    const pending = answer.transaction_status === "pending" &&
      { status_code: "200", transaction_status: "PENDING" };
    return Response.json({ ...answer, ...pending, va_numbers, order_id: transaction_id });
  };
  const created = await findSentNotification(payments, order_id, "pending");
  const adopted = await notifyAndRead(payments, sign({ ...created, va_numbers }));
  assert.equal(adopted.status, "processed");
  await sandbox.control(`transactions/${transaction_id}/pay`);
  const settled = await findSentNotification(payments, order_id, "settlement");
  const again = await notifyAndRead(payments, sign({ ...settled, va_numbers }));
  assert.deepEqual([again.status, again.payment_id], ["processed", adopted.payment_id]);
  const staff = await payments.app.createKey({ isStaff: true });
  const payment = await (await payments.get(`/payments/${again.payment_id}/`, staff)).json();
  assert.deepEqual(
    [payment.order_id, payment.bank, payment.transaction_status],
    [order_id, "bsi", "settlement"],
  );
  for (const { headers } of relay.received) {
    assert.equal(headers.get("transaction-source"), "SNAP_API");
  }
});

Deno.test("notification: a status response without an order id is about its order only for DANA and newer virtual accounts", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { service } = payments.app;
  for (const [kind, expected] of [["dana", true], ["gopay", false]] as const) {
    const { order_id, transaction_id } = await payments.charge(kind);
    const { body } = await service.gateway.getStatus(transaction_id!, {
      isSnapApi: kind === "dana",
    });
    const found = { ...body, order_id: null };
    assert.equal(await hasSameIds(service, { order_id, transaction_id }, found), expected, kind);
  }
});
