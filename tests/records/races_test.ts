import assert from "node:assert/strict";
import { dayInWib } from "../../core/gateway/times.ts";
import { randomUUID } from "node:crypto";
import { checkInvoiceStatus } from "../../core/invoices/check_invoice_status.ts";
import { checkOverdueInvoices } from "../../core/invoices/check_overdue_invoices.ts";
import { invoiceKind } from "../../core/invoices/invoice_record.ts";
import { changeRecord } from "../../core/records/change.ts";
import { checkSubscriptionStatus } from "../../core/subscriptions/check_subscription_status.ts";
import { syncSubscriptionStatus } from "../../core/subscriptions/sync_subscription_status.ts";
import { DatabaseUnavailable } from "../../db/connection/database.ts";
import { findInvoice } from "../../db/billing/invoices.ts";
import { AMOUNT, type Json } from "../support/gateway/sandbox.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { assertProblem } from "../support/problem.ts";
import { type Instances, race } from "../support/records/instances.ts";
import {
  assertConsistent,
  type Invoice,
  invoiceRequest,
  parseInvoice,
  parseSubscription,
  type Subscription,
  subscriptionRequest,
} from "../support/records/requests.ts";
import { until } from "../support/until.ts";

const DAY_SECONDS = 86_400;

const CONCURRENT_REQUESTS = 50;

/** How many responses have each status. */
function countStatuses(answers: Response[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

async function countRows({ app }: Instances, table: string): Promise<number> {
  const [{ count }] = await app.database.query((sql) =>
    sql<[{ count: number }]>`select count(*)::int from gateway.${sql.unsafe(table)}`
  );
  return count;
}

/** Runs `work` on both instances concurrently. */
async function onBoth(instances: Instances, work: (app: Instances["app"]) => Promise<unknown>) {
  await Promise.all(instances.apps.map(work));
}

/** Starts payments with the invoice's link without completing them. Returns the transaction ids. */
async function startPayments(instances: Instances, invoice: Invoice, times = 1): Promise<string[]> {
  const started: string[] = [];
  for (let time = 0; time < times; time++) {
    const path = `invoices/${invoice.gateway_invoice_id}/pay`;
    const body = { payment_type: "gopay", only_start: true };
    const { transaction } = await instances.sandbox.control(path, body);
    started.push(transaction.transaction_id);
  }
  return started;
}

/**
 * Fails unless the invoice agrees with the gateway, has a consistent history and each event once.
 */
async function assertInvoiceAgrees(instances: Instances, id: string): Promise<string[]> {
  const invoice = await instances.readInvoice(id);
  const atGateway = await instances.invoiceAtGateway(invoice);
  const expected: Record<string, string> = {
    pending: "sent",
    overdue: "overdue",
    voided: "void",
    paid: "paid",
  };
  assert.equal(invoice.status, expected[atGateway.status], atGateway.status);
  assert.equal(invoice.paid_at !== null, invoice.status === "paid");
  if (invoice.status === "void") assert.equal(invoice.void_reason, atGateway.void_reason ?? null);
  const names = await assertConsistent(instances.app.database, "invoices", id);
  assert.equal(new Set(names).size, names.length, `${names}`);
  assert.equal(names[0], "invoice_created");
  assert.equal(names.includes("invoice_paid"), invoice.status === "paid", `${names}`);
  if (invoice.status === "void") assert.equal(names.at(-1), "invoice_voided");
  return names;
}

/**
 * Fails unless the subscription agrees with the gateway, and every charge is one payment with one
 * event.
 */
async function assertSubscriptionAgrees(instances: Instances, id: string): Promise<string[]> {
  const subscription = await instances.readSubscription(id);
  const atGateway = await instances.subscriptionAtGateway(subscription);
  assert.equal(
    subscription.status === "active",
    atGateway.status === "active",
    subscription.status,
  );
  assert.equal(subscription.current_interval, atGateway.schedule.current_interval);
  const payments = await instances.app.database.query((sql) =>
    sql`select transaction_id from gateway.payments where subscription_id = ${id}
      and paid_at is not null`
  );
  const storedIds = payments.map(({ transaction_id }) => transaction_id).sort();
  assert.deepEqual(storedIds, [...atGateway.transaction_ids].sort());
  const events = await instances.app.database.query((sql) =>
    sql`select data ->> 'payment_id' as payment from gateway.events
      where resource_id = ${id} and name = 'subscription_charged'`
  );
  assert.equal(events.length, storedIds.length);
  assert.equal(new Set(events.map(({ payment }) => payment)).size, storedIds.length);
  return await assertConsistent(instances.app.database, "subscriptions", id);
}

const CREATIONS = [
  {
    path: "/invoices/",
    table: "invoices",
    call: "POST /v1/invoices",
    request: () => Promise.resolve(invoiceRequest()),
    parse: parseInvoice,
    createdEvent: "invoice_created",
  },
  {
    path: "/subscriptions/",
    table: "subscriptions",
    call: "POST /v1/subscriptions",
    request: ({ sandbox }: Instances) => subscriptionRequest(sandbox),
    parse: parseSubscription,
    createdEvent: "subscription_created",
  },
] as const;

for (const { path, table, call, request, parse, createdEvent } of CREATIONS) {
  Deno.test(
    `races: ${CONCURRENT_REQUESTS} concurrent requests with one key to ${path} create one record`,
    race(async (instances) => {
      const body = await request(instances);
      const headers = newKey();
      const answers = await Promise.all(
        Array.from({ length: CONCURRENT_REQUESTS }, () => instances.send(path, body, headers)),
      );
      const counts = countStatuses(answers);
      assert.deepEqual(
        Object.keys(counts).filter((status) => !["201", "409"].includes(status)),
        [],
      );
      assert.ok(counts[201]! >= 1);
      const again = await instances.send(path, body, headers);
      assert.equal(isReplayed(again), true);
      const { id } = await parse(again, 201);
      for (const answer of answers.filter(({ status }) => status === 201)) {
        assert.equal((await answer.json()).id, id);
      }
      assert.equal(await countRows(instances, table), 1);
      assert.equal(instances.relay.times(call), 1);
      assert.deepEqual(await assertConsistent(instances.app.database, table, id), [createdEvent]);
    }),
  );
}

Deno.test(
  "races: of 20 concurrent voids one succeeds, and its reason and one event are stored",
  race(async (instances) => {
    for (let round = 0; round < 3; round++) {
      const { id } = await instances.invoice();
      const answers = await Promise.all(
        Array.from(
          { length: 20 },
          (_, number) => instances.send(`/invoices/${id}/void/`, { reason: `Reason ${number}` }),
        ),
      );
      assert.deepEqual(countStatuses(answers), { 200: 1, 400: 19 });
      for (const answer of answers) {
        if (answer.status === 400) await assertProblem(answer, 400, "invalid_state");
      }
      const voided = await parseInvoice(answers.find(({ status }) => status === 200)!, 200);
      assert.equal(voided.status, "void");
      const names = await assertInvoiceAgrees(instances, id);
      assert.deepEqual(names, ["invoice_created", "invoice_voided"]);
      assert.equal((await instances.readInvoice(id)).void_reason, voided.void_reason);
      await instances.runJobs();
    }
  }),
);

Deno.test(
  "races: concurrent overdue checks, voids and a payment send each event once and end in the gateway's state",
  race(async (instances) => {
    instances.connect();
    const { sandbox } = instances;
    const today = dayInWib(new Date());
    const invoices: Invoice[] = [];
    for (let number = 0; number < 12; number++) {
      invoices.push(await instances.invoice({ due_date: today }));
    }
    await sandbox.advance(2 * DAY_SECONDS);
    instances.advance(2 * DAY_SECONDS * 1_000);
    const transactions = await Promise.all(invoices.map((each) => startPayments(instances, each)));
    await Promise.all(invoices.flatMap(({ id }, number) => {
      const actions: (() => Promise<unknown>)[] = [
        () => instances.send(`/invoices/${id}/void/`, { reason: "Late" }),
        () => onBoth(instances, ({ service }) => checkOverdueInvoices(service)),
        () => onBoth(instances, runDueJobs),
        () => onBoth(instances, ({ service }) => checkInvoiceStatus(service, id)),
        ...number % 3 > 0
          ? [() => sandbox.control(`transactions/${transactions[number]}/pay`)]
          : [],
      ];
      // Each invoice starts with another action.
      const order = actions.map((_, index) => actions[(index + number) % actions.length]!);
      return order.map((run) => run());
    }));
    await sandbox.waitForWebhooks();
    await instances.runJobs();
    for (const [number, { id }] of invoices.entries()) {
      await assertInvoiceAgrees(instances, id);
      const { status } = await instances.readInvoice(id);
      if (number % 3 > 0) assert.equal(status, "paid");
      else assert.ok(["void", "overdue"].includes(status), status);
    }
  }),
);

Deno.test(
  "races: 200 notifications in opposite orders with concurrent voids and syncs cause no deadlock",
  race(async (instances) => {
    const { sandbox } = instances;
    const invoices: Invoice[] = [];
    const subscriptions: Subscription[] = [];
    for (let number = 0; number < 12; number++) {
      invoices.push(await instances.invoice());
      if (number % 2) subscriptions.push(await instances.subscription());
    }
    const transactions: string[][] = [];
    for (const invoice of invoices) transactions.push(await startPayments(instances, invoice, 2));
    for (const id of transactions.flat()) await sandbox.control(`transactions/${id}/pay`);
    await sandbox.advance(2 * DAY_SECONDS + 60);
    await sandbox.waitForWebhooks();
    const notifications: Json[] = sandbox.hooks.map(({ body }) => body);
    assert.ok(notifications.length >= 70, `${notifications.length}`);

    const [inOrder, reversed] = [notifications, notifications.toReversed()];
    const pairs = Array.from(
      { length: notifications.length },
      (_, index) => [inOrder[index]!, reversed[index]!],
    );
    const notifying = [...pairs, ...pairs].slice(0, 100).flat().map((body) =>
      instances.notify(body)
    );
    assert.equal(notifying.length, 200);
    const voiding = invoices.map(({ id }) => instances.send(`/invoices/${id}/void/`));
    const syncing = [1, 2, 3].map(() =>
      onBoth(instances, async (app) => {
        await syncSubscriptionStatus(app.service);
        await checkOverdueInvoices(app.service);
        await runDueJobs(app);
      })
    );
    const [voids] = await Promise.all([Promise.all(voiding), ...notifying, ...syncing]);
    for (const answer of voids) await assertProblem(answer, 400, "invalid_state");
    for (const body of notifications) await instances.notify(body);
    await instances.runJobs();
    instances.advance(2 * 60_000);
    await instances.runJobs();
    for (const { id } of invoices) {
      const names = await assertInvoiceAgrees(instances, id);
      assert.deepEqual(names, ["invoice_created", "invoice_paid"]);
    }
    for (const { id } of subscriptions) {
      const names = await assertSubscriptionAgrees(instances, id);
      assert.deepEqual(names, [
        "subscription_created",
        "subscription_charged",
        "subscription_charged",
      ]);
    }
    assert.equal(
      await countRows(instances, "payments"),
      2 * invoices.length + 2 * subscriptions.length,
    );
  }),
);

Deno.test(
  "races: queuing checks and changing the same invoices cause no deadlock",
  race(async (instances) => {
    // Repeated, because on a slow machine a write can exceed its lock timeout before the other
    // statement waits.
    await until(
      "the writes and the queuing wait for locks at the same time",
      async () => await queueWhileChanging(instances),
    );
  }),
);

/**
 * Changes new invoices and queues checks of some of them while one is locked. Returns whether the
 * writes and the queuing waited for locks at the same time, and no statement exceeded a time limit.
 */
async function queueWhileChanging(instances: Instances): Promise<boolean> {
  const { database, service } = instances.app;
  await database.query((sql) => sql`update gateway.invoices set check_at = null`);
  const ids: string[] = [];
  for (let number = 0; number < 4; number++) ids.push((await instances.invoice()).id);
  const [, lowId, middleId, highId] = ids;
  const rows = await Promise.all(ids.map((id) => database.query((sql) => findInvoice(sql, id))));
  // The newest invoice is due first, so the order of due times is not the order of ids.
  const setDue = (id: string, ms: number) =>
    database.query((sql) =>
      sql`update gateway.invoices set check_at = ${new Date(service.clock() - ms)} where id = ${id}`
    );
  await Promise.all([setDue(lowId!, 1_000), setDue(highId!, 2_000)]);

  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holding = database.transaction(async (sql) => {
    await sql`select from gateway.invoices where id = ${middleId!} for update`;
    locked.resolve();
    await released.promise;
  });
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
  };
  await Promise.race([locked.promise, holding.catch(end)]);
  // The first write runs alone, the others are batched.
  const writing = rows.map((row) => changeRecord(service, invoiceKind, row!, () => ({ set: {} })));
  Promise.allSettled(writing).then(end);
  await waitForLocks(instances, 1, () => hasEnded);
  const queuing = checkOverdueInvoices(instances.apps[1]!.service);
  queuing.then(end, end);
  await waitForLocks(instances, 2, () => hasEnded);
  const didWait = !hasEnded;
  released.resolve();
  const results = await Promise.allSettled([queuing, holding, ...writing]);
  const errors = results.filter(({ status }) => status === "rejected")
    .map((result) => (result as PromiseRejectedResult).reason);
  for (const error of errors) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
  }
  if (!didWait || errors.length > 0) return false;
  assert.equal(await queuing, 2);
  return true;
}

/** Waits until this many statements wait for a lock, or `hasEnded` returns true. */
async function waitForLocks(
  { app }: Instances,
  statements: number,
  hasEnded: () => boolean,
): Promise<void> {
  await until(`${statements} statements wait for a lock`, async () => {
    const rows = await app.database.query((sql) =>
      sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
    );
    return rows.length === statements || hasEnded();
  });
}

Deno.test(
  "races: of concurrent invoices and charges with the same order id one succeeds",
  race(async (instances) => {
    const order_id = randomUUID();
    const charge = { payment_type: "gopay", gross_amount: AMOUNT, order_id };
    const answers = await Promise.all(
      Array.from(
        { length: CONCURRENT_REQUESTS },
        (_, number) =>
          number % 2
            ? instances.send("/charge/", charge)
            : instances.send("/invoices/", invoiceRequest({ order_id })),
      ),
    );
    assert.deepEqual(countStatuses(answers), { 201: 1, 400: CONCURRENT_REQUESTS - 1 });
    for (const answer of answers) {
      if (answer.status === 201) continue;
      const problem = await assertProblem(answer, 400, "duplicate_order");
      assert.equal(problem.outcome, "refused");
    }
    assert.equal(
      await countRows(instances, "invoices") + await countRows(instances, "payments"),
      1,
    );
  }),
);

Deno.test(
  "races: of concurrent invoices with the same invoice_number one succeeds, and the others name the field",
  race(async (instances) => {
    const answers = await Promise.all(
      Array.from(
        { length: CONCURRENT_REQUESTS },
        () => instances.send("/invoices/", invoiceRequest({ invoice_number: "2031/0001" })),
      ),
    );
    assert.deepEqual(countStatuses(answers), { 201: 1, 400: CONCURRENT_REQUESTS - 1 });
    for (const answer of answers) {
      if (answer.status === 201) continue;
      const { errors } = await assertProblem(answer, 400, "validation_error");
      assert.deepEqual(errors?.map(({ field }) => field), ["invoice_number"]);
    }
    assert.equal(await countRows(instances, "invoices"), 1);
    assert.equal(instances.relay.times("POST /v1/invoices"), 1);
  }),
);

Deno.test(
  "races: concurrent notifications of an invoice's new transaction create one payment of the invoice",
  race(async (instances) => {
    const { sandbox } = instances;
    const invoice = await instances.invoice();
    const [transaction] = await startPayments(instances, invoice);
    await sandbox.control(`transactions/${transaction}/pay`);
    await sandbox.waitForWebhooks();
    const notifications = sandbox.hooks.map(({ body }) => body);
    await Promise.all(
      Array.from({ length: 20 }, () => notifications.map((body) => instances.notify(body))).flat(),
    );
    await instances.runJobs();
    const rows = await instances.app.database.query((sql) =>
      sql`select invoice_id, transaction_id from gateway.payments`
    );
    assert.deepEqual([...rows], [{ invoice_id: invoice.id, transaction_id: transaction }]);
    assert.deepEqual(await assertInvoiceAgrees(instances, invoice.id), [
      "invoice_created",
      "invoice_paid",
    ]);
  }),
);

Deno.test(
  "races: a subscription charge sends one event if notifications, jobs and checks find it concurrently",
  race(async (instances) => {
    const { sandbox } = instances;
    const { id } = await instances.subscription();
    for (let round = 1; round <= 4; round++) {
      sandbox.hooks.length = 0;
      await sandbox.advance(DAY_SECONDS);
      await sandbox.waitForWebhooks();
      instances.advance(DAY_SECONDS * 1_000);
      const notifications = sandbox.hooks.map(({ body }) => body);
      await Promise.all([
        ...Array.from(
          { length: 5 },
          () => onBoth(instances, ({ service }) => checkSubscriptionStatus(service, id)),
        ),
        ...[...notifications, ...notifications].map((body) => instances.notify(body)),
        onBoth(instances, ({ service }) => syncSubscriptionStatus(service)),
        onBoth(instances, runDueJobs),
      ]);
      await instances.runJobs();
      const names = await assertSubscriptionAgrees(instances, id);
      assert.deepEqual(names, [
        "subscription_created",
        ...Array.from({ length: round }, () => "subscription_charged"),
      ]);
    }
  }),
);

Deno.test(
  "races: concurrent disable, enable and cancel end in the gateway's state, with each event once",
  race(async (instances) => {
    for (let round = 0; round < 6; round++) {
      const { id } = await instances.subscription();
      const isDisabled = round % 2 === 1;
      if (isDisabled) {
        await parseSubscription(
          await instances.send(`/subscriptions/${id}/disable/`),
          200,
        );
      }
      const actions = isDisabled ? ["enable", "cancel"] : ["disable", "cancel"];
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => round % 3 ? actions : actions.toReversed()).flat()
          .map((action) => instances.send(`/subscriptions/${id}/${action}/`)),
      );
      for (const answer of answers) {
        if (answer.status === 400) await assertProblem(answer, 400, "invalid_state");
        else await parseSubscription(answer, 200);
      }
      await onBoth(instances, ({ service }) => checkSubscriptionStatus(service, id));
      const names = await assertSubscriptionAgrees(instances, id);
      assert.equal((await instances.readSubscription(id)).status, "cancelled");
      assert.equal(names.filter((name) => name === "subscription_cancelled").length, 1);
      assert.ok(names.filter((name) => name === "subscription_disabled").length <= 1, `${names}`);
      assert.equal(names.at(-1), "subscription_cancelled");
    }
  }),
);

Deno.test(
  "races: a response to disable that arrives after enable changes nothing",
  race(async (instances) => {
    const { relay, send } = instances;
    const { id, gateway_subscription_id } = await instances.subscription();
    const held = relay.holdAnswer(`POST /v1/subscriptions/${gateway_subscription_id}/disable`);
    const firstDisable = send(`/subscriptions/${id}/disable/`);
    await held.arrived;
    await parseSubscription(await send(`/subscriptions/${id}/disable/`), 200);
    await parseSubscription(await send(`/subscriptions/${id}/enable/`), 200);
    held.release();
    await parseSubscription(await firstDisable, 200);
    const names = await assertSubscriptionAgrees(instances, id);
    assert.equal((await instances.readSubscription(id)).status, "active");
    assert.deepEqual(names, ["subscription_created", "subscription_disabled"]);
  }),
);

Deno.test(
  "races: a subscription is created once if its notification arrives before the response",
  race(async (instances) => {
    const { sandbox } = instances;
    sandbox.receiver.answer = async ({ body }) => {
      await instances.notify(body);
      await instances.runJobs();
      return new Response("OK");
    };
    await sandbox.fault("subscription_create", "webhook_first");
    const { id, status, gateway_subscription_id } = await instances.subscription();
    assert.equal(status, "active");
    assert.ok(gateway_subscription_id);
    assert.deepEqual(await assertSubscriptionAgrees(instances, id), ["subscription_created"]);
  }),
);

Deno.test(
  "races: an invoice is created and paid once if it is paid before the response to its creation arrives",
  race(async (instances) => {
    instances.connect();
    const { relay, sandbox } = instances;
    const held = relay.holdAnswer("POST /v1/invoices");
    const request = invoiceRequest();
    const headers = newKey();
    const creating = instances.send("/invoices/", request, headers);
    await held.arrived;
    const [sent] = relay.received.slice(-1);
    // With the same key the gateway repeats the held response, so the test knows the invoice's id.
    const atGateway = await sandbox.post("/v1/invoices", JSON.parse(sent!.body), {
      "X-Idempotency-Key": sent!.headers.get("X-Idempotency-Key")!,
    });
    await sandbox.control(`invoices/${atGateway.id}/pay`, { payment_type: "gopay" });
    await sandbox.waitForWebhooks();
    await instances.runJobs();
    held.release();
    const invoice = await parseInvoice(await creating, 201);
    assert.equal(invoice.gateway_invoice_id, atGateway.id);
    assert.ok(invoice.payment_link_url);
    const names = await assertInvoiceAgrees(instances, invoice.id);
    assert.deepEqual(names, ["invoice_created", "invoice_paid"]);
    assert.equal(isReplayed(await instances.send("/invoices/", request, headers)), true);
  }),
);

Deno.test(
  "races: a check of a subscription during its creation does not discard the gateway's response",
  race(async (instances) => {
    const { app, relay } = instances;
    const held = relay.holdAnswer("POST /v1/subscriptions");
    const request = await subscriptionRequest(instances.sandbox);
    const creating = instances.send("/subscriptions/", request, newKey());
    await held.arrived;
    const [row] = await app.database.query((sql) => sql`select id from gateway.subscriptions`);
    await onBoth(instances, ({ service }) => checkSubscriptionStatus(service, row!.id));
    held.release();
    const subscription = await parseSubscription(await creating, 201);
    assert.equal(subscription.status, "active");
    assert.ok(subscription.gateway_subscription_id);
    assert.deepEqual(await assertSubscriptionAgrees(instances, subscription.id), [
      "subscription_created",
    ]);
  }),
);

Deno.test(
  "races: a failed resend of an invoice does not discard the response to the first request",
  race(async (instances) => {
    const { app, relay, sandbox } = instances;
    const held = relay.holdAnswer("POST /v1/invoices");
    const creating = instances.send("/invoices/", invoiceRequest(), newKey());
    await held.arrived;
    const [row] = await app.database.query((sql) => sql`select id from gateway.invoices`);
    await sandbox.fault("invoice_create", "error_500");
    await assert.rejects(checkInvoiceStatus(app.service, row!.id));
    held.release();
    const invoice = await parseInvoice(await creating, 201);
    assert.equal(invoice.status, "sent");
    assert.deepEqual(await assertInvoiceAgrees(instances, invoice.id), ["invoice_created"]);
  }),
);
