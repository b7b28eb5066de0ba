import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { JobSchema } from "../../routes/schemas/job.ts";
import { createRandom, seededState } from "../../sandbox/world/random.ts";
import { assertBooksAgree } from "../support/payments/books.ts";
import { textOf } from "../support/database/wire.ts";
import { type Installation, type Keyed, openInstallation } from "../support/installation.ts";
import { chargeRequest } from "../support/payments/payments.ts";
import { AMOUNT, type Json } from "../support/gateway/sandbox.ts";
import { until } from "../support/until.ts";

/** About as many as a round has, from the requests to the end of their jobs. */
const MOST_MESSAGES = 120;

const random = createRandom(seededState(7));

/** The ids of the jobs that were answered with; null: there was no answer. */
type Asked = Promise<(string | null)[]>;

/** Tells whether anybody answers. */
const NOWHERE: Keyed = { path: "/nowhere/", body: {}, key: "nobody" };

interface Step {
  /** Where chance decides, once is not enough. */
  rounds?: number;
  /** Before the requests are sent. */
  prepare(service: Installation): void;
  /** They are sent; brings their jobs to where the service is to be killed. */
  bring(service: Installation, operations: Keyed[], jobs: Asked): Promise<void>;
}

/** What waits, until each of these words is among it. */
async function untilNamed(waiting: () => string, words: string[]): Promise<void> {
  await until("all are there", () => words.every((word) => waiting().includes(word)));
}

const STEPS: Record<string, Step> = {
  "before the call to the gateway": {
    prepare: ({ calls }) => calls.shut(({ method }) => method === "POST"),
    async bring({ calls }, operations) {
      await until("all are called", () => calls.waiting().length === operations.length);
    },
  },
  "during the call": {
    prepare: ({ answers }) => answers.shut(({ method }) => method === "POST"),
    async bring({ answers }, operations) {
      await until("all are answered", () => answers.waiting().length === operations.length);
    },
  },
  "after the answer, before it is written": {
    prepare: ({ answers }) => answers.shut(({ method }) => method === "POST"),
    async bring({ answers, statements }, operations) {
      const keys = operations.map(({ key }) => key);
      await until("all are answered", () => answers.waiting().length === operations.length);
      statements.shut((packet) => keys.some((key) => textOf([packet]).includes(key)));
      answers.open();
      await untilNamed(() => textOf(statements.waiting()), keys);
    },
  },
  "after all is written but the job's own end": {
    prepare: ({ answers }) => answers.shut(({ method }) => method === "POST"),
    async bring({ answers, statements }, operations, asked) {
      const jobs = (await asked).filter((id) => id !== null);
      await until("all are answered", () => answers.waiting().length === operations.length);
      statements.shut((packet) => jobs.some((id) => textOf([packet]).includes(id)));
      answers.open();
      await untilNamed(() => textOf(statements.waiting()), jobs);
    },
  },
  "at any message on either wire": {
    rounds: 4,
    prepare: (service) => service.killAfter(1 + random.below(MOST_MESSAGES)),
    async bring(service, operations) {
      const keys = operations.map(({ key }) => key);
      await until("it is dead, or all is done before it could be", async () => {
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
  Deno.test(`killed ${name}, jobs are finished by another, and nothing happens twice`, async () => {
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
      // Who heard no answer asks again; who did is told of the same job.
      const before = await asked;
      const jobs = await Promise.all(operations.map((operation) => ask(service, operation)));
      for (const [index, id] of before.entries()) if (id) assert.equal(jobs[index], id);
      await service.sync();
      const results = await Promise.all(jobs.map((id) => resultOf(service, id!)));
      await assertDone(results);
      await assertBooksAgree(service.database, service.sandbox);
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

/** A transfer, a card and a refund, asked for at once. */
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
      // Who asks once more, and waits this time, is told the same.
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

/** Not even a second try that the gateway refused. */
function assertChargedOnce({ passed }: Installation): void {
  const charges = passed.filter(({ target }) => target === "/v2/charge");
  const orders = charges.map(({ body }) => JSON.parse(body).transaction_details.order_id);
  assert.equal(new Set(orders).size, orders.length);
}
