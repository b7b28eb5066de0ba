import assert from "node:assert/strict";
import { createGatewayClient, type GatewayClient } from "../../core/gateway/client.ts";
import {
  CLIENT_KEY,
  clientFor,
  openFakeGateway,
  respondWith,
  SERVER_KEY,
} from "../support/gateway/gateway.ts";

const AUTHORIZATION = "Basic U0ItTWlkLXNlcnZlci1hYmMxMjNjZGU0NTY6";
const CARD_QUERY = `client_key=${CLIENT_KEY}&card_number=4811111111111114`;
const chargeBody = {
  payment_type: "bank_transfer",
  transaction_details: { order_id: "order-101", gross_amount: 44_000 },
  bank_transfer: { bank: "bca" },
};
const key = { idempotencyKey: "key-1" };

interface Case {
  operation: keyof GatewayClient;
  call: (gateway: GatewayClient) => Promise<unknown>;
  sends: string;
  body?: string;
  /** The header with the idempotency key. */
  keyHeader?: "idempotency-key" | "x-idempotency-key";
  withoutServerKey?: true;
}

const CASES: Case[] = [
  {
    operation: "charge",
    call: (gateway) => gateway.charge(chargeBody, key),
    sends: "POST /v2/charge",
    body:
      '{"payment_type":"bank_transfer","transaction_details":{"order_id":"order-101","gross_amount":44000},"bank_transfer":{"bank":"bca"}}',
    keyHeader: "idempotency-key",
  },
  {
    operation: "getStatus",
    call: (gateway) => gateway.getStatus("order-101", key),
    sends: "GET /v2/order-101/status",
  },
  {
    operation: "getStatusB2b",
    call: (gateway) => gateway.getStatusB2b("order-101", key),
    sends: "GET /v2/order-101/status/b2b",
  },
  {
    operation: "getStatusB2b",
    call: (gateway) => gateway.getStatusB2b("order-101", { page: 0, perPage: 20 }),
    sends: "GET /v2/order-101/status/b2b?page=0&per_page=20",
  },
  ...(["cancel", "expire", "approve", "deny"] as const).map((operation): Case => ({
    operation,
    call: (gateway) => gateway[operation]("order-101", key),
    sends: `POST /v2/order-101/${operation}`,
    keyHeader: "idempotency-key",
  })),
  {
    operation: "capture",
    call: (gateway) => gateway.capture("transaction-1", 44_000, key),
    sends: "POST /v2/capture",
    body: '{"transaction_id":"transaction-1","gross_amount":44000}',
    keyHeader: "idempotency-key",
  },
  {
    operation: "refund",
    call: (gateway) => gateway.refund("order-101", "refund-1", 5_000, "Broken", key),
    sends: "POST /v2/order-101/refund",
    body: '{"refund_key":"refund-1","amount":5000,"reason":"Broken"}',
    keyHeader: "idempotency-key",
  },
  {
    operation: "refund",
    call: (gateway) => gateway.refund("order-101", "refund-1", 5_000),
    sends: "POST /v2/order-101/refund",
    body: '{"refund_key":"refund-1","amount":5000}',
  },
  {
    operation: "directRefund",
    call: (gateway) => gateway.directRefund("order-101", "refund-1", 5_000, "Broken", key),
    sends: "POST /v2/order-101/refund/online/direct",
    body: '{"refund_key":"refund-1","amount":5000,"reason":"Broken"}',
    keyHeader: "idempotency-key",
  },
  {
    operation: "directRefund",
    call: (gateway) => gateway.directRefund("order-101", "refund-1", 5_000),
    sends: "POST /v2/order-101/refund/online/direct",
    body: '{"refund_key":"refund-1","amount":5000}',
  },
  {
    operation: "getCardToken",
    call: (gateway) => gateway.getCardToken("4811111111111114", "01", "2030", "123"),
    sends: `GET /v2/token?${CARD_QUERY}&card_exp_month=01&card_exp_year=2030&card_cvv=123`,
    withoutServerKey: true,
  },
  {
    operation: "getCardToken",
    call: (gateway) =>
      gateway.getCardToken("4811 1111 1111 1114", "01", "2030", "123", "Mid-client-other", key),
    sends: "GET /v2/token?client_key=Mid-client-other&card_number=4811+1111+1111+1114" +
      "&card_exp_month=01&card_exp_year=2030&card_cvv=123",
    withoutServerKey: true,
  },
  {
    operation: "registerCard",
    call: (gateway) => gateway.registerCard("4811111111111114", "01", "2030", undefined, key),
    sends: `GET /v2/card/register?${CARD_QUERY}&card_exp_month=01&card_exp_year=2030`,
    withoutServerKey: true,
  },
  {
    operation: "pointInquiry",
    call: (gateway) => gateway.pointInquiry("48111111-1114-token", key),
    sends: "GET /v2/point_inquiry/48111111-1114-token",
  },
  {
    operation: "getBin",
    call: (gateway) => gateway.getBin("48111111", key),
    sends: "GET /v1/bins/48111111",
  },
  {
    operation: "getMerchantPreferences",
    call: (gateway) => gateway.getMerchantPreferences(key),
    sends: "GET /snap/v3/merchant-preferences",
  },
  {
    operation: "createSnapPage",
    call: (gateway) =>
      gateway.createSnapPage({ transaction_details: { order_id: "order-1", gross_amount: 1 } }, {
        ...key,
        notificationUrl: "https://pay.shop.example/notification/",
      }),
    sends: "POST /snap/v1/transactions",
    body: '{"transaction_details":{"order_id":"order-1","gross_amount":1}}',
  },
  {
    operation: "cancelSnapPage",
    call: (gateway) => gateway.cancelSnapPage("token-1", key),
    sends: "POST /snap/v1/transactions/token-1/cancel",
  },
  {
    operation: "createPayAccount",
    call: (gateway) => gateway.createPayAccount({ payment_type: "gopay" }, key),
    sends: "POST /v2/pay/account",
    body: '{"payment_type":"gopay"}',
  },
  {
    operation: "getPayAccount",
    call: (gateway) => gateway.getPayAccount("account-1", key),
    sends: "GET /v2/pay/account/account-1",
  },
  {
    operation: "unbindPayAccount",
    call: (gateway) => gateway.unbindPayAccount("account-1", key),
    sends: "POST /v2/pay/account/account-1/unbind",
  },
  {
    operation: "createSubscription",
    call: (gateway) => gateway.createSubscription({ name: "Monthly", amount: "14000" }, key),
    sends: "POST /v1/subscriptions",
    body: '{"name":"Monthly","amount":"14000"}',
    keyHeader: "idempotency-key",
  },
  {
    operation: "getSubscription",
    call: (gateway) => gateway.getSubscription("subscription-1", key),
    sends: "GET /v1/subscriptions/subscription-1",
  },
  ...(["disable", "enable", "cancel"] as const).map((action): Case => ({
    operation: `${action}Subscription`,
    call: (gateway) => gateway[`${action}Subscription`]("subscription-1", key),
    sends: `POST /v1/subscriptions/subscription-1/${action}`,
  })),
  {
    operation: "updateSubscription",
    call: (gateway) => gateway.updateSubscription("subscription-1", { name: "Weekly" }, key),
    sends: "PATCH /v1/subscriptions/subscription-1",
    body: '{"name":"Weekly"}',
  },
  {
    operation: "createInvoice",
    call: (gateway) => gateway.createInvoice({ order_id: "order-101" }, key),
    sends: "POST /v1/invoices",
    body: '{"order_id":"order-101"}',
    keyHeader: "x-idempotency-key",
  },
  {
    operation: "getInvoice",
    call: (gateway) => gateway.getInvoice("invoice-1", key),
    sends: "GET /v1/invoices/invoice-1",
  },
  {
    operation: "voidInvoice",
    call: (gateway) => gateway.voidInvoice("invoice-1", "Wrong customer", key),
    sends: "PATCH /v1/invoices/invoice-1/void",
    body: '{"void_reason":"Wrong customer"}',
    keyHeader: "x-idempotency-key",
  },
  {
    operation: "voidInvoice",
    call: (gateway) => gateway.voidInvoice("invoice-1"),
    sends: "PATCH /v1/invoices/invoice-1/void",
    body: "{}",
  },
];

for (const { operation, call, sends, body = "", keyHeader, withoutServerKey } of CASES) {
  Deno.test(`${operation}: sends ${sends.replace(/\?.*/, "?…")} ${body.slice(0, 40)}`, async () => {
    await using fake = openFakeGateway(respondWith({ status_code: "200" }));
    await call(clientFor(fake.url));
    assert.equal(fake.received.length, 1);
    const [{ method, target, headers, body: sent }] = fake.received as [typeof fake.received[0]];
    assert.equal(`${method} ${target}`, sends);
    assert.equal(sent, body);
    assert.equal(headers.get("authorization"), withoutServerKey ? null : AUTHORIZATION);
    assert.equal(headers.get("accept"), "application/json");
    assert.equal(headers.get("content-type"), "application/json");
    for (const name of ["idempotency-key", "x-idempotency-key"]) {
      assert.equal(headers.get(name), name === keyHeader ? "key-1" : null, name);
    }
  });
}

Deno.test("client: every operation that sends a request is tested", () => {
  const tested = new Set<string>(CASES.map(({ operation }) => operation));
  const gateway = clientFor("http://127.0.0.1:2");
  const localOperations = [
    "verifySignature",
    "breakerState",
    "takeProbe",
    "rateLimitPauseMs",
    "accountState",
    "verifyAccount",
    "time",
    "baseUrl",
  ];
  const requestOperations = Object.keys(gateway).filter((name) => !localOperations.includes(name));
  assert.deepEqual(requestOperations.sort(), [...tested].sort());
  assert.equal(requestOperations.length, 29);
});

/** Operations that put an id into the path. */
const BY_ID: Record<string, (gateway: GatewayClient, id: string) => Promise<unknown>> = {
  getStatus: (gateway, id) => gateway.getStatus(id),
  getStatusB2b: (gateway, id) => gateway.getStatusB2b(id),
  cancel: (gateway, id) => gateway.cancel(id),
  expire: (gateway, id) => gateway.expire(id),
  refund: (gateway, id) => gateway.refund(id, "refund-1", 1),
  directRefund: (gateway, id) => gateway.directRefund(id, "refund-1", 1),
  approve: (gateway, id) => gateway.approve(id),
  deny: (gateway, id) => gateway.deny(id),
  pointInquiry: (gateway, id) => gateway.pointInquiry(id),
  getBin: (gateway, id) => gateway.getBin(id),
  getPayAccount: (gateway, id) => gateway.getPayAccount(id),
  cancelSnapPage: (gateway, id) => gateway.cancelSnapPage(id),
  unbindPayAccount: (gateway, id) => gateway.unbindPayAccount(id),
  getSubscription: (gateway, id) => gateway.getSubscription(id),
  disableSubscription: (gateway, id) => gateway.disableSubscription(id),
  enableSubscription: (gateway, id) => gateway.enableSubscription(id),
  cancelSubscription: (gateway, id) => gateway.cancelSubscription(id),
  updateSubscription: (gateway, id) => gateway.updateSubscription(id, {}),
  getInvoice: (gateway, id) => gateway.getInvoice(id),
  voidInvoice: (gateway, id) => gateway.voidInvoice(id),
};

for (const [operation, call] of Object.entries(BY_ID)) {
  Deno.test(`${operation}: rejects or encodes an id that would change the path`, async () => {
    await using fake = openFakeGateway(respondWith({ status_code: "200" }));
    const gateway = clientFor(fake.url);
    for (const id of ["", ".", "..", "\ud800"]) {
      await assert.rejects(call(gateway, id), TypeError);
    }
    assert.equal(fake.received.length, 0);

    await call(gateway, "plain");
    const segments = fake.received[0]!.target.split("/");
    const hostile = [
      "../../v2/charge",
      "a/b",
      "a?b=c",
      "a#b",
      "%2e%2e",
      "a b",
      "é",
      "\\..\\",
      "a;b",
    ];
    for (const id of hostile) {
      await call(gateway, id);
      const { target } = fake.received.at(-1)!;
      assert.deepEqual(
        target.split("/").map(decodeURIComponent),
        segments.map((each) => each === "plain" ? id : each),
      );
    }
  });
}

Deno.test("client: rejects an amount that is not a whole number above 0", async () => {
  await using fake = openFakeGateway(respondWith({ status_code: "200" }));
  const gateway = clientFor(fake.url);
  for (
    const amount of [0.5, 44_000.1, 0, -1, NaN, Infinity, 2 ** 53, "44000" as unknown as number]
  ) {
    const transaction_details = { order_id: "order-101", gross_amount: amount };
    await assert.rejects(gateway.charge({ ...chargeBody, transaction_details }), TypeError);
    await assert.rejects(gateway.capture("transaction-1", amount), TypeError);
    await assert.rejects(gateway.refund("order-101", "refund-1", amount), TypeError);
    await assert.rejects(gateway.directRefund("order-101", "refund-1", amount), TypeError);
  }
  assert.equal(fake.received.length, 0);
});

Deno.test("client: rejects an idempotency key that the gateway would ignore", async () => {
  await using fake = openFakeGateway(respondWith({ status_code: "200" }));
  const gateway = clientFor(fake.url);
  for (const idempotencyKey of ["", "k".repeat(47), "kéy", "k\ny", " key", "key "]) {
    await assert.rejects(gateway.cancel("order-101", { idempotencyKey }), TypeError);
    await assert.rejects(gateway.createInvoice({}, { idempotencyKey }), TypeError);
  }
  assert.equal(fake.received.length, 0);
  await gateway.cancel("order-101", { idempotencyKey: "k".repeat(46) });
  assert.equal(fake.received[0]!.headers.get("idempotency-key"), "k".repeat(46));
});

Deno.test("client: rejects card operations without a client key", async () => {
  await using fake = openFakeGateway(respondWith({ status_code: "200" }));
  const gateway = clientFor(fake.url, { clientKey: null });
  const missingClientKey = { name: "TypeError", message: /GATEWAY_CLIENT_KEY/ };
  await assert.rejects(gateway.getCardToken("4811111111111114", 1, 2030, "123"), missingClientKey);
  await assert.rejects(gateway.registerCard("4811111111111114", 1, 2030), missingClientKey);
  await assert.rejects(gateway.registerCard("4811111111111114", 1, 2030, ""), missingClientKey);
  assert.equal(fake.received.length, 0);
  await gateway.registerCard("4811111111111114", 1, 2030, CLIENT_KEY);
  assert.equal(fake.received.length, 1);
});

Deno.test("client: cannot be created without a valid server key", () => {
  for (const serverKey of ["", " ", "with space", "line\nbreak", "kéy"]) {
    const options = { baseUrl: "http://127.0.0.1:2", serverKey, clientKey: null };
    assert.throws(() => createGatewayClient(options), TypeError);
  }
});

Deno.test("client: does not follow redirects", async () => {
  await using redirectTarget = openFakeGateway(respondWith({ status_code: "200" }));
  for (const status of [301, 302, 303, 307, 308]) {
    await using fake = openFakeGateway(() =>
      Response.redirect(redirectTarget.url + "/stolen", status)
    );
    const gateway = clientFor(fake.url);
    const redirected = { name: "GatewayAPIError", statusCode: String(status) };
    await assert.rejects(gateway.getStatus("order-101"), redirected);
    await assert.rejects(gateway.cancel("order-101"), { ...redirected, outcome: "unknown" });
  }
  assert.equal(redirectTarget.received.length, 0);
});

Deno.test("client: keeps the path of the base URL", async () => {
  await using fake = openFakeGateway(respondWith({ status_code: "200" }));
  await clientFor(fake.url + "/proxy/gateway").getStatus("order-101");
  assert.equal(fake.received[0]!.target, "/proxy/gateway/v2/order-101/status");
  assert.equal(atob(AUTHORIZATION.slice("Basic ".length)), `${SERVER_KEY}:`);
});
