import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { openApp } from "../support/app.ts";
import { callService } from "../support/client.ts";
import { createDatabase } from "../support/database/database.ts";
import { openWebhookReceiver } from "../support/events/webhook_receiver.ts";
import { type Json, openSandbox } from "../support/gateway/sandbox.ts";
import { assertPaymentsMatchGateway } from "../support/payments/compare_with_gateway.ts";
import { chargeRequest } from "../support/payments/payments.ts";
import { invoiceRequest, subscriptionRequest } from "../support/records/requests.ts";
import { isPartial } from "../support/share.ts";
import { type ShiftedService, startShifted } from "../support/shifted_clock.ts";
import { until } from "../support/until.ts";

const [SECOND_MS, MINUTE_MS] = [1_000, 60_000];

const SERVER_KEY = "Mid-server-clock-tests";

const SMALL_SHIFTS = [
  [0, 2 * MINUTE_MS, -2 * MINUTE_MS],
  [0, 30 * SECOND_MS, -30 * SECOND_MS],
];

/** The shifts of three instances; after each round their clocks step. */
const ROUNDS = [
  [0, 20 * MINUTE_MS, -20 * MINUTE_MS],
  ...isPartial ? [] : SMALL_SHIFTS,
  [0, -20 * MINUTE_MS, 20 * MINUTE_MS],
];

/** Smaller than most shifts; a webhook can arrive late on a busy machine. */
const TOLERANCE_MS = 90 * SECOND_MS;

interface Reply {
  status: number;
  body: Json;
}

/** Three instances with wrong clocks on one database. The gateway notifies them in turn. */
async function openShiftedInstances() {
  await using resources = new AsyncDisposableStack();
  const databaseUrl = await createDatabase({ isNew: true });
  const sandbox = resources.use(await openSandbox({ serverKey: SERVER_KEY }));
  const connection = { databaseUrl, gatewayUrl: sandbox.url, serverKey: SERVER_KEY };
  const observer = resources.use(await openApp({ ...connection, hasPositionPublisher: false }));
  const settings = {
    HOST: "127.0.0.1",
    DATABASE_URL: databaseUrl,
    GATEWAY_BASE_URL: sandbox.url,
    GATEWAY_SERVER_KEY: SERVER_KEY,
    WEBHOOK_ALLOW_PRIVATE: "true",
  };
  const shifts = ROUNDS[0]!.map((_, instance) => ROUNDS.map((round) => round[instance]!));
  const services: ShiftedService[] = [];
  for (const each of shifts) services.push(resources.use(await startShifted(each, settings)));

  let notifications = 0;
  sandbox.receiver.answer = async ({ text }) =>
    await callService(`${services[notifications++ % services.length]!.url}/notification/`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: text,
    });

  const alice = await observer.createKey();
  const staff = await observer.createKey({ userId: "staff", isStaff: true });
  async function send(
    instance: number,
    path: string,
    body: Json,
    key: string,
    { caller = alice, headers = {} } = {},
  ): Promise<Reply> {
    const response = await callService(services[instance % services.length]!.url + path, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${caller}`,
        "Content-Type": "application/json",
        "Idempotency-Key": key,
        ...headers,
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  }

  const owned = resources.move();
  return {
    sandbox,
    database: observer.database,
    staff,
    send,
    step: () => services.forEach((service) => service.step()),
    /** Sends the request to one instance, which gets no response, and repeats it at the next. */
    async sendTwice(instance: number, operation: string, path: string, body: Json) {
      // Several lost responses in a row would open the circuit breaker of the instance.
      const charge = { ...await chargeRequest(sandbox, "bca"), order_id: randomUUID() };
      assertStatus(await send(instance, "/charge/", charge, randomUUID()), 201);
      const key = randomUUID();
      await sandbox.fault(operation, "answer_lost");
      const lost = await send(instance, path, body, key);
      assert.equal(lost.body.outcome, "unknown", JSON.stringify(lost.body));
      return await send(instance + 1, path, body, key);
    },
    async [Symbol.asyncDispose]() {
      sandbox.receiver.answer = () => new Response(null, { status: 503 });
      await owned.disposeAsync();
    },
  };
}

type Instances = Awaited<ReturnType<typeof openShiftedInstances>>;

function assertStatus(reply: Reply, status: number): Json {
  assert.equal(reply.status, status, JSON.stringify(reply.body));
  return reply.body;
}

async function pay({ sandbox }: Instances, orderId: string): Promise<void> {
  const [transaction] = await sandbox.control(
    `transactions?order_id=${orderId}`,
    undefined,
    "GET",
  );
  await sandbox.control(`transactions/${transaction.transaction_id}/pay`);
}

/** Charges whose notification arrives before, between and after the responses, and a refund. */
async function runPayments(instances: Instances, instance: number): Promise<void> {
  const { sandbox, send, sendTwice } = instances;
  const request = async () => ({
    ...await chargeRequest(sandbox, "gopay"),
    order_id: randomUUID(),
  });

  await sandbox.fault("charge", "webhook_first");
  const first = await request();
  const paid = assertStatus(await send(instance, "/charge/", first, randomUUID()), 201);
  await pay(instances, first.order_id);

  const repeated = await request();
  assertStatus(await sendTwice(instance, "charge", "/charge/", repeated), 201);
  await pay(instances, repeated.order_id);

  const key = randomUUID();
  const paidBeforeRetry = await request();
  await sandbox.fault("charge", "answer_lost");
  const lost = await send(instance, "/charge/", paidBeforeRetry, key);
  assert.equal(lost.body.outcome, "unknown", JSON.stringify(lost.body));
  await pay(instances, paidBeforeRetry.order_id);
  await sandbox.waitForWebhooks();
  const retried = assertStatus(await send(instance + 1, "/charge/", paidBeforeRetry, key), 201);
  assert.equal(retried.id, lost.body.payment_id);

  // A job, which any of the instances runs.
  const asynchronous = { headers: { Prefer: "respond-async" } };
  assertStatus(
    await send(instance, "/charge/", await request(), randomUUID(), asynchronous),
    202,
  );

  await sandbox.waitForWebhooks();
  const refunded = await sendTwice(instance, "refund", `/payments/${paid.id}/refund/`, {
    amount: 10_000,
    reason: "Damaged",
  });
  assertStatus(refunded, 200);
}

async function runRecords({ sandbox, sendTwice }: Instances, instance: number): Promise<string> {
  const subscription = assertStatus(
    await sendTwice(
      instance,
      "subscription_create",
      "/subscriptions/",
      await subscriptionRequest(sandbox),
    ),
    201,
  );
  const invoice = assertStatus(
    await sendTwice(instance, "invoice_create", "/invoices/", invoiceRequest()),
    201,
  );
  const { body: atGateway } = await sandbox.call(
    "GET",
    `/v1/invoices/${invoice.gateway_invoice_id}`,
    undefined,
    { Authorization: `Basic ${btoa(`${SERVER_KEY}:`)}` },
  );
  assert.equal(atGateway.order_id, invoice.order_id);
  return subscription.gateway_subscription_id;
}

Deno.test("instances with different clocks that step: books agree with the gateway, no owner is lost, nothing is doubled", async () => {
  await using instances = await openShiftedInstances();
  await using receiver = openWebhookReceiver();
  const { sandbox, database, send, staff } = instances;
  const timestampErrors: number[] = [];
  receiver.answer(({ headers }) => {
    timestampErrors.push(Number(headers["webhook-timestamp"]) * 1_000 - Date.now());
    return {};
  });
  assertStatus(
    await send(1, "/webhook-endpoints/", { url: receiver.url }, randomUUID(), { caller: staff }),
    201,
  );

  const subscriptions: string[] = [];
  for (const [round] of ROUNDS.entries()) {
    if (round > 0) instances.step();
    for (const instance of [0, 1, 2]) {
      await runPayments(instances, instance);
      subscriptions.push(await runRecords(instances, instance));
    }
  }
  await sandbox.waitForWebhooks();

  const count = 3 * ROUNDS.length;
  await until("the jobs have charged", async () => {
    const [{ charged }] = await database.query((sql) =>
      sql<[{ charged: number }]>`select count(*)::int as charged from gateway.jobs
        where task = 'process_charge_async' and status = 'succeeded'`
    );
    return charged === count;
  });
  await until("each payment is stored as paid", async () => {
    const paid = await database.query((sql) =>
      sql`select from gateway.payments where transaction_status in ('settlement', 'partial_refund')`
    );
    return paid.length === 3 * count;
  });
  await assertPaymentsMatchGateway(database, sandbox);
  const [stored] = await database.query((sql) =>
    sql`select
      (select count(*)::int from gateway.payments) as payments,
      (select count(*)::int from gateway.payments where user_id is null) as ownerless,
      (select count(*)::int from gateway.invoices) as invoices,
      (select count(*)::int from gateway.events where name = 'payment_failed') as failures,
      (select count(*)::int from gateway.jobs where status = 'failed') as failed_jobs,
      (select count(*)::int from gateway.cron_runs
        where abs(extract(epoch from minute - now())) > 300) as wrong_minutes`
  );
  assert.deepEqual(stored, {
    // Four unpaid charges of `sendTwice`, an asynchronous one, and three paid ones.
    payments: 8 * count,
    ownerless: 0,
    invoices: count,
    failures: 0,
    failed_jobs: 0,
    wrong_minutes: 0,
  });
  const created = sandbox.hooks.map(({ body }) => body).filter((body) => "schedule" in body);
  assert.deepEqual(
    [...new Set(created.map(({ id }) => id))].sort(),
    subscriptions.toSorted(),
    "the gateway has no other subscription",
  );
  const events = await database.query((sql) => sql`select from gateway.events`);
  await until("all webhooks arrived", () => timestampErrors.length >= events.length);
  assert.deepEqual(timestampErrors.filter((ms) => Math.abs(ms) > TOLERANCE_MS), []);
});
