import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { JobSchema } from "../../routes/jobs/schema.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import {
  type Installation,
  openInstallation,
  type RequestWithKey,
} from "../support/crash/installation.ts";
import { runStep, sendUntilSuccess } from "../support/crash/kill_points.ts";
import { textOf } from "../support/database/gated_database.ts";
import { AMOUNT, type Json } from "../support/gateway/sandbox.ts";
import { assertPaymentsMatchGateway } from "../support/payments/compare_with_gateway.ts";
import { chargeRequest } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";
import { shareOf } from "../support/share.ts";

/** Roughly how many messages one round exchanges, from the requests to the end of their jobs. */
const MESSAGES_PER_ROUND = 120;

const random = createRandom(seededState(7));

/** The ids of the jobs in the responses; null if there was no response. */
type JobIds = Promise<(string | null)[]>;

/** A request that shows whether the service still responds. */
const PROBE: RequestWithKey = { path: "/nowhere/", body: {}, key: "probe" };

/** When the service is killed. */
interface KillPoint {
  /** Is called before the requests are sent. */
  prepare(service: Installation): void;
  /** Is called after the requests are sent: waits until their jobs have reached the kill point. */
  waitForKillPoint(
    service: Installation,
    operations: RequestWithKey[],
    jobs: JobIds,
  ): Promise<void>;
}

/** Waits until the held messages contain each of the texts. */
async function untilHeld(heldText: () => string, texts: string[]): Promise<void> {
  await until(
    "messages with all texts are held",
    () => texts.every((text) => heldText().includes(text)),
  );
}

/** The first three differ from those of synchronous requests, and always have a round. */
const KILL_POINTS: Record<string, KillPoint> = {
  "after all is stored except the end of the job": {
    prepare: ({ responses }) => responses.hold(({ method }) => method === "POST"),
    async waitForKillPoint({ responses, statements }, operations, jobIds) {
      const jobs = (await jobIds).filter((id) => id !== null);
      await until("all responses are held", () => responses.held().length === operations.length);
      statements.hold((packet) => jobs.some((id) => textOf([packet]).includes(id)));
      responses.release();
      await untilHeld(() => textOf(statements.held()), jobs);
    },
  },
  "before the response of the gateway arrives": {
    prepare: ({ responses }) => responses.hold(({ method }) => method === "POST"),
    async waitForKillPoint({ responses }, operations) {
      await until("all responses are held", () => responses.held().length === operations.length);
    },
  },
  "at a random message to or from the gateway or the database": {
    prepare: (service) => service.killAfter(1 + random.below(MESSAGES_PER_ROUND)),
    async waitForKillPoint(service, operations) {
      const keys = operations.map(({ key }) => key);
      await until("the service is killed, or all jobs are done", async () => {
        const done = await service.database.query((sql) =>
          sql`select from gateway.jobs
            where payload ->> 'key' = any(${keys}) and status = 'succeeded'`
        );
        return done.length === keys.length || await service.post(PROBE) === null;
      });
    },
  },
  "before the call to the gateway": {
    prepare: ({ calls }) => calls.hold(({ method }) => method === "POST"),
    async waitForKillPoint({ calls }, operations) {
      await until("all calls have arrived", () => calls.held().length === operations.length);
    },
  },
  "after the response, before it is stored": {
    prepare: ({ responses }) => responses.hold(({ method }) => method === "POST"),
    async waitForKillPoint({ responses, statements }, operations) {
      const keys = operations.map(({ key }) => key);
      await until("all responses are held", () => responses.held().length === operations.length);
      statements.hold((packet) => keys.some((key) => textOf([packet]).includes(key)));
      responses.release();
      await untilHeld(() => textOf(statements.held()), keys);
    },
  },
};

Deno.test("async jobs: if the service is killed, the jobs finish after the restart and no operation happens twice", async (t) => {
  await using service = await openInstallation();
  await service.start();
  const killPoints = Object.entries(KILL_POINTS);
  for (let round = 0; round < shareOf(15, 3); round++) {
    const [name, killPoint] = killPoints[round % killPoints.length]!;
    await runStep(t, `killed ${name}`, async () => {
      await service.sandbox.showMetadata(round % 2 === 1);
      const { operations, assertDone } = await prepareOperations(service);
      killPoint.prepare(service);
      const jobIds = Promise.all(operations.map((operation) => requestJob(service, operation)));
      await killPoint.waitForKillPoint(service, operations, jobIds);
      await service.kill();

      await service.start();
      // Every repeated request returns a job: the same one, if the first request had a response.
      const before = await jobIds;
      const jobs = await Promise.all(operations.map((operation) => requestJob(service, operation)));
      for (const [index, id] of before.entries()) if (id) assert.equal(jobs[index], id);
      await service.sync();
      const results = await Promise.all(jobs.map((id) => resultOf(service, id!)));
      await assertDone(results);
      await assertPaymentsMatchGateway(service.database, service.sandbox);
      assertChargedOnce(service);
    });
  }
});

/** Null: the connection broke before the response. */
async function requestJob(
  service: Installation,
  operation: RequestWithKey,
): Promise<string | null> {
  const request = { ...operation, headers: { Prefer: "respond-async" } };
  let reply = await service.post(request);
  // On a slow machine the service can exceed its own time limits.
  await until("the request has a response other than 503", async () => {
    if (reply?.status !== 503) return true;
    reply = await service.post(request);
    return false;
  });
  if (!reply) return null;
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  return JobSchema.parse(reply.body).id;
}

async function resultOf(service: Installation, id: string): Promise<Json> {
  const job = JobSchema.parse(await service.get(`/jobs/${id}/`));
  assert.equal(job.status, "succeeded", job.error!);
  return job.result;
}

/** Prepares a bank transfer, a card charge and a refund. */
async function prepareOperations(service: Installation) {
  const { sandbox } = service;
  const payment = await createPaidPayment(service);
  const refund = { amount: 10_000, reason: "Out of stock" };
  const operations: RequestWithKey[] = [
    { path: "/charge/", body: await chargeRequest(sandbox, "bca"), key: randomUUID() },
    { path: "/charge/", body: await chargeRequest(sandbox, "card"), key: randomUUID() },
    { path: `/payments/${payment.id}/refund/`, body: refund, key: randomUUID() },
  ];
  return {
    operations,
    async assertDone(results: Json[]) {
      const [transfer, card, refunded] = results;
      assert.ok(transfer.payment.va_number);
      assert.equal(card.payment.transaction_status, "capture");
      assert.equal(refunded.refund.status, "succeeded");
      const path = `transactions/${payment.transaction_id}`;
      const { refunds } = await sandbox.control(path, undefined, "GET");
      assert.deepEqual(refunds.map((each: Json) => each.refund_amount), ["10000.00"]);
      // A synchronous request with the same key replays the result of the job.
      const replies = await Promise.all(operations.map(service.post));
      assert.deepEqual(
        replies.map((reply) => reply?.body),
        [transfer.payment, card.payment, refunded],
      );
      assert.ok(replies.every((reply) => reply?.isReplayed));
    },
  };
}

async function createPaidPayment(service: Installation): Promise<Json> {
  const body = { payment_type: "gopay", gross_amount: AMOUNT };
  const charge = { path: "/charge/", body, key: randomUUID(), status: 201, schema: PaymentSchema };
  const { id, transaction_id } = (await sendUntilSuccess(service, charge)).body;
  await service.sandbox.control(`transactions/${transaction_id}/pay`);
  return (await service.get(`/payments/${id}/check_status/`)).payment;
}

/** Fails if a charge reached the gateway twice, even if the gateway rejected the second one. */
function assertChargedOnce({ forwardedCalls }: Installation): void {
  const charges = forwardedCalls.filter(({ target }) => target === "/v2/charge");
  const orders = charges.map(({ body }) => JSON.parse(body).transaction_details.order_id);
  assert.equal(new Set(orders).size, orders.length);
}
