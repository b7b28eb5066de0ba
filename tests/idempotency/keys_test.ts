import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { prune } from "../../core/tasks/prune.ts";
import { claimKeysSql, endKey, findKey, type NewKey } from "../../db/records/idempotency_keys.ts";
import { Statement } from "../../db/records/statement.ts";
import { createDatabase } from "../support/database/database.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { operationOf, OPERATIONS, timesDone } from "../support/payments/operations.ts";
import { chargeRequest, parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";

const databaseUrl = await createDatabase();

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The problem without its request id, with the HTTP status. */
async function problemOf(response: Response): Promise<Json> {
  const { instance: _, ...rest } = await response.json();
  return { ...rest, httpStatus: response.status };
}

for (const operation of OPERATIONS) {
  Deno.test(`${operation.name}: the same key and body get the identical response`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const { path, body } = await operation.prepare(payments);
    const headers = newKey();
    const firstResponse = await payments.post(path, body, headers);
    assert.equal(firstResponse.status, operation.status);
    assert.equal(isReplayed(firstResponse), false);
    const text = await firstResponse.text();
    for (let i = 0; i < 2; i++) {
      const again = await payments.post(path, body, headers);
      assert.equal(again.status, operation.status);
      assert.equal(isReplayed(again), true);
      assert.equal(await again.text(), text);
      for (const name of ["content-type", "location"]) {
        assert.equal(again.headers.get(name), firstResponse.headers.get(name));
      }
    }
    assert.equal(payments.relay.times(operation.call), 1);
  });

  Deno.test(`${operation.name}: responds 409 while another request with the same key is running`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const { path, body } = await operation.prepare(payments);
    const headers = newKey();
    const held = payments.relay.holdNext(operation.call);
    const running = payments.post(path, body, headers);
    await held.arrived;
    const concurrent = await payments.post(path, body, headers);
    assert.ok(Number(concurrent.headers.get("Retry-After")) >= 1);
    await assertProblem(concurrent, 409, "idempotency_in_progress");
    held.release();
    const firstResponse = await running;
    assert.equal(firstResponse.status, operation.status);
    const after = await payments.post(path, body, headers);
    assert.equal(isReplayed(after), true);
    assert.equal(await after.text(), await firstResponse.text());
    assert.equal(payments.relay.times(operation.call), 1);
  });

  Deno.test(`${operation.name}: 50 concurrent requests with the same key are executed once`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const prepared = await operation.prepare(payments);
    const { path, body } = prepared;
    const headers = newKey();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => payments.post(path, body, headers)),
    );
    const lastResponse = await payments.post(path, body, headers);
    assert.equal(isReplayed(lastResponse), true);
    const text = await lastResponse.text();
    // The others get 409 while the first runs, or 503 if the database is overloaded.
    const [finished, retryable] = [true, false].map((isFinal) =>
      answers.filter(({ status }) => ![409, 503].includes(status) === isFinal)
    ) as [Response[], Response[]];
    for (const answer of finished) {
      assert.deepEqual([answer.status, await answer.text()], [operation.status, text]);
    }
    for (const answer of retryable) {
      assert.ok(answer.headers.has("Retry-After"), await answer.text());
    }
    assert.equal(finished.filter((each) => !isReplayed(each)).length, 1);
    assert.equal(payments.relay.times(operation.call), 1);
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });
}

Deno.test("idempotency key: different white space, field order and ignored fields count as the same request", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, key } = payments;
  const send = (body: string, id: string) =>
    app.as(key, "/charge/", {
      method: "POST",
      body,
      headers: { "Content-Type": "application/json", "Idempotency-Key": id },
    });
  const id = randomUUID();
  const firstResponse = await send(
    `{"payment_type":"gopay","gross_amount":1000,"metadata":{"a":{"x":1,"y":2},"b":[1,2]}}`,
    id,
  );
  assert.equal(firstResponse.status, 201);
  const sameRequest = await send(
    `{ "metadata": {"b": [1, 2], "a": {"y": 2, "x": 1}},\n "gross_amount": 1e3,
       "bank": "bca", "payment_type": "gopay" }`,
    id,
  );
  assert.equal(isReplayed(sameRequest), true);
  assert.equal(await sameRequest.text(), await firstResponse.text());
  const withOtherBody = await send(
    `{"payment_type":"gopay","gross_amount":1000,"metadata":{"a":{"x":1,"y":2},"b":[2,1]}}`,
    id,
  );
  await assertProblem(withOtherBody, 422, "idempotency_key_reused");
});

Deno.test("idempotency key: a replay returns unusual metadata exactly as in the first response", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const headers = { ...newKey(), "Content-Type": "application/json" };
  const body =
    '{"payment_type":"gopay","gross_amount":1000,"metadata":{"b":1.50,"10":"x","9":null,' +
    '"__proto__":{"a":1},"constructor":"c","":"\\u0007\\u2028é🙂","n":-0,"big":12345678901234567890}}';
  const send = () => payments.app.as(payments.key, "/charge/", { method: "POST", body, headers });
  const firstResponse = await send();
  const text = await firstResponse.text();
  assert.equal(firstResponse.status, 201, text);
  const again = await send();
  assert.equal(isReplayed(again), true);
  assert.equal(await again.text(), text);
  const stored = await (await payments.get(`/payments/${JSON.parse(text).id}/`)).text();
  assert.equal(stored, text);
});

Deno.test("idempotency key: a different body gets 422 and has no effect", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const bodies: Record<string, Json[]> = {
    charge: [{ gross_amount: 44_001 }, { payment_type: "gopay" }, { metadata: { a: 1 } }],
    capture: [{ amount: 39_999 }, { amount: undefined }],
    refund: [{ amount: 9_999 }, { amount: undefined }, { reason: "Other" }, { direct: true }],
  };
  for (const [name, changes] of Object.entries(bodies)) {
    const operation = operationOf(name as "charge");
    const prepared = await operation.prepare(payments);
    const { path, body } = prepared;
    const headers = newKey();
    const firstResponse = await payments.post(path, body, headers);
    for (const change of changes) {
      const withOtherBody = await payments.post(path, { ...body, ...change }, headers);
      assert.equal(isReplayed(withOtherBody), false);
      await assertProblem(withOtherBody, 422, "idempotency_key_reused");
    }
    assert.equal(payments.relay.times(operation.call), 1);
    assert.equal(await timesDone(payments, operation, prepared), 1);
    const again = await payments.post(path, body, headers);
    assert.equal(await again.text(), await firstResponse.text());
  }
});

Deno.test("idempotency key: a different body gets 422 while the first request runs and after an unknown outcome", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox, relay } = payments;
  const headers = newKey();
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  const held = relay.holdNext("POST /v2/charge");
  const running = post("/charge/", body, headers);
  await held.arrived;
  const otherBody = { ...body, gross_amount: 2_000 };
  await assertProblem(await post("/charge/", otherBody, headers), 422, "idempotency_key_reused");
  await sandbox.fault("charge", "answer_lost");
  held.release();
  assert.equal((await running).status, 502);
  await assertProblem(await post("/charge/", otherBody, headers), 422, "idempotency_key_reused");
  assert.equal((await post("/charge/", body, headers)).status, 201);
});

Deno.test("idempotency key: is separate for each route", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox } = payments;
  const headers = newKey();
  const charge = await chargeRequest(sandbox, "card_auth");
  const charged = await parsePayment(await post("/charge/", charge, headers), 201);
  const path = `/payments/${charged.id}`;
  const body = {};
  const captured = await post(`${path}/capture/`, body, headers);
  assert.equal((await parsePayment(captured, 200)).transaction_status, "capture");
  await sandbox.control(`transactions/${charged.transaction_id}/settle`);
  await payments.refresh(charged.id);
  for (const action of ["cancel", "expire"]) {
    const refused = await post(`${path}/${action}/`, body, headers);
    assert.equal(isReplayed(refused), false);
    await assertProblem(refused, 400, "invalid_state");
  }
  const refunded = await post(`${path}/refund/`, body, headers);
  assert.equal(refunded.status, 200);
  assert.equal(isReplayed(refunded), false);
  assert.equal((await refunded.json()).payment.transaction_status, "refund");
});

Deno.test("idempotency key: is separate for each payment and each user", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post } = payments;
  const headers = newKey();
  const firstPayment = await payments.paid("gopay");
  const secondPayment = await payments.paid("gopay");
  for (const { id } of [firstPayment, secondPayment]) {
    const answer = await post(`/payments/${id}/refund/`, { amount: 1_000 }, headers);
    assert.equal(isReplayed(answer), false);
    assert.equal((await answer.json()).payment.id, id);
  }

  const bob = await app.createKey({ userId: "bob" });
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  const alicesPayment = await parsePayment(await post("/charge/", body, headers), 201);
  const answer = await post("/charge/", body, headers, bob);
  assert.equal(isReplayed(answer), false);
  assert.notEqual((await parsePayment(answer, 201)).id, alicesPayment.id);
  // Bob does not get a replay of Alice's refund, even with her path and key.
  const bobsRefund = await post(
    `/payments/${firstPayment.id}/refund/`,
    { amount: 1_000 },
    headers,
    bob,
  );
  await assertProblem(bobsRefund, 404, "not_found");
});

Deno.test("idempotency key: is shared by two API keys of the same user", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post } = payments;
  const otherApiKey = await app.createKey();
  const headers = newKey();
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  const firstResponse = await post("/charge/", body, headers);
  const again = await post("/charge/", body, headers, otherApiKey);
  assert.equal(isReplayed(again), true);
  assert.equal(await again.text(), await firstResponse.text());
});

Deno.test("idempotency key: paths that differ in a trailing slash or the case of the id count as the same path", async () => {
  await using payments = await openRelayed({
    databaseUrl,
    env: { BASE_PATH: "/pay" },
  });
  const { post } = payments;
  const headers = newKey();
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  const firstResponse = await post("/pay/charge", body, headers);
  const again = await post("/pay/charge/", body, headers);
  assert.equal(isReplayed(again), true);
  const text = await firstResponse.text();
  assert.equal(await again.text(), text);
  const { id } = JSON.parse(text);
  const cancelled = await post(`/pay/payments/${id}/cancel`, undefined, headers);
  assert.equal(cancelled.status, 200);
  const upper = await post(`/pay/payments/${id.toUpperCase()}/cancel/`, {}, headers);
  assert.equal(isReplayed(upper), true);
  assert.equal(await upper.text(), await cancelled.text());
});

Deno.test("idempotency key: expires after 24 hours", async () => {
  const start = Date.now();
  let now = start;
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  for (const operation of [operationOf("charge"), operationOf("refund")]) {
    now = start;
    const { path, body } = await operation.prepare(payments);
    delete body.order_id;
    const headers = newKey();
    const firstResponse = await payments.post(path, body, headers);
    const text = await firstResponse.text();
    now = start + DAY_MS - 1_000;
    const beforeExpiry = await payments.post(path, body, headers);
    assert.equal(isReplayed(beforeExpiry), true);
    assert.equal(await beforeExpiry.text(), text);
    now = start + DAY_MS + 1_000;
    const afterExpiry = await payments.post(path, body, headers);
    assert.equal(afterExpiry.status, operation.status);
    assert.equal(isReplayed(afterExpiry), false);
    assert.notEqual(await afterExpiry.clone().text(), text);
    // The key now replays the second response.
    const again = await payments.post(path, body, headers);
    assert.equal(isReplayed(again), true);
    assert.equal(await again.text(), await afterExpiry.text());
  }
});

Deno.test("idempotency key: with KEEP_KEYS_DAYS=7 is valid for 7 days, and is not pruned earlier", async () => {
  const start = Date.now();
  let now = start;
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
    now: () => now,
    env: { KEEP_KEYS_DAYS: "7" },
  });
  for (const operation of [operationOf("charge"), operationOf("refund")]) {
    now = start;
    const { path, body } = await operation.prepare(payments);
    delete body.order_id;
    const headers = newKey();
    const text = await (await payments.post(path, body, headers)).text();
    for (const age of [DAY_MS + 3_600_000, 7 * DAY_MS - 1_000]) {
      now = start + age;
      await prune(payments.app.service);
      const again = await payments.post(path, body, headers);
      assert.equal(isReplayed(again), true, `after ${age} ms`);
      assert.equal(await again.text(), text);
    }
    now = start + 7 * DAY_MS + 1_000;
    const afterExpiry = await payments.post(path, body, headers);
    assert.equal(afterExpiry.status, operation.status);
    assert.equal(isReplayed(afterExpiry), false);
    assert.notEqual(await afterExpiry.text(), text);
  }
});

Deno.test("idempotency key: with KEEP_KEYS_DAYS=7 an interrupted charge is resumed after 25 hours and not made twice", async () => {
  let now = Date.now();
  await using payments = await openRelayed({
    databaseUrl,
    now: () => now,
    env: { KEEP_KEYS_DAYS: "7" },
  });
  const { post, sandbox } = payments;
  const headers = newKey();
  const body = { payment_type: "gopay", gross_amount: 1_000, order_id: randomUUID() };
  await sandbox.fault("charge", "answer_lost");
  const lostResponse = await post("/charge/", body, headers);
  const { payment_id } = await assertProblem(lostResponse, 502, "gateway_unreachable");
  now += DAY_MS + 3_600_000;
  const resumed = await post("/charge/", body, headers);
  assert.equal(resumed.status, 201);
  assert.equal((await resumed.json()).id, payment_id);
  assert.equal((await payments.transactions(body.order_id)).length, 1);
});

Deno.test("idempotency key: can be used for another request after 24 hours", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { post } = payments;
  const headers = newKey();
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  const otherBody = { ...body, gross_amount: 2_000 };
  assert.equal((await post("/charge/", body, headers)).status, 201);
  await assertProblem(await post("/charge/", otherBody, headers), 422, "idempotency_key_reused");
  now += DAY_MS + 1_000;
  assert.equal((await post("/charge/", otherBody, headers)).status, 201);
  await assertProblem(await post("/charge/", body, headers), 422, "idempotency_key_reused");
});

Deno.test("idempotency key: must be 1 to 255 printable ASCII characters", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post } = payments;
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  const longest = `${randomUUID()} ~!"#,;'`.padEnd(255, "k");
  assert.equal((await post("/charge/", body, { "Idempotency-Key": longest })).status, 201);
  const again = await post("/charge/", body, { "Idempotency-Key": longest });
  assert.equal(isReplayed(again), true);
  for (const invalidKey of [`${longest}k`, "", "caf\u00e9"]) {
    const answer = await post("/charge/", body, { "Idempotency-Key": invalidKey });
    const problem = await assertProblem(answer, 400, "validation_error");
    assert.match(problem.errors![0]!.field, /idempotency-key/i);
  }
  assert.equal(payments.relay.times("POST /v2/charge"), 1);
});

Deno.test("idempotency key: without a key each request makes a new charge", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  const firstPayment = await parsePayment(await payments.post("/charge/", body), 201);
  const secondPayment = await parsePayment(await payments.post("/charge/", body), 201);
  assert.notEqual(firstPayment.id, secondPayment.id);
});

/** Requests with a final rejection, which is replayed. */
const REJECTIONS: Record<string, (payments: RelayedPayments) => Promise<[string, Json, string]>> = {
  "a charge that the gateway rejects as invalid": () =>
    Promise.resolve(["/charge/", {
      payment_type: "gopay",
      gross_amount: 1_000,
      custom_expiry: { expiry_duration: 1, unit: "second" },
    }, "gateway_validation"]),
  "a charge with an order id in use here": async (payments) => {
    const { order_id } = await payments.charge("gopay");
    return [
      "/charge/",
      { payment_type: "gopay", gross_amount: 1_000, order_id },
      "duplicate_order",
    ];
  },
  "a charge with an order id in use at the gateway": async ({ sandbox }) => {
    const order_id = randomUUID();
    await sandbox.charge("bca", { transaction_details: { order_id } });
    return [
      "/charge/",
      { payment_type: "gopay", gross_amount: 1_000, order_id },
      "duplicate_order",
    ];
  },
  "a cancel of a settled payment": async (payments) => {
    const { id } = await payments.paid("gopay");
    return [`/payments/${id}/cancel/`, {}, "invalid_state"];
  },
  "an expire that the gateway rejects": async (payments) => {
    const { id, transaction_id } = await payments.charge("gopay");
    await payments.sandbox.control(`transactions/${transaction_id}/pay`);
    return [`/payments/${id}/expire/`, {}, "invalid_state"];
  },
  "a capture that the bank declines": async (payments) => {
    const { id } = await payments.charge("card_auth");
    await payments.sandbox.fault("capture", "bank_refuses");
    return [`/payments/${id}/capture/`, {}, "capture_denied"];
  },
  "a capture above the authorized amount": async (payments) => {
    const { id } = await payments.charge("card_auth");
    return [`/payments/${id}/capture/`, { amount: 44_001 }, "validation_error"];
  },
  "a refund that the bank declines": async (payments) => {
    const { id } = await payments.paid("gopay");
    await payments.sandbox.fault("refund", "bank_refuses");
    return [`/payments/${id}/refund/`, {}, "refund_denied"];
  },
  "a refund above the remaining balance": async (payments) => {
    const { id } = await payments.paid("gopay");
    return [`/payments/${id}/refund/`, { amount: 44_001 }, "validation_error"];
  },
  "a refund that the gateway rejects": async (payments) => {
    const { id } = await payments.paid("bca");
    return [`/payments/${id}/refund/`, {}, "invalid_state"];
  },
};

Deno.test("idempotency key: replays a final rejection without calling the gateway", async (t) => {
  await using payments = await openRelayed({ databaseUrl });
  for (const [caseName, prepare] of Object.entries(REJECTIONS)) {
    await t.step(caseName, async () => {
      const [path, body, code] = await prepare(payments);
      const headers = newKey();
      const firstResponse = await payments.post(path, body, headers);
      assert.equal(isReplayed(firstResponse), false);
      const problem = await problemOf(firstResponse);
      assert.equal(problem.code, code);
      assert.equal(problem.outcome, "refused");
      assert.equal(problem.httpStatus, 400);
      const callsBefore = payments.relay.received.length;
      const again = await payments.post(path, body, headers);
      assert.equal(isReplayed(again), true);
      assert.equal(again.headers.get("content-type"), "application/problem+json");
      assert.deepEqual(await problemOf(again), problem);
      assert.equal(payments.relay.received.length, callsBefore);
    });
  }
});

Deno.test("key of a payment that is replaced: can be claimed again only while it has no reply", async () => {
  await using payments = await openRelayed();
  const { database } = payments.app;
  const now = new Date();
  const replacedId = randomUUID();
  const claim: NewKey = {
    ...{ user_id: "alice", scope: "POST /charge/", key: "k-1", body_hash: "\\x00" },
    ...{ resource_id: replacedId, lease_id: randomUUID(), holder: null, created_at: now },
  };
  const claimAgain = async () => {
    const statement = new Statement();
    const options = { keysSince: new Date(0), replaced: [replacedId] };
    const text = claimKeysSql(statement, [claim], options);
    return (await database.query((sql) => statement.run(sql, text))).length > 0;
  };
  assert.equal(await claimAgain(), true, "the key is new");
  assert.equal(await claimAgain(), true, "the key has no reply");
  await database.query((sql) => endKey(sql, claim, { body: { id: "p-1" } }));
  assert.equal(await claimAgain(), false);
  const known = await database.query((sql) => findKey(sql, claim));
  assert.deepEqual(known!.reply, { body: { id: "p-1" } });
});
