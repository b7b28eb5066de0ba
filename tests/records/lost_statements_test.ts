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
  assertOneStory,
  invoiceRequest,
  parseInvoice,
  parseSubscription,
  subscriptionRequest,
} from "../support/records/requests.ts";

const MINUTE = 60_000;

/** More than any of it takes. */
const MANY = 40;

/** Longer than a request or a job counts as running; both may be sent again then (G§1.4, G§8). */
const SOON = 2 * MINUTE + 1;

type Table = "invoices" | "subscriptions";

interface Lossy extends RelayedPayments {
  pass(ms: number): void;
  lossy: ReturnType<typeof createLossyDatabase>;
  /** What is due runs, and what by the clock is to be done; as often as it takes. */
  work(): Promise<void>;
}

async function openLossy(): Promise<Lossy> {
  const lossy = createLossyDatabase();
  let now = Date.now();
  // Of its own: what runs by the clock looks at all there is.
  const databaseUrl = await createDatabase();
  const payments = await openRelayed({ databaseUrl, now: () => now, ...lossy });
  return {
    ...payments,
    lossy,
    pass: (ms) => now += ms,
    async work() {
      const { deps } = payments.app;
      await checkOverdueInvoices(deps);
      await syncSubscriptionStatus(deps);
      while (await runDueJobs(payments.app) > 0);
    },
  };
}

/** A request, and how to tell what came of it. */
interface Prepared {
  path: string;
  body: Json;
  /** The record's, where there is one already. */
  id: string | null;
  /** Known by this, where there is none yet. */
  name: string;
}

interface Operation {
  name: string;
  /** The sandbox's name of the call. */
  call: string;
  table: Table;
  status: number;
  prepare(lossy: Lossy): Promise<Prepared>;
  /** The record's status when all went well, and the events that led there. */
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
      const made = await parseInvoice(await post("/invoices/", invoiceRequest()), 201);
      const path = `/invoices/${made.id}/void/`;
      return { path, body: { reason: "Ordered twice" }, id: made.id, name: made.order_id };
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
  acting("disable", "disabled", ["subscription_created", "subscription_disabled"]),
  {
    ...acting("enable", "active", ["subscription_created", "subscription_disabled"]),
    async prepare(lossy) {
      const prepared = await acting("enable", "", []).prepare(lossy);
      await parseSubscription(await lossy.post(`/subscriptions/${prepared.id}/disable/`), 200);
      return prepared;
    },
  },
  acting("cancel", "cancelled", ["subscription_created", "subscription_cancelled"]),
];

function acting(action: string, ends: string, events: string[]): Operation {
  return {
    name: `${action} a subscription`,
    call: `subscription_${action}`,
    table: "subscriptions",
    status: 200,
    async prepare({ post, sandbox }) {
      const request = await subscriptionRequest(sandbox);
      const made = await parseSubscription(await post("/subscriptions/", request), 201);
      const path = `/subscriptions/${made.id}/${action}/`;
      return { path, body: undefined, id: made.id, name: made.name };
    },
    ends,
    events,
  };
}

interface Lost {
  /** For messages: which it was. */
  which: string;
  prepared: Prepared;
  send(): Promise<Response>;
}

/** Loses each statement of an operation in turn; `after` sees what came of each. */
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
      const answer = await send();
      const isStruck = lossy.lossy.mend();
      await lossy.sandbox.control("faults", undefined, "DELETE");
      if (!isStruck) {
        assert.ok(number > 2 && number < MANY, "there is something to lose, and an end of it");
        break;
      }
      const which = `${loss} ${number}`;
      const isCalled = lossy.relay.asked().slice(asked).some(isWrite);
      await assertToldOf(lossy, operation, { which, prepared, send }, answer, isCalled);
      await after(lossy, { which, prepared, send });
    }
  }
}

/** Whoever hears that it failed hears of what, once the gateway was asked. */
async function assertToldOf(
  lossy: Lossy,
  { table, status }: Operation,
  { which, prepared }: Lost,
  answer: Response,
  isCalled: boolean,
): Promise<void> {
  if (answer.status === status) return;
  const text = await answer.text();
  assert.ok([400, 502, 503, 504].includes(answer.status), `${which}: ${text}`);
  const problem: Json = ProblemSchema.parse(JSON.parse(text));
  if (!isCalled) return;
  const named = table === "invoices" ? problem.invoice_id : problem.subscription_id;
  assert.equal(named, (await rowOf(lossy, table, prepared))!.id, `${which}: ${text}`);
  assert.equal(problem.outcome, "unknown", which);
}

interface Row {
  id: string;
  status: string;
  there: string | null;
  intent: string | null;
}

/** Null: nothing was written. There is never more than one. */
async function rowOf({ app }: Lossy, table: Table, { name }: Prepared): Promise<Row | null> {
  const rows = await app.database.query((sql) =>
    table === "invoices"
      ? sql<Row[]>`select id, status, gateway_invoice_id as there, null as intent
          from gateway.invoices where order_id = ${name}`
      : sql<Row[]>`select id, status, gateway_subscription_id as there, intent
          from gateway.subscriptions where name = ${name}`
  );
  assert.ok(rows.length <= 1, `${rows.length} of ${name}`);
  return rows[0] ?? null;
}

/** What the gateway has made of a subscription's name. */
async function madeThere({ sandbox }: Lossy, { name }: Prepared): Promise<Json[]> {
  await sandbox.settled();
  return sandbox.hooks.map(({ body }) => body)
    .filter((body) => body.name === name && body.event_name === undefined);
}

/** How the gateway has it, in our words. */
const HERE: Record<string, string[]> = {
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
  const { status, there } = (await rowOf(lossy, table, prepared))!;
  assert.ok(there, `${which}: it is known there`);
  const said = await lossy.sandbox.get(`/v1/${table}/${there}`);
  assert.ok(HERE[said.status]!.includes(status), `${which}: ${said.status} is ${status}`);
  if (table === "subscriptions") {
    assert.equal((await madeThere(lossy, prepared)).length, 1, `${which}: made once`);
  }
  return status;
}

for (const operation of OPERATIONS) {
  const { name, table, ends, events, status } = operation;
  for (const fault of [null, "answer_lost"]) {
    const also = fault ? ", and the gateway's answer too" : "";

    Deno.test(`${name}: whichever statement is lost${also}, the same key does it once`, async () => {
      await loseEach(operation, fault, async (lossy, lost) => {
        lossy.pass(SOON);
        const answer = await lost.send();
        const text = await answer.text();
        assert.equal(answer.status, status, `${lost.which}: ${text}`);
        assert.equal(JSON.parse(text).status, ends, lost.which);
        assert.equal(await assertAgrees(lossy, operation, lost), ends, lost.which);
        const { id } = (await rowOf(lossy, table, lost.prepared))!;
        assert.deepEqual(await assertOneStory(lossy.app.database, table, id), events, lost.which);
        lossy.pass(10 * MINUTE);
        await lossy.work();
        assert.deepEqual(await assertOneStory(lossy.app.database, table, id), events, lost.which);
      });
    });

    Deno.test(`${name}: whichever statement is lost${also}, the background finds out`, async () => {
      await loseEach(operation, fault, async (lossy, lost) => {
        const { prepared, which } = lost;
        const before = await rowOf(lossy, table, prepared);
        if (!before) return assert.deepEqual(await madeThere(lossy, prepared), [], which);
        lossy.pass(SOON);
        for (const body of await madeThere(lossy, prepared)) await tell(lossy, body);
        await lossy.work();
        const names = await assertOneStory(lossy.app.database, table, before.id);
        const { status, there } = (await rowOf(lossy, table, prepared))!;
        if (there === null) {
          // Of its token nothing is kept: nobody but the client can send it again.
          assert.equal(operation.call, "subscription_create", which);
          assert.deepEqual([status, names], ["pending", []], which);
          assert.deepEqual(await madeThere(lossy, prepared), [], which);
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

  Deno.test(`${name}: whichever statement is lost, long afterwards it is never sent again`, async () => {
    await loseEach(operation, null, async (lossy, lost) => {
      const { prepared, which } = lost;
      const before = await rowOf(lossy, table, prepared);
      if (!before) return;
      lossy.pass(6 * MINUTE);
      const asked = lossy.relay.received.length;
      const answer = await lost.send();
      await lossy.work();
      assert.deepEqual(lossy.relay.asked().slice(asked).filter(isWrite), [], which);
      const isKnown = before.there !== null;
      assert.equal(answer.status, isKnown ? 201 : 504, `${which}: ${await answer.text()}`);
      const now = await rowOf(lossy, table, prepared);
      assert.equal(now!.status, isKnown ? ends : "pending", which);
    });
  });
}

function isWrite(call: string): boolean {
  return !call.startsWith("GET ");
}

/** Until it is taken, as the gateway does. */
async function tell(lossy: Lossy, body: Json): Promise<void> {
  const response = await notify(lossy, body);
  const text = await response.text();
  if (response.status === 503) return await tell(lossy, body);
  assert.equal(response.status, 200, text);
}

/** What happened at the gateway; we are told of it, or have to look. */
interface Happening {
  name: string;
  table: Table;
  happen(lossy: Lossy): Promise<{ id: string; told: Json[] }>;
  check: (subject: JobSubject, now: Date) => NewJob;
  events: string[];
  payments: number;
}

const HAPPENINGS: Happening[] = [
  {
    name: "an invoice that is paid",
    table: "invoices",
    async happen({ post, sandbox }) {
      const invoice = await parseInvoice(await post("/invoices/", invoiceRequest()), 201);
      sandbox.hooks.length = 0;
      const path = `invoices/${invoice.gateway_invoice_id}/pay`;
      await sandbox.control(path, { payment_type: "gopay" });
      await sandbox.settled();
      return { id: invoice.id, told: sandbox.hooks.map(({ body }) => body) };
    },
    check: checkInvoiceLaterJob,
    events: ["invoice_created", "invoice_paid"],
    payments: 1,
  },
  {
    name: "a cycle of a subscription",
    table: "subscriptions",
    async happen({ post, sandbox }) {
      const request = await subscriptionRequest(sandbox);
      const made = await parseSubscription(await post("/subscriptions/", request), 201);
      sandbox.hooks.length = 0;
      await sandbox.control(`subscriptions/${made.gateway_subscription_id}/run`);
      await sandbox.settled();
      return { id: made.id, told: sandbox.hooks.map(({ body }) => body) };
    },
    check: checkSubscriptionJob,
    events: ["subscription_created", "subscription_charged"],
    payments: 1,
  },
];

for (const { name, table, happen, check, events, payments } of HAPPENINGS) {
  for (const isTold of [true, false]) {
    const how = isTold ? "told of" : "looked for";

    Deno.test(`${name}, ${how}: whichever statement is lost, it is taken over once`, async () => {
      await using lossy = await openLossy();
      const { app } = lossy;
      for (const loss of LOSSES) {
        for (let number = 1, isStruck = true; isStruck; number++) {
          const { id, told } = await happen(lossy);
          const job = check({ id, user_id: "alice" }, new Date(app.deps.clock()));
          if (!isTold) await app.database.query((sql) => insertJobs(sql, [job]));
          lossy.pass(SOON);
          lossy.lossy.lose(number, loss);
          if (isTold) { for (const body of told) await tell(lossy, body); }
          await runDueJobs(app).catch(() => {});
          isStruck = lossy.lossy.mend();
          assert.ok(number < MANY && (isStruck || number > 4), "there is an end of it");
          // A job that was cut short is begun again when its time is over.
          for (let time = 0; time < 4; time++) {
            lossy.pass(10 * MINUTE);
            await runDueJobs(app);
          }
          const which = `${loss} ${number}`;
          assert.deepEqual(await assertOneStory(app.database, table, id), events, which);
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
