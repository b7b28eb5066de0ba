import assert from "node:assert/strict";
import { displayPrefix } from "../../core/secrets/api_key.ts";
import { readTimeline } from "../../core/reports/timelines.ts";
import { findSentNotification } from "../support/gateway/notifications.ts";
import { type Json, savedCard } from "../support/gateway/sandbox.ts";
import { openPayments, type Payment, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

interface Timelines extends TestPayments {
  staff: string;
  viewer: string;
  timeline(path: string, key?: string): Promise<Json>;
  /** Pays at the gateway, and sends the gateway's notification to the service. */
  payAndNotify(payment: Payment): Promise<void>;
}

async function openTimelines(): Promise<Timelines> {
  const payments = await openPayments();
  const { app, get, post, sandbox } = payments;
  return {
    ...payments,
    staff: await app.createKey({ userId: "ops", isStaff: true }),
    viewer: await app.createKey({ userId: "vera", isViewer: true }),
    async timeline(path, key) {
      const response = await get(`/timelines/${path}/`, key);
      assert.equal(response.status, 200, await response.clone().text());
      return await response.json();
    },
    async payAndNotify({ transaction_id, order_id }) {
      await sandbox.control(`transactions/${transaction_id}/pay`);
      const body = await findSentNotification(payments, order_id, "settlement");
      assert.equal((await post("/notification/", body)).status, 200);
    },
  };
}

/** Each entry in short: `transition pending>settlement notification`, `event payment_settled`. */
function shorten({ entries }: Json): string[] {
  return entries.map((entry: Json) => {
    const details = entry[entry.type];
    const others = ["transition", "refund", "notification", "event"]
      .filter((type) => type !== entry.type);
    for (const other of others) assert.equal(entry[other], null, `${entry.type} has ${other}`);
    const text = {
      transition: () => `${details.from_status ?? ""}>${details.to_status} ${details.source}`,
      refund: () => `${details.amount} ${details.status}`,
      notification: () => `${details.transaction_status} ${details.status}`,
      event: () => details.name,
    }[entry.type as string]!();
    return `${entry.type} ${text}`;
  });
}

Deno.test("payment timeline: shows the charge, the notification, the transition, the event and the refund in order", async () => {
  await using payments = await openTimelines();
  const { staff, key } = payments;
  const endpoint = await payments.post(
    "/webhook-endpoints/",
    { url: "https://shop.example/" },
    {},
    staff,
  );
  const { id: endpointId } = await endpoint.json();
  const payment = await payments.charge("gopay");
  await payments.payAndNotify(payment);
  const refund = await payments.post(`/payments/${payment.id}/refund/`, { amount: 4_000 });
  assert.equal(refund.status, 200);
  await payments.app.publishEvents();
  const timeline = await payments.timeline(`payments/${payment.id}`, staff);
  assert.deepEqual(
    [timeline.resource, timeline.id, timeline.is_complete],
    ["payment", payment.id, true],
  );
  assert.deepEqual(shorten(timeline), [
    "transition >pending charge",
    "event payment_received",
    "notification settlement processed",
    "transition pending>settlement notification",
    "event payment_settled",
    "refund 4000.00 succeeded",
    "transition settlement>partial_refund refund",
    "event payment_refunded",
  ]);
  for (const { payment_id } of timeline.entries) assert.equal(payment_id, payment.id);
  const [created, , notified, settled, event, refunded] = timeline.entries;
  const caller = `api_key:${displayPrefix(key)}`;
  assert.equal(created.transition.actor, caller);
  assert.equal(settled.transition.actor, `notification:${notified.notification.id}`);
  assert.equal(refunded.refund.created_by, caller);
  const [delivery, ...others] = event.event.deliveries;
  assert.equal(others.length, 0);
  assert.deepEqual(
    [delivery.endpoint_id, delivery.status, delivery.attempts],
    [endpointId, "pending", 0],
  );
  assert.deepEqual(await payments.timeline(`payments/${payment.id}`, payments.viewer), timeline);
});

Deno.test("payment timeline: hides actors and webhook endpoints from the owner", async () => {
  await using payments = await openTimelines();
  await payments.post("/webhook-endpoints/", { url: "https://shop.example/" }, {}, payments.staff);
  const payment = await payments.charge("gopay");
  await payments.payAndNotify(payment);
  await payments.app.publishEvents();
  await payments.app.database.query((sql) =>
    sql`update gateway.webhook_deliveries set status_code = 500, error = 'boom'`
  );
  const timeline = await payments.timeline(`payments/${payment.id}`);
  const text = JSON.stringify(timeline);
  assert.doesNotMatch(text, /api_key:|notification:|boom|"status_code":[^n]/);
  const deliveries = timeline.entries.flatMap(({ event }: Json) => event?.deliveries ?? []);
  assert.ok(deliveries.length > 0);
  for (const { endpoint_id, status } of deliveries) {
    assert.deepEqual([endpoint_id, status], [null, "pending"]);
  }
});

Deno.test("payment timeline: shows an unmatched notification of the order to staff, but not to the owner", async () => {
  await using payments = await openTimelines();
  const payment = await payments.charge("gopay");
  await payments.app.database.query((sql) =>
    sql`insert into gateway.notifications
      (id, order_id, transaction_status, status_code, gross_amount, status, error_message,
        raw_payload, created_at)
      values (gen_random_uuid(), ${payment.order_id}, 'settlement', '200', '1.00', 'unmatched',
        'It differs.', '{}', now())`
  );
  const path = `payments/${payment.id}`;
  const unmatched = "notification settlement unmatched";
  assert.ok(!shorten(await payments.timeline(path)).includes(unmatched));
  const seen = await payments.timeline(path, payments.staff);
  assert.ok(shorten(seen).includes(unmatched));
  const { notification, payment_id } = seen.entries.at(-1);
  assert.deepEqual([notification.error_message, payment_id], ["It differs.", null]);
});

Deno.test("timelines: another user's record gets the same 404 as a missing one", async () => {
  await using payments = await openTimelines();
  const { app, sandbox } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const payment = await payments.charge();
  const invoice = await (await payments.post("/invoices/", {
    customer_name: "Budi",
    due_date: "2099-12-31",
    items: [{ description: "Beans", price: 75_000, quantity: 1 }],
  })).json();
  const subscription = await (await payments.post("/subscriptions/", {
    name: "coffee-club",
    amount: 150_000,
    payment_type: "credit_card",
    token: await savedCard(sandbox),
    interval: 1,
    interval_unit: "month",
  })).json();
  const records = { payments: payment, invoices: invoice, subscriptions: subscription };
  for (const [kind, { id }] of Object.entries(records)) {
    await payments.timeline(`${kind}/${id}`);
    for (const wrong of [id, crypto.randomUUID(), "order-1"]) {
      const response = await payments.get(`/timelines/${kind}/${wrong}/`, bob);
      await assertProblem(response, 404, "not_found");
    }
  }
});

Deno.test("invoice timeline: contains the entries of its payments, each with the id of the payment", async () => {
  await using payments = await openTimelines();
  const { app, post } = payments;
  const invoice = await (await post("/invoices/", {
    customer_name: "Budi",
    due_date: "2099-12-31",
    items: [{ description: "Beans", price: 44_000, quantity: 1 }],
  })).json();
  const payment = await payments.charge("gopay");
  await app.database.query((sql) =>
    sql`update gateway.payments set invoice_id = ${invoice.id} where id = ${payment.id}`
  );
  await payments.payAndNotify(payment);
  const { entries } = await payments.timeline(`invoices/${invoice.id}`);
  assert.deepEqual(
    entries.filter(({ payment_id }: Json) => payment_id === null).map(({ type }: Json) => type),
    ["transition", "transition", "event"],
  );
  const ofPayment = entries.filter(({ payment_id }: Json) => payment_id === payment.id);
  assert.deepEqual(shorten({ entries: ofPayment }), [
    "transition >pending charge",
    "event payment_received",
    "notification settlement processed",
    "transition pending>settlement notification",
    "event payment_settled",
  ]);
});

Deno.test("timeline: with more entries than the limit, it contains the newest and says that it is not complete", async () => {
  await using payments = await openTimelines();
  const payment = await payments.paid("gopay");
  const caller = {
    userId: "alice",
    isStaff: false,
    isViewer: false,
    credential: "api_key",
    keyPrefix: null,
  } as const;
  const limits = { entries: 1, payments: 1 };
  const timeline = await readTimeline(payments.app.service, caller, "payment", payment.id, limits);
  assert.equal(timeline.is_complete, false);
  assert.deepEqual(shorten(timeline), [
    "transition pending>settlement check_status",
    "event payment_settled",
  ]);
});
