import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type InstanceLock, openInstanceLock } from "../../db/connection/instance_lock.ts";
import { createDatabase } from "../support/database/database.ts";
import { type Installation, openInstallation } from "../support/crash/installation.ts";
import { runStep } from "../support/crash/kill_points.ts";
import { openRelayed } from "../support/gateway/relay.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { OPERATIONS, timesDone } from "../support/payments/operations.ts";
import { chargeRequest } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { someOf } from "../support/share.ts";
import { until } from "../support/until.ts";

/** Equal clocks: before its lease expires, a key is taken over only if its holder is gone. */
const SAME_CLOCK = { aheadMs: () => 0 };

async function newCharge({ sandbox }: Installation) {
  const body = { ...await chargeRequest(sandbox, "bca"), order_id: randomUUID() };
  return { path: "/charge/", body, key: randomUUID() };
}

type ChargeRequest = Awaited<ReturnType<typeof newCharge>>;

/** Sends the request to the other instance, as the same user. */
async function sendToOther({ otherInstance }: Installation, request: ChargeRequest) {
  return await otherInstance.as(await otherInstance.createKey(), request.path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": request.key },
    body: JSON.stringify(request.body),
  });
}

function countCharges({ forwardedCalls }: Installation): number {
  return forwardedCalls.filter(({ target }) => target === "/v2/charge").length;
}

interface StoredRows {
  payment: { transaction_id: string | null };
  history: unknown[];
  events: unknown[];
  key: unknown;
}

/** The rows of the charge. */
async function storedRows({ database }: Installation, { key }: ChargeRequest): Promise<StoredRows> {
  const [row] = await database.query((sql) =>
    sql<[StoredRows]>`select to_json(payment) as payment, to_json(known) as key,
      (select json_agg(row order by id) from gateway.history row
        where resource_id = payment.id) as history,
      (select json_agg(row order by id) from gateway.events row
        where resource_id = payment.id) as events
      from gateway.idempotency_keys known join gateway.payments payment
        on payment.id = known.resource_id
      where known.key = ${key}`
  );
  return row;
}

Deno.test("killed or paused service: another instance takes over its key at once", async (t) => {
  await using service = await openInstallation(SAME_CLOCK);
  await service.start();
  for (const moment of someOf<"after" | "during">(["after", "during"])) {
    const result = moment === "during"
      ? "stores the gateway's id without a reply"
      : "writes nothing";
    await runStep(
      t,
      `paused; if it wakes ${moment} the takeover of its key, it ${result}`,
      async () => {
        await wakePaused(service, moment);
        // A resumed service gets its lock again only after a while.
        await service.kill();
        await service.start();
      },
    );
  }
  await runStep(t, "killed", () => takeOverFromKilled(service));
});

/** Sends a charge, whose response the gateway holds back. */
async function startCharge(service: Installation) {
  const charge = await newCharge(service);
  service.responses.hold(({ method }) => method === "POST");
  const sent = service.post(charge);
  await until("the gateway has the charge", () => service.responses.held().length === 1);
  return { charge, sent };
}

async function takeOverFromKilled(service: Installation): Promise<void> {
  const before = countCharges(service);
  const { charge, sent } = await startCharge(service);
  await assertProblem(await sendToOther(service, charge), 409, "idempotency_in_progress");
  await service.kill();
  assert.equal(await sent, null);

  await service.untilLockIsFree();
  const response = await sendToOther(service, charge);
  assert.equal(response.status, 201, await response.clone().text());
  assert.equal(isReplayed(response), false);
  assert.equal(countCharges(service), before + 1);
}

async function wakePaused(service: Installation, moment: "during" | "after"): Promise<void> {
  const { responses } = service;
  const chargesBefore = countCharges(service);
  const { charge, sent } = await startCharge(service);
  service.pause();
  await service.untilLockIsFree();

  // The gateway's response reaches the paused service, which cannot read it yet.
  responses.release();
  if (moment === "during") responses.hold(({ method }) => method === "GET");
  const retry = sendToOther(service, charge);
  if (moment === "during") {
    await until("the takeover asks the gateway", () => responses.held().length === 1);
  } else await retry;
  const before = await storedRows(service, charge);
  service.resume();
  const reply = await sent;
  assert.equal(reply?.status, 409, JSON.stringify(reply?.body));
  assert.equal(reply.body.code, "idempotency_in_progress");
  const after = await storedRows(service, charge);
  assert.deepEqual(after.key, before.key);
  if (moment === "during") assert.ok(after.payment.transaction_id);
  else assert.deepEqual(after, before);

  responses.release();
  const response = await retry;
  const text = await response.text();
  assert.equal(response.status, 201, text);
  assert.equal(JSON.parse(text).id, reply.body.payment_id);
  const replay = await service.post(charge);
  assert.deepEqual(replay, { status: 201, body: JSON.parse(text), isReplayed: true });
  assert.equal(countCharges(service), chargesBefore + 1);
}

const databaseUrl = await createDatabase();

function openLock(): Promise<InstanceLock> {
  return openInstanceLock({
    url: databaseUrl,
    onLost: (error) => assert.fail(String(error)),
  });
}

/** An app that acts as one instance, and after `replaceInstance` as another one. */
async function openTwoInstances() {
  const first = await openLock();
  const second = await openLock();
  let current = first;
  const payments = await openRelayed({
    databaseUrl,
    thisInstance: { token: () => current.token() },
  });
  return {
    payments,
    async replaceInstance() {
      current = second;
      const token = first.token()!;
      await first[Symbol.asyncDispose]();
      await until("the first lock is free", async () => {
        const [row] = await payments.app.database.query((sql) =>
          sql`select pg_try_advisory_xact_lock_shared(${token}::bigint) as is_free`
        );
        return row!.is_free;
      });
    },
    async [Symbol.asyncDispose]() {
      await payments[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
    },
  };
}

for (const operation of OPERATIONS) {
  Deno.test(`${operation.name}: a request whose instance is gone is taken over at once, and then stores only what the gateway did`, async () => {
    await using instances = await openTwoInstances();
    const { payments } = instances;
    const { relay, app: { database } } = payments;
    const prepared = await operation.prepare(payments);
    const { path, body } = prepared;
    const headers = newKey();
    const heldCall = relay.holdAnswer(operation.call);
    const firstRequest = payments.post(path, body, headers);
    await heldCall.arrived;
    await assertProblem(
      await payments.post(path, body, headers),
      409,
      "idempotency_in_progress",
    );

    await instances.replaceInstance();
    const heldCheck = relay.holdNext("GET /v2/:id/status");
    const secondRequest = payments.post(path, body, headers);
    await heldCheck.arrived;
    const readRows = () =>
      database.query((sql) =>
        sql`select payment.version, to_json(known) as key
          from gateway.payments payment join gateway.idempotency_keys known
            on known.resource_id = payment.id and known.key = ${headers["Idempotency-Key"]}
          where order_id = ${prepared.orderId}`
      );
    const [before] = await readRows();
    heldCall.release();
    const problem = await assertProblem(await firstRequest, 409, "idempotency_in_progress");
    assert.equal(problem.outcome, "unknown");
    const [after] = await readRows();
    assert.deepEqual(after!.key, before!.key);
    assert.equal(after!.version, before!.version + 1);

    heldCheck.release();
    const answer = await secondRequest;
    const text = await answer.text();
    assert.equal(answer.status, operation.status, text);
    assert.equal(operation.paymentIn(JSON.parse(text)).id, problem.payment_id);
    assert.equal(await timesDone(payments, operation, prepared), 1);
    const again = await payments.post(path, body, headers);
    assert.equal(isReplayed(again), true);
    assert.equal(await again.text(), text);
  });
}
