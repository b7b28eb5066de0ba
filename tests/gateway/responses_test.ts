import assert from "node:assert/strict";
import { isDenied, isEarlierCallInProgress } from "../../core/gateway/responses.ts";
import { clientFor, openFakeGateway, respondWith } from "../support/gateway/gateway.ts";

async function statusOf(body: object) {
  await using fake = openFakeGateway(respondWith(body));
  return await clientFor(fake.url).getStatus("order-101");
}

Deno.test("response: has the code, the typed body and the raw body", async () => {
  const sent = {
    status_code: "201",
    gross_amount: "44000.00",
    transaction_status: "pending",
    va_numbers: [{ bank: "bca", va_number: "812785002530231" }],
    brand_new: { deep: [1, "two"] },
  };
  const { statusCode, body, raw } = await statusOf(sent);
  assert.equal(statusCode, "201");
  assert.deepEqual(raw, sent);
  assert.deepEqual(body.va_numbers, sent.va_numbers);
  assert.deepEqual(body.brand_new, sent.brand_new);
  assert.equal(body.transaction_id, null);
  assert.deepEqual(body.refunds, []);
});

Deno.test("response: converts fields of an unexpected type and leaves the raw body unchanged", async () => {
  const sent = {
    status_code: 200,
    gross_amount: 44_000,
    refund_amount: 5_000.5,
    transaction_status: "PENDING",
    fraud_status: "Accept",
    installment_term: "12",
    refund_chargeback_id: 1,
    expire_time: "2026-01-01 10:00:00",
  };
  const { statusCode, body, raw } = await statusOf(sent);
  assert.equal(statusCode, "200");
  assert.equal(body.status_code, "200");
  assert.equal(body.gross_amount, "44000.00");
  assert.equal(body.refund_amount, "5000.50");
  assert.equal(body.transaction_status, "pending");
  assert.equal(body.fraud_status, "accept");
  assert.equal(body.installment_term, 12);
  assert.equal(body.refund_chargeback_id, "1");
  assert.equal(body.expiry_time, "2026-01-01 10:00:00");
  assert.deepEqual(raw, sent);
});

Deno.test("response: reads an amount exactly, or as null if it has no exact value", async () => {
  const exact = { "44000.00": "44000.00", "44000": "44000.00", "5.5": "5.50", "5.500": "5.50" };
  const numbers = [[0, "0.00"], [44_000, "44000.00"], [44_000.25, "44000.25"]];
  const inexact = [9_007_199_254_740_993, 1e300, 0.001, "1e3", "44,000.00", "5.001", "-1", {}, ""];
  const amounts = [
    ...Object.entries(exact),
    ...numbers,
    ...inexact.map((amount) => [amount, null]),
  ];
  for (const [sent, expected] of amounts) {
    const { body } = await statusOf({ status_code: "200", gross_amount: sent });
    assert.equal(body.gross_amount, expected, JSON.stringify(sent));
  }
});

Deno.test("response: reads absent, null and invalid fields as null and keeps the others", async () => {
  const { body } = await statusOf({
    status_code: "200",
    order_id: null,
    transaction_status: 7,
    bank: { name: "bca" },
    installment_term: "twelve",
    va_numbers: "none",
    refunds: [7, null, { refund_key: "refund-1", refund_amount: 5_000 }],
    actions: [{ name: "get-status", url: "https://example.com" }],
    metadata: [],
    transaction_id: "transaction-1",
  });
  assert.equal(body.order_id, null);
  assert.equal(body.transaction_status, null);
  assert.equal(body.bank, null);
  assert.equal(body.installment_term, null);
  assert.deepEqual(body.va_numbers, []);
  assert.equal(body.refunds.length, 1);
  assert.equal(body.refunds[0]?.refund_amount, "5000.00");
  assert.equal(body.actions[0]?.method, null);
  assert.equal(body.metadata, null);
  assert.equal(body.transaction_id, "transaction-1");
});

Deno.test("response: reads expire_time only if expiry_time is missing", async () => {
  const both = await statusOf({ status_code: "200", expiry_time: "a", expire_time: "b" });
  assert.equal(both.body.expiry_time, "a");
  const onlyExpireTime = await statusOf({
    status_code: "200",
    expiry_time: null,
    expire_time: "b",
  });
  assert.equal(onlyExpireTime.body.expiry_time, "b");
});

Deno.test("response: takes the HTTP status as the code for subscriptions, invoices and bins", async () => {
  await using fake = openFakeGateway(({ target }) =>
    target.startsWith("/v1/invoices")
      ? Response.json({ id: "5f3a", status: "PENDING", gross_amount: 13_324 }, { status: 201 })
      : target.startsWith("/v1/bins")
      ? Response.json({ data: { bin: "48111111", registration_required: false } })
      : Response.json({ id: "sub", amount: "14000", transaction_ids: ["a", 7], schedule: null })
  );
  const gateway = clientFor(fake.url);
  const invoice = await gateway.createInvoice({});
  assert.equal(invoice.statusCode, "201");
  assert.equal(invoice.body.status, "pending");
  assert.equal(invoice.body.gross_amount, "13324.00");
  assert.equal((await gateway.getBin("48111111")).body.data?.registration_required, false);
  const { body } = await gateway.getSubscription("sub");
  assert.equal(body.amount, "14000.00");
  assert.deepEqual(body.transaction_ids, ["a"]);
  assert.equal(body.schedule, null);
});

Deno.test("response: converts each transaction of a multi-use virtual account", async () => {
  const transactions = [{ transaction_status: "SETTLEMENT", gross_amount: 1 }, "nonsense"];
  await using fake = openFakeGateway(respondWith({ status_code: "200", transactions }));
  const { body } = await clientFor(fake.url).getStatusB2b("order-101");
  assert.equal(body.transactions.length, 1);
  assert.equal(body.transactions[0]?.transaction_status, "settlement");
  assert.equal(body.transactions[0]?.gross_amount, "1.00");
});

Deno.test("202: for a transaction, is a denial only if the body reports a denial", async () => {
  const denials = [
    { status_code: "202", transaction_status: "DENY" },
    { status_code: 202, transaction_status: "deny", fraud_status: "deny" },
    {
      status_code: "202",
      status_message: "Refund denied by the bank",
      transaction_status: "settlement",
    },
  ];
  for (const body of denials) {
    const response = await statusOf(body);
    assert.ok(isDenied(response), JSON.stringify(body));
    assert.ok(!isEarlierCallInProgress(response));
  }
  const running = await statusOf({ status_code: "202", status_message: "Still running" });
  assert.ok(!isDenied(running));
  assert.ok(isEarlierCallInProgress(running));
  const deniedWith200 = await statusOf({ status_code: "200", transaction_status: "deny" });
  assert.ok(!isDenied(deniedWith200) && !isEarlierCallInProgress(deniedWith200));
});

Deno.test("202: without a status code in the body means that an earlier call is in progress", async () => {
  await using fake = openFakeGateway(() => Response.json({}, { status: 202 }));
  const response = await clientFor(fake.url).cancel("order-101");
  assert.equal(response.statusCode, "202");
  assert.ok(isEarlierCallInProgress(response));
});

Deno.test("202: for a pay account, is always a denial", async () => {
  const body = { status_code: "202", channel_response_code: "105" };
  await using fake = openFakeGateway(respondWith(body));
  const response = await clientFor(fake.url).createPayAccount({});
  assert.ok(isDenied(response));
  assert.ok(!isEarlierCallInProgress(response));
});
