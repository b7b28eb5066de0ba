import assert from "node:assert/strict";
import {
  ACCEPTED_CARD,
  AMOUNT,
  CHALLENGED_CARD,
  CLIENT_KEY,
  CUSTOMER,
  ITEMS,
  type Json,
  type Kind,
  KINDS,
  merge,
  openSandbox,
  SERVER_KEY,
  type TestSandbox,
} from "../support/gateway/sandbox.ts";
import { SUBSCRIPTION } from "../support/gateway/sandbox_requests.ts";
import { MIDTRANS_CLIENT } from "../support/tools.ts";

const { default: { CoreApi, MidtransError, Snap } }: Json = await import(MIDTRANS_CLIENT);

/**
 * The client's base URL is a static field, so the tests in this file run in sequence, each with its
 * own sandbox.
 */
async function withClient(run: (api: Json, box: TestSandbox) => Promise<void>) {
  await using box = await openSandbox();
  const api = new CoreApi({ isProduction: false, serverKey: SERVER_KEY, clientKey: CLIENT_KEY });
  api.apiConfig.constructor.CORE_SANDBOX_BASE_URL = box.url;
  // Otherwise the client's sockets stay open into the next test.
  api.httpClient.http_client.defaults.headers.common.Connection = "close";
  await run(api, box);
}

function testClient(name: string, run: (api: Json, box: TestSandbox) => Promise<void>) {
  Deno.test(`official client: ${name}`, () => withClient(run));
}

let orders = 0;

async function token(api: Json, card_number = ACCEPTED_CARD): Promise<string> {
  const answer = await api.cardToken({
    card_number,
    card_cvv: "123",
    card_exp_month: "12",
    card_exp_year: "2099",
    client_key: CLIENT_KEY,
  });
  assert.equal(answer.status_code, "200");
  return answer.token_id;
}

async function charge(api: Json, kind: Kind, more: Json = {}): Promise<Json> {
  const transaction_details = { order_id: `official-${++orders}`, gross_amount: AMOUNT };
  const isCard = kind.startsWith("card");
  const card = kind === "card_challenge" ? CHALLENGED_CARD : ACCEPTED_CARD;
  const cardFields = isCard ? { credit_card: { token_id: await token(api, card) } } : {};
  return await api.charge(merge(merge({ transaction_details, ...KINDS[kind] }, cardFields), more));
}

/**
 * The client throws the code as a string if it was in the body, and as a number if it was the HTTP
 * status.
 */
async function assertRefused(call: Promise<unknown>, code: string | number, message?: string) {
  await assert.rejects(call, (error: Json) => {
    assert.ok(error instanceof MidtransError, String(error));
    assert.strictEqual(error.httpStatusCode, code, error.message);
    if (message) assert.equal(error.ApiResponse.status_message, message);
    return true;
  });
}

for (const kind of Object.keys(KINDS) as Kind[]) {
  testClient(`charges ${kind}`, async (api) => {
    const answer = await charge(api, kind);
    assert.match(answer.status_code, /^20[01]$/);
    assert.equal(answer.gross_amount, "44000.00");
    const status = await api.transaction.status(answer.transaction_id);
    assert.equal(status.order_id, answer.order_id);
    assert.equal(status.transaction_status.toLowerCase(), answer.transaction_status);
  });
}

testClient("charges with items and a customer", async (api) => {
  const answer = await charge(api, "bca", { item_details: ITEMS, customer_details: CUSTOMER });
  assert.equal(answer.status_code, "201");
});

testClient("gets HTTP 400 and all messages for an invalid charge", async (api) => {
  await assert.rejects(
    charge(api, "bca", { transaction_details: { gross_amount: 0 } }),
    (error: Json) => {
      assert.strictEqual(error.httpStatusCode, 400);
      assert.match(error.ApiResponse.validation_messages[0], /0\.01$/);
      return true;
    },
  );
});

testClient("gets HTTP 401 for a wrong key", async (api) => {
  api.apiConfig.set({ serverKey: "SB-Mid-server-wrong" });
  const message = "Unknown Merchant server_key/id";
  await assertRefused(charge(api, "bca"), 401, message);
  api.apiConfig.serverKey = "";
  await assertRefused(
    api.transaction.status("x"),
    401,
    "Operation is not allowed due to unauthorized payload.",
  );
});

testClient("gets 404 in the body for an unknown transaction", async (api) => {
  const { transaction } = api;
  const calls = ["status", "statusb2b", "approve", "deny", "cancel", "expire", "refund"];
  for (const name of [...calls, "refundDirect"]) {
    await assertRefused(transaction[name]("unknown"), "404", "Transaction doesn't exist.");
  }
});

testClient("gets 406 in the body for an order id in use", async (api) => {
  const { order_id } = await charge(api, "bca");
  await assertRefused(charge(api, "gopay", { transaction_details: { order_id } }), "406");
});

testClient("expires a transaction and does not throw on code 407", async (api) => {
  const { order_id } = await charge(api, "bca");
  const expired = await api.transaction.expire(order_id);
  assert.deepEqual([expired.status_code, expired.transaction_status], ["407", "expire"]);
  assert.equal((await api.transaction.status(order_id)).status_code, "407");
  await assertRefused(api.transaction.expire(order_id), "412");
});

testClient("cancels a transaction", async (api) => {
  for (const kind of ["permata", "card", "gopay"] as const) {
    const { order_id } = await charge(api, kind);
    assert.equal((await api.transaction.cancel(order_id)).status_code, "200");
    await assertRefused(api.transaction.cancel(order_id), "412");
  }
});

testClient("approves and denies challenged payments only", async (api) => {
  const approved = await charge(api, "card_challenge");
  assert.equal((await api.transaction.approve(approved.order_id)).fraud_status, "accept");
  const denied = await charge(api, "card_challenge");
  assert.equal((await api.transaction.deny(denied.order_id)).transaction_status, "cancel");
  const accepted = await charge(api, "card");
  const message = "Transaction status cannot be updated.";
  await assertRefused(api.transaction.approve(accepted.order_id), "412", message);
  await assertRefused(api.transaction.deny(accepted.order_id), "412", message);
});

testClient("refunds settled payments only", async (api, box) => {
  const { order_id, transaction_id } = await charge(api, "card");
  await assertRefused(api.transaction.refund(order_id, { amount: 5_000 }), "412");
  await assertRefused(api.transaction.refundDirect(order_id, { amount: 5_000 }), "412");
  await box.control(`transactions/${transaction_id}/settle`);
  const parameter = { refund_key: "reference1", amount: 5_000, reason: "for some reason" };
  const first = await api.transaction.refund(order_id, parameter);
  assert.deepEqual([first.transaction_status, first.refund_amount], ["partial_refund", "5000.00"]);
  await assertRefused(api.transaction.refund(order_id, parameter), "406", "Duplicate refund ID");
  await assertRefused(api.transaction.refund(order_id, { amount: 40_000 }), "414");
  const second = await api.transaction.refundDirect(order_id, { refund_key: "reference2" });
  assert.deepEqual([second.transaction_status, second.refund_amount], ["refund", "44000.00"]);
});

testClient("captures an authorization", async (api) => {
  const { transaction_id } = await charge(api, "card_auth");
  const captured = await api.capture({ transaction_id, gross_amount: 40_000 });
  assert.deepEqual([captured.status_code, captured.gross_amount], ["200", "40000.00"]);
  await assertRefused(api.capture({ transaction_id, gross_amount: 1 }), "412");
});

testClient("lists the payments of a virtual account", async (api) => {
  const { order_id } = await charge(api, "bca");
  const { transactions } = await api.transaction.statusb2b(order_id);
  assert.equal(transactions[0].order_id, order_id);
});

testClient("creates tokens, registers cards and inquires points", async (api) => {
  const wrong = { card_number: "4811111111111115", client_key: CLIENT_KEY };
  await assertRefused(api.cardToken(wrong), "400");
  await assertRefused(api.cardToken({ ...wrong, client_key: "x" }), 401);
  const registered = await api.cardRegister({
    card_number: ACCEPTED_CARD,
    card_exp_month: "12",
    card_exp_year: "2099",
    client_key: CLIENT_KEY,
  });
  assert.match(registered.saved_token_id, /^48111111.{20}1114$/);
  assert.equal(registered.masked_card, "48111111-1114");
  await assertRefused(api.cardPointInquiry(await token(api)), "402");
  const points = await api.cardPointInquiry(await token(api, "4617006959746656"));
  assert.equal(points.point_balance_amount, "10000.00");
  const used = await token(api);
  await charge(api, "card", { credit_card: { token_id: used } });
  await assertRefused(charge(api, "card", { credit_card: { token_id: used } }), "411");
});

testClient("links, reads and unlinks an account", async (api, box) => {
  const gopay_partner = { phone_number: "8123456789", country_code: "62" };
  const linked = await api.linkPaymentAccount({ payment_type: "gopay", gopay_partner });
  assert.deepEqual([linked.status_code, linked.account_status], ["201", "PENDING"]);
  const { account_id } = linked;
  await assertRefused(
    api.unlinkPaymentAccount(account_id),
    "412",
    "Account status cannot be updated.",
  );
  await box.control(`accounts/${account_id}/activate`);
  const account = await api.getPaymentAccount(account_id);
  assert.equal(account.status_code, "200");
  const [{ token: payment_option_token }] = account.metadata.payment_options;
  const paid = await charge(api, "gopay", { gopay: { account_id, payment_option_token } });
  assert.equal(paid.transaction_status, "settlement");
  assert.equal((await api.unlinkPaymentAccount(account_id)).status_code, "204");
  assert.equal((await api.getPaymentAccount(account_id)).status_code, "204");
  await assertRefused(api.getPaymentAccount("unknown"), "404", "Account doesn't exist.");
  const blocked = { ...gopay_partner, phone_number: "123450002" };
  await assertRefused(
    api.linkPaymentAccount({ payment_type: "gopay", gopay_partner: blocked }),
    "410",
  );
});

testClient("creates, reads, disables, enables and updates a subscription", async (api) => {
  const { id, status } = await api.createSubscription(SUBSCRIPTION);
  assert.equal(status, "active");
  assert.deepEqual((await api.getSubscription(id)).transaction_ids, []);
  const updated = { status_message: "Subscription is updated." };
  assert.deepEqual(await api.disableSubscription(id), updated);
  assert.equal((await api.getSubscription(id)).status, "inactive");
  assert.deepEqual(await api.enableSubscription(id), updated);
  assert.equal((await api.getSubscription(id)).status, "active");
  const { name, currency, token } = SUBSCRIPTION;
  assert.deepEqual(
    await api.updateSubscription(id, { name, currency, token, amount: "21000" }),
    updated,
  );
  assert.equal((await api.getSubscription(id)).amount, "21000");
});

testClient("gets HTTP 404 for an unknown subscription and 400 for an invalid one", async (api) => {
  for (const name of ["getSubscription", "disableSubscription", "enableSubscription"]) {
    await assertRefused(api[name]("unknown"), 404, "Subscription doesn't exist.");
  }
  const { name, currency, token, amount } = SUBSCRIPTION;
  await assertRefused(api.updateSubscription("unknown", { name, currency, token, amount }), 404);
  await assertRefused(api.createSubscription({}), 400, "Invalid parameter.");
});

testClient("reads every webhook as text and as an object", async (api, box) => {
  const { transaction_id } = await charge(api, "bca");
  await box.control(`transactions/${transaction_id}/pay`);
  const expired = await charge(api, "gopay");
  await api.transaction.expire(expired.order_id);
  await box.waitForWebhooks();
  assert.equal(box.hooks.length, 4);
  for (const { text, body } of box.hooks) {
    assert.equal((await api.transaction.notification(text)).transaction_id, body.transaction_id);
    const read = await api.transaction.notification(body);
    assert.equal(read.order_id, body.order_id);
    assert.equal(
      read.transaction_status,
      body.order_id === expired.order_id ? "expire" : "settlement",
    );
  }
});

testClient("throws gateway failures as errors", async (api, box) => {
  await box.fault("charge", "error_503");
  await assertRefused(charge(api, "bca"), 503);
  await box.fault("charge", "hidden_500");
  await assertRefused(charge(api, "bca"), "500");
  await box.fault("charge", "answer_lost");
  await assert.rejects(charge(api, "bca"));
});

/** The client's Snap calls; its own tests of Snap, as far as they send requests. */
function testSnap(name: string, run: (snap: Json, box: TestSandbox) => Promise<void>) {
  testClient(`Snap: ${name}`, async (api, box) => {
    const snap = new Snap({ isProduction: false, serverKey: SERVER_KEY, clientKey: CLIENT_KEY });
    api.apiConfig.constructor.SNAP_SANDBOX_BASE_URL = `${box.url}/snap/v1`;
    snap.httpClient.http_client.defaults.headers.common.Connection = "close";
    await run(snap, box);
  });
}

function snapParameter(more: Json = {}): Json {
  const transaction_details = { order_id: `official-${++orders}`, gross_amount: 200_000 };
  return { transaction_details, credit_card: { secure: true }, ...more };
}

testSnap("creates a transaction, a token and a redirect URL", async (snap, box) => {
  const created = await snap.createTransaction(snapParameter());
  assert.equal(created.redirect_url, `${box.url}/snap/v3/redirection/${created.token}`);
  const token = await snap.createTransactionToken(snapParameter());
  assert.equal(token.length, 36);
  const url = await snap.createTransactionRedirectUrl(snapParameter());
  assert.ok(url.startsWith(`${box.url}/snap/v3/redirection/`));
  const page = await fetch(url);
  assert.equal(page.status, 200);
  await page.body?.cancel();
});

testSnap("creates a transaction with all parameters", async (snap) => {
  const person = { first_name: "John", last_name: "Watson", email: "test@shop.example" };
  const address = { ...person, phone: "081 2233 44-55", address: "Sudirman", city: "Jakarta" };
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 19).replace("T", " ");
  const { token } = await snap.createTransaction(snapParameter({
    item_details: [{ id: "ITEM1", price: 200_000, quantity: 1, name: "Bear", brand: "Midtrans" }],
    customer_details: { ...person, billing_address: address, shipping_address: address },
    enabled_payments: ["credit_card", "mandiri_clickpay", "echannel", "bca_va", "other_va", "gci"],
    credit_card: {
      secure: true,
      channel: "migs",
      bank: "bca",
      installment: { required: false, terms: { bni: [3, 6, 12], offline: [6, 12] } },
      whitelist_bins: ["48111111", "41111111"],
    },
    bca_va: { va_number: "12345678911" },
    callbacks: { finish: "https://shop.example/" },
    expiry: { start_time: `${tomorrow} +0000`, unit: "minutes", duration: 1 },
    custom_field1: "custom field 1 content",
  }));
  assert.equal(token.length, 36);
});

testSnap(
  "reads the status with 404 before a card is confirmed, then the payment",
  async (snap, box) => {
    const parameter = snapParameter();
    const { order_id } = parameter.transaction_details;
    const token = await snap.createTransactionToken(parameter);
    await assertRefused(snap.transaction.status(order_id), "404");
    await box.control(`snap/${token}/pay`, { card_number: ACCEPTED_CARD });
    assert.equal((await snap.transaction.status(order_id)).transaction_status, "capture");
  },
);

testSnap("gets HTTP 400 with a list of messages, and 401 for a wrong key", async (snap) => {
  await assert.rejects(snap.createTransaction(), (error: Json) => {
    assert.strictEqual(error.httpStatusCode, 400);
    assert.ok(Array.isArray(error.ApiResponse.error_messages));
    assert.ok(error.rawHttpClientData.data);
    return true;
  });
  const zero = snapParameter();
  zero.transaction_details.gross_amount = 0;
  await assertRefused(snap.createTransaction(zero), 400);
  snap.apiConfig.serverKey = "";
  await assertRefused(snap.createTransaction(snapParameter()), 401);
  await assertRefused(snap.transaction.status("x"), 401);
});

testSnap("sends notifications to the URL of X-Override-Notification", async (snap, box) => {
  const { headers } = snap.httpClient.http_client.defaults;
  headers.common["X-Override-Notification"] = `${box.receiver.url}/override`;
  const token = await snap.createTransactionToken(snapParameter());
  await box.control(`snap/${token}/pay`, { card_number: ACCEPTED_CARD });
  await box.waitForWebhooks();
  assert.deepEqual(box.hooks.map(({ path }) => path), ["/override", "/override"]);
});
