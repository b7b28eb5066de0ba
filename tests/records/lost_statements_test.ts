import assert from "node:assert/strict";
import { checkOverdueInvoices } from "../../core/invoices/check_overdue_invoices.ts";
import { checkInvoiceLaterJob } from "../../core/invoices/invoice_record.ts";
import type { JobSubject } from "../../core/records/new_job.ts";
import { checkSubscriptionJob } from "../../core/subscriptions/subscription_record.ts";
import { syncSubscriptionStatus } from "../../core/subscriptions/sync_subscription_status.ts";
import { insertJobs, type NewJob } from "../../db/jobs/jobs.ts";
import { ProblemSchema } from "../../http/problems/schema.ts";
import { createDatabase } from "../support/database/database.ts";
import { notify } from "../support/gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { endJobLeases, runDueJobs } from "../support/jobs/due_jobs.ts";
import { createLossyDatabase, type Loss, LOSSES } from "../support/records/losses.ts";
import {
  assertConsistent,
  invoiceRequest,
  parseInvoice,
  parseSubscription,
  subscriptionRequest,
} from "../support/records/requests.ts";
import { STATEMENT_STEP } from "../support/share.ts";

const MINUTE_MS = 60_000;

/** More statements than any operation runs. */
const MAX_STATEMENTS = 40;

/**
 * Longer than every lease, so that a request or job can be resumed; shorter than the time for which
 * the gateway remembers an idempotency key.
 */
const AFTER_LEASES_MS = 2 * MINUTE_MS + 1;

type Table = "invoices" | "subscriptions";

interface LossyService extends RelayedPayments {
  advance(ms: number): void;
  losses: ReturnType<typeof createLossyDatabase>;
  /** Runs the scheduled checks, then jobs until none is due. */
  runBackground(): Promise<void>;
}

async function openLossyService(): Promise<LossyService> {
  const losses = createLossyDatabase();
  let now = Date.now();
  // A database for each test, because the scheduled checks read all rows.
  const databaseUrl = await createDatabase();
  const payments = await openRelayed({ databaseUrl, now: () => now, ...losses });
  return {
    ...payments,
    losses,
    advance: (ms) => now += ms,
    async runBackground() {
      const { service } = payments.app;
      await checkOverdueInvoices(service);
      await syncSubscriptionStatus(service);
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
  prepare(service: LossyService): Promise<Prepared>;
  /** The status of the record afterwards, and its events. */
  finalStatus: string;
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
    finalStatus: "sent",
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
    finalStatus: "void",
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
    finalStatus: "active",
    events: ["subscription_created"],
  },
  actionOperation("disable", "disabled", ["subscription_created", "subscription_disabled"]),
  {
    ...actionOperation("enable", "active", ["subscription_created", "subscription_disabled"]),
    async prepare(service) {
      const prepared = await actionOperation("enable", "", []).prepare(service);
      await parseSubscription(await service.post(`/subscriptions/${prepared.id}/disable/`), 200);
      return prepared;
    },
  },
  actionOperation("cancel", "cancelled", ["subscription_created", "subscription_cancelled"]),
];

function actionOperation(action: string, finalStatus: string, events: string[]): Operation {
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
    finalStatus,
    events,
  };
}

interface LostStatement {
  /** What was lost, and the number of the statement, for messages. */
  which: string;
  prepared: Prepared;
  send(): Promise<Response>;
}

/** `test:quick` loses every fourth statement; operations and losses begin with different ones. */
function firstStatement(operation: Operation, loss: Loss): number {
  return 1 + (OPERATIONS.indexOf(operation) + LOSSES.indexOf(loss)) % STATEMENT_STEP;
}

/** Runs the operation once for each of its statements, loses that statement, and calls `after`. */
async function loseEach(
  operation: Operation,
  after: (service: LossyService, lost: LostStatement) => Promise<void>,
): Promise<void> {
  await using service = await openLossyService();
  for (const loss of LOSSES) {
    for (let number = firstStatement(operation, loss);; number += STATEMENT_STEP) {
      const prepared = await operation.prepare(service);
      const headers = newKey();
      const send = () => service.post(prepared.path, prepared.body, headers);
      const callsBefore = service.relay.received.length;
      service.losses.lose(number, loss);
      const response = await send();
      const wasLost = service.losses.stop();
      if (!wasLost) {
        assert.ok(number > 2 && number < MAX_STATEMENTS, "the operation runs a few statements");
        break;
      }
      const which = `${loss} ${number}`;
      const wasGatewayCalled = service.relay.asked().slice(callsBefore).some(isWrite);
      await assertNamesRecord(
        service,
        operation,
        { which, prepared, send },
        response,
        wasGatewayCalled,
      );
      await after(service, { which, prepared, send });
    }
  }
}

/**
 * Fails unless an error after a call to the gateway names the record and has an unknown outcome.
 */
async function assertNamesRecord(
  service: LossyService,
  { table, status }: Operation,
  { which, prepared }: LostStatement,
  response: Response,
  wasGatewayCalled: boolean,
): Promise<void> {
  if (response.status === status) return;
  const text = await response.text();
  assert.ok([400, 502, 503, 504].includes(response.status), `${which}: ${text}`);
  const problem: Json = ProblemSchema.parse(JSON.parse(text));
  if (!wasGatewayCalled) return;
  const namedId = table === "invoices" ? problem.invoice_id : problem.subscription_id;
  assert.equal(namedId, (await rowOf(service, table, prepared))!.id, `${which}: ${text}`);
  assert.equal(problem.outcome, "unknown", which);
}

interface Row {
  id: string;
  status: string;
  gateway_id: string | null;
  intent: string | null;
}

/** The record, or null if nothing was stored. Fails if there are several. */
async function rowOf({ app }: LossyService, table: Table, { name }: Prepared): Promise<Row | null> {
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

/** The gateway's notifications that it created a subscription with this name. */
async function creationNotifications(
  { sandbox }: LossyService,
  { name }: Prepared,
): Promise<Json[]> {
  await sandbox.waitForWebhooks();
  return sandbox.hooks.map(({ body }) => body)
    .filter((body) => body.name === name && body.event_name === undefined);
}

/** The statuses that a record may have, by its status at the gateway. */
const STATUSES: Record<string, string[]> = {
  pending: ["sent"],
  voided: ["void"],
  active: ["active"],
  inactive: ["disabled", "cancelled"],
};

async function assertAgrees(
  service: LossyService,
  { table }: Operation,
  { prepared, which }: LostStatement,
): Promise<string> {
  const { status, gateway_id } = (await rowOf(service, table, prepared))!;
  assert.ok(gateway_id, `${which}: it has the gateway's id`);
  const atGateway = await service.sandbox.get(`/v1/${table}/${gateway_id}`);
  assert.ok(
    STATUSES[atGateway.status]!.includes(status),
    `${which}: ${status} here, ${atGateway.status} at the gateway`,
  );
  if (table === "subscriptions") {
    assert.equal(
      (await creationNotifications(service, prepared)).length,
      1,
      `${which}: created once`,
    );
  }
  return status;
}

for (const operation of OPERATIONS) {
  const { name, table, finalStatus, events, status } = operation;
  Deno.test(`${name}: if one statement or its result is lost, a retry with the same key completes the operation once`, async () => {
    await loseEach(operation, async (service, lost) => {
      service.advance(AFTER_LEASES_MS);
      const response = await lost.send();
      const text = await response.text();
      assert.equal(response.status, status, `${lost.which}: ${text}`);
      assert.equal(JSON.parse(text).status, finalStatus, lost.which);
      assert.equal(await assertAgrees(service, operation, lost), finalStatus, lost.which);
      const { id } = (await rowOf(service, table, lost.prepared))!;
      assert.deepEqual(
        await assertConsistent(service.app.database, table, id),
        events,
        lost.which,
      );
      service.advance(10 * MINUTE_MS);
      await service.runBackground();
      assert.deepEqual(
        await assertConsistent(service.app.database, table, id),
        events,
        lost.which,
      );
    });
  });

  Deno.test(`${name}: if one statement or its result is lost, background checks find the outcome`, async () => {
    await loseEach(operation, async (service, lost) => {
      const { prepared, which } = lost;
      const before = await rowOf(service, table, prepared);
      if (!before) {
        return assert.deepEqual(await creationNotifications(service, prepared), [], which);
      }
      service.advance(AFTER_LEASES_MS);
      for (const body of await creationNotifications(service, prepared)) {
        await notifyUntilAccepted(service, body);
      }
      await service.runBackground();
      const names = await assertConsistent(service.app.database, table, before.id);
      const { status, gateway_id } = (await rowOf(service, table, prepared))!;
      if (gateway_id === null) {
        // The service does not store the card token, so only the client can send it again.
        assert.equal(operation.call, "subscription_create", which);
        assert.deepEqual([status, names], ["pending", []], which);
        assert.deepEqual(await creationNotifications(service, prepared), [], which);
        return;
      }
      await assertAgrees(service, operation, lost);
      assert.equal(new Set(names).size, names.length, `${which}: ${names}`);
      if (before.intent) assert.equal(status, finalStatus, which);
      if (status === finalStatus) assert.deepEqual(names, events, which);
    });
  });

  if (!operation.call.endsWith("_create")) continue;

  Deno.test(`${name}: if one statement or its result is lost, a retry after the gateway's idempotency key has expired does not repeat the request`, async () => {
    await loseEach(operation, async (service, lost) => {
      const { prepared, which } = lost;
      const before = await rowOf(service, table, prepared);
      if (!before) return;
      service.advance(6 * MINUTE_MS);
      const callsBefore = service.relay.received.length;
      const response = await lost.send();
      await service.runBackground();
      assert.deepEqual(service.relay.asked().slice(callsBefore).filter(isWrite), [], which);
      const isKnown = before.gateway_id !== null;
      assert.equal(response.status, isKnown ? 201 : 504, `${which}: ${await response.text()}`);
      const after = await rowOf(service, table, prepared);
      assert.equal(after!.status, isKnown ? finalStatus : "pending", which);
    });
  });
}

function isWrite(call: string): boolean {
  return !call.startsWith("GET ");
}

/** Sends a notification until it is accepted, as the gateway does. */
async function notifyUntilAccepted(service: LossyService, body: Json): Promise<void> {
  const response = await notify(service, body);
  const text = await response.text();
  if (response.status === 503) return await notifyUntilAccepted(service, body);
  assert.equal(response.status, 200, text);
}

/** A change at the gateway that a notification or a check reports to the service. */
interface GatewayChange {
  name: string;
  table: Table;
  cause(service: LossyService): Promise<{ id: string; notifications: Json[] }>;
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
      await sandbox.waitForWebhooks();
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
      await sandbox.waitForWebhooks();
      return { id: created.id, notifications: sandbox.hooks.map(({ body }) => body) };
    },
    check: checkSubscriptionJob,
    events: ["subscription_created", "subscription_charged"],
    payments: 1,
  },
];

for (const { name, table, cause, check, events, payments } of GATEWAY_CHANGES) {
  for (const isNotified of [true, false]) {
    const source = isNotified ? "reported by a notification" : "found by a check";

    Deno.test(`${name}, ${source}: if one statement or its result is lost, the change is applied once`, async () => {
      await using service = await openLossyService();
      const { app } = service;
      for (const loss of LOSSES) {
        for (let number = 1, wasLost = true; wasLost; number += STATEMENT_STEP) {
          const { id, notifications } = await cause(service);
          const job = check({ id, user_id: "alice" }, new Date(app.service.clock()));
          if (!isNotified) await app.database.query((sql) => insertJobs(sql, [job]));
          service.advance(AFTER_LEASES_MS);
          service.losses.lose(number, loss);
          if (isNotified) {
            for (const body of notifications) await notifyUntilAccepted(service, body);
          }
          await runDueJobs(app).catch(() => {});
          wasLost = service.losses.stop();
          assert.ok(number < MAX_STATEMENTS && (wasLost || number > 4), "a few statements run");
          // A job that was interrupted runs again when its lease has expired.
          for (let time = 0; time < 4; time++) {
            service.advance(10 * MINUTE_MS);
            await endJobLeases(app);
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
