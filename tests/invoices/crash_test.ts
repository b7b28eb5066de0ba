import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { InvoiceSchema } from "../../routes/schemas/invoice.ts";
import { SubscriptionSchema } from "../../routes/schemas/subscription.ts";
import { createRandom, seededState } from "../../sandbox/world/random.ts";
import { type Packet, textOf } from "../support/database/wire.ts";
import type { Keyed, Reply } from "../support/installation.ts";
import {
  openRecordInstallation,
  type RecordInstallation,
} from "../support/records/installation.ts";
import {
  assertOneStory,
  invoiceRequest,
  subscriptionRequest,
} from "../support/records/requests.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { until } from "../support/until.ts";

const ROUNDS = 3;

const MINUTE = 60_000;

/** More than every lease, and still within what the gateway remembers a key for. */
const SOON = 2 * MINUTE + 1;

/** More than that. */
const LATE = 20 * MINUTE;

/** About as many as a round has. */
const MOST_MESSAGES = 60;

const ANYWHERE = "at any message on either wire";

const random = createRandom(seededState(6));

interface Operation extends Keyed {
  table: "invoices" | "subscriptions";
  /** Of the record, where there is one already; else it is known by its order or its name. */
  id: string | null;
  status: number;
  /** What it makes of the record, and the events that lead there. */
  ends: string;
  events: string[];
}

/** Brings all operations to where the service is to be killed; it is, right after. */
type Step = (
  service: RecordInstallation,
  operations: Operation[],
  heard: Promise<unknown>,
) => unknown;

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
  [ANYWHERE]: async (service, _operations, heard) => {
    service.killAfter(1 + random.below(MOST_MESSAGES));
    await heard;
  },
};

/** The gateway has done everything, and says so to nobody yet. */
async function bringToAnswer({ answers }: RecordInstallation, operations: Operation[]) {
  answers.shut();
  await until("all are answered", () => answers.waiting().length >= operations.length);
}

/** The operations whose end is written in these packets, which name the key that is answered. */
function named(packets: Packet[], operations: Operation[]): Operation[] {
  const said = textOf(packets);
  return operations.filter(({ key }) => said.includes(key));
}

async function areWritten({ database }: RecordInstallation, operations: Operation[]) {
  const keys = operations.map(({ key }) => key);
  const rows = await database.query((sql) =>
    sql`select from gateway.idempotency_keys where key = any(${keys}) and reply is null`
  );
  return rows.length === 0;
}

interface Restarted {
  operations: Operation[];
  /** Whether the service came as far as the call to the gateway with each of them. */
  isCalled: boolean;
  retry(): Promise<Reply[]>;
}

/** What comes after the restart: the background's looks, and the clients' second try. */
const RECOVERIES = [
  async (service: RecordInstallation, { operations, isCalled, retry }: Restarted) => {
    await service.sync(LATE);
    // Also should no client ever come back.
    for (const operation of operations) await assertNothingLeft(service, operation, isCalled);
    return await retry();
  },
  async (service: RecordInstallation, { retry }: Restarted) => {
    const replies = await retry();
    await service.sync(LATE);
    return replies;
  },
  async (service: RecordInstallation, { retry }: Restarted) =>
    (await Promise.all([retry(), service.sync(LATE)]))[0],
];

for (const [name, step] of Object.entries(STEPS)) {
  Deno.test(`killed ${name}: no invoice or subscription is lost or made twice (${ROUNDS} rounds)`, async () => {
    await using service = await openRecordInstallation();
    await service.start();
    for (let round = 0; round < ROUNDS; round++) {
      const operations = await prepare(service);
      const sent = operations.map(service.post);
      await step(service, operations, Promise.all(sent));
      await service.kill();
      const heard = await Promise.all(sent);

      await service.start();
      await service.endLeases(operations);
      const replies = await RECOVERIES[round % RECOVERIES.length]!(service, {
        operations,
        isCalled: name !== ANYWHERE,
        retry: () => Promise.all(operations.map((operation) => retry(service, operation))),
      });
      for (const [index, reply] of replies.entries()) {
        const first = heard[index];
        if (first && first.status < 300) assert.deepEqual(reply, { ...first, isReplayed: true });
      }
      for (const operation of operations) await assertDone(service, operation);
      await assertMadeOnce(service);
    }
  });
}

/** Two of each that is made, and one of each that is done to them: all at once. */
async function prepare(service: RecordInstallation): Promise<Operation[]> {
  const { sandbox } = service;
  const { id: toVoid } = await succeed(service, makeInvoice());
  const [toDisable, toEnable, toCancel] = await Promise.all([1, 2, 3].map(async () => {
    const operation = makeSubscription(await subscriptionRequest(sandbox));
    return (await succeed(service, operation)).id as string;
  }));
  await succeed(service, act(toEnable!, "disable", "disabled", ["subscription_disabled"]));
  return [
    makeInvoice(),
    makeInvoice(),
    {
      path: `/invoices/${toVoid}/void/`,
      body: { reason: "Ordered twice" },
      key: randomUUID(),
      table: "invoices",
      id: toVoid,
      status: 200,
      ends: "void",
      events: ["invoice_created", "invoice_voided"],
    },
    makeSubscription(await subscriptionRequest(sandbox)),
    makeSubscription(await subscriptionRequest(sandbox)),
    act(toDisable!, "disable", "disabled", ["subscription_disabled"]),
    act(toEnable!, "enable", "active", ["subscription_disabled"]),
    act(toCancel!, "cancel", "cancelled", ["subscription_cancelled"]),
  ];
}

function makeInvoice(): Operation {
  return {
    path: "/invoices/",
    body: invoiceRequest(),
    key: randomUUID(),
    table: "invoices",
    id: null,
    status: 201,
    ends: "sent",
    events: ["invoice_created"],
  };
}

function makeSubscription(body: Json): Operation {
  return {
    path: "/subscriptions/",
    body,
    key: randomUUID(),
    table: "subscriptions",
    id: null,
    status: 201,
    ends: "active",
    events: ["subscription_created"],
  };
}

function act(id: string, action: string, ends: string, events: string[]): Operation {
  return {
    path: `/subscriptions/${id}/${action}/`,
    body: {},
    key: randomUUID(),
    table: "subscriptions",
    id,
    status: 200,
    ends,
    events: ["subscription_created", ...events],
  };
}

/** Twice, to see that the answer stays the same. */
async function retry(service: RecordInstallation, operation: Operation): Promise<Reply> {
  const reply = await answered(service, operation);
  assert.deepEqual(await answered(service, operation), { ...reply, isReplayed: true });
  assert.equal(reply.body.status, operation.ends, operation.path);
  return reply;
}

async function succeed(service: RecordInstallation, operation: Operation): Promise<Json> {
  return (await answered(service, operation)).body;
}

/** On a busy machine the service may be short of breath: then it is asked again, as clients do. */
async function answered(service: RecordInstallation, operation: Operation): Promise<Reply> {
  let reply = await service.post(operation);
  await until("there is an answer", async () => {
    if (reply?.status !== 503) return true;
    await service.endLeases([operation]);
    reply = await service.post(operation);
    return false;
  });
  assert.equal(reply?.status, operation.status, `${operation.path} ${JSON.stringify(reply?.body)}`);
  const schema = operation.table === "invoices" ? InvoiceSchema : SubscriptionSchema;
  schema.parse(reply!.body);
  return reply!;
}

interface Row {
  id: string;
  status: string;
  there: string | null;
  intent: string | null;
}

/** What the request left; there is never more than one. */
async function rowOf(
  { database }: RecordInstallation,
  { table, id, body }: Operation,
): Promise<Row | null> {
  const rows = await database.query((sql) =>
    table === "invoices"
      ? sql<Row[]>`select id, status, gateway_invoice_id as there, null as intent
          from gateway.invoices where id = ${id} or order_id = ${body.order_id ?? null}`
      : sql<Row[]>`select id, status, gateway_subscription_id as there, intent
          from gateway.subscriptions where id = ${id} or name = ${body.name ?? null}`
  );
  assert.ok(rows.length <= 1, `${rows.length} of one request`);
  return rows[0] ?? null;
}

const HERE: Record<string, string[]> = {
  pending: ["sent"],
  voided: ["void"],
  paid: ["paid"],
  active: ["active"],
  inactive: ["disabled", "cancelled"],
};

async function assertAgrees(service: RecordInstallation, { table }: Operation, row: Row) {
  const { status } = await service.there(`/v1/${table}/${row.there}`);
  assert.ok(HERE[status]!.includes(row.status), `${status} is ${row.status}`);
}

/** The background has finished what it can: all that was asked of what the gateway knows. */
async function assertNothingLeft(
  service: RecordInstallation,
  operation: Operation,
  isCalled: boolean,
): Promise<void> {
  const row = await rowOf(service, operation);
  if (!row) return assert.equal(isCalled, false, "it is written before the call");
  const names = await assertOneStory(service.database, operation.table, row.id);
  if (row.there === null) return assert.deepEqual([row.status, names], ["pending", []]);
  await assertAgrees(service, operation, row);
  assert.equal(new Set(names).size, names.length, `${names}`);
  const isAction = operation.table === "subscriptions" && operation.id !== null;
  if (isAction && isCalled) await assertDone(service, operation);
}

async function assertDone(service: RecordInstallation, operation: Operation): Promise<void> {
  const row = (await rowOf(service, operation))!;
  assert.equal(row.status, operation.ends, operation.path);
  assert.equal(row.intent, null);
  await assertAgrees(service, operation, row);
  const names = await assertOneStory(service.database, operation.table, row.id);
  assert.deepEqual(names, operation.events, operation.path);
}

/** The gateway tells of each subscription that it makes; of invoices it takes each order once. */
async function assertMadeOnce({ sandbox }: RecordInstallation): Promise<void> {
  await sandbox.settled();
  const made = sandbox.hooks.map(({ body }) => body)
    .filter(({ event_name, name }) => event_name === undefined && name !== undefined);
  const names = made.map(({ name }) => name);
  assert.ok(names.length > 0);
  assert.equal(new Set(names).size, names.length);
}

for (const name of ["before the call to the gateway", "during the call"]) {
  Deno.test(`killed ${name}, an invoice is made by the background, once, if that looks in time`, async () => {
    await using service = await openRecordInstallation();
    await service.start();
    const operations = [makeInvoice(), makeInvoice()];
    const sent = operations.map(service.post);
    await STEPS[name]!(service, operations, Promise.all(sent));
    await service.kill();
    assert.deepEqual(await Promise.all(sent), [null, null]);

    await service.sync(SOON);
    for (const operation of operations) await assertDone(service, operation);
    await service.start();
    await service.endLeases(operations);
    for (const operation of operations) await retry(service, operation);
    for (const operation of operations) await assertDone(service, operation);
  });

  Deno.test(`killed ${name}, what many clients ask for again with one key is done once`, async () => {
    await using service = await openRecordInstallation();
    await service.start();
    const operations = await prepare(service);
    const sent = operations.map(service.post);
    await STEPS[name]!(service, operations, Promise.all(sent));
    await service.kill();
    await Promise.all(sent);

    await service.start();
    await service.endLeases(operations);
    for (const operation of operations) {
      const replies = await Promise.all(Array(10).fill(operation).map(service.post));
      const statuses = replies.map((reply) => reply?.status);
      assert.ok(statuses.includes(operation.status), `${operation.path} ${statuses}`);
      // Who comes while another is at it is told so.
      assert.ok(statuses.every((status) => [operation.status, 409].includes(status!)));
      await retry(service, operation);
      await assertDone(service, operation);
    }
    await assertMadeOnce(service);
  });
}

Deno.test("killed during the call, and nobody asks again: what was made is adopted when it is told of", async () => {
  await using service = await openRecordInstallation();
  const { sandbox } = service;
  await service.start();
  const operations = [makeInvoice(), makeSubscription(await subscriptionRequest(sandbox))];
  const sent = operations.map(service.post);
  await bringToAnswer(service, operations);
  await service.kill();
  assert.deepEqual(await Promise.all(sent), [null, null]);

  const told = sandbox.hooks.length;
  await service.sync(LATE);
  for (const operation of operations) {
    const row = await rowOf(service, operation);
    assert.deepEqual([row?.status, row?.there], ["pending", null]);
  }
  // The customer has the link by another way, and pays.
  const { order_id } = operations[0]!.body;
  const sentInvoice = service.passed.find(({ body }) => body.includes(order_id))!;
  const { body: made } = await sandbox.call("POST", "/v1/invoices", JSON.parse(sentInvoice.body), {
    Authorization: sentInvoice.headers.get("Authorization")!,
    "X-Idempotency-Key": sentInvoice.headers.get("X-Idempotency-Key")!,
  });
  await sandbox.control(`invoices/${made.id}/pay`, { payment_type: "gopay" });
  assert.ok(await service.tellAll() > told);
  await service.sync(LATE);
  const [invoice, subscription] = operations;
  await assertDone(service, {
    ...invoice!,
    ends: "paid",
    events: ["invoice_created", "invoice_paid"],
  });
  await assertDone(service, subscription!);
});
