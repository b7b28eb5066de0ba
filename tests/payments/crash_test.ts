import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { RefundedSchema } from "../../routes/payments/refund.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { type Packet, textOf } from "../support/database/wire.ts";
import { AMOUNT, type Json } from "../support/gateway/sandbox.ts";
import {
  type Installation,
  type Keyed,
  openInstallation,
  type Reply,
} from "../support/installation.ts";
import { assertPaymentsMatchGateway } from "../support/payments/compare_with_gateway.ts";
import { type ChargeKind, chargeRequest, type Payment } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

const ROUNDS = 20;

/** Brings all operations to where the service is to be killed; it is, right after. */
type Step = (service: Installation, operations: Operation[], heard: Promise<unknown>) => unknown;

/** About as many as a round has. */
const MOST_MESSAGES = 80;

const random = createRandom(seededState(4));

const STEPS: Record<string, Step> = {
  "before the call to the gateway": async ({ calls }, operations) => {
    calls.shut();
    await until("all are called", () => calls.waiting().length >= operations.length);
  },
  "during the call": bringToAnswer,
  "after the answer, before it is written": async (service, operations) => {
    await bringToAnswer(service, operations);
    service.statements.shut((packet) => named([packet], operations).length > 0);
    service.answers.open();
    await until(
      "all are about to be written",
      () => named(service.statements.waiting(), operations).length === operations.length,
    );
  },
  "after the commit, before anybody hears of it": async (service, operations) => {
    await bringToAnswer(service, operations);
    const writing = new Set<number>();
    // Nothing waits here; it is only seen on which connections there is something to keep back.
    service.statements.shut((packet) => {
      if (named([packet], operations).length > 0) writing.add(packet.connection);
      return false;
    });
    service.results.shut(({ connection }) => writing.has(connection));
    service.answers.open();
    await until("all are written", () => areWritten(service, operations));
  },
  "at any message on either wire": async (service, _operations, heard) => {
    service.killAfter(1 + random.below(MOST_MESSAGES));
    await heard;
  },
};

/** The gateway has done everything, and says so to nobody yet. */
async function bringToAnswer({ answers }: Installation, operations: Operation[]) {
  answers.shut();
  await until("all are answered", () => answers.waiting().length >= operations.length);
}

/** The operations whose end is written in these packets, which name the key that is answered. */
function named(packets: Packet[], operations: Operation[]): Operation[] {
  const said = textOf(packets);
  return operations.filter(({ key }) => said.includes(key));
}

/** Each payment's; of two refunds of one, the second hears of the first and has to begin again. */
async function areWritten({ database }: Installation, operations: Operation[]): Promise<boolean> {
  const keys = operations.map(({ key }) => key);
  const rows = await database.query((sql) =>
    sql`select from gateway.idempotency_keys where key = any(${keys})
      group by resource_id having bool_and(reply is null)`
  );
  return rows.length === 0;
}

/** What comes after the restart: the background's look, and the clients' second try. */
const RECOVERIES = [
  async (service: Installation, retry: () => Promise<Reply[]>) => {
    await service.sync();
    // Also should no client ever come back.
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

for (const [name, step] of Object.entries(STEPS)) {
  Deno.test(`killed ${name}: nothing is lost, nothing happens twice (${ROUNDS} rounds)`, async () => {
    await using service = await openInstallation();
    await service.start();
    for (let round = 0; round < ROUNDS; round++) {
      const { operations, assertDone } = await prepare(service);
      const sent = operations.map(service.post);
      await step(service, operations, Promise.all(sent));
      await service.kill();
      const heard = await Promise.all(sent);

      await service.start();
      await service.endLeases(operations);
      const replies = await RECOVERIES[round % RECOVERIES.length]!(
        service,
        () => Promise.all(operations.map((operation) => retry(service, operation))),
      );
      for (const [index, reply] of replies.entries()) {
        const first = heard[index];
        if (first && first.status < 300) assert.deepEqual(reply, { ...first, isReplayed: true });
      }
      await assertDone(replies);
      await assertPaymentsMatchGateway(service.database, service.sandbox);
      assertChargedOnce(service);
    }
  });
}

interface Operation extends Keyed {
  status: number;
  schema: typeof PaymentSchema | typeof RefundedSchema;
}

/** Twice, to see that the answer stays the same. */
async function retry(service: Installation, operation: Operation): Promise<Reply> {
  const reply = await succeed(service, operation);
  assert.deepEqual(await succeed(service, operation), { ...reply, isReplayed: true });
  return reply;
}

/** On a busy machine the service may be short of breath: then it is asked again, as clients do. */
async function succeed(service: Installation, operation: Operation): Promise<Reply> {
  let reply = await service.post(operation);
  await until("there is an answer", async () => {
    if (reply?.status !== 503) return true;
    await service.endLeases([operation]);
    reply = await service.post(operation);
    return false;
  });
  assert.equal(reply?.status, operation.status, JSON.stringify(reply?.body));
  operation.schema.parse(reply!.body);
  return reply!;
}

/** Two charges, three refunds of two payments, two captures: all at once. */
async function prepare(service: Installation) {
  const { sandbox } = service;
  const [inParts, whole, held, heldInPart, transfer, card] = await Promise.all([
    paid(service),
    paid(service),
    charged(service, "card_auth"),
    charged(service, "card_auth"),
    chargeRequest(sandbox, "bca"),
    chargeRequest(sandbox, "card"),
  ]);
  const operations = [
    charge({ ...transfer, order_id: randomUUID() }),
    charge(card),
    refund(inParts, { amount: 10_000, reason: "Out of stock" }),
    refund(inParts, { amount: 15_000 }),
    refund(whole, { direct: true }),
    capture(held, {}),
    capture(heldInPart, { amount: 30_000 }),
  ];
  return {
    operations,
    async assertDone([first, second]: Reply[]) {
      assert.equal(first!.body.transaction_status, "pending");
      assert.ok(first!.body.va_number);
      assert.equal(second!.body.transaction_status, "capture");
      assert.deepEqual(await refundsOf(service, inParts), ["10000.00", "15000.00"]);
      assert.deepEqual(await refundsOf(service, whole), [`${AMOUNT}.00`]);
      assert.deepEqual(await captureOf(service, held), ["capture", `${AMOUNT}.00`]);
      assert.deepEqual(await captureOf(service, heldInPart), ["capture", "30000.00"]);
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

async function charged(service: Installation, kind: ChargeKind): Promise<Payment> {
  return (await succeed(service, charge(await chargeRequest(service.sandbox, kind)))).body;
}

async function paid(service: Installation): Promise<Payment> {
  const { id, transaction_id } = await charged(service, "gopay");
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

/** Not even a second try that the gateway refused. */
function assertChargedOnce({ passed }: Installation): void {
  const charges = passed.filter(({ target }) => target === "/v2/charge");
  const orders = charges.map(({ body }) => JSON.parse(body).transaction_details.order_id);
  assert.equal(new Set(orders).size, orders.length);
  const captures = passed.filter(({ target }) => target === "/v2/capture");
  const captured = captures.map(({ body }) => JSON.parse(body).transaction_id);
  assert.equal(new Set(captured).size, captured.length);
}

for (const name of ["before the call to the gateway", "during the call"]) {
  Deno.test(`killed ${name}, a refund and a capture asked for by many at once happen once`, async () => {
    await using service = await openInstallation();
    await service.start();
    const [sold, held] = await Promise.all([paid(service), charged(service, "card_auth")]);
    const operations = [refund(sold, { amount: 10_000 }), capture(held, { amount: 30_000 })];
    const sent = operations.map(service.post);
    await STEPS[name]!(service, operations, Promise.all(sent));
    await service.kill();
    assert.deepEqual(await Promise.all(sent), [null, null]);

    await service.start();
    await service.endLeases(operations);
    for (const operation of operations) {
      const replies = await Promise.all(Array(10).fill(operation).map(service.post));
      const statuses = replies.map((reply) => reply?.status);
      assert.ok(statuses.includes(200), String(statuses));
      // Who comes while another is at it is told so.
      assert.ok(
        statuses.every((status) => status === 200 || status === 409),
        JSON.stringify(replies),
      );
      await retry(service, operation);
    }
    await service.sync();
    assert.deepEqual(await refundsOf(service, sold), ["10000.00"]);
    assert.deepEqual(await captureOf(service, held), ["capture", "30000.00"]);
    await assertPaymentsMatchGateway(service.database, service.sandbox);
    assertChargedOnce(service);
  });
}

Deno.test("killed before the call, a charge that is sent again while it is given up is not lost", async () => {
  await using service = await openInstallation();
  const { calls, sandbox, database } = service;
  await service.start();
  const operation = charge(await chargeRequest(sandbox, "bca"));
  const sent = service.post(operation);
  calls.shut();
  await until("it is called", () => calls.waiting().length > 0);
  await service.kill();
  assert.equal(await sent, null);

  await service.start();
  await service.endLeases([operation]);
  calls.shut(({ method }) => method === "POST");
  const again = service.post(operation);
  await until("it is called again", () => calls.waiting().length > 0);
  await service.sync();
  calls.open();
  const reply = await again;
  assert.equal(reply?.status, 201);
  assert.equal(PaymentSchema.parse(reply.body).transaction_status, "pending");
  assert.ok(reply.body.va_number);
  await assertPaymentsMatchGateway(database, sandbox);
  assertChargedOnce(service);
});
