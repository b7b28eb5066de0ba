import assert from "node:assert/strict";
import type { Caller } from "../../core/auth/caller.ts";
import { ServiceError } from "../../core/errors.ts";
import { approvePayment, denyPayment } from "../../core/payments/actions.ts";
import { PAYMENT_STATUSES } from "../../core/payments/states.ts";
import { PaymentStatusCheckSchema } from "../../routes/payments/routes.ts";
import { createDatabase } from "../support/database/database.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { openProxiedPayments, type ProxiedPayments } from "../support/gateway/proxy.ts";
import { CHALLENGED_CARD, type Json } from "../support/gateway/sandbox.ts";
import {
  assertMembers,
  type ChargeKind,
  chargeRequest,
  openPayments,
  parsePayment,
  type Payment,
  type TestPayments,
} from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();

const DENIED_BY_BANK = "4911111111111113";
const DENIED_AS_FRAUD = "4611111111111116";

const ALICE: Caller = {
  userId: "alice",
  isStaff: false,
  isViewer: false,
  credential: "api_key",
  keyPrefix: null,
};
const BOB: Caller = { ...ALICE, userId: "bob" };
const STAFF: Caller = { ...ALICE, userId: "carol", isStaff: true };

function requestOf(id: string, caller = STAFF) {
  return { caller, id, requestKey: null };
}

/** How to bring a payment into each state, and which actions the state allows. */
const STATES: Record<string, { make(payments: TestPayments): Promise<string>; allowed: string[] }> =
  {
    pending: { make: (payments) => afterCharge(payments, "gopay"), allowed: ["cancel", "expire"] },
    authorize: {
      make: (payments) => afterCharge(payments, "card_auth"),
      allowed: ["cancel", "capture"],
    },
    capture: { make: (payments) => afterCharge(payments, "card"), allowed: ["cancel"] },
    challenge: {
      make: async (payments) => (await chargeCard(payments, CHALLENGED_CARD)).id,
      allowed: ["cancel", "approve", "deny"],
    },
    settlement: { make: (payments) => afterChange(payments, "gopay", "pay"), allowed: [] },
    deny: {
      make: async (payments) => (await chargeCard(payments, DENIED_BY_BANK)).id,
      allowed: [],
    },
    cancel: { make: (payments) => afterAction(payments, "cancel"), allowed: [] },
    expire: { make: (payments) => afterAction(payments, "expire"), allowed: [] },
    failure: { make: (payments) => afterChange(payments, "card_3ds", "fail"), allowed: [] },
    refused: { make: createRejectedCharge, allowed: [] },
    refund: { make: (payments) => afterRefund(payments, {}), allowed: [] },
    partial_refund: { make: (payments) => afterRefund(payments, { amount: 1_000 }), allowed: [] },
    chargeback: { make: (payments) => afterChargeback(payments, {}), allowed: [] },
    partial_chargeback: {
      make: (payments) => afterChargeback(payments, { amount: 1_000 }),
      allowed: [],
    },
  };

const ACTIONS = ["cancel", "expire", "capture", "approve", "deny"];

/** The `transaction_status` of those states above that have a different name. */
const STATUS: Record<string, string> = { challenge: "capture", refused: "failure" };

Deno.test("payment actions: these tests cover every payment status", () => {
  const statuses = Object.keys(STATES).map((name) => STATUS[name] ?? name);
  assert.deepEqual(new Set(statuses), new Set(PAYMENT_STATUSES));
});

for (const [name, { make, allowed }] of Object.entries(STATES)) {
  Deno.test(`payment actions: in state ${name}, forbidden actions are rejected without calling the gateway`, async () => {
    await using payments = await openProxiedPayments({ databaseUrl });
    const id = await make(payments);
    const before = await payments.read(id);
    assert.equal(before.transaction_status, STATUS[name] ?? name);
    const callsBefore = payments.proxy.received.length;
    for (const action of ACTIONS.filter((each) => !allowed.includes(each))) {
      const { code, members } = await rejectionOf(payments, id, action);
      assert.equal(code, "invalid_state", action);
      assert.equal(members.outcome, "refused");
      assert.equal(members.payment_id, id);
      assert.equal(members.order_id, before.order_id);
      assert.equal(members.transaction_status, before.transaction_status);
    }
    assert.equal(payments.proxy.received.length, callsBefore);
    assert.deepEqual(await payments.read(id), before);
  });
}

/** The states above in which an amount is left to refund. */
const REFUNDABLE_STATES = ["settlement", "partial_refund"];

for (const [name, { make, allowed }] of Object.entries(STATES)) {
  Deno.test(`payment actions: in state ${name}, allowed_actions lists exactly what the caller can do`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const { app, post } = payments;
    const staff = await app.createKey({ userId: "carol", isStaff: true });
    const viewer = await app.createKey({ userId: "vera", isViewer: true });
    const id = await make(payments);
    const actionsFor = async (key?: string) =>
      (await parsePayment(await payments.get(`/payments/${id}/`, key), 200)).allowed_actions;
    const expected = [...allowed, ...REFUNDABLE_STATES.includes(name) ? ["refund"] : []];
    const reviews = expected.filter(isReview);
    const own = expected.filter((action) => !isReview(action));
    assert.deepEqual(await actionsFor(), own);
    assert.deepEqual(await actionsFor(staff), [...own, ...reviews]);
    assert.deepEqual(await actionsFor(viewer), []);
    for (const action of await actionsFor(staff)) {
      const path = `/${isReview(action) ? "reviews" : "payments"}/${await make(
        payments,
      )}/${action}/`;
      assert.equal((await post(path, undefined, {}, staff)).status, 200, action);
    }
  });
}

function isReview(action: string): boolean {
  return action === "approve" || action === "deny";
}

for (const kind of ["bca", "gopay", "card_3ds", "card_auth", "card"] as const) {
  Deno.test(`cancel: cancels a ${kind} payment, here and at the gateway`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const { id, transaction_id, transaction_status } = await payments.charge(kind);
    const eventsBefore = await payments.events(id);
    const response = await payments.post(`/payments/${id}/cancel/`);
    const cancelled = await parsePayment(response, 200);
    assertMembers(cancelled, {
      id,
      transaction_id,
      transaction_status: "cancel",
      status_code: "200",
      captured_amount: null,
      net_amount: "0.00",
      is_paid: false,
      is_pending: false,
      is_failed: true,
    });
    assert.deepEqual(await payments.read(id), cancelled);
    const transaction = await payments.sandbox.status(transaction_id!);
    assert.equal(transaction.transaction_status, "cancel");
    assert.equal((await payments.transitions(id)).at(-1), `${transaction_status}>cancel cancel`);
    assert.deepEqual(await payments.events(id), [...eventsBefore, "payment_cancelled"]);
  });
}

Deno.test("cancel: cancels a challenged payment that was not reviewed", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id } = await chargeCard(payments, CHALLENGED_CARD);
  const cancelled = await parsePayment(await payments.post(`/payments/${id}/cancel/`), 200);
  assert.equal(cancelled.transaction_status, "cancel");
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_cancelled"]);
});

Deno.test("expire: expires a pending payment, here and at the gateway", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("qris");
  const expired = await parsePayment(await payments.post(`/payments/${id}/expire/`), 200);
  assertMembers(expired, {
    transaction_status: "expire",
    status_code: "407",
    is_expired: true,
    is_failed: false,
    is_pending: false,
  });
  const transaction = await payments.sandbox.status(transaction_id!);
  assert.equal(transaction.transaction_status, "expire");
  assert.deepEqual(await payments.transitions(id), [">pending charge", "pending>expire expire"]);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_expired"]);
});

Deno.test("capture: captures the full authorized amount by default", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const body of [undefined, {}]) {
    const authorized = await payments.charge("card_auth");
    assertMembers(authorized, {
      transaction_status: "authorize",
      captured_amount: null,
      net_amount: "0.00",
      is_paid: false,
      is_pending: true,
    });
    const response = await payments.post(`/payments/${authorized.id}/capture/`, body);
    const captured = await parsePayment(response, 200);
    assertMembers(captured, {
      transaction_status: "capture",
      gross_amount: "44000.00",
      captured_amount: "44000.00",
      net_amount: "44000.00",
      is_paid: true,
      is_pending: false,
    });
    assert.deepEqual(await payments.transitions(authorized.id), [
      ">pending charge",
      "pending>authorize charge",
      "authorize>capture capture",
    ]);
    assert.deepEqual(await payments.events(authorized.id), ["payment_received", "payment_settled"]);
  }
});

Deno.test("capture: releases the rest after a partial capture and counts only the captured part", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("card_auth");
  const response = await payments.post(`/payments/${id}/capture/`, { amount: 20_000 });
  const part = { gross_amount: "44000.00", captured_amount: "20000.00", net_amount: "20000.00" };
  assertMembers(await parsePayment(response, 200), { transaction_status: "capture", ...part });
  const transaction = await payments.sandbox.status(transaction_id!);
  assert.equal(transaction.gross_amount, "20000.00");
  assertMembers(await payments.refresh(id), { transaction_status: "capture", ...part });

  await payments.sandbox.control(`transactions/${transaction_id}/settle`);
  assertMembers(await payments.refresh(id), { transaction_status: "settlement", ...part });
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("check_status: takes over the amount of a partial capture made outside the service", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("card_auth");
  await payments.sandbox.post("/v2/capture", { transaction_id, gross_amount: 7_000 });
  const captured = await payments.refresh(id);
  assertMembers(captured, {
    transaction_status: "capture",
    gross_amount: "44000.00",
    captured_amount: "7000.00",
  });
});

Deno.test("capture: rejects an amount above the authorized amount without calling the gateway", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const authorized = await payments.charge("card_auth");
  const callsBefore = payments.proxy.received.length;
  const response = await payments.post(`/payments/${authorized.id}/capture/`, { amount: 44_001 });
  const { errors } = await assertProblem(response, 400, "validation_error");
  assert.deepEqual(errors!.map(({ field }) => field), ["amount"]);
  assert.equal(payments.proxy.received.length, callsBefore);
  assert.deepEqual(await payments.read(authorized.id), authorized);
});

Deno.test("capture: keeps the authorization if the bank declines; capture and cancel still work", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const nextAction of ["capture", "cancel"]) {
    const { id, order_id, transaction_id } = await payments.charge("card_auth");
    await payments.sandbox.fault("capture", "bank_refuses");
    const response = await payments.post(`/payments/${id}/capture/`);
    const problem = await assertProblem(response, 400, "capture_denied");
    assert.equal(problem.outcome, "refused");
    assert.equal(problem.payment_id, id);
    assert.equal(problem.order_id, order_id);
    assertMembers(problem.payment!, {
      id,
      transaction_id,
      transaction_status: "authorize",
      captured_amount: null,
      is_paid: false,
    });
    assert.equal((await payments.read(id)).transaction_status, "authorize");
    assert.deepEqual(await payments.events(id), ["payment_received"]);
    const transaction = await payments.sandbox.status(transaction_id!);
    assert.equal(transaction.transaction_status, "authorize");

    const done = await parsePayment(await payments.post(`/payments/${id}/${nextAction}/`), 200);
    assert.equal(done.transaction_status, nextAction);
  }
});

Deno.test("charge: responds 201 with a denied payment if the bank or the fraud detection declines the card", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const [card, fraud_status] of [[DENIED_BY_BANK, "accept"], [DENIED_AS_FRAUD, "deny"]]) {
    const denied = await chargeCard(payments, card!);
    assertMembers(denied, {
      transaction_status: "deny",
      fraud_status: fraud_status!,
      status_code: "202",
      captured_amount: null,
      is_paid: false,
      is_pending: false,
      is_failed: true,
    });
    assert.match(denied.status_message!, /^(Deny by Bank|Denied by)/);
    assert.deepEqual(await payments.read(denied.id), denied);
    assert.deepEqual(await payments.transitions(denied.id), [
      ">pending charge",
      "pending>deny charge",
    ]);
    assert.deepEqual(await payments.events(denied.id), ["payment_denied"]);
  }
});

Deno.test("approve: makes a challenged card payment paid", async () => {
  await using payments = await openPayments({ databaseUrl });
  const challenged = await chargeCard(payments, CHALLENGED_CARD);
  assertMembers(challenged, {
    transaction_status: "capture",
    fraud_status: "challenge",
    captured_amount: null,
    net_amount: "0.00",
    is_paid: false,
    is_pending: true,
  });
  const { id } = challenged;
  const { body } = await approvePayment(payments.app.service, requestOf(id));
  assertMembers(body, {
    transaction_status: "capture",
    fraud_status: "accept",
    captured_amount: "44000.00",
    is_paid: true,
    is_pending: false,
  });
  assert.deepEqual(await payments.read(id), body);
  assert.deepEqual(await payments.transitions(id), [
    ">pending charge",
    "pending>capture charge",
    "capture>capture approve",
  ]);
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

for (
  const [status, event] of [["cancel", "payment_cancelled"], ["deny", "payment_denied"]] as const
) {
  Deno.test(`deny: denies a challenged card payment if the gateway then reports ${status}`, async () => {
    await using payments = await openPayments({ databaseUrl });
    await payments.sandbox.control("settings", { denied_review_status: status }, "PATCH");
    const { id, transaction_id } = await chargeCard(payments, CHALLENGED_CARD);
    const { body } = await denyPayment(payments.app.service, requestOf(id));
    assertMembers(body, { transaction_status: status, fraud_status: "deny", is_failed: true });
    const transaction = await payments.sandbox.status(transaction_id!);
    assert.deepEqual([transaction.transaction_status, transaction.fraud_status], [status, "deny"]);
    assert.equal((await payments.transitions(id)).at(-1), `capture>${status} deny`);
    assert.deepEqual(await payments.events(id), ["payment_received", event]);
  });
}

Deno.test("approve: a challenged authorization stays an authorization, which can be captured", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id } = await chargeCard(payments, CHALLENGED_CARD, "card_auth");
  const { body } = await approvePayment(payments.app.service, requestOf(id));
  assertMembers(body, {
    transaction_status: "authorize",
    fraud_status: "accept",
    captured_amount: null,
    is_paid: false,
  });
  const response = await payments.post(`/payments/${id}/capture/`);
  assert.equal((await parsePayment(response, 200)).captured_amount, "44000.00");
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("approve and deny: are allowed only for staff, and not for the owner", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id } = await chargeCard(payments, CHALLENGED_CARD);
  for (const review of [approvePayment, denyPayment]) {
    for (const caller of [ALICE, BOB]) {
      await assert.rejects(
        review(payments.app.service, requestOf(id, caller)),
        (error) => error instanceof ServiceError && error.code === "forbidden",
      );
    }
  }
  for (const action of ["approve", "deny"]) {
    await assertProblem(await payments.post(`/reviews/${id}/${action}/`), 403, "forbidden");
    await assertProblem(await payments.post(`/payments/${id}/${action}/`), 404, "not_found");
  }
  assert.equal((await payments.read(id)).fraud_status, "challenge");
  const { body } = await approvePayment(payments.app.service, requestOf(id));
  assert.equal(body.fraud_status, "accept");
});

/** Changes at the gateway that the service has not seen yet. */
const CHANGED_AT_GATEWAY: {
  action: string;
  kind: ChargeKind;
  change: string;
  expectedStatus: string;
}[] = [
  { action: "cancel", kind: "gopay", change: "pay", expectedStatus: "settlement" },
  { action: "cancel", kind: "card", change: "settle", expectedStatus: "settlement" },
  { action: "expire", kind: "bca", change: "pay", expectedStatus: "settlement" },
  { action: "expire", kind: "gopay", change: "deny", expectedStatus: "deny" },
];

for (const { action, kind, change, expectedStatus } of CHANGED_AT_GATEWAY) {
  Deno.test(`${action}: stores the gateway's state and rejects the request if a ${kind} payment changed at the gateway (${change})`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const { id, transaction_id } = await payments.charge(kind);
    await payments.sandbox.control(`transactions/${transaction_id}/${change}`);
    const response = await payments.post(`/payments/${id}/${action}/`);
    const problem = await assertProblem(response, 400, "invalid_state");
    assert.equal(problem.outcome, "refused");
    assert.equal(problem.payment_id, id);
    assert.equal(problem.transaction_status, expectedStatus);
    assert.equal((await payments.read(id)).transaction_status, expectedStatus);
    const [, ...transitions] = await payments.transitions(id);
    assert.match(transitions.at(-1)!, new RegExp(`>${expectedStatus} ${action}$`));
  });
}

Deno.test("capture: stores the cancellation and rejects the request if the payment was cancelled at the gateway", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { id, transaction_id } = await payments.charge("card_auth");
  await payments.sandbox.post(`/v2/${transaction_id}/cancel`);
  const response = await payments.post(`/payments/${id}/capture/`);
  const problem = await assertProblem(response, 400, "invalid_state");
  assert.equal(problem.transaction_status, "cancel");
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_cancelled"]);
});

Deno.test("approve and deny: store the earlier decision and reject the request if the payment was reviewed at the gateway", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const review of [approvePayment, denyPayment]) {
    const { id, transaction_id } = await chargeCard(payments, CHALLENGED_CARD);
    await payments.sandbox.post(`/v2/${transaction_id}/approve`);
    await assert.rejects(
      review(payments.app.service, requestOf(id)),
      (error) => error instanceof ServiceError && error.code === "invalid_state",
    );
    const payment = await payments.read(id);
    assertMembers(payment, { transaction_status: "capture", fraud_status: "accept" });
    assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
  }
});

Deno.test("cancel: rejects the request and changes nothing if the gateway answers 412 and the status check fails", async () => {
  await using payments = await openPayments({
    databaseUrl,
    gatewayOptions: { wait: createWaits().wait },
  });
  const { id, transaction_id } = await payments.charge("gopay");
  await payments.sandbox.control(`transactions/${transaction_id}/pay`);
  await payments.sandbox.fault("status", "error_500", { count: 10 });
  const response = await payments.post(`/payments/${id}/cancel/`);
  const problem = await assertProblem(response, 400, "gateway_error");
  assert.equal(problem.outcome, "refused");
  assert.equal((await payments.read(id)).transaction_status, "pending");
  await payments.sandbox.control("faults", undefined, "DELETE");
  assert.equal((await payments.refresh(id)).transaction_status, "settlement");
});

Deno.test("cancel and expire: first find the transaction of a charge whose response was lost", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const action of ["cancel", "expire"]) {
    await payments.sandbox.fault("charge", "answer_lost");
    const response = await payments.post("/charge/", await chargeRequest(payments.sandbox, "bca"));
    const { payment_id, detail } = await assertProblem(response, 502, "gateway_unreachable");
    assert.equal(detail, null, "there is no gateway message");
    const done = await parsePayment(await payments.post(`/payments/${payment_id}/${action}/`), 200);
    assert.equal(done.transaction_status, action);
    const expected = [
      "payment_received",
      action === "cancel" ? "payment_cancelled" : "payment_expired",
    ];
    assert.deepEqual(await payments.events(done.id), expected);
  }
});

Deno.test("check_status: returns the payment and the gateway's response without its signature", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const kind of ["bca", "card", "qris", "card_auth"] as const) {
    const { id, transaction_id } = await payments.charge(kind);
    const { signature_key, ...expected } = await payments.sandbox.status(transaction_id!);
    assert.match(signature_key, /^[0-9a-f]{128}$/);
    const response = await payments.get(`/payments/${id}/check_status/`);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.ok(!text.includes(signature_key));
    assert.ok(!text.includes("signature_key"));
    const { payment, gateway_response } = PaymentStatusCheckSchema.parse(JSON.parse(text));
    assert.deepEqual(gateway_response, expected, "unchanged");
    assert.deepEqual(payment, await payments.read(id));
  }
});

Deno.test("check_status: does not call the gateway for a rejected charge", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const id = await createRejectedCharge(payments);
  const callsBefore = payments.proxy.received.length;
  const response = await payments.get(`/payments/${id}/check_status/`);
  const { payment, gateway_response } = PaymentStatusCheckSchema.parse(await response.json());
  assert.equal(gateway_response, null);
  assert.equal(payment.transaction_status, "failure");
  assert.equal(payments.proxy.received.length, callsBefore);
});

Deno.test("check_status: leaves the payment unchanged if the gateway fails", async () => {
  await using payments = await openPayments({
    databaseUrl,
    gatewayOptions: { wait: createWaits().wait },
  });
  const payment = await payments.charge("bca");
  await payments.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  const faults = [["error_500", 400, "gateway_error"], ["reset", 502, "gateway_unreachable"]];
  for (const [fault, status, code] of faults as [string, number, "gateway_error"][]) {
    await payments.sandbox.fault("status", fault, { count: 10 });
    const response = await payments.get(`/payments/${payment.id}/check_status/`);
    const problem = await assertProblem(response, status, code);
    assert.equal(problem.payment_id, payment.id);
    assert.deepEqual(await payments.read(payment.id), payment);
    await payments.sandbox.control("faults", undefined, "DELETE");
  }
});

Deno.test("check_status: returns a saved token only in the gateway's response", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  const request = await chargeRequest(sandbox, "card");
  const response = await payments.post("/charge/", { ...request, save_token_id: true });
  const text = await response.clone().text();
  const { id, transaction_id } = await parsePayment(response, 201);
  const { saved_token_id } = await sandbox.status(transaction_id!);
  assert.match(saved_token_id, /^48111111.{20}1114$/);

  const checked = await (await payments.get(`/payments/${id}/check_status/`)).json();
  assert.equal(checked.gateway_response.saved_token_id, saved_token_id);
  await sandbox.control(`transactions/${transaction_id}/settle`);
  await payments.refresh(id);
  const otherTexts = [
    text,
    JSON.stringify(checked.payment),
    await (await payments.get(`/payments/${id}/`)).text(),
    await (await payments.get("/payments/")).text(),
    JSON.stringify(await payments.app.database.query((sql) => sql`select * from gateway.events`)),
    JSON.stringify(await payments.app.database.query((sql) => sql`select * from gateway.payments`)),
    JSON.stringify(payments.app.logged()),
  ];
  for (const each of otherTexts) {
    assert.ok(!each.includes(saved_token_id));
    assert.ok(!each.includes(request.token_id));
  }
});

Deno.test("payments: reading and listing do not call the gateway", async () => {
  await using payments = await openProxiedPayments({ databaseUrl });
  const payment = await payments.charge("bca");
  await payments.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  const callsBefore = payments.proxy.received.length;
  assert.deepEqual(await payments.read(payment.id), payment);
  assert.equal((await payments.get("/payments/")).status, 200);
  assert.equal(payments.proxy.received.length, callsBefore);
});

async function afterCharge(payments: TestPayments, kind: ChargeKind): Promise<string> {
  return (await payments.charge(kind)).id;
}

async function chargeCard(
  payments: TestPayments,
  card: string,
  kind: ChargeKind = "card",
): Promise<Payment> {
  const token_id = await payments.sandbox.token(card);
  return await payments.charge(kind, { token_id });
}

/** A payment that changed at the gateway; the service has stored the change. */
async function afterChange(
  payments: TestPayments,
  kind: ChargeKind,
  change: string,
): Promise<string> {
  const { id, transaction_id } = await payments.charge(kind);
  await payments.sandbox.control(`transactions/${transaction_id}/${change}`);
  return (await payments.refresh(id)).id;
}

async function afterAction(payments: TestPayments, action: string): Promise<string> {
  const { id } = await payments.charge("bca");
  return (await parsePayment(await payments.post(`/payments/${id}/${action}/`), 200)).id;
}

async function afterRefund(payments: TestPayments, input: Json): Promise<string> {
  const { id } = await payments.paid("gopay");
  assert.equal((await payments.post(`/payments/${id}/refund/`, input)).status, 200);
  return id;
}

async function afterChargeback(payments: TestPayments, details: Json): Promise<string> {
  const { id, transaction_id } = await payments.paid("card");
  await payments.sandbox.control(`transactions/${transaction_id}/chargeback`, details);
  return (await payments.refresh(id)).id;
}

/** A charge that the gateway rejects because its token does not exist. */
async function createRejectedCharge(payments: TestPayments): Promise<string> {
  const request = await chargeRequest(payments.sandbox, "card");
  const response = await payments.post("/charge/", { ...request, token_id: "unknown-token" });
  const { payment_id, outcome } = await assertProblem(response, 400, "gateway_error");
  assert.equal(outcome, "refused");
  return payment_id!;
}

interface Rejection {
  code: string;
  members: Record<string, unknown>;
}

async function rejectionOf(
  payments: ProxiedPayments,
  id: string,
  action: string,
): Promise<Rejection> {
  const path = `/${isReview(action) ? "reviews" : "payments"}/${id}/${action}/`;
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  const response = await payments.post(path, undefined, {}, isReview(action) ? staff : undefined);
  const { code, ...members } = await assertProblem(response, 400, "invalid_state");
  return { code, members };
}
