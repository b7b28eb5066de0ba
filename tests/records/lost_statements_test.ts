import assert from "node:assert/strict";
import { checkOverdueInvoices } from "../../core/invoices/check_overdue_invoices.ts";
import { checkInvoiceLaterJob } from "../../core/invoices/invoice_record.ts";
import type { JobSubject } from "../../core/outbox.ts";
import { checkSubscriptionJob } from "../../core/subscriptions/subscription_record.ts";
import { syncSubscriptionStatus } from "../../core/subscriptions/sync_subscription_status.ts";
import { insertJobs, type NewJob } from "../../db/jobs.ts";
import { ProblemSchema } from "../../routes/schemas/problem.ts";
import { createDatabase } from "../support/database/database.ts";
import { notify } from "../support/gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { createLossyDatabase, LOSSES } from "../support/records/losses.ts";
import {
  assertConsistent,
  invoiceRequest,
  parseInvoice,
  parseSubscription,
  subscriptionRequest,
} from "../support/records/requests.ts";

const MINUTE = 60_000;

/** More statements than any operation runs. */
const MAX_STATEMENTS = 40;

/**
 * Longer than every lease, so that a request or job can be resumed; shorter than the gateway
 * remembers an idempotency key.
 */
const SOON = 2 * MINUTE + 1;

type Table = "invoices" | "subscriptions";

interface Lossy extends RelayedPayments {
  advance(ms: number): void;
  lossy: ReturnType<typeof createLossyDatabase>;
  /** Runs the scheduled checks, then jobs until none is due. */
  runBackground(): Promise<void>;
}

async function openLossy(): Promise<Lossy> {
  const lossy = createLossyDatabase();
  let now = Date.now();
  // A database for each test, because the scheduled checks read all rows.
  const databaseUrl = await createDatabase();
  const payments = await openRelayed({ databaseUrl, now: () => now, ...lossy });
  return {
    ...payments,
    lossy,
    advance: (ms) => now += ms,
    async runBackground() {
      const { deps } = payments.app;
      await checkOverdueInvoices(deps);
      await syncSubscriptionStatus(deps);
      while (await runDueJobs(payments.app) > 0);
    },
  };
}

/** A request, and how to find its record. */
interface Prepared {
  path: string;
  body: Json;
  /** The id of an existing record; null if the request creates it. */
  id: string | null;
  /** The order id or name by which a new record is found. */
  name: string;
}

interface Operation {
  name: string;
  /** The sandbox's name of the call to the gateway. */
  call: string;
  table: Table;
  status: number;
  prepare(lossy: Lossy): Promise<Prepared>;
  /** The status of the record afterwards, and its events. */
  ends: string;
  events: string[];
}

const OPERATIONS: Operation[] = [
  {
    name: "create an invoice",
    call: "invoice_create",
    table: "invoices",
    status: 201,
    prepare() {
      const body = invoiceRequest();
      return Promise.resolve({ path: "/invoices/", body, id: null, name: body.order_id });
    },
    ends: "sent",
    events: ["invoice_created"],
  },
  {
    name: "void an invoice",
    call: "invoice_void",
    table: "invoices",
    status: 200,
    async prepare({ post }) {
      const created = await parseInvoice(await post("/invoices/", invoiceRequest()), 201);
      const path = `/invoices/${created.id}/void/`;
      return { path, body: { reason: "Ordered twice" }, id: created.id, name: created.order_id };
    },
    ends: "void",
    events: ["invoice_created", "invoice_voided"],
  },
  {
    name: "create a subscription",
    call: "subscription_create",
    table: "subscriptions",
    status: 201,
    async prepare({ sandbox }) {
      const body = await subscriptionRequest(sandbox);
      return { path: "/subscriptions/", body, id: null, name: body.name };
    },
    ends: "active",
    events: ["subscription_created"],
  },
  actionOperation("disable", "disabled", ["subscription_created", "subscription_disabled"]),
  {
    ...actionOperation("enable", "active", ["subscription_created", "subscription_disabled"]),
    async prepare(lossy) {
      const prepared = await actionOperation("enable", "", []).prepare(lossy);
      await parseSubscription(await lossy.post(`/subscriptions/${prepared.id}/disable/`), 200);
      return prepared;
    },
  },
  actionOperation("cancel", "cancelled", ["subscription_created", "subscription_cancelled"]),
];

function actionOperation(action: string, ends: string, events: string[]): Operation {
  return {
    name: `${action} a subscription`,
    call: `subscription_${action}`,
    table: "subscriptions",
    status: 200,
    async prepare({ post, sandbox }) {
      const request = await subscriptionRequest(sandbox);
      const created = await parseSubscription(await post("/subscriptions/", request), 201);
      const path = `/subscriptions/${created.id}/${action}/`;
      return { path, body: undefined, id: created.id, name: created.name };
    },
    ends,
    events,
  };
}

interface Lost {
  /** Which statement was lost, for messages. */
  which: string;
  prepared: Prepared;
  send(): Promise<Response>;
}

/** Loses each statement of an operation in turn, and calls `after` after each. */
async function loseEach(
  operation: Operation,
  fault: string | null,
  after: (lossy: Lossy, lost: Lost) => Promise<void>,
): Promise<void> {
  await using lossy = await openLossy();
  for (const loss of LOSSES) {
    for (let number = 1;; number++) {
      const prepared = await operation.prepare(lossy);
      const headers = newKey();
      const send = () => lossy.post(prepared.path, prepared.body, headers);
      if (fault) await lossy.sandbox.fault(operation.call, fault);
      const asked = lossy.relay.received.length;
      lossy.lossy.lose(number, loss);
      const response = await send();
      const wasLost = lossy.lossy.stop();
      await lossy.sandbox.control("faults", undefined, "DELETE");
      if (!wasLost) {
        assert.ok(number > 2 && number < MAX_STATEMENTS, "the operation runs a few statements");
        break;
      }
      const which = `${loss} ${number}`;
      const isCalled = lossy.relay.asked().slice(asked).some(isWrite);
      await assertNamesRecord(lossy, operation, { which, prepared, send }, response, isCalled);
      await after(lossy, { which, prepared, send });
    }
  }
}

/**
 * Fails if an error after a call to the gateway does not name the record, or has a known outcome.
 */
async function assertNamesRecord(
  lossy: Lossy,
  { table, status }: Operation,
  { which, prepared }: Lost,
  response: Response,
  isCalled: boolean,
): Promise<void> {
  if (response.status === status) return;
  const text = await response.text();
  assert.ok([400, 502, 503, 504].includes(response.status), `${which}: ${text}`);
  const problem: Json = ProblemSchema.parse(JSON.parse(text));
  if (!isCalled) return;
  const named = table === "invoices" ? problem.invoice_id : problem.subscription_id;
  assert.equal(named, (await rowOf(lossy, table, prepared))!.id, `${which}: ${text}`);
  assert.equal(problem.outcome, "unknown", which);
}

interface Row {
  id: string;
  status: string;
  gateway_id: string | null;
  intent: string | null;
}

/** The record, or null if nothing was stored. Fails if there are several. */
async function rowOf({ app }: Lossy, table: Table, { name }: Prepared): Promise<Row | null> {
  const rows = await app.database.query((sql) =>
    table === "invoices"
      ? sql<Row[]>`select id, status, gateway_invoice_id as gateway_id, null as intent
          from gateway.invoices where order_id = ${name}`
      : sql<Row[]>`select id, status, gateway_subscription_id as gateway_id, intent
          from gateway.subscriptions where name = ${name}`
  );
  assert.ok(rows.length <= 1, `${rows.length} of ${name}`);
  return rows[0] ?? null;
}

/** The gateway's notifications of subscriptions that it created with this name. */
async function createdAtGateway({ sandbox }: Lossy, { name }: Prepared): Promise<Json[]> {
  await sandbox.webhooksAttempted();
  return sandbox.hooks.map(({ body }) => body)
    .filter((body) => body.name === name && body.event_name === undefined);
}

/** The statuses of the service for each status of the gateway. */
const STATUSES: Record<string, string[]> = {
  pending: ["sent"],
  voided: ["void"],
  active: ["active"],
  inactive: ["disabled", "cancelled"],
};

async function assertAgrees(
  lossy: Lossy,
  { table }: Operation,
  { prepared, which }: Lost,
): Promise<string> {
  const { status, gateway_id } = (await rowOf(lossy, table, prepared))!;
  assert.ok(gateway_id, `${which}: it has the gateway's id`);
  const atGateway = await lossy.sandbox.get(`/v1/${table}/${gateway_id}`);
  assert.ok(
    STATUSES[atGateway.status]!.includes(status),
    `${which}: ${atGateway.status} is ${status}`,
  );
  if (table === "subscriptions") {
    assert.equal((await createdAtGateway(lossy, prepared)).length, 1, `${which}: created once`);
  }
  return status;
}

for (const operation of OPERATIONS) {
  const { name, table, ends, events, status } = operation;
  for (const fault of [null, "answer_lost"]) {
    const also = fault ? " and the gateway's response too" : "";

    Deno.test(`${name}: if any statement is lost${also}, a retry with the same key completes it once`, async () => {
      await loseEach(operation, fault, async (lossy, lost) => {
        lossy.advance(SOON);
        const response = await lost.send();
        const text = await response.text();
        assert.equal(response.status, status, `${lost.which}: ${text}`);
        assert.equal(JSON.parse(text).status, ends, lost.which);
        assert.equal(await assertAgrees(lossy, operation, lost), ends, lost.which);
        const { id } = (await rowOf(lossy, table, lost.prepared))!;
        assert.deepEqual(await assertConsistent(lossy.app.database, table, id), events, lost.which);
        lossy.advance(10 * MINUTE);
        await lossy.runBackground();
        assert.deepEqual(await assertConsistent(lossy.app.database, table, id), events, lost.which);
      });
    });

    Deno.test(`${name}: if any statement is lost${also}, background checks find the outcome`, async () => {
      await loseEach(operation, fault, async (lossy, lost) => {
        const { prepared, which } = lost;
        const before = await rowOf(lossy, table, prepared);
        if (!before) return assert.deepEqual(await createdAtGateway(lossy, prepared), [], which);
        lossy.advance(SOON);
        for (const body of await createdAtGateway(lossy, prepared)) {
          await notifyUntilAccepted(lossy, body);
        }
        await lossy.runBackground();
        const names = await assertConsistent(lossy.app.database, table, before.id);
        const { status, gateway_id } = (await rowOf(lossy, table, prepared))!;
        if (gateway_id === null) {
          // The service does not store the token, so only the client can send the request again.
          assert.equal(operation.call, "subscription_create", which);
          assert.deepEqual([status, names], ["pending", []], which);
          assert.deepEqual(await createdAtGateway(lossy, prepared), [], which);
          return;
        }
        await assertAgrees(lossy, operation, lost);
        assert.equal(new Set(names).size, names.length, `${which}: ${names}`);
        if (before.intent) assert.equal(status, ends, which);
        if (status === ends) assert.deepEqual(names, events, which);
      });
    });
  }

  if (!operation.call.endsWith("_create")) continue;

  Deno.test(`${name}: if any statement is lost, it is not sent again after the gateway has forgotten the key`, async () => {
    await loseEach(operation, null, async (lossy, lost) => {
      const { prepared, which } = lost;
      const before = await rowOf(lossy, table, prepared);
      if (!before) return;
      lossy.advance(6 * MINUTE);
      const asked = lossy.relay.received.length;
      const response = await lost.send();
      await lossy.runBackground();
      assert.deepEqual(lossy.relay.asked().slice(asked).filter(isWrite), [], which);
      const isKnown = before.gateway_id !== null;
      assert.equal(response.status, isKnown ? 201 : 504, `${which}: ${await response.text()}`);
      const now = await rowOf(lossy, table, prepared);
      assert.equal(now!.status, isKnown ? ends : "pending", which);
    });
  });
}

function isWrite(call: string): boolean {
  return !call.startsWith("GET ");
}

/** Sends a notification until it is accepted, as the gateway does. */
async function notifyUntilAccepted(lossy: Lossy, body: Json): Promise<void> {
  const response = await notify(lossy, body);
  const text = await response.text();
  if (response.status === 503) return await notifyUntilAccepted(lossy, body);
  assert.equal(response.status, 200, text);
}

/** A change at the gateway that the service learns by a notification or by a check. */
interface GatewayChange {
  name: string;
  table: Table;
  cause(lossy: Lossy): Promise<{ id: string; notifications: Json[] }>;
  check: (subject: JobSubject, now: Date) => NewJob;
  events: string[];
  payments: number;
}

const GATEWAY_CHANGES: GatewayChange[] = [
  {
    name: "a paid invoice",
    table: "invoices",
    async cause({ post, sandbox }) {
      const invoice = await parseInvoice(await post("/invoices/", invoiceRequest()), 201);
      sandbox.hooks.length = 0;
      const path = `invoices/${invoice.gateway_invoice_id}/pay`;
      await sandbox.control(path, { payment_type: "gopay" });
      await sandbox.webhooksAttempted();
      return { id: invoice.id, notifications: sandbox.hooks.map(({ body }) => body) };
    },
    check: checkInvoiceLaterJob,
    events: ["invoice_created", "invoice_paid"],
    payments: 1,
  },
  {
    name: "a charged subscription",
    table: "subscriptions",
    async cause({ post, sandbox }) {
      const request = await subscriptionRequest(sandbox);
      const created = await parseSubscription(await post("/subscriptions/", request), 201);
      sandbox.hooks.length = 0;
      await sandbox.control(`subscriptions/${created.gateway_subscription_id}/run`);
      await sandbox.webhooksAttempted();
      return { id: created.id, notifications: sandbox.hooks.map(({ body }) => body) };
    },
    check: checkSubscriptionJob,
    events: ["subscription_created", "subscription_charged"],
    payments: 1,
  },
];

for (const { name, table, cause, check, events, payments } of GATEWAY_CHANGES) {
  for (const isNotified of [true, false]) {
    const source = isNotified ? "by notification" : "by check";

    Deno.test(`${name}, ${source}: if any statement is lost, the change is applied once`, async () => {
      await using lossy = await openLossy();
      const { app } = lossy;
      for (const loss of LOSSES) {
        for (let number = 1, wasLost = true; wasLost; number++) {
          const { id, notifications } = await cause(lossy);
          const job = check({ id, user_id: "alice" }, new Date(app.deps.clock()));
          if (!isNotified) await app.database.query((sql) => insertJobs(sql, [job]));
          lossy.advance(SOON);
          lossy.lossy.lose(number, loss);
          if (isNotified) {
            for (const body of notifications) await notifyUntilAccepted(lossy, body);
          }
          await runDueJobs(app).catch(() => {});
          wasLost = lossy.lossy.stop();
          assert.ok(number < MAX_STATEMENTS && (wasLost || number > 4), "a few statements run");
          // A job that was interrupted runs again when its lease has expired.
          for (let time = 0; time < 4; time++) {
            lossy.advance(10 * MINUTE);
            await runDueJobs(app);
          }
          const which = `${loss} ${number}`;
          assert.deepEqual(await assertConsistent(app.database, table, id), events, which);
          const paid = await app.database.query((sql) =>
            sql`select from gateway.payments
              where ${id} in (invoice_id, subscription_id) and paid_at is not null`
          );
          assert.equal(paid.length, payments, which);
        }
      }
    });
  }
}
