import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createDatabase } from "../support/database/database.ts";
import { fc } from "../support/fast_check.ts";
import { newKey } from "../support/idempotency.ts";
import {
  CREATE,
  DAY,
  dayOf,
  invoiceDue,
  openInvoices,
  parseInvoice,
  type TestInvoices,
} from "../support/records/invoices.ts";
import { assertProblem } from "../support/problem.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openAtNoon, today } from "../support/noon.ts";

const databaseUrl = await createDatabase();

const MAX_ITEM_VALUE = 99_999_999;
const MAX_AMOUNT = 9_999_999_999_999;

const item = (more: Json = {}): Json => ({
  description: "A thing",
  price: 1_000,
  quantity: 1,
  ...more,
});
const items = (more: Json): Json => ({ items: [item(more)] });
const itemsOf = (count: number): Json => ({ items: Array.from({ length: count }, () => item()) });

/** The fields named in the validation error. */
async function rejectedFields({ now, post }: TestInvoices, more: Json): Promise<string[]> {
  const response = await post("/invoices/", { ...invoiceDue(now()), ...more });
  const { errors } = await assertProblem(response, 400, "validation_error");
  for (const { message } of errors!) assert.notEqual(message, "");
  return errors!.map(({ field }) => field);
}

/** Values just beyond each limit, and the field that the error has to name. */
const BEYOND_LIMITS: Record<string, [field: string, more: Json][]> = {
  "a missing, empty or multi-line customer_name, or one of 41 characters": [
    ["customer_name", { customer_name: undefined }],
    ["customer_name", { customer_name: null }],
    ["customer_name", { customer_name: "" }],
    ["customer_name", { customer_name: "x".repeat(41) }],
    ["customer_name", { customer_name: "two\nlines" }],
    ["customer_name", { customer_name: "half \ud83d" }],
    ["customer_name", { customer_name: 7 }],
  ],
  "an invalid customer_email": [
    ["customer_email", { customer_email: "budi" }],
    ["customer_email", { customer_email: `${"x".repeat(250)}@x.example` }],
    ["customer_email", { customer_email: ["budi@shop.example"] }],
  ],
  "an invalid customer_phone": [
    ["customer_phone", { customer_phone: "08123456789" }],
    ["customer_phone", { customer_phone: "+08123456789" }],
    ["customer_phone", { customer_phone: "6".repeat(16) }],
    ["customer_phone", { customer_phone: "62-812-345" }],
    ["customer_phone", { customer_phone: "call me" }],
    ["customer_phone", { customer_phone: 628123456789 }],
  ],
  "a due_date in the past, or one that is not a date": [
    ["due_date", { due_date: undefined }],
    ["due_date", { due_date: dayOf(Date.now() - DAY) }],
    ["due_date", { due_date: "2020-01-01" }],
    ["due_date", { due_date: "1999-12-31" }],
    ["due_date", { due_date: "2099-02-30" }],
    ["due_date", { due_date: "2099-13-01" }],
    ["due_date", { due_date: "2099-1-1" }],
    ["due_date", { due_date: "31-12-2099" }],
    ["due_date", { due_date: "tomorrow" }],
    ["due_date", { due_date: "2099-12-31T00:00:00Z" }],
    ["due_date", { due_date: " 2099-12-31" }],
    ["due_date", { due_date: "" }],
    ["due_date", { due_date: 4_102_358_400_000 }],
  ],
  "no items, or more than 100": [
    ["items", { items: undefined }],
    ["items", { items: null }],
    ["items", { items: [] }],
    ["items", { items: {} }],
    ["items", { items: "coffee" }],
    ["items", itemsOf(101)],
  ],
  "invalid items": [
    ["items.0", { items: ["coffee"] }],
    ["items.1", { items: [item(), 7] }],
    ["items.0.description", items({ description: undefined })],
    ["items.0.description", items({ description: "" })],
    ["items.0.description", items({ description: "x".repeat(151) })],
    ["items.0.item_id", items({ item_id: "x".repeat(31) })],
    ["items.0.item_id", items({ item_id: 7 })],
  ],
  "a price or quantity that is not a whole number within the limits": [
    ["items.0.price", items({ price: undefined })],
    ["items.0.price", items({ price: MAX_ITEM_VALUE + 1 })],
    ["items.0.price", items({ price: -MAX_ITEM_VALUE - 1 })],
    ["items.0.price", items({ price: 0.5 })],
    ["items.0.price", items({ price: 1_000.01 })],
    ["items.0.price", items({ price: "1000" })],
    ["items.0.price", items({ price: Number.MAX_SAFE_INTEGER })],
    ["items.0.quantity", items({ quantity: undefined })],
    ["items.0.quantity", items({ quantity: 0 })],
    ["items.0.quantity", items({ quantity: -1 })],
    ["items.0.quantity", items({ quantity: 1.5 })],
    ["items.0.quantity", items({ quantity: MAX_ITEM_VALUE + 1 })],
    ["items.0.quantity", items({ quantity: "2" })],
  ],
  "a total of 0, or above the limit": [
    ["items", items({ price: 0 })],
    ["items", items({ price: -1 })],
    ["items", items({ price: MAX_ITEM_VALUE, quantity: MAX_ITEM_VALUE })],
    ["items", { items: [item({ price: 10_000_000, quantity: 1_000_000 })] }],
    ["items", {
      items: Array(100).fill(item({ price: MAX_ITEM_VALUE, quantity: MAX_ITEM_VALUE })),
    }],
  ],
  "an order_id of 37 characters, or with characters that a path cannot contain": [
    ["order_id", { order_id: "x".repeat(37) }],
    ["order_id", { order_id: "" }],
    ["order_id", { order_id: "no spaces" }],
    ["order_id", { order_id: "a/b" }],
    ["order_id", { order_id: "a#b" }],
    ["order_id", { order_id: "." }],
    ["order_id", { order_id: ".." }],
    ["order_id", { order_id: 7 }],
  ],
  "an invoice_number of 41, a customer_id of 37, or notes of 1001 characters": [
    ["invoice_number", { invoice_number: "x".repeat(41) }],
    ["invoice_number", { invoice_number: "" }],
    ["invoice_number", { invoice_number: "a\u0000b" }],
    ["customer_id", { customer_id: "x".repeat(37) }],
    ["notes", { notes: "x".repeat(1001) }],
    ["notes", { notes: "a\u0000b" }],
    ["notes", { notes: { text: "x" } }],
  ],
  "metadata that is not an object, too large, or has a reserved key": [
    ["metadata", { metadata: "x" }],
    ["metadata", { metadata: [1] }],
    ["metadata", { metadata: { long: "x".repeat(15_000) } }],
    ["metadata", { metadata: { nul: "\u0000" } }],
    ["metadata.payment_ref", { metadata: { payment_ref: "x" } }],
    ["metadata.invoice_ref", { metadata: { invoice_ref: "x" } }],
    ["metadata.subscription_ref", { metadata: { subscription_ref: "x" } }],
    ["metadata.midtrans_invoice_id", { metadata: { midtrans_invoice_id: "x" } }],
    ["metadata.extra_info", { metadata: { extra_info: {} } }],
  ],
};

for (const [name, cases] of Object.entries(BEYOND_LIMITS)) {
  Deno.test(`invoice: rejects ${name}, names the field, and stores and sends nothing`, async () => {
    await using invoices = await openInvoices();
    for (const [field, more] of cases) {
      assert.deepEqual(
        await rejectedFields(invoices, more),
        [field],
        JSON.stringify(more).slice(0, 80),
      );
    }
    assert.equal(invoices.relay.received.length, 0);
    assert.deepEqual(await (await invoices.get("/invoices/", invoices.staff)).json(), []);
  });
}

Deno.test("invoice: reports all invalid fields at once", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const invalidFields = {
    customer_name: "",
    due_date: "soon",
    items: [item({ price: 0.5, quantity: 0 })],
  };
  assert.deepEqual((await rejectedFields(invoices, invalidFields)).sort(), [
    "customer_name",
    "due_date",
    "items.0.price",
    "items.0.quantity",
  ]);
});

/** Values just within each limit. The gateway accepts them as well. */
const WITHIN_LIMITS: Json[] = [
  { customer_name: "x".repeat(40) },
  { customer_name: "Ñandú 💳 'quoted' \"twice\" <b>" },
  { customer_email: `${"x".repeat(245)}@x.example` },
  { customer_phone: "6".repeat(15) },
  { customer_phone: "+62812345678" },
  { customer_id: "x".repeat(36) },
  { due_date: today() },
  { due_date: "2096-02-29" },
  { due_date: "2999-12-31" },
  itemsOf(100),
  items({ description: "x".repeat(150), item_id: "y".repeat(30) }),
  items({ price: 1, quantity: 1 }),
  items({ price: MAX_ITEM_VALUE, quantity: 1 }),
  items({ price: 1, quantity: MAX_ITEM_VALUE }),
  { items: [item({ price: 0 }), item({ price: 1 })] },
  // A discount.
  { items: [item({ price: 10_000 }), item({ price: -4_999, quantity: 2 })] },
  // 99,999,999 times 99,999, plus the remainder up to the limit.
  { items: [item({ price: MAX_ITEM_VALUE, quantity: 99_999 }), item({ price: 99_999 })] },
  { notes: "x".repeat(1000) },
  { notes: "two\nlines\tand\r\nmore" },
  { metadata: {} },
  { metadata: { anything: [1, { deep: null }] } },
  { notes: "", customer_email: "", customer_phone: "", customer_id: "" },
];

Deno.test("invoice: accepts values just within the limits, and the gateway accepts them", async () => {
  await using invoices = await openAtNoon((options) => openInvoices({ databaseUrl, ...options }));
  for (const more of WITHIN_LIMITS) {
    const invoice = await invoices.create(more);
    assert.equal(invoice.status, "sent", JSON.stringify(more));
    const { gross_amount } = await invoices.atGateway(invoice);
    assert.equal(`${gross_amount}.00`, invoice.total_amount);
    assert.deepEqual(await invoices.find(invoice.id), invoice);
  }
  const order_id = `${randomUUID().slice(0, 30)}_~.-Z0`;
  const invoice_number = `№ ${randomUUID()}`.padEnd(40, "x");
  const invoice = await invoices.create({ order_id, invoice_number });
  assert.deepEqual([invoice.order_id, invoice.invoice_number], [order_id, invoice_number]);
});

Deno.test("invoice: accepts today in Western Indonesia as due date, except in the last second of the day", async () => {
  let time = Date.parse("2031-05-05T16:59:58.000Z");
  await using invoices = await openInvoices({ databaseUrl, now: () => time });
  const today = { due_date: dayOf(time) };
  assert.equal(today.due_date, "2031-05-05");
  assert.equal((await invoices.create(today)).status, "sent");
  time += 1_000;
  const response = await invoices.post("/invoices/", { ...invoiceDue(time), ...today });
  const { errors } = await assertProblem(response, 400, "validation_error");
  assert.deepEqual(errors!.map(({ field }) => field), ["due_date"]);
  time += 2_000;
  assert.equal((await invoices.create({ due_date: dayOf(time) })).due_date, "2031-05-06");
  assert.equal((await invoices.create({ due_date: dayOf(time + DAY) })).due_date, "2031-05-07");
});

Deno.test("invoice: accepts a total at the limit, and rejects one rupiah more", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const nearLimit = [item({ price: MAX_ITEM_VALUE, quantity: 99_999 }), item({ price: 1_000_000 })];
  const sum = nearLimit.reduce((total, { price, quantity }) => total + price * quantity, 0);
  const rest = MAX_AMOUNT - sum;
  assert.ok(rest > 0 && rest <= MAX_ITEM_VALUE, `${rest}`);
  const invoice = await invoices.create({ items: [...nearLimit, item({ price: rest })] });
  assert.equal(invoice.total_amount, `${MAX_AMOUNT}.00`);
  assert.deepEqual(
    await rejectedFields(invoices, { items: [...nearLimit, item({ price: rest + 1 })] }),
    [
      "items",
    ],
  );
});

Deno.test("invoice: rejects too many items, and a body that is too large", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { now, post, relay } = invoices;
  const manyItems = { items: Array(2_000).fill({ description: "a" }) };
  assert.deepEqual(await rejectedFields(invoices, manyItems), ["items"]);
  const largeBody = { ...invoiceDue(now()), ...itemsOf(10_000) };
  await assertProblem(await post("/invoices/", largeBody), 413, "payload_too_large");
  assert.equal(relay.times(CREATE), 0);
});

Deno.test("invoice: exactly one of several concurrent requests for one order id at two instances succeeds", async () => {
  await using firstInstance = await openInvoices();
  await using secondInstance = await openInvoices({ databaseUrl: firstInstance.databaseUrl });
  const bob = await secondInstance.app.createKey({ userId: "bob" });
  for (let round = 0; round < 10; round++) {
    const order_id = `round-${round}`;
    const request = { ...invoiceDue(firstInstance.now()), order_id };
    const answers = await Promise.all([
      firstInstance.post("/invoices/", request),
      secondInstance.post("/invoices/", request, {}, bob),
      firstInstance.post("/invoices/", request, newKey()),
      secondInstance.post("/charge/", { payment_type: "gopay", gross_amount: 1_000, order_id }),
    ]);
    const created = answers.filter(({ status }) => status === 201);
    assert.equal(created.length, 1, `round ${round}`);
    for (const each of answers) {
      if (each !== created[0]) await assertProblem(each, 400, "duplicate_order");
    }
  }
  const sent = [firstInstance, secondInstance].flatMap(({ relay }) => relay.asked());
  assert.equal(sent.length, 10, "the rejected requests are not sent");
});

/** A request with all fields. */
const fullRequest = (): Json => ({
  ...invoiceDue(Date.now()),
  items: [item({ item_id: "a" }), item()],
  customer_phone: "628123456789",
  customer_id: "c-1",
  notes: "Thank you",
  order_id: randomUUID(),
  invoice_number: randomUUID(),
  metadata: { a: { b: 1 } },
});

const FIELD_PATHS: (string | number)[][] = [
  ...Object.keys(fullRequest()).map((name) => [name]),
  ["items", 0],
  ...["item_id", "description", "price", "quantity"].map((name) => ["items", 1, name]),
  ["metadata", "a"],
];

Deno.test("invoice: is created, or the error names the field, if one field has a random value", async () => {
  await using invoices = await openInvoices();
  const value = fc.oneof<unknown[]>(
    fc.anything(),
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.integer({ min: -10, max: 2 ** 53 - 1 }),
    fc.constantFrom<unknown>(
      null,
      "",
      "0",
      "..",
      "2099-12-31",
      0.5,
      1e21,
      "x".repeat(3_000),
      [[]],
      -0,
    ),
  );
  const property = fc.asyncProperty(fc.constantFrom(...FIELD_PATHS), value, async (path, value) => {
    const request = fullRequest();
    const [fieldName, ...parents] = path.toReversed();
    const parent = parents.toReversed().reduce((inner, name) => inner[name], request);
    parent[fieldName!] = asJson(value);
    const response = await invoices.post("/invoices/", request);
    if (response.status === 201) return void await parseInvoice(response);
    const isDuplicate = (await response.clone().json()).code === "duplicate_order";
    if (isDuplicate && path[0] === "order_id") return;
    const { errors } = await assertProblem(response, 400, "validation_error");
    for (const { field } of errors!) {
      const replaced = path.join(".");
      const isSameField = `${field}.`.startsWith(`${replaced}.`) ||
        `${replaced}.`.startsWith(`${field}.`);
      assert.ok(isSameField, `${replaced} was replaced, the error names ${field}`);
    }
  });
  await fc.assert(property, { numRuns: 800 });
});

/** The value after serialization to JSON. */
function asJson(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    return undefined;
  }
}

Deno.test("invoice: rejects a body that is not a JSON object, and an invalid void reason", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { app, key, post } = invoices;
  const send = (body: string, type = "application/json", path = "/invoices/") =>
    app.as(key, path, { method: "POST", headers: { "Content-Type": type }, body });
  await assertProblem(await send("{"), 400, "malformed_json");
  await assertProblem(await send("", "application/json"), 400, "malformed_json");
  await assertProblem(await send("customer_name=B", "text/plain"), 415, "unsupported_media_type");
  for (const body of [null, [], "text", 7, true]) {
    await assertProblem(await post("/invoices/", body), 400, "validation_error");
  }
  const { id } = await invoices.create();
  const path = `/invoices/${id}/void/`;
  await assertProblem(await send("{", "application/json", path), 400, "malformed_json");
  for (const body of [[], "text", 7]) {
    await assertProblem(await post(path, body), 400, "validation_error");
  }
  for (const reason of ["x".repeat(256), 7, ["A"], "a\u0000b"]) {
    const { errors } = await assertProblem(await post(path, { reason }), 400, "validation_error");
    assert.deepEqual(errors!.map(({ field }) => field), ["reason"]);
  }
  assert.equal((await invoices.find(id)).status, "sent");
  const reason = "x".repeat(255);
  assert.equal((await parseInvoice(await post(path, { reason }), 200)).void_reason, reason);
});

Deno.test("invoice list: names the invalid query parameter", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const queries: [query: string, field: string][] = [
    ["status=settled", "status"],
    ["status=PAID", "status"],
    ["status=", "status"],
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=ten", "limit"],
    ["cursor=rubbish", "cursor"],
    ["cursor=", "cursor"],
    ["cursor=' or 1=1 --", "cursor"],
  ];
  for (const [query, field] of queries) {
    const response = await invoices.get(`/invoices/?${encodeURI(query)}`);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors!.map((each) => each.field), [field], query);
  }
});

Deno.test("invoice routes: answer an unsupported method with 405 and the allowed methods", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const { app, key } = invoices;
  const { id } = await invoices.create();
  const cases: [method: string, path: string, allow: string[]][] = [
    ["DELETE", "/invoices/", ["GET", "POST"]],
    ["PATCH", `/invoices/${id}/`, ["GET"]],
    ["DELETE", `/invoices/${id}/`, ["GET"]],
    ["GET", `/invoices/${id}/void/`, ["POST"]],
  ];
  for (const [method, path, allow] of cases) {
    const response = await app.as(key, path, { method });
    const allowed = response.headers.get("allow")?.split(/, */) ?? [];
    for (const each of allow) assert.ok(allowed.includes(each), `${method} ${path}: ${allowed}`);
    assert.ok(!allowed.includes(method));
    await assertProblem(response, 405, "method_not_allowed");
  }
});
