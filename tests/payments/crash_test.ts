import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { RefundedSchema } from "../../routes/payments/actions.ts";
import { type Installation, openInstallation, type Reply } from "../support/crash/installation.ts";
import {
  BEFORE_CALL,
  crashAndRecover,
  createKillPoints,
  DURING_CALL,
  type Operation,
  retryConcurrently,
  retryTwice,
  sendUntilSuccess,
} from "../support/crash/kill_points.ts";
import { AMOUNT, type Json } from "../support/gateway/sandbox.ts";
import { assertPaymentsMatchGateway } from "../support/payments/compare_with_gateway.ts";
import { type ChargeKind, chargeRequest, type Payment } from "../support/payments/payments.ts";
import { shareOf } from "../support/share.ts";
import { until } from "../support/until.ts";

/** At least one round for each recovery. */
const ROUNDS = shareOf(20, 3);

const KILL_POINTS = createKillPoints({ areRepliesStored, messages: 80, seed: 4 });

/**
 * Whether each payment has at least one stored reply. Of two refunds of a payment, the second write
 * conflicts with the first and has to be repeated, so its reply is not stored yet.
 */
async function areRepliesStored(
  { database }: Pick<Installation, "database">,
  operations: Operation[],
): Promise<boolean> {
  const keys = operations.map(({ key }) => key);
  const rows = await database.query((sql) =>
    sql`select from gateway.idempotency_keys where key = any(${keys})
      group by resource_id having bool_and(reply is null)`
  );
  return rows.length === 0;
}

/** Background checks before, after and during the clients' retries. */
const RECOVERIES = [
  async (service: Installation, retry: () => Promise<Reply[]>) => {
    await service.sync();
    // This must hold even if no client retries.
    await assertPaymentsMatchGateway(service.database, service.sandbox);
    return await retry();
  },
  async (service: Installation, retry: () => Promise<Reply[]>) => {
    const replies = await retry();
    await service.sync();
    return replies;
  },
  async (service: Installation, retry: () => Promise<Reply[]>) =>
    (await Promise.all([retry(), service.sync()]))[0],
];

for (const [moment, killPoint] of Object.entries(KILL_POINTS)) {
  Deno.test(`payments: the service is killed ${moment}; each operation happens once (${ROUNDS} rounds)`, async () => {
    await using service = await openInstallation();
    await service.start();
    for (let round = 0; round < ROUNDS; round++) {
      // Over the rounds, each recovery runs with and without metadata in the gateway's responses.
      await service.sandbox.showMetadata(round % 2 === 1);
      const { operations, assertDone } = await prepare(service);
      const recover = RECOVERIES[round % RECOVERIES.length]!;
      const replies = await crashAndRecover(service, {
        operations,
        killPoint,
        retry: (operation) => retryTwice(service, operation),
        recover: (retryAll) => recover(service, retryAll),
      });
      await assertDone(replies);
      await assertPaymentsMatchGateway(service.database, service.sandbox);
      assertSentOnce(service);
    }
  });
}

/** Two charges, three refunds of two payments and two captures, to be sent at the same time. */
async function prepare(service: Installation) {
  const { sandbox } = service;
  const [
    refundedInParts,
    refundedWhole,
    capturedWhole,
    capturedInPart,
    transferRequest,
    cardRequest,
  ] = await Promise.all([
    createPaidPayment(service),
    createPaidPayment(service),
    sendCharge(service, "card_auth"),
    sendCharge(service, "card_auth"),
    chargeRequest(sandbox, "bca"),
    chargeRequest(sandbox, "card"),
  ]);
  const operations = [
    charge({ ...transferRequest, order_id: randomUUID() }),
    charge(cardRequest),
    refund(refundedInParts, { amount: 10_000, reason: "Out of stock" }),
    refund(refundedInParts, { amount: 15_000 }),
    refund(refundedWhole, { direct: true }),
    capture(capturedWhole, {}),
    capture(capturedInPart, { amount: 30_000 }),
  ];
  return {
    operations,
    async assertDone([transfer, card]: Reply[]) {
      assert.equal(transfer!.body.transaction_status, "pending");
      assert.ok(transfer!.body.va_number);
      assert.equal(card!.body.transaction_status, "capture");
      assert.deepEqual(await refundsOf(service, refundedInParts), ["10000.00", "15000.00"]);
      assert.deepEqual(await refundsOf(service, refundedWhole), [`${AMOUNT}.00`]);
      assert.deepEqual(await captureOf(service, capturedWhole), ["capture", `${AMOUNT}.00`]);
      assert.deepEqual(await captureOf(service, capturedInPart), ["capture", "30000.00"]);
    },
  };
}

function charge(body: Json): Operation {
  return { path: "/charge/", body, key: randomUUID(), status: 201, schema: PaymentSchema };
}

function refund({ id }: Payment, body: Json): Operation {
  const path = `/payments/${id}/refund/`;
  return { path, body, key: randomUUID(), status: 200, schema: RefundedSchema };
}

function capture({ id }: Payment, body: Json): Operation {
  const path = `/payments/${id}/capture/`;
  return { path, body, key: randomUUID(), status: 200, schema: PaymentSchema };
}

async function sendCharge(service: Installation, kind: ChargeKind): Promise<Payment> {
  return (await sendUntilSuccess(service, charge(await chargeRequest(service.sandbox, kind)))).body;
}

async function createPaidPayment(service: Installation): Promise<Payment> {
  const { id, transaction_id } = await sendCharge(service, "gopay");
  await service.sandbox.control(`transactions/${transaction_id}/pay`);
  return (await service.get(`/payments/${id}/check_status/`)).payment;
}

async function transactionOf({ sandbox }: Installation, { transaction_id }: Payment) {
  return await sandbox.control(`transactions/${transaction_id}`, undefined, "GET");
}

async function refundsOf(service: Installation, payment: Payment): Promise<string[]> {
  const { refunds = [] } = await transactionOf(service, payment);
  return refunds.map(({ refund_amount }: Json) => refund_amount).sort();
}

async function captureOf(service: Installation, payment: Payment): Promise<string[]> {
  const { transaction_status, gross_amount } = await transactionOf(service, payment);
  return [transaction_status, gross_amount];
}

/** Fails if the gateway received a charge or capture twice, even if it rejected the second one. */
function assertSentOnce({ forwardedCalls }: Installation): void {
  const charges = forwardedCalls.filter(({ target }) => target === "/v2/charge");
  const orders = charges.map(({ body }) => JSON.parse(body).transaction_details.order_id);
  assert.equal(new Set(orders).size, orders.length);
  const captures = forwardedCalls.filter(({ target }) => target === "/v2/capture");
  const captured = captures.map(({ body }) => JSON.parse(body).transaction_id);
  assert.equal(new Set(captured).size, captured.length);
}

for (const moment of [BEFORE_CALL, DURING_CALL]) {
  Deno.test(`payments: the service is killed ${moment}; a refund and a capture happen once although ten clients retry them at the same time`, async () => {
    await using service = await openInstallation();
    await service.start();
    const [paidPayment, authorized] = await Promise.all([
      createPaidPayment(service),
      sendCharge(service, "card_auth"),
    ]);
    const operations = [
      refund(paidPayment, { amount: 10_000 }),
      capture(authorized, { amount: 30_000 }),
    ];
    const sent = operations.map(service.post);
    await KILL_POINTS[moment]!(service, operations, Promise.all(sent));
    await service.kill();
    assert.deepEqual(await Promise.all(sent), [null, null]);

    await service.start();
    for (const operation of operations) {
      await retryConcurrently(service, operation);
      await retryTwice(service, operation);
    }
    await service.sync();
    assert.deepEqual(await refundsOf(service, paidPayment), ["10000.00"]);
    assert.deepEqual(await captureOf(service, authorized), ["capture", "30000.00"]);
    await assertPaymentsMatchGateway(service.database, service.sandbox);
    assertSentOnce(service);
  });
}

Deno.test("payments: the service is killed before the call; a check of pending payments does not mark a charge as failed while a client retries it", async () => {
  await using service = await openInstallation();
  const { calls, sandbox, database } = service;
  await service.start();
  const operation = charge(await chargeRequest(sandbox, "bca"));
  const sent = service.post(operation);
  calls.hold();
  await until("the call is held", () => calls.held().length > 0);
  await service.kill();
  assert.equal(await sent, null);

  await service.start();
  calls.hold(({ method }) => method === "POST");
  const again = service.post(operation);
  await until("the second call is held", () => calls.held().length > 0);
  await service.sync();
  calls.release();
  const reply = await again;
  assert.equal(reply?.status, 201);
  assert.equal(PaymentSchema.parse(reply.body).transaction_status, "pending");
  assert.ok(reply.body.va_number);
  await assertPaymentsMatchGateway(database, sandbox);
  assertSentOnce(service);
});
