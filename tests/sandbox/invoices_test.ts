import assert from "node:assert/strict";
import { type Json, openSandbox, type TestSandbox } from "../support/gateway/sandbox.ts";
import { INVOICE } from "../support/gateway/sandbox_requests.ts";

let orders = 0;

async function createInvoice(box: TestSandbox, more: Json = {}): Promise<Json> {
  const { http, body } = await box.call("POST", "/v1/invoices", {
    ...INVOICE,
    order_id: `invoice-${++orders}`,
    ...more,
  });
  assert.equal(http, 201, JSON.stringify(body));
  return body;
}

async function errorsOf(box: TestSandbox, more: Json): Promise<string[]> {
  const { http, body } = await box.call("POST", "/v1/invoices", { ...INVOICE, ...more });
  assert.equal(http, 400, JSON.stringify(body));
  assert.deepEqual(Object.keys(body), ["error_messages"]);
  return body.error_messages;
}

const getInvoice = (box: TestSandbox, id: string): Promise<Json> => box.get(`/v1/invoices/${id}`);

Deno.test("invoice total: the gateway's example gives 13324", async () => {
  await using box = await openSandbox();
  const { http, body } = await box.call("POST", "/v1/invoices", INVOICE);
  assert.equal(http, 201);
  assert.strictEqual(body.gross_amount, 13_324);
  assert.match(body.id, /^[0-9a-f]{24}$/);
  assert.equal(body.status, "pending");
  assert.match(body.published_date, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0700$/);
  assert.match(body.payment_link_url, /^http/);
  assert.match(body.pdf_url, /^http/);
  assert.equal(body.paid_pdf_url, undefined);
  for (const name of ["order_id", "invoice_number", "due_date", "customer_details"] as const) {
    assert.deepEqual(body[name], INVOICE[name]);
  }
  assert.deepEqual(await getInvoice(box, body.id), body);
});

Deno.test("invoice total: items are discounted, taxed and rounded to whole rupiah", async () => {
  await using box = await openSandbox();
  const item = { description: "A", quantity: 3, price: 3_333, discount_percentage: 10 };
  const plain = { item_details: [item], amount: undefined };
  assert.equal((await createInvoice(box, plain)).gross_amount, 8_999);
  const taxes = [
    { name: "PPN", type: "percentage", value: 11 },
    { name: "Stamp", type: "fixed", value: 100 },
  ];
  const exclusive = await createInvoice(box, { ...plain, tax_mode: "exclusive", taxes });
  assert.equal(exclusive.gross_amount, 8_999 + 990 + 100);
  assert.deepEqual(
    exclusive.taxes.map(({ calculated_amount }: Json) => calculated_amount),
    [990, 100],
  );
  const inclusive = await createInvoice(box, { ...plain, tax_mode: "inclusive", taxes });
  assert.equal(inclusive.gross_amount, 8_999);
  const fraction = await createInvoice(box, {
    ...plain,
    tax_mode: "exclusive",
    taxes: [{ name: "Odd", type: "fixed", value: 0.4 }],
  });
  assert.ok(Number.isInteger(fraction.gross_amount));
});

Deno.test("invoice: lists all validation errors with HTTP 400", async () => {
  await using box = await openSandbox();
  assert.deepEqual(await errorsOf(box, { item_details: [], amount: undefined }), [
    "item must not be empty",
    "gross_amount must be more than 0",
  ]);
  assert.deepEqual(await errorsOf(box, { amount: { discount: "2000" } }), [
    "gross_amount must be more than 0",
  ]);
  assert.deepEqual(await errorsOf(box, { due_date: INVOICE.invoice_date }), [
    "due_date must be after invoice_date",
  ]);
  assert.deepEqual(await errorsOf(box, { due_date: "tomorrow" }), ["due_date format is invalid"]);
  assert.deepEqual(await errorsOf(box, { payment_link: undefined }), ["payment_link is required"]);
  assert.deepEqual(await errorsOf(box, { payment_link: {} }), [
    "payment_link.enabled_payments is required",
  ]);
  assert.deepEqual(await errorsOf(box, { tax_mode: "inclusive" }), ["taxes is required"]);
});

/** Changes that make one field of an invoice request invalid, with the name of the field. */
const INVALID_FIELDS: [name: string, more: Json][] = [
  ["order_id", { order_id: "x".repeat(37) }],
  ["order_id", { order_id: "no spaces" }],
  ["invoice_number", { invoice_number: "x".repeat(41) }],
  ["invoice_number", { invoice_number: undefined }],
  ["invoice_title", { invoice_title: "x".repeat(21) }],
  ["customer_details.name", { customer_details: { name: "x".repeat(41) } }],
  ["customer_details.name", { customer_details: {} }],
  ["customer_details.phone", { customer_details: { name: "B", phone: "0812" } }],
  ["customer_details.phone", { customer_details: { name: "B", phone: "6".repeat(16) } }],
  ["item_details.0.description", item({ description: "x".repeat(151) })],
  ["item_details.0.quantity", item({ quantity: 100_000_000 })],
  ["item_details.0.price", item({ price: 100_000_000 })],
  ["item_details.0.discount_percentage", item({ discount_percentage: 101 })],
  ["item_details.0.item_id", item({ item_id: "x".repeat(31) })],
  ["payment_type", { payment_type: "cash" }],
  ["amount.discount", { amount: { discount: 100_000_000_000 } }],
  ["amount.shipping", { amount: { shipping: -1 } }],
  ["reference", { reference: "x".repeat(91) }],
  ["notes", { notes: "x".repeat(1001) }],
  ["document_type", { document_type: "receipt" }],
  ["payment_link.callbacks.finish", {
    payment_link: { enabled_payments: [], callbacks: { finish: "http://shop.example" } },
  }],
];

function item(more: object) {
  return { item_details: [{ ...INVOICE.item_details[0], ...more }] };
}

Deno.test("invoice with an invalid field: is rejected with a message that names the field", async () => {
  await using box = await openSandbox();
  for (const [name, more] of INVALID_FIELDS) {
    const messages = await errorsOf(box, more);
    assert.ok(messages.some((message) => message.startsWith(`${name} `)), messages.join());
  }
});

Deno.test("invoice: rejects an order id that was used before", async () => {
  await using box = await openSandbox();
  const { id } = await createInvoice(box, { order_id: "the-one" });
  await box.call("PATCH", `/v1/invoices/${id}/void`, { void_reason: "wrong" });
  const again = await box.call("POST", "/v1/invoices", { ...INVOICE, order_id: "the-one" });
  assert.deepEqual([again.http, again.body], [409, { error_messages: ["Duplicate order id"] }]);
});

Deno.test("invoice virtual accounts: get a generated number, or the requested number if its length fits the bank", async () => {
  await using box = await openSandbox();
  const byVirtualAccount = { payment_type: "virtual_account", payment_link: undefined };
  const created = await createInvoice(box, {
    ...byVirtualAccount,
    virtual_accounts: [{ name: "bca_va" }, { bank: "bni_va", number: "12345" }],
  });
  assert.equal(created.payment_link_url, undefined);
  assert.match(created.virtual_accounts[0].number, /^\d{11}$/);
  assert.deepEqual(created.virtual_accounts[1], {
    name: "bni_va",
    bank: "bni_va",
    number: "12345",
  });
  const wrong: [string, string][] = [
    ["bca_va", "1".repeat(10)],
    ["mandiri_bill", "1".repeat(13)],
    ["bni_va", "1".repeat(9)],
    ["bri_va", "1".repeat(14)],
    ["permata_va", "1".repeat(11)],
    ["dbs_va", "1"],
  ];
  for (const [bank, number] of wrong) {
    const [message] = await errorsOf(box, {
      ...byVirtualAccount,
      virtual_accounts: [{ bank, number }],
    });
    assert.match(message!, /^virtual_accounts\./, bank);
  }
  assert.deepEqual(await errorsOf(box, byVirtualAccount), ["virtual_accounts is required"]);
});

Deno.test("invoice: can be voided once while pending or overdue", async () => {
  await using box = await openSandbox();
  const pending = await createInvoice(box);
  const path = `/v1/invoices/${pending.id}/void`;
  const { http, body } = await box.call("PATCH", path, { void_reason: "a duplicate" });
  assert.deepEqual([http, body], [200, { success: true }]);
  assert.equal((await getInvoice(box, pending.id)).status, "voided");
  const again = await box.call("PATCH", path);
  assert.deepEqual([again.http, again.body], [
    409,
    { error_messages: ["Invoice cannot be canceled"] },
  ]);
  const paid = await createInvoice(box);
  await box.control(`invoices/${paid.id}/pay`);
  assert.equal((await box.call("PATCH", `/v1/invoices/${paid.id}/void`)).http, 409);
});

Deno.test("invoice: becomes overdue after its due date and can still be paid or voided", async () => {
  await using box = await openSandbox();
  await box.control("clock", { to: "2081-01-01T00:00:00Z" });
  const dates = {
    invoice_date: "2081-01-01 00:00:00 +0700",
    due_date: "2081-01-02 00:00:00 +0700",
  };
  const first = await createInvoice(box, dates);
  const second = await createInvoice(box, dates);
  await box.advance(86_400);
  assert.equal((await getInvoice(box, first.id)).status, "overdue");
  await box.control(`invoices/${first.id}/pay`);
  assert.equal((await getInvoice(box, first.id)).status, "paid");
  assert.equal((await box.call("PATCH", `/v1/invoices/${second.id}/void`)).http, 200);
});

Deno.test("invoice payment: creates a transaction, and its webhooks contain the invoice id", async () => {
  await using box = await openSandbox();
  const { id, order_id } = await createInvoice(box);
  const { invoice } = await box.control(`invoices/${id}/pay`, { payment_type: "gopay" });
  assert.equal(invoice.status, "paid");
  assert.match(invoice.paid_pdf_url, /^http/);
  assert.deepEqual(
    box.hooks.map(({ path, body }) => [path, body.transaction_status, body.order_id]),
    [["/payment", "pending", order_id], ["/payment", "settlement", order_id]],
  );
  for (const { body } of box.hooks) {
    assert.equal(body.metadata.midtrans_invoice_id, id);
    assert.equal(body.gross_amount, "13324.00");
  }
  const again = await box.call("POST", `/_sandbox/invoices/${id}/pay`);
  assert.deepEqual([again.http, again.body.status_message], [409, "Invoice cannot be paid"]);
});

Deno.test("invoice: stays open after a payment expired", async () => {
  await using box = await openSandbox();
  const { id } = await createInvoice(box);
  const start = async () => (await box.control(`invoices/${id}/pay`, { only_start: true }));
  const first = (await start()).transaction;
  const second = (await start()).transaction;
  assert.notEqual(first.order_id, second.order_id);
  await box.post(`/v2/${first.transaction_id}/expire`);
  assert.equal((await getInvoice(box, id)).status, "pending");
  await box.control(`transactions/${second.transaction_id}/pay`);
  assert.equal((await getInvoice(box, id)).status, "paid");
});

Deno.test("voided invoice: becomes paid if a transaction from before the void is paid", async () => {
  await using box = await openSandbox();
  const { id } = await createInvoice(box);
  const { transaction } = await box.control(`invoices/${id}/pay`, { only_start: true });
  await box.call("PATCH", `/v1/invoices/${id}/void`, { void_reason: "too late" });
  assert.equal((await box.call("POST", `/_sandbox/invoices/${id}/pay`)).http, 409);
  await box.control(`transactions/${transaction.transaction_id}/pay`);
  assert.equal((await getInvoice(box, id)).status, "paid");
  assert.equal(box.hooks.at(-1)!.body.metadata.midtrans_invoice_id, id);
});

Deno.test("quotation: can be converted to an invoice once", async () => {
  await using box = await openSandbox();
  const { id, status, document_type } = await createInvoice(box, { document_type: "quotation" });
  assert.deepEqual([status, document_type], ["published", "quotation"]);
  assert.equal((await box.call("POST", `/_sandbox/invoices/${id}/pay`)).http, 409);
  const { http, body } = await box.call("PATCH", `/v1/invoices/${id}/convert`);
  assert.equal(http, 200);
  assert.deepEqual([body.status, body.document_type, body.created_as], [
    "pending",
    "invoice",
    "quotation",
  ]);
  assert.match(body.converted_at, /\+0700$/);
  assert.equal((await box.call("PATCH", `/v1/invoices/${id}/convert`)).http, 409);
  await box.control(`invoices/${id}/pay`);
  assert.equal((await getInvoice(box, id)).status, "paid");
});

Deno.test("quotation: becomes rejected if the client voids it, canceled if the merchant voids it", async () => {
  await using box = await openSandbox();
  const statusAfterVoid = async (body: object) => {
    const { id } = await createInvoice(box, { document_type: "quotation" });
    await box.call("PATCH", `/v1/invoices/${id}/void`, body);
    return (await getInvoice(box, id)).status;
  };
  assert.equal(await statusAfterVoid({ cancel_as: "client" }), "rejected");
  assert.equal(await statusAfterVoid({ void_reason: "no more" }), "canceled");
});

Deno.test("invoice: returns HTTP 404 for an unknown id", async () => {
  await using box = await openSandbox();
  for (
    const [method, suffix] of [["GET", ""], ["PATCH", "/void"], ["PATCH", "/convert"]] as const
  ) {
    const { http, body } = await box.call(method, `/v1/invoices/unknown${suffix}`);
    assert.deepEqual([http, body], [404, { error_messages: ["Not Found"] }]);
  }
});
