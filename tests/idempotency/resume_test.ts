import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createDatabase } from "../support/database/database.ts";
import { createHeldDatabase } from "../support/database/held_database.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { openRelayed } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { expireLeases, isReplayed, newKey } from "../support/idempotency.ts";
import {
  operationOf,
  OPERATIONS,
  sendWithFault,
  timesDone,
} from "../support/payments/operations.ts";
import { chargeRequest, parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();

const FAULTS_WITH_UNKNOWN_OUTCOME = [
  ...["no_answer", "reset", "answer_lost"],
  ...["error_500", "error_503", "hidden_500", "broken_json", "html"],
];

for (const operation of OPERATIONS) {
  Deno.test(`${operation.name}: after an unknown outcome, a retry with the same key checks the status first and completes the operation once`, async () => {
    const waits = createWaits();
    await using payments = await openRelayed({
      databaseUrl,
      gatewayOptions: { wait: waits.wait },
    });
    for (const fault of FAULTS_WITH_UNKNOWN_OUTCOME) {
      const prepared = await operation.prepare(payments);
      const headers = newKey();
      const faultyRequest = { operation, prepared, fault, waits, headers };
      const failed = await sendWithFault(payments, faultyRequest);
      assert.equal((await failed.json()).outcome, "unknown", fault);

      const before = payments.relay.received.length;
      const answer = await payments.post(prepared.path, prepared.body, headers);
      const text = await answer.text();
      assert.equal(answer.status, operation.status, `${fault}: ${text}`);
      assert.equal(isReplayed(answer), false, fault);
      assert.equal(payments.relay.asked()[before], "GET /v2/:id/status", `${fault}: checks first`);
      assert.equal(await timesDone(payments, operation, prepared), 1, fault);

      const again = await payments.post(prepared.path, prepared.body, headers);
      assert.equal(isReplayed(again), true, fault);
      assert.equal(await again.text(), text, fault);
    }
  });

  Deno.test(`${operation.name}: after a rate limit, a retry with the same key is sent to the gateway`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const prepared = await operation.prepare(payments);
    const headers = newKey();
    const faultyRequest = {
      operation,
      prepared,
      fault: "rate_limit",
      waits: createWaits(),
      headers,
    };
    const failed = await sendWithFault(payments, { ...faultyRequest, more: { retry_after: 7 } });
    assert.equal(failed.headers.get("Retry-After"), "7");
    const problem = await assertProblem(failed, 400, "gateway_rate_limited");
    assert.equal(problem.outcome, "refused");
    const answer = await payments.post(prepared.path, prepared.body, headers);
    assert.equal(answer.status, operation.status, await answer.clone().text());
    assert.equal(isReplayed(answer), false);
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });

  Deno.test(`${operation.name}: the outcome stays unknown if the retry is rate limited`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const prepared = await operation.prepare(payments);
    const headers = newKey();
    const faultyRequest = { operation, prepared, waits: createWaits(), headers };
    const { payment_id } =
      await (await sendWithFault(payments, { ...faultyRequest, fault: "reset" }))
        .json();
    const refused = await sendWithFault(payments, { ...faultyRequest, fault: "rate_limit" });
    const problem = await assertProblem(refused, 400, "gateway_rate_limited");
    assert.deepEqual([problem.payment_id, problem.outcome], [payment_id, "unknown"]);
    const answer = await payments.post(prepared.path, prepared.body, headers);
    assert.equal(answer.status, operation.status, await answer.clone().text());
    assert.equal(operation.paymentIn(await answer.json()).id, payment_id);
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });

  Deno.test(`${operation.name}: another request takes the key over after its lease expired, and the operation is done once`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const prepared = await operation.prepare(payments);
    const { path, body } = prepared;
    const headers = newKey();
    const held = payments.relay.holdNext(operation.call);
    const stalled = payments.post(path, body, headers);
    await held.arrived;
    await expireLeases(payments.app.database);
    const secondResponse = await payments.post(path, body, headers);
    const text = await secondResponse.text();
    assert.equal(secondResponse.status, operation.status, text);
    held.release();
    const firstResponse = await stalled;
    // The first request may succeed or fail, but it names the same payment.
    const reply = await firstResponse.json();
    const { id } = operation.paymentIn(JSON.parse(text));
    assert.equal(reply.payment_id ?? operation.paymentIn(reply).id, id);
    assert.equal(await timesDone(payments, operation, prepared), 1);
    const thirdResponse = await payments.post(path, body, headers);
    assert.equal(thirdResponse.status, operation.status, await thirdResponse.clone().text());
    assert.equal(operation.paymentIn(await thirdResponse.json()).id, id);
  });
}

for (const name of ["cancel", "expire", "capture"] as const) {
  Deno.test(`${name}: a retry succeeds if the gateway processes the first call during the retry`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const { relay, sandbox } = payments;
    const operation = operationOf(name);
    const prepared = await operation.prepare(payments);
    const headers = newKey();
    const faultyRequest = { operation, prepared, waits: createWaits(), headers, fault: "reset" };
    const { payment_id } = await (await sendWithFault(payments, faultyRequest)).json();
    const held = relay.holdNext(operation.call);
    const retry = payments.post(prepared.path, prepared.body, headers);
    await held.arrived;
    const { target, body } = relay.received.at(-1)!;
    await sandbox.post(target, body === "" ? undefined : JSON.parse(body));
    held.release();
    const answer = await retry;
    assert.equal(answer.status, operation.status, await answer.clone().text());
    assert.equal(operation.paymentIn(await answer.json()).id, payment_id);
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });

  Deno.test(`${name}: a retry succeeds if the service learns during the retry that the first call was processed`, async () => {
    const { holdNext, wrapDatabase } = createHeldDatabase();
    await using payments = await openRelayed({ databaseUrl, wrapDatabase });
    const { relay, sandbox } = payments;
    const operation = operationOf(name);
    const prepared = await operation.prepare(payments);
    const headers = newKey();
    const faultyRequest = { operation, prepared, waits: createWaits(), headers, fault: "reset" };
    const { payment_id } = await (await sendWithFault(payments, faultyRequest)).json();
    const { target, body } = relay.received.at(-1)!;
    const held = holdNext("write payment");
    const retry = payments.post(prepared.path, prepared.body, headers);
    await held.arrived;
    await sandbox.post(target, body === "" ? undefined : JSON.parse(body));
    const checked = await payments.get(`/payments/${payment_id}/check_status/`);
    assert.equal(checked.status, 200, await checked.text());
    held.release();
    const answer = await retry;
    assert.equal(answer.status, operation.status, await answer.clone().text());
    assert.equal(operation.paymentIn(await answer.json()).id, payment_id);
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });
}

Deno.test("charge: a retry without an order id after a lost response makes no second transaction", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox } = payments;
  const body = await chargeRequest(sandbox, "gopay");
  const headers = newKey();
  await sandbox.fault("charge", "answer_lost");
  const { payment_id } = await assertProblem(
    await post("/charge/", body, headers),
    502,
    "gateway_unreachable",
  );
  const payment = await parsePayment(await post("/charge/", body, headers), 201);
  assert.equal(payment.id, payment_id);
  const transactions = await sandbox.control("transactions", undefined, "GET");
  assert.deepEqual(
    transactions.map((each: Json) => each.transaction_id),
    [payment.transaction_id],
  );
});

Deno.test("charge: a retry with a used one-time card token finds the charge", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox } = payments;
  const body = await chargeRequest(sandbox, "card");
  const headers = newKey();
  await sandbox.fault("charge", "answer_lost");
  assert.equal((await post("/charge/", body, headers)).status, 502);
  const payment = await parsePayment(await post("/charge/", body, headers), 201);
  assert.equal(payment.transaction_status, "capture");
  assert.equal(payments.relay.times("POST /v2/charge"), 1);
});

Deno.test("idempotency key: while the gateway is down, replies are replayed and unknown outcomes stay unknown", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post, sandbox, relay } = payments;
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  const finishedKey = newKey();
  const firstResponse = await post("/charge/", body, finishedKey);
  const lostKey = newKey();
  await sandbox.fault("charge", "answer_lost");
  const unknownOutcome = await assertProblem(
    await post("/charge/", body, lostKey),
    502,
    "gateway_unreachable",
  );
  await sandbox.fault("charge", "reset", { count: 4 });
  for (let i = 0; i < 4; i++) assert.equal((await post("/charge/", body)).status, 502);
  await sandbox.fault("status", "reset", { count: 5 });
  for (let i = 0; i < 5; i++) await assert.rejects(app.gateway.getStatus("any"));
  for (const kind of ["read", "write"] as const) {
    assert.equal(app.gateway.breakerState(kind), "open");
  }

  const callsBefore = relay.received.length;
  const replayed = await post("/charge/", body, finishedKey);
  assert.equal(isReplayed(replayed), true);
  assert.equal(await replayed.text(), await firstResponse.text());
  // "refused" would invite the caller to charge again, although the first attempt succeeded.
  const problem = await assertProblem(
    await post("/charge/", body, lostKey),
    502,
    "gateway_unreachable",
  );
  assert.equal(problem.outcome, "unknown");
  assert.equal(problem.payment_id, unknownOutcome.payment_id);
  assert.equal(problem.order_id, unknownOutcome.order_id);
  for (const key of [finishedKey, lostKey]) {
    const withOtherBody = await post("/charge/", { ...body, gross_amount: 2_000 }, key);
    await assertProblem(withOtherBody, 422, "idempotency_key_reused");
  }
  const newRequest = await assertProblem(
    await post("/charge/", body, newKey()),
    502,
    "gateway_unreachable",
  );
  assert.equal(newRequest.outcome, "refused");
  assert.equal(relay.received.length, callsBefore);
});

/** A refund request with a fixed key; the test can hold back its SQL statements. */
async function openHeldRefund() {
  const { wrapDatabase, holdNext } = createHeldDatabase();
  const time = { now: Date.now() };
  const payments = await openRelayed({ databaseUrl, wrapDatabase, now: () => time.now });
  const operation = operationOf("refund");
  const prepared = await operation.prepare(payments);
  const headers = newKey();
  return {
    payments,
    operation,
    holdNext,
    time,
    send: () => payments.post(prepared.path, prepared.body, headers),
    timesDone: () => timesDone(payments, operation, prepared),
    [Symbol.asyncDispose]: () => payments[Symbol.asyncDispose](),
  };
}

Deno.test("refund: a request that is delayed before it claims the key resumes the refund that another request stored meanwhile", async () => {
  await using refund = await openHeldRefund();
  const held = refund.holdNext("claim key");
  const delayedRequest = refund.send();
  await held.arrived;
  await refund.payments.sandbox.fault("refund", "answer_lost");
  assert.equal((await (await refund.send()).json()).outcome, "unknown");
  held.release();
  assert.equal((await delayedRequest).status, 200);
  assert.equal(await refund.timesDone(), 1);
});

Deno.test("refund: a request whose key is taken over before it stores the refund does not send the refund", async () => {
  await using refund = await openHeldRefund();
  const held = refund.holdNext("write payment");
  const frozenRequest = refund.send();
  await held.arrived;
  refund.time.now += 10 * 60_000;
  await expireLeases(refund.payments.app.database);
  const done = await refund.send();
  assert.equal(done.status, 200);
  held.release();
  await assertProblem(await frozenRequest, 409, "idempotency_in_progress");
  assert.equal(await refund.timesDone(), 1);
  assert.equal(refund.payments.relay.times(refund.operation.call), 1);
  const again = await refund.send();
  assert.equal(isReplayed(again), true);
  assert.equal(await again.text(), await done.text());
});

Deno.test("refund: a request that takes over the key sees the refund that the first request stored during the takeover", async () => {
  await using refund = await openHeldRefund();
  const heldWrite = refund.holdNext("write payment");
  const frozenRequest = refund.send();
  await heldWrite.arrived;
  refund.time.now += 10 * 60_000;
  await expireLeases(refund.payments.app.database);
  const heldTakeover = refund.holdNext("take key over");
  const nextRequest = refund.send();
  await heldTakeover.arrived;
  heldWrite.release();
  // It stored the refund, but after such a long pause it does not send it.
  await assertProblem(await frozenRequest, 504, "gateway_timeout");
  heldTakeover.release();
  assert.ok([200, 409].includes((await nextRequest).status));
  assert.equal((await refund.send()).status, 200);
  assert.equal(await refund.timesDone(), 1);
});

Deno.test("charge: if the gateway reports a duplicate order id but finds no transaction, the outcome is unknown", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, relay, sandbox } = payments;
  const headers = newKey();
  const body = { payment_type: "gopay", gross_amount: 1_000, order_id: randomUUID() };
  await sandbox.fault("charge", "answer_lost");
  const { payment_id } = await (await post("/charge/", body, headers)).json();
  // At the gateway, the idempotency key has expired and status responses are out of date.
  await sandbox.advance(301);
  const { intercept } = relay;
  relay.intercept = (request, pass) =>
    request.method === "GET"
      ? Response.json({ status_code: "404", status_message: "Transaction doesn't exist." })
      : pass();
  const problem = await (await post("/charge/", body, headers)).json();
  assert.deepEqual([problem.payment_id, problem.outcome], [payment_id, "unknown"]);
  assert.equal((await payments.read(payment_id)).transaction_status, "pending");
  relay.intercept = intercept;
  const payment = await parsePayment(await post("/charge/", body, headers), 201);
  assert.equal(payment.id, payment_id);
  assert.equal((await payments.transactions(body.order_id)).length, 1);
});

Deno.test("refund: a retry with the same key gets refund_denied if a task found the refund denied", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { post, sandbox } = payments;
  const { id } = await payments.paid("gopay");
  const headers = newKey();
  const send = () => post(`/payments/${id}/refund/`, { amount: 1_000 }, headers);
  await sandbox.fault("refund", "reset");
  assert.equal((await (await send()).json()).outcome, "unknown");
  await sandbox.fault("refund", "bank_refuses");
  now += 2 * 60_000;
  await payments.check(id);
  assert.equal((await payments.read(id)).refunds[0]!.status, "denied");
  const problem = await assertProblem(await send(), 400, "refund_denied");
  assert.equal(problem.refund!.status, "denied");
  assert.equal(problem.outcome, "refused");
  assert.equal(isReplayed(await send()), true);
  assert.equal(payments.relay.times("POST /v2/:id/refund"), 2);
});

Deno.test("refund: a retry does not succeed with a refund that a task found refused meanwhile", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { post, relay, sandbox } = payments;
  // OVO supports full refunds only.
  const { id } = await payments.paid("ovo");
  const headers = newKey();
  const send = () => post(`/payments/${id}/refund/`, { amount: 1_000 }, headers);
  await sandbox.fault("refund", "reset");
  assert.equal((await (await send()).json()).outcome, "unknown");
  const held = relay.holdAnswer("GET /v2/:id/status");
  const retrying = send();
  await held.arrived;
  now += 2 * 60_000;
  await payments.check(id);
  assert.equal((await payments.read(id)).refunds[0]!.status, "failed");
  held.release();
  await assertProblem(await retrying, 409, "idempotency_in_progress");
  const problem = await assertProblem(await send(), 400, "gateway_error");
  assert.equal(problem.outcome, "refused");
});

Deno.test("charge: a retry with the same key returns the payment that a task found meanwhile", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox } = payments;
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  const headers = newKey();
  await sandbox.fault("charge", "answer_lost");
  const { payment_id } = await (await post("/charge/", body, headers)).json();
  await payments.check(payment_id);
  const callsBefore = payments.relay.received.length;
  const payment = await parsePayment(await post("/charge/", body, headers), 201);
  assert.deepEqual(payment, await payments.read(payment_id));
  assert.equal(payments.relay.received.length, callsBefore, "no gateway call is needed");
});

Deno.test("charge: a retry with the same key makes a new charge after the first was marked failed", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { post, sandbox } = payments;
  const order_id = randomUUID();
  const body = { payment_type: "gopay", gross_amount: 1_000, order_id };
  const headers = newKey();
  await sandbox.fault("charge", "reset");
  const { payment_id } = await (await post("/charge/", body, headers)).json();
  now += 16 * 60_000;
  await payments.check(payment_id);
  assert.equal((await payments.read(payment_id)).transaction_status, "failure");
  const answer = await post("/charge/", body, headers);
  const payment = await parsePayment(answer, 201);
  assert.notEqual(payment.id, payment_id);
  assert.equal((await payments.transactions(order_id)).length, 1);
  const again = await post("/charge/", body, headers);
  assert.equal(isReplayed(again), true);
  assert.equal((await again.json()).id, payment.id);
});

Deno.test("idempotency key: the key of a crashed process is free when its lease expires", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post } = payments;
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  const headers = newKey();
  const firstPayment = await parsePayment(await post("/charge/", body, headers), 201);
  // The state that a process leaves behind if it crashes before storing its reply.
  await app.database.query((sql) =>
    sql`update gateway.idempotency_keys set reply = null, lease_until = now() + interval '1 minute'
      where key = ${headers["Idempotency-Key"]}`
  );
  await assertProblem(await post("/charge/", body, headers), 409, "idempotency_in_progress");
  await expireLeases(app.database);
  assert.equal(
    (await parsePayment(await post("/charge/", body, headers), 201)).id,
    firstPayment.id,
  );
  assert.equal(payments.relay.times("POST /v2/charge"), 1);
});
