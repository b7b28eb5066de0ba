import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ErrorCode } from "../../core/errors.ts";
import { createDatabase } from "../support/database/database.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import {
  type Operation,
  operationOf,
  OPERATIONS,
  type Prepared,
  sendIntoFault,
  timesDone,
} from "../support/payments/operations.ts";
import { assertProblem } from "../support/problem.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";

const MINUTE_MS = 60_000;

type PaymentReference = [status: number, code: ErrorCode, outcome: "refused" | "unknown"];

/** What a caller is told of each mishap. */
const FAULTS: Record<string, PaymentReference> = {
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

/** Answers that say nothing of what was asked, though it was done. */
const ODD_ANSWERS: Record<string, (answer: Json) => Response> = {
  "that it still runs": () =>
    Response.json({ status_code: "202", status_message: "The request is still being processed" }, {
      status: 202,
    }),
  "an empty object": () => Response.json({}),
  "a list": () => Response.json([]),
  "nothing": () => new Response(""),
  "a page": () => new Response("<html>OK</html>", { headers: { "Content-Type": "text/html" } }),
  "a proxy's loss of patience": () => new Response("", { status: 408 }),
  "a state that nobody knows": (answer) =>
    Response.json({ ...answer, transaction_status: "dreaming" }),
  "another transaction": (answer) =>
    Response.json({ ...answer, order_id: randomUUID(), transaction_id: randomUUID() }),
};

for (const operation of OPERATIONS) {
  Deno.test(`${operation.name}: whatever goes wrong, the caller is told how it stands, and a job finds out`, async (t) => {
    const waits = createWaits();
    let now = Date.now();
    await using payments = await openRelayed({
      gatewayOptions: { wait: waits.wait },
      now: () => now,
    });
    for (const [fault, told] of Object.entries(FAULTS)) {
      await t.step(fault, async () => {
        const prepared = await operation.prepare(payments);
        const answer = await sendIntoFault(payments, { operation, prepared, fault, waits });
        const id = await assertTold(prepared, answer, told);
        if (told[2] === "refused") {
          assert.deepEqual(await jobsOf(payments.app, id), []);
          assert.equal(await timesDone(payments, operation, prepared), 0);
          return;
        }
        await assertJobWaits(payments, id);
        now += 2 * MINUTE_MS;
        await runDueJobs(payments.app);
        await assertFoundOut(payments, operation, prepared, id);
      });
    }
  });

  Deno.test(`${operation.name}: an answer that says nothing is no answer`, async (t) => {
    let now = Date.now();
    await using payments = await openRelayed({ now: () => now });
    const { relay } = payments;
    for (const [what, spoil] of Object.entries(ODD_ANSWERS)) {
      await t.step(what, async () => {
        const prepared = await operation.prepare(payments);
        const { intercept } = relay;
        relay.intercept = async (request, pass) => {
          const answer = await pass();
          return nameOf(request) === operation.call ? spoil(await answer.json()) : answer;
        };
        const answer = await payments.post(prepared.path, prepared.body);
        relay.intercept = intercept;
        const id = await assertTold(prepared, answer, [400, "gateway_error", "unknown"]);
        await assertJobWaits(payments, id);
        now += 2 * MINUTE_MS;
        await runDueJobs(payments.app);
        await assertFoundOut(payments, operation, prepared, id);
        assert.equal(await timesDone(payments, operation, prepared), 1);
      });
    }
  });
}

async function assertTold(
  { path, orderId }: Prepared,
  answer: Response,
  [status, code, outcome]: PaymentReference,
): Promise<string> {
  const problem = await assertProblem(answer, status, code);
  // The gateway's own words, where there were any.
  assert.equal(problem.detail === null, status > 500, code);
  assert.equal(problem.outcome, outcome);
  assert.equal(problem.order_id, orderId);
  assert.equal(answer.headers.has("Retry-After"), code === "gateway_rate_limited");
  const id = problem.payment_id!;
  if (path !== "/charge/") assert.ok(path.includes(id));
  return id;
}

/** One, written and handed over. */
async function assertJobWaits({ app }: RelayedPayments, id: string): Promise<void> {
  const [job, ...more] = await jobsOf(app, id);
  assert.deepEqual(more, []);
  assert.deepEqual([job!.task, job!.status], ["check_payment_status", "queued"]);
  assert.equal(job!.user_id, "alice");
  assert.ok(app.carried.some((each) => each.id === job!.id));
}

/** What is stored is what the gateway has; where it has nothing, that is not settled yet. */
async function assertFoundOut(
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
    // The one thing that is sent again: what is reserved is asked for, and has to come about.
    assert.deepEqual(payment.refunds.map(({ status }) => status), ["succeeded"]);
    assert.equal(operation.timesDone(transaction), 1);
  }
}

const databaseUrl = await createDatabase();

Deno.test("a charge is written before the gateway hears of it, with its order and its key", async () => {
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
  assert.ok(row!.check_at, "should nobody come back, the sweep looks");
  const sent = JSON.parse(relay.received[0]!.body);
  assert.equal(sent.metadata.payment_ref, row!.id);
  assert.equal(relay.received[0]!.headers.get("Idempotency-Key"), row!.id);
  held.release();
  assert.equal((await charging).status, 201);
});

Deno.test("a refund is written and reserved before the gateway hears of it", async () => {
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
  const beside = await payments.post(`/payments/${id}/refund/`, { amount: 4_001 });
  const problem = await assertProblem(beside, 400, "validation_error");
  assert.equal(problem.errors![0]!.field, "amount");
  held.release();
  assert.equal((await refunding).status, 200);
});

for (const name of ["cancel", "expire", "capture"] as const) {
  Deno.test(`${name}: should its process die in the call, somebody looks`, async () => {
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

Deno.test("a charge that the gateway refuses outright is a failure, and nobody looks again", async () => {
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
  assert.deepEqual(await payments.story(id), [">pending charge", "pending>failure charge"]);
  assert.deepEqual(await payments.events(id), ["payment_failed"]);
  assert.deepEqual(await jobsOf(app, id), []);
  const asked = relay.received.length;
  await payments.check(id);
  assert.deepEqual(await payments.refresh(id), payment);
  assert.equal(relay.received.length, asked);
});

Deno.test("a transaction that another payment has is not taken for this one's", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post, relay } = payments;
  const first = await payments.charge("gopay");
  relay.intercept = async (request, pass) => {
    const answer = await pass();
    if (nameOf(request) !== "POST /v2/charge") return answer;
    return Response.json({ ...await answer.json(), transaction_id: first.transaction_id });
  };
  const { path, body } = await operationOf("charge").prepare(payments);
  const problem = await assertProblem(await post(path, body), 400, "gateway_error");
  assert.equal(problem.outcome, "unknown");
  const second = await payments.read(problem.payment_id!);
  assert.deepEqual([second.transaction_status, second.transaction_id], ["pending", null]);
  assert.deepEqual(await payments.read(first.id), first);
  assert.ok(
    app.logged().some(({ level, payment_id }) => level === "error" && payment_id === second.id),
  );
  const found = await payments.refresh(second.id);
  assert.ok(found.transaction_id && found.transaction_id !== first.transaction_id);
});

Deno.test("a service whose key the gateway does not take charges nothing, and says so", async () => {
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

Deno.test("while the gateway is taken to be down nothing is written or sent", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post, relay, sandbox } = payments;
  const prepared = await Promise.all(
    OPERATIONS.map(async (operation) => ({ operation, ...await operation.prepare(payments) })),
  );
  await sandbox.fault("charge", "reset", { count: 5 });
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  for (let i = 0; i < 5; i++) assert.equal((await post("/charge/", body)).status, 502);
  assert.equal(app.gateway.breakerState(), "open");

  const asked = relay.received.length;
  const before = await contentOf(payments);
  for (const { operation, path, body } of prepared) {
    const answer = await post(path, body);
    const problem = await assertProblem(answer, 502, "gateway_unreachable");
    assert.equal(problem.outcome, "refused", operation.name);
  }
  assert.equal(relay.received.length, asked);
  assert.deepEqual(await contentOf(payments), before);
});

/** Every row that an operation could leave behind. */
async function contentOf({ app }: RelayedPayments): Promise<unknown> {
  return await app.database.query((sql) =>
    sql`select
      (select count(*) from gateway.order_ids) as orders,
      (select count(*) from gateway.refunds) as refunds,
      (select count(*) from gateway.jobs) as jobs,
      (select sum(version) + count(*) from gateway.payments) as payments`
  );
}

Deno.test("a payment whose charge was not answered cannot be acted upon before it is found", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox } = payments;
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  await sandbox.fault("charge", "reset");
  const lost = (await (await post("/charge/", body)).json()).payment_id;
  const early = await post(`/payments/${lost}/cancel/`);
  assert.ok(early.headers.has("Retry-After"));
  const problem = await assertProblem(early, 400, "invalid_state");
  assert.deepEqual([problem.payment_id, problem.outcome], [lost, "refused"]);

  await sandbox.fault("charge", "answer_lost");
  const made = (await (await post("/charge/", body)).json()).payment_id;
  const cancelled = await (await post(`/payments/${made}/cancel/`)).json();
  assert.equal(cancelled.transaction_status, "cancel");
  assert.deepEqual(await payments.events(made), ["payment_received", "payment_cancelled"]);
});
