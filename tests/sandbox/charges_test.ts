import assert from "node:assert/strict";
import {
  AMOUNT,
  type Json,
  type Kind,
  KINDS,
  openSandbox,
  type TestSandbox,
} from "../support/gateway/sandbox.ts";
import { until } from "../support/until.ts";

const MINUTES = 60;
const HOURS = 60 * MINUTES;
const DAYS = 24 * HOURS;

const APPROVED_CARD = {
  masked_card: "48111111-1114",
  bank: "bca",
  approval_code: /^\d{12,13}$/,
  channel_response_code: "00",
  channel_response_message: "Approved",
  card_type: "credit",
  on_us: false,
  channel: /./,
  eci: "07",
};

/** Fields of each charge response, in addition to the common ones. */
const RESPONSES: Record<Kind, {
  message: string;
  code?: string;
  status?: string;
  type?: string;
  fraud?: string;
  /** Seconds until expiry. */
  expirySeconds: number;
  methodFields: Record<string, unknown>;
}> = {
  card: {
    code: "200",
    status: "capture",
    message: "Success, Credit Card transaction is successful",
    expirySeconds: 8 * DAYS,
    methodFields: APPROVED_CARD,
  },
  card_3ds: {
    message: "Success, Credit Card transaction is successful",
    expirySeconds: 10 * MINUTES,
    methodFields: {
      masked_card: "48111111-1114",
      bank: "bca",
      card_type: "credit",
      redirect_url: /\/v2\/3ds\/redirect\/[0-9a-f]+$/,
      three_ds_version: "2",
    },
  },
  card_auth: {
    code: "200",
    status: "authorize",
    message: "Success, Credit Card transaction is successful",
    expirySeconds: 8 * DAYS,
    methodFields: APPROVED_CARD,
  },
  card_challenge: {
    code: "201",
    status: "capture",
    fraud: "challenge",
    message: "Success, Credit Card transaction is challenged by FDS",
    expirySeconds: 8 * DAYS,
    methodFields: {
      masked_card: "45111111-1117",
      bank: "bca",
      approval_code: /^\d{12,13}$/,
      channel_response_code: "00",
      channel_response_message: "Approved",
      card_type: "credit",
      on_us: false,
      channel: /./,
      eci: "07",
    },
  },
  bca: virtualAccount("bca"),
  bni: virtualAccount("bni"),
  bri: virtualAccount("bri"),
  cimb: virtualAccount("cimb"),
  permata: permata(),
  permata_old: permata(),
  echannel: {
    message: "OK, Mandiri Bill transaction is successful",
    expirySeconds: DAYS,
    methodFields: { bill_key: /^\d{12}$/, biller_code: "70012" },
  },
  gopay: {
    message: "GoPay transaction is created",
    expirySeconds: 15 * MINUTES,
    methodFields: {
      actions: [
        ["generate-qr-code", "GET", /\/v2\/gopay\/[\w-]+\/qr-code$/],
        ["deeplink-redirect", "GET", /./],
        ["get-status", "GET", /\/v2\/[\w-]+\/status$/],
        ["cancel", "POST", /\/v2\/[\w-]+\/cancel$/],
      ],
    },
  },
  shopeepay: {
    message: "ShopeePay transaction is created",
    expirySeconds: 15 * MINUTES,
    methodFields: {
      channel_response_code: "0",
      channel_response_message: "success",
      actions: [["deeplink-redirect", "GET", /./]],
    },
  },
  ovo: {
    message: "Ovo transaction is created",
    expirySeconds: 65,
    methodFields: { payer_phone_number: "+628123456789" },
  },
  dana: {
    message: "DANA transaction is created",
    expirySeconds: 15 * MINUTES,
    methodFields: { actions: [["deeplink-redirect", "GET", /./]] },
  },
  qris: qris("gopay"),
  qris_airpay: qris("airpay shopee"),
  indomaret: {
    message: "Success, cstore transaction is successful",
    fraud: undefined,
    expirySeconds: DAYS,
    methodFields: { store: "indomaret", payment_code: /^\d{14}$/ },
  },
  alfamart: {
    message: "Success, cstore transaction is successful",
    expirySeconds: DAYS,
    methodFields: { store: "alfamart", payment_code: /^\d{16}$/ },
  },
  akulaku: {
    message: "Success, Akulaku transaction is created",
    expirySeconds: 2 * HOURS,
    methodFields: { redirect_url: /\/v2\/akulaku\/redirect\/[\w-]+$/ },
  },
  kredivo: {
    message: "Kredivo transaction is created",
    expirySeconds: DAYS,
    methodFields: {
      redirect_url: /\/v2\/oms\/redirect\/[\w-]+$/,
      channel_response_code: "OK",
      channel_response_message: /./,
    },
  },
};

function virtualAccount(bank: string) {
  return {
    message: "Success, Bank Transfer transaction is created",
    type: "bank_transfer",
    expirySeconds: DAYS,
    methodFields: { va_numbers: [{ bank, va_number: /^\d{14,18}$/ }] },
  };
}

function permata() {
  return {
    message: "Success, PERMATA VA transaction is successful",
    type: "bank_transfer",
    expirySeconds: DAYS,
    methodFields: { permata_va_number: /^\d{16}$/ },
  };
}

function qris(acquirer: string) {
  return {
    message: "Qris transaction is created",
    expirySeconds: 15 * MINUTES,
    methodFields: {
      acquirer,
      qr_string: /^000201.*6304[0-9A-F]{4}$/,
      actions: [
        ["generate-qr-code", "GET", /\/v2\/qris\/[\w-]+\/qr-code$/],
        ["generate-qr-code-v2", "GET", /\/v4\/qris\/\w+\/qr-code$/],
      ],
    },
  };
}

/** Strings must be equal, patterns must match; lists and objects are compared field by field. */
function assertLike(actual: Json, expected: unknown, path: string): void {
  if (expected instanceof RegExp) assert.match(String(actual), expected, path);
  else if (Array.isArray(expected) && Array.isArray(expected[0])) {
    const actions = actual.map(({ name, method, url }: Json) => [name, method, url]);
    actions.forEach((action: unknown[], index: number) =>
      action.forEach((part, place) => assertLike(part, expected[index][place], `${path}.${index}`))
    );
    assert.equal(actual.length, expected.length, path);
  } else if (typeof expected === "object" && expected !== null) {
    assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), path);
    for (const [name, value] of Object.entries(expected)) {
      assertLike(actual[name], value, `${path}.${name}`);
    }
  } else assert.deepEqual(actual, expected, path);
}

for (const kind of Object.keys(KINDS) as Kind[]) {
  Deno.test(`charge of ${kind}: returns the fields and message of its method`, async () => {
    await using box = await openSandbox();
    const expected = RESPONSES[kind];
    const answer = await box.charge(kind);
    const { transaction_id, merchant_id, transaction_time, expiry_time, ...rest } = answer;
    assert.match(transaction_id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
    assert.match(merchant_id, /^G\d{9}$/);
    assert.match(transaction_time, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    assert.equal(seconds(expiry_time) - seconds(transaction_time), expected.expirySeconds);
    const fraud = "fraud" in expected ? expected.fraud : "accept";
    assertLike(rest, {
      status_code: expected.code ?? "201",
      status_message: expected.message,
      order_id: "order-1",
      gross_amount: "44000.00",
      currency: "IDR",
      payment_type: expected.type ?? KINDS[kind].payment_type,
      transaction_status: expected.status ?? "pending",
      ...fraud && { fraud_status: fraud },
      ...expected.methodFields,
    }, kind);
  });
}

function seconds(wib: string): number {
  return Date.parse(`${wib.replace(" ", "T")}+07:00`) / 1000;
}

Deno.test("times: are in Jakarta time without an offset", async () => {
  await using box = await openSandbox();
  await box.control("clock", { to: "2081-12-31T20:00:00Z" });
  const { transaction_time } = await box.charge("bca");
  assert.match(transaction_time, /^2082-01-01 03:00:0\d$/);
});

Deno.test("charge with invalid fields: gets HTTP 400 and a message with the path of each field", async () => {
  await using box = await openSandbox();
  const { http, body } = await box.call("POST", "/v2/charge", {
    payment_type: "bank_transfer",
    transaction_details: { order_id: "x".repeat(51), gross_amount: 0 },
    bank_transfer: {},
    customer_details: { phone: "x".repeat(256) },
  });
  assert.equal(http, 400);
  const { id, validation_messages, ...rest } = body;
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.deepEqual(rest, {
    status_code: "400",
    status_message: "One or more parameters in the payload is invalid.",
  });
  assert.deepEqual(validation_messages.sort(), [
    "bank_transfer.bank is required",
    "customer_details.phone must not be longer than 255 characters",
    "transaction_details.gross_amount must be equal or greater than 0.01",
    "transaction_details.order_id must not be longer than 50 characters",
  ]);
});

const REJECTED: Record<string, { kind: Kind; more: Json; message: RegExp }> = {
  "an amount with decimals": {
    kind: "bca",
    more: { transaction_details: { gross_amount: 10.5 } },
    message: /gross_amount must not have decimals/,
  },
  "items that do not sum to the amount": {
    kind: "bca",
    more: { item_details: [{ id: "a", price: 1000, quantity: 2, name: "A" }] },
    message: /gross_amount is not equal to the sum of item_details/,
  },
  "another currency": {
    kind: "bca",
    more: { transaction_details: { currency: "USD" } },
    message: /currency must be one of IDR/,
  },
  "a custom expiry of less than 20 seconds": {
    kind: "bca",
    more: { custom_expiry: { expiry_duration: 19, unit: "second" } },
    message: /custom_expiry is below minimum threshold/,
  },
  "DANA and a custom expiry of less than 15 minutes": {
    kind: "dana",
    more: { custom_expiry: { expiry_duration: 899, unit: "second" } },
    message: /custom_expiry is below minimum threshold/,
  },
  "Akulaku and no items": {
    kind: "akulaku",
    more: { item_details: null },
    message: /item_details is required/,
  },
  "Akulaku and duplicate item ids": {
    kind: "akulaku",
    more: {
      item_details: [1, 2].map(() => ({ id: "a", price: AMOUNT / 2, quantity: 1, name: "A" })),
    },
    message: /item_details must have unique ids/,
  },
  "Kredivo and no customer": {
    kind: "kredivo",
    more: { customer_details: null },
    message: /customer_details is required/,
  },
  "Alfamart and | in an item name": {
    kind: "alfamart",
    more: { item_details: [{ id: "a", price: AMOUNT, quantity: 1, name: "A|B" }] },
    message: /item_details.0.name must not contain \|/,
  },
  "BNI and a foreign phone number": {
    kind: "bni",
    more: { customer_details: { phone: "+4930123456" } },
    message: /customer_details.phone must start with \+62 or 0/,
  },
  "an unknown store": {
    kind: "alfamart",
    more: { cstore: { store: "7eleven" } },
    message: /cstore.store must be indomaret or alfamart/,
  },
  "a virtual account number that is not digits": {
    kind: "bca",
    more: { bank_transfer: { va_number: "12a" } },
    message: /bank_transfer.va_number must be numeric digits/,
  },
};

for (const [name, { kind, more, message }] of Object.entries(REJECTED)) {
  Deno.test(`charge with ${name}: is rejected and creates no transaction`, async () => {
    await using box = await openSandbox();
    const answer = await box.charge(kind, more);
    assert.equal(answer.status_code, "400");
    assert.match(answer.validation_messages.join(), message);
    assert.equal((await box.status("order-1")).status_code, "404");
    await box.waitForWebhooks();
    assert.equal(box.hooks.length, 0);
  });
}

Deno.test("charge: accepts a discount as an item with a negative price", async () => {
  await using box = await openSandbox();
  const answer = await box.charge("bca", {
    item_details: [
      { id: "a", price: AMOUNT, quantity: 2, name: "A" },
      { id: "b", price: -AMOUNT, quantity: 1, name: "Discount" },
    ],
  });
  assert.equal(answer.status_code, "201");
});

Deno.test("charge with a method that is not activated: gets code 402 with HTTP 200", async () => {
  await using box = await openSandbox();
  const types = ["bca_klikpay", "bca_klikbca", "cimb_clicks", "danamon_online"];
  for (const payment_type of types) {
    const { http, body } = await box.call("POST", "/v2/charge", { payment_type });
    assert.deepEqual([http, body.status_code], [200, "402"], payment_type);
    assert.equal(body.status_message, "Payment channel is not activated.");
  }
  for (const bank of ["danamon", "bsi", "seabank"]) {
    assert.equal((await box.charge("bca", { bank_transfer: { bank } })).status_code, "402", bank);
  }
});

Deno.test("virtual account number chosen by the merchant: is padded or cut to 6 digits, and replaced if it is in use", async () => {
  await using box = await openSandbox();
  const number = async (va_number: string) =>
    (await box.charge("bca", { bank_transfer: { va_number } })).va_numbers[0].va_number;
  assert.match(await number("77"), /000077$/);
  assert.match(await number("12345678"), /123456$/);
  const other = await number("123456");
  assert.doesNotMatch(other, /123456$/);
});

Deno.test("charge at a store: accepts a capitalized store name", async () => {
  await using box = await openSandbox();
  assert.equal(
    (await box.charge("indomaret", { cstore: { store: "Indomaret" } })).store,
    "indomaret",
  );
});

Deno.test("ovo charge: returns 404 for an unregistered phone and creates no transaction", async () => {
  await using box = await openSandbox();
  const { http, body } = await box.call("POST", "/v2/charge", {
    payment_type: "ovo",
    transaction_details: { order_id: "o", gross_amount: 1000 },
    ovo: { payer_phone_number: "+628249134000" },
  });
  assert.deepEqual([http, body.status_code], [200, "404"]);
  assert.equal(body.status_message, "User with requested phone number doesn't exist");
  assert.equal((await box.status("o")).status_message, "Transaction doesn't exist.");
});

Deno.test("ovo charge: test phones deny the payment or let it expire", async () => {
  await using box = await openSandbox();
  const finalStatus = async (payer_phone_number: string) => {
    const { transaction_id } = await box.charge("ovo", { ovo: { payer_phone_number } });
    await box.advance(66);
    return (await box.status(transaction_id)).transaction_status;
  };
  assert.equal(await finalStatus("+628271939753"), "deny");
  assert.equal(await finalStatus("+628242014881"), "deny");
  assert.equal(await finalStatus("+628237435829"), "deny");
  assert.equal(await finalStatus("+628215023424"), "expire");
  assert.equal(await finalStatus("+628242974268"), "expire");
});

Deno.test("custom fields and metadata: with metadata_in_status, the status and every webhook contain them", async () => {
  await using box = await openSandbox({ settings: { metadata_in_status: true } });
  const more = { custom_field1: "one", custom_field3: "three", metadata: { a: { b: [1, null] } } };
  const { transaction_id } = await box.charge("bca", more);
  await box.control(`transactions/${transaction_id}/pay`);
  const status = await box.status(transaction_id);
  for (const body of [status, ...box.hooks.map(({ body }) => body)]) {
    const { custom_field1, custom_field2, custom_field3, metadata } = body;
    assert.deepEqual({ custom_field1, custom_field3, metadata }, more);
    assert.equal(custom_field2, undefined);
  }
  assert.equal(box.hooks.length, 2);
});

Deno.test("metadata: without metadata_in_status, the status contains only the members that the gateway adds", async () => {
  await using box = await openSandbox();
  const more = { custom_field1: "one", metadata: { a: 1 } };
  const { transaction_id } = await box.charge("gopay", more);
  const pending = await box.status(transaction_id);
  assert.equal(pending.custom_field1, "one");
  assert.equal("metadata" in pending, false);
  await box.control(`transactions/${transaction_id}/pay`, { fee: 2_500 });
  assert.deepEqual(Object.keys((await box.status(transaction_id)).metadata), ["extra_info"]);
  // Webhooks and the control API contain everything.
  const known = await box.control(`transactions/${transaction_id}`, undefined, "GET");
  for (const { metadata } of [known, box.hooks.at(-1)!.body]) {
    assert.deepEqual(Object.keys(metadata), ["a", "extra_info"]);
  }
  await box.control("settings", { metadata_in_status: true }, "PATCH");
  assert.equal((await box.status(transaction_id)).metadata.a, 1);
});

Deno.test("order id: can be reused after cancel and expiry, but not while the payment is pending or paid", async () => {
  await using box = await openSandbox();
  const charge = async () =>
    await box.charge("bca", { transaction_details: { order_id: "the-one" } });
  const first = await charge();
  const { http, body } = await box.call("POST", "/v2/charge", {
    ...KINDS.gopay,
    transaction_details: { order_id: "the-one", gross_amount: 1 },
  });
  assert.deepEqual([http, body.status_code], [200, "406"]);
  assert.match(body.status_message, /^The request could not be completed due to a conflict/);

  await box.post("/v2/the-one/cancel");
  const second = await charge();
  assert.equal(second.status_code, "201");
  await box.post("/v2/the-one/expire");
  const third = await charge();
  assert.notEqual(third.transaction_id, second.transaction_id);
  // An order id finds its latest transaction; a transaction id finds exactly that transaction.
  assert.equal((await box.status("the-one")).transaction_id, third.transaction_id);
  assert.equal((await box.status(first.transaction_id)).transaction_status, "cancel");
  await box.control("transactions/the-one/pay");
  assert.equal((await charge()).status_code, "406");
});

Deno.test("order id: can be reused after a denial unless the settings forbid it", async () => {
  await using box = await openSandbox();
  const deny = async () => {
    const token_id = await box.token("4911111111111113");
    const more = { credit_card: { token_id }, transaction_details: { order_id: "denied" } };
    return (await box.charge("card", more)).status_code;
  };
  assert.equal(await deny(), "202");
  assert.equal(await deny(), "202");
  await box.control("settings", { reuse_order_id_after_deny: false }, "PATCH");
  assert.equal(await deny(), "406");
});

Deno.test("order id: can be reused after the cancel of a pending authorization, but not of a completed one", async () => {
  await using box = await openSandbox();
  const order = { transaction_details: { order_id: "held" } };
  const hold = { ...order, credit_card: { type: "authorize" } };
  await box.charge("card_3ds", hold);
  await box.post("/v2/held/cancel");
  const { transaction_status } = await box.charge("card_auth", order);
  assert.equal(transaction_status, "authorize");
  await box.post("/v2/held/cancel");
  assert.equal((await box.charge("bca", order)).status_code, "406");
});

Deno.test("order id: cannot be reused after a cancelled capture or a refund", async () => {
  await using box = await openSandbox();
  await box.charge("card", { transaction_details: { order_id: "captured" } });
  await box.post("/v2/captured/cancel");
  const recharged = await box.charge("bca", { transaction_details: { order_id: "captured" } });
  assert.equal(recharged.status_code, "406");
  await box.paid("gopay", { transaction_details: { order_id: "refunded" } });
  await box.post("/v2/refunded/refund", {});
  const again = await box.charge("bca", { transaction_details: { order_id: "refunded" } });
  assert.equal(again.status_code, "406");
});

Deno.test("order id with characters that are reserved in URLs: is found by its encoded path", async () => {
  await using box = await openSandbox();
  for (const order_id of ["a b", "a:b", "a+b", "a/b", "100%", "é?#"]) {
    const { transaction_id } = await box.charge("bca", { transaction_details: { order_id } });
    const found = await box.get(`/v2/${encodeURIComponent(order_id)}/status`);
    assert.deepEqual([found.transaction_id, found.order_id], [transaction_id, order_id]);
  }
});

async function chargeWithExpiry(box: TestSandbox, kind: Kind, custom_expiry: Json) {
  const { transaction_time, expiry_time, transaction_id } = await box.charge(kind, {
    custom_expiry,
  });
  return {
    expirySeconds: seconds(expiry_time) - seconds(transaction_time),
    transaction_id,
  };
}

Deno.test("custom expiry: uses its unit, minutes by default, up to the maximum of the method", async () => {
  await using box = await openSandbox();
  const expirySeconds = async (kind: Kind, custom_expiry: Json) =>
    (await chargeWithExpiry(box, kind, custom_expiry)).expirySeconds;
  assert.equal(await expirySeconds("bca", { expiry_duration: 20, unit: "second" }), 20);
  assert.equal(await expirySeconds("bca", { expiry_duration: 7 }), 7 * MINUTES);
  assert.equal(await expirySeconds("bca", { expiry_duration: 3, unit: "hour" }), 3 * HOURS);
  assert.equal(await expirySeconds("echannel", { expiry_duration: 200, unit: "day" }), 180 * DAYS);
  assert.equal(await expirySeconds("gopay", { expiry_duration: 30, unit: "day" }), 7 * DAYS);
  assert.equal(await expirySeconds("qris", { expiry_duration: 30, unit: "day" }), 7 * DAYS);
  assert.equal(await expirySeconds("qris_airpay", { expiry_duration: 30, unit: "day" }), 5 * DAYS);
  assert.equal(await expirySeconds("shopeepay", { expiry_duration: 30, unit: "day" }), 5 * DAYS);
  assert.equal(await expirySeconds("dana", { expiry_duration: 15 }), 15 * MINUTES);
  assert.equal(await expirySeconds("dana", { expiry_duration: 30, unit: "day" }), DAYS);
  assert.equal(await expirySeconds("akulaku", { expiry_duration: 1, unit: "day" }), DAYS);
  // Cards and OVO do not support a custom expiry.
  assert.equal(await expirySeconds("ovo", { expiry_duration: 3, unit: "hour" }), 65);
  assert.equal(await expirySeconds("card_3ds", { expiry_duration: 3, unit: "hour" }), 10 * MINUTES);
});

Deno.test("custom expiry: counts from its order time", async () => {
  await using box = await openSandbox();
  await box.control("clock", { to: "2081-05-05T05:00:00Z" });
  const order_time = "2081-05-05 11:30:00 +0700";
  const answer = await box.charge("bca", {
    custom_expiry: { order_time, expiry_duration: 1, unit: "hour" },
  });
  assert.equal(answer.expiry_time, "2081-05-05 12:30:00");
});

for (const kind of Object.keys(KINDS) as Kind[]) {
  const { expirySeconds, code } = RESPONSES[kind];
  if (code !== undefined) continue;
  Deno.test(`pending ${kind}: expires at its expiry time and not before`, async () => {
    await using box = await openSandbox();
    const { transaction_id } = await box.charge(kind);
    await box.advance(expirySeconds - 30);
    assert.equal((await box.status(transaction_id)).transaction_status.toLowerCase(), "pending");
    await box.advance(31);
    const status = await box.status(transaction_id);
    assert.equal(status.transaction_status, "expire");
    assert.equal(status.status_code, "407");
    const last = box.hooks.at(-1)!.body;
    assert.deepEqual([last.transaction_status, last.status_code], ["expire", "202"]);
    assert.equal(box.hooks.length, 2);
  });
}

Deno.test("sandbox clock: runs without calls to the control API", async () => {
  await using box = await openSandbox({ speed: 10_000 });
  const { transaction_id } = await box.charge("ovo");
  await until(
    "the transaction expires",
    async () => (await box.status(transaction_id)).transaction_status === "expire",
  );
  await until("the webhook arrives", () => box.hooks.at(-1)?.body.transaction_status === "expire");
});

Deno.test("charge: limits the length of names for BCA, and validates country codes and postal codes", async () => {
  await using box = await openSandbox();
  const messagesFor = async (customer_details: Json) =>
    (await box.charge("bca", { customer_details })).validation_messages;
  assert.deepEqual(await messagesFor({ first_name: "B".repeat(31) }), [
    "customer_details.first_name must not be longer than 30 characters",
  ]);
  assert.deepEqual(await messagesFor({ billing_address: { country_code: "USA" } }), [
    "customer_details.billing_address.country_code must be one of IDN",
  ]);
  assert.deepEqual(await messagesFor({ billing_address: { postal_code: "!" } }), [
    "customer_details.billing_address.postal_code format is invalid",
  ]);
});
