import assert from "node:assert/strict";
import { ChargeSchema } from "../../core/payments/charge_input.ts";
import { PAYMENT_TYPES } from "../../core/payments/payment_types.ts";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { ACCEPTED_CARD, type Json, merge } from "../support/gateway/sandbox.ts";
import { openPayments, parsePayment, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const CHARGE = { payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000 };

const ITEM = { id: "a", name: "A thing", price: 44_000, quantity: 1 };

/** An item with half the amount of the OpenAPI document's examples. */
const PART = { ...ITEM, price: 75_000 };

const BUYER = { first_name: "Budi", email: "budi@shop.example", phone: "+628123456789" };

/** Sends charges as Alice; a string body is sent unchanged. */
async function openCharges(env: Record<string, string> = {}) {
  const payments = await openPayments({ env });
  const send = (body: unknown, headers: HeadersInit = {}, path = "/charge/") =>
    payments.app.as(payments.key, path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return {
    ...payments,
    send,
    assertCharged: async (body: unknown) => await parsePayment(await send(body), 201),
    /** The error messages of a rejected charge, by field. */
    async assertRejected(body: unknown, headers?: HeadersInit): Promise<Record<string, string>> {
      const problem = await assertProblem(await send(body, headers), 400, "validation_error");
      assert.equal(problem.payment_id, undefined, "no payment is stored");
      return Object.fromEntries(problem.errors!.map(({ field, message }) => [field, message]));
    },
  };
}

/** The charge examples of the OpenAPI document, by payment type. */
function examplesOf({ app }: Pick<TestPayments, "app">): Record<string, Json> {
  const { requestBody } = app.document().paths!["/charge/"]!.post as Json;
  const { examples } = requestBody.content["application/json"];
  return Object.fromEntries(
    Object.values<Json>(examples).map(({ value }) => [value.payment_type, structuredClone(value)]),
  );
}

/** A valid charge of this type: the document's example; for cards, with a usable token. */
async function chargeOf(charges: TestPayments, type: string): Promise<Json> {
  const example = examplesOf(charges)[type];
  if (type !== "credit_card") return example;
  return { ...example, token_id: await charges.sandbox.token(ACCEPTED_CARD) };
}

Deno.test("charge: the document's example of every payment type succeeds", async () => {
  await using charges = await openCharges();
  assert.deepEqual(Object.keys(examplesOf(charges)).sort(), [...PAYMENT_TYPES].sort());
  for (const type of PAYMENT_TYPES) {
    const payment = await charges.assertCharged(await chargeOf(charges, type));
    assert.equal(payment.payment_type, type);
    assert.equal(payment.gross_amount, "150000.00");
    assert.equal(payment.transaction_status, "pending", type);
  }
});

Deno.test("charge: the documented body is a union by payment_type with a named schema for each type", async () => {
  await using charges = await openCharges();
  const { schemas } = charges.app.document().components as Json;
  const { requestBody } = charges.app.document().paths!["/charge/"]!.post as Json;
  const { $ref } = requestBody.content["application/json"].schema;
  const { oneOf, discriminator } = schemas[$ref.split("/").at(-1)];
  assert.equal(discriminator.propertyName, "payment_type");
  assert.deepEqual(Object.keys(discriminator.mapping).sort(), [...PAYMENT_TYPES].sort());
  assert.deepEqual(
    oneOf.map((kind: Json) => kind.$ref).sort(),
    Object.values(discriminator.mapping).sort(),
  );
  for (const [type, ref] of Object.entries<string>(discriminator.mapping)) {
    const kind = schemas[ref.split("/").at(-1)!];
    assert.deepEqual(kind.properties.payment_type.enum, [type]);
    assert.ok(kind.description && kind.example, type);
    const hasExpiry = !["credit_card", "ovo"].includes(type);
    assert.equal("custom_expiry" in kind.properties, hasExpiry, type);
  }
});

Deno.test("charge: responds 201 with the full payment and its Location", async () => {
  await using charges = await openCharges();
  const response = await charges.send(CHARGE);
  assert.equal(response.status, 201);
  const body = await response.json();
  assert.deepEqual(
    Object.keys(body).sort(),
    Object.keys(PaymentSchema.omit({ user_id: true }).shape).sort(),
  );
  assert.equal(response.headers.get("location"), `/payments/${body.id}/`);
  assert.equal(response.headers.get("idempotency-replayed"), null);
  const found = await charges.get(response.headers.get("location")!);
  assert.deepEqual(await found.json(), body);
});

Deno.test("charge: Location includes BASE_PATH", async () => {
  await using charges = await openCharges({ BASE_PATH: "/shop/pay" });
  const response = await charges.send(CHARGE, {}, "/shop/pay/charge");
  const { id } = await response.json();
  const location = response.headers.get("location")!;
  assert.equal(location, `/shop/pay/payments/${id}/`);
  assert.equal((await charges.get(location)).status, 200);
});

Deno.test("charge: gross_amount must be a whole number above 0 with at most 13 digits", async () => {
  await using charges = await openCharges();
  const invalidAmounts = {
    "must be a whole number above 0": [
      "0",
      "-1",
      "-0",
      "0.5",
      "10000.01",
      "1e-3",
      '"10000"',
      '"NaN"',
      '""',
      "true",
      "[10000]",
      "{}",
    ],
    "must be at most 9999999999999": ["10000000000000", "1e308"],
    "is required": ["null"],
  };
  for (const [message, amounts] of Object.entries(invalidAmounts)) {
    for (const amount of amounts) {
      const errors = await charges.assertRejected(
        `{"payment_type":"bank_transfer","bank":"bca","gross_amount":${amount}}`,
      );
      assert.deepEqual(errors, { gross_amount: message }, amount);
    }
  }
  // Larger than any JavaScript number; parsed as Infinity.
  const overflow = await charges.assertRejected('{"payment_type":"gopay","gross_amount":1e400}');
  assert.deepEqual(Object.keys(overflow), ["gross_amount"]);
  for (const amount of ["1", "1e4", "10000.0", "9999999999999"]) {
    const { gross_amount } = await charges.assertCharged(
      `{"payment_type":"bank_transfer","bank":"bca","gross_amount":${amount}}`,
    );
    assert.equal(gross_amount, `${Number(amount)}.00`);
  }
});

Deno.test("charge: order_id must be 1 to 50 of A-Z a-z 0-9 - _ ~ . and neither . nor ..", async () => {
  await using charges = await openCharges();
  const invalidIds = [
    "",
    "an order",
    "order/1",
    "..",
    ".",
    "order#1",
    "order?1",
    "order%201",
    "pesanan-🛒",
    "ordér",
    "order\n1",
    "order\u0000",
    "order\ud83d",
    "o".repeat(51),
    7,
    ["order"],
  ];
  for (const order_id of invalidIds) {
    const errors = await charges.assertRejected({ ...CHARGE, order_id });
    assert.deepEqual(Object.keys(errors), ["order_id"], JSON.stringify(order_id));
  }
  for (const order_id of ["o", "...", "Az09-_~.", "o".repeat(50)]) {
    assert.equal((await charges.assertCharged({ ...CHARGE, order_id })).order_id, order_id);
  }
  assert.match((await charges.assertCharged(CHARGE)).order_id, /^[A-Za-z0-9_~.-]{1,50}$/);
});

Deno.test("charge: rejects items that do not add up to gross_amount exactly", async () => {
  await using charges = await openCharges();
  const chargeOfItems = (...priced: [price: number, quantity: number][]) => ({
    ...CHARGE,
    item_details: priced.map(([price, quantity]) => ({ ...ITEM, price, quantity })),
  });
  for (const wrongPrice of [44_001, 43_999, 0, -44_000]) {
    assert.deepEqual(await charges.assertRejected(chargeOfItems([wrongPrice, 1])), {
      item_details:
        `must add up to gross_amount: the sum of the items is ${wrongPrice}, but gross_amount is 44000`,
    });
  }
  // A difference of 1 is found although the sum of the first items is above 2^53, the limit up to
  // which JavaScript numbers are exact.
  const large = 9_999_999_999_999;
  const offByOne = await charges.assertRejected({
    ...chargeOfItems([large, 1_000], [1, 1], [-large, 1_000], [44_000, 1]),
  });
  assert.match(offByOne.item_details!, /is 44001, but gross_amount is 44000/);

  const { items } = await charges.assertCharged(chargeOfItems([25_000, 2], [-6_000, 1], [0, 3]));
  assert.deepEqual(
    items.map(({ price, quantity, subtotal }) => [price, quantity, subtotal]),
    [["25000.00", 2, "50000.00"], ["-6000.00", 1, "-6000.00"], ["0.00", 3, "0.00"]],
  );
});

Deno.test("charge: rejects an item whose price times quantity has more than 13 digits", async () => {
  await using charges = await openCharges();
  const errors = await charges.assertRejected({
    ...CHARGE,
    item_details: [
      { ...ITEM, price: 9_999_999_999_999, quantity: 2 },
      { ...ITEM, price: -9_999_999_999_999, quantity: 2 },
      ITEM,
    ],
  });
  const message = "price times quantity must be between -9999999999999 and 9999999999999";
  assert.deepEqual(errors, { "item_details.0": message, "item_details.1": message });
});

Deno.test("charge: reports the index and field of a wrong item", async () => {
  await using charges = await openCharges();
  const cases: [string, unknown][] = [
    ["price", 0.5],
    ["price", "44000"],
    ["price", null],
    ["price", 10_000_000_000_000],
    ["quantity", 0],
    ["quantity", 1.5],
    ["quantity", 100_000_000],
    ["quantity", undefined],
    ["name", ""],
    ["name", "x".repeat(51)],
    ["name", undefined],
    ["id", "x".repeat(51)],
    ["brand", 7],
    ["url", "x".repeat(2001)],
  ];
  for (const [field, value] of cases) {
    const item_details = [ITEM, { ...ITEM, [field]: value }];
    const errors = await charges.assertRejected({ ...CHARGE, gross_amount: 88_000, item_details });
    assert.deepEqual(Object.keys(errors), [`item_details.1.${field}`], `${field}: ${value}`);
  }
  const lists: [unknown, string][] = [
    [{}, "must be an array"],
    [Array(1001).fill(ITEM), "must have at most 1000 elements"],
    [Array(19_000).fill(0), "must have at most 1000 elements"],
  ];
  for (const [item_details, message] of lists) {
    assert.deepEqual(await charges.assertRejected({ ...CHARGE, item_details }), {
      item_details: message,
    });
  }
});

Deno.test("charge: reports the missing or wrong field of each payment type", async () => {
  await using charges = await openCharges();
  const cases: [type: string, change: Json, field: string][] = [
    ["bank_transfer", { bank: null }, "bank"],
    ["bank_transfer", { bank: "danamon" }, "bank"],
    ["bank_transfer", { va_number: "12x" }, "va_number"],
    ["credit_card", { token_id: null }, "token_id"],
    ["credit_card", { authentication: "yes" }, "authentication"],
    ["credit_card", { authorize: 1 }, "authorize"],
    ["credit_card", { save_token_id: "true" }, "save_token_id"],
    ["credit_card", { installment_term: 0 }, "installment_term"],
    ["cstore", { store: null }, "store"],
    ["cstore", { store: "7-eleven" }, "store"],
    ["qris", { acquirer: "ovo" }, "acquirer"],
    ["gopay", { callback_url: "thanks" }, "callback_url"],
    ["shopeepay", { callback_url: 1 }, "callback_url"],
    ["ovo", { customer_details: null }, "customer_details"],
    ["ovo", { customer_details: { phone: null } }, "customer_details.phone"],
    ["ovo", { customer_details: { phone: "call me" } }, "customer_details.phone"],
    ["echannel", { bill_info1: "x".repeat(256) }, "bill_info1"],
    ["akulaku", { item_details: null }, "item_details"],
    ["akulaku", { customer_details: null }, "customer_details"],
    ["akulaku", { customer_details: { email: null } }, "customer_details.email"],
    ["akulaku", { item_details: [{ ...ITEM, id: null }] }, "item_details.0.id"],
    ["akulaku", { item_details: [PART, PART] }, "item_details.1.id"],
    ["kredivo", { item_details: null }, "item_details"],
    ["kredivo", { customer_details: { phone: null } }, "customer_details.phone"],
    [
      "kredivo",
      { customer_details: { shipping_address: null } },
      "customer_details.shipping_address",
    ],
    [
      "kredivo",
      { item_details: [{ ...ITEM, url: "https://a.example/" }] },
      "item_details.0.category",
    ],
    ["kredivo", { item_details: [{ ...ITEM, category: "Things" }] }, "item_details.0.url"],
    ["dana", { custom_expiry: { expiry_duration: 0 } }, "custom_expiry.expiry_duration"],
    ["dana", { custom_expiry: { expiry_duration: 1, unit: "year" } }, "custom_expiry.unit"],
  ];
  const examples = examplesOf(charges);
  assert.deepEqual([...new Set(cases.map(([type]) => type))].sort(), Object.keys(examples).sort());
  for (const [type, change, field] of cases) {
    const errors = await charges.assertRejected(merge(examples[type], change));
    assert.deepEqual(Object.keys(errors), [field], `${type} ${JSON.stringify(change)}`);
  }
});

Deno.test("charge: rejects an unknown payment_type with the list of types, and a body that is not an object", async () => {
  await using charges = await openCharges();
  for (const payment_type of ["paypal", "", "__proto__", "toString", 7, null, ["gopay"]]) {
    assert.deepEqual(await charges.assertRejected({ ...CHARGE, payment_type }), {
      payment_type: `must be one of ${PAYMENT_TYPES.join(", ")}`,
    });
  }
  for (const body of ["[]", "null", '"charge"', "7", "[{}]"]) {
    assert.deepEqual(await charges.assertRejected(body), { body: "must be an object" }, body);
  }
  for (const body of ["", "{", "undefined", '{"payment_type":}', "\u0000"]) {
    await assertProblem(await charges.send(body), 400, "malformed_json");
  }
});

Deno.test("charge: rejects control characters and unpaired surrogates in every text field", async () => {
  await using charges = await openCharges();
  const textFields: [string, (text: string) => Json][] = [
    ["customer_details.first_name", (first_name) => ({ customer_details: { first_name } })],
    ["customer_details.last_name", (last_name) => ({ customer_details: { last_name } })],
    ["customer_details.email", (email) => ({ customer_details: { email: `a@${email}` } })],
    ["customer_details.phone", (phone) => ({ customer_details: { phone } })],
    [
      "customer_details.shipping_address.address",
      (address) => ({ customer_details: { shipping_address: { address } } }),
    ],
    ["item_details.0.name", (name) => ({ item_details: [{ ...ITEM, name }] })],
    ["item_details.0.brand", (brand) => ({ item_details: [{ ...ITEM, brand }] })],
    ["custom_fields.1", (text) => ({ custom_fields: ["fine", text] })],
  ];
  for (const [field, inputWith] of textFields) {
    for (const text of ["\u0000", "a\u0000b", "a\nb", "\u007f", "\ud83d", "\udc00b"]) {
      const errors = await charges.assertRejected({ ...CHARGE, ...inputWith(text) });
      assert.deepEqual(errors, { [field]: "must not contain control characters" }, field);
    }
  }
  const { customer_first_name, custom_field1 } = await charges.assertCharged({
    ...CHARGE,
    customer_details: { first_name: "Núñez 木村 🛒" },
    custom_fields: ["'; drop table payments; --"],
  });
  assert.equal(customer_first_name, "Núñez 木村 🛒");
  assert.equal(custom_field1, "'; drop table payments; --");
});

Deno.test("charge: accepts at most three custom_fields of at most 255 characters", async () => {
  await using charges = await openCharges();
  const cases: [unknown, string][] = [
    [["a", "b", "c", "d"], "custom_fields"],
    ["a", "custom_fields"],
    [["a", "x".repeat(256)], "custom_fields.1"],
    [["a", null], "custom_fields.1"],
  ];
  for (const [custom_fields, field] of cases) {
    assert.deepEqual(Object.keys(await charges.assertRejected({ ...CHARGE, custom_fields })), [
      field,
    ]);
  }
  const payment = await charges.assertCharged({ ...CHARGE, custom_fields: ["a", "x".repeat(255)] });
  const { custom_field1, custom_field2, custom_field3 } = payment;
  assert.deepEqual([custom_field1, custom_field2, custom_field3], ["a", "x".repeat(255), null]);
});

Deno.test("charge: returns metadata unchanged, including nulls", async () => {
  await using charges = await openCharges();
  const metadata = { a: null, b: [1.5, -0.25, null, { c: [] }], "": "", "d\n": "e\t", 木: "🛒" };
  assert.deepEqual((await charges.assertCharged({ ...CHARGE, metadata })).metadata, metadata);
  const deep = JSON.parse('{"a":'.repeat(20) + "1" + "}".repeat(20));
  assert.deepEqual((await charges.assertCharged({ ...CHARGE, metadata: deep })).metadata, deep);
  assert.equal((await charges.assertCharged(CHARGE)).metadata, null);
  const large = { text: "x".repeat(14_900) };
  assert.deepEqual((await charges.assertCharged({ ...CHARGE, metadata: large })).metadata, large);
});

Deno.test("charge: rejects metadata that cannot be stored", async () => {
  await using charges = await openCharges();
  const cases: [metadata: string, field: string, message: RegExp][] = [
    ["[]", "metadata", /object/],
    ['"text"', "metadata", /object/],
    ['{"payment_ref":1}', "metadata.payment_ref", /reserved name/],
    ['{"midtrans_invoice_id":1}', "metadata.midtrans_invoice_id", /reserved name/],
    ['{"extra_info":null}', "metadata.extra_info", /reserved name/],
    ['{"a":"\\u0000"}', "metadata", /NUL/],
    ['{"a":{"b\\u0000":1}}', "metadata", /NUL/],
    ['{"a":["\\ud83d"]}', "metadata", /surrogates/],
    ['{"a\\udc00":1}', "metadata", /surrogates/],
    ['{"a":1e400}', "metadata", /infinite/],
    [`{"a":"${"x".repeat(15_000)}"}`, "metadata", /15000 characters/],
    ['{"a":'.repeat(21) + "1" + "}".repeat(21), "metadata", /20 levels/],
    [`{"a":${"[".repeat(9_900)}${"]".repeat(9_900)}}`, "metadata", /20 levels/],
  ];
  for (const [metadata, field, message] of cases) {
    const errors = await charges.assertRejected(
      `{"payment_type":"dana","gross_amount":1,"metadata":${metadata}}`,
    );
    assert.deepEqual(Object.keys(errors), [field], metadata.slice(0, 50));
    assert.match(errors[field]!, message);
  }
});

Deno.test("charge: treats null as absent and ignores fields of another payment type", async () => {
  await using charges = await openCharges();
  const payment = await charges.assertCharged({
    ...CHARGE,
    order_id: null,
    customer_details: { ...BUYER, last_name: null, billing_address: { city: null } },
    item_details: [{ ...ITEM, brand: null }],
    custom_expiry: null,
    metadata: null,
    custom_fields: null,
    va_number: null,
    token_id: "for cards only",
  });
  assert.equal(payment.transaction_status, "pending");
  assert.equal(payment.customer_last_name, null);
  assert.equal(payment.metadata, null);
  assert.equal(payment.items[0]!.brand, null);
});

Deno.test("charge: Idempotency-Key must be 1 to 255 printable ASCII characters", async () => {
  await using charges = await openCharges();
  for (const key of ["", "k".repeat(256), "clé", "a\tb"]) {
    const errors = await charges.assertRejected(CHARGE, { "Idempotency-Key": key });
    assert.deepEqual(errors, { "Idempotency-Key": "must be 1 to 255 printable ASCII characters" });
  }
  for (const key of ["k", "k".repeat(255), 'a "key" ~!']) {
    assert.equal((await charges.send(CHARGE, { "Idempotency-Key": key })).status, 201);
  }
});

Deno.test("charge: replays the response if the same request is formatted differently", async () => {
  await using charges = await openCharges({ BASE_PATH: "/pay" });
  const headers = { "Idempotency-Key": "cart-7" };
  const { customer_details, item_details } = { customer_details: BUYER, item_details: [ITEM] };
  const metadata = { a: { b: 1, c: [1, 2] }, d: null };
  const sameRequests: [path: string, body: string][] = [
    ["/pay/charge/", JSON.stringify({ ...CHARGE, customer_details, item_details, metadata })],
    [
      "/pay/charge",
      JSON.stringify({ metadata, item_details, customer_details, ...CHARGE }, null, 2),
    ],
    [
      "/pay/charge/",
      JSON.stringify({
        ...CHARGE,
        item_details: [{ quantity: 1, price: 44_000, name: "A thing", id: "a", brand: null }],
        customer_details,
        metadata: { d: null, a: { c: [1, 2], b: 1 } },
        order_id: null,
      }),
    ],
  ];
  const answers = [];
  for (const [path, body] of sameRequests) {
    const response = await charges.send(body, headers, path);
    assert.equal(response.status, 201);
    assert.equal(response.headers.get("idempotency-replayed"), answers.length > 0 ? "true" : null);
    answers.push([response.headers.get("location"), await response.json()]);
  }
  assert.deepEqual(answers[1], answers[0]);
  assert.deepEqual(answers[2], answers[0]);
  assert.equal((await charges.sandbox.control("transactions", undefined, "GET")).length, 1);

  const otherBodies = [
    { ...CHARGE, customer_details, item_details },
    { ...CHARGE, customer_details, item_details, metadata: { ...metadata, d: 0 } },
    {
      ...CHARGE,
      customer_details,
      item_details,
      metadata: { ...metadata, a: { b: 1, c: [2, 1] } },
    },
  ];
  for (const otherBody of otherBodies) {
    const response = await charges.send(otherBody, headers, "/pay/charge/");
    await assertProblem(response, 422, "idempotency_key_reused");
  }
});

Deno.test("charge: items copied by quickCopyOf equal the items that the schema returns", () => {
  const item = { id: "i", name: "a", price: -5, quantity: 1, brand: null, merchant_name: "" };
  const items = [item, { name: "b", price: 15, quantity: 1, category: "c" }];
  const input = { payment_type: "gopay", gross_amount: 10, item_details: items };
  const parsed = JSON.parse(JSON.stringify(ChargeSchema.parse(input)));
  assert.deepEqual(parsed.item_details, [
    { id: "i", name: "a", price: -5, quantity: 1 },
    { name: "b", price: 15, quantity: 1, category: "c" },
  ]);
});

Deno.test("charge: describes 20 invalid items and skips the rest", () => {
  const item_details = [
    { name: "a", price: 1, quantity: 1 },
    ...Array.from({ length: 30 }, () => ({ name: "a", price: 1.5, quantity: 1 })),
  ];
  const input = { payment_type: "gopay", gross_amount: 1, item_details };
  const { issues } = ChargeSchema.safeParse(input).error!;
  assert.deepEqual(
    issues.map(({ path }) => path.join(".")),
    Array.from({ length: 20 }, (_, index) => `item_details.${index + 1}.price`),
  );
});
