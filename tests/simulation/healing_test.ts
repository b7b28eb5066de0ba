import assert from "node:assert/strict";
import { statusAtGateway } from "../../core/invoices/states.ts";
import type { Database } from "../../db/database.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { openApp } from "../support/app.ts";
import { SERVER_KEY } from "../support/gateway/sandbox.ts";
import { type Invoice, invoiceDue, parseInvoice } from "../support/records/invoices.ts";
import { assertAllCharged, namesOf, type Subscription } from "../support/records/subscriptions.ts";
import { checkLived, readKept } from "../support/simulation/check.ts";
import { type Day, openDay, runDue, scheduleOf } from "../support/simulation/healing_day.ts";
import {
  type Charged,
  chargeOf,
  INVOICE_LIVES,
  invoiceOf,
  PAYMENT_LIVES,
  SUBSCRIPTION_LIVES,
  subscriptionOf,
} from "../support/simulation/healing_lives.ts";
import type { Plan } from "../support/simulation/plan.ts";

/** Set HEALING_SEED to run another day. */
const SEED = Number(Deno.env.get("HEALING_SEED") ?? 1);

const HOURS = 60;
const DAY = 24 * HOURS;

/** By then every record of the day has been charged, settled, failed or checked. */
const TIME_TO_FINISH = 40 * HOURS;

/** 8:00 in Jakarta, so that 16 hours of the day are left there. */
const MORNING_MS = HOURS * 60_000;

const CHECK = "GET /v2/:id/status";

/** A record, and the name of what happens to it. */
interface Lived<T> {
  name: string;
  subject: T;
}

Deno.test(`schedule: if all notifications of a day are lost, it brings every record to the gateway's state (seed ${SEED})`, async () => {
  const { below } = createRandom(seededState(SEED));
  await using day = await openDay();
  const sinceMorning = (day.app.deps.clock() - MORNING_MS) % (DAY * 60_000);
  await day.advance(DAY * 60 - sinceMorning / 1000);
  const agenda = new Map<number, (() => Promise<void>)[]>();
  const at = (minute: number, act: () => Promise<void>) =>
    agenda.set(minute, [...agenda.get(minute) ?? [], act]);

  /** Creates each record at a random time of the morning and plans what happens to it. */
  function plan<
    L extends { acts: { after: number; do(day: Day, subject: T): Promise<void> }[] },
    T,
  >(
    lives: Record<string, L>,
    begin: (life: L, name: string) => Promise<T>,
  ): Lived<T>[] {
    const lived: Lived<T>[] = [];
    for (const [name, life] of Object.entries(lives)) {
      const start = below(7 * HOURS);
      at(start, async () => {
        const subject = await begin(life, name);
        lived.push({ name, subject });
        for (const act of life.acts) at(start + act.after, () => act.do(day, subject));
      });
    }
    return lived;
  }

  const payments = plan(
    PAYMENT_LIVES,
    (life, name) => chargeOf(day, life, `heal-${name.replace(/\W+/g, "-")}`),
  );
  const invoices = plan(INVOICE_LIVES, (life) => invoiceOf(day, life));
  const subscriptions = plan(SUBSCRIPTION_LIVES, (life) => subscriptionOf(day, life));

  let minute = 0;
  for (; minute <= Math.max(...agenda.keys()); minute++) {
    for (const act of agenda.get(minute) ?? []) await act();
    await day.step();
  }
  assert.ok(minute < DAY);
  // Nothing more happens at the gateway, so fewer ticks are enough.
  for (; minute < DAY + TIME_TO_FINISH; minute += 10) await day.step(10);
  // Runs the jobs that the last tick enqueued.
  await day.step();

  await day.sandbox.webhooksAttempted();
  for (const each of payments) await withName(each.name, () => checkPayment(day, each));
  for (const each of invoices) await withName(each.name, () => checkInvoice(day, each));
  for (const each of subscriptions) await withName(each.name, () => checkSubscription(day, each));
  await checkAdopted(day, payments);
  const open = await day.app.database.query((sql) =>
    sql`select task, status, error from gateway.jobs where status <> 'succeeded'`
  );
  assert.deepEqual([...open], [], "every job has succeeded");
  assert.deepEqual((await day.runs()).filter(({ error }) => error !== null), []);
});

async function withName(name: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (cause) {
    throw new Error(`${name} (HEALING_SEED=${SEED}): ${(cause as Error).message}`, { cause });
  }
}

/** The plan that `checkLived` needs; only the records count here. */
const PLAN: Plan = {
  seed: SEED,
  kind: "bca",
  charge: { at: "a", how: "well", meanwhile: [] },
  steps: [],
  sync: { at: "a", by: "task" },
  lateOrder: null,
};

/** The payment has the gateway's state, and every transition has one event, in order. */
async function checkPayment(day: Day, { name, subject }: Lived<Charged>): Promise<void> {
  const { ends } = PAYMENT_LIVES[name]!;
  assert.equal((await day.read(subject.id)).transaction_status, ends);
  await checkAgainstGateway(day, subject);
}

async function checkAgainstGateway(
  { app, sandbox }: Day,
  { id, orderId, transactionId }: Charged,
): Promise<void> {
  const transaction = transactionId &&
    await sandbox.control(`transactions/${transactionId}`, undefined, "GET");
  const hooks = sandbox.hooks.map(({ body }) => body).filter((body) => body.order_id === orderId);
  const kept = await readKept(app.database, [orderId]);
  checkLived({ plan: PLAN, paymentId: id, orderId, hooks, accepted: [], transaction }, kept);
}

async function checkInvoice(day: Day, { name, subject }: Lived<Invoice>): Promise<void> {
  const { ends, eventNames } = INVOICE_LIVES[name]!;
  const { sandbox, get, events, app } = day;
  const invoice = await parseInvoice(await get(`/invoices/${subject.id}/`), 200);
  const { status } = await sandbox.get(`/v1/invoices/${subject.gateway_invoice_id}`);
  const [{ due_at }] = await app.database.query((sql) =>
    sql<[{ due_at: Date }]>`select due_at from gateway.invoices where id = ${subject.id}`
  );
  assert.equal(invoice.status, statusAtGateway(status, due_at, new Date(app.deps.clock())));
  assert.equal(invoice.status, ends);
  assert.deepEqual(await events(subject.id), eventNames);
}

async function checkSubscription(day: Day, { name, subject }: Lived<Subscription>): Promise<void> {
  const { ends, eventNames } = SUBSCRIPTION_LIVES[name]!;
  assert.equal((await day.stored(subject.id)).status, ends);
  assert.deepEqual(namesOf(await day.readEvents(subject.id)), eventNames);
  const charges = eventNames.filter((each) => each === "subscription_charged").length;
  await assertAllCharged(day, subject, charges);
}

/** Payments that were not charged through the service are adopted, with their owner. */
async function checkAdopted(day: Day, charged: Lived<Charged>[]): Promise<void> {
  const ours = new Set(charged.map(({ subject }) => subject.id));
  const rows = await day.app.database.query((sql) =>
    sql<{ id: string; order_id: string; transaction_id: string; user_id: string }[]>`
      select id, order_id, transaction_id, user_id from gateway.payments`
  );
  for (const { id, order_id, transaction_id, user_id } of rows) {
    if (ours.has(id)) continue;
    assert.equal(user_id, "alice");
    const adopted = { id, orderId: order_id, transactionId: transaction_id };
    await withName(order_id, () => checkAgainstGateway(day, adopted));
  }
  const known = new Set(rows.map(({ transaction_id }) => transaction_id));
  const made: { transaction_id: string; transaction_status: string }[] = await day.sandbox.control(
    "transactions",
    undefined,
    "GET",
  );
  const unknown = made.filter(({ transaction_id }) => !known.has(transaction_id));
  // Declined charges of subscriptions are reported only by notifications, which are lost.
  assert.deepEqual(
    new Set(unknown.map(({ transaction_status }) => transaction_status)),
    new Set(["deny"]),
  );
}

Deno.test("schedule: a charge that the gateway does not find fails after a while, not before", async () => {
  await using day = await openDay();
  const { id } = await chargeOf(day, PAYMENT_LIVES["never made"]!, "never-made");
  await day.minutes(14);
  assert.ok(day.relay.times(CHECK) > 0, "the gateway was asked for it");
  assert.equal((await day.read(id)).transaction_status, "pending");
  assert.deepEqual(await day.events(id), []);
  await day.minutes(8);
  assert.equal((await day.read(id)).transaction_status, "failure");
  assert.deepEqual(await day.events(id), ["payment_failed"]);
});

Deno.test("schedule: a slow check does not undo a change that happened meanwhile", async () => {
  await using day = await openDay();
  const { id } = await chargeOf(day, PAYMENT_LIVES["a card, held and let go"]!, "held");
  const held = day.relay.holdAnswer(CHECK);
  let isOver = false;
  const passing = day.minutes(12).then(() => isOver = true);
  await Promise.race([held.arrived, passing]);
  const response = await day.post(`/payments/${id}/capture/`);
  assert.equal(response.status, 200, await response.text());
  assert.equal(isOver, false);
  held.release();
  await passing;
  assert.equal((await day.read(id)).transaction_status, "capture");
  assert.deepEqual(await day.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("schedule: two instances and callers at the same time publish each end once", async () => {
  await using day = await openDay();
  await using other = await openApp({
    databaseUrl: day.databaseUrl,
    gatewayUrl: day.relay.url,
    serverKey: SERVER_KEY,
    now: day.app.deps.clock,
  });
  const schedules = [day.app, other].map((app) => ({ app, schedule: scheduleOf(app) }));
  const now = day.app.deps.clock();
  const invoices = await Promise.all(
    Array.from(
      { length: 5 },
      async () => await parseInvoice(await day.post("/invoices/", invoiceDue(now))),
    ),
  );
  const subscription = await subscriptionOf(day, SUBSCRIPTION_LIVES["cancelled"]!);
  await day.advance(4 * DAY * 60);
  const runBoth = () => Promise.all(schedules.map(({ app, schedule }) => runDue(app, schedule)));
  for (let round = 0; round < 3; round++) {
    const requests = round > 0 ? [] : [
      ...invoices.map(({ id }) => day.post(`/invoices/${id}/void/`, { reason: "late" })),
      day.act(subscription.id, "cancel"),
      day.act(subscription.id, "cancel"),
    ];
    await Promise.all([runBoth(), ...requests.map(async (each) => (await each).body?.cancel())]);
    await day.advance(30 * 60);
  }
  for (const { id } of invoices) {
    assert.deepEqual(await day.events(id), ["invoice_created", "invoice_voided"]);
  }
  const events = await day.events(subscription.id);
  assert.equal(events.filter((name) => name === "subscription_cancelled").length, 1);
});

Deno.test("schedule: failed runs are reported as failed, and later runs do their work", async () => {
  let isBroken = false;
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    transaction: (work, name) =>
      isBroken && name?.startsWith("queue checks")
        ? Promise.reject(new Error("a failure for this test"))
        : database.transaction(work, name),
  });
  await using day = await openDay({ wrapDatabase });
  const lives = ["paid by wallet", "denied", "cancelled", "refunded", "never paid"];
  const payments: Lived<Charged>[] = [];
  for (const name of lives) {
    const life = PAYMENT_LIVES[name]!;
    const subject = await chargeOf(day, life, `broken-${payments.length}`);
    for (const act of life.acts) await act.do(day, subject);
    payments.push({ name, subject });
  }
  isBroken = true;
  await day.minutes(31);
  const failed = (await day.runs()).filter(({ error }) => error !== null);
  const sweeps = ["check_overdue_invoices", "check_pending_payments", "expire_stale_payments"];
  const error = "Error: a failure for this test";
  assert.deepEqual([...failed], sweeps.map((task) => ({ task, error })));
  for (const { subject } of payments) {
    assert.equal((await day.read(subject.id)).transaction_status, "pending");
  }
  // When the database works again, the gateway is down.
  isBroken = false;
  await day.sandbox.fault("*", "reset", { count: 1_000_000 });
  await day.minutes(31);
  await day.sandbox.control("faults", undefined, "DELETE");
  for (const { subject } of payments) {
    assert.equal((await day.read(subject.id)).transaction_status, "pending");
  }
  for (let minute = 0; minute < 3 * HOURS; minute += 10) await day.step(10);
  await day.sandbox.webhooksAttempted();
  for (const each of payments) await withName(each.name, () => checkPayment(day, each));
  assert.deepEqual((await day.runs()).filter(({ error }) => error !== null), []);
});
