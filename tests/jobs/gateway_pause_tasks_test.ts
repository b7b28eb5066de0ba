import assert from "node:assert/strict";
import { checkOverdueInvoices } from "../../core/invoices/check_overdue_invoices.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { expireStalePayments } from "../../core/payments/expire_stale_payments.ts";
import { syncSubscriptionStatus } from "../../core/subscriptions/sync_subscription_status.ts";
import type { GatewayJob } from "../../db/jobs.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { buildNotification, notify } from "../support/gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { savedCard } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { invoiceDue, MINUTE, parseInvoice, SECOND } from "../support/records/invoices.ts";
import { parseSubscription } from "../support/records/subscriptions.ts";

/** All tasks that call the gateway. */
const ASKING = [
  "check_invoice_status",
  "check_payment_status",
  "check_subscription_status",
  "expire_stale_payment",
  "process_charge_async",
  "process_notification",
  "process_refund_async",
];

/** The causes of a pause. */
const RESTS = {
  "a 429": async ({ app, relay }: Busy) => {
    relay.intercept = () =>
      Response.json({ status_code: "429" }, { status: 429, headers: { "Retry-After": "60" } });
    await assert.rejects(app.gateway.getStatus("any"), { name: "GatewayRateLimitError" });
    assert.ok(app.gateway.rateLimitPauseMs() > 0);
  },
  "an open breaker": async ({ app, relay }: Busy) => {
    relay.intercept = () => cutOff();
    for (let calls = 0; calls < 5; calls++) await assert.rejects(app.gateway.getStatus("any"));
    assert.equal(app.gateway.breakerState(), "open");
  },
};

/** A response whose body is cut off. */
function cutOff(): Response {
  const body = new ReadableStream({ start: (controller) => controller.close() });
  return new Response(body, { headers: { "Content-Length": "1000" } });
}

interface Busy extends RelayedPayments {
  pass(ms: number): void;
  /** Runs all sweeps; returns how many jobs each has queued. */
  sweepAll(): Promise<number[]>;
  /** The queued jobs, by task. */
  waiting(): Promise<GatewayJob[]>;
  /** The gateway works again, and the pause is over. */
  endRest(): void;
}

/**
 * A payment to check, one that has expired, an invoice and a subscription, all of them due;
 * a notification to process, and a queued charge and refund.
 */
async function openBusy(): Promise<Busy> {
  let ahead = 0;
  const now = () => Date.now() + ahead;
  const relayed = await openRelayed({
    now,
    gatewayOptions: { clock: now, wait: createWaits().wait },
  });
  const { app, relay, sandbox, post } = relayed;
  const looked = await relayed.charge("card_auth");
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
  ahead += 20 * MINUTE;

  relay.intercept = () => new Response("busy", { status: 503 });
  assert.equal((await notify(relayed, buildNotification(looked, "cancel"))).status, 200);
  relay.intercept = (_, pass) => pass();
  const charge = { payment_type: "gopay", gross_amount: 44_000 };
  for (
    const [path, body] of [["/charge/", charge], [`/payments/${paid.id}/refund/`, {}]] as const
  ) {
    assert.equal((await post(path, body, { Prefer: "respond-async" })).status, 202);
  }
  // Due only now, so that each is found by its own sweep.
  const due = new Date(now());
  await app.database.query((sql) =>
    sql`update gateway.payments set check_at = ${due} where check_at is not null`
  );
  await app.database.query((sql) => sql`update gateway.invoices set check_at = ${due}`);
  return {
    ...relayed,
    pass: (ms) => void (ahead += ms),
    sweepAll: async () => [
      await checkPendingPayments(app.deps),
      await expireStalePayments(app.deps),
      await checkOverdueInvoices(app.deps),
      await syncSubscriptionStatus(app.deps),
    ],
    async waiting() {
      const rows = await app.database.query((sql) =>
        sql<GatewayJob[]>`
          select * from gateway.jobs where status <> 'succeeded' order by task`
      );
      return [...rows];
    },
    endRest() {
      relay.intercept = (_, pass) => pass();
      ahead += MINUTE + 10 * SECOND;
    },
  };
}

for (const [rest, begin] of Object.entries(RESTS)) {
  Deno.test(`gateway pause: after ${rest} no sweep queues jobs until the pause is over`, async () => {
    await using busy = await openBusy();
    await begin(busy);
    busy.relay.received.length = 0;
    assert.deepEqual(await busy.sweepAll(), [0, 0, 0, 0]);
    assert.equal(busy.relay.received.length, 0);
    busy.endRest();
    assert.deepEqual(await busy.sweepAll(), [1, 1, 1, 1]);
  });

  Deno.test(`gateway pause: after ${rest} every task that calls the gateway is postponed without counting an attempt`, async () => {
    await using busy = await openBusy();
    const { app, relay } = busy;
    assert.deepEqual(await busy.sweepAll(), [1, 1, 1, 1]);
    await begin(busy);
    relay.received.length = 0;
    assert.equal(await runDueJobs(app), ASKING.length);
    assert.equal(relay.received.length, 0);
    const jobs = await busy.waiting();
    assert.deepEqual(jobs.map(({ task }) => task), ASKING);
    for (const { task, status, attempts, error, run_at } of jobs) {
      assert.deepEqual([status, attempts, error], ["queued", 0, null], task);
      assert.ok(run_at.getTime() > app.deps.clock() + 50 * SECOND, task);
    }
    busy.endRest();
    // A half-open breaker lets one call through; the others follow.
    for (let rounds = 0; rounds < 3; rounds++, busy.pass(2 * MINUTE)) {
      while (await runDueJobs(app) > 0);
    }
    const left = new Set((await busy.waiting()).map(({ id }) => id));
    assert.deepEqual(jobs.filter(({ id }) => left.has(id)), []);
  });
}
