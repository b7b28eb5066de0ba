import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { isAmbiguous } from "../../core/notifications/decide_trust.ts";
import { PAYMENT_STATUSES } from "../../core/payments/states.ts";
import { sign as signatureOf } from "../../sandbox/transactions/signature.ts";
import { createDatabase } from "../support/database/database.ts";
import { type Arbitrary, fc } from "../support/fast_check.ts";
import {
  buildNotification,
  findSentNotification,
  notify,
  notifyAndRead,
  sign,
} from "../support/gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { type Json, SERVER_KEY } from "../support/gateway/sandbox.ts";
import {
  CHARGE_KINDS,
  openPayments,
  type Payment,
  type TestPayments,
} from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();

/** The status codes that the gateway signs. */
const CODES = ["200", "201", "202", "407"];

/** Fails if the payment is paid or refunded, or has an event that says so. */
async function assertUnpaid(payments: TestPayments, { id }: Payment, message = ""): Promise<void> {
  const { transaction_status, is_paid, captured_amount, net_amount } = await payments.read(id);
  assert.deepEqual([is_paid, captured_amount, net_amount], [false, null, "0.00"], message);
  assert.ok(!["settlement", "capture", "refund"].includes(transaction_status), message);
  const events = await payments.events(id);
  assert.ok(!events.includes("payment_settled") && !events.includes("payment_refunded"), message);
}

/** The payment with its transitions and events, without the time of its last write. */
async function snapshot(payments: TestPayments, { id }: Payment): Promise<Json> {
  const { updated_at: _, ...payment } = await payments.read(id);
  return {
    payment,
    transitions: await payments.transitions(id),
    events: await payments.events(id),
  };
}

/** Sends a notification that may be accepted or rejected, but must not cause a server error. */
async function send(payments: TestPayments, body: Json, message = ""): Promise<number> {
  const response = await notify(payments, body);
  const text = await response.text();
  assert.ok([200, 400, 403].includes(response.status), `${message}: ${response.status} ${text}`);
  return response.status;
}

async function sendText({ app }: TestPayments, body: BodyInit): Promise<Response> {
  const headers = { "Content-Type": "application/json" };
  return await app.request("/notification/", { method: "POST", headers, body });
}

Deno.test("responses: contain no signature that a caller could put into a notification", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { sandbox, relay } = payments;
  const answers: string[] = [];
  const collect = async (request: Promise<Response>): Promise<Json> => {
    const answer = await request;
    const text = await answer.text();
    answers.push(JSON.stringify([...answer.headers]), text);
    return JSON.parse(text);
  };
  const orders: { order_id: string; amounts: Set<string> }[] = [];
  let signaturesSeen = 0;
  relay.intercept = async (_request, pass) => {
    const answer = await pass();
    const text = await answer.text();
    if (text.includes("signature_key")) signaturesSeen++;
    return new Response(text, { status: answer.status, headers: answer.headers });
  };
  const act = (id: string, action: string, body?: Json) =>
    collect(payments.post(`/payments/${id}/${action}/`, body, { "Idempotency-Key": id + action }));

  for (const kind of CHARGE_KINDS) {
    const charged = await payments.charge(kind);
    const { id, order_id, transaction_id, gross_amount } = charged;
    answers.push(JSON.stringify(charged));
    orders.push({ order_id, amounts: new Set([gross_amount, "40000.00"]) });
    const check = () => collect(payments.get(`/payments/${id}/check_status/`));
    await check();
    await collect(payments.get(`/payments/${id}/`));
    await act(id, "capture", { amount: 40_000 });
    const isCard = kind.startsWith("card");
    if (!isCard) await sandbox.control(`transactions/${transaction_id}/pay`);
    else if (kind === "card") await sandbox.control(`transactions/${transaction_id}/settle`);
    await check();
    // Most of these are rejected by the service or the gateway. Error responses are checked, too.
    for (const action of ["cancel", "expire", "refund", "refund"]) await act(id, action);
    await check();
    await collect(payments.post("/charge/", { payment_type: "gopay", gross_amount: 1, order_id }));
    await collect(
      notify(payments, {
        ...buildNotification(charged, "settlement"),
        signature_key: "a".repeat(128),
      }),
    );
    await collect(
      notify(payments, buildNotification(charged, "settlement", { status_code: "201" })),
    );
  }
  const pending = await payments.charge("bca");
  orders.push({ order_id: pending.order_id, amounts: new Set([pending.gross_amount]) });
  for (const action of ["cancel", "check_status"]) await act(pending.id, action);
  const cancelled = await payments.get(`/payments/${pending.id}/check_status/`);
  await collect(Promise.resolve(cancelled));
  await collect(payments.get("/payments/?limit=100"));
  await collect(payments.get("/notifications/"));
  await collect(payments.get("/events/"));

  assert.ok(signaturesSeen >= CHARGE_KINDS.length, "the gateway's responses contain signatures");
  assert.ok(answers.length > CHARGE_KINDS.length * 10);
  const allText = answers.join("\n");
  assert.ok(
    allText.includes(`"gateway_response":{"status_code":"200"`),
    "the gateway's response is returned",
  );
  for (const { order_id, amounts } of orders) {
    for (const amount of amounts) {
      for (const code of CODES) {
        assertNotIn(allText, signatureOf(order_id, code, amount, SERVER_KEY));
      }
    }
  }
  assert.doesNotMatch(allText, /signature_key(?!`)/);
  assert.doesNotMatch(allText, /[0-9a-f]{100}/i);
});

/** Fails if the text contains the start of the signature in hex or base64, or its end in hex. */
function assertNotIn(text: string, signature: string): void {
  const bytes = Uint8Array.fromHex(signature);
  for (const encoding of [signature, signature.toUpperCase()]) {
    assert.ok(!text.includes(encoding.slice(0, 32)) && !text.includes(encoding.slice(-32)));
  }
  assert.ok(!text.includes(bytes.toBase64().slice(0, 40)));
  assert.ok(!text.includes(bytes.toBase64({ alphabet: "base64url" }).slice(0, 40)));
}

/**
 * The positions at which a signed text can be split into an order id, a code and an amount with two
 * decimals.
 */
function splitsOf(text: string): string[] {
  const splits: string[] = [];
  for (let at = 1; at + 3 < text.length; at++) {
    const [code, amount] = [text.slice(at, at + 3), text.slice(at + 3)];
    const [whole = "", fraction = "", ...more] = amount.split(".");
    const isWhole = whole.length >= 1 && whole.length <= 13 && whole[0] !== "0" &&
      [...whole].every((digit) => "0123456789".includes(digit));
    const hasCents = amount.includes(".") && more.length === 0 && fraction.length === 2 &&
      [...fraction].every((digit) => "0123456789".includes(digit));
    if (CODES.includes(code) && isWhole && hasCents) splits.push(`${at}`);
  }
  return splits;
}

Deno.test("isAmbiguous: is true exactly for signed texts that can be split in another way", async () => {
  const digits = fc.constantFrom("0", "1", "2", "4", "7", "20", "200", "201", "202", "407");
  const piece: Arbitrary<string> = fc.oneof(
    digits,
    fc.constantFrom("A", ".", "-", ".00", "00", "9", "200100.00"),
  );
  const property = fc.asyncProperty(
    fc.array(piece, { minLength: 1, maxLength: 8 }),
    fc.constantFrom(...CODES, "20", "2002", "407201", ""),
    fc.array(digits, { minLength: 1, maxLength: 5 }),
    fc.constantFrom(".00", ".00", ".00", ".0", "", ".50", ".000"),
    (order, code, amount, cents) => {
      const [orderId, grossAmount] = [order.join(""), amount.join("") + cents];
      const otherSplits = splitsOf(orderId + code + grossAmount)
        .filter((at) => at !== String(orderId.length));
      const expected = otherSplits.length > 0;
      assert.equal(isAmbiguous(orderId, code, grossAmount), expected);
      return Promise.resolve();
    },
  );
  await fc.assert(property, { numRuns: 20_000 });
});

Deno.test("isAmbiguous: is true for every wrong split of the signed text of an order", async () => {
  const amount = fc.integer({ min: 1, max: 9_999_999_999_999 });
  const property = fc.asyncProperty(
    fc.string({ minLength: 1, maxLength: 50, unit: fc.constantFrom(..."A-20.14~7_") }),
    fc.constantFrom(...CODES),
    fc.oneof(amount, fc.integer({ min: 1, max: 5_000 })),
    (order, code, gross) => {
      const text = `${order}${code}${gross}.00`;
      for (let from = 1; from < text.length; from++) {
        if (from === order.length) continue;
        const claim = [text.slice(0, from), text.slice(from, from + 3)] as const;
        const rest = text.slice(from + 3);
        if (rest === "") continue;
        assert.ok(isAmbiguous(...claim, rest), `${claim} ${rest} of ${text}`);
      }
      return Promise.resolve();
    },
  );
  await fc.assert(property, { numRuns: 5_000 });
});

Deno.test("forged notification: the signature of an order whose id contains a status code pays no other order", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { sandbox, relay } = payments;
  /**
   * The status of the attacker's payment, the code with which the gateway signs this status, and
   * the sandbox control that causes it.
   */
  const outcomes = [
    ["pending", "201", null],
    ["settlement", "200", "pay"],
    ["expire", "202", "expire"],
    ["deny", "202", "deny"],
  ] as const;
  for (const [status, code, control] of outcomes) {
    for (const between of ["", "7", "0", "200"]) {
      const order_id = `o${randomUUID().slice(0, 13)}-`;
      // Both orders have the same signed text, for example `o…` + `200` + `72011000.00` and
      // `o…2007` + `201` + `1000.00`.
      const gross_amount = Number(`${between}${code}1000`);
      const kind = control === "deny" ? "gopay" : "bca";
      const target = await payments.charge("bca", { order_id, gross_amount });
      const attacker = await payments.charge(kind, {
        order_id: `${order_id}200${between}`,
        gross_amount: 1000,
      });
      if (control) await sandbox.control(`transactions/${attacker.transaction_id}/${control}`);
      const { signature_key } = await findSentNotification(payments, attacker.order_id, status);
      const forged = buildNotification(target, "settlement", {
        gross_amount: `${between}${code}1000.00`,
      });
      assert.equal(forged.signature_key, signature_key, "both have the same signature");
      const checksBefore = relay.times("GET /v2/:id/status");
      assert.equal(await send(payments, forged), 200);
      assert.ok(relay.times("GET /v2/:id/status") > checksBefore, "the gateway is called");
      await assertUnpaid(payments, target, `${status} ${between}`);
    }
  }
});

Deno.test("forged notification: a status code taken from the end of another order's id pays nothing and causes no server error", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  const suffixes = [
    "constructor",
    "toString",
    "__proto__",
    "hasOwnProperty",
    "valueOf",
    "2",
    "200.",
  ];
  for (const suffix of suffixes) {
    const order_id = `o${randomUUID().slice(0, 13)}-`;
    const target = await payments.charge("bca", { order_id, gross_amount: 20_044_000 });
    const attacker = await payments.charge("bca", { order_id: order_id + suffix });
    await sandbox.control(`transactions/${attacker.transaction_id}/pay`);
    const { signature_key } = await findSentNotification(payments, attacker.order_id, "settlement");
    const forged = buildNotification(target, "settlement", {
      status_code: suffix,
      gross_amount: "20044000.00",
    });
    assert.equal(forged.signature_key, signature_key, suffix);
    await send(payments, forged, suffix);
    await assertUnpaid(payments, target, suffix);
  }
});

Deno.test("forged notification: changed unsigned fields of a pending notification pay nothing", async () => {
  await using payments = await openPayments({ databaseUrl });
  const target = await payments.charge("bca");
  const paid = await payments.paid("gopay");
  const pending = await findSentNotification(payments, target.order_id, "pending");
  const changes: Json[] = [];
  // The last spelling contains a Cyrillic letter.
  const spellings = (
    text: string,
  ) => [text, text.toUpperCase(), ` ${text}`, text.replace("e", "е")];
  for (const status of [...PAYMENT_STATUSES, "partial_settlement", "paid", "success", "200"]) {
    for (const transaction_status of spellings(status)) {
      changes.push({ transaction_status });
      for (const fraud_status of ["accept", "ACCEPT", "challenge", "deny", null, "x"]) {
        changes.push({ transaction_status, fraud_status });
      }
    }
  }
  const refunds = [{ refund_key: "mine", refund_amount: "44000.00" }];
  const extra_info = { gross_amount_info: { original_amount: "44000.00" } };
  for (const transaction_status of ["settlement", "capture", "refund", "partial_refund"]) {
    const status = { transaction_status, fraud_status: "accept" };
    changes.push(
      { ...status, transaction_id: paid.transaction_id },
      { ...status, transaction_id: paid.order_id },
      { ...status, transaction_id: target.order_id },
      { ...status, transaction_id: null },
      { ...status, payment_type: "credit_card" },
      { ...status, currency: "USD" },
      { ...status, refunds, refund_amount: "44000.00" },
      { ...status, metadata: { payment_ref: paid.id } },
      { ...status, metadata: { payment_ref: target.id, extra_info } },
      { ...status, metadata: { payment_ref: target.id }, extra_info },
      { ...status, settlement_time: "2026-03-05 11:12:09", status_message: "Success" },
    );
  }
  for (const change of changes) {
    await send(payments, { ...pending, ...change }, JSON.stringify(change));
  }
  await assertUnpaid(payments, target);
  const { payment, events } = await snapshot(payments, target);
  assert.equal(payment.transaction_status, "pending");
  assert.deepEqual(payment.refunds, []);
  assert.deepEqual(events, ["payment_received"]);
  assert.deepEqual(await payments.read(paid.id), paid);
});

Deno.test("forged notification: the signature of an ended payment pays nothing", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  for (
    const [status, control] of [["expire", "expire"], ["cancel", null], ["deny", "deny"]] as const
  ) {
    const target = await payments.charge("gopay");
    if (control) await sandbox.control(`transactions/${target.transaction_id}/${control}`);
    else await payments.post(`/payments/${target.id}/cancel/`);
    const endedNotification = await findSentNotification(payments, target.order_id, status);
    // Status responses have the same code for cancelled and paid payments. Their signature must
    // not make the payment paid either.
    const statusResponse = await sandbox.status(target.transaction_id!);
    for (const isKnown of [false, true]) {
      if (isKnown) await payments.refresh(target.id);
      for (const signed of isKnown ? [endedNotification, statusResponse] : [endedNotification]) {
        for (const transaction_status of ["settlement", "capture", "partial_refund", "refund"]) {
          const forged = { ...signed, transaction_status, fraud_status: "accept" };
          assert.equal(await send(payments, forged), 200);
          await assertUnpaid(payments, target, `${status} ${transaction_status}`);
        }
      }
    }
    assert.equal((await payments.read(target.id)).transaction_status, status);
  }
});

Deno.test("forged notification: the notification of a paid order pays no other order", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  const target = await payments.charge("bca");
  const attacker = await payments.charge("bca");
  await sandbox.control(`transactions/${attacker.transaction_id}/pay`);
  const paid = await findSentNotification(payments, attacker.order_id, "settlement");
  const { transaction_id, order_id, id } = target;
  const metadata = { payment_ref: id };
  const replays: [Json, number][] = [
    [{ ...paid, transaction_id }, 200],
    [{ ...paid, transaction_id, metadata }, 200],
    [{ ...paid, metadata }, 200],
    [{ ...paid, order_id }, 403],
    [{ ...paid, order_id, transaction_id, metadata }, 403],
    [{ ...paid, order_id: ` ${paid.order_id}` }, 403],
    [{ ...paid, order_id: order_id + paid.order_id }, 403],
  ];
  for (const [body, status] of replays) {
    assert.equal(await send(payments, body), status, JSON.stringify(body));
    await assertUnpaid(payments, target);
  }
});

/**
 * A charge whose response is lost: the gateway has the transaction, the payment has no transaction
 * id yet.
 */
async function chargeWithLostResponse(
  payments: TestPayments,
  kind: Json = "bca",
): Promise<[Payment, Json]> {
  const order_id = randomUUID();
  await payments.sandbox.fault("charge", "answer_lost");
  const base = { order_id, gross_amount: 44_000 };
  const body = kind === "bca" ? { payment_type: "bank_transfer", bank: "bca", ...base } : {
    ...kind,
    ...base,
  };
  const answer = await (await payments.post("/charge/", body)).json();
  assert.equal(answer.outcome, "unknown", JSON.stringify(answer));
  const payment = await payments.read(answer.payment_id);
  assert.equal(payment.transaction_id, null);
  await payments.sandbox.waitForWebhooks();
  const hook = payments.sandbox.hooks.findLast(({ body }) => body.order_id === order_id)!;
  return [payment, hook.body];
}

/**
 * Fails if a payment without a transaction id takes over the given transaction, or if a later check
 * does not find the transaction of the payment.
 */
async function assertKeepsItsTransaction(payments: TestPayments, transaction_id: string) {
  for (const transaction_status of ["pending", "expire", "settlement"]) {
    const [target, pending] = await chargeWithLostResponse(payments);
    await send(payments, { ...pending, transaction_id, transaction_status }, transaction_status);
    await assertUnpaid(payments, target, transaction_id);
    const found = await payments.refresh(target.id);
    await assertUnpaid(payments, target, `${transaction_id}, after a check at the gateway`);
    assert.equal(found.transaction_id, pending.transaction_id);
    assert.equal(found.transaction_status, "pending");
  }
}

Deno.test("forged notification: a payment without a transaction id does not take over another payment's transaction", async () => {
  await using payments = await openPayments({ databaseUrl });
  const attacker = await payments.paid("gopay");
  await assertKeepsItsTransaction(payments, attacker.transaction_id!);
  assert.deepEqual(await payments.read(attacker.id), attacker);
});

Deno.test("forged notification: a payment without a transaction id does not take over a paid transaction created outside the service", async () => {
  await using payments = await openPayments({ databaseUrl });
  const order_id = randomUUID();
  const externalTransaction = await payments.sandbox.paid("bca", {
    transaction_details: { order_id },
  });
  await assertKeepsItsTransaction(payments, externalTransaction.transaction_id);
});

Deno.test("forged notification: a payment without a transaction id does not take over an unknown transaction", async () => {
  await using payments = await openPayments({ databaseUrl });
  await assertKeepsItsTransaction(payments, randomUUID());
});

Deno.test("forged notification: a payment without a transaction id is not paid by its changed pending notification", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const transaction_status of ["settlement", "capture", "refund"]) {
    for (
      const change of [{}, { transaction_id: null }, { metadata: null }, { payment_type: "x" }]
    ) {
      // Without a successful charge in between, five lost responses would open the circuit breaker.
      await payments.charge("bca");
      const [target, pending] = await chargeWithLostResponse(payments);
      const forged = { ...pending, transaction_status, fraud_status: "accept", ...change };
      assert.equal(await send(payments, forged, JSON.stringify(change)), 200);
      await assertUnpaid(payments, target, transaction_status);
    }
  }
});

Deno.test("forged notification: a transaction created outside the service does not pay the order in its metadata", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  const target = await payments.charge("bca");
  const [unanswered] = await chargeWithLostResponse(payments);
  for (const { id } of [target, unanswered]) {
    const externalTransaction = await sandbox.paid("bca", {
      transaction_details: { order_id: randomUUID() },
      metadata: { payment_ref: id },
    });
    const notification = await notifyAndRead(
      payments,
      await findSentNotification(payments, externalTransaction.order_id, "settlement"),
    );
    assert.equal(notification.status, "processed");
    assert.ok(notification.payment_id !== target.id && notification.payment_id !== unanswered.id);
    await assertProblem(
      await payments.get(`/payments/${notification.payment_id}/`),
      404,
      "not_found",
    );
  }
  await assertUnpaid(payments, target);
  await assertUnpaid(payments, unanswered);
});

Deno.test("forged notification: an authorized card payment is not captured by its changed notification", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  for (const transaction_status of ["capture", "settlement"]) {
    const token_id = await sandbox.token("4811111111111114");
    const target = await payments.charge("card_3ds", { token_id, authorize: true });
    assert.equal(target.transaction_status, "pending");
    await sandbox.control(`transactions/${target.transaction_id}/three_ds`, { result: "success" });
    const authorized = await findSentNotification(payments, target.order_id, "authorize");
    assert.equal(authorized.status_code, "200");
    assert.equal(await send(payments, { ...authorized, transaction_status }), 200);
    await assertUnpaid(payments, target, transaction_status);
    const { signature_key: _, ...status } = await sandbox.status(target.transaction_id!);
    assert.equal(status.transaction_status, "authorize");
  }
});

Deno.test("forged notification: refunds in a notification are not trusted", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  const invented = {
    refund_amount: "44000.00",
    refunds: [
      { refund_key: "mine", refund_amount: "44000.00" },
      { refund_key: "more", refund_amount: "1000000.00" },
    ],
  };
  for (
    const [kind, control, status] of [
      ["bca", "pay", "settlement"],
      ["bca", "expire", "expire"],
      ["gopay", "deny", "deny"],
    ] as const
  ) {
    const target = await payments.charge(kind);
    await sandbox.control(`transactions/${target.transaction_id}/${control}`);
    const notification = await findSentNotification(payments, target.order_id, status);
    assert.equal(await send(payments, { ...notification, ...invented }), 200);
    const { payment, events } = await snapshot(payments, target);
    assert.deepEqual([payment.refund_amount, payment.refunds], ["0.00", []], status);
    assert.ok(!events.includes("payment_refunded"), status);
  }
  const [target, pending] = await chargeWithLostResponse(payments);
  assert.equal(await send(payments, { ...pending, ...invented }), 200);
  const { payment, events } = await snapshot(payments, target);
  assert.deepEqual([payment.refund_amount, payment.refunds], ["0.00", []]);
  assert.ok(!events.includes("payment_refunded"));
});

/** Long enough not to occur in random ids and payment codes. */
const MISLEADING = /6666666666|"66666"|2066-06|"bni"/;

Deno.test("forged notification: payment details in a notification are not trusted", async () => {
  await using payments = await openPayments({ databaseUrl });
  const misleading = {
    bank: "bni",
    va_numbers: [{ bank: "bni", va_number: "6666666666" }],
    permata_va_number: "6666666666",
    bill_key: "6666666666",
    biller_code: "66666",
    payment_code: "6666666666",
    store: "alfamart",
    acquirer: "gopay",
    qr_string: "6666666666",
    redirect_url: "https://6666666666.example/",
    actions: ["generate-qr-code", "generate-qr-code-v2", "deeplink-redirect"].map((name) => ({
      name,
      method: "GET",
      url: "https://6666666666.example/",
    })),
    expiry_time: "2066-06-06 06:06:06",
  };
  for (
    const kind of ["bca", { payment_type: "gopay" }, { payment_type: "cstore", store: "indomaret" }]
  ) {
    const [target, pending] = await chargeWithLostResponse(payments, kind);
    assert.equal(await send(payments, { ...pending, ...misleading }), 200);
    const paymentText = JSON.stringify((await snapshot(payments, target)).payment);
    assert.doesNotMatch(paymentText, MISLEADING);
    assert.doesNotMatch(JSON.stringify(await payments.refresh(target.id)), MISLEADING);
  }
  for (const kind of ["bca", "gopay", "cstore"] as const) {
    const target = await payments.charge(kind);
    await payments.sandbox.control(`transactions/${target.transaction_id}/pay`);
    const paid = await findSentNotification(payments, target.order_id, "settlement");
    assert.equal(await send(payments, { ...paid, ...misleading }), 200);
    const paymentText = JSON.stringify((await snapshot(payments, target)).payment);
    assert.doesNotMatch(paymentText, MISLEADING);
  }
});

Deno.test("forged notification: ambiguous JSON pays nothing and causes no server error", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  const target = await payments.charge("bca");
  const attacker = await payments.charge("bca");
  await sandbox.control(`transactions/${attacker.transaction_id}/pay`);
  const paid = await findSentNotification(payments, attacker.order_id, "settlement");
  const pending = await findSentNotification(payments, target.order_id, "pending");
  const { order_id, transaction_id } = target;
  const targetFields = { order_id, transaction_id, metadata: { payment_ref: target.id } };
  const membersOf = (body: Json) => JSON.stringify(body).slice(1, -1);
  const { order_id: _order, transaction_id: _id, ...withoutIds } = paid;
  const texts = [
    // Duplicate fields: the signed values come first or last.
    `{${membersOf(paid)},${membersOf(targetFields)}}`,
    `{${membersOf(targetFields)},${membersOf(paid)}}`,
    `{${membersOf(pending)},"status_code":"200","transaction_status":"settlement"}`,
    `{"status_code":"200",${membersOf({ ...pending, transaction_status: "settlement" })}}`,
    `{"transaction_status":"settlement",${membersOf(pending)}}`,
    `{${membersOf(pending)},"transaction_status":"settlement"}`,
    // Fields in a prototype.
    `{${membersOf(paid)},"__proto__":${JSON.stringify(targetFields)}}`,
    `{${membersOf(withoutIds)},"__proto__":${JSON.stringify(targetFields)}}`,
    `{"__proto__":${JSON.stringify(paid)},${membersOf(targetFields)}}`,
    `{${membersOf(pending)},"constructor":{"prototype":{"transaction_status":"settlement"}}}`,
    // Names and values in another spelling.
    `{${membersOf(pending)},"Transaction_Status":"settlement","transaction_status ":"settlement"}`,
    `{${membersOf(pending)},"transaction\\u005fstatus":"settlement"}`,
    JSON.stringify({ ...pending, status_code: 200, transaction_status: "settlement" }),
    JSON.stringify({ ...pending, gross_amount: 44000, transaction_status: "settlement" }),
    JSON.stringify({ ...pending, gross_amount: ["44000.00"] }),
    JSON.stringify({ ...paid, order_id: [order_id] }),
    JSON.stringify({ ...paid, order_id: { toString: order_id } }),
    JSON.stringify({ ...paid, order_id: `${order_id}\u0000` }),
    JSON.stringify({ ...paid, order_id: order_id.replace("-", "\u2010") }),
    JSON.stringify({ ...paid, signature_key: paid.signature_key.toUpperCase() }),
    JSON.stringify({ ...paid, signature_key: [paid.signature_key] }),
    JSON.stringify({ ...pending, signature_key: { length: 128 } }),
    JSON.stringify([{ ...pending, transaction_status: "settlement" }]),
    `\ufeff${JSON.stringify({ ...pending, transaction_status: "settlement" })}`,
    // Input that is hard to parse.
    `{${membersOf(pending)},"deep":${"[".repeat(60_000)}${"]".repeat(60_000)}}`,
    `{${membersOf(pending)},"deep":${'{"a":'.repeat(30_000)}1${"}".repeat(30_000)}}`,
    `{${membersOf(pending)},"big":1e999,"small":-0,"long":${"9".repeat(1_000)}}`,
    `{${membersOf(pending)},"metadata":${'{"extra_info":'.repeat(9_000)}1${"}".repeat(9_000)}}`,
  ];
  for (const text of texts) {
    const response = await sendText(payments, text);
    const answer = await response.text();
    const message = `${text.slice(0, 200)}: ${response.status} ${answer}`;
    assert.ok([200, 400, 403].includes(response.status), message);
    await assertUnpaid(payments, target, message);
  }
  assert.deepEqual(await payments.events(target.id), ["payment_received"]);
});

Deno.test("NOTIFICATION_CONFIRM=paid: a valid signature is not enough to make an order paid", async () => {
  await using payments = await openRelayed({
    databaseUrl,
    env: { NOTIFICATION_CONFIRM: "paid" },
  });
  const { relay } = payments;
  const states = ["settlement", "capture", "partial_refund", "refund", "partial_chargeback"];
  const cardPayment = await payments.charge("card_3ds");
  for (
    const target of [
      await payments.charge("bca"),
      cardPayment,
      (await chargeWithLostResponse(payments))[0],
    ]
  ) {
    for (const state of states) {
      const checksBefore = relay.times("GET /v2/:id/status");
      await send(payments, buildNotification(target, state));
      await send(
        payments,
        buildNotification(target, state.toUpperCase(), { fraud_status: "Accept" }),
      );
      assert.equal(
        relay.times("GET /v2/:id/status"),
        checksBefore + 2,
        "the gateway is called each time",
      );
      await assertUnpaid(payments, target, state);
    }
  }
  await assertStillWorks(payments);
});

/**
 * Fails unless genuine notifications are applied, and unpaid states are trusted without a call to
 * the gateway.
 */
async function assertStillWorks(payments: RelayedPayments): Promise<void> {
  const { sandbox, relay } = payments;
  const genuine = await payments.charge("bca");
  await sandbox.control(`transactions/${genuine.transaction_id}/pay`);
  await notifyAndRead(
    payments,
    await findSentNotification(payments, genuine.order_id, "settlement"),
  );
  assert.equal((await payments.read(genuine.id)).is_paid, true);
  const checksBefore = relay.times("GET /v2/:id/status");
  // The order id ends in a letter, so its signed text can be split in one way only.
  const expired = await payments.charge("bca", { order_id: `${randomUUID()}-x` });
  await notifyAndRead(payments, buildNotification(expired, "expire"));
  assert.equal((await payments.read(expired.id)).is_expired, true);
  assert.equal(relay.times("GET /v2/:id/status"), checksBefore);
}

Deno.test("forged notification: is rejected if it is signed with an empty key or another key", async () => {
  await using payments = await openPayments({ databaseUrl });
  const target = await payments.charge("bca");
  const { signature_key: _, ...unsigned } = buildNotification(target, "settlement");
  const keys = ["", "undefined", "null", "SB-Mid-client-sandbox", `${SERVER_KEY} `, payments.key];
  const forged = [
    ...keys.map((key) => sign(unsigned, key)),
    ...["", " ", "0", "a".repeat(128), "\u0000".repeat(128), "é".repeat(64), "a".repeat(200_000)]
      .map((signature_key) => ({ ...unsigned, signature_key })),
  ];
  for (const body of forged) {
    const response = await notify(payments, body);
    if (body.signature_key === "") await assertProblem(response, 400, "validation_error");
    else await assertProblem(response, 403, "signature_invalid");
  }
  await assertUnpaid(payments, target);
  assert.deepEqual(await payments.transitions(target.id), [">pending charge"]);
});
