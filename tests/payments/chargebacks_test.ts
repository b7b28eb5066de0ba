import assert from "node:assert/strict";
import { createDatabase } from "../support/database/database.ts";
import { findSentNotification } from "../support/gateway/notifications.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments, type Payment, type TestPayments } from "../support/payments/payments.ts";

const databaseUrl = await createDatabase();

const MONEY = ["captured_amount", "refund_amount", "chargeback_amount", "net_amount"] as const;

function moneyOf(payment: Payment): (string | null)[] {
  return MONEY.map((name) => payment[name]);
}

async function chargeBack(payments: TestPayments, { id, transaction_id }: Payment, details = {}) {
  await payments.sandbox.control(`transactions/${transaction_id}/chargeback`, details);
  return await payments.refresh(id);
}

async function eventData({ app }: TestPayments, id: string): Promise<Json[]> {
  const rows = await app.database.query((sql) =>
    sql`select data from gateway.events where resource_id = ${id} order by sequence`
  );
  return rows.map(({ data }) => data);
}

/** From now on, responses to status queries have these fields. */
function reportFields({ relay }: RelayedPayments, fields: Json): void {
  relay.intercept = async (request, pass) => {
    const response = await pass();
    if (nameOf(request) !== "GET /v2/:id/status") return response;
    return Response.json({ ...await response.json(), ...fields });
  };
}

Deno.test("chargeback: takes back all that was not refunded, and the payment is neither paid nor failed", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const paid = await payments.paid("card");
  assert.deepEqual(moneyOf(paid), ["44000.00", "0.00", "0.00", "44000.00"]);
  const refund = await payments.post(`/payments/${paid.id}/refund/`, { amount: 10_000 });
  assert.equal(refund.status, 200);
  // The sandbox does not charge back a payment that is refunded in part.
  reportFields(payments, { transaction_status: "chargeback" });
  const payment = await payments.refresh(paid.id);
  assert.equal(payment.transaction_status, "chargeback");
  assert.deepEqual(moneyOf(payment), ["44000.00", "10000.00", "34000.00", "0.00"]);
  assert.deepEqual(
    [payment.is_paid, payment.is_failed, payment.has_unknown_chargeback],
    [false, false, false],
  );
  const data = (await eventData(payments, paid.id)).at(-1)!;
  assert.deepEqual([data.chargeback_amount, data.net_amount], ["34000.00", "0.00"]);
});

Deno.test("chargeback: of an authorization that was captured in part, takes back the captured amount", async () => {
  await using payments = await openPayments({ databaseUrl });
  const held = await payments.charge("card_auth");
  await payments.post(`/payments/${held.id}/capture/`, { amount: 20_000 });
  await payments.sandbox.control(`transactions/${held.transaction_id}/settle`);
  const payment = await chargeBack(payments, held);
  assert.deepEqual(moneyOf(payment), ["20000.00", "0.00", "20000.00", "0.00"]);
});

Deno.test("partial chargeback: if the gateway reports no amount, the amount is null, has_unknown_chargeback is true, and the net amount is not lowered", async () => {
  await using payments = await openPayments({ databaseUrl });
  const paid = await payments.paid("card");
  const payment = await chargeBack(payments, paid, { amount: 1_000 });
  assert.equal(payment.transaction_status, "partial_chargeback");
  assert.deepEqual(moneyOf(payment), ["44000.00", "0.00", null, "44000.00"]);
  assert.equal(payment.has_unknown_chargeback, true);
  const data = (await eventData(payments, paid.id)).at(-1)!;
  assert.deepEqual([data.chargeback_amount, data.has_unknown_chargeback], [null, true]);

  const full = await chargeBack(payments, paid);
  assert.equal(full.has_unknown_chargeback, false);
  assert.deepEqual(moneyOf(full), ["44000.00", "0.00", "44000.00", "0.00"]);
});

Deno.test("partial chargeback: the amount that the gateway reports lowers the net amount, and a larger one sends another event", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const paid = await payments.paid("card");
  reportFields(payments, { chargeback_amount: "1000.00" });
  const payment = await chargeBack(payments, paid, { amount: 1_000 });
  assert.deepEqual(moneyOf(payment), ["44000.00", "0.00", "1000.00", "43000.00"]);
  assert.equal(payment.has_unknown_chargeback, false);
  await payments.refresh(paid.id);
  reportFields(payments, { chargeback_amount: "5000.00" });
  const grown = await payments.refresh(paid.id);
  assert.deepEqual(moneyOf(grown), ["44000.00", "0.00", "5000.00", "39000.00"]);
  assert.deepEqual(
    (await eventData(payments, paid.id)).map(({ chargeback_amount }) => chargeback_amount),
    ["0.00", "1000.00", "5000.00"],
  );
});

Deno.test("partial chargeback: an amount that is reported after the chargeback replaces the unknown one", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const paid = await payments.paid("card");
  const unknown = await chargeBack(payments, paid, { amount: 1_000 });
  assert.equal(unknown.chargeback_amount, null);
  reportFields(payments, { chargeback_amount: "1000.00" });
  const known = await payments.refresh(paid.id);
  assert.deepEqual([known.chargeback_amount, known.has_unknown_chargeback], ["1000.00", false]);
  assert.equal((await eventData(payments, paid.id)).at(-1)!.chargeback_amount, "1000.00");
});

for (const reported of ["44001.00", "0.00", "-1.00", "10.50", "many"]) {
  Deno.test(`partial chargeback: the impossible amount ${reported} counts as unknown`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const paid = await payments.paid("card");
    reportFields(payments, { chargeback_amount: reported });
    const payment = await chargeBack(payments, paid, { amount: 1_000 });
    assert.equal(payment.transaction_status, "partial_chargeback");
    assert.deepEqual(moneyOf(payment), ["44000.00", "0.00", null, "44000.00"]);
  });
}

Deno.test("partial chargeback: an amount in a notification counts only if a status query confirms it", async () => {
  await using payments = await openPayments({ databaseUrl });
  const paid = await payments.paid("card");
  const path = `transactions/${paid.transaction_id}/chargeback`;
  await payments.sandbox.control(path, { amount: 1_000 });
  const body = await findSentNotification(payments, paid.order_id, "partial_chargeback");
  const response = await payments.post("/notification/", {
    ...body,
    chargeback_amount: "44000.00",
  });
  assert.equal(response.status, 200);
  const payment = await payments.read(paid.id);
  assert.equal(payment.transaction_status, "partial_chargeback");
  assert.equal(payment.chargeback_amount, null);
});
