import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Transaction } from "../../core/gateway/responses.ts";
import { formatWib } from "../../core/gateway/times.ts";
import {
  type Evidence,
  matchTransaction,
  type TransactionMatch,
} from "../../core/payments/match_transaction.ts";
import { findPayment } from "../../db/payments/statements.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import { createDatabase } from "../support/database/database.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { type ChargeKind, chargeRequest, parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const MINUTE_MS = 60_000;

const databaseUrl = await createDatabase();

const NOT_FOUND = { status_code: "404", status_message: "Transaction doesn't exist." };

const OURS: TransactionMatch = { type: "ours", evidence: "order_and_time" };

/** A charge whose response was lost, and its transaction in the gateway's status response. */
interface LostCharge {
  payment: GatewayPayment;
  transaction: Transaction;
}

async function loseResponse(
  payments: RelayedPayments,
  kind: ChargeKind = "gopay",
): Promise<LostCharge> {
  const order_id = randomUUID();
  const id = await chargeAndLose(payments, await chargeRequest(payments.sandbox, kind), order_id);
  const { body } = await payments.app.gateway.getStatus(order_id);
  return { payment: await readRow(payments, id), transaction: body };
}

async function chargeAndLose(
  { post, sandbox }: RelayedPayments,
  body: Json,
  order_id: string,
  headers: HeadersInit = {},
): Promise<string> {
  await sandbox.fault("charge", "answer_lost");
  const answer = await post("/charge/", { ...body, order_id }, headers);
  return (await assertProblem(answer, 502, "gateway_unreachable")).payment_id!;
}

async function readRow({ app }: RelayedPayments, id: string): Promise<GatewayPayment> {
  return (await app.database.query((sql) => findPayment(sql, id)))!;
}

/** The time in the gateway's format, without the offset. */
const wib = (ms: number) => formatWib(new Date(ms)).slice(0, 19);

/** The time in milliseconds, rounded down or up to a whole second. */
const floor = (time: Date) => Math.floor(time.getTime() / 1_000) * 1_000;
const ceil = (time: Date) => Math.ceil(time.getTime() / 1_000) * 1_000;

function other(difference: Exclude<TransactionMatch, { type: "ours" }>["difference"]) {
  return { type: "other", difference } as const;
}

function unclear(difference: Exclude<TransactionMatch, { type: "ours" }>["difference"]) {
  return { type: "unclear", difference } as const;
}

Deno.test("match transaction: without a payment_ref, a transaction belongs to the payment only if every condition is met", async (t) => {
  await using payments = await openRelayed({ databaseUrl });
  const { payment, transaction } = await loseResponse(payments);
  assert.equal(transaction.metadata, null, "the gateway does not return the metadata");
  const created = payment.created_at;
  const cases: Record<string, [changes: Partial<Transaction>, expected: TransactionMatch]> = {
    "all conditions are met": [{}, OURS],
    "no currency": [{ currency: null }, OURS],
    "GoPay that was paid as QRIS": [{ payment_type: "qris" }, OURS],
    "a fee on top of the amount": [{
      gross_amount: "46500.00",
      metadata: { extra_info: { gross_amount_info: { original_amount: 44_000 } } },
    }, OURS],
    "a fee that is stated next to the metadata": [{
      gross_amount: "46500.00",
      ...{ extra_info: { gross_amount_info: { original_amount: 44_000 } } },
    }, OURS],
    "another currency": [{ currency: "USD" }, other("currency")],
    "another type": [{ payment_type: "shopeepay" }, other("payment_type")],
    "a smaller amount": [{ gross_amount: "43999.00" }, other("amount")],
    "a larger amount, which may include a fee": [{ gross_amount: "44001.00" }, unclear("amount")],
    "a larger amount of another time": [
      { gross_amount: "44001.00", transaction_time: wib(floor(created) - 60 * MINUTE_MS) },
      other("transaction_time"),
    ],
    "an amount with decimals": [{ gross_amount: "44000.50" }, other("amount")],
    "another order": [{ order_id: randomUUID() }, other("order_id")],
    "two minutes before it was sent": [
      { transaction_time: wib(ceil(created) - 2 * MINUTE_MS) },
      OURS,
    ],
    "more than two minutes before it was sent": [
      { transaction_time: wib(floor(created) - 2 * MINUTE_MS - 1_000) },
      other("transaction_time"),
    ],
    "two minutes after it was sent": [
      { transaction_time: wib(floor(created) + 2 * MINUTE_MS) },
      OURS,
    ],
    "more than two minutes after it was sent": [
      { transaction_time: wib(ceil(created) + 2 * MINUTE_MS + 1_000) },
      other("transaction_time"),
    ],
    "a payment of an invoice": [{ metadata: { midtrans_invoice_id: "i-1" } }, other("link")],
    "a charge of a subscription": [
      { metadata: { subscription_ref: randomUUID() } },
      other("link"),
    ],
    "no status": [{ transaction_status: null }, unclear("incomplete")],
    "no transaction id": [{ transaction_id: null }, unclear("incomplete")],
    "no type": [{ payment_type: null }, unclear("incomplete")],
    "no amount": [{ gross_amount: null }, unclear("incomplete")],
    "no order id": [{ order_id: null }, unclear("incomplete")],
    "no time": [{ transaction_time: null }, unclear("incomplete")],
    "the year 1 as time": [{ transaction_time: "0001-01-01 00:00:00" }, unclear("incomplete")],
  };
  for (const [caseName, [changes, expected]] of Object.entries(cases)) {
    await t.step(caseName, async () => {
      const found = { ...transaction, ...changes };
      assert.deepEqual(await matchTransaction(payments.app.service, payment, found), expected);
    });
  }
});

Deno.test("match transaction: if a charge was sent again hours later, its transaction may have any time in between", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { payment, transaction } = await loseResponse(payments);
  const sentAgain = {
    ...payment,
    sent_at: new Date(payment.created_at.getTime() + 180 * MINUTE_MS),
  };
  const matchAt = (minutes: number) =>
    matchTransaction(payments.app.service, sentAgain, {
      ...transaction,
      transaction_time: wib(floor(payment.created_at) + minutes * MINUTE_MS),
    });
  for (const minutes of [0, 90, 180, 182]) assert.deepEqual(await matchAt(minutes), OURS);
  for (const minutes of [-3, 183]) {
    assert.deepEqual(await matchAt(minutes), other("transaction_time"));
  }
});

Deno.test("match transaction: a transaction with a smaller amount matches only an authorization", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { payment, transaction } = await loseResponse(payments, "card_auth");
  const { service } = payments.app;
  const captured = { ...transaction, gross_amount: "36000.00" };
  assert.deepEqual(await matchTransaction(service, payment, captured), OURS);
  const nothing = { ...transaction, gross_amount: "0.00" };
  assert.deepEqual(await matchTransaction(service, payment, nothing), other("amount"));
  const notHeld = { ...payment, is_hold: false };
  assert.deepEqual(await matchTransaction(service, notHeld, captured), other("amount"));
});

Deno.test("match transaction: a payment_ref in the metadata decides, and the time does not matter", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { payment, transaction } = await loseResponse(payments);
  const match = (metadata: Json, changes: Partial<Transaction> = {}) =>
    matchTransaction(payments.app.service, payment, { ...transaction, metadata, ...changes });
  const ours = { payment_ref: payment.id };
  const later = { transaction_time: wib(Date.now() + 60 * MINUTE_MS) };
  assert.deepEqual(await match(ours, later), { type: "ours", evidence: "payment_ref" });
  assert.deepEqual(await match({ payment_ref: randomUUID() }), other("payment_ref"));
  assert.deepEqual(await match({ payment_ref: [1] }), other("payment_ref"));
  assert.deepEqual(await match({ payment_ref: null }), OURS);
  assert.deepEqual(await match(ours, { gross_amount: "1.00" }), unclear("amount"));
  assert.deepEqual(await match(ours, { payment_type: "qris" }), {
    type: "ours",
    evidence: "payment_ref",
  });
});

Deno.test("match transaction: a payment_ref in the notification replaces the time, but not the order id, type and amount", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { payment, transaction } = await loseResponse(payments);
  const later = { transaction_time: wib(Date.now() + 60 * MINUTE_MS) };
  const match = (changes: Partial<Transaction>, notified: Json = { payment_ref: payment.id }) =>
    matchTransaction(payments.app.service, payment, { ...transaction, ...changes }, notified);
  const notified = { type: "ours", evidence: "notified_payment_ref" };
  const fee = (original_amount: number) => ({
    payment_ref: payment.id,
    extra_info: { gross_amount_info: { original_amount } },
  });
  assert.deepEqual(await match(later), notified);
  assert.deepEqual(await match({ transaction_time: null }), notified);
  assert.deepEqual(await match(later, { payment_ref: randomUUID() }), other("transaction_time"));
  assert.deepEqual(await match({ order_id: randomUUID() }), other("order_id"));
  assert.deepEqual(await match({ payment_type: "shopeepay" }), other("payment_type"));
  assert.deepEqual(await match({ gross_amount: "46500.00" }), unclear("amount"));
  assert.deepEqual(await match({ ...later, gross_amount: "46500.00" }, fee(44_000)), notified);
  assert.deepEqual(await match({ gross_amount: "1.00" }, fee(44_000)), other("amount"));
  // The signature does not cover the original amount, so it proves no difference.
  assert.deepEqual(await match({}, fee(1)), OURS);
  assert.deepEqual(await match({ gross_amount: "46500.00" }, fee(1)), unclear("amount"));
});

Deno.test("match transaction: without a payment_ref, the order id must be reserved for the payment", async (t) => {
  await using payments = await openRelayed({ databaseUrl });
  const { service, database } = payments.app;
  const { payment, transaction } = await loseResponse(payments);
  const holdBy = (holderId: string) =>
    database.query((sql) =>
      sql`update gateway.order_ids set holder_id = ${holderId} where order_id = ${payment.order_id}`
    );
  const match = () => matchTransaction(service, payment, transaction);

  await t.step("another payment reserves it", async () => {
    const { id } = await payments.charge("gopay");
    await holdBy(id);
    assert.deepEqual(await match(), other("order_id"));
  });
  await t.step("an invoice reserves it", async () => {
    await holdBy(randomUUID());
    assert.deepEqual(await match(), other("order_id"));
  });
  await t.step("the gateway refused the later payment that reserves it", async () => {
    const rejected = await payments.post("/charge/", {
      payment_type: "gopay",
      gross_amount: 1_000,
      custom_expiry: { expiry_duration: 1, unit: "second" },
    });
    const { payment_id } = await assertProblem(rejected, 400, "gateway_validation");
    await holdBy(payment_id!);
    assert.deepEqual(await match(), OURS);
  });
  await t.step("no record reserves it", async () => {
    await database.query((sql) =>
      sql`delete from gateway.order_ids where order_id = ${payment.order_id}`
    );
    assert.deepEqual(await match(), other("order_id"));
  });
});

Deno.test("match transaction: without a payment_ref, no other payment may have the transaction", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { service, database } = payments.app;
  const { payment, transaction } = await loseResponse(payments);
  const { id, transaction_id } = await payments.charge("gopay");
  const found = { ...transaction, transaction_id };
  assert.deepEqual(await matchTransaction(service, payment, found), unclear("transaction_id"));
  await database.query((sql) =>
    sql`update gateway.payments set order_id = ${payment.order_id} where id = ${id}`
  );
  assert.deepEqual(await matchTransaction(service, payment, found), other("transaction_id"));
});

async function openTimed(hasMetadata: boolean) {
  const time = { aheadMs: 0 };
  const payments = await openRelayed({ databaseUrl, now: () => Date.now() + time.aheadMs });
  await payments.sandbox.showMetadata(hasMetadata);
  return { payments, time, [Symbol.asyncDispose]: () => payments[Symbol.asyncDispose]() };
}

/** Fails unless the payment has the only transaction of its order, matched by this evidence. */
async function assertFound(
  { app, read, transactions }: RelayedPayments,
  id: string,
  evidence: Evidence,
): Promise<void> {
  const payment = await read(id);
  const [transaction, ...more] = await transactions(payment.order_id);
  assert.deepEqual(more, []);
  assert.equal(payment.transaction_id, transaction.transaction_id);
  const matches = app.logged().filter(({ event, payment_id }) =>
    event === "transaction_found" && payment_id === id
  );
  assert.ok(matches.length > 0);
  for (const each of matches) {
    assert.deepEqual([each.match, each.evidence], ["ours", evidence]);
  }
}

for (const hasMetadata of [false, true]) {
  const evidence = hasMetadata ? "payment_ref" : "order_and_time";
  const title = hasMetadata
    ? "with the metadata in status responses"
    : "without metadata in status responses";

  Deno.test(`unanswered charge: is found by every check, ${title}`, async (t) => {
    await using opened = await openTimed(hasMetadata);
    const { payments } = opened;
    const { post } = payments;
    const checks: Record<string, (id: string) => Promise<unknown>> = {
      "by check_payment_status": (id) => payments.check(id),
      "by check_status": (id) => payments.refresh(id),
      "by cancel": async (id) => {
        assert.equal((await post(`/payments/${id}/cancel/`)).status, 200);
      },
      "by expire": async (id) => {
        assert.equal((await post(`/payments/${id}/expire/`)).status, 200);
      },
      "by a notification": async (id) => {
        const { order_id } = await payments.read(id);
        await payments.sandbox.waitForWebhooks();
        const { body } = payments.sandbox.hooks.find((hook) => hook.body.order_id === order_id)!;
        const answer = await payments.app.request("/notification/", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(body),
        });
        assert.equal(answer.status, 200);
      },
    };
    for (const [caseName, check] of Object.entries(checks)) {
      await t.step(caseName, async () => {
        const { payment } = await loseResponse(payments);
        await check(payment.id);
        await assertFound(payments, payment.id, evidence);
      });
    }
  });

  Deno.test(`unanswered charge: a retry gets the first transaction, although the gateway answers 406, ${title}`, async () => {
    await using opened = await openTimed(hasMetadata);
    const { payments, time } = opened;
    const { relay, sandbox } = payments;
    const body = { ...await chargeRequest(sandbox, "bca"), order_id: randomUUID() };
    const headers = newKey();
    const id = await chargeAndLose(payments, body, body.order_id, headers);
    // The gateway forgets the idempotency key, and its status API finds the charge only after the
    // retry was sent.
    time.aheadMs += 10 * MINUTE_MS;
    await sandbox.advance(600);
    let isListed = false;
    relay.intercept = async (request, pass) => {
      if (request.method === "GET" && !isListed) return Response.json(NOT_FOUND);
      if (nameOf(request) === "POST /v2/charge") isListed = true;
      return await pass();
    };
    const payment = await parsePayment(await payments.post("/charge/", body, headers), 201);
    assert.equal(payment.id, id);
    assert.equal(relay.times("POST /v2/charge"), 2);
    await assertFound(payments, id, evidence);
  });

  Deno.test(`charge: a notification that arrives before the response to the charge changes the same payment, ${title}`, async () => {
    await using opened = await openTimed(hasMetadata);
    const { payments } = opened;
    const { relay, sandbox, app } = payments;
    const order_id = randomUUID();
    const held = relay.holdAnswer("POST /v2/charge");
    const charging = payments.charge("gopay", { order_id });
    await held.arrived;
    await sandbox.control(`transactions/${order_id}/pay`);
    const { body } = sandbox.hooks.findLast((hook) => hook.body.order_id === order_id)!;
    assert.equal(body.transaction_status, "settlement");
    await app.request("/notification/", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    held.release();
    const payment = await charging;
    assert.equal(payment.transaction_status, "settlement");
    await assertFound(payments, payment.id, evidence);
    const rows = await app.database.query((sql) =>
      sql`select id from gateway.payments where order_id = ${order_id}`
    );
    assert.deepEqual(rows.map(({ id }) => id), [payment.id]);
  });

  Deno.test(`charge: is refused if another system has just created the same order, ${title}`, async () => {
    await using opened = await openTimed(hasMetadata);
    const { payments } = opened;
    const order_id = randomUUID();
    await payments.sandbox.charge("gopay", { transaction_details: { order_id } });
    const body = { payment_type: "gopay", gross_amount: 44_000, order_id };
    const answer = await payments.post("/charge/", body);
    const problem = await assertProblem(answer, 400, "duplicate_order");
    assert.equal(problem.outcome, "refused");
    assert.equal((await payments.read(problem.payment_id!)).transaction_status, "failure");
    assert.deepEqual(await jobsOf(payments.app, problem.payment_id!), []);
  });
}

Deno.test("charge: without metadata in status responses, the second charge of an order takes over the transaction of a first charge that reached the gateway late", async () => {
  let aheadMs = 0;
  await using payments = await openRelayed({ databaseUrl, now: () => Date.now() + aheadMs });
  const { relay, sandbox } = payments;
  const body = { ...await chargeRequest(sandbox, "bca"), order_id: randomUUID() };
  relay.intercept = () => Response.json({ status_code: "500" });
  const first = await (await payments.post("/charge/", body)).json();
  const sent = JSON.parse(relay.received.at(-1)!.body);
  relay.intercept = (_request, pass) => pass();
  aheadMs += 16 * MINUTE_MS;
  await sandbox.advance(16 * 60);
  await payments.check(first.payment_id);
  assert.equal((await payments.read(first.payment_id)).transaction_status, "failure");
  // The request of the first charge reaches the gateway just before the request of the second.
  await sandbox.post("/v2/charge", sent);
  const second = await parsePayment(await payments.post("/charge/", body), 201);
  assert.notEqual(second.id, first.payment_id);
  assert.equal((await payments.transactions(body.order_id)).length, 1);
  aheadMs += MINUTE_MS;
  await runDueJobs(payments.app);
  assert.equal((await payments.read(first.payment_id)).transaction_status, "failure");
});

Deno.test("charge: the caller gets gateway_error with an unknown outcome if a reused card token leads to the transaction of another payment", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post, relay, sandbox } = payments;
  const request = await chargeRequest(sandbox, "card");
  const first = await parsePayment(await post("/charge/", request), 201);
  // The gateway derives the transaction id from the token, so a second charge gets the same id.
  relay.intercept = async (call, pass) => {
    const { token_id } = await chargeRequest(sandbox, "card");
    call.body = call.body.replace(request.token_id, token_id);
    const answer = await pass();
    return Response.json({ ...await answer.json(), transaction_id: first.transaction_id });
  };
  const headers = newKey();
  const answer = await post("/charge/", request, headers);
  const problem = await assertProblem(answer, 400, "gateway_error");
  assert.equal(problem.outcome, "unknown");
  assert.match(problem.detail!, /transaction that belongs to another payment/);
  const second = await payments.read(problem.payment_id!);
  assert.deepEqual([second.transaction_status, second.transaction_id], ["pending", null]);
  assert.deepEqual(await payments.read(first.id), first);
  assert.ok(
    app.logged().some(({ level, event, payment_id }) =>
      level === "error" && event === "transaction_of_another_payment" && payment_id === second.id
    ),
  );
  // A retry does not charge the card again. Neither the retry nor a check takes over the
  // transaction.
  const sentBefore = relay.times("POST /v2/charge");
  const again = await assertProblem(await post("/charge/", request, headers), 400, "gateway_error");
  assert.deepEqual([again.payment_id, again.outcome], [second.id, "unknown"]);
  assert.equal(relay.times("POST /v2/charge"), sentBefore);
  await assert.rejects(payments.check(second.id), { name: "GatewayAPIError" });
  assert.equal((await payments.read(second.id)).transaction_status, "pending");
  assert.deepEqual(await payments.read(first.id), first);
});
