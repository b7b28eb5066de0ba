import assert from "node:assert/strict";
import { checkInvoiceStatus } from "../../core/invoices/check_invoice_status.ts";
import {
  alterInvoices,
  HOUR,
  type Invoice,
  invoiceDue,
  MINUTE,
  openInvoices,
  parseInvoice,
  readEventNames,
  sentInvoices,
  type TestInvoices,
} from "../support/records/invoices.ts";
import { notify, notifyAndRead, sign } from "../support/gateway/notifications.ts";
import { parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import type { Json } from "../support/gateway/sandbox.ts";

const CHEAP = 1_000;

/** Fails if the invoice is paid now, or after the scheduled checks ran. */
async function assertUnpaid(invoices: TestInvoices, { id }: Invoice, message = ""): Promise<void> {
  await invoices.runJobs();
  await invoices.advance(HOUR);
  await invoices.runSchedule();
  const invoice = await invoices.find(id);
  assert.deepEqual([invoice.status, invoice.paid_at], ["sent", null], message);
  assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created"], message);
}

/** A cheap payment of Bob, and the gateway's settlement notification for it. */
async function payCheaply(invoices: TestInvoices, bob: string, more: Json = {}) {
  const body = { payment_type: "gopay", gross_amount: CHEAP, ...more };
  const payment = await parsePayment(await invoices.post("/charge/", body, {}, bob), 201);
  await invoices.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  const settlement = invoices.sandbox.hooks.at(-1)!.body;
  assert.equal(settlement.order_id, payment.order_id);
  return { payment, settlement };
}

Deno.test("invoice: stays unpaid if a notification has no valid signature", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const body = {
    order_id: invoice.order_id,
    status_code: "200",
    gross_amount: invoice.total_amount,
    transaction_id: crypto.randomUUID(),
    transaction_status: "settlement",
    fraud_status: "accept",
    metadata: { midtrans_invoice_id: invoice.gateway_invoice_id, invoice_ref: invoice.id },
  };
  const callsBefore = invoices.relay.received.length;
  for (const key of ["", "SB-Mid-client-sandbox", "wrong"]) {
    await assertProblem(await notify(invoices, sign(body, key)), 403, "signature_invalid");
  }
  assert.equal(invoices.relay.received.length, callsBefore, "the gateway is not called");
  await assertUnpaid(invoices, invoice);
});

Deno.test("invoice: stays unpaid if a validly signed notification names an unknown transaction", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const body = sign({
    order_id: invoice.order_id,
    status_code: "200",
    gross_amount: invoice.total_amount,
    transaction_id: crypto.randomUUID(),
    transaction_status: "settlement",
    payment_type: "gopay",
    metadata: { midtrans_invoice_id: invoice.gateway_invoice_id },
  });
  assert.equal((await notifyAndRead(invoices, body)).status, "unmatched");
  const { transaction_id: _, ...withoutId } = body;
  assert.equal((await notifyAndRead(invoices, withoutId)).status, "unmatched");
  await assertUnpaid(invoices, invoice);
});

Deno.test("invoice: stays unpaid if the notification of another, cheaper payment is altered to name the invoice", async () => {
  await using invoices = await openInvoices();
  const bob = await invoices.app.createKey({ userId: "bob" });
  const invoice = await invoices.create();
  const started = await invoices.pay(invoice, { only_start: true });
  const { payment, settlement } = await payCheaply(invoices, bob);
  // The signature covers only the order id, the status code and the amount.
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
  const bobsPayment = await parsePayment(await invoices.get(`/payments/${payment.id}/`, bob), 200);
  assert.deepEqual([bobsPayment.invoice_id, bobsPayment.is_paid], [null, true]);
  for (const { gross_amount } of await invoices.paymentsOf(invoice)) {
    assert.equal(gross_amount, invoice.total_amount);
  }
});

Deno.test("invoice: stays unpaid if the notification of a cheaper invoice is altered to name the expensive invoice", async () => {
  await using invoices = await openInvoices();
  const bob = await invoices.app.createKey({ userId: "bob" });
  const expensive = await invoices.create();
  const items = [{ description: "A sweet", price: CHEAP, quantity: 1 }];
  const cheap = await invoices.create({ items }, {}, bob);
  await invoices.pay(cheap);
  const settlement = invoices.sandbox.hooks.at(-1)!.body;
  const metadata = { ...settlement.metadata, midtrans_invoice_id: expensive.gateway_invoice_id };
  assert.equal((await notify(invoices, { ...settlement, metadata })).status, 200);
  await assertUnpaid(invoices, expensive);
  assert.equal((await invoices.find(cheap.id)).status, "paid", "the cheap invoice itself is paid");
  assert.deepEqual(await invoices.paymentsOf(expensive), []);
});

Deno.test("charge and invoice: reject metadata and order ids reserved for an existing invoice", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const bob = await invoices.app.createKey({ userId: "bob" });
  const charge = { payment_type: "gopay", gross_amount: CHEAP };
  const reservedKeys = { midtrans_invoice_id: invoice.gateway_invoice_id, invoice_ref: invoice.id };
  for (const [name, value] of Object.entries(reservedKeys)) {
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

Deno.test("invoice: stays unpaid if a cheaper charge uses its ids as order id, metadata or custom fields", async () => {
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
    const { payment } = await payCheaply(invoices, bob, {
      order_id,
      metadata: { invoice_id: invoice.id, invoice_number: invoice.invoice_number },
      custom_fields: [invoice.gateway_invoice_id, invoice.id, invoice.order_id],
    });
    const bobsPayment = await parsePayment(
      await invoices.get(`/payments/${payment.id}/`, bob),
      200,
    );
    assert.deepEqual([bobsPayment.is_paid, bobsPayment.invoice_id], [true, null]);
  }
  await assertUnpaid(invoices, invoice);
  assert.deepEqual(await invoices.paymentsOf(invoice), []);
});

Deno.test("invoice: stays unpaid if a cheaper transaction created outside the service names the invoice or uses its order id", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const { sandbox } = invoices;
  const namedInvoice = await invoices.create();
  const invoiceWithOrder = await invoices.create();
  const metadata = { midtrans_invoice_id: namedInvoice.gateway_invoice_id };
  await sandbox.paid("gopay", { transaction_details: { gross_amount: CHEAP }, metadata });
  const { order_id } = invoiceWithOrder;
  await sandbox.paid("gopay", { transaction_details: { gross_amount: CHEAP, order_id } });
  await assertUnpaid(invoices, namedInvoice);
  await assertUnpaid(invoices, invoiceWithOrder);
  // The customer can still pay the amount due.
  for (const invoice of [namedInvoice, invoiceWithOrder]) {
    await invoices.pay(invoice);
    await invoices.runJobs();
    assert.equal((await invoices.find(invoice.id)).status, "paid");
    assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created", "invoice_paid"]);
  }
});

Deno.test("invoice created outside the service: its payment is visible to staff, but not to users", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  await invoices.create();
  const { body } = sentInvoices(invoices)[0]!;
  const order_id = "from-the-dashboard";
  const { metadata: _, ...request } = { ...body, order_id, invoice_number: order_id };
  const externalInvoice = await invoices.sandbox.post("/v1/invoices", request);
  await invoices.sandbox.control(`invoices/${externalInvoice.id}/pay`);
  await invoices.runSchedule();
  const staffPayments: Json[] = await (await invoices.get("/payments/", invoices.staff)).json();
  assert.deepEqual(staffPayments.map((each) => [each.order_id, each.is_paid]), [[order_id, true]]);
  const payment = await invoices.get(`/payments/${staffPayments[0].id}/`, invoices.staff);
  assert.equal((await parsePayment(payment, 200)).invoice_id, null);
  assert.deepEqual(await (await invoices.get("/payments/")).json(), []);
});

Deno.test("invoice: does not link a payment created outside the service under the same order id", async () => {
  for (const isNotifiedFirst of [true, false]) {
    await using invoices = await openInvoices();
    const { now, post, sandbox } = invoices;
    if (isNotifiedFirst) invoices.connect();
    const order_id = "from-elsewhere";
    const details = { order_id, gross_amount: CHEAP };
    const { transaction_id } = await sandbox.charge("bca", { transaction_details: details });
    const answer = await post("/invoices/", { ...invoiceDue(now()), order_id });
    invoices.connect();
    await sandbox.control(`transactions/${transaction_id}/pay`);
    await invoices.runSchedule();
    const readCheapPayments = async (): Promise<Json[]> => {
      const list: Json[] = await (await invoices.get("/payments/")).json();
      return list.filter(({ gross_amount }) => gross_amount === `${CHEAP}.00`);
    };
    assert.deepEqual(await readCheapPayments(), []);
    if (answer.status !== 201) {
      await assertProblem(answer, 400, "duplicate_order");
      continue;
    }
    // The other payment must stay unlinked even if the invoice is paid without a notification.
    const invoice = await parseInvoice(answer);
    await assertUnpaid(invoices, invoice);
    sandbox.receiver.answer = () => new Response("OK");
    await invoices.pay(invoice);
    await invoices.advance(HOUR);
    await invoices.runSchedule();
    assert.equal((await invoices.find(invoice.id)).status, "paid");
    assert.deepEqual(await readCheapPayments(), []);
  }
});

Deno.test("invoice: stays sent if its payments are denied or expire", async () => {
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

/** Responses that do not match the invoice. */
const MISMATCHES: Record<string, Json> = {
  "a smaller amount": { gross_amount: CHEAP },
  "a larger amount": { gross_amount: 999_999_999 },
  "no amount": { gross_amount: null },
  "a fractional amount": { gross_amount: "160000.50" },
  "another order": { order_id: "another" },
  "another number": { invoice_number: "another" },
  "another id": { id: "0123456789abcdef01234567" },
  "no id": { id: null },
  "an unknown state": { status: "settled" },
  "no state": { status: null },
};

for (const [name, difference] of Object.entries(MISMATCHES)) {
  Deno.test(`invoice check: rejects a response with ${name}, even if its status is paid`, async () => {
    await using invoices = await openInvoices();
    const invoice = await invoices.create();
    alterInvoices(invoices, (answer) => ({ ...answer, status: "paid", ...difference }));
    await assert.rejects(checkInvoiceStatus(invoices.app.service, invoice.id), {
      name: "GatewayAPIError",
    });
    await assertUnpaid(invoices, invoice);
    const alerts = invoices.app.logged().filter(({ event }) => event === "invoice_differs");
    assert.ok(alerts.length > 0, "the difference is logged");
    assert.equal(alerts[0]!.invoice_id, invoice.id);
  });

  // Before the creation response, the service knows no gateway id, so it accepts any id.
  if (name === "another id") continue;
  Deno.test(`invoice creation: has an unknown outcome if the response has ${name}`, async () => {
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
    assert.deepEqual(await readEventNames(invoices, invoice), []);
  });
}

Deno.test("invoice check: keeps the state and logs an alert if the gateway no longer knows the invoice", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  invoices.relay.intercept = () =>
    Response.json({ error_messages: ["Not Found"] }, { status: 404 });
  await assertUnpaid(invoices, invoice);
  const events = invoices.app.logged().map(({ event }) => event);
  assert.ok(events.includes("invoice_unknown_to_gateway"));
});

Deno.test("invoice with an unknown outcome: does not adopt a cheaper invoice with the same order id", async () => {
  await using invoices = await openInvoices();
  const { now, post, sandbox } = invoices;
  invoices.connect();
  await sandbox.fault("invoice_create", "reset");
  const lostResponse = await post("/invoices/", invoiceDue(now()));
  const { invoice_id } = await assertProblem(lostResponse, 502, "gateway_unreachable");
  await invoices.advance(6 * MINUTE);
  const { body } = sentInvoices(invoices)[0]!;
  const externalInvoice = await sandbox.call("POST", "/v1/invoices", {
    ...body,
    item_details: [{ description: "A sweet", price: CHEAP, quantity: 1 }],
  });
  assert.equal(externalInvoice.http, 201);
  await sandbox.control(`invoices/${externalInvoice.body.id}/pay`);
  await invoices.runSchedule();
  const invoice = await invoices.find(invoice_id!);
  assert.deepEqual([invoice.status, invoice.gateway_invoice_id], ["pending", null]);
  assert.deepEqual(await readEventNames(invoices, invoice), []);
});

Deno.test("failed invoice: stays failed if a charge with its order id is paid", async () => {
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
  await invoices.runSchedule();
  const failed = await parseInvoice(await invoices.get(`/invoices/${refused.invoice_id}/`), 200);
  assert.deepEqual([failed.status, failed.paid_at], ["failed", null]);
  const payment = await invoices.read(id);
  assert.deepEqual([payment.is_paid, payment.invoice_id], [true, null]);
});
