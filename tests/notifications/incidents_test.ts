import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { paymentKind } from "../../core/payments/payment_record.ts";
import { buildWrite } from "../../core/records/change.ts";
import { findNotification, type GatewayNotification } from "../../db/notifications.ts";
import { findPayment, paymentWrites } from "../../db/payment_statements.ts";
import type { WriteResult } from "../../db/side_effects.ts";
import { NotificationSchema } from "../../routes/notifications/schemas.ts";
import { openApp, REAL_INSTALLATION, type TestApp } from "../support/app.ts";
import { ask, createDatabase } from "../support/database/database.ts";
import { hookOf, notified, notify, telling } from "../support/gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { AMOUNT, CUSTOMER, ITEMS, type Json, SERVER_KEY } from "../support/gateway/sandbox.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import {
  assertMembers,
  chargeRequest,
  parsePayment,
  type Payment,
  type TestPayments,
} from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

const databaseUrl = await createDatabase();

const STATUS = "GET /v2/:id/status";

interface Pair extends RelayedPayments {
  /** Another instance on the same database, with the same gateway. */
  other: TestApp;
}

async function openPair(options: Parameters<typeof openRelayed>[0] = {}): Promise<Pair> {
  const payments = await openRelayed({ databaseUrl, ...options });
  const other = await openApp({
    databaseUrl: payments.databaseUrl,
    gatewayUrl: payments.relay.url,
    serverKey: SERVER_KEY,
    env: { ...REAL_INSTALLATION, ...options.env },
  });
  return {
    ...payments,
    other,
    async [Symbol.asyncDispose]() {
      payments.relay.releaseAll();
      await other[Symbol.asyncDispose]();
      await payments[Symbol.asyncDispose]();
    },
  };
}

/** Sends it to an instance, which has to take it; what was written of it. */
async function tell(app: TestApp, body: Json): Promise<GatewayNotification> {
  return await notified({ app } as TestPayments, body);
}

function countBy<T>(items: T[], nameOf: (item: T) => string): Record<string, number> {
  const groups = Object.groupBy(items, nameOf);
  return Object.fromEntries(
    Object.entries(groups).map(([name, group]) => [name, group!.length]).sort(),
  );
}

function ends(told: GatewayNotification[]): Record<string, number> {
  return countBy(told, ({ status }) => status);
}

/** The payment's events as they were written, in their order. */
async function eventsOf({ databaseUrl }: TestPayments, id: string): Promise<Json[]> {
  return [
    ...await ask(
      databaseUrl,
      `select name, sequence, data from gateway.events where resource_id = '${id}' order by sequence`,
    ),
  ];
}

/** Nothing went wrong on any instance, not even what callers do not see. */
function assertNoErrors(...apps: TestApp[]): void {
  for (const app of apps) {
    const errors = app.logged().filter(({ level }) => level === "error");
    assert.deepEqual(errors, []);
  }
}

Deno.test("incidents 2, 15: the same notification many times at once is taken each time, and changes one thing once", async () => {
  await using payments = await openPair();
  const { app, other } = payments;
  for (const times of [1, 1, 1, 5, 5]) {
    const charged = await payments.charge("bca");
    const body = telling(charged, "settlement");
    const told = await Promise.all(
      Array.from({ length: times }, () => [tell(app, body), tell(other, body)]).flat(),
    );
    assert.deepEqual(ends(told), { duplicate: 2 * times - 1, processed: 1 });
    assert.equal(new Set(told.map(({ id }) => id)).size, 2 * times, "a record for each");
    assert.ok(told.every(({ payment_id }) => payment_id === charged.id));
    assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
    assert.deepEqual(await payments.transitions(charged.id), [
      ">pending charge",
      "pending>settlement notification",
    ]);
  }
  assertNoErrors(app, other);
});

Deno.test("incident 4: an event has the payment as of its change, and says which notification made it", async () => {
  await using payments = await openPair();
  const charged = await payments.charge("bca");
  const { id: notificationId } = await tell(payments.other, telling(charged, "settlement"));
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

Deno.test("incident 12: what is known already is a duplicate and no error, in final states too", async () => {
  await using payments = await openPair();
  const { sandbox, app, other } = payments;
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
    const body = await hookOf(payments, charged.order_id, status);
    for (const each of [app, other]) {
      const { status, error_message, payment_id } = await tell(each, body);
      assert.deepEqual([status, error_message, payment_id], ["duplicate", null, charged.id]);
    }
    assert.deepEqual(await payments.events(charged.id), before);
  }
  const refunded = await payments.paid("gopay");
  const response = await payments.post(`/payments/${refunded.id}/refund/`, { amount: 1_000 });
  assert.equal(response.status, 200);
  const before = await payments.events(refunded.id);
  const partly = await hookOf(payments, refunded.order_id, "partial_refund");
  assert.equal((await tell(other, partly)).status, "duplicate");
  assert.deepEqual(await payments.events(refunded.id), before);
  assertNoErrors(app, other);
});

Deno.test("incident 16: pairs about two payments in opposite order, at two instances, 200 times, never lock each other out", async () => {
  await using payments = await openPair();
  const { app, other } = payments;
  for (let round = 0; round < 200; round++) {
    const [a, b] = await Promise.all([
      payments.charge("bca"),
      payments.charge("gopay"),
    ]);
    const [ofA, ofB] = [telling(a, "settlement"), telling(b, "settlement")];
    // The first goes alone, and whatever comes meanwhile goes together.
    const told = await Promise.all([
      ...[ofA, ofA, ofB].map((body) => tell(app, body)),
      ...[ofB, ofB, ofA].map((body) => tell(other, body)),
    ]);
    assert.deepEqual(ends(told), { duplicate: 4, processed: 2 });
    for (const { id } of [a, b]) {
      assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
    }
  }
  assertNoErrors(app, other);
});

/** Locks payments, as somebody beside the service may; they are free when it is disposed of. */
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

async function untilWaiting(url: string, count: number): Promise<void> {
  await until(`${count} statements wait for a lock`, async () => {
    const [row] = await ask(
      url,
      `select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return row!.waiting === count;
  });
}

Deno.test("incident 16: whoever changes several payments at once takes them in the same order as everybody", async () => {
  const databaseUrl = await createDatabase();
  await using payments = await openPair({ databaseUrl });
  const { app, other } = payments;
  const [a, b] = [await payments.charge("bca"), await payments.charge("gopay")];
  // In a table of two PostgreSQL may go through all of it, and so in the order of the table's own.
  await ask(
    databaseUrl,
    `insert into gateway.payments
     select made.* from gateway.payments payment, generate_series(1, 1000) number,
       json_populate_record(payment, json_build_object(
         'id', md5(payment.id::text || number), 'transaction_id', payment.id::text || number)) made;
     analyze gateway.payments`,
  );
  const written: Promise<WriteResult[]>[] = [];
  const write = async ({ deps, database }: TestApp, both: Payment[]) => {
    const writes = await Promise.all(both.map(async ({ id }) => {
      const known = await database.query((sql) => findPayment(sql, id));
      return buildWrite(deps, paymentKind, known!, { set: { status_message: "changed" } });
    }));
    written.push(database.query((sql) => paymentWrites.run(sql, writes)));
    await untilWaiting(databaseUrl, written.length);
  };
  {
    await using _locked = await lock(databaseUrl, a);
    await write(app, [a, b]);
    // Took it the other payment first, each would now have what the other one waits for.
    await write(other, [b, a]);
  }
  const results = await Promise.allSettled(written);
  const done = results.map((each) =>
    each.status === "fulfilled" ? each.value.map(({ isWritten }) => isWritten) : each.reason.code
  );
  assert.deepEqual(countBy(done, String), { "false,false": 1, "true,true": 1 });
});

/** Holds every look at the gateway back until so many have come. */
function holdLooks({ relay }: Pair, count: number): void {
  const all = Promise.withResolvers<void>();
  let arrived = 0;
  relay.intercept = async (_request, pass) => {
    const answer = await pass();
    if (++arrived === count) all.resolve();
    await all.promise;
    return answer;
  };
}

Deno.test("incidents 17, 20: ten at once about an order that nobody knows here make one payment", async () => {
  await using payments = await openPair();
  const { sandbox, app, other } = payments;
  const order_id = randomUUID();
  const foreign = await sandbox.paid("bca", { transaction_details: { order_id } });
  const body = await hookOf(payments, order_id, "settlement");
  holdLooks(payments, 10);
  const told = await Promise.all(
    Array.from({ length: 10 }, (_, index) => tell(index % 2 ? app : other, body)),
  );
  assert.deepEqual(ends(told), { duplicate: 9, processed: 1 });
  const rows = await ask(
    databaseUrl,
    `select id, user_id, transaction_id, transaction_status, gross_amount
     from gateway.payments where order_id = '${order_id}'`,
  );
  const [row] = rows;
  assert.deepEqual([rows.length, row!.user_id, row!.transaction_id, row!.transaction_status], [
    ...[1, null, foreign.transaction_id, "settlement"],
  ]);
  assert.ok(told.every(({ payment_id }) => payment_id === row!.id));
  assert.deepEqual(await payments.events(row!.id), ["payment_settled"]);
  assert.deepEqual(await payments.transitions(row!.id), [
    ">pending notification",
    "pending>settlement notification",
  ]);
  assertNoErrors(app, other);
});

Deno.test("incident 20: ten at once about an order that not even the gateway knows make none", async () => {
  await using payments = await openPair();
  const { app, other } = payments;
  const nobodys = { id: randomUUID(), order_id: randomUUID(), transaction_id: randomUUID() };
  const body = telling({
    ...nobodys,
    gross_amount: "44000.00",
    payment_type: "bank_transfer",
  }, "settlement");
  const told = await Promise.all(
    Array.from({ length: 10 }, (_, index) => tell(index % 2 ? app : other, body)),
  );
  assert.deepEqual(ends(told), { unmatched: 10 });
  const rows = await ask(
    databaseUrl,
    `select id from gateway.payments where order_id = '${nobodys.order_id}'`,
  );
  assert.equal(rows.length, 0);
  assertNoErrors(app, other);
});

Deno.test("incident 18: the webhook comes before the charge's own answer; one payment, with all that is the merchant's", async () => {
  await using payments = await openPair();
  const { sandbox, other } = payments;
  sandbox.receiver.answer = async ({ text }) =>
    await other.request("/notification/", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: text,
    });
  const own = {
    metadata: { cart: "c-1", deep: { list: [1, "two", null] } },
    custom_fields: ["one", "two", "three"],
    item_details: ITEMS,
    customer_details: CUSTOMER,
  };
  for (const kind of ["bca", "permata", "gopay", "cstore", "echannel", "card"] as const) {
    await sandbox.fault("charge", "webhook_first");
    const order_id = randomUUID();
    const body = { ...await chargeRequest(sandbox, kind), ...own, order_id };
    const charged = await parsePayment(await payments.post("/charge/", body), 201);
    const hook = sandbox.hooks.findLast(({ body }) => body.order_id === order_id)!.body;
    assertMembers(charged, {
      order_id,
      transaction_id: hook.transaction_id,
      metadata: own.metadata,
      custom_field1: "one",
      custom_field2: "two",
      custom_field3: "three",
      customer_first_name: CUSTOMER.first_name,
      customer_email: CUSTOMER.email,
      payment_type: body.payment_type,
      transaction_status: kind === "card" ? "capture" : "pending",
    });
    assert.deepEqual(charged.items.map(({ name }) => name), [ITEMS[0]!.name]);
    const rows = await ask(
      databaseUrl,
      `select id from gateway.payments where order_id = '${order_id}'`,
    );
    assert.deepEqual(rows.map(({ id }) => id), [charged.id]);
    assert.deepEqual(await payments.events(charged.id), [
      kind === "card" ? "payment_settled" : "payment_received",
    ]);
    const told = await ask(
      databaseUrl,
      `select status, payment_id from gateway.notifications where order_id = '${order_id}'`,
    );
    assert.deepEqual(told.map((each) => ({ ...each })), [
      { status: "processed", payment_id: charged.id },
    ]);
    await assertShowsWhatGatewaySays(payments, charged);
  }
  assertNoErrors(payments.app, other);
});

/** Where and how to pay, as the charge's own answer had it. */
async function assertShowsWhatGatewaySays(payments: Pair, charged: Payment): Promise<void> {
  const answers = payments.relay.received.filter(({ target }) => target === "/v2/charge");
  assert.ok(answers.length > 0);
  const { va_number, payment_code, bill_key, qr_url, deeplink_url } = charged;
  const shown = { bank_transfer: va_number, cstore: payment_code, echannel: bill_key };
  const expected = (shown as Record<string, string | null>)[charged.payment_type];
  if (expected !== undefined) assert.ok(expected, charged.payment_type);
  if (charged.payment_type === "gopay") assert.ok(qr_url && deeplink_url);
  const { updated_at: _, ...known } = await payments.read(charged.id);
  const { updated_at: __, ...looked } = await payments.refresh(charged.id);
  assert.deepEqual({ ...looked, status_message: null }, { ...known, status_message: null });
}

Deno.test("incident 18: it is even paid before the charge's own answer, and stays so", async () => {
  await using payments = await openPair();
  const { sandbox, relay, other } = payments;
  const order_id = randomUUID();
  relay.intercept = async (request, pass) => {
    const answer = await pass();
    if (request.target !== "/v2/charge") return answer;
    await sandbox.control(`transactions/${order_id}/pay`);
    await tell(other, await hookOf(payments, order_id, "settlement"));
    await tell(other, await hookOf(payments, order_id, "pending"));
    return answer;
  };
  const charged = await payments.charge("bca", { order_id });
  assertMembers(charged, { order_id, transaction_status: "settlement", is_paid: true });
  assert.ok(charged.va_number, "what the charge's answer said is there as well");
  assert.deepEqual(await payments.events(charged.id), ["payment_settled"]);
  assert.deepEqual((await payments.transactions(order_id)).length, 1);
});

Deno.test("incident 26: of two that happened in the same second the further one counts, whichever comes first", async () => {
  await using payments = await openPair();
  const { app, other } = payments;
  const at = { transaction_time: "2026-03-05 11:02:09", settlement_time: "2026-03-05 11:02:09" };
  for (const order of [["settlement", "pending"], ["pending", "settlement"]]) {
    const charged = await payments.charge("bca");
    for (const [index, state] of order.entries()) {
      await tell(index ? app : other, telling(charged, state, at));
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
      return tell(index ? app : other, telling(charged, state, { ...at, fraud_status: "accept" }));
    }));
    assert.equal((await payments.read(charged.id)).transaction_status, "settlement");
    assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
  }
  assertNoErrors(app, other);
});

/** Paid, and given back in part at the gateway's own desk; we have heard of neither. */
async function refundedElsewhere(payments: Pair): Promise<Payment> {
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

Deno.test("incident 28: a refund is told of before the payment is; both are known after, in their order", async () => {
  await using payments = await openPair();
  const { app, other } = payments;
  const charged = await refundedElsewhere(payments);
  const refund = await tell(app, await hookOf(payments, charged.order_id, "partial_refund"));
  assert.equal(refund.status, "processed");
  const late = await tell(other, await hookOf(payments, charged.order_id, "settlement"));
  assert.equal(late.status, "stale");
  assertMembers(await payments.read(charged.id), {
    transaction_status: "partial_refund",
    captured_amount: "44000.00",
    refund_amount: "4000.00",
    net_amount: "40000.00",
  });
  assert.deepEqual(await payments.events(charged.id), REFUNDED_EVENTS);
  const [, settled, refunded] = await eventsOf(payments, charged.id);
  assert.deepEqual([settled.sequence, refunded.sequence], [2, 3]);
  assertNoErrors(app, other);
});

Deno.test("incident 28: a refund that cannot be looked at waits, whatever comes meanwhile", async () => {
  await using payments = await openPair();
  const { relay, app, other } = payments;
  const charged = await refundedElsewhere(payments);
  relay.intercept = () => new Response("away", { status: 503 });
  const refund = await tell(app, await hookOf(payments, charged.order_id, "partial_refund"));
  assert.equal(refund.status, "received");
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");
  const paid = await tell(other, await hookOf(payments, charged.order_id, "settlement"));
  assert.equal(paid.status, "processed");
  relay.intercept = (_request, pass) => pass();
  await runDueJobs(other);
  const found = await app.database.query((sql) => findNotification(sql, refund.id));
  assert.equal(found!.status, "processed");
  assertMembers(await payments.read(charged.id), {
    transaction_status: "partial_refund",
    refund_amount: "4000.00",
  });
  assert.deepEqual(await payments.events(charged.id), REFUNDED_EVENTS);
});

Deno.test("incident 30: with a fee on top the signed amount is the gateway's, and the books have the order's", async () => {
  await using payments = await openPair();
  const { sandbox, relay, app, other } = payments;
  const charged = await payments.charge("gopay");
  await sandbox.control(`transactions/${charged.transaction_id}/pay`, { fee: 2_500 });
  const body = await hookOf(payments, charged.order_id, "settlement");
  assert.equal(body.gross_amount, "46500.00");
  const { gross_amount_info } = body.metadata.extra_info;
  assert.equal(Number(gross_amount_info.original_amount), AMOUNT);
  const asked = relay.times(STATUS);
  const told = await tell(app, body);
  assert.deepEqual([told.status, told.gross_amount], ["processed", "46500.00"]);
  assert.equal(relay.times(STATUS), asked + 1, "an amount that differs is not believed as it is");
  assert.equal((await tell(other, body)).status, "duplicate");
  assertMembers(await payments.read(charged.id), {
    gross_amount: "44000.00",
    captured_amount: "44000.00",
    net_amount: "44000.00",
    transaction_status: "settlement",
  });
  assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
  // As if the original were the sum with the fee: that is another text, and another signature.
  const response = await notify(payments, { ...body, gross_amount: "44000.00" });
  assert.equal(response.status, 403);
});

/** Time limits of calls to the gateway end when the test says so; pauses between tries at once. */
function createLimits() {
  const limits: number[] = [];
  const ends: (() => void)[] = [];
  return {
    limits,
    pass: () => ends.splice(0).forEach((end) => end()),
    wait(ms: number, signal: AbortSignal): Promise<void> {
      if (ms < 1_000) return Promise.resolve();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      limits.push(ms);
      ends.push(resolve);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      return promise;
    },
  };
}

const CONFIRMED = { env: { NOTIFICATION_CONFIRM: "paid" } };

async function reread(app: TestApp, { id }: GatewayNotification): Promise<GatewayNotification> {
  return (await app.database.query((sql) => findNotification(sql, id)))!;
}

/** A payment that is paid at the gateway, and its notification, which we do not believe unasked. */
async function paidElsewhere(payments: TestPayments): Promise<[Payment, Json]> {
  const charged = await payments.charge("bca");
  await payments.sandbox.control(`transactions/${charged.transaction_id}/pay`);
  return [charged, await hookOf(payments, charged.order_id, "settlement")];
}

Deno.test("a gateway that is slow to confirm is not waited for: 200 in time, and a job finishes it", async () => {
  const { limits, pass, wait } = createLimits();
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
    ...CONFIRMED,
    gatewayOptions: { wait },
  });
  const { app, relay } = payments;
  const [charged, body] = await paidElsewhere(payments);
  const held = relay.holdNext(STATUS);
  const telling = tell(app, body);
  await held.arrived;
  assert.ok(limits.at(-1)! <= 4_000, `${limits.at(-1)}`);
  pass();
  const told = await telling;
  assert.deepEqual([told.status, told.payment_id, told.error_message], ["received", null, null]);
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");
  const [job, ...others] = await jobsOf(app, told.id);
  assert.deepEqual([job!.task, job!.status, others], ["process_notification", "queued", []]);
  assert.ok(app.carried.some(({ id }) => id === job!.id), "it is on its way to a worker");

  held.release();
  await runDueJobs(app);
  const done = await reread(app, told);
  assert.deepEqual([done.status, done.payment_id], ["processed", charged.id]);
  assert.equal((await payments.read(charged.id)).is_paid, true);
  assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
  const [, settled] = await eventsOf(payments, charged.id);
  assert.equal(settled.data.notification_id, told.id);
});

Deno.test("what the gateway never says fails after the last try, and a replay mends it", async () => {
  let now = Date.now();
  const { wait } = createLimits();
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
    ...CONFIRMED,
    gatewayOptions: { wait },
    now: () => now,
  });
  const { app, relay } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const [charged, body] = await paidElsewhere(payments);
  relay.intercept = () => new Response("away", { status: 503 });
  const told = await tell(app, body);
  const replay = () => payments.post(`/notifications/${told.id}/replay/`, undefined, {}, staff);
  let tries = 0;
  for (; (await reread(app, told)).status === "received"; tries++) {
    assert.ok(tries < 20, "it is given up some day");
    assert.ok((await replay()).status >= 400, "nor does a replay help");
    now += 3_600_000;
    await runDueJobs(app);
  }
  assert.ok(tries > 3, `${tries}`);
  const failed = await reread(app, told);
  assert.equal(failed.status, "failed");
  assert.ok(failed.error_message);
  const [job] = await jobsOf(app, told.id);
  assert.equal(job!.status, "failed");
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");

  relay.intercept = (_request, pass) => pass();
  const response = await replay();
  assert.equal(response.status, 200);
  const mended = NotificationSchema.parse(await response.json());
  assert.deepEqual([mended.status, mended.payment_id, mended.error_message], [
    ...["processed", charged.id, null],
  ]);
  assert.deepEqual((await reread(app, told)).error_message, null);
  assert.equal((await payments.read(charged.id)).is_paid, true);
});

Deno.test("a job that comes after a replay has nothing left to do", async () => {
  await using payments = await openRelayed({ databaseUrl: await createDatabase(), ...CONFIRMED });
  const { app, relay } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const [charged, body] = await paidElsewhere(payments);
  relay.intercept = () => new Response("away", { status: 503 });
  const told = await tell(app, body);
  relay.intercept = (_request, pass) => pass();
  const response = await payments.post(`/notifications/${told.id}/replay/`, undefined, {}, staff);
  assert.equal(response.status, 200);
  const asked = relay.times(STATUS);
  await runDueJobs(app);
  assert.equal(relay.times(STATUS), asked);
  assert.equal((await reread(app, told)).status, "processed");
  assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
  assert.equal((await jobsOf(app, told.id))[0]!.status, "succeeded");
});

Deno.test("with the gateway down and the breaker open all is taken, and what needs no question is done", async () => {
  await using payments = await openRelayed({ databaseUrl: await createDatabase() });
  await using cutOff = await openApp({
    databaseUrl: payments.databaseUrl,
    serverKey: SERVER_KEY,
    gatewayOptions: { wait: createLimits().wait },
  });
  const unsure: [Payment, GatewayNotification][] = [];
  for (let i = 0; i < 4; i++) {
    const charged = await payments.charge("gopay");
    await payments.sandbox.control(`transactions/${charged.transaction_id}/pay`, { fee: 1_000 });
    const body = await hookOf(payments, charged.order_id, "settlement");
    unsure.push([charged, await tell(cutOff, body)]);
  }
  assert.equal(cutOff.gateway.breakerState(), "open");
  assert.deepEqual(ends(unsure.map(([, told]) => told)), { received: 4 });
  const [sure, body] = await paidElsewhere(payments);
  assert.equal((await tell(cutOff, body)).status, "processed");
  assert.equal((await payments.read(sure.id)).is_paid, true);
  const order_id = randomUUID();
  await payments.sandbox.paid("bca", { transaction_details: { order_id } });
  const foreign = await tell(cutOff, await hookOf(payments, order_id, "settlement"));
  assert.equal(foreign.status, "received");

  // An instance that reaches the gateway does what the other one could not.
  await runDueJobs(payments.app);
  for (const [charged, told] of unsure) {
    assert.equal((await reread(cutOff, told)).status, "processed");
    assertMembers(await payments.read(charged.id), { is_paid: true, net_amount: "44000.00" });
  }
  const adopted = await reread(cutOff, foreign);
  assert.equal(adopted.status, "processed");
  assert.deepEqual(await payments.events(adopted.payment_id!), ["payment_settled"]);
});

Deno.test("a gateway that has forgotten a transaction takes nothing away from its payment", async () => {
  let now = Date.now();
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
    now: () => now,
  });
  const { app, relay } = payments;
  const paid = await payments.paid("gopay");
  relay.intercept = () => Response.json({ status_code: "404", status_message: "No such thing." });
  const told = await tell(app, telling(paid, "refund", { refund_amount: "44000.00" }));
  assert.equal(told.status, "received");
  await until("it is given up", async () => {
    now += 3_600_000;
    await runDueJobs(app);
    return (await reread(app, told)).status === "failed";
  });
  assert.deepEqual(await payments.read(paid.id), paid);
});
