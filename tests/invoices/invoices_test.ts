import { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { getInvoiceStatus } from "../../core/invoices/check_at_gateway.ts";
import { createInvoice } from "../../core/invoices/create.ts";
import { INVOICE_STATUSES } from "../../core/invoices/states.ts";
import { voidInvoice } from "../../core/invoices/void.ts";
import { EventSchema } from "../../routes/events/schemas.ts";
import { InvoiceSchema } from "../../core/invoices/schema.ts";
import { createDatabase } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import {
  alterInvoices,
  CREATE,
  type Invoice,
  invoiceDue,
  openInvoices,
  parseInvoice,
  readEventNames,
  sentInvoices,
  type TestInvoices,
  TOTAL,
} from "../support/records/invoices.ts";
import { until } from "../support/until.ts";

const databaseUrl = await createDatabase();

async function assertDuplicateOrder(response: Response, orderId: string): Promise<void> {
  const problem = await assertProblem(response, 400, "duplicate_order");
  assert.deepEqual([problem.order_id, problem.outcome], [orderId, "refused"]);
}

/** Makes the gateway reject the next invoice as invalid. */
function rejectNextInvoice({ relay }: TestInvoices): void {
  const { intercept } = relay;
  relay.intercept = (request, pass) => {
    if (!(request.method === "POST" && request.target === "/v1/invoices")) {
      return intercept(request, pass);
    }
    relay.intercept = intercept;
    return Response.json({ error_messages: ["customer_details.name is unusual"] }, { status: 400 });
  };
}

Deno.test("invoice creation: returns the payment link and PDF, and a Location that can be read", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { get, now, post } = invoices;
  const order_id = randomUUID();
  const request = {
    ...invoiceDue(now()),
    customer_phone: "628123456789",
    customer_id: "customer-12",
    notes: "Thank you.\nCome again.",
    order_id,
    invoice_number: `2026/${order_id}`.slice(0, 40),
    metadata: { cart: "c-1", deep: { list: [1, null, "x"] } },
  };
  request.items[0].item_id = "sku-7";
  const response = await post("/invoices/", request);
  const location = response.headers.get("location");
  const invoice = await parseInvoice(response);
  const { id, gateway_invoice_id, created_at, updated_at, items, ...rest } = invoice;
  assert.match(gateway_invoice_id!, /^[0-9a-f]{24}$/);
  assert.deepEqual(rest, {
    invoice_number: request.invoice_number,
    order_id,
    status: "sent",
    customer_name: "Budi Utomo",
    customer_email: "budi@shop.example",
    customer_phone: "628123456789",
    customer_id: "customer-12",
    total_amount: "160000.00",
    currency: "IDR",
    due_date: request.due_date,
    paid_at: null,
    notes: "Thank you.\nCome again.",
    void_reason: null,
    payment_link_url: `${invoices.sandbox.url}/payment-links/${gateway_invoice_id}`,
    pdf_url: `${invoices.sandbox.url}/invoices/${gateway_invoice_id}.pdf`,
    is_overdue: false,
    metadata: request.metadata,
  });
  assert.deepEqual(items.map(({ id: _, ...item }) => item), [
    {
      item_id: "sku-7",
      description: "Coffee beans, 1 kg",
      quantity: 2,
      price: "75000.00",
      subtotal: "150000.00",
    },
    {
      item_id: null,
      description: "Delivery",
      quantity: 1,
      price: "10000.00",
      subtotal: "10000.00",
    },
  ]);
  assert.ok(created_at <= updated_at);
  assert.equal(location, `/invoices/${id}/`);
  assert.deepEqual(await parseInvoice(await get(location!), 200), invoice);
  assert.deepEqual(await parseInvoice(await get(`/invoices/${id}`), 200), invoice);
});

Deno.test("invoice: omitted fields are null, and are not sent to the gateway", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const given = { customer_email: null, customer_phone: null, notes: null, metadata: null };
  const invoice = await invoices.create(given);
  for (
    const name of [
      "customer_email",
      "customer_phone",
      "customer_id",
      "paid_at",
      "notes",
      "void_reason",
      "metadata",
    ] as const
  ) assert.equal(invoice[name], null, name);
  assert.equal(invoice.items[0]!.item_id, null);
  const { customer_details, ...sent } = sentInvoices(invoices)[0]!.body;
  assert.deepEqual(customer_details, { name: "Budi Utomo" });
  assert.ok(!("notes" in sent));
});

Deno.test("invoice creation: sends the gateway dates in the time zone of Western Indonesia, and a payment link", async () => {
  // 20:15 UTC is already the next day in Western Indonesia.
  const start = Date.parse("2031-01-31T20:15:30.900Z");
  await using invoices = await openInvoices({ databaseUrl, now: () => start });
  const invoice = await invoices.create({ due_date: "2031-02-01", customer_id: "c-1" });
  const [sent] = sentInvoices(invoices);
  assert.deepEqual(sent, {
    key: invoice.id,
    body: {
      order_id: invoice.order_id,
      invoice_number: invoice.invoice_number,
      invoice_date: "2031-02-01 03:15:30 +0700",
      due_date: "2031-02-01 23:59:59 +0700",
      customer_details: { name: "Budi Utomo", id: "c-1", email: "budi@shop.example" },
      item_details: [
        { description: "Coffee beans, 1 kg", price: 75_000, quantity: 2 },
        { description: "Delivery", price: 10_000, quantity: 1 },
      ],
      payment_type: "payment_link",
      payment_link: {
        is_custom_expiry: false,
        enabled_payments: invoices.app.config.invoicePayments,
      },
      metadata: { invoice_ref: invoice.id },
    },
  });
  assert.ok(sent!.body.payment_link.enabled_payments.length > 10);
  assert.match(invoice.invoice_number, /^INV-20310201-/);
  assert.equal((await invoices.atGateway(invoice)).gross_amount, TOTAL);
});

Deno.test("invoice creation: INVOICE_PAYMENTS limits the payment methods of the link", async () => {
  await using invoices = await openInvoices({
    databaseUrl,
    env: { INVOICE_PAYMENTS: "gopay,bca_va" },
  });
  await invoices.create();
  assert.deepEqual(sentInvoices(invoices)[0]!.body.payment_link, {
    is_custom_expiry: false,
    enabled_payments: ["gopay", "bca_va"],
  });
});

Deno.test("invoice creation: 200 concurrent invoices get distinct numbers and order ids, each sent once", async () => {
  await using invoices = await openInvoices();
  const created = await Promise.all(Array.from({ length: 200 }, () => invoices.create()));
  for (const name of ["id", "invoice_number", "order_id", "gateway_invoice_id"] as const) {
    assert.equal(new Set(created.map((invoice) => invoice[name])).size, 200, name);
  }
  for (const { order_id, invoice_number } of created) {
    assert.match(order_id, /^[A-Za-z0-9_~.-]{1,36}$/);
    assert.ok(invoice_number.length <= 40);
  }
  assert.equal(invoices.relay.times(CREATE), 200);
});

Deno.test("invoice creation: rejects an invoice_number that is in use by any user, even for a voided invoice", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { app, now, post, relay } = invoices;
  const bob = await app.createKey({ userId: "bob" });
  const invoice_number = `N-${randomUUID()}`.slice(0, 40);
  const { id } = await invoices.create({ invoice_number });
  await invoices.void(id);
  for (const key of [invoices.key, bob]) {
    const again = { ...invoiceDue(now()), invoice_number };
    const { errors } = await assertProblem(
      await post("/invoices/", again, newKey(), key),
      400,
      "validation_error",
    );
    assert.deepEqual(errors!.map(({ field }) => field), ["invoice_number"]);
  }
  assert.equal(relay.times(CREATE), 1);
});

Deno.test("invoice creation: one of 30 concurrent requests for one invoice_number succeeds, and the order ids of the rejected requests can still be used", async () => {
  await using invoices = await openInvoices();
  const { now, post, relay } = invoices;
  const order = (n: number) => `of-30-${n}`;
  const create = (n: number) =>
    post("/invoices/", { ...invoiceDue(now()), invoice_number: "the-one", order_id: order(n) });
  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => create(n)));
  const created = answers.findIndex(({ status }) => status === 201);
  for (const [n, answer] of answers.entries()) {
    if (n !== created) await assertProblem(answer, 400, "validation_error");
  }
  assert.equal(relay.times(CREATE), 1);
  for (const n of answers.keys()) if (n !== created) await invoices.create({ order_id: order(n) });
});

Deno.test("invoice creation: fails if the gateway rejects it, and the caller can reuse order_id and invoice_number", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { app, now, post } = invoices;
  const bob = await app.createKey({ userId: "bob" });
  const names = { order_id: randomUUID(), invoice_number: `N-${randomUUID()}`.slice(0, 40) };
  const request = { ...invoiceDue(now()), ...names };
  rejectNextInvoice(invoices);
  const refused = await post("/invoices/", request);
  const problem = await assertProblem(refused, 400, "gateway_validation");
  const { id } = await invoices.find(problem.invoice_id!);
  assert.deepEqual([problem.outcome, problem.order_id], ["refused", names.order_id]);
  assert.match(problem.detail!, /customer_details\.name is unusual/);
  const failed = await invoices.find(id);
  assert.deepEqual([failed.status, failed.gateway_invoice_id], ["failed", null]);
  assert.deepEqual(await invoices.transitions(id), [">pending create", "pending>failed create"]);
  assert.deepEqual(await readEventNames(invoices, failed), []);
  await assertProblem(await invoices.void(id), 400, "invalid_state");

  await assertDuplicateOrder(await post("/invoices/", request, {}, bob), names.order_id);
  const created = await parseInvoice(await post("/invoices/", request));
  assert.notEqual(created.id, id);
  assert.deepEqual([created.status, created.invoice_number], ["sent", names.invoice_number]);
  await assertDuplicateOrder(
    await post("/invoices/", { ...request, invoice_number: null }),
    names.order_id,
  );
});

Deno.test("invoice creation: replays a rejection for the same Idempotency-Key", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { now, post, relay } = invoices;
  const key = newKey();
  const request = invoiceDue(now());
  rejectNextInvoice(invoices);
  const firstProblem = await assertProblem(
    await post("/invoices/", request, key),
    400,
    "gateway_validation",
  );
  const again = await post("/invoices/", request, key);
  assert.ok(isReplayed(again));
  const { instance: _, ...replayed } = await assertProblem(again, 400, "gateway_validation");
  const { instance: __, ...original } = firstProblem;
  assert.deepEqual(replayed, original);
  assert.equal(relay.times(CREATE), 1);
});

Deno.test("order ids: a payment and an invoice cannot use the same order id", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { charge, create, now, post, relay } = invoices;
  const [invoiceOrderId, chargeOrderId] = [randomUUID(), randomUUID()];
  await create({ order_id: invoiceOrderId });
  await charge("gopay", { order_id: chargeOrderId });
  const chargeRequest = { payment_type: "gopay", gross_amount: 1_000, order_id: invoiceOrderId };
  await assertDuplicateOrder(await post("/charge/", chargeRequest), invoiceOrderId);
  const invoiceRequest = { ...invoiceDue(now()), order_id: chargeOrderId };
  await assertDuplicateOrder(await post("/invoices/", invoiceRequest), chargeOrderId);
  assert.deepEqual([relay.times(CREATE), relay.times("POST /v2/charge")], [1, 1]);
});

Deno.test("order ids: a charge can use the order id of a failed invoice, and an invoice that of a failed charge", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { charge, create, now, post } = invoices;
  const [invoiceOrderId, chargeOrderId] = [randomUUID(), randomUUID()];
  rejectNextInvoice(invoices);
  const bill = { ...invoiceDue(now()), order_id: invoiceOrderId };
  await assertProblem(await post("/invoices/", bill), 400, "gateway_validation");
  assert.equal((await charge("gopay", { order_id: invoiceOrderId })).order_id, invoiceOrderId);
  await assertDuplicateOrder(await post("/invoices/", bill), invoiceOrderId);

  const tooShort = { custom_expiry: { expiry_duration: 1, unit: "second" } };
  const refused = {
    payment_type: "gopay",
    gross_amount: 1_000,
    order_id: chargeOrderId,
    ...tooShort,
  };
  await assertProblem(await post("/charge/", refused), 400, "gateway_validation");
  assert.equal((await create({ order_id: chargeOrderId })).order_id, chargeOrderId);
});

Deno.test("invoice creation: fails with duplicate_order if the gateway already has the order id", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const order_id = randomUUID();
  await invoices.create({ order_id: randomUUID() });
  const { metadata: _, ...external } = sentInvoices(invoices)[0]!.body;
  const created = await invoices.sandbox.call("POST", "/v1/invoices", { ...external, order_id });
  assert.equal(created.http, 201);
  const refused = await invoices.post("/invoices/", { ...invoiceDue(invoices.now()), order_id });
  const { invoice_id } = await refused.clone().json();
  await assertDuplicateOrder(refused, order_id);
  assert.equal((await invoices.find(invoice_id)).status, "failed");
});

Deno.test("invoice creation: an Idempotency-Key creates one invoice and replays its response", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { now, post, relay } = invoices;
  const key = newKey();
  const request = invoiceDue(now());
  const firstResponse = await post("/invoices/", request, key);
  assert.ok(!isReplayed(firstResponse));
  const invoice = await parseInvoice(firstResponse);
  const again = await post("/invoices/", request, key);
  assert.ok(isReplayed(again));
  assert.equal(again.headers.get("location"), `/invoices/${invoice.id}/`);
  assert.deepEqual(await parseInvoice(again), invoice);
  const otherRequest = { ...request, customer_name: "Another customer" };
  await assertProblem(await post("/invoices/", otherRequest, key), 422, "idempotency_key_reused");
  assert.equal(relay.times(CREATE), 1);
});

Deno.test("invoice creation: 20 concurrent requests with one Idempotency-Key create one invoice", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { now, post, relay } = invoices;
  const key = newKey();
  const request = invoiceDue(now());
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => post("/invoices/", request, key)),
  );
  const ids = new Set<string>();
  for (const answer of answers) {
    if (answer.status === 201) ids.add((await parseInvoice(answer)).id);
    else await assertProblem(answer, 409, "idempotency_in_progress");
  }
  assert.equal(ids.size, 1);
  assert.equal(relay.times(CREATE), 1);
});

Deno.test("invoice void: voids the invoice at the gateway once, with the reason, and sends an event", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { relay } = invoices;
  const invoice = await invoices.create();
  const answer = await invoices.void(invoice.id, { reason: "Ordered twice" });
  const voided = await parseInvoice(answer, 200);
  assert.deepEqual(voided, {
    ...invoice,
    status: "void",
    void_reason: "Ordered twice",
    updated_at: voided.updated_at,
  });
  const { status, void_reason } = await invoices.atGateway(invoice);
  assert.deepEqual([status, void_reason], ["voided", "Ordered twice"]);
  assert.deepEqual(await invoices.find(invoice.id), voided);
  const again = await assertProblem(await invoices.void(invoice.id), 400, "invalid_state");
  assert.deepEqual([again.invoice_id, again.outcome, again.invoice_status], [
    invoice.id,
    "refused",
    "void",
  ]);
  const path = `PATCH /v1/invoices/${invoice.gateway_invoice_id}/void`;
  assert.equal(relay.times(path), 1);
  const [created, voidedEvent] = await invoices.readEvents(invoice.id);
  assert.deepEqual([created!.name, voidedEvent!.name], ["invoice_created", "invoice_voided"]);
  assert.deepEqual(created!.data, { ...invoice, notification_id: null });
  assert.deepEqual(voidedEvent!.data, { ...voided, notification_id: null });
});

Deno.test("invoice void: accepts a missing reason and a missing body", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  for (const body of [undefined, {}, { reason: null }]) {
    const { id } = await invoices.create();
    const voided = await parseInvoice(await invoices.void(id, body), 200);
    assert.deepEqual([voided.status, voided.void_reason], ["void", null]);
  }
});

Deno.test("invoice void: replays the response for the same Idempotency-Key", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { id } = await invoices.create();
  const key = newKey();
  const voided = await parseInvoice(await invoices.void(id, { reason: "A" }, key), 200);
  const again = await invoices.void(id, { reason: "A" }, key);
  assert.ok(isReplayed(again));
  assert.deepEqual(await parseInvoice(again, 200), voided);
  const withOtherReason = await invoices.void(id, { reason: "B" }, key);
  await assertProblem(withOtherReason, 422, "idempotency_key_reused");
});

Deno.test("invoice void: rejects a draft and a partially paid invoice", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  for (const status of ["draft", "partial"]) {
    alterInvoices(invoices, (answer) => ({ ...answer, status }));
    const invoice = await invoices.create();
    const problem = await assertProblem(await invoices.void(invoice.id), 400, "invalid_state");
    assert.equal(problem.invoice_status, status);
    assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created"]);
  }
  assert.ok(!invoices.relay.asked().some((call) => call.startsWith("PATCH")));
});

/** Each invoice state of the gateway, and the state of the service that matches it. */
const GATEWAY_STATES: [gatewayStatus: string, status: Invoice["status"]][] = [
  ["draft", "draft"],
  ["pending", "sent"],
  ["published", "sent"],
  ["PENDING", "sent"],
  ["partial", "partial"],
  ["overdue", "overdue"],
  ["expired", "overdue"],
  ["paid", "paid"],
  ["voided", "void"],
  ["rejected", "void"],
  ["canceled", "void"],
];

for (const [gatewayStatus, status] of GATEWAY_STATES) {
  Deno.test(`invoice: maps the gateway's ${gatewayStatus} to ${status}`, async () => {
    await using invoices = await openInvoices({ databaseUrl });
    alterInvoices(invoices, (answer) => ({ ...answer, status: gatewayStatus }));
    const invoice = await invoices.create();
    assert.equal(invoice.status, status);
    assert.equal(invoice.is_overdue, status === "overdue");
    assert.equal(invoice.paid_at !== null, status === "paid");
  });
}

Deno.test("createInvoice, getInvoiceStatus and voidInvoice: work for the owner, and reject other users", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { app, now } = invoices;
  const caller = {
    userId: "alice",
    isStaff: false,
    isViewer: false,
    credential: "api_key",
    keyPrefix: null,
  } as const;
  const { body: created } = await createInvoice(app.service, caller, invoiceDue(now()), null);
  assert.equal(InvoiceSchema.parse(created).status, "sent");
  const { id } = created;
  const unpaid = await getInvoiceStatus(app.service, caller, id);
  assert.deepEqual(unpaid.invoice, await invoices.find(id));

  const { body: voided } = await voidInvoice(
    app.service,
    { caller, id, requestKey: null },
    "wrong",
  );
  assert.deepEqual([voided.status, voided.void_reason], ["void", "wrong"]);

  const paid = await invoices.create();
  await invoices.pay(paid);
  const checkedInvoice = await getInvoiceStatus(app.service, caller, paid.id);
  assert.equal(checkedInvoice.invoice.status, "paid");
  assert.equal(checkedInvoice.gateway_response!.status, "paid");
  assert.deepEqual(await invoices.transitions(paid.id), [
    ">pending create",
    "pending>sent create",
    "sent>paid get_invoice_status",
  ]);
  const bob = { ...caller, userId: "bob" };
  await assert.rejects(getInvoiceStatus(app.service, bob, id), { code: "not_found" });
  const bobsRequest = { caller: bob, id: paid.id, requestKey: null };
  await assert.rejects(voidInvoice(app.service, bobsRequest, undefined), { code: "not_found" });
});

const Page = z.array(z.strictObject(InvoiceSchema.shape));

async function readPage(invoices: TestInvoices, path: string, key?: string) {
  const response = await invoices.get(path, key);
  assert.equal(response.status, 200, await response.clone().text());
  const page = Page.parse(await response.json());
  const link = response.headers.get("link");
  const next = link === null ? null : link.match(/^<([^<>\s]+)>; rel="next"$/)?.[1];
  assert.notEqual(next, undefined, `a valid Link header: ${link}`);
  return { page, ids: page.map(({ id }) => id), next: next ?? null };
}

async function createMany(invoices: TestInvoices, count: number): Promise<Invoice[]> {
  const created: Invoice[] = [];
  for (let n = 0; n < count; n++) created.unshift(await invoices.create());
  return created;
}

Deno.test("invoice list: returns complete invoices in pages, newest first, and new invoices do not shift pages", async () => {
  await using invoices = await openInvoices();
  assert.deepEqual(await readPage(invoices, "/invoices"), { page: [], ids: [], next: null });
  const created = await createMany(invoices, 5);
  assert.deepEqual((await readPage(invoices, "/invoices/")).page, created);
  const pages: string[][] = [];
  for (let next: string | null = "/invoices/?limit=2"; next !== null;) {
    const read = await readPage(invoices, next);
    pages.push(read.ids);
    next = read.next;
    // New invoices must not shift the next pages.
    await invoices.create();
  }
  const ids = created.map(({ id }) => id);
  assert.deepEqual(pages, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
});

Deno.test("invoice list: filters by status, and keeps the filter in the next link", async () => {
  await using invoices = await openInvoices();
  const created = await createMany(invoices, 6);
  const voided = [created[0]!, created[2]!, created[5]!].map(({ id }) => id);
  for (const id of voided) assert.equal((await invoices.void(id)).status, 200);
  const firstPage = await readPage(invoices, "/invoices/?status=void&limit=2");
  assert.deepEqual(firstPage.ids, voided.slice(0, 2));
  const secondPage = await readPage(invoices, firstPage.next!);
  assert.deepEqual([secondPage.ids, secondPage.next], [voided.slice(2), null]);
  for (const status of INVOICE_STATUSES) {
    const { page } = await readPage(invoices, `/invoices/?status=${status}`);
    const expected = status === "void" || status === "sent" ? 3 : 0;
    assert.equal(page.filter((invoice) => invoice.status === status).length, expected, status);
    assert.equal(page.length, expected, status);
  }
});

Deno.test("invoice: another user can neither read, void nor list it; staff can", async () => {
  await using invoices = await openInvoices();
  const { app, get, post, relay, staff } = invoices;
  const bob = await app.createKey({ userId: "bob" });
  const ofAlice = await invoices.create();
  const ofBob = await invoices.create({}, {}, bob);
  const calls = relay.received.length;
  const notFound = async (response: Response): Promise<Json> => {
    const { instance: _, ...problem } = await assertProblem(response, 404, "not_found");
    return problem;
  };
  const unknownId = randomUUID();
  const expected = await notFound(await get(`/invoices/${unknownId}/`, bob));
  for (
    const id of [ofAlice.id, unknownId, "order-1", ofAlice.order_id, ofAlice.gateway_invoice_id]
  ) {
    assert.deepEqual(await notFound(await get(`/invoices/${id}/`, bob)), expected);
    const voiding = await post(`/invoices/${id}/void/`, { reason: "mine" }, newKey(), bob);
    assert.deepEqual(await notFound(voiding), expected);
  }
  assert.equal(relay.received.length, calls, "the gateway is not called");
  assert.deepEqual(await invoices.find(ofAlice.id), ofAlice);

  assert.deepEqual((await readPage(invoices, "/invoices/")).page, [ofAlice]);
  assert.deepEqual((await readPage(invoices, "/invoices/", bob)).page, [ofBob]);
  assert.deepEqual((await readPage(invoices, "/invoices/", staff)).page, [
    { ...ofBob, user_id: "bob" },
    { ...ofAlice, user_id: "alice" },
  ]);
  const firstPage = await readPage(invoices, "/invoices/?limit=1", staff);
  assert.deepEqual((await readPage(invoices, firstPage.next!, bob)).page, []);
  const voiding = await post(`/invoices/${ofAlice.id}/void/`, { reason: "by us" }, {}, staff);
  assert.equal((await parseInvoice(voiding, 200)).status, "void");
  assert.equal((await invoices.find(ofAlice.id)).void_reason, "by us");
});

Deno.test("invoice routes: reject a request without a valid credential", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { app, now, relay } = invoices;
  const { id } = await invoices.create();
  const callsBefore = relay.received.length;
  const json = { "Content-Type": "application/json" };
  const body = JSON.stringify(invoiceDue(now()));
  const requests: [path: string, init: RequestInit][] = [
    ["/invoices/", {}],
    ["/invoices/", { method: "POST", headers: json, body }],
    [`/invoices/${id}/`, {}],
    [`/invoices/${id}/void/`, { method: "POST" }],
  ];
  for (const [path, init] of requests) {
    for (const credential of [null, "Bearer gk_wrong", "Basic YTpi"]) {
      const headers = new Headers(init.headers);
      if (credential) headers.set("Authorization", credential);
      const response = await app.request(path, { ...init, headers });
      assert.equal(response.headers.get("www-authenticate"), "Bearer");
      await assertProblem(response, 401, "unauthenticated");
    }
  }
  assert.equal(relay.received.length, callsBefore);
});

Deno.test("invoice routes: Location and Link include BASE_PATH", async () => {
  await using invoices = await openInvoices({ env: { BASE_PATH: "/pay" } });
  const { get, now, post } = invoices;
  for (let n = 0; n < 2; n++) {
    const response = await post("/pay/invoices/", invoiceDue(now()));
    const location = response.headers.get("location")!;
    const { id } = await parseInvoice(response);
    assert.equal(location, `/pay/invoices/${id}/`);
    assert.equal((await get(location)).status, 200);
  }
  const { next } = await readPage(invoices, "/pay/invoices/?limit=1");
  assert.match(next!, /^\/pay\/invoices\/\?/);
  assert.equal((await readPage(invoices, next!)).page.length, 1);
});

Deno.test("events: staff can read the events of an invoice", async () => {
  await using invoices = await openInvoices();
  const { get, staff } = invoices;
  const { id } = await invoices.create();
  assert.equal((await invoices.void(id)).status, 200);
  const read = async (query: string) => {
    const response = await get(`/events/?resource_id=${id}&${query}`, staff);
    return z.array(EventSchema).parse(await response.json());
  };
  await until("both events are listed", async () => (await read("")).length === 2);
  assert.deepEqual(await read("order=oldest_first"), await invoices.readEvents(id));
  assert.equal((await read("name=invoice_voided")).length, 1);
  assert.deepEqual(await read("name=invoice_paid"), []);
  await assertProblem(await get("/events/"), 403, "forbidden");
});

Deno.test("charge: its payment has no invoice_id", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const response = await invoices.post("/charge/", { payment_type: "gopay", gross_amount: 1 });
  const payment = await parsePayment(response, 201);
  assert.equal(payment.invoice_id, null);
});
