import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { JobSchema } from "../../routes/schemas/job.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { type Installation, type Keyed, openInstallation } from "../support/crash/installation.ts";
import { textOf } from "../support/database/wire.ts";
import { AMOUNT, type Json } from "../support/gateway/sandbox.ts";
import { assertPaymentsMatchGateway } from "../support/payments/compare_with_gateway.ts";
import { chargeRequest } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

/** About as many messages as a round has, from the requests to the end of their jobs. */
const MAX_MESSAGES = 120;

const random = createRandom(seededState(7));

/** The ids of the jobs in the responses; null: there was no response. */
type Asked = Promise<(string | null)[]>;

/** Shows whether the service responds. */
const NOWHERE: Keyed = { path: "/nowhere/", body: {}, key: "nobody" };

interface Step {
  /** Repeated if the point of the kill is random. */
  rounds?: number;
  /** Before the requests are sent. */
  prepare(service: Installation): void;
  /** After they are sent: runs their jobs up to the point of the kill. */
  bring(service: Installation, operations: Keyed[], jobs: Asked): Promise<void>;
}

/** Waits until `waiting` contains each of the words. */
async function untilNamed(waiting: () => string, words: string[]): Promise<void> {
  await until("all words are there", () => words.every((word) => waiting().includes(word)));
}

const STEPS: Record<string, Step> = {
  "before the call to the gateway": {
    prepare: ({ calls }) => calls.shut(({ method }) => method === "POST"),
    async bring({ calls }, operations) {
      await until("all calls have arrived", () => calls.waiting().length === operations.length);
    },
  },
  "during the call": {
    prepare: ({ answers }) => answers.shut(({ method }) => method === "POST"),
    async bring({ answers }, operations) {
      await until("all responses are held", () => answers.waiting().length === operations.length);
    },
  },
  "after the response, before it is stored": {
    prepare: ({ answers }) => answers.shut(({ method }) => method === "POST"),
    async bring({ answers, statements }, operations) {
      const keys = operations.map(({ key }) => key);
      await until("all responses are held", () => answers.waiting().length === operations.length);
      statements.shut((packet) => keys.some((key) => textOf([packet]).includes(key)));
      answers.open();
      await untilNamed(() => textOf(statements.waiting()), keys);
    },
  },
  "after all is stored except the end of the job": {
    prepare: ({ answers }) => answers.shut(({ method }) => method === "POST"),
    async bring({ answers, statements }, operations, asked) {
      const jobs = (await asked).filter((id) => id !== null);
      await until("all responses are held", () => answers.waiting().length === operations.length);
      statements.shut((packet) => jobs.some((id) => textOf([packet]).includes(id)));
      answers.open();
      await untilNamed(() => textOf(statements.waiting()), jobs);
    },
  },
  "at a random message of either connection": {
    rounds: 4,
    prepare: (service) => service.killAfter(1 + random.below(MAX_MESSAGES)),
    async bring(service, operations) {
      const keys = operations.map(({ key }) => key);
      await until("the service is killed, or all jobs are done", async () => {
        const done = await service.database.query((sql) =>
          sql`select from gateway.jobs
            where payload ->> 'key' = any(${keys}) and status = 'succeeded'`
        );
        return done.length === keys.length || await service.post(NOWHERE) === null;
      });
    },
  },
};

for (const [name, step] of Object.entries(STEPS)) {
  Deno.test(`async jobs: when the service is killed ${name}, the next one finishes them and nothing happens twice`, async () => {
    await using service = await openInstallation();
    await service.start();
    for (let round = 0; round < (step.rounds ?? 1); round++) {
      const { operations, assertDone } = await prepare(service);
      step.prepare(service);
      const asked = Promise.all(operations.map((operation) => ask(service, operation)));
      await step.bring(service, operations, asked);
      await service.kill();

      await service.start();
      await service.endLeases(operations);
      // A repeated request returns the same job, also if the first had no response.
      const before = await asked;
      const jobs = await Promise.all(operations.map((operation) => ask(service, operation)));
      for (const [index, id] of before.entries()) if (id) assert.equal(jobs[index], id);
      await service.sync();
      const results = await Promise.all(jobs.map((id) => resultOf(service, id!)));
      await assertDone(results);
      await assertPaymentsMatchGateway(service.database, service.sandbox);
      assertChargedOnce(service);
    }
  });
}

async function ask(service: Installation, operation: Keyed): Promise<string | null> {
  const reply = await service.post({ ...operation, headers: { Prefer: "respond-async" } });
  if (!reply) return null;
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  return JobSchema.parse(reply.body).id;
}

async function resultOf(service: Installation, id: string): Promise<Json> {
  const job = JobSchema.parse(await service.get(`/jobs/${id}/`));
  assert.equal(job.status, "succeeded", job.error!);
  return job.result;
}

/** A bank transfer, a card charge and a refund, requested at the same time. */
async function prepare(service: Installation) {
  const { sandbox } = service;
  const sold = await paid(service);
  const refund = { amount: 10_000, reason: "Out of stock" };
  const operations: Keyed[] = [
    { path: "/charge/", body: await chargeRequest(sandbox, "bca"), key: randomUUID() },
    { path: "/charge/", body: await chargeRequest(sandbox, "card"), key: randomUUID() },
    { path: `/payments/${sold.id}/refund/`, body: refund, key: randomUUID() },
  ];
  return {
    operations,
    async assertDone(results: Json[]) {
      const [transfer, card, refunded] = results;
      assert.ok(transfer.payment.va_number);
      assert.equal(card.payment.transaction_status, "capture");
      assert.equal(refunded.refund.status, "succeeded");
      const path = `transactions/${sold.transaction_id}`;
      const { refunds } = await sandbox.control(path, undefined, "GET");
      assert.deepEqual(refunds.map((each: Json) => each.refund_amount), ["10000.00"]);
      // A synchronous request with the key returns the same.
      const replies = await Promise.all(operations.map(service.post));
      assert.deepEqual(
        replies.map((reply) => reply?.body),
        [transfer.payment, card.payment, refunded],
      );
      assert.ok(replies.every((reply) => reply?.isReplayed));
    },
  };
}

async function paid(service: Installation): Promise<Json> {
  const body = { payment_type: "gopay", gross_amount: AMOUNT };
  const reply = await service.post({ path: "/charge/", body, key: randomUUID() });
  assert.equal(reply?.status, 201, JSON.stringify(reply?.body));
  const { id, transaction_id } = reply!.body;
  await service.sandbox.control(`transactions/${transaction_id}/pay`);
  return (await service.get(`/payments/${id}/check_status/`)).payment;
}

/** Not even a second call that the gateway rejected. */
function assertChargedOnce({ passed }: Installation): void {
  const charges = passed.filter(({ target }) => target === "/v2/charge");
  const orders = charges.map(({ body }) => JSON.parse(body).transaction_details.order_id);
  assert.equal(new Set(orders).size, orders.length);
}
