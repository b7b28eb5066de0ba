import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { paymentKind } from "../../core/payments/payment_record.ts";
import { buildWrite } from "../../core/records/change.ts";
import { DatabaseUnavailable } from "../../db/connection/database.ts";
import { findNotification, type GatewayNotification } from "../../db/payments/notifications.ts";
import { findPayment } from "../../db/payments/statements.ts";
import { paymentWrites } from "../../db/writing/payment_writes.ts";
import type { WriteResult } from "../../db/writing/side_effects.ts";
import { NotificationSchema } from "../../routes/notifications/schemas.ts";
import { openApp, REAL_INSTALLATION, type TestApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { createHeldDatabase, type HeldDatabase } from "../support/database/held_database.ts";
import {
  buildNotification,
  findSentNotification,
  notify,
  notifyAndRead,
} from "../support/gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { AMOUNT, CUSTOMER, ITEMS, type Json, SERVER_KEY } from "../support/gateway/sandbox.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { errorsOf } from "../support/logged_errors.ts";
import {
  assertMembers,
  chargeRequest,
  parsePayment,
  type Payment,
  type TestPayments,
} from "../support/payments/payments.ts";
import { shareOf } from "../support/share.ts";
import { until } from "../support/until.ts";

const databaseUrl = await createDatabase();

const STATUS = "GET /v2/:id/status";

interface TwoInstances extends RelayedPayments {
  /** Another instance on the same database, with the same gateway. */
  secondApp: TestApp;
}

async function openTwoInstances(
  options: Parameters<typeof openRelayed>[0] = {},
  wrapSecond?: HeldDatabase["wrapDatabase"],
): Promise<TwoInstances> {
  const payments = await openRelayed({ databaseUrl, ...options });
  const secondApp = await openApp({
    databaseUrl: payments.databaseUrl,
    gatewayUrl: payments.relay.url,
    serverKey: SERVER_KEY,
    env: { ...REAL_INSTALLATION, ...options.env },
    ...wrapSecond && { wrapDatabase: wrapSecond },
  });
  return {
    ...payments,
    secondApp,
    async [Symbol.asyncDispose]() {
      payments.relay.releaseAll();
      await secondApp[Symbol.asyncDispose]();
      await payments[Symbol.asyncDispose]();
    },
  };
}

/** Sends a notification to an instance, which must accept it; returns the stored row. */
async function deliver(app: TestApp, body: Json): Promise<GatewayNotification> {
  return await notifyAndRead({ app } as TestPayments, body);
}

function countBy<T>(items: T[], nameOf: (item: T) => string): Record<string, number> {
  const groups = Object.groupBy(items, nameOf);
  return Object.fromEntries(
    Object.entries(groups).map(([name, group]) => [name, group!.length]).sort(),
  );
}

function countStatuses(notifications: GatewayNotification[]): Record<string, number> {
  return countBy(notifications, ({ status }) => status);
}

/** The stored events of the payment, in order. */
async function eventsOf({ databaseUrl }: TestPayments, id: string): Promise<Json[]> {
  return [
    ...await runSql(
      databaseUrl,
      `select name, sequence, data from gateway.events where resource_id = '${id}' order by sequence`,
    ),
  ];
}

/** Fails if an instance logged an error, even one that no response shows. */
function assertNoErrors(...apps: TestApp[]): void {
  for (const app of apps) assert.deepEqual(errorsOf(app), []);
}

Deno.test("notification: concurrent repeats at two instances are all accepted and stored, and one is applied", async () => {
  await using payments = await openTwoInstances();
  const { app, secondApp } = payments;
  for (const times of [1, 1, 1, 5, 5]) {
    const charged = await payments.charge("bca");
    const body = buildNotification(charged, "settlement");
    const notifications = await Promise.all(
      Array.from({ length: times }, () => [deliver(app, body), deliver(secondApp, body)]).flat(),
    );
    assert.deepEqual(countStatuses(notifications), { duplicate: 2 * times - 1, processed: 1 });
    assert.equal(new Set(notifications.map(({ id }) => id)).size, 2 * times, "each is stored");
    assert.ok(notifications.every(({ payment_id }) => payment_id === charged.id));
    assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
    assert.deepEqual(await payments.transitions(charged.id), [
      ">pending charge",
      "pending>settlement notification",
    ]);
  }
  assertNoErrors(app, secondApp);
});

Deno.test("event: contains the payment at the time of the change, and the id of the notification", async () => {
  await using payments = await openTwoInstances();
  const charged = await payments.charge("bca");
  const { id: notificationId } = await deliver(
    payments.secondApp,
    buildNotification(charged, "settlement"),
  );
  const [received, settled, ...more] = await eventsOf(payments, charged.id);
  assert.deepEqual(more, []);
  assert.deepEqual([received.sequence, settled.sequence], [1, 2]);
  assert.deepEqual([received.data.transaction_status, received.data.notification_id], [
    "pending",
    null,
  ]);
  const { notification_id, ...data } = settled.data;
  assert.equal(notification_id, notificationId);
  assert.deepEqual(data, await payments.read(charged.id));
});

Deno.test("notification: a repeat of a known state is a duplicate without an error, even if the state is final", async () => {
  await using payments = await openTwoInstances();
  const { sandbox, app, secondApp } = payments;
  for (
    const [kind, control, status] of [
      ["bca", "pay", "settlement"],
      ["bca", "expire", "expire"],
      ["gopay", "deny", "deny"],
    ] as const
  ) {
    const charged = await payments.charge(kind);
    await sandbox.control(`transactions/${charged.transaction_id}/${control}`);
    await payments.refresh(charged.id);
    const before = await payments.events(charged.id);
    const body = await findSentNotification(payments, charged.order_id, status);
    for (const each of [app, secondApp]) {
      const { status, error_message, payment_id } = await deliver(each, body);
      assert.deepEqual([status, error_message, payment_id], ["duplicate", null, charged.id]);
    }
    assert.deepEqual(await payments.events(charged.id), before);
  }
  const refunded = await payments.paid("gopay");
  const response = await payments.post(`/payments/${refunded.id}/refund/`, { amount: 1_000 });
  assert.equal(response.status, 200);
  const before = await payments.events(refunded.id);
  const partialRefund = await findSentNotification(payments, refunded.order_id, "partial_refund");
  assert.equal((await deliver(secondApp, partialRefund)).status, "duplicate");
  assert.deepEqual(await payments.events(refunded.id), before);
  assertNoErrors(app, secondApp);
});

const ROUNDS = shareOf(200);

Deno.test(`notifications: two instances that write two payments in opposite order do not deadlock, in ${ROUNDS} rounds`, async () => {
  await using payments = await openTwoInstances();
  const { app, secondApp } = payments;
  for (let round = 0; round < ROUNDS; round++) {
    const [a, b] = await Promise.all([
      payments.charge("bca"),
      payments.charge("gopay"),
    ]);
    const [ofA, ofB] = [buildNotification(a, "settlement"), buildNotification(b, "settlement")];
    // Each instance handles its first notification alone, and batches those that arrive meanwhile.
    const notifications = await Promise.all([
      ...[ofA, ofA, ofB].map((body) => deliver(app, body)),
      ...[ofB, ofB, ofA].map((body) => deliver(secondApp, body)),
    ]);
    assert.deepEqual(countStatuses(notifications), { duplicate: 4, processed: 2 });
    for (const { id } of [a, b]) {
      assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
    }
  }
  assertNoErrors(app, secondApp);
});

/** Locks payments, as another database client may, until the returned object is disposed. */
async function lock(url: string, ...payments: Payment[]): Promise<AsyncDisposable> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const release = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = sql.begin(async (sql) => {
    for (const { id } of payments) {
      await sql`select from gateway.payments where id = ${id} for update`;
    }
    locked.resolve();
    await release.promise;
  });
  await Promise.race([locked.promise, holding]);
  return {
    async [Symbol.asyncDispose]() {
      release.resolve();
      await holding;
      await sql.end();
    },
  };
}

/** Waits until this many statements wait for a lock, or one of the writes has ended. */
async function untilWaiting(
  url: string,
  count: number,
  hasEnded: () => boolean,
): Promise<void> {
  await until(`${count} statements wait for a lock`, async () => {
    const [row] = await runSql(
      url,
      `select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return row!.waiting === count || hasEnded();
  });
}

Deno.test("payment writes: all batches lock their payments in the same order", async () => {
  const databaseUrl = await createDatabase();
  await using payments = await openTwoInstances({ databaseUrl });
  const { app, secondApp } = payments;
  const [a, b] = [await payments.charge("bca"), await payments.charge("gopay")];
  // With only two rows, PostgreSQL might scan the table and lock the rows in their stored order.
  await runSql(
    databaseUrl,
    `insert into gateway.payments
     select made.* from gateway.payments payment, generate_series(1, 1000) number,
       json_populate_record(payment, json_build_object(
         'id', md5(payment.id::text || number), 'transaction_id', payment.id::text || number)) made;
     analyze gateway.payments`,
  );
  /** Writes both payments in both instances while `a` is locked. Returns how the writes ended. */
  async function writeTwice(): Promise<string[]> {
    const written: Promise<string>[] = [];
    let hasEnded = false;
    const write = async ({ service, database }: TestApp, both: Payment[]) => {
      const writes = await Promise.all(both.map(async ({ id }) => {
        const stored = await database.query((sql) => findPayment(sql, id));
        return buildWrite(service, paymentKind, stored!, { set: { status_message: "changed" } });
      }));
      const outcome = outcomeOf(database.query((sql) => paymentWrites.run(sql, writes)));
      outcome.finally(() => hasEnded = true);
      written.push(outcome);
      await untilWaiting(databaseUrl, written.length, () => hasEnded);
    };
    {
      await using _locked = await lock(databaseUrl, a);
      await write(app, [a, b]);
      // If this write locked `b` first, each of the two writes would wait for the other.
      await write(secondApp, [b, a]);
    }
    return await Promise.all(written);
  }
  let outcomes: string[] = [];
  // On a slow machine a write can exceed its lock timeout before the lock is released.
  await until("no write exceeds a time limit", async () => {
    outcomes = await writeTwice();
    return !outcomes.includes(TIMED_OUT);
  });
  assert.deepEqual(countBy(outcomes, String), { "false,false": 1, "true,true": 1 });
});

const TIMED_OUT = "timed out";

/** Which of the payments were written, or why none was. */
async function outcomeOf(writing: Promise<WriteResult[]>): Promise<string> {
  try {
    return String((await writing).map(({ isWritten }) => isWritten));
  } catch (error) {
    return error instanceof DatabaseUnavailable ? TIMED_OUT : String(error);
  }
}

/** Holds back status responses until `count` of them have arrived. */
function holdStatusResponses({ relay }: TwoInstances, count: number): void {
  const allArrived = Promise.withResolvers<void>();
  let arrived = 0;
  relay.intercept = async (_request, pass) => {
    const answer = await pass();
    if (++arrived === count) allArrived.resolve();
    await allArrived.promise;
    return answer;
  };
}

Deno.test("notifications: ten concurrent ones about a transaction created outside the service create one payment", async () => {
  await using payments = await openTwoInstances();
  const { sandbox, app, secondApp } = payments;
  const order_id = randomUUID();
  const externalTransaction = await sandbox.paid("bca", { transaction_details: { order_id } });
  const body = await findSentNotification(payments, order_id, "settlement");
  holdStatusResponses(payments, 10);
  const notifications = await Promise.all(
    Array.from({ length: 10 }, (_, index) => deliver(index % 2 ? app : secondApp, body)),
  );
  assert.deepEqual(countStatuses(notifications), { duplicate: 9, processed: 1 });
  const rows = await runSql(
    databaseUrl,
    `select id, user_id, transaction_id, transaction_status, gross_amount
     from gateway.payments where order_id = '${order_id}'`,
  );
  const [row] = rows;
  assert.deepEqual([rows.length, row!.user_id, row!.transaction_id, row!.transaction_status], [
    ...[1, null, externalTransaction.transaction_id, "settlement"],
  ]);
  assert.ok(notifications.every(({ payment_id }) => payment_id === row!.id));
  assert.deepEqual(await payments.events(row!.id), ["payment_settled"]);
  assert.deepEqual(await payments.transitions(row!.id), [
    ">pending notification",
    "pending>settlement notification",
  ]);
  assertNoErrors(app, secondApp);
});

Deno.test("notifications: ten concurrent ones about an order unknown to the gateway create no payment", async () => {
  await using payments = await openTwoInstances();
  const { app, secondApp } = payments;
  const unknownPayment = { id: randomUUID(), order_id: randomUUID(), transaction_id: randomUUID() };
  const body = buildNotification({
    ...unknownPayment,
    gross_amount: "44000.00",
    payment_type: "bank_transfer",
  }, "settlement");
  const notifications = await Promise.all(
    Array.from({ length: 10 }, (_, index) => deliver(index % 2 ? app : secondApp, body)),
  );
  assert.deepEqual(countStatuses(notifications), { unmatched: 10 });
  const rows = await runSql(
    databaseUrl,
    `select id from gateway.payments where order_id = '${unknownPayment.order_id}'`,
  );
  assert.equal(rows.length, 0);
  assertNoErrors(app, secondApp);
});

Deno.test("notification: if it arrives before the charge's response, there is one payment with all data of the request", async () => {
  await using payments = await openTwoInstances();
  const { sandbox, secondApp } = payments;
  sandbox.receiver.answer = async ({ text }) =>
    await secondApp.request("/notification/", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: text,
    });
  const requestFields = {
    metadata: { cart: "c-1", deep: { list: [1, "two", null] } },
    custom_fields: ["one", "two", "three"],
    item_details: ITEMS,
    customer_details: CUSTOMER,
  };
  for (const kind of ["bca", "permata", "gopay", "cstore", "echannel", "card"] as const) {
    await sandbox.fault("charge", "webhook_first");
    const order_id = randomUUID();
    const body = { ...await chargeRequest(sandbox, kind), ...requestFields, order_id };
    const charged = await parsePayment(await payments.post("/charge/", body), 201);
    const hook = sandbox.hooks.findLast(({ body }) => body.order_id === order_id)!.body;
    assertMembers(charged, {
      order_id,
      transaction_id: hook.transaction_id,
      metadata: requestFields.metadata,
      custom_field1: "one",
      custom_field2: "two",
      custom_field3: "three",
      customer_first_name: CUSTOMER.first_name,
      customer_email: CUSTOMER.email,
      payment_type: body.payment_type,
      transaction_status: kind === "card" ? "capture" : "pending",
    });
    assert.deepEqual(charged.items.map(({ name }) => name), [ITEMS[0]!.name]);
    const rows = await runSql(
      databaseUrl,
      `select id from gateway.payments where order_id = '${order_id}'`,
    );
    assert.deepEqual(rows.map(({ id }) => id), [charged.id]);
    assert.deepEqual(await payments.events(charged.id), [
      kind === "card" ? "payment_settled" : "payment_received",
    ]);
    const notifications = await runSql(
      databaseUrl,
      `select status, payment_id from gateway.notifications where order_id = '${order_id}'`,
    );
    assert.deepEqual(notifications.map((each) => ({ ...each })), [
      { status: "processed", payment_id: charged.id },
    ]);
    await assertHasPaymentDetails(payments, charged);
  }
  assertNoErrors(payments.app, secondApp);
});

/** Fails unless the payment has the payment details of the charge's response. */
async function assertHasPaymentDetails(payments: TwoInstances, charged: Payment): Promise<void> {
  const charges = payments.relay.received.filter(({ target }) => target === "/v2/charge");
  assert.ok(charges.length > 0);
  const { va_number, payment_code, bill_key, qr_url, deeplink_url } = charged;
  const detailsByType = { bank_transfer: va_number, cstore: payment_code, echannel: bill_key };
  const expected = (detailsByType as Record<string, string | null>)[charged.payment_type];
  if (expected !== undefined) assert.ok(expected, charged.payment_type);
  if (charged.payment_type === "gopay") assert.ok(qr_url && deeplink_url);
  const { updated_at: _, ...known } = await payments.read(charged.id);
  const { updated_at: __, ...refreshed } = await payments.refresh(charged.id);
  assert.deepEqual({ ...refreshed, status_message: null }, { ...known, status_message: null });
}

Deno.test("notification: a payment settled before the charge's response stays settled", async () => {
  await using payments = await openTwoInstances();
  const { sandbox, relay, secondApp } = payments;
  const order_id = randomUUID();
  relay.intercept = async (request, pass) => {
    const answer = await pass();
    if (request.target !== "/v2/charge") return answer;
    await sandbox.control(`transactions/${order_id}/pay`);
    await deliver(secondApp, await findSentNotification(payments, order_id, "settlement"));
    await deliver(secondApp, await findSentNotification(payments, order_id, "pending"));
    return answer;
  };
  const charged = await payments.charge("bca", { order_id });
  assertMembers(charged, { order_id, transaction_status: "settlement", is_paid: true });
  assert.ok(charged.va_number, "the payment details of the response are stored");
  assert.deepEqual(await payments.events(charged.id), ["payment_settled"]);
  assert.deepEqual((await payments.transactions(order_id)).length, 1);
});

Deno.test("notifications: of two from the same second the more advanced state wins, in either order", async () => {
  await using payments = await openTwoInstances();
  const { app, secondApp } = payments;
  const at = { transaction_time: "2026-03-05 11:02:09", settlement_time: "2026-03-05 11:02:09" };
  for (const order of [["settlement", "pending"], ["pending", "settlement"]]) {
    const charged = await payments.charge("bca");
    for (const [index, state] of order.entries()) {
      await deliver(index ? app : secondApp, buildNotification(charged, state, at));
    }
    assert.equal((await payments.read(charged.id)).transaction_status, "settlement");
    assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
  }
  for (const order of [["capture", "settlement"], ["settlement", "capture"]]) {
    const charged = await payments.charge("card_3ds");
    const { transaction_id } = charged;
    await payments.sandbox.control(`transactions/${transaction_id}/three_ds`, {
      result: "success",
    });
    await payments.sandbox.control(`transactions/${transaction_id}/settle`);
    await Promise.all(order.map((state, index) => {
      return deliver(
        index ? app : secondApp,
        buildNotification(charged, state, { ...at, fraud_status: "accept" }),
      );
    }));
    assert.equal((await payments.read(charged.id)).transaction_status, "settlement");
    assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
  }
  assertNoErrors(app, secondApp);
});

Deno.test("notification: is checked at the gateway if another instance changes the payment before it is applied", async () => {
  const { holdNext, wrapDatabase } = createHeldDatabase();
  await using payments = await openTwoInstances({}, wrapDatabase);
  const { app, secondApp, sandbox } = payments;
  const charged = await payments.charge("gopay");
  await sandbox.control(`transactions/${charged.transaction_id}/pay`);
  const held = holdNext("write payment");
  const settling = deliver(secondApp, buildNotification(charged, "settlement"));
  await held.arrived;
  const expired = await deliver(app, buildNotification(charged, "expire"));
  held.release();
  assert.deepEqual([expired.status, (await settling).status], ["processed", "processed"]);
  assert.equal((await payments.read(charged.id)).transaction_status, "settlement");
  assert.deepEqual(await payments.events(charged.id), [
    "payment_received",
    "payment_expired",
    "payment_settled",
  ]);
  assertNoErrors(app, secondApp);
});

/** A payment that was paid and partially refunded at the gateway, without a notification yet. */
async function createRefundedAtGateway(payments: TwoInstances): Promise<Payment> {
  const { sandbox } = payments;
  const charged = await payments.charge("gopay");
  await sandbox.control(`transactions/${charged.transaction_id}/pay`);
  const refunded = await sandbox.post(`/v2/${charged.transaction_id}/refund`, {
    refund_key: randomUUID(),
    amount: 4_000,
    reason: "At the desk",
  });
  assert.equal(refunded.status_code, "200");
  return charged;
}

const REFUNDED_EVENTS = ["payment_received", "payment_settled", "payment_refunded"];

Deno.test("notification: if the refund arrives before the settlement, both events are stored in order", async () => {
  await using payments = await openTwoInstances();
  const { app, secondApp } = payments;
  const charged = await createRefundedAtGateway(payments);
  const refund = await deliver(
    app,
    await findSentNotification(payments, charged.order_id, "partial_refund"),
  );
  assert.equal(refund.status, "processed");
  const lateSettlement = await deliver(
    secondApp,
    await findSentNotification(payments, charged.order_id, "settlement"),
  );
  assert.equal(lateSettlement.status, "stale");
  assertMembers(await payments.read(charged.id), {
    transaction_status: "partial_refund",
    captured_amount: "44000.00",
    refund_amount: "4000.00",
    net_amount: "40000.00",
  });
  assert.deepEqual(await payments.events(charged.id), REFUNDED_EVENTS);
  const [, settled, refunded] = await eventsOf(payments, charged.id);
  assert.deepEqual([settled.sequence, refunded.sequence], [2, 3]);
  assertNoErrors(app, secondApp);
});

Deno.test("notification: a refund that cannot be checked yet is applied later, even if the settlement arrives first", async () => {
  await using payments = await openTwoInstances();
  const { relay, app, secondApp } = payments;
  const charged = await createRefundedAtGateway(payments);
  relay.intercept = () => new Response("unavailable", { status: 503 });
  const refund = await deliver(
    app,
    await findSentNotification(payments, charged.order_id, "partial_refund"),
  );
  assert.equal(refund.status, "received");
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");
  const paid = await deliver(
    secondApp,
    await findSentNotification(payments, charged.order_id, "settlement"),
  );
  assert.equal(paid.status, "processed");
  relay.intercept = (_request, pass) => pass();
  await runDueJobs(secondApp);
  const found = await app.database.query((sql) => findNotification(sql, refund.id));
  assert.equal(found!.status, "processed");
  assertMembers(await payments.read(charged.id), {
    transaction_status: "partial_refund",
    refund_amount: "4000.00",
  });
  assert.deepEqual(await payments.events(charged.id), REFUNDED_EVENTS);
});

Deno.test("notification: with a customer fee, its amount includes the fee and the amount of the payment does not", async () => {
  await using payments = await openTwoInstances();
  const { sandbox, relay, app, secondApp } = payments;
  const charged = await payments.charge("gopay");
  await sandbox.control(`transactions/${charged.transaction_id}/pay`, { fee: 2_500 });
  const body = await findSentNotification(payments, charged.order_id, "settlement");
  assert.equal(body.gross_amount, "46500.00");
  const { gross_amount_info } = body.metadata.extra_info;
  assert.equal(Number(gross_amount_info.original_amount), AMOUNT);
  const checksBefore = relay.times(STATUS);
  const notification = await deliver(app, body);
  assert.deepEqual([notification.status, notification.gross_amount], ["processed", "46500.00"]);
  assert.equal(
    relay.times(STATUS),
    checksBefore + 1,
    "a different amount is checked at the gateway",
  );
  assert.equal((await deliver(secondApp, body)).status, "duplicate");
  assertMembers(await payments.read(charged.id), {
    gross_amount: "44000.00",
    captured_amount: "44000.00",
    net_amount: "44000.00",
    transaction_status: "settlement",
  });
  assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
  // The signature covers the amount with the fee, so the original amount is rejected.
  const response = await notify(payments, { ...body, gross_amount: "44000.00" });
  assert.equal(response.status, 403);
});

/** Timeouts of gateway calls end with `endTimeouts()`; pauses between retries end at once. */
function createTimeouts() {
  const timeouts: number[] = [];
  const ends: (() => void)[] = [];
  return {
    timeouts,
    endTimeouts: () => ends.splice(0).forEach((end) => end()),
    wait(ms: number, signal: AbortSignal): Promise<void> {
      if (ms < 1_000) return Promise.resolve();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      timeouts.push(ms);
      ends.push(resolve);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      return promise;
    },
  };
}

const CONFIRM_PAID = { env: { NOTIFICATION_CONFIRM: "paid" } };

async function reread(app: TestApp, { id }: GatewayNotification): Promise<GatewayNotification> {
  return (await app.database.query((sql) => findNotification(sql, id)))!;
}

/** A payment that was paid at the gateway, and its notification, which has to be confirmed. */
async function createPaidAtGateway(payments: TestPayments): Promise<[Payment, Json]> {
  const charged = await payments.charge("bca");
  await payments.sandbox.control(`transactions/${charged.transaction_id}/pay`);
  return [charged, await findSentNotification(payments, charged.order_id, "settlement")];
}

Deno.test("notification: is answered in time and finished by a job if the gateway is slow to confirm", async () => {
  const { timeouts, endTimeouts, wait } = createTimeouts();
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
    ...CONFIRM_PAID,
    gatewayOptions: { wait },
  });
  const { app, relay } = payments;
  const [charged, body] = await createPaidAtGateway(payments);
  const held = relay.holdNext(STATUS);
  const delivering = deliver(app, body);
  await held.arrived;
  assert.ok(timeouts.at(-1)! <= 4_000, `${timeouts.at(-1)}`);
  endTimeouts();
  const notification = await delivering;
  assert.deepEqual([notification.status, notification.payment_id, notification.error_message], [
    "received",
    null,
    null,
  ]);
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");
  const [job, ...otherJobs] = await jobsOf(app, notification.id);
  assert.deepEqual([job!.task, job!.status, otherJobs], ["process_notification", "queued", []]);
  assert.ok(app.enqueued.some(({ id }) => id === job!.id), "the job is enqueued");

  held.release();
  await runDueJobs(app);
  const done = await reread(app, notification);
  assert.deepEqual([done.status, done.payment_id], ["processed", charged.id]);
  assert.equal((await payments.read(charged.id)).is_paid, true);
  assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
  const [, settled] = await eventsOf(payments, charged.id);
  assert.equal(settled.data.notification_id, notification.id);
});

Deno.test("notification: fails after 7 days of gateway errors and its last retries, and a later replay applies it", async () => {
  let now = Date.now();
  const { wait } = createTimeouts();
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
    ...CONFIRM_PAID,
    gatewayOptions: { wait },
    now: () => now,
  });
  const { app, relay } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const [charged, body] = await createPaidAtGateway(payments);
  relay.intercept = () => new Response("unavailable", { status: 503 });
  const notification = await deliver(app, body);
  const replay = () =>
    payments.post(`/notifications/${notification.id}/replay/`, undefined, {}, staff);
  let tries = 0;
  for (; (await reread(app, notification)).status === "received"; tries++) {
    assert.ok(tries < 20, "the number of retries is limited");
    assert.ok((await replay()).status >= 400, "a replay fails, too");
    now += 24 * 3_600_000;
    await runDueJobs(app);
  }
  assert.ok(tries > 6, `${tries}`);
  const failed = await reread(app, notification);
  assert.equal(failed.status, "failed");
  assert.ok(failed.error_message);
  const [job] = await jobsOf(app, notification.id);
  assert.equal(job!.status, "failed");
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");

  relay.intercept = (_request, pass) => pass();
  const response = await replay();
  assert.equal(response.status, 200);
  const replayed = NotificationSchema.parse(await response.json());
  assert.deepEqual([replayed.status, replayed.payment_id, replayed.error_message], [
    ...["processed", charged.id, null],
  ]);
  assert.deepEqual((await reread(app, notification)).error_message, null);
  assert.equal((await payments.read(charged.id)).is_paid, true);
});

Deno.test("notification: a job that runs after a replay does nothing", async () => {
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
    ...CONFIRM_PAID,
  });
  const { app, relay } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const [charged, body] = await createPaidAtGateway(payments);
  relay.intercept = () => new Response("unavailable", { status: 503 });
  const notification = await deliver(app, body);
  relay.intercept = (_request, pass) => pass();
  const response = await payments.post(
    `/notifications/${notification.id}/replay/`,
    undefined,
    {},
    staff,
  );
  assert.equal(response.status, 200);
  const checksBefore = relay.times(STATUS);
  await runDueJobs(app);
  assert.equal(relay.times(STATUS), checksBefore);
  assert.equal((await reread(app, notification)).status, "processed");
  assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
  assert.equal((await jobsOf(app, notification.id))[0]!.status, "succeeded");
});

Deno.test("notifications: while the circuit breaker is open, all are accepted and the trusted ones are applied", async () => {
  await using payments = await openRelayed({ databaseUrl: await createDatabase() });
  await using disconnectedApp = await openApp({
    databaseUrl: payments.databaseUrl,
    serverKey: SERVER_KEY,
    gatewayOptions: { wait: createTimeouts().wait },
  });
  const unconfirmed: [Payment, GatewayNotification][] = [];
  for (let i = 0; i < 4; i++) {
    const charged = await payments.charge("gopay");
    await payments.sandbox.control(`transactions/${charged.transaction_id}/pay`, { fee: 1_000 });
    const body = await findSentNotification(payments, charged.order_id, "settlement");
    unconfirmed.push([charged, await deliver(disconnectedApp, body)]);
  }
  assert.equal(disconnectedApp.gateway.breakerState(), "open");
  assert.deepEqual(countStatuses(unconfirmed.map(([, notification]) => notification)), {
    received: 4,
  });
  const [trusted, body] = await createPaidAtGateway(payments);
  assert.equal((await deliver(disconnectedApp, body)).status, "processed");
  assert.equal((await payments.read(trusted.id)).is_paid, true);
  const order_id = randomUUID();
  await payments.sandbox.paid("bca", { transaction_details: { order_id } });
  const externalNotification = await deliver(
    disconnectedApp,
    await findSentNotification(payments, order_id, "settlement"),
  );
  assert.equal(externalNotification.status, "received");

  // An instance that reaches the gateway finishes the other notifications.
  await runDueJobs(payments.app);
  for (const [charged, notification] of unconfirmed) {
    assert.equal((await reread(disconnectedApp, notification)).status, "processed");
    assertMembers(await payments.read(charged.id), { is_paid: true, net_amount: "44000.00" });
  }
  const adopted = await reread(disconnectedApp, externalNotification);
  assert.equal(adopted.status, "processed");
  assert.deepEqual(await payments.events(adopted.payment_id!), ["payment_settled"]);
});

Deno.test("notification: a payment keeps its state if the gateway no longer knows the transaction", async () => {
  let now = Date.now();
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
    now: () => now,
  });
  const { app, relay } = payments;
  const paid = await payments.paid("gopay");
  relay.intercept = () => Response.json({ status_code: "404", status_message: "No such thing." });
  const notification = await deliver(
    app,
    buildNotification(paid, "refund", { refund_amount: "44000.00" }),
  );
  assert.equal(notification.status, "received");
  await until("the notification has failed", async () => {
    now += 3_600_000;
    await runDueJobs(app);
    return (await reread(app, notification)).status === "failed";
  });
  const { updated_at: _, ...kept } = await payments.read(paid.id);
  const { updated_at: __, ...before } = paid;
  assert.deepEqual(kept, before);
});
