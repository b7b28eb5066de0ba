import assert from "node:assert/strict";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const ID = "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5";

const remove = "is a field of the gateway; remove it";

function sendAs(name: string): string {
  return `is a field of the gateway; send it as ${name}`;
}

/** Bodies as the gateway's documentation shows them, and the errors about the gateway's fields. */
const BODIES: { name: string; path: string; body: Json; expected: Record<string, string> }[] = [
  {
    name: "a virtual account",
    path: "/charge/",
    body: {
      payment_type: "bank_transfer",
      transaction_details: { order_id: "order-1", gross_amount: 44000, currency: "IDR" },
      bank_transfer: { bank: "bca", va_number: "111111", free_text: {} },
      customer_details: { first_name: "Budi", email: "budi@example.com" },
      custom_field1: "branch 12",
    },
    expected: {
      "transaction_details.order_id": sendAs("order_id"),
      "transaction_details.gross_amount": sendAs("gross_amount"),
      "transaction_details.currency": remove,
      "bank_transfer.bank": sendAs("bank"),
      "bank_transfer.va_number": sendAs("va_number"),
      "bank_transfer.free_text": "is not known; remove it",
      custom_field1: sendAs("custom_fields (the first value)"),
    },
  },
  {
    name: "a card",
    path: "/charge/",
    body: {
      payment_type: "credit_card",
      gross_amount: 1000,
      credit_card: { token_id: "481111-1114-x", authentication: true, type: "authorize" },
    },
    expected: {
      "credit_card.token_id": sendAs("token_id"),
      "credit_card.authentication": sendAs("authentication"),
      "credit_card.type": sendAs("authorize (true or false)"),
    },
  },
  {
    name: "the objects of other types",
    path: "/charge/",
    body: {
      payment_type: "qris",
      gross_amount: 1000,
      echannel: { bill_info1: "Payment", bill_info2: "debt" },
      cstore: { store: "indomaret" },
      gopay: { enable_callback: true, callback_url: "shop://done" },
      ovo: { payer_phone_number: "+628123456789" },
      qris: { acquirer: "gopay" },
      dana: {},
    },
    expected: {
      "echannel.bill_info1": sendAs("bill_info1"),
      "echannel.bill_info2": sendAs("bill_info2"),
      "cstore.store": sendAs("store"),
      "gopay.enable_callback": remove,
      "gopay.callback_url": sendAs("callback_url"),
      "ovo.payer_phone_number": sendAs("customer_details.phone"),
      "qris.acquirer": sendAs("acquirer"),
      dana: remove,
    },
  },
  {
    name: "an invoice",
    path: "/invoices/",
    body: {
      due_date: "2099-12-31",
      invoice_date: "2026-11-18 10:00:00 +0700",
      customer_details: { name: "Budi", email: "budi@example.com", phone: "62812", id: "c-1" },
      item_details: [{ description: "Tea", price: 1000, quantity: 1 }],
      amount: { discount: "100", shipping: "20" },
      payment_link: { is_custom_expiry: false },
      virtual_accounts: [{ name: "bca_va", number: "111" }],
    },
    expected: {
      "customer_details.name": sendAs("customer_name"),
      "customer_details.email": sendAs("customer_email"),
      "customer_details.phone": sendAs("customer_phone"),
      "customer_details.id": sendAs("customer_id"),
      item_details: sendAs("items"),
      "amount.discount": sendAs("an item with a negative price"),
      "amount.shipping": sendAs("an item"),
      "payment_link.is_custom_expiry": remove,
      virtual_accounts: remove,
      invoice_date: remove,
    },
  },
  {
    name: "a subscription",
    path: "/subscriptions/",
    body: {
      payment_type: "gopay",
      name: "coffee-club",
      amount: 1000,
      token: "t",
      currency: "IDR",
      schedule: { interval: 1, interval_unit: "month", max_interval: 12 },
      gopay: { account_id: "a-1" },
    },
    expected: {
      currency: remove,
      "schedule.interval": sendAs("interval"),
      "schedule.interval_unit": sendAs("interval_unit"),
      "schedule.max_interval": sendAs("max_interval"),
      "gopay.account_id": sendAs("gopay_account_id"),
    },
  },
  {
    name: "a Snap page",
    path: "/checkouts/",
    body: {
      transaction_details: { order_id: "order-1", gross_amount: 44000 },
      credit_card: { secure: true },
      callbacks: { finish: "https://shop.example/" },
      expiry: { duration: 2, unit: "hours" },
    },
    expected: {
      "transaction_details.order_id": sendAs("order_id"),
      "transaction_details.gross_amount": sendAs("gross_amount"),
      "credit_card.secure": "is not known; remove it",
      "callbacks.finish": sendAs("finish_url"),
      "expiry.duration": sendAs("expires_at (a time)"),
      "expiry.unit": sendAs("expires_at (a time)"),
    },
  },
  {
    name: "a refund",
    path: `/payments/${ID}/refund/`,
    body: { refund_key: "k-1", amount: 1000 },
    expected: { refund_key: sendAs("the header Idempotency-Key") },
  },
  {
    name: "a capture",
    path: `/payments/${ID}/capture/`,
    body: { transaction_id: ID, gross_amount: 1000 },
    expected: { transaction_id: remove, gross_amount: sendAs("amount") },
  },
];

Deno.test("a body in the gateway's shape: the errors name the field of this service for each", async () => {
  await using payments = await openPayments();
  for (const { name, path, body, expected } of BODIES) {
    const response = await payments.post(path, body);
    const { errors } = await assertProblem(response, 400, "validation_error");
    const messages = Object.fromEntries(errors!.map(({ field, message }) => [field, message]));
    for (const [field, message] of Object.entries(expected)) {
      assert.equal(messages[field], message, `${name}: ${field}`);
    }
  }
});

Deno.test("a body in the gateway's shape: hostile members get a short error", async () => {
  await using payments = await openPayments();
  const long = "n".repeat(5000);
  const many = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`x${index}`, 1]));
  for (const transaction_details of [{ [long]: 1 }, many, "text", [], null, { __proto__: 1 }]) {
    const body = { payment_type: "qris", gross_amount: 1000, transaction_details };
    const response = await payments.post("/charge/", body);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.ok(errors!.length >= 1 && errors!.length <= 20);
    assert.ok(errors!.every(({ field }) => field.length < 120), "the names are shortened");
  }
});

Deno.test("an unknown payment_type of a charge or a subscription: the error names the right one", async () => {
  await using payments = await openPayments();
  const cases = [
    ["/charge/", "bca", "is not known; did you mean bank_transfer?"],
    ["/charge/", "card", "is not known; did you mean credit_card?"],
    ["/charge/", "gopai", "is not known; did you mean gopay?"],
    ["/subscriptions/", "card", "is not known; did you mean credit_card?"],
    // Subscriptions have no QRIS.
    ["/subscriptions/", "qr", "must be one of credit_card, gopay"],
  ] as const;
  for (const [path, payment_type, message] of cases) {
    const response = await payments.post(path, { payment_type });
    const { errors } = await assertProblem(response, 400, "validation_error");
    const found = errors!.find(({ field }) => field === "payment_type");
    assert.equal(found?.message, message, `${path} ${payment_type}`);
  }
});

Deno.test("hints: a short name is not taken for another one with two wrong letters", async () => {
  await using payments = await openPayments();
  for (const name of ["bank", "total", "card", "phone", "x", "p"]) {
    const response = await payments.get(`/payments/?${name}=1`);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors, [{ field: name, message: "is not known; remove it" }]);
  }
});
