import assert from "node:assert/strict";
import { openGateway } from "../../commands/gateway.ts";
import { parseConfig } from "../../core/config/config.ts";
import { createGatewayClient, type GatewayClient } from "../../core/gateway/client.ts";
import {
  GatewayAPIError,
  GatewayAuthenticationError,
  GatewayDuplicateOrderError,
  GatewayError,
  GatewayRateLimitError,
  GatewayValidationError,
} from "../../core/gateway/errors.ts";
import { isDenied, isEarlierCallInProgress } from "../../core/gateway/responses.ts";
import { createLog } from "../../core/telemetry/log.ts";
import { DEFAULT_KEYS, startSandbox } from "../../sandbox/sandbox.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { createDataFolder } from "../support/project.ts";
import { until } from "../support/until.ts";

/** A gateway client and the sandbox that it calls. */
interface Pair extends AsyncDisposable {
  client: GatewayClient;
  url: string;
  waits: ReturnType<typeof createWaits>;
  /** Calls the sandbox's control API. */
  control(path: string, body?: unknown): Promise<Record<string, unknown>>;
  fault(operation: string, fault: string, more?: Record<string, unknown>): Promise<void>;
  /** A bank transfer, unless `more` says otherwise. */
  charge(orderId: string, more?: Record<string, unknown>): ReturnType<GatewayClient["charge"]>;
  chargeCard(orderId: string, card: string, more?: object): ReturnType<GatewayClient["charge"]>;
  /** Charges a card, settles the payment and returns its transaction id. */
  settleCard(orderId: string): Promise<string>;
}

async function openPair(
  options: { clientKey?: string | null; serverKey?: string } = {},
): Promise<Pair> {
  const sandbox = await startSandbox({ path: null, port: 0, seed: 7 });
  const waits = createWaits();
  const client = createGatewayClient({
    baseUrl: sandbox.url,
    serverKey: options.serverKey ?? DEFAULT_KEYS.server,
    clientKey: options.clientKey === undefined ? DEFAULT_KEYS.client : options.clientKey,
    wait: waits.wait,
  });
  const control: Pair["control"] = async (path, body = {}) => {
    const init = { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${sandbox.url}/_sandbox${path}`, init);
    const answer = await response.json();
    assert.ok(response.ok, JSON.stringify(answer));
    return answer;
  };
  const charge: Pair["charge"] = (orderId, more) =>
    client.charge({
      payment_type: "bank_transfer",
      transaction_details: { order_id: orderId, gross_amount: 44000 },
      bank_transfer: { bank: "bca" },
      ...more,
    });
  const chargeCard: Pair["chargeCard"] = async (orderId, number, more = {}) => {
    const { body } = await client.getCardToken(number, 12, 2080, "123");
    return await charge(orderId, {
      payment_type: "credit_card",
      credit_card: { token_id: body.token_id, ...more },
    });
  };
  return {
    client,
    url: sandbox.url,
    waits,
    control,
    fault: async (operation, fault, more) => {
      await control("/faults", { operation, fault, ...more });
    },
    charge,
    chargeCard,
    async settleCard(orderId) {
      const { body } = await chargeCard(orderId, GOOD_CARD, { bank: "bca" });
      await control(`/transactions/${orderId}/settle`);
      return body.transaction_id!;
    },
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

const GOOD_CARD = "4811111111111114";
const CHALLENGED_CARD = "4511111111111117";
const REFUSED_CARD = "4911111111111113";

async function errorOf(call: Promise<unknown>): Promise<GatewayError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return error;
  }
  assert.fail("The call did not fail");
}

Deno.test("client and sandbox: charge every payment type and read its status", async () => {
  await using pair = await openPair();
  const customer = {
    first_name: "Budi",
    email: "budi@example.com",
    phone: "+628123456789",
    shipping_address: { first_name: "Budi", address: "Jl. Thamrin 1" },
  };
  const items = [{
    id: "1",
    name: "Coffee",
    price: 44000,
    quantity: 1,
    category: "drinks",
    url: "https://shop.example.com/1",
  }];
  const kinds: Record<string, [request: Record<string, unknown>, shownField: string]> = {
    bca: [{ bank_transfer: { bank: "bca" } }, "va_numbers"],
    bni: [{ bank_transfer: { bank: "bni" } }, "va_numbers"],
    bri: [{ bank_transfer: { bank: "bri" } }, "va_numbers"],
    cimb: [{ bank_transfer: { bank: "cimb" } }, "va_numbers"],
    permata: [{ bank_transfer: { bank: "permata" } }, "permata_va_number"],
    echannel: [{
      payment_type: "echannel",
      echannel: { bill_info1: "Payment", bill_info2: "Coffee" },
    }, "bill_key"],
    gopay: [{ payment_type: "gopay" }, "actions"],
    shopeepay: [{ payment_type: "shopeepay" }, "actions"],
    ovo: [{ payment_type: "ovo", ovo: { payer_phone_number: "08123456789" } }, "expiry_time"],
    dana: [{ payment_type: "dana" }, "actions"],
    qris: [{ payment_type: "qris" }, "qr_string"],
    indomaret: [{ payment_type: "cstore", cstore: { store: "indomaret" } }, "payment_code"],
    alfamart: [{ payment_type: "cstore", cstore: { store: "alfamart" } }, "payment_code"],
    akulaku: [{
      payment_type: "akulaku",
      item_details: items,
      customer_details: customer,
    }, "redirect_url"],
    kredivo: [{
      payment_type: "kredivo",
      item_details: items,
      customer_details: customer,
    }, "redirect_url"],
  };
  for (const [kind, [request, shownField]] of Object.entries(kinds)) {
    const { statusCode, body } = await pair.charge(kind, request);
    assert.equal(statusCode, "201", kind);
    assert.equal(body.transaction_status, "pending", kind);
    assert.equal(body.gross_amount, "44000.00", kind);
    assert.match(body.expiry_time!, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, kind);
    const shown = body[shownField];
    assert.ok(Array.isArray(shown) ? shown.length > 0 : shown, `${kind} has no ${shownField}`);
    const status = await pair.client.getStatus(body.transaction_id!);
    assert.equal(status.body.transaction_status, "pending", kind);
    assert.equal(status.body.order_id, kind);
  }
});

Deno.test("client and sandbox: charge cards that are captured, denied, challenged or need 3-D Secure", async () => {
  await using pair = await openPair();
  const { client } = pair;
  const captured = await pair.chargeCard("captured", GOOD_CARD);
  assert.equal(captured.body.transaction_status, "capture");
  assert.equal(captured.body.fraud_status, "accept");

  const refused = await pair.chargeCard("refused", REFUSED_CARD);
  assert.equal(refused.statusCode, "202");
  assert.ok(isDenied(refused));

  const waitingCharge = await pair.chargeCard("waiting", GOOD_CARD, { authentication: true });
  assert.equal(waitingCharge.statusCode, "201");
  assert.ok(waitingCharge.body.redirect_url);
  await pair.control("/transactions/waiting/three_ds", { result: "success" });
  assert.equal((await client.getStatus("waiting")).body.transaction_status, "capture");

  for (
    const [order, decide, status] of [
      ["good", "approve", "capture"],
      ["bad", "deny", "cancel"],
    ] as const
  ) {
    const challenged = await pair.chargeCard(order, CHALLENGED_CARD);
    assert.equal(challenged.body.fraud_status, "challenge");
    const decided = await client[decide](challenged.body.transaction_id!);
    assert.equal(decided.statusCode, "200");
    assert.equal(decided.body.transaction_status, status);
  }

  const held = await pair.chargeCard("held", GOOD_CARD, { type: "authorize" });
  assert.equal(held.body.transaction_status, "authorize");
  const part = await client.capture(held.body.transaction_id!, 30000);
  assert.equal(part.body.transaction_status, "capture");
  assert.equal(part.body.gross_amount, "30000.00");
});

Deno.test("client and sandbox: cancel, expire, refund and direct refund", async () => {
  await using pair = await openPair();
  const { client } = pair;
  await pair.charge("cancelled");
  assert.equal((await client.cancel("cancelled")).body.transaction_status, "cancel");

  await pair.charge("expired");
  const expired = await client.expire("expired");
  assert.equal(expired.statusCode, "407");
  assert.equal((await client.getStatus("expired")).statusCode, "407");

  const id = await pair.settleCard("refunded");
  const firstRefund = await client.refund(id, "key-1", 4000, "too much");
  assert.equal(firstRefund.body.transaction_status, "partial_refund");
  assert.equal(firstRefund.body.refund_amount, "4000.00");
  const rest = await client.directRefund(id, "key-2", 40000);
  assert.equal(rest.body.transaction_status, "refund");
  const { body } = await client.getStatus(id);
  assert.deepEqual(
    body.refunds.map(({ refund_key, refund_amount, reason }) => [
      refund_key,
      refund_amount,
      reason,
    ]),
    [["key-1", "4000.00", "too much"], [
      "key-2",
      "40000.00",
      "refund request from merchant",
    ]],
  );

  const denied = await pair.settleCard("denied");
  await pair.fault("direct_refund", "bank_refuses");
  assert.ok(isDenied(await client.directRefund(denied, "key-1", 1000)));
  assert.equal((await client.getStatus(denied)).body.transaction_status, "settlement");
});

Deno.test("client and sandbox: list all payments to a virtual account", async () => {
  await using pair = await openPair();
  await pair.charge("again");
  await pair.control("/transactions/again/pay");
  await pair.control("/transactions/again/pay_again");
  const { body } = await pair.client.getStatusB2b("again", { page: 0, perPage: 10 });
  assert.deepEqual(
    body.transactions.map(({ transaction_status }) => transaction_status),
    ["settlement", "settlement"],
  );
});

Deno.test("client and sandbox: register and look up cards, link and unlink wallets", async () => {
  await using pair = await openPair();
  const { client } = pair;
  const registered = await client.registerCard(GOOD_CARD, 12, 2080);
  assert.equal(registered.body.masked_card, "48111111-1114");
  const paid = await pair.charge("saved", {
    payment_type: "credit_card",
    credit_card: { token_id: registered.body.saved_token_id },
  });
  assert.equal(paid.body.transaction_status, "capture");

  const mandiri = await client.getCardToken("4617006959746656", 12, 2080, "123");
  const points = await client.pointInquiry(mandiri.body.token_id!);
  assert.equal(points.body.point_balance_amount, "10000.00");
  assert.equal((await client.getBin("477377")).body.data?.bank_code, "BCA");

  const linked = await client.createPayAccount({
    payment_type: "gopay",
    gopay_partner: { phone_number: "81234567890", country_code: "62" },
  });
  assert.equal(linked.body.account_status, "PENDING");
  const id = linked.body.account_id!;
  assert.equal((await errorOf(client.unbindPayAccount(id))).statusCode, "412");
  await pair.control(`/accounts/${id}/activate`);
  assert.equal((await client.getPayAccount(id)).body.account_status, "ENABLED");
  assert.equal((await client.unbindPayAccount(id)).body.account_status, "DISABLED");
  const refused = await client.createPayAccount({
    payment_type: "gopay",
    gopay_partner: { phone_number: "123450001", country_code: "62" },
  });
  assert.ok(isDenied(refused));
});

Deno.test("client and sandbox: create, read, update, disable, enable and cancel a subscription", async () => {
  await using pair = await openPair();
  const { client } = pair;
  const saved = await client.registerCard(GOOD_CARD, 12, 2080);
  const payload = {
    name: "COFFEE",
    amount: "14000",
    currency: "IDR",
    payment_type: "credit_card",
    token: saved.body.saved_token_id,
    schedule: { interval: 1, interval_unit: "month", max_interval: 12 },
  };
  const { body: { id } } = await client.createSubscription(payload);
  await pair.control("/clock", { advance_seconds: 62 * 86_400 });
  const charged = await client.getSubscription(id!);
  assert.equal(charged.body.transaction_ids.length, 2);
  assert.equal(charged.body.schedule?.current_interval, 2);

  const changed = { name: "TEA", amount: "15000", currency: "IDR", token: payload.token };
  await client.updateSubscription(id!, changed);
  await client.disableSubscription(id!);
  assert.equal((await client.getSubscription(id!)).body.status, "inactive");
  await client.enableSubscription(id!);
  assert.equal((await client.getSubscription(id!)).body.status, "active");
  await client.cancelSubscription(id!);
  const cancelled = await client.getSubscription(id!);
  assert.deepEqual([cancelled.body.status, cancelled.body.name], ["inactive", "TEA"]);

  const invalid = await errorOf(client.createSubscription({ ...payload, amount: undefined }));
  assert.ok(invalid instanceof GatewayValidationError);
  assert.deepEqual(invalid.validationMessages, ["subscription.amount is required"]);
  const missing = await errorOf(client.getSubscription("missing"));
  assert.deepEqual([missing.statusCode, missing.message], ["404", "Subscription doesn't exist."]);
});

Deno.test("client and sandbox: create, read, pay and void an invoice", async () => {
  await using pair = await openPair();
  const { client } = pair;
  const payload = (orderId: string) => ({
    order_id: orderId,
    invoice_number: `INV-${orderId}`,
    invoice_date: "2026-11-15 10:00:00 +0700",
    due_date: "2099-11-30 23:59:59 +0700",
    customer_details: { name: "Budi", email: "budi@example.com" },
    item_details: [{ description: "Coffee", quantity: 2, price: 22000 }],
    payment_type: "payment_link",
    payment_link: { enabled_payments: ["bca_va"] },
  });
  const firstInvoice = await client.createInvoice(payload("one"));
  assert.equal(firstInvoice.statusCode, "201");
  assert.equal(firstInvoice.body.gross_amount, "44000.00");
  assert.ok(firstInvoice.body.payment_link_url && firstInvoice.body.pdf_url);
  await pair.control(`/invoices/${firstInvoice.body.id}/pay`);
  assert.equal((await client.getInvoice(firstInvoice.body.id!)).body.status, "paid");

  const secondInvoice = await client.createInvoice(payload("two"));
  assert.equal((await client.voidInvoice(secondInvoice.body.id!, "a mistake")).body.success, true);
  assert.equal((await client.getInvoice(secondInvoice.body.id!)).body.status, "voided");

  const again = await errorOf(client.voidInvoice(secondInvoice.body.id!));
  assert.equal(again.statusCode, "409");
  const duplicate = await errorOf(client.createInvoice(payload("one")));
  assert.deepEqual(duplicate.validationMessages, ["Duplicate order id"]);
  const invalid = await errorOf(client.createInvoice({ ...payload("x"), item_details: [] }));
  assert.ok(invalid instanceof GatewayValidationError);
});

Deno.test("client and sandbox: the client throws a specific error class for each kind of refusal", async () => {
  await using pair = await openPair();
  const { client } = pair;
  await pair.charge("taken");
  const duplicate = await errorOf(pair.charge("taken"));
  assert.ok(duplicate instanceof GatewayDuplicateOrderError);
  assert.equal(duplicate.outcome, "refused");

  const invalid = await errorOf(pair.charge("invalid", { bank_transfer: {} }));
  assert.ok(invalid instanceof GatewayValidationError);
  assert.deepEqual(invalid.validationMessages, ["bank_transfer.bank is required"]);

  const notFound = await errorOf(client.getStatus("missing"));
  assert.ok(notFound instanceof GatewayAPIError);
  assert.deepEqual([notFound.statusCode, notFound.message], ["404", "Transaction doesn't exist."]);

  const wrongState = await errorOf(client.refund("taken", "key", 1000));
  assert.deepEqual([wrongState.statusCode, wrongState.outcome], ["412", "refused"]);

  const id = await pair.settleCard("paid");
  assert.equal((await errorOf(client.refund(id, "key", 44001))).statusCode, "414");
  await client.refund(id, "key", 1000);
  assert.ok(await errorOf(client.refund(id, "key", 1000)) instanceof GatewayDuplicateOrderError);

  const token = await errorOf(pair.charge("token", {
    payment_type: "credit_card",
    credit_card: { token_id: "nothing" },
  }));
  assert.equal(token.statusCode, "411");
  const card = await errorOf(client.getCardToken("4811111111111115", 12, 2080, "123"));
  assert.ok(card instanceof GatewayValidationError);
  assert.deepEqual(card.validationMessages, ["card_number does not match with luhn algorithm"]);

  await using withOtherKey = await openPair({ serverKey: "SB-Mid-server-stranger" });
  for (const call of ["getStatus", "getSubscription", "getInvoice", "getBin"] as const) {
    const error = await errorOf(withOtherKey.client[call]("477377"));
    assert.ok(error instanceof GatewayAuthenticationError, call);
  }
});

/** For each fault of a charge: the client's error, and whether the sandbox executes the charge. */
const FAULTS: Record<string, {
  kind: new (...args: never[]) => GatewayError;
  failure: GatewayError["failure"];
  statusCode: string | null;
  isCharged: boolean;
}> = {
  no_answer: { kind: GatewayAPIError, failure: "timeout", statusCode: null, isCharged: false },
  reset: { kind: GatewayAPIError, failure: "unreachable", statusCode: null, isCharged: false },
  error_500: { kind: GatewayAPIError, failure: "answered", statusCode: "500", isCharged: false },
  error_503: { kind: GatewayAPIError, failure: "answered", statusCode: "503", isCharged: false },
  hidden_500: { kind: GatewayAPIError, failure: "answered", statusCode: "500", isCharged: false },
  rate_limit: {
    kind: GatewayRateLimitError,
    failure: "answered",
    statusCode: "429",
    isCharged: false,
  },
  html: { kind: GatewayAPIError, failure: "answered", statusCode: "502", isCharged: false },
  broken_json: { kind: GatewayAPIError, failure: "answered", statusCode: "200", isCharged: true },
  answer_lost: { kind: GatewayAPIError, failure: "unreachable", statusCode: null, isCharged: true },
};

for (const [fault, expected] of Object.entries(FAULTS)) {
  Deno.test(`charge: with the fault ${fault}, fails with the expected error and outcome`, async () => {
    await using pair = await openPair();
    await pair.fault("charge", fault, { retry_after: 3 });
    const charged = errorOf(pair.charge("one"));
    if (fault === "no_answer") await passDeadline(pair);
    const error = await charged;
    assert.ok(error instanceof expected.kind, error.name);
    assert.equal(error.failure, expected.failure);
    assert.equal(error.statusCode, expected.statusCode);
    assert.equal(error.outcome, fault === "rate_limit" ? "refused" : "unknown");
    if (fault === "rate_limit") assert.equal(error.retryAfterSeconds, 3);
    // The client never repeats a charge, so the sandbox has at most one transaction.
    const list = await (await fetch(`${pair.url}/_sandbox/transactions`)).json();
    assert.equal(list.length, expected.isCharged ? 1 : 0);
  });

  const isTemporary = expected.failure === "unreachable" || expected.statusCode !== "200";
  const ending = expected.failure === "timeout"
    ? "ends at its deadline"
    : isTemporary
    ? "is retried"
    : "is not retried";
  Deno.test(`status: with the fault ${fault}, the read ${ending}`, async () => {
    await using pair = await openPair();
    await pair.charge("one");
    await pair.fault("status", fault);
    const reading = pair.client.getStatus("one");
    if (expected.failure === "timeout") {
      const error = errorOf(reading);
      await passDeadline(pair);
      assert.equal((await error).failure, "timeout");
    } else if (isTemporary) {
      assert.equal((await reading).body.order_id, "one");
    } else {
      assert.equal((await errorOf(reading)).statusCode, expected.statusCode);
    }
  });
}

/** Lets the call's deadline pass once the sandbox has used the fault. */
async function passDeadline(pair: Pair): Promise<void> {
  const unusedFaults = async () => await (await fetch(`${pair.url}/_sandbox/faults`)).json();
  await until("the fault is used", async () => (await unusedFaults()).length === 0);
  pair.waits.passDeadlines();
}

Deno.test("charge: succeeds after a delay", async () => {
  await using pair = await openPair();
  await pair.fault("charge", "delay", { delay_ms: 50 });
  assert.equal((await pair.charge("late")).statusCode, "201");
  const unused = await (await fetch(`${pair.url}/_sandbox/faults`)).json();
  assert.deepEqual(unused, []);
});

Deno.test("charge: a second call with the key of a running call creates no transaction", async () => {
  await using pair = await openPair();
  await pair.fault("charge", "delay", { delay_ms: 600_000 });
  const payload = (orderId: string) => ({
    payment_type: "gopay",
    transaction_details: { order_id: orderId, gross_amount: 10000 },
  });
  const abort = new AbortController();
  const options = { idempotencyKey: "key", signal: abort.signal };
  const firstCall = errorOf(pair.client.charge(payload("one"), options));
  const list = async () => await (await fetch(`${pair.url}/_sandbox/transactions`)).json();
  await until(
    "the first call has created its transaction",
    async () => (await list()).length === 1,
  );
  const secondResponse = await pair.client.charge(payload("two"), { idempotencyKey: "key" });
  assert.ok(isEarlierCallInProgress(secondResponse));
  assert.equal((await list()).length, 1);
  abort.abort();
  assert.deepEqual([(await firstCall).failure, (await firstCall).outcome], ["aborted", "unknown"]);
});

Deno.test("notification: can arrive before the response of the charge, with a valid signature", async () => {
  await using pair = await openPair();
  let hasResponse = false;
  const notified: Record<string, string>[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using receiver = Deno.serve(options, async (request) => {
    assert.equal(hasResponse, false);
    notified.push(await request.json());
    return new Response();
  });
  const url = `http://127.0.0.1:${receiver.addr.port}/`;
  const init = { method: "PATCH", body: JSON.stringify({ notification_url: url }) };
  await (await fetch(`${pair.url}/_sandbox/settings`, init)).body?.cancel();
  await pair.fault("charge", "webhook_first");
  await pair.charge("one");
  hasResponse = true;
  assert.equal(notified.length, 1);
  const { order_id, status_code, gross_amount, signature_key } = notified[0]!;
  const isValid = pair.client.verifySignature(order_id, status_code, gross_amount, signature_key);
  assert.equal(isValid, true);
});

Deno.test("embedded default: starts a sandbox, and the client calls it", async () => {
  await using folder = await createDataFolder();
  const config = parseConfig({ DATA_DIR: folder.path, SANDBOX_PORT: "0" }, "/nowhere");
  await using gateway = await openGateway(config, createLog(() => {}));
  const { client, sandbox } = gateway;
  const payload = {
    payment_type: "gopay",
    transaction_details: { order_id: "one", gross_amount: 1000 },
  };
  const { body } = await client.charge(payload);
  const transaction = await (await fetch(`${sandbox!.url}/_sandbox/transactions/one`)).json();
  assert.equal(transaction.transaction_id, body.transaction_id);
  // The client also has the sandbox's client key, which card tokens need.
  assert.ok((await client.getCardToken(GOOD_CARD, 12, 2080, "123")).body.token_id);
});

Deno.test("GATEWAY_SERVER_KEY: if it is set, no sandbox is started", async () => {
  const config = parseConfig({ GATEWAY_SERVER_KEY: "Mid-server-x" }, "/nowhere");
  await using gateway = await openGateway(config, createLog(() => {}));
  assert.equal(gateway.sandbox, null);
});
