import assert from "node:assert/strict";
import { checkInvoiceStatus } from "../../core/invoices/check_invoice_status.ts";
import {
  alterInvoices,
  HOUR,
  type Invoice,
  invoiceDue,
  MINUTE,
  namesTold,
  openInvoices,
  parseInvoice,
  sentInvoices,
  type TestInvoices,
} from "../support/records/invoices.ts";
import { notified, notify, sign } from "../support/gateway/notifications.ts";
import { parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import type { Json } from "../support/gateway/sandbox.ts";

const CHEAP = 1_000;

/** That nobody takes it for paid, now or when the clock has seen to it. */
async function assertUnpaid(invoices: TestInvoices, { id }: Invoice, says = ""): Promise<void> {
  await invoices.work();
  await invoices.advance(HOUR);
  await invoices.tick();
  const invoice = await invoices.find(id);
  assert.deepEqual([invoice.status, invoice.paid_at], ["sent", null], says);
  assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created"], says);
}

/** A cheap payment of Bob's own, and the settlement that the gateway told of it. */
async function paidCheaply(invoices: TestInvoices, bob: string, more: Json = {}) {
  const body = { payment_type: "gopay", gross_amount: CHEAP, ...more };
  const payment = await parsePayment(await invoices.post("/charge/", body, {}, bob), 201);
  await invoices.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  const settlement = invoices.sandbox.hooks.at(-1)!.body;
  assert.equal(settlement.order_id, payment.order_id);
  return { payment, settlement };
}

Deno.test("what nobody signed pays nothing, whatever it says", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const told = {
    order_id: invoice.order_id,
    status_code: "200",
    gross_amount: invoice.total_amount,
    transaction_id: crypto.randomUUID(),
    transaction_status: "settlement",
    fraud_status: "accept",
    metadata: { midtrans_invoice_id: invoice.gateway_invoice_id, invoice_ref: invoice.id },
  };
  const asked = invoices.relay.received.length;
  for (const key of ["", "SB-Mid-client-sandbox", "wrong"]) {
    await assertProblem(await notify(invoices, sign(told, key)), 403, "signature_invalid");
  }
  assert.equal(invoices.relay.received.length, asked, "not even the gateway is asked");
  await assertUnpaid(invoices, invoice);
});

Deno.test("a signature for the invoice's own order and amount is still no payment of it", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const told = sign({
    order_id: invoice.order_id,
    status_code: "200",
    gross_amount: invoice.total_amount,
    transaction_id: crypto.randomUUID(),
    transaction_status: "settlement",
    payment_type: "gopay",
    metadata: { midtrans_invoice_id: invoice.gateway_invoice_id },
  });
  assert.equal((await notified(invoices, told)).status, "unmatched");
  const { transaction_id: _, ...nameless } = told;
  assert.equal((await notified(invoices, nameless)).status, "unmatched");
  await assertUnpaid(invoices, invoice);
});

Deno.test("what is told of a cheap payment cannot be turned into one of an invoice", async () => {
  await using invoices = await openInvoices();
  const bob = await invoices.app.createKey({ userId: "bob" });
  const invoice = await invoices.create();
  const started = await invoices.pay(invoice, { only_start: true });
  const { payment, settlement } = await paidCheaply(invoices, bob);
  // Of all this the signature covers the order, the code and the amount.
  const forgeries: Json[] = [
    { metadata: { midtrans_invoice_id: invoice.gateway_invoice_id } },
    { metadata: { invoice_ref: invoice.id, midtrans_invoice_id: invoice.gateway_invoice_id } },
    { metadata: { ...settlement.metadata, midtrans_invoice_id: invoice.gateway_invoice_id } },
    { transaction_id: started.transaction_id },
    { transaction_id: started.transaction_id, metadata: started.metadata },
    { transaction_id: invoice.order_id },
    { transaction_id: invoice.gateway_invoice_id },
    { transaction_id: null, metadata: started.metadata },
    { invoice_id: invoice.id, invoice_number: invoice.invoice_number },
  ];
  for (const forgery of forgeries) {
    const response = await notify(invoices, { ...settlement, ...forgery });
    assert.equal(response.status, 200, JSON.stringify(forgery));
  }
  await assertUnpaid(invoices, invoice);
  const own = await parsePayment(await invoices.get(`/payments/${payment.id}/`, bob), 200);
  assert.deepEqual([own.invoice_id, own.is_paid], [null, true]);
  for (const { gross_amount } of await invoices.paymentsOf(invoice)) {
    assert.equal(gross_amount, invoice.total_amount);
  }
});

Deno.test("a cheap invoice that was paid cannot pass for another one", async () => {
  await using invoices = await openInvoices();
  const bob = await invoices.app.createKey({ userId: "bob" });
  const dear = await invoices.create();
  const items = [{ description: "A sweet", price: CHEAP, quantity: 1 }];
  const cheap = await invoices.create({ items }, {}, bob);
  await invoices.pay(cheap);
  const settlement = invoices.sandbox.hooks.at(-1)!.body;
  const metadata = { ...settlement.metadata, midtrans_invoice_id: dear.gateway_invoice_id };
  assert.equal((await notify(invoices, { ...settlement, metadata })).status, 200);
  await assertUnpaid(invoices, dear);
  assert.equal((await invoices.find(cheap.id)).status, "paid", "it is what it is");
  assert.deepEqual(await invoices.paymentsOf(dear), []);
});

Deno.test("no charge can bear the marks of an invoice", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const bob = await invoices.app.createKey({ userId: "bob" });
  const charge = { payment_type: "gopay", gross_amount: CHEAP };
  const marks = { midtrans_invoice_id: invoice.gateway_invoice_id, invoice_ref: invoice.id };
  for (const [name, value] of Object.entries(marks)) {
    for (const path of ["/charge/", "/invoices/"]) {
      const request = path === "/charge/" ? charge : invoiceDue(invoices.now());
      const response = await invoices.post(path, { ...request, metadata: { [name]: value } });
      const { errors } = await assertProblem(response, 400, "validation_error");
      assert.deepEqual(errors!.map(({ field }) => field), [`metadata.${name}`]);
    }
  }
  for (const key of [invoices.key, bob]) {
    const response = await invoices.post(
      "/charge/",
      { ...charge, order_id: invoice.order_id },
      {},
      key,
    );
    await assertProblem(response, 400, "duplicate_order");
  }
  assert.equal(invoices.relay.times("POST /v2/charge"), 0);
});

Deno.test("a cheap charge under whatever looks like the invoice pays nothing but itself", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const bob = await invoices.app.createKey({ userId: "bob" });
  const invoice = await invoices.create();
  const orders = [
    invoice.gateway_invoice_id!,
    invoice.id,
    invoice.invoice_number,
    `${invoice.order_id}-1234567890`,
    invoice.order_id.toUpperCase(),
    `${invoice.order_id}.`,
  ];
  for (const order_id of orders) {
    const { payment } = await paidCheaply(invoices, bob, {
      order_id,
      invoice_id: invoice.id,
      metadata: { invoice_id: invoice.id, invoice_number: invoice.invoice_number },
      custom_fields: [invoice.gateway_invoice_id, invoice.id, invoice.order_id],
    });
    const own = await parsePayment(await invoices.get(`/payments/${payment.id}/`, bob), 200);
    assert.deepEqual([own.is_paid, own.invoice_id], [true, null]);
  }
  await assertUnpaid(invoices, invoice);
  assert.deepEqual(await invoices.paymentsOf(invoice), []);
});

Deno.test("a cheap transaction made elsewhere that names the invoice, or has its order, does not pay it", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const { sandbox } = invoices;
  const named = await invoices.create();
  const ordered = await invoices.create();
  const metadata = { midtrans_invoice_id: named.gateway_invoice_id };
  await sandbox.paid("gopay", { transaction_details: { gross_amount: CHEAP }, metadata });
  const { order_id } = ordered;
  await sandbox.paid("gopay", { transaction_details: { gross_amount: CHEAP, order_id } });
  await assertUnpaid(invoices, named);
  await assertUnpaid(invoices, ordered);
  // And the customer can still pay what is due.
  for (const invoice of [named, ordered]) {
    await invoices.pay(invoice);
    await invoices.work();
    assert.equal((await invoices.find(invoice.id)).status, "paid");
    assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_paid"]);
  }
});

Deno.test("what pays an invoice that was made elsewhere is nobody's: staff alone see it", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  await invoices.create();
  const { body } = sentInvoices(invoices)[0]!;
  const order_id = "from-the-dashboard";
  const { metadata: _, ...request } = { ...body, order_id, invoice_number: order_id };
  const elsewhere = await invoices.sandbox.post("/v1/invoices", request);
  await invoices.sandbox.control(`invoices/${elsewhere.id}/pay`);
  await invoices.tick();
  const seen: Json[] = await (await invoices.get("/payments/", invoices.staff)).json();
  assert.deepEqual(seen.map((each) => [each.order_id, each.is_paid]), [[order_id, true]]);
  const payment = await invoices.get(`/payments/${seen[0].id}/`, invoices.staff);
  assert.equal((await parsePayment(payment, 200)).invoice_id, null);
  assert.deepEqual(await (await invoices.get("/payments/")).json(), []);
});

Deno.test("an invoice under an order that is used elsewhere gets nobody that order's payment", async () => {
  for (const isToldFirst of [true, false]) {
    await using invoices = await openInvoices();
    const { now, post, sandbox } = invoices;
    if (isToldFirst) invoices.connect();
    const order_id = "from-elsewhere";
    const details = { order_id, gross_amount: CHEAP };
    const { transaction_id } = await sandbox.charge("bca", { transaction_details: details });
    const answer = await post("/invoices/", { ...invoiceDue(now()), order_id });
    invoices.connect();
    await sandbox.control(`transactions/${transaction_id}/pay`);
    await invoices.tick();
    const seen = async (): Promise<Json[]> => {
      const list: Json[] = await (await invoices.get("/payments/")).json();
      return list.filter(({ gross_amount }) => gross_amount === `${CHEAP}.00`);
    };
    assert.deepEqual(await seen(), []);
    if (answer.status !== 201) {
      await assertProblem(answer, 400, "duplicate_order");
      continue;
    }
    // Nor does it pass for what paid the invoice, when that was paid and nobody told of it.
    const invoice = await parseInvoice(answer);
    await assertUnpaid(invoices, invoice);
    sandbox.receiver.answer = () => new Response("OK");
    await invoices.pay(invoice);
    await invoices.advance(HOUR);
    await invoices.tick();
    assert.equal((await invoices.find(invoice.id)).status, "paid");
    assert.deepEqual(await seen(), []);
  }
});

Deno.test("payments that come to nothing leave the invoice as it is", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const ends: [payment_type: string, end: string, status: string][] = [
    ["gopay", "deny", "deny"],
    ["qris", "expire", "expire"],
  ];
  for (const [payment_type, end, status] of ends) {
    const { transaction_id } = await invoices.pay(invoice, { payment_type, only_start: true });
    await invoices.sandbox.control(`transactions/${transaction_id}/${end}`);
    await assertUnpaid(invoices, invoice, end);
    const payment = (await invoices.paymentsOf(invoice)).at(-1)!;
    assert.deepEqual([payment.transaction_status, payment.is_paid], [status, false]);
  }
});

/** How an answer about an invoice may be about another one. */
const OTHERWISE: Record<string, Json> = {
  "a smaller amount": { gross_amount: CHEAP },
  "a larger amount": { gross_amount: 999_999_999 },
  "no amount": { gross_amount: null },
  "a broken amount": { gross_amount: "160000.50" },
  "another order": { order_id: "another" },
  "another number": { invoice_number: "another" },
  "another id": { id: "0123456789abcdef01234567" },
  "no id": { id: null },
  "a state that is none": { status: "settled" },
  "no state": { status: null },
};

for (const [name, difference] of Object.entries(OTHERWISE)) {
  Deno.test(`an answer with ${name} is not about the invoice, even if it says paid`, async () => {
    await using invoices = await openInvoices();
    const invoice = await invoices.create();
    alterInvoices(invoices, (answer) => ({ ...answer, status: "paid", ...difference }));
    await assert.rejects(checkInvoiceStatus(invoices.app.deps, invoice.id), {
      name: "GatewayAPIError",
    });
    await assertUnpaid(invoices, invoice);
    const alerts = invoices.app.logged().filter(({ event }) => event === "invoice_differs");
    assert.ok(alerts.length > 0, "somebody is told");
    assert.equal(alerts[0]!.invoice_id, invoice.id);
  });

  // To an invoice that has no id yet any is its own.
  if (name === "another id") continue;
  Deno.test(`an invoice whose making is answered with ${name} is not taken for made`, async () => {
    await using invoices = await openInvoices();
    alterInvoices(invoices, (answer) => ({ ...answer, ...difference }));
    const answer = await invoices.post("/invoices/", invoiceDue(invoices.now()));
    const problem = await assertProblem(answer, 400, "gateway_error");
    assert.equal(problem.outcome, "unknown");
    const invoice = await invoices.find(problem.invoice_id!);
    assert.deepEqual(
      [invoice.status, invoice.gateway_invoice_id, invoice.payment_link_url],
      ["pending", null, null],
    );
    assert.deepEqual(await namesTold(invoices, invoice), []);
  });
}

Deno.test("an invoice that the gateway no longer knows keeps its state, and raises an alert", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  invoices.relay.intercept = () =>
    Response.json({ error_messages: ["Not Found"] }, { status: 404 });
  await assertUnpaid(invoices, invoice);
  const events = invoices.app.logged().map(({ event }) => event);
  assert.ok(events.includes("invoice_unknown_to_gateway"));
});

Deno.test("an unanswered invoice does not take a cheaper one with its order for its own", async () => {
  await using invoices = await openInvoices();
  const { now, post, sandbox } = invoices;
  invoices.connect();
  await sandbox.fault("invoice_create", "reset");
  const lost = await post("/invoices/", invoiceDue(now()));
  const { invoice_id } = await assertProblem(lost, 502, "gateway_unreachable");
  await invoices.advance(6 * MINUTE);
  const { body } = sentInvoices(invoices)[0]!;
  const elsewhere = await sandbox.call("POST", "/v1/invoices", {
    ...body,
    item_details: [{ description: "A sweet", price: CHEAP, quantity: 1 }],
  });
  assert.equal(elsewhere.http, 201);
  await sandbox.control(`invoices/${elsewhere.body.id}/pay`);
  await invoices.tick();
  const invoice = await invoices.find(invoice_id!);
  assert.deepEqual([invoice.status, invoice.gateway_invoice_id], ["pending", null]);
  assert.deepEqual(await namesTold(invoices, invoice), []);
});

Deno.test("a charge under the order of a failed invoice does not bring it back", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const { now, post } = invoices;
  const request = { ...invoiceDue(now()), order_id: "an-order" };
  await invoices.create();
  const { body } = sentInvoices(invoices)[0]!;
  await invoices.sandbox.call("POST", "/v1/invoices", { ...body, order_id: "an-order" });
  const refused = await assertProblem(await post("/invoices/", request), 400, "duplicate_order");
  const { transaction_id, id } = await invoices.charge("gopay", { order_id: "an-order" });
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
  await invoices.tick();
  const failed = await parseInvoice(await invoices.get(`/invoices/${refused.invoice_id}/`), 200);
  assert.deepEqual([failed.status, failed.paid_at], ["failed", null]);
  const payment = await invoices.read(id);
  assert.deepEqual([payment.is_paid, payment.invoice_id], [true, null]);
});
