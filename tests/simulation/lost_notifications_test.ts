import assert from "node:assert/strict";
import { statusFromGateway } from "../../core/invoices/states.ts";
import type { Database } from "../../db/connection/database.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { openApp } from "../support/app.ts";
import { SERVER_KEY } from "../support/gateway/sandbox.ts";
import { assertNoContradictions } from "../support/records/contradictions.ts";
import { type Invoice, invoiceDue, parseInvoice } from "../support/records/invoices.ts";
import { assertAllCharged, namesOf, type Subscription } from "../support/records/subscriptions.ts";
import { isPartial, someOf } from "../support/share.ts";
import { checkResult, readPaymentRows } from "../support/simulation/check.ts";
import {
  createTestSchedule,
  openSimulatedDay,
  runDueEntries,
  type SimulatedDay,
} from "../support/simulation/simulated_day.ts";
import {
  type ChargedPayment,
  createCharge,
  createInvoice,
  createSubscription,
  INVOICE_SCENARIOS,
  PAYMENT_SCENARIOS,
  SUBSCRIPTION_SCENARIOS,
} from "../support/simulation/scenarios.ts";
import type { Plan } from "../support/simulation/plan.ts";

/** Set LOST_NOTIFICATIONS_SEED to create the records at other times of the day. */
const SEED = Number(Deno.env.get("LOST_NOTIFICATIONS_SEED") ?? 1);

const HOUR_MINUTES = 60;
const DAY_MINUTES = 24 * HOUR_MINUTES;

/** After the day, the schedule has this time to bring every record to its final state. */
const FINISH_MINUTES = 40 * HOUR_MINUTES;

/** 1:00 UTC is 8:00 in Jakarta, so that 16 hours of the day are left there. */
const MORNING_MS = HOUR_MINUTES * 60_000;

/** How long after an action the schedule runs every minute; later it takes larger steps. */
const BUSY_MINUTES = isPartial ? 3 : 30;

/** The steps long after an action, in minutes, largest first. */
const QUIET_STEPS = isPartial ? [30, 15, 5] : [5];

const CHECK = "GET /v2/:id/status";

/** A record and the name of its scenario. */
interface NamedRecord<T> {
  name: string;
  record: T;
}

for (const hasMetadata of someOf([false, true])) {
  const title = hasMetadata ? "with metadata in status responses" : "without metadata";
  Deno.test(`schedule: if all notifications of a day are lost, it brings every record to the gateway's state, ${title} (seed ${SEED})`, () =>
    runDay(hasMetadata));
}

async function runDay(hasMetadata: boolean): Promise<void> {
  const { below } = createRandom(seededState(SEED));
  await using day = await openSimulatedDay();
  await day.sandbox.showMetadata(hasMetadata);
  const sinceMorning = (day.app.service.clock() - MORNING_MS) % (DAY_MINUTES * 60_000);
  await day.advance(DAY_MINUTES * 60 - sinceMorning / 1000);
  const actionsByMinute = new Map<number, (() => Promise<void>)[]>();
  const at = (minute: number, action: () => Promise<void>) =>
    actionsByMinute.set(minute, [...actionsByMinute.get(minute) ?? [], action]);

  /** Creates each record at a random minute of the first 7 hours, and schedules its actions. */
  function plan<
    S extends {
      actions: { afterMinutes: number; run(day: SimulatedDay, record: T): Promise<void> }[];
    },
    T,
  >(
    scenarios: Record<string, S>,
    create: (scenario: S, name: string) => Promise<T>,
  ): NamedRecord<T>[] {
    const records: NamedRecord<T>[] = [];
    for (const [name, scenario] of Object.entries(scenarios)) {
      const start = below(7 * HOUR_MINUTES);
      at(start, async () => {
        const record = await create(scenario, name);
        records.push({ name, record });
        for (const action of scenario.actions) {
          at(start + action.afterMinutes, () => action.run(day, record));
        }
      });
    }
    return records;
  }

  const payments = plan(
    PAYMENT_SCENARIOS,
    (scenario, name) => createCharge(day, scenario, `lost-${name.replace(/\W+/g, "-")}`),
  );
  const invoices = plan(INVOICE_SCENARIOS, (scenario) => createInvoice(day, scenario));
  const subscriptions = plan(
    SUBSCRIPTION_SCENARIOS,
    (scenario) => createSubscription(day, scenario),
  );

  let minute = 0;
  let lastAction = 0;
  while (minute <= Math.max(...actionsByMinute.keys())) {
    const actions = actionsByMinute.get(minute) ?? [];
    for (const action of actions) await action();
    if (actions.length > 0) lastAction = minute;
    // Long after an action and before the next one, fewer ticks are enough.
    const next = Math.min(...[...actionsByMinute.keys()].filter((each) => each > minute));
    const fits = (step: number) => minute % step === 0 && next - minute >= step;
    const step = minute - lastAction > BUSY_MINUTES ? QUIET_STEPS.find(fits) ?? 1 : 1;
    await day.tick(step);
    minute += step;
  }
  assert.ok(minute < DAY_MINUTES);
  // No more actions follow, so fewer ticks are enough.
  for (; minute < DAY_MINUTES + FINISH_MINUTES; minute += 30) await day.tick(30);
  // Runs the jobs that the last tick enqueued.
  await day.tick();

  await day.sandbox.waitForWebhooks();
  for (const each of payments) await withName(each.name, () => checkPayment(day, each));
  for (const each of invoices) await withName(each.name, () => checkInvoice(day, each));
  for (const each of subscriptions) await withName(each.name, () => checkSubscription(day, each));
  await checkAdopted(day, payments);
  const unfinished = await day.app.database.query((sql) =>
    sql`select task, status, error from gateway.jobs where status <> 'succeeded'`
  );
  assert.deepEqual([...unfinished], [], "every job has succeeded");
  assert.deepEqual((await day.lastRuns()).filter(({ error }) => error !== null), []);
  await assertNoContradictions(day.app.database);
}

/** The last transition of payments that were paid, and later reversed, refunded or charged back. */
const LAST_TRANSITIONS: Record<string, string> = {
  "reversed by the bank": "settlement>deny check_paid_payments",
  "refunded half a day later": "settlement>refund check_paid_payments",
  "a card, charged back later": "settlement>chargeback check_paid_payments",
};

async function withName(name: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (cause) {
    throw new Error(`${name} (LOST_NOTIFICATIONS_SEED=${SEED}): ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** `checkResult` reads from the plan only whether notifications were forged; here none was. */
const PLAN: Plan = {
  seed: SEED,
  kind: "bca",
  charge: { at: "a", how: "answered", meanwhile: [] },
  steps: [],
  sync: { at: "a", by: "task" },
  redeliveryOrder: null,
};

/** Fails unless the payment has the gateway's state and exactly the events of its transitions. */
async function checkPayment(
  day: SimulatedDay,
  { name, record }: NamedRecord<ChargedPayment>,
): Promise<void> {
  const { finalStatus } = PAYMENT_SCENARIOS[name]!;
  assert.equal((await day.read(record.id)).transaction_status, finalStatus);
  const lastTransition = LAST_TRANSITIONS[name];
  if (lastTransition) assert.equal((await day.transitions(record.id)).at(-1), lastTransition);
  await checkAgainstGateway(day, record);
}

async function checkAgainstGateway(
  { app, sandbox }: SimulatedDay,
  { id, orderId, transactionId }: ChargedPayment,
): Promise<void> {
  const transaction = transactionId &&
    await sandbox.control(`transactions/${transactionId}`, undefined, "GET");
  const hooks = sandbox.hooks.map(({ body }) => body).filter((body) => body.order_id === orderId);
  const rows = await readPaymentRows(app.database, [orderId]);
  checkResult({ plan: PLAN, paymentId: id, orderId, hooks, accepted: [], transaction }, rows);
}

async function checkInvoice(
  day: SimulatedDay,
  { name, record }: NamedRecord<Invoice>,
): Promise<void> {
  const { finalStatus, eventNames } = INVOICE_SCENARIOS[name]!;
  const { sandbox, get, events, app } = day;
  const invoice = await parseInvoice(await get(`/invoices/${record.id}/`), 200);
  const { status } = await sandbox.get(`/v1/invoices/${record.gateway_invoice_id}`);
  const [{ due_at }] = await app.database.query((sql) =>
    sql<[{ due_at: Date }]>`select due_at from gateway.invoices where id = ${record.id}`
  );
  assert.equal(invoice.status, statusFromGateway(status, due_at, new Date(app.service.clock())));
  assert.equal(invoice.status, finalStatus);
  assert.deepEqual(await events(record.id), eventNames);
}

async function checkSubscription(
  day: SimulatedDay,
  { name, record }: NamedRecord<Subscription>,
): Promise<void> {
  const { finalStatus, eventNames } = SUBSCRIPTION_SCENARIOS[name]!;
  assert.equal((await day.stored(record.id)).status, finalStatus);
  assert.deepEqual(namesOf(await day.readEvents(record.id)), eventNames);
  const charges = eventNames.filter((each) => each === "subscription_charged").length;
  await assertAllCharged(day, record, charges);
}

/** Fails unless payments of invoices and subscriptions were adopted, with the right owner. */
async function checkAdopted(
  day: SimulatedDay,
  charged: NamedRecord<ChargedPayment>[],
): Promise<void> {
  const chargedIds = new Set(charged.map(({ record }) => record.id));
  const rows = await day.app.database.query((sql) =>
    sql<{ id: string; order_id: string; transaction_id: string; user_id: string }[]>`
      select id, order_id, transaction_id, user_id from gateway.payments`
  );
  for (const { id, order_id, transaction_id, user_id } of rows) {
    if (chargedIds.has(id)) continue;
    assert.equal(user_id, "alice");
    const adopted = { id, orderId: order_id, transactionId: transaction_id };
    await withName(order_id, () => checkAgainstGateway(day, adopted));
  }
  const knownIds = new Set(rows.map(({ transaction_id }) => transaction_id));
  const transactions: { transaction_id: string; transaction_status: string }[] = await day.sandbox
    .control(
      "transactions",
      undefined,
      "GET",
    );
  const unknown = transactions.filter(({ transaction_id }) => !knownIds.has(transaction_id));
  // Declined charges of subscriptions are reported only by notifications, which are lost.
  assert.deepEqual(
    new Set(unknown.map(({ transaction_status }) => transaction_status)),
    new Set(["deny"]),
  );
}

Deno.test("schedule: a charge that the gateway does not find stays pending for 14 minutes, then fails", async () => {
  await using day = await openSimulatedDay();
  const { id } = await createCharge(
    day,
    PAYMENT_SCENARIOS["charge never reached the gateway"]!,
    "unknown-charge",
  );
  await day.tickMinutes(14);
  assert.ok(day.relay.times(CHECK) > 0, "the service asked the gateway for the charge");
  assert.equal((await day.read(id)).transaction_status, "pending");
  assert.deepEqual(await day.events(id), []);
  await day.tickMinutes(8);
  assert.equal((await day.read(id)).transaction_status, "failure");
  assert.deepEqual(await day.events(id), ["payment_failed"]);
});

Deno.test("schedule: a slow check does not undo a capture that happens during the check", async () => {
  await using day = await openSimulatedDay();
  const { id } = await createCharge(
    day,
    PAYMENT_SCENARIOS["a card, authorized and cancelled"]!,
    "authorized",
  );
  const held = day.relay.holdAnswer(CHECK);
  let hasFinished = false;
  const ticking = day.tickMinutes(12).then(() => hasFinished = true);
  await Promise.race([held.arrived, ticking]);
  const response = await day.post(`/payments/${id}/capture/`);
  assert.equal(response.status, 200, await response.text());
  assert.equal(hasFinished, false);
  held.release();
  await ticking;
  assert.equal((await day.read(id)).transaction_status, "capture");
  assert.deepEqual(await day.events(id), ["payment_received", "payment_settled"]);
});

Deno.test("schedule: with two instances and concurrent requests, each record has its final event once", async () => {
  await using day = await openSimulatedDay();
  await using otherInstance = await openApp({
    databaseUrl: day.databaseUrl,
    gatewayUrl: day.relay.url,
    serverKey: SERVER_KEY,
    now: day.app.service.clock,
  });
  const schedules = [day.app, otherInstance].map((app) => ({
    app,
    schedule: createTestSchedule(app),
  }));
  const now = day.app.service.clock();
  const invoices = await Promise.all(
    Array.from(
      { length: 5 },
      async () => await parseInvoice(await day.post("/invoices/", invoiceDue(now))),
    ),
  );
  const subscription = await createSubscription(day, SUBSCRIPTION_SCENARIOS["cancelled"]!);
  await day.advance(4 * DAY_MINUTES * 60);
  const runBoth = () =>
    Promise.all(schedules.map(({ app, schedule }) => runDueEntries(app, schedule)));
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

Deno.test("schedule: stores the error of failed runs, and later runs check the records", async () => {
  let isBroken = false;
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    transaction: (work, name) =>
      isBroken && name?.startsWith("queue checks")
        ? Promise.reject(new Error("a failure for this test"))
        : database.transaction(work, name),
  });
  await using day = await openSimulatedDay({ wrapDatabase });
  const names = ["paid by wallet", "denied", "cancelled", "refunded", "never paid"];
  const payments: NamedRecord<ChargedPayment>[] = [];
  for (const name of names) {
    const scenario = PAYMENT_SCENARIOS[name]!;
    const record = await createCharge(day, scenario, `broken-${payments.length}`);
    for (const action of scenario.actions) await action.run(day, record);
    payments.push({ name, record });
  }
  isBroken = true;
  await day.tickMinutes(31);
  const failed = (await day.lastRuns()).filter(({ error }) => error !== null);
  const sweeps = [
    "check_checkouts",
    "check_overdue_invoices",
    "check_pending_payments",
    "expire_stale_payments",
  ];
  const error = "Error: a failure for this test";
  assert.deepEqual([...failed], sweeps.map((task) => ({ task, error })));
  for (const { record } of payments) {
    assert.equal((await day.read(record.id)).transaction_status, "pending");
  }
  // When the database works again, the gateway is down.
  isBroken = false;
  await day.sandbox.fault("*", "reset", { count: 1_000_000 });
  await day.tickMinutes(31);
  await day.sandbox.control("faults", undefined, "DELETE");
  for (const { record } of payments) {
    assert.equal((await day.read(record.id)).transaction_status, "pending");
  }
  for (let minute = 0; minute < 3 * HOUR_MINUTES; minute += 10) await day.tick(10);
  await day.sandbox.waitForWebhooks();
  for (const each of payments) await withName(each.name, () => checkPayment(day, each));
  assert.deepEqual((await day.lastRuns()).filter(({ error }) => error !== null), []);
});
