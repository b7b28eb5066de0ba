/** Behaviour that recordings of the real gateway show. */

import assert from "node:assert/strict";
import { ACCEPTED_CARD, type Json, openSandbox, SERVER_KEY } from "../support/gateway/sandbox.ts";
import { SUBSCRIPTION } from "../support/gateway/sandbox_requests.ts";

const BCA = { payment_type: "bank_transfer", bank_transfer: { bank: "bca" } };

Deno.test("charge: converts numbers to text, and text to numbers and booleans", async () => {
  await using box = await openSandbox();
  const body = await box.post("/v2/charge", {
    ...BCA,
    transaction_details: { order_id: 1416550071, gross_amount: "44000" },
    item_details: [{ id: 7, name: "Shirt", price: "22000", quantity: "2" }],
    customer_details: { phone: 8123456789 },
  });
  assert.deepEqual([body.status_code, body.order_id, body.gross_amount], [
    "201",
    "1416550071",
    "44000.00",
  ]);
  const gopay = await box.post("/v2/charge", {
    payment_type: "gopay",
    transaction_details: { order_id: "callback", gross_amount: 44_000 },
    gopay: { enable_callback: "true" },
  });
  assert.equal(gopay.status_code, "201");
  const card = await box.charge("card_3ds", { credit_card: { authentication: "true" } });
  assert.match(card.redirect_url, /3ds/);
  await box.paid("gopay", { transaction_details: { order_id: "refunded" } });
  const refund = await box.post("/v2/refunded/refund", { amount: "1000" });
  assert.deepEqual([refund.status_code, refund.refund_amount], ["200", "1000.00"]);
});

Deno.test("charge: a value that cannot be converted to the type of its field gets 413", async () => {
  await using box = await openSandbox();
  for (
    const change of [
      { transaction_details: { order_id: "a", gross_amount: true } },
      { transaction_details: { order_id: "a", gross_amount: "many" } },
      { transaction_details: { order_id: {}, gross_amount: 44_000 } },
      { transaction_details: "a" },
      { customer_details: { first_name: ["Budi"] } },
      { item_details: {} },
    ]
  ) {
    const request = { ...BCA, transaction_details: { order_id: "a", gross_amount: 44_000 } };
    const body = await box.post("/v2/charge", { ...request, ...change });
    const { status_code, status_message, validation_messages, id } = body;
    assert.deepEqual([status_code, status_message, validation_messages], [
      "413",
      "Payload format is not supported.",
      undefined,
    ], JSON.stringify(change));
    assert.match(id, /^[0-9a-f-]{36}$/);
  }
});

Deno.test("charge: an amount with decimals gets 400, as a number and as text", async () => {
  await using box = await openSandbox();
  for (const gross_amount of [39.1, "39.10"]) {
    const { http, body } = await box.call("POST", "/v2/charge", {
      ...BCA,
      transaction_details: { order_id: "a", gross_amount },
    });
    assert.equal(http, 400);
    assert.deepEqual(body.validation_messages, [
      "transaction_details.gross_amount must not have decimals",
    ]);
  }
});

Deno.test("charge: an amount of zero gets 400 with a message that names the field", async () => {
  await using box = await openSandbox();
  const { http, body } = await box.call("POST", "/v2/charge", {
    ...BCA,
    transaction_details: { order_id: "a", gross_amount: 0 },
  });
  assert.deepEqual([http, body.status_code], [400, "400"]);
  assert.match(body.validation_messages[0], /gross_amount/);
});

Deno.test("bank transfer without a bank_transfer object: gets 400, because a bank is required since 2023", async () => {
  await using box = await openSandbox();
  const { http, body } = await box.call("POST", "/v2/charge", {
    payment_type: "bank_transfer",
    transaction_details: { order_id: "a", gross_amount: 44_000 },
  });
  assert.deepEqual([http, body.status_code], [400, "400"]);
});

Deno.test("code 402: is sent with HTTP 200", async () => {
  await using box = await openSandbox();
  const { http, body } = await box.call("POST", "/v2/charge", {
    payment_type: "cimb_clicks",
    transaction_details: { order_id: "a", gross_amount: 44_000 },
  });
  assert.deepEqual([http, body.status_code], [200, "402"]);
});

Deno.test("charge: null item_details and customer_details count as absent", async () => {
  await using box = await openSandbox();
  const { status_code } = await box.charge("bca", { item_details: null, customer_details: null });
  assert.equal(status_code, "201");
});

Deno.test("charge: an empty body gets HTTP 500 from the proxy, with a message only", async () => {
  await using box = await openSandbox();
  for (const empty of [null, {}]) {
    const { http, body } = await box.call("POST", "/v2/charge", empty);
    assert.equal(http, 500);
    assert.deepEqual(body, { message: "An unexpected error occurred" });
  }
});

Deno.test("subscription: a null body is a bad request", async () => {
  await using box = await openSandbox();
  const { http, body } = await box.call("POST", "/v1/subscriptions", null);
  assert.deepEqual([http, body], [400, { status_message: "Bad request" }]);
});

Deno.test("subscription: an amount outside of the limits gets the gateway's text", async () => {
  await using box = await openSandbox();
  for (const amount of [0, "0", "100000000000"]) {
    const { http, body } = await box.call("POST", "/v1/subscriptions", { ...SUBSCRIPTION, amount });
    assert.equal(http, 400);
    assert.deepEqual(body.validation_messages, [
      "subscription.amount must be between 0.01 - 99999999999.00",
    ]);
  }
});

Deno.test("cancel, expire and refund: accept the bodies {} and null, and no body", async () => {
  await using box = await openSandbox();
  for (const [index, body] of [{}, null, undefined].entries()) {
    const cancelled = { transaction_details: { order_id: `cancel-${index}` } };
    await box.charge("permata", cancelled);
    const expired = { transaction_details: { order_id: `expire-${index}` } };
    await box.charge("permata", expired);
    await box.paid("gopay", { transaction_details: { order_id: `refund-${index}` } });
    const codes = await Promise.all(
      ["cancel", "expire", "refund"].map(async (action) =>
        (await box.call("POST", `/v2/${action}-${index}/${action}`, body)).body.status_code
      ),
    );
    assert.deepEqual(codes, ["200", "407", "200"], JSON.stringify(body));
  }
});

Deno.test("unknown id: gets 404 before the body is validated", async () => {
  await using box = await openSandbox();
  const refund = await box.post("/v2/unknown/refund", { refund_key: "", amount: "a lot" });
  assert.equal(refund.status_code, "404");
  const capture = await box.post("/v2/capture", {
    transaction_id: "unknown",
    gross_amount: "265.000",
  });
  assert.equal(capture.status_code, "404");
  for (const body of [{}, undefined]) {
    const patch = await box.call("PATCH", "/v1/subscriptions/unknown", body);
    assert.equal(patch.http, 404);
  }
});

Deno.test("refund: an empty refund_key counts as absent", async () => {
  await using box = await openSandbox();
  await box.paid("gopay");
  const first = await box.post("/v2/order-1/refund", { refund_key: "", amount: 1_000 });
  const second = await box.post("/v2/order-1/refund", { refund_key: "", amount: 1_000 });
  assert.deepEqual([first.status_code, second.status_code], ["200", "200"]);
  assert.notEqual(first.refund_key, second.refund_key);
});

Deno.test("refund of a card: returns the uuid of the refund, the bank and the settlement time", async () => {
  await using box = await openSandbox();
  await box.paid("card");
  const refund = await box.post("/v2/order-1/refund", { amount: 2_000 });
  assert.equal(refund.status_message, "Success, refund offline request is approved");
  assert.equal(typeof refund.refund_chargeback_id, "number");
  assert.match(refund.refund_chargeback_uuid, /^[0-9a-f-]{36}$/);
  assert.equal(refund.bank, "bca");
  assert.match(refund.settlement_time, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
});

Deno.test("refund of a cancelled Permata payment: gets an older message, without an id", async () => {
  await using box = await openSandbox();
  await box.charge("permata");
  await box.post("/v2/order-1/cancel", {});
  assert.deepEqual(await box.post("/v2/order-1/refund", {}), {
    status_code: "412",
    status_message: "Merchant cannot modify the status of the transaction",
  });
});

Deno.test("expire: has another message for Permata", async () => {
  await using box = await openSandbox();
  await box.charge("permata", { transaction_details: { order_id: "permata" } });
  await box.charge("gopay", { transaction_details: { order_id: "gopay" } });
  const permata = await box.post("/v2/permata/expire", {});
  assert.equal(permata.status_message, "Success, transaction has expired");
  for (const kind of ["gopay", "bca"] as const) {
    if (kind === "bca") await box.charge("bca", { transaction_details: { order_id: "bca" } });
    const expired = await box.post(`/v2/${kind}/expire`, {});
    assert.equal(expired.status_message, "Success, transaction is expired", kind);
  }
});

Deno.test("card: both challenge cards are challenged, and an approval returns the card's fields", async () => {
  await using box = await openSandbox();
  for (const [index, number] of ["4511111111111117", "5510111111111115"].entries()) {
    const order_id = `challenge-${index}`;
    const charged = await box.charge("card", {
      transaction_details: { order_id },
      credit_card: { token_id: await box.token(number) },
    });
    assert.deepEqual([charged.status_code, charged.fraud_status], ["201", "challenge"]);
    const approved = await box.post(`/v2/${order_id}/approve`, {});
    assert.equal(approved.status_message, "Success, transaction is approved");
    assert.equal(approved.masked_card, `${number.slice(0, 8)}-${number.slice(-4)}`);
    assert.equal(approved.bank, "bca");
    assert.match(approved.approval_code, /^\d+$/);
  }
});

Deno.test("card: a denial by fraud detection has on_us and channel, and no response of a bank", async () => {
  await using box = await openSandbox();
  const token_id = await box.token("4611111111111116");
  const denied = await box.charge("card", { credit_card: { token_id } });
  assert.deepEqual([denied.transaction_status, denied.fraud_status], ["deny", "deny"]);
  assert.deepEqual([denied.on_us, denied.channel], [false, "cybersource"]);
  assert.equal(denied.channel_response_code, undefined);
  assert.equal(denied.channel_response_message, undefined);
});

Deno.test("point inquiry: three test cards have points", async () => {
  await using box = await openSandbox();
  for (const number of ["4617006959746656", "4105058689481467", "5264221038874659"]) {
    const points = await box.get(`/v2/point_inquiry/${await box.token(number)}`);
    assert.equal(points.status_code, "200", number);
  }
  const other = await box.get(`/v2/point_inquiry/${await box.token(ACCEPTED_CARD)}`);
  assert.equal(other.status_code, "402");
});

Deno.test("BIN lookup: returns bank codes in capitals", async () => {
  await using box = await openSandbox();
  const bankOf = async (bin: string) => (await box.get(`/v1/bins/${bin}`)).data.bank_code;
  assert.equal(await bankOf("45563300"), "BCA");
  assert.equal(await bankOf("461700"), "MANDIRI");
  assert.equal(await bankOf("499999"), "OTHER");
  const { registration_required } = (await box.get("/v1/bins/45563300")).data;
  assert.equal(registration_required, false);
  const { brand, country_name } = (await box.get("/v1/bins/420191")).data;
  assert.deepEqual([brand, country_name], ["VISA", "INDONESIA"]);
});

Deno.test("account: can be linked without a country code, with the phone as a number", async () => {
  await using box = await openSandbox();
  const account = await box.post("/v2/pay/account", {
    payment_type: "gopay",
    gopay_partner: { phone_number: 81234567891 },
  });
  assert.equal(account.status_code, "201");
  assert.match(account.metadata.reference_id, /^[0-9a-f-]{36}$/);
  assert.equal(account.channel_response_code, undefined);
  await box.control(`accounts/${account.account_id}/activate`);
  const unlinked = await box.post(`/v2/pay/account/${account.account_id}/unbind`);
  assert.deepEqual([unlinked.status_code, unlinked.channel_response_code], ["204", "0"]);
});

Deno.test("subscription: PATCH changes the metadata if it is given, and keeps it otherwise", async () => {
  await using box = await openSandbox();
  const created = await box.post("/v1/subscriptions", {
    name: "GOLD",
    amount: "44000",
    currency: "IDR",
    payment_type: "credit_card",
    token: "saved-token",
    schedule: { interval: 1, interval_unit: "month", max_interval: "12" },
    metadata: { plan: "gold" },
  });
  assert.equal(created.schedule.max_interval, 12);
  assert.equal(created.retry_schedule, undefined);
  const update = { name: "GOLD", amount: "44000", currency: "IDR", token: "saved-token" };
  const metadataAfter = async (changes: Json) => {
    await box.call("PATCH", `/v1/subscriptions/${created.id}`, { ...update, ...changes });
    return (await box.get(`/v1/subscriptions/${created.id}`)).metadata;
  };
  assert.deepEqual(await metadataAfter({}), { plan: "gold" });
  assert.deepEqual(await metadataAfter({ metadata: { plan: "silver" } }), { plan: "silver" });
});

Deno.test("new subscription: has times in Jakarta time without a zone, and no cycle has run", async () => {
  await using box = await openSandbox();
  const { now } = await box.get("/_sandbox/clock");
  const created = await box.post("/v1/subscriptions", {
    name: "GOLD",
    amount: "44000",
    currency: "IDR",
    payment_type: "credit_card",
    token: "saved-token",
    schedule: { interval: 1, interval_unit: "month", start_time: "2099-01-31 07:00:00 +0700" },
  });
  const format = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;
  assert.match(created.created_at, format);
  const age = Date.parse(`${created.created_at.replace(" ", "T")}+07:00`) - Date.parse(now);
  assert.ok(Math.abs(age) < 60 * 60_000, created.created_at);
  const { schedule, transaction_ids } = created;
  assert.deepEqual([schedule.start_time, schedule.next_execution_at], [
    "2099-01-31 07:00:00",
    "2099-01-31 07:00:00",
  ]);
  assert.deepEqual([schedule.current_interval, transaction_ids], [0, []]);
  assert.equal(schedule.previous_execution_at, undefined);
  assert.deepEqual((await box.get(`/v1/subscriptions/${created.id}`)).schedule, schedule);
});

Deno.test("webhook: has a pop_id, and the customer's e-mail and name", async () => {
  await using box = await openSandbox();
  await box.charge("bca", {
    customer_details: { first_name: "Budi", last_name: "Santoso", email: "budi@shop.example" },
  });
  await box.waitForWebhooks();
  const { body } = box.hooks.at(-1)!;
  assert.match(body.pop_id, /^[0-9a-f-]{36}$/);
  assert.deepEqual(body.customer_details, {
    email: "budi@shop.example",
    full_name: "Budi Santoso",
  });
  const status = await box.status("order-1");
  assert.deepEqual([status.pop_id, status.customer_details], [undefined, undefined]);
});

Deno.test("card token: a wrong client key gets 401 with an older message", async () => {
  await using box = await openSandbox({ serverKey: SERVER_KEY });
  const { body } = await box.call("GET", "/v2/token?client_key=wrong");
  const message = "Transaction cannot be authorized with the current client/server key.";
  assert.deepEqual([body.status_code, body.status_message], ["401", message]);
});
