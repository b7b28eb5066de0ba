import assert from "node:assert/strict";
import { openGateway } from "../../commands/gateway.ts";
import { checkOverdueInvoices } from "../../core/invoices/check_overdue_invoices.ts";
import { createWorker } from "../../core/jobs/worker.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { expireStalePayments } from "../../core/payments/expire_stale_payments.ts";
import { syncSubscriptionStatus } from "../../core/subscriptions/sync_subscription_status.ts";
import { createTasks } from "../../core/tasks/tasks.ts";
import type { Database } from "../../db/connection/database.ts";
import { LANES } from "../../db/jobs/jobs.ts";
import { openApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { clientFor, createWaits, openFakeGateway } from "../support/gateway/gateway.ts";
import { openRelay, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { SERVER_KEY } from "../support/gateway/sandbox.ts";
import { jobsOf, runDueJobs, runJobs } from "../support/jobs/due_jobs.ts";
import { newKey } from "../support/idempotency.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { isPartial } from "../support/share.ts";

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

const STATUS_CALL = "GET /v2/:id/status";

/** The maximum number of queued checks. */
const MAX_WAITING = 10_000;

/** Inserts the oldest `rows` of `total` pending payments, the oldest first, all due for a check. */
async function insertDuePayments(databaseUrl: string, rows: number, total = rows): Promise<void> {
  // Only lists of payments use these indexes; they would slow down the inserts.
  const indexes = ["payments_by_user", "payment_filters_by_user", "payment_filters_by_status"];
  await runSql(databaseUrl, `drop index ${indexes.map((name) => `gateway.${name}`).join(", ")}`);
  await runSql(
    databaseUrl,
    `insert into gateway.payments (
      id, user_id, order_id, transaction_id, payment_type, gross_amount, currency,
      transaction_status, sent_at, expiry_time, check_at, created_at, updated_at)
    select gen_random_uuid(), 'alice', 'order-' || n, 'transaction-' || n, 'bank_transfer', 44000,
      'IDR', 'pending', made_at, now() + interval '1 day', made_at + interval '5 min', made_at, made_at
    from generate_series(1, ${rows}) n
    cross join lateral (
      select now() - interval '10 min' - make_interval(secs => (${total} - n) * 0.1) as made_at) made`,
  );
}

/** The numbers of the payments whose jobs have this status; `transaction-17` has number 17. */
async function numbersOf(database: Database, status: string): Promise<number[]> {
  const rows = await database.query((sql) =>
    sql`
      select split_part(transaction_id, '-', 2)::int as number
      from gateway.jobs job join gateway.payments payment on payment.id = job.subject_id
      where job.status = ${status} order by number`
  );
  return rows.map(({ number }) => number);
}

/** All numbers from `from` to `to`, both included. */
function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** As many payments as a long outage leaves behind; a quick run inserts only the oldest of them. */
const MANY = 100_000;
const INSERTED = isPartial ? MAX_WAITING + 2_000 : MANY;

Deno.test(`check sweep: ${INSERTED} due payments are queued in bounded batches and checked a few at a time`, async () => {
  await using relay = openRelay();
  let inFlight = 0;
  let peak = 0;
  relay.intercept = async ({ target }) => {
    peak = Math.max(peak, ++inFlight);
    // Long enough that calls beyond the limit would arrive during this call.
    await new Promise((resolve) => setTimeout(resolve, 2));
    inFlight--;
    return Response.json({
      status_code: "201",
      transaction_id: target.split("/")[2],
      transaction_status: "pending",
      gross_amount: "44000.00",
    });
  };
  const databaseUrl = await createDatabase();
  await insertDuePayments(databaseUrl, INSERTED, MANY);
  await using app = await openApp({ databaseUrl });
  const { config, database, enqueued, service } = app;
  const relayConfig = { ...config, gateway: { ...config.gateway, baseUrl: relay.url } };
  await using gateway = await openGateway(relayConfig, service.log);
  const background = { ...service, gateway: gateway.background };

  const sweep = () => checkPendingPayments(background);
  assert.equal(await sweep(), MAX_WAITING);
  assert.deepEqual(await numbersOf(database, "queued"), range(1, MAX_WAITING), "the oldest first");
  assert.equal(enqueued.length, MAX_WAITING);
  assert.equal(await sweep(), 0, "the limit of queued checks is reached");
  assert.equal(enqueued.length, MAX_WAITING);

  const [spaced] = await database.query((sql) =>
    sql`
      select min(check_at) > now() + interval '30 min' as "isLater",
        max(check_at) filter (where transaction_id = 'transaction-1') >
          max(check_at) filter (where transaction_id = 'transaction-9999') as "isByAge"
      from gateway.payments where check_at > now()`
  );
  assert.deepEqual(
    { ...spaced },
    { isLater: true, isByAge: true },
    "the older a payment is, the later is its next check",
  );

  const worker = createWorker({ ...background, tasks: createTasks(background), maxRunning: 8 });
  const due = await database.query((sql) =>
    sql<{ id: string }[]>`
      select id from gateway.jobs where status = 'queued' and lane = ${LANES.checks}
      order by run_at, id limit 500`
  );
  await runJobs(worker, due.map(({ id }) => id));
  assert.deepEqual(await numbersOf(database, "succeeded"), range(1, 500), "the oldest first");
  assert.equal(relay.received.length, 500, "each payment was checked once");
  assert.ok(peak > 1 && peak <= 5, `at most five at the same time, not ${peak}`);
  assert.equal(await sweep(), 500, "as many are queued as were checked");
  assert.equal(enqueued.length, MAX_WAITING + 500);
});

Deno.test("check sweep: the run after a crash queues the payments that are not queued yet", async () => {
  let batches = 0;
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    transaction(work, name) {
      const isThirdBatch = name === "queue checks of payments" && ++batches === 3;
      return isThirdBatch ? Promise.reject(new Error("the process crashed")) : database.transaction(
        work,
        name,
      );
    },
  });
  const databaseUrl = await createDatabase();
  await insertDuePayments(databaseUrl, 2_200);
  await using crashingApp = await openApp({ databaseUrl, wrapDatabase });
  await assert.rejects(checkPendingPayments(crashingApp.service), {
    message: "the process crashed",
  });
  assert.deepEqual(await numbersOf(crashingApp.database, "queued"), range(1, 1_000));
  await using nextApp = await openApp({ databaseUrl });
  assert.equal(await checkPendingPayments(nextApp.service), 1_200);
  assert.deepEqual(
    await numbersOf(nextApp.database, "queued"),
    range(1, 2_200),
    "each payment once",
  );
  assert.equal(await checkPendingPayments(nextApp.service), 0);
});

Deno.test("check sweep: a payment whose creation was interrupted is checked before the others", async () => {
  const databaseUrl = await createDatabase();
  await insertDuePayments(databaseUrl, 3);
  await runSql(
    databaseUrl,
    `update gateway.payments set created_at = now() - interval '2 min', transaction_id = null
     where transaction_id = 'transaction-2'`,
  );
  await using app = await openApp({ databaseUrl });
  assert.equal(await checkPendingPayments(app.service), 3);
  const jobs = await runSql(
    databaseUrl,
    `select order_id, lane from gateway.jobs join gateway.payments on payments.id = subject_id
     order by order_id`,
  );
  assert.deepEqual(jobs.map(({ order_id, lane }) => [order_id, lane]), [
    ["order-1", LANES.checks],
    ["order-2", LANES.recovery],
    ["order-3", LANES.checks],
  ]);
});

Deno.test("subscription sweep: subscriptions whose last check is oldest are checked first", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl });
  const { database, service } = app;
  const rows = MAX_WAITING + 700;
  await runSql(
    databaseUrl,
    `insert into gateway.subscriptions (
      id, user_id, gateway_subscription_id, name, payment_type, amount, currency, interval,
      interval_unit, status, sent_at, checked_at, check_at, created_at, updated_at)
    select gen_random_uuid(), 'alice', 'subscription-' || n, 'club', 'credit_card', 44000, 'IDR', 1,
      'month', 'active', now(), case when n > 10 then now() - make_interval(secs => n) end, now(),
      now(), now()
    from generate_series(1, ${rows}) n`,
  );
  const queuedNumbers = async () => {
    const found = await database.query((sql) =>
      sql`
        select split_part(gateway_subscription_id, '-', 2)::int as number
        from gateway.jobs job join gateway.subscriptions on subscriptions.id = job.subject_id
        where job.status = 'queued' order by number`
    );
    return found.map(({ number }) => number);
  };
  assert.equal(await syncSubscriptionStatus(service), MAX_WAITING);
  const neverChecked = range(1, 10);
  assert.deepEqual(await queuedNumbers(), [...neverChecked, ...range(711, rows)]);
  // Marks the subscriptions in the queue as checked.
  await runSql(
    databaseUrl,
    `with checked as (update gateway.jobs set status = 'succeeded' returning subject_id)
    update gateway.subscriptions set checked_at = now() from checked where id = subject_id`,
  );
  assert.equal(await syncSubscriptionStatus(service), MAX_WAITING);
  const nextNumbers = await queuedNumbers();
  assert.deepEqual(nextNumbers.filter((number) => number > 10 && number <= 710), range(11, 710));
});

interface DuePayments extends RelayedPayments {
  advance(ms: number): void;
  ids: string[];
}

/** Creates due payments. The app and its gateway client use the same manual clock. */
async function openDuePayments(count: number): Promise<DuePayments> {
  const { now, advance } = manualClock();
  const relayed = await openRelayed({
    now,
    gatewayOptions: { clock: now, wait: createWaits().wait, maxInFlight: 5 },
  });
  const charges = Array.from({ length: count }, () => relayed.charge("bca"));
  const ids = (await Promise.all(charges)).map(({ id }) => id);
  advance(6 * MINUTE);
  relayed.relay.received.length = 0;
  return { ...relayed, ids, advance };
}

/** Runs all check sweeps; returns how many jobs each has queued. */
async function sweepAll({ app: { service } }: DuePayments): Promise<number[]> {
  const sweeps = [
    checkPendingPayments,
    expireStalePayments,
    checkOverdueInvoices,
    syncSubscriptionStatus,
  ];
  return await Promise.all(sweeps.map((sweep) => sweep(service)));
}

async function assertPostponed({ app, ids }: DuePayments, atLeastMs: number): Promise<void> {
  for (const id of ids) {
    const [job] = await jobsOf(app, id);
    assert.deepEqual([job!.status, job!.attempts, job!.error], ["queued", 0, null]);
    assert.ok(job!.run_at.getTime() >= app.service.clock() + atLeastMs);
  }
}

Deno.test("gateway pause: a 429 pauses background work for the time of Retry-After", async () => {
  await using due = await openDuePayments(20);
  const { app, relay, ids } = due;
  assert.equal(await checkPendingPayments(app.service), 20);
  relay.intercept = () =>
    Response.json({ status_code: "429", status_message: "Too many requests" }, {
      status: 429,
      headers: { "Retry-After": "300" },
    });
  await runDueJobs(app);
  // The gateway got only the calls that were running when the first 429 arrived.
  assert.ok(relay.received.length >= 1 && relay.received.length <= 4);
  await assertPostponed(due, 5 * MINUTE);

  relay.intercept = (_, pass) => pass();
  relay.received.length = 0;
  due.advance(4 * MINUTE);
  await app.database.query((sql) => sql`update gateway.payments set check_at = created_at`);
  assert.deepEqual(await sweepAll(due), [0, 0, 0, 0], "nothing is queued during the pause");
  assert.equal(relay.received.length, 0);
  assert.equal((await due.refresh(ids[0]!)).transaction_status, "pending");
  assert.equal(relay.times(STATUS_CALL), 1, "the request of a caller is still sent");

  due.advance(MINUTE + SECOND);
  assert.deepEqual(
    await sweepAll(due),
    [19, 0, 0, 0],
    "all except the payment that the caller checked",
  );
  await runDueJobs(app);
  for (const id of ids) assert.equal((await jobsOf(app, id))[0]!.status, "succeeded");
});

Deno.test("gateway pause: the retry of a refund is postponed and takes effect once", async () => {
  await using due = await openDuePayments(0);
  const { app, relay } = due;
  const { id, transaction_id } = await due.paid("gopay");
  relay.intercept = async ({ method }, pass) =>
    method === "POST" ? new Response("<h1>Bad Gateway</h1>", { status: 502 }) : await pass();
  const { outcome } = await (await due.post(`/payments/${id}/refund/`, { amount: 1_000 })).json();
  assert.equal(outcome, "unknown");
  due.advance(2 * MINUTE);
  relay.intercept = async ({ method }, pass) =>
    method === "POST"
      ? Response.json({ status_code: "429" }, { status: 429, headers: { "Retry-After": "120" } })
      : await pass();
  await runDueJobs(app);
  const [job] = await jobsOf(app, id);
  assert.deepEqual([job!.status, job!.attempts, job!.error], ["queued", 0, null]);
  relay.intercept = (_, pass) => pass();
  due.advance(3 * MINUTE);
  await runDueJobs(app);
  const { refunds } = await due.sandbox.status(transaction_id!);
  assert.deepEqual(refunds.map(({ refund_amount }: { refund_amount: string }) => refund_amount), [
    "1000.00",
  ]);
});

Deno.test("circuit breaker: while it is open, background work makes no calls, queues no checks and counts no attempts", async () => {
  await using due = await openDuePayments(12);
  const { app, relay, sandbox, ids } = due;
  assert.equal(await checkPendingPayments(app.service), 12);
  await sandbox.fault("*", "reset", { count: 1_000_000 });
  // Leaves the breaker one failure short of opening, so that it opens while jobs are running.
  assert.equal((await due.get(`/payments/${ids[0]}/check_status/`)).status, 502);
  assert.equal(app.gateway.breakerState(), "closed");
  await runDueJobs(app);
  assert.equal(app.gateway.breakerState(), "open");
  await assertPostponed(due, MINUTE);
  relay.received.length = 0;

  await app.database.query((sql) => sql`update gateway.jobs set run_at = created_at`);
  await app.database.query((sql) => sql`update gateway.payments set check_at = created_at`);
  assert.deepEqual(await sweepAll(due), [0, 0, 0, 0]);
  await runDueJobs(app);
  assert.equal(relay.received.length, 0);
  await assertPostponed(due, MINUTE);

  // For three hours single calls probe the gateway, and no job fails.
  for (let minute = 0; minute < 180; minute += 5) {
    due.advance(5 * MINUTE);
    await sweepAll(due);
    await runDueJobs(app);
  }
  assert.ok(relay.received.length <= 36 * 4, `${relay.received.length} calls in three hours`);
  await assertPostponed(due, 0);

  await sandbox.control("faults", undefined, "DELETE");
  for (const id of ids) {
    const { transaction_id } = await due.read(id);
    await sandbox.control(`transactions/${transaction_id}/pay`);
  }
  for (let rounds = 0; rounds < 3; rounds++) {
    due.advance(5 * MINUTE);
    await sweepAll(due);
    await runDueJobs(app);
  }
  for (const id of ids) assert.equal((await due.read(id)).is_paid, true);
});

Deno.test("gateway pause: lasts as long as Retry-After says, and at most an hour", async () => {
  let now = Date.UTC(2026, 0, 1);
  let header: string | null = null;
  await using gateway = openFakeGateway(() =>
    Response.json({ status_code: "429" }, {
      status: 429,
      headers: header === null ? {} : { "Retry-After": header },
    })
  );
  const pauseAfter = async (retryAfter: string | null) => {
    header = retryAfter;
    now += 24 * HOUR;
    const client = clientFor(gateway.url, { clock: () => now });
    assert.equal(client.rateLimitPauseMs(), 0);
    await assert.rejects(client.getStatus("any"), { name: "GatewayRateLimitError" });
    return client;
  };
  assert.equal((await pauseAfter("90")).rateLimitPauseMs(), 90 * SECOND);
  assert.equal(
    (await pauseAfter(new Date(now + 25 * HOUR).toUTCString())).rateLimitPauseMs(),
    HOUR,
  );
  const client = await pauseAfter("999999999");
  assert.equal(client.rateLimitPauseMs(), HOUR);
  now += 20 * MINUTE;
  assert.equal(client.rateLimitPauseMs(), 40 * MINUTE);
  // A shorter Retry-After does not shorten a longer pause.
  header = "1";
  await assert.rejects(client.getStatus("any"), { name: "GatewayRateLimitError" });
  assert.equal(client.rateLimitPauseMs(), 40 * MINUTE);
  now -= 24 * HOUR;
  assert.equal(client.rateLimitPauseMs(), 0, "after the clock was set back the pause is over");
});

Deno.test("gateway pause: without Retry-After grows from 5 to 60 seconds while 429s continue, and callers are told the same time", async () => {
  let now = Date.UTC(2026, 0, 1);
  await using due = await openPayments({
    gatewayOptions: { clock: () => now, wait: createWaits().wait },
  });
  const { app, sandbox } = due;
  await sandbox.fault("charge", "rate_limit", { count: 100 });
  async function pauseOfNextCharge(): Promise<number> {
    const body = { payment_type: "gopay", gross_amount: 1_000 };
    const answer = await due.post("/charge/", body, newKey());
    await assertProblem(answer.clone(), 400, "gateway_rate_limited");
    const pauseMs = app.gateway.rateLimitPauseMs();
    assert.equal(answer.headers.get("Retry-After"), String(pauseMs / SECOND));
    return pauseMs;
  }
  for (const seconds of [5, 10, 20, 40, 60, 60]) {
    assert.equal(await pauseOfNextCharge(), seconds * SECOND);
    now += SECOND;
    assert.equal(await pauseOfNextCharge(), (seconds - 1) * SECOND, "is not prolonged");
    now += seconds * SECOND;
  }
  now += MINUTE;
  assert.equal(await pauseOfNextCharge(), 5 * SECOND, "after a minute without 429");
});

Deno.test("gateway pause: a 429 for the request of a caller also pauses background work", async () => {
  await using relay = openRelay();
  relay.intercept = () => Response.json({ status_code: "429" }, { status: 429 });
  await using app = await openApp({ databaseUrl: await createDatabase(), serverKey: SERVER_KEY });
  const { config, service } = app;
  const relayConfig = { ...config, gateway: { ...config.gateway, baseUrl: relay.url } };
  await using gateway = await openGateway(relayConfig, service.log);
  await assert.rejects(gateway.client.expire("any"), { name: "GatewayRateLimitError" });
  assert.ok(gateway.background.rateLimitPauseMs() > 0);
});
