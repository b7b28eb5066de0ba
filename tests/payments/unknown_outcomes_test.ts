import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ErrorCode } from "../../core/errors.ts";
import { createDatabase } from "../support/database/database.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import {
  type Operation,
  operationOf,
  OPERATIONS,
  type Prepared,
  sendWithFault,
  timesDone,
} from "../support/payments/operations.ts";
import { assertProblem } from "../support/problem.ts";

const MINUTE_MS = 60_000;

type ExpectedError = [status: number, code: ErrorCode, outcome: "refused" | "unknown"];

/** The error that the caller gets for each gateway fault. */
const FAULTS: Record<string, ExpectedError> = {
  no_answer: [504, "gateway_timeout", "unknown"],
  reset: [502, "gateway_unreachable", "unknown"],
  answer_lost: [502, "gateway_unreachable", "unknown"],
  error_500: [400, "gateway_error", "unknown"],
  error_503: [400, "gateway_error", "unknown"],
  hidden_500: [400, "gateway_error", "unknown"],
  broken_json: [400, "gateway_error", "unknown"],
  html: [400, "gateway_error", "unknown"],
  rate_limit: [400, "gateway_rate_limited", "refused"],
};

/** Responses that do not show the outcome, although the gateway executed the request. */
const UNUSABLE_RESPONSES: Record<string, (answer: Json) => Response> = {
  "still being processed": () =>
    Response.json({ status_code: "202", status_message: "The request is still being processed" }, {
      status: 202,
    }),
  "an empty object": () => Response.json({}),
  "an array": () => Response.json([]),
  "an empty body": () => new Response(""),
  "an HTML page": () =>
    new Response("<html>OK</html>", { headers: { "Content-Type": "text/html" } }),
  "a proxy's 408": () => new Response("", { status: 408 }),
  "an unknown state": (answer) => Response.json({ ...answer, transaction_status: "dreaming" }),
  "another transaction": (answer) =>
    Response.json({ ...answer, order_id: randomUUID(), transaction_id: randomUUID() }),
};

for (const operation of OPERATIONS) {
  Deno.test(`${operation.name}: after each gateway fault the caller gets the outcome, and a job resolves an unknown outcome`, async (t) => {
    const waits = createWaits();
    let aheadMs = 0;
    await using payments = await openRelayed({
      gatewayOptions: { wait: waits.wait },
      now: () => Date.now() + aheadMs,
    });
    for (const [fault, expected] of Object.entries(FAULTS)) {
      await t.step(fault, async () => {
        const prepared = await operation.prepare(payments);
        const answer = await sendWithFault(payments, { operation, prepared, fault, waits });
        const id = await assertError(prepared, answer, expected);
        if (expected[2] === "refused") {
          assert.deepEqual(await jobsOf(payments.app, id), []);
          assert.equal(await timesDone(payments, operation, prepared), 0);
          return;
        }
        await assertJobWaits(payments, id);
        aheadMs += 2 * MINUTE_MS;
        await payments.sandbox.advance(2 * 60);
        await runDueJobs(payments.app);
        await assertMatchesGateway(payments, operation, prepared, id);
      });
    }
  });

  Deno.test(`${operation.name}: an unusable response leaves the outcome unknown until a job resolves it`, async (t) => {
    let aheadMs = 0;
    await using payments = await openRelayed({ now: () => Date.now() + aheadMs });
    const { relay } = payments;
    for (const [caseName, replace] of Object.entries(UNUSABLE_RESPONSES)) {
      // This outcome is known: the charge was made. unrecognized_status_test.ts tests this case.
      if (operation.name === "charge" && caseName === "an unknown state") continue;
      await t.step(caseName, async () => {
        const prepared = await operation.prepare(payments);
        const { intercept } = relay;
        relay.intercept = async (request, pass) => {
          const answer = await pass();
          return nameOf(request) === operation.call ? replace(await answer.json()) : answer;
        };
        const answer = await payments.post(prepared.path, prepared.body);
        relay.intercept = intercept;
        const id = await assertError(prepared, answer, [400, "gateway_error", "unknown"]);
        await assertJobWaits(payments, id);
        aheadMs += 2 * MINUTE_MS;
        await payments.sandbox.advance(2 * 60);
        await runDueJobs(payments.app);
        await assertMatchesGateway(payments, operation, prepared, id);
        assert.equal(await timesDone(payments, operation, prepared), 1);
      });
    }
  });
}

async function assertError(
  { path, orderId }: Prepared,
  answer: Response,
  [status, code, outcome]: ExpectedError,
): Promise<string> {
  const problem = await assertProblem(answer, status, code);
  // The detail is the gateway's message; null if the gateway sent no response.
  assert.equal(problem.detail === null, status > 500, code);
  assert.equal(problem.outcome, outcome);
  assert.equal(problem.order_id, orderId);
  assert.equal(answer.headers.has("Retry-After"), code === "gateway_rate_limited");
  const id = problem.payment_id!;
  if (path !== "/charge/") assert.ok(path.includes(id));
  return id;
}

/** Fails unless one job is stored and was enqueued. */
async function assertJobWaits({ app }: RelayedPayments, id: string): Promise<void> {
  const [job, ...more] = await jobsOf(app, id);
  assert.deepEqual(more, []);
  assert.deepEqual([job!.task, job!.status], ["check_payment_status", "queued"]);
  assert.equal(job!.user_id, "alice");
  assert.ok(app.enqueued.some((each) => each.id === job!.id));
}

/** Fails unless the payment equals the gateway's transaction, or is pending if there is none. */
async function assertMatchesGateway(
  payments: RelayedPayments,
  operation: Operation,
  { orderId }: Prepared,
  id: string,
): Promise<void> {
  const payment = await payments.read(id);
  const [transaction, ...more] = await payments.transactions(orderId);
  assert.deepEqual(more, []);
  assert.equal(payment.transaction_id, transaction?.transaction_id ?? null);
  assert.equal(payment.transaction_status, transaction?.transaction_status ?? "pending");
  assert.equal(payment.refund_amount, transaction?.refund_amount ?? "0.00");
  const [job] = await jobsOf(payments.app, id);
  assert.equal(job!.status, transaction ? "succeeded" : "queued");
  if (operation.name === "refund") {
    // The job sends no operation again except a refund, so the refund must succeed.
    assert.deepEqual(payment.refunds.map(({ status }) => status), ["succeeded"]);
    assert.equal(operation.timesDone(transaction), 1);
  }
}

const databaseUrl = await createDatabase();

Deno.test("charge: payment, order id and idempotency key are stored before the gateway call", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, relay } = payments;
  const { path, body, orderId } = await operationOf("charge").prepare(payments);
  const held = relay.holdNext("POST /v2/charge");
  const key = randomUUID();
  const charging = payments.post(path, body, { "Idempotency-Key": key });
  await held.arrived;
  const [row] = await app.database.query((sql) =>
    sql`select payment.id, payment.transaction_status, payment.check_at, holder_id, key.resource_id as payment_id
      from gateway.payments payment
      join gateway.order_ids using (order_id)
      join gateway.idempotency_keys key on key.resource_id = payment.id and key.key = ${key}
      where payment.order_id = ${orderId}`
  );
  assert.equal(row!.transaction_status, "pending");
  assert.deepEqual([row!.holder_id, row!.payment_id], [row!.id, row!.id]);
  assert.ok(row!.check_at, "the sweep checks it if the process crashes");
  const sent = JSON.parse(relay.received[0]!.body);
  assert.equal(sent.metadata.payment_ref, row!.id);
  assert.equal(relay.received[0]!.headers.get("Idempotency-Key"), row!.id);
  held.release();
  assert.equal((await charging).status, 201);
});

Deno.test("refund: is stored and its amount reserved before the gateway call", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { relay } = payments;
  const { id } = await payments.paid("gopay");
  const held = relay.holdNext("POST /v2/:id/refund");
  const refunding = payments.post(`/payments/${id}/refund/`, { amount: 40_000 });
  await held.arrived;
  const [refund] = (await payments.read(id)).refunds;
  assert.deepEqual([refund!.status, refund!.amount], ["pending", "40000.00"]);
  const sent = relay.received.at(-1)!;
  assert.equal(JSON.parse(sent.body).refund_key, refund!.refund_key);
  assert.equal(sent.headers.get("Idempotency-Key"), refund!.id);
  const secondRefund = await payments.post(`/payments/${id}/refund/`, { amount: 4_001 });
  const problem = await assertProblem(secondRefund, 400, "validation_error");
  assert.equal(problem.errors![0]!.field, "amount");
  held.release();
  assert.equal((await refunding).status, 200);
});

for (const name of ["cancel", "expire", "capture"] as const) {
  Deno.test(`${name}: a check is scheduled before the gateway call, in case the process crashes`, async () => {
    const now = Date.now();
    await using payments = await openRelayed({ databaseUrl, now: () => now });
    const operation = operationOf(name);
    const { path, body, orderId } = await operation.prepare(payments);
    const held = payments.relay.holdNext(operation.call);
    const acting = payments.post(path, body);
    await held.arrived;
    const [row] = await payments.app.database.query((sql) =>
      sql`select id, check_at from gateway.payments where order_id = ${orderId}`
    );
    assert.ok(row!.check_at.getTime() <= now + MINUTE_MS);
    const suffix = { cancel: "can", expire: "exp", capture: "cap" }[name];
    const sent = payments.relay.received.at(-1)!;
    assert.equal(sent.headers.get("Idempotency-Key"), `${row!.id}:${suffix}`);
    held.release();
    assert.equal((await acting).status, 200);
  });
}

Deno.test("charge: a rejected charge fails and is not checked again", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post, relay } = payments;
  const answer = await post("/charge/", {
    payment_type: "gopay",
    gross_amount: 1_000,
    custom_expiry: { expiry_duration: 1, unit: "second" },
  });
  const problem = await assertProblem(answer, 400, "gateway_validation");
  assert.equal(problem.outcome, "refused");
  assert.match(problem.detail!, /minimum threshold/);
  const id = problem.payment_id!;
  const payment = await payments.read(id);
  assert.equal(payment.transaction_status, "failure");
  assert.equal(payment.status_code, "400");
  assert.deepEqual(await payments.transitions(id), [">pending charge", "pending>failure charge"]);
  assert.deepEqual(await payments.events(id), ["payment_failed"]);
  assert.deepEqual(await jobsOf(app, id), []);
  const callsBefore = relay.received.length;
  await payments.check(id);
  assert.deepEqual(await payments.refresh(id), payment);
  assert.equal(relay.received.length, callsBefore);
});

Deno.test("charge: does not take over a transaction that belongs to another payment", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post, relay } = payments;
  const firstPayment = await payments.charge("gopay");
  relay.intercept = async (request, pass) => {
    const answer = await pass();
    if (nameOf(request) !== "POST /v2/charge") return answer;
    return Response.json({ ...await answer.json(), transaction_id: firstPayment.transaction_id });
  };
  const { path, body } = await operationOf("charge").prepare(payments);
  const problem = await assertProblem(await post(path, body), 400, "gateway_error");
  assert.equal(problem.outcome, "unknown");
  const secondPayment = await payments.read(problem.payment_id!);
  assert.deepEqual([secondPayment.transaction_status, secondPayment.transaction_id], [
    "pending",
    null,
  ]);
  assert.deepEqual(await payments.read(firstPayment.id), firstPayment);
  assert.ok(
    app.logged().some(({ level, payment_id }) =>
      level === "error" && payment_id === secondPayment.id
    ),
  );
  const found = await payments.refresh(secondPayment.id);
  assert.ok(found.transaction_id && found.transaction_id !== firstPayment.transaction_id);
});

Deno.test("charge: fails with gateway_authentication if the gateway rejects the server key", async () => {
  await using payments = await openRelayed({ databaseUrl, serverKey: "SB-Mid-server-other" });
  const { path, body, orderId } = await operationOf("charge").prepare(payments);
  const problem = await assertProblem(
    await payments.post(path, body),
    400,
    "gateway_authentication",
  );
  assert.equal(problem.outcome, "refused");
  assert.equal((await payments.read(problem.payment_id!)).transaction_status, "failure");
  assert.deepEqual(await payments.transactions(orderId), []);
});

Deno.test("circuit breaker: while it is open, no operation is stored or sent", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post, relay, sandbox } = payments;
  const prepared = await Promise.all(
    OPERATIONS.map(async (operation) => ({ operation, ...await operation.prepare(payments) })),
  );
  await sandbox.fault("charge", "reset", { count: 5 });
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  for (let i = 0; i < 5; i++) assert.equal((await post("/charge/", body)).status, 502);
  assert.equal(app.gateway.breakerState(), "open");

  const callsBefore = relay.received.length;
  const before = await rowCounts(payments);
  for (const { operation, path, body } of prepared) {
    const answer = await post(path, body);
    const problem = await assertProblem(answer, 502, "gateway_unreachable");
    assert.equal(problem.outcome, "refused", operation.name);
  }
  assert.equal(relay.received.length, callsBefore);
  assert.deepEqual(await rowCounts(payments), before);
});

/** Counts that change if an operation is stored. */
async function rowCounts({ app }: RelayedPayments): Promise<unknown> {
  return await app.database.query((sql) =>
    sql`select
      (select count(*) from gateway.order_ids) as orders,
      (select count(*) from gateway.refunds) as refunds,
      (select count(*) from gateway.jobs) as jobs,
      (select sum(version) + count(*) from gateway.payments) as payments`
  );
}

Deno.test("cancel: is rejected if the gateway does not find the charge, and works if only its response was lost", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox } = payments;
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  await sandbox.fault("charge", "reset");
  const missingId = (await (await post("/charge/", body)).json()).payment_id;
  const rejectedCancel = await post(`/payments/${missingId}/cancel/`);
  assert.ok(rejectedCancel.headers.has("Retry-After"));
  const problem = await assertProblem(rejectedCancel, 400, "invalid_state");
  assert.deepEqual([problem.payment_id, problem.outcome], [missingId, "refused"]);

  await sandbox.fault("charge", "answer_lost");
  const madeId = (await (await post("/charge/", body)).json()).payment_id;
  const cancelled = await (await post(`/payments/${madeId}/cancel/`)).json();
  assert.equal(cancelled.transaction_status, "cancel");
  assert.deepEqual(await payments.events(madeId), ["payment_received", "payment_cancelled"]);
});
