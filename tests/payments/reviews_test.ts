import assert from "node:assert/strict";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { CHARGED, PAYMENTS } from "../../core/payments/examples.ts";
import { createDatabase } from "../support/database/database.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { CHALLENGED_CARD } from "../support/gateway/sandbox.ts";
import { parsePayment, type Payment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();

interface Reviews extends RelayedPayments {
  staff: string;
  challenge(key?: string, headers?: HeadersInit): Promise<Payment>;
  review(id: string, action: string, headers?: HeadersInit): Promise<Response>;
}

async function openReviews(): Promise<Reviews> {
  const payments = await openRelayed({ databaseUrl });
  const { app, post, sandbox } = payments;
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  return {
    ...payments,
    staff,
    async challenge(key, headers) {
      const token_id = await sandbox.token(CHALLENGED_CARD);
      const card = { payment_type: "credit_card", authentication: false, token_id };
      const charge = { ...card, gross_amount: 44_000 };
      return await parsePayment(await post("/charge/", charge, headers, key), 201);
    },
    review: (id, action, headers) => post(`/reviews/${id}/${action}/`, undefined, headers, staff),
  };
}

Deno.test("POST /reviews/{pk}/approve/: makes a challenged payment paid", async () => {
  await using reviews = await openReviews();
  const { id } = await reviews.challenge();
  const approved = await parsePayment(await reviews.review(id, "approve"), 200);
  assert.deepEqual([approved.fraud_status, approved.is_paid], ["accept", true]);
  assert.deepEqual(await parsePayment(await reviews.get(`/payments/${id}/`, reviews.staff), 200), {
    ...approved,
    user_id: "alice",
  });
  assert.deepEqual(await reviews.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("POST /reviews/{pk}/deny/: cancels a challenged payment at the gateway", async () => {
  await using reviews = await openReviews();
  const { id, transaction_id } = await reviews.challenge();
  const denied = await parsePayment(await reviews.review(id, "deny"), 200);
  assert.deepEqual([denied.fraud_status, denied.is_failed], ["deny", true]);
  assert.equal((await reviews.sandbox.status(transaction_id!)).fraud_status, "deny");
});

for (const action of ["approve", "deny"]) {
  Deno.test(`POST /reviews/{pk}/${action}/: a repeated Idempotency-Key returns the first response`, async () => {
    await using reviews = await openReviews();
    const { id } = await reviews.challenge();
    const headers = { "Idempotency-Key": `${action}-1` };
    const first = await parsePayment(await reviews.review(id, action, headers), 200);
    const second = await reviews.review(id, action, headers);
    assert.equal(second.headers.get("Idempotency-Replayed"), "true");
    assert.deepEqual(await parsePayment(second, 200), first);
    assert.equal(reviews.relay.times(`POST /v2/:id/${action}`), 1);
    await assertProblem(await reviews.review(id, action), 400, "invalid_state");
  });

  Deno.test(`POST /reviews/{pk}/${action}/: a retry with the same key after a lost response decides once`, async () => {
    await using reviews = await openReviews();
    const { id } = await reviews.challenge();
    const headers = { "Idempotency-Key": `${action}-2` };
    await reviews.sandbox.fault(action, "answer_lost");
    const lost = await assertProblem(
      await reviews.review(id, action, headers),
      502,
      "gateway_unreachable",
    );
    assert.deepEqual([lost.payment_id, lost.outcome], [id, "unknown"]);
    const decided = await parsePayment(await reviews.review(id, action, headers), 200);
    assert.equal(decided.fraud_status, action === "approve" ? "accept" : "deny");
    assert.equal(reviews.relay.times(`POST /v2/:id/${action}`), 1);
  });

  Deno.test(`POST /reviews/{pk}/${action}/: rejects callers without a staff key, unchallenged payments and unknown ids`, async () => {
    await using reviews = await openReviews();
    const { id } = await reviews.challenge();
    const bob = await reviews.app.createKey({ userId: "bob" });
    for (const key of [reviews.key, bob]) {
      const response = await reviews.post(`/reviews/${id}/${action}/`, undefined, {}, key);
      await assertProblem(response, 403, "forbidden");
    }
    for (const unknown of ["0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5", "order-1", `${id}x`]) {
      await assertProblem(await reviews.review(unknown, action), 404, "not_found");
    }
    const pending = await reviews.charge("gopay");
    const problem = await assertProblem(
      await reviews.review(pending.id, action),
      400,
      "invalid_state",
    );
    assert.equal(problem.transaction_status, "pending");
    assert.equal((await reviews.read(id)).fraud_status, "challenge");
  });
}

Deno.test("allowed_actions: contains the review actions in responses to staff, but not in events", async () => {
  await using reviews = await openReviews();
  const { app, staff, get } = reviews;
  const headers = { "Idempotency-Key": "challenged-1" };
  const expected = ["cancel", "approve", "deny"];
  const charged = await reviews.challenge(staff, headers);
  assert.deepEqual(charged.allowed_actions, expected);
  const checked = await (await get(`/payments/${charged.id}/check_status/`, staff)).json();
  assert.deepEqual(checked.payment.allowed_actions, expected);
  const [event] = await app.database.query((sql) =>
    sql`select data from gateway.events where resource_id = ${charged.id}`
  );
  assert.deepEqual(event!.data.allowed_actions, ["cancel"]);
});

Deno.test("allowed_actions: lists refund only while an amount is left and the type can be refunded", async () => {
  await using reviews = await openReviews();
  const { post, read, sandbox } = reviews;
  assert.deepEqual((await reviews.paid("bca")).allowed_actions, []);
  const { id, allowed_actions } = await reviews.paid("gopay");
  assert.deepEqual(allowed_actions, ["refund"]);
  await sandbox.fault("refund", "answer_lost");
  await post(`/payments/${id}/refund/`);
  assert.deepEqual((await read(id)).allowed_actions, [], "the whole amount is reserved");
});

/** The actions of the owner in each state. The examples in the OpenAPI document must list them. */
const IN_STATE: Record<string, string[]> = {
  pending: ["cancel", "expire"],
  authorize: ["cancel", "capture"],
  capture: ["cancel"],
  partial_refund: ["refund"],
};

Deno.test("allowed_actions: the examples in the OpenAPI document match their states", () => {
  for (const [name, { value }] of Object.entries({ ...CHARGED, ...PAYMENTS })) {
    const { transaction_status, allowed_actions } = PaymentSchema.parse(value);
    assert.deepEqual(allowed_actions, IN_STATE[transaction_status] ?? [], name);
  }
});
