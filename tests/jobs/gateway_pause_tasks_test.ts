import assert from "node:assert/strict";
import { checkOverdueInvoices } from "../../core/invoices/check_overdue_invoices.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { expireStalePayments } from "../../core/payments/expire_stale_payments.ts";
import { syncSubscriptionStatus } from "../../core/subscriptions/sync_subscription_status.ts";
import type { GatewayJob } from "../../db/jobs/jobs.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { buildNotification, notify } from "../support/gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { savedCard } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { invoiceDue, MINUTE, parseInvoice, SECOND } from "../support/records/invoices.ts";
import { parseSubscription } from "../support/records/subscriptions.ts";

/** All tasks that call the gateway. */
const GATEWAY_TASKS = [
  "check_invoice_status",
  "check_payment_status",
  "check_subscription_status",
  "expire_stale_payment",
  "process_charge_async",
  "process_notification",
  "process_refund_async",
];

/** The causes of a pause, each with a function that starts the pause. */
const PAUSE_CAUSES = {
  "a 429": async ({ app, relay }: PendingWork) => {
    relay.intercept = () =>
      Response.json({ status_code: "429" }, { status: 429, headers: { "Retry-After": "60" } });
    await assert.rejects(app.gateway.getStatus("any"), { name: "GatewayRateLimitError" });
    assert.ok(app.gateway.rateLimitPauseMs() > 0);
  },
  "open breakers": async ({ app, relay }: PendingWork) => {
    relay.intercept = () => truncatedResponse();
    for (let calls = 0; calls < 5; calls++) {
      await assert.rejects(app.gateway.getStatus("any"));
      await assert.rejects(app.gateway.cancel("any"));
    }
    for (const kind of ["read", "write"] as const) {
      assert.equal(app.gateway.breakerState(kind), "open");
    }
  },
};

/** A response whose body is shorter than its Content-Length. */
function truncatedResponse(): Response {
  const body = new ReadableStream({ start: (controller) => controller.close() });
  return new Response(body, { headers: { "Content-Length": "1000" } });
}

interface PendingWork extends RelayedPayments {
  advance(ms: number): void;
  /** Runs all sweeps; returns how many jobs each has queued. */
  sweepAll(): Promise<number[]>;
  /** The jobs that have not succeeded, ordered by task. */
  unfinishedJobs(): Promise<GatewayJob[]>;
  /** Lets the gateway work again, and advances the clock to the end of the pause. */
  endPause(): void;
}

/**
 * Creates records that are due for a check (a payment, an expired payment, an invoice and a
 * subscription), a notification to process, and an asynchronous charge and refund.
 */
async function openPendingWork(): Promise<PendingWork> {
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const relayed = await openRelayed({
    now,
    gatewayOptions: { clock: now, wait: createWaits().wait },
  });
  const { app, relay, sandbox, post } = relayed;
  const authorized = await relayed.charge("card_auth");
  await relayed.charge("gopay");
  await parseInvoice(await post("/invoices/", invoiceDue(now())));
  const subscription = await post("/subscriptions/", {
    name: "coffee-club",
    amount: 150_000,
    payment_type: "credit_card",
    token: await savedCard(sandbox),
    interval: 1,
    interval_unit: "month",
  });
  await parseSubscription(subscription, 201);
  const paid = await relayed.paid("gopay");
  aheadMs += 20 * MINUTE;

  relay.intercept = () => new Response("busy", { status: 503 });
  assert.equal((await notify(relayed, buildNotification(authorized, "cancel"))).status, 200);
  relay.intercept = (_, pass) => pass();
  const charge = { payment_type: "gopay", gross_amount: 44_000 };
  for (
    const [path, body] of [["/charge/", charge], [`/payments/${paid.id}/refund/`, {}]] as const
  ) {
    assert.equal((await post(path, body, { Prefer: "respond-async" })).status, 202);
  }
  // Due now and not earlier: an expired payment that has been due for ten minutes is also found by
  // check_pending_payments.
  const due = new Date(now());
  await app.database.query((sql) =>
    sql`update gateway.payments set check_at = ${due} where check_at is not null`
  );
  await app.database.query((sql) => sql`update gateway.invoices set check_at = ${due}`);
  return {
    ...relayed,
    advance: (ms) => void (aheadMs += ms),
    sweepAll: async () => [
      await checkPendingPayments(app.service),
      await expireStalePayments(app.service),
      await checkOverdueInvoices(app.service),
      await syncSubscriptionStatus(app.service),
    ],
    async unfinishedJobs() {
      const rows = await app.database.query((sql) =>
        sql<GatewayJob[]>`
          select * from gateway.jobs where status <> 'succeeded' order by task`
      );
      return [...rows];
    },
    endPause() {
      relay.intercept = (_, pass) => pass();
      aheadMs += MINUTE + 10 * SECOND;
    },
  };
}

for (const [cause, startPause] of Object.entries(PAUSE_CAUSES)) {
  Deno.test(`gateway pause: after ${cause} no sweep queues jobs until the pause is over`, async () => {
    await using work = await openPendingWork();
    await startPause(work);
    work.relay.received.length = 0;
    assert.deepEqual(await work.sweepAll(), [0, 0, 0, 0]);
    assert.equal(work.relay.received.length, 0);
    work.endPause();
    assert.deepEqual(await work.sweepAll(), [1, 1, 1, 1]);
  });

  Deno.test(`gateway pause: after ${cause} every task that calls the gateway is postponed without counting an attempt`, async () => {
    await using work = await openPendingWork();
    const { app, relay } = work;
    assert.deepEqual(await work.sweepAll(), [1, 1, 1, 1]);
    await startPause(work);
    relay.received.length = 0;
    assert.equal(await runDueJobs(app), GATEWAY_TASKS.length);
    assert.equal(relay.received.length, 0);
    const jobs = await work.unfinishedJobs();
    assert.deepEqual(jobs.map(({ task }) => task), GATEWAY_TASKS);
    for (const { task, status, attempts, error, run_at } of jobs) {
      assert.deepEqual([status, attempts, error], ["queued", 0, null], task);
      assert.ok(run_at.getTime() > app.service.clock() + 50 * SECOND, task);
    }
    work.endPause();
    // A half-open breaker lets one call through; the other jobs run after it has closed.
    for (let rounds = 0; rounds < 3; rounds++, work.advance(2 * MINUTE)) {
      while (await runDueJobs(app) > 0);
    }
    const left = new Set((await work.unfinishedJobs()).map(({ id }) => id));
    assert.deepEqual(jobs.filter(({ id }) => left.has(id)), []);
  });
}
