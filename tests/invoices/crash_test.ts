import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { InvoiceSchema } from "../../core/invoices/schema.ts";
import { SubscriptionSchema } from "../../core/subscriptions/schema.ts";
import type { Reply } from "../support/crash/installation.ts";
import {
  AT_ANY_MESSAGE,
  crashAndRecover,
  createKillPoints,
  holdResponses,
  type Operation,
  planRounds,
  retryConcurrently,
  retryTwice,
  runStep,
  sendUntilSuccess,
} from "../support/crash/kill_points.ts";
import {
  openRecordInstallation,
  type RecordInstallation,
} from "../support/crash/record_installation.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import {
  assertConsistent,
  invoiceRequest,
  subscriptionRequest,
} from "../support/records/requests.ts";
import { shareOf } from "../support/share.ts";
import { until } from "../support/until.ts";

const MINUTE = 60_000;

/** After this time every lease has ended, but the gateway's idempotency keys have not expired. */
const SOON = 2 * MINUTE + 1;

/** After this time the gateway's idempotency keys have expired. */
const LATE = 20 * MINUTE;

const KILL_POINTS = createKillPoints({ areRepliesStored, messages: 60, seed: 6 });

interface RecordOperation extends Operation {
  table: "invoices" | "subscriptions";
  /** The id of an existing record; a new one is found by its order id or its name. */
  id: string | null;
  finalStatus: string;
  /** The names of all events of the record after the operation. */
  events: string[];
}

async function areRepliesStored(
  { database }: Pick<RecordInstallation, "database">,
  operations: Operation[],
): Promise<boolean> {
  const keys = operations.map(({ key }) => key);
  const rows = await database.query((sql) =>
    sql`select from gateway.idempotency_keys where key = any(${keys}) and reply is null`
  );
  return rows.length === 0;
}

interface RecoveryInput {
  operations: RecordOperation[];
  /** Whether all operations had called the gateway when the service was killed. */
  hasReachedCall: boolean;
  retryAll(): Promise<Reply[]>;
}

type Recovery = (service: RecordInstallation, input: RecoveryInput) => Promise<Reply[]>;

const RECOVERIES: Record<string, Recovery> = {
  "ten clients retry each operation at the same time": async (
    service,
    { operations, retryAll },
  ) => {
    for (const operation of operations) await retryConcurrently(service, operation);
    return await retryAll();
  },
  "background checks run before the retries": async (
    service,
    { operations, hasReachedCall, retryAll },
  ) => {
    await service.sync(LATE);
    // This must hold even if no client retries.
    for (const operation of operations) {
      await assertFinishedWithoutRetries(service, operation, hasReachedCall);
    }
    return await retryAll();
  },
  "background checks run during the retries": async (service, { retryAll }) =>
    (await Promise.all([retryAll(), service.sync(LATE)]))[0],
  "background checks run after the retries": async (service, { retryAll }) => {
    const replies = await retryAll();
    await service.sync(LATE);
    return replies;
  },
};

/** A run of all tests tries each kill point with each recovery. */
const ROUNDS = planRounds(KILL_POINTS, RECOVERIES).slice(0, shareOf(20, 2));

Deno.test("invoices and subscriptions: if the service is killed, each operation happens once", async (t) => {
  await using service = await openRecordInstallation();
  await service.start();
  await runStep(
    t,
    "killed before and during the calls; each invoice is created once if a check runs before the gateway's idempotency key expires",
    () => checkBeforeKeysExpire(service),
  );
  for (const { moment, killPoint, recovery, recover } of ROUNDS) {
    await runStep(t, `killed ${moment}; ${recovery}`, async () => {
      const operations = await prepare(service);
      const hasReachedCall = moment !== AT_ANY_MESSAGE;
      await crashAndRecover(service, {
        operations,
        killPoint,
        retry: (operation) => retry(service, operation),
        recover: (retryAll) => recover(service, { operations, hasReachedCall, retryAll }),
      });
      for (const operation of operations) await assertDone(service, operation);
      await assertCreatedOnce(service);
    });
  }
  await runStep(
    t,
    "killed during the call and no client retries; the service adopts both records when notifications arrive",
    () => adoptAfterKill(service),
  );
});

/** Two creations of each record type and one of each action, which are sent at the same time. */
async function prepare(service: RecordInstallation): Promise<RecordOperation[]> {
  const { sandbox } = service;
  const { id: toVoid } = (await sendUntilSuccess(service, invoiceCreation())).body;
  const [toDisable, toEnable, toCancel] = await Promise.all([1, 2, 3].map(async () => {
    const operation = subscriptionCreation(await subscriptionRequest(sandbox));
    return (await sendUntilSuccess(service, operation)).body.id as string;
  }));
  await sendUntilSuccess(
    service,
    subscriptionAction(toEnable!, "disable", "disabled", ["subscription_disabled"]),
  );
  return [
    invoiceCreation(),
    invoiceCreation(),
    {
      path: `/invoices/${toVoid}/void/`,
      body: { reason: "Ordered twice" },
      key: randomUUID(),
      schema: InvoiceSchema,
      table: "invoices",
      id: toVoid,
      status: 200,
      finalStatus: "void",
      events: ["invoice_created", "invoice_voided"],
    },
    subscriptionCreation(await subscriptionRequest(sandbox)),
    subscriptionCreation(await subscriptionRequest(sandbox)),
    subscriptionAction(toDisable!, "disable", "disabled", ["subscription_disabled"]),
    subscriptionAction(toEnable!, "enable", "active", ["subscription_disabled"]),
    subscriptionAction(toCancel!, "cancel", "cancelled", ["subscription_cancelled"]),
  ];
}

function invoiceCreation(): RecordOperation {
  return {
    path: "/invoices/",
    body: invoiceRequest(),
    key: randomUUID(),
    schema: InvoiceSchema,
    table: "invoices",
    id: null,
    status: 201,
    finalStatus: "sent",
    events: ["invoice_created"],
  };
}

function subscriptionCreation(body: Json): RecordOperation {
  return {
    path: "/subscriptions/",
    body,
    key: randomUUID(),
    schema: SubscriptionSchema,
    table: "subscriptions",
    id: null,
    status: 201,
    finalStatus: "active",
    events: ["subscription_created"],
  };
}

function subscriptionAction(
  id: string,
  action: string,
  finalStatus: string,
  events: string[],
): RecordOperation {
  return {
    path: `/subscriptions/${id}/${action}/`,
    body: {},
    key: randomUUID(),
    schema: SubscriptionSchema,
    table: "subscriptions",
    id,
    status: 200,
    finalStatus,
    events: ["subscription_created", ...events],
  };
}

/** Sends the operation twice, and checks the status of the record in the response. */
async function retry(service: RecordInstallation, operation: RecordOperation): Promise<Reply> {
  const reply = await retryTwice(service, operation);
  assert.equal(reply.body.status, operation.finalStatus, operation.path);
  return reply;
}

interface Row {
  id: string;
  status: string;
  gateway_id: string | null;
  intent: string | null;
}

/** The row that the operation created or changed; there is at most one. */
async function rowOf(
  { database }: RecordInstallation,
  { table, id, body }: RecordOperation,
): Promise<Row | null> {
  const rows = await database.query((sql) =>
    table === "invoices"
      ? sql<Row[]>`select id, status, gateway_invoice_id as gateway_id, null as intent
          from gateway.invoices where id = ${id} or order_id = ${body.order_id ?? null}`
      : sql<Row[]>`select id, status, gateway_subscription_id as gateway_id, intent
          from gateway.subscriptions where id = ${id} or name = ${body.name ?? null}`
  );
  assert.ok(rows.length <= 1, `${rows.length} rows of one operation`);
  return rows[0] ?? null;
}

/** For each status of the gateway, the statuses of the service that match it. */
const STATUSES: Record<string, string[]> = {
  pending: ["sent"],
  voided: ["void"],
  paid: ["paid"],
  active: ["active"],
  inactive: ["disabled", "cancelled"],
};

async function assertMatchesGateway(
  service: RecordInstallation,
  { table }: RecordOperation,
  row: Row,
) {
  const { status } = await service.readAtGateway(`/v1/${table}/${row.gateway_id}`);
  assert.ok(
    STATUSES[status]!.includes(row.status),
    `the gateway has ${status}, the service ${row.status}`,
  );
}

/**
 * Asserts that background checks alone, without retries, have brought the record to the gateway's
 * state. A record whose id at the gateway is unknown must still be pending.
 */
async function assertFinishedWithoutRetries(
  service: RecordInstallation,
  operation: RecordOperation,
  hasReachedCall: boolean,
): Promise<void> {
  const row = await rowOf(service, operation);
  if (!row) return assert.equal(hasReachedCall, false, "the record is inserted before the call");
  const names = await assertConsistent(service.database, operation.table, row.id);
  if (row.gateway_id === null) return assert.deepEqual([row.status, names], ["pending", []]);
  await assertMatchesGateway(service, operation, row);
  assert.equal(new Set(names).size, names.length, `${names}`);
  const isAction = operation.table === "subscriptions" && operation.id !== null;
  if (isAction && hasReachedCall) await assertDone(service, operation);
}

async function assertDone(service: RecordInstallation, operation: RecordOperation): Promise<void> {
  const row = (await rowOf(service, operation))!;
  assert.equal(row.status, operation.finalStatus, operation.path);
  assert.equal(row.intent, null);
  await assertMatchesGateway(service, operation, row);
  const names = await assertConsistent(service.database, operation.table, row.id);
  assert.deepEqual(names, operation.events, operation.path);
}

/**
 * Asserts that no subscription was created twice: the gateway sends a notification for each one.
 * Invoices need no check, because the gateway accepts each order id only once.
 */
async function assertCreatedOnce({ sandbox }: RecordInstallation): Promise<void> {
  await sandbox.waitForWebhooks();
  const created = sandbox.hooks.map(({ body }) => body)
    .filter(({ event_name, name }) => event_name === undefined && name !== undefined);
  const names = created.map(({ name }) => name);
  assert.ok(names.length > 0);
  assert.equal(new Set(names).size, names.length);
}

async function checkBeforeKeysExpire(service: RecordInstallation): Promise<void> {
  const { calls, responses } = service;
  const operations = [invoiceCreation(), invoiceCreation()];
  const { order_id } = operations[0]!.body;
  calls.hold(({ body }) => body.includes(order_id));
  responses.hold();
  const sent = operations.map(service.post);
  await until(
    "one call and the response to the other are held",
    () => calls.held().length === 1 && responses.held().length === 1,
  );
  await service.kill();
  assert.deepEqual(await Promise.all(sent), [null, null]);

  await service.sync(SOON);
  for (const operation of operations) await assertDone(service, operation);
  await service.start();
  for (const operation of operations) await retry(service, operation);
  for (const operation of operations) await assertDone(service, operation);
}

async function adoptAfterKill(service: RecordInstallation): Promise<void> {
  const { sandbox } = service;
  const operations = [invoiceCreation(), subscriptionCreation(await subscriptionRequest(sandbox))];
  const sent = operations.map(service.post);
  await holdResponses(service, operations);
  await service.kill();
  assert.deepEqual(await Promise.all(sent), [null, null]);

  const webhooksBefore = sandbox.hooks.length;
  await service.sync(LATE);
  for (const operation of operations) {
    const row = await rowOf(service, operation);
    assert.deepEqual([row?.status, row?.gateway_id], ["pending", null]);
  }
  // The customer pays the invoice. To find its id at the gateway, the test repeats the service's
  // call with the same idempotency key.
  const { order_id } = operations[0]!.body;
  const sentInvoice = service.forwardedCalls.find(({ body }) => body.includes(order_id))!;
  const { body: invoiceAtGateway } = await sandbox.call(
    "POST",
    "/v1/invoices",
    JSON.parse(sentInvoice.body),
    {
      Authorization: sentInvoice.headers.get("Authorization")!,
      "X-Idempotency-Key": sentInvoice.headers.get("X-Idempotency-Key")!,
    },
  );
  await sandbox.control(`invoices/${invoiceAtGateway.id}/pay`, { payment_type: "gopay" });
  assert.ok(await service.deliverNotifications() > webhooksBefore);
  await service.sync(LATE);
  const [invoice, subscription] = operations;
  await assertDone(service, {
    ...invoice!,
    finalStatus: "paid",
    events: ["invoice_created", "invoice_paid"],
  });
  await assertDone(service, subscription!);
}
