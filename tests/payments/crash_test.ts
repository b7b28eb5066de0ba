import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { RefundedSchema } from "../../routes/payments/actions.ts";
import { type Installation, openInstallation, type Reply } from "../support/crash/installation.ts";
import {
  crashAndRecover,
  createKillPoints,
  type Operation,
  planRounds,
  retryConcurrently,
  retryTwice,
  runStep,
  sendUntilSuccess,
} from "../support/crash/kill_points.ts";
import type { Received } from "../support/gateway/gateway.ts";
import { AMOUNT, type Json } from "../support/gateway/sandbox.ts";
import { assertPaymentsMatchGateway } from "../support/payments/compare_with_gateway.ts";
import { type ChargeKind, chargeRequest, type Payment } from "../support/payments/payments.ts";
import { shareOf } from "../support/share.ts";
import { until } from "../support/until.ts";

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

interface RecoveryInput {
  operations: Operation[];
  retryAll(): Promise<Reply[]>;
}

type Recovery = (service: Installation, input: RecoveryInput) => Promise<Reply[]>;

const RECOVERIES: Record<string, Recovery> = {
  "ten clients retry each operation at the same time": async (
    service,
    { operations, retryAll },
  ) => {
    for (const operation of operations) await retryConcurrently(service, operation);
    const replies = await retryAll();
    await service.sync();
    return replies;
  },
  "a check runs before the retries": async (service, { retryAll }) => {
    await service.sync();
    // This must hold even if no client retries.
    await assertPaymentsMatchGateway(service.database, service.sandbox);
    return await retryAll();
  },
  "a check runs during the retries": async (service, { retryAll }) =>
    (await Promise.all([retryAll(), service.sync()]))[0],
  "a check runs after the retries": async (service, { retryAll }) => {
    const replies = await retryAll();
    await service.sync();
    return replies;
  },
};

/** A run of all tests tries every combination; otherwise each kill point has one round. */
const ROUNDS = planRounds(KILL_POINTS, RECOVERIES).slice(0, shareOf(40, 5));

Deno.test("payments: if the service is killed, each operation happens once", async (t) => {
  await using service = await openInstallation();
  await service.start();
  for (const { moment, killPoint, recovery, recover, hasMetadata } of ROUNDS) {
    await runStep(t, `killed ${moment}; ${recovery}`, async () => {
      await service.sandbox.showMetadata(hasMetadata);
      const { operations, assertDone } = await prepare(service);
      const replies = await crashAndRecover(service, {
        operations,
        killPoint,
        retry: (operation) => retryTwice(service, operation),
        recover: (retryAll) => recover(service, { operations, retryAll }),
      });
      await assertDone(replies);
      await assertPaymentsMatchGateway(service.database, service.sandbox);
      assertSentOnce(service);
    });
  }
  await runStep(
    t,
    "killed before the call; a check does not mark a charge as failed while a client retries it",
    () => checkDuringRetry(service),
  );
});

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

async function checkDuringRetry(service: Installation): Promise<void> {
  const { calls, sandbox, database } = service;
  const operation = charge(await chargeRequest(sandbox, "bca"));
  const isWrite = ({ method }: Received) => method === "POST";
  calls.hold(isWrite);
  const sent = service.post(operation);
  await until("the call is held", () => calls.held().length > 0);
  await service.kill();
  assert.equal(await sent, null);

  await service.start();
  calls.hold(isWrite);
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
}
