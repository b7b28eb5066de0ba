import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { NotificationSchema } from "../../routes/notifications/schemas.ts";
import { createDatabase } from "../support/database/database.ts";
import {
  buildNotification,
  notify,
  notifyAndRead,
  sign,
} from "../support/gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import {
  type ChargeKind,
  openPayments,
  type Payment,
  type TestPayments,
} from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();

const STATUS = "GET /v2/:id/status";

/** How often `work` reads a status at the gateway. */
async function countChecks({ relay }: RelayedPayments, work: () => Promise<unknown>) {
  const before = relay.times(STATUS);
  await work();
  return relay.times(STATUS) - before;
}

/** Changes the transaction with the control API; returns the gateway's notification. */
async function notificationAfter(
  { sandbox }: TestPayments,
  { transaction_id }: Payment,
  control: string,
  body?: Json,
): Promise<Json> {
  await sandbox.waitForWebhooks();
  const sentBefore = sandbox.hooks.length;
  await sandbox.control(`transactions/${transaction_id}/${control}`, body);
  await sandbox.waitForWebhooks();
  const notification = sandbox.hooks.slice(sentBefore).at(-1);
  assert.ok(notification, "the gateway sent a notification");
  return notification.body;
}

async function latestNotification({ sandbox }: TestPayments): Promise<Json> {
  await sandbox.waitForWebhooks();
  return sandbox.hooks.at(-1)!.body;
}

Deno.test("notification: is stored, changes the payment and creates an event, without a call to the gateway", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const charged = await payments.charge("bca");
  const body = await notificationAfter(payments, charged, "pay");
  const checks = await countChecks(payments, async () => {
    const notification = await notifyAndRead(payments, body);
    assert.deepEqual([notification.status, notification.payment_id], ["processed", charged.id]);
    assert.equal(notification.error_message, null);
  });
  assert.equal(checks, 0, "it is consistent, so it is trusted");
  const paid = await payments.read(charged.id);
  assert.equal(paid.transaction_status, "settlement");
  assert.equal(paid.is_paid, true);
  assert.equal(paid.captured_amount, paid.gross_amount);
  assert.notEqual(paid.settlement_time, null);
  assert.deepEqual(await payments.transitions(charged.id), [
    ">pending charge",
    "pending>settlement notification",
  ]);
  assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
});

Deno.test("event: names the notification that caused it and contains the payment at that time", async () => {
  await using payments = await openPayments({ databaseUrl });
  const charged = await payments.charge("bca");
  const { id } = await notifyAndRead(payments, buildNotification(charged, "settlement"));
  const rows = await payments.app.database.query((sql) =>
    sql`select name, data from gateway.events where resource_id = ${charged.id} order by sequence`
  );
  const [received, settled] = rows.map(({ data }) => data);
  assert.equal(received.notification_id, null);
  assert.deepEqual(settled, { ...await payments.read(charged.id), notification_id: id });
});

/**
 * The charge, the reported status, the result of the notification, and the status of the payment.
 */
const TRUSTED: [ChargeKind, string, string, string][] = [
  ["bca", "pending", "duplicate", "pending"],
  ["bca", "settlement", "processed", "settlement"],
  ["gopay", "deny", "processed", "deny"],
  ["bca", "cancel", "processed", "cancel"],
  ["bca", "expire", "processed", "expire"],
  ["card_3ds", "capture", "processed", "capture"],
];

for (const [kind, reported, outcome, status] of TRUSTED) {
  Deno.test(`notification: gets status ${outcome} without a call to the gateway if it reports a ${kind} charge as ${reported}`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const charged = await payments.charge(kind);
    const checks = await countChecks(payments, async () => {
      assert.equal(
        (await notifyAndRead(payments, buildNotification(charged, reported))).status,
        outcome,
      );
    });
    assert.equal(checks, 0);
    assert.equal((await payments.read(charged.id)).transaction_status, status);
  });
}

Deno.test("notification: ignores the case of the transaction status", async () => {
  await using payments = await openPayments({ databaseUrl });
  const charged = await payments.charge("bca");
  const body = buildNotification(charged, "settlement", { transaction_status: "SETTLEMENT" });
  assert.equal((await notifyAndRead(payments, body)).status, "processed");
  assert.equal((await payments.read(charged.id)).transaction_status, "settlement");
});

/** Signed notifications that the service does not trust and the gateway does not confirm. */
const CHECKED: Record<string, [ChargeKind, (charged: Payment) => Json]> = {
  "a status that contradicts its status code": [
    "bca",
    (charged) => buildNotification(charged, "settlement", { status_code: "201" }),
  ],
  "a cancel with status code 200": [
    "bca",
    (charged) => buildNotification(charged, "cancel", { status_code: "200" }),
  ],
  "a challenge with the status code of a pending payment": [
    "card_3ds",
    (charged) => buildNotification(charged, "challenge"),
  ],
  "a settlement of a card payment without a capture": [
    "card_3ds",
    (charged) => buildNotification(charged, "settlement"),
  ],
  "a settlement of a captured card payment": [
    "card",
    (charged) => buildNotification(charged, "settlement"),
  ],
  "a capture of a bank transfer": ["bca", (charged) => buildNotification(charged, "capture")],
  "a DANA settlement with the status code of a pending payment": [
    "dana",
    (charged) => buildNotification(charged, "settlement"),
  ],
  "a settlement with refunds": [
    "gopay",
    (charged) =>
      buildNotification(charged, "settlement", {
        refunds: [{ refund_key: "mine", refund_amount: "44000.00" }],
      }),
  ],
  "a capture without a fraud status": [
    "card_3ds",
    (charged) => buildNotification(charged, "capture", { fraud_status: undefined }),
  ],
  "a settlement with fraud status deny": [
    "bca",
    (charged) => buildNotification(charged, "settlement", { fraud_status: "deny" }),
  ],
  "a deny with another fraud status": [
    "bca",
    (charged) => buildNotification(charged, "deny", { fraud_status: "deny" }),
  ],
  "another amount": [
    "bca",
    (charged) => buildNotification(charged, "settlement", { gross_amount: "1.00" }),
  ],
  "another currency": [
    "bca",
    (charged) => buildNotification(charged, "settlement", { currency: "USD" }),
  ],
  "a capture of an authorization": [
    "card_auth",
    (charged) => buildNotification(charged, "capture"),
  ],
  "a settlement of an authorization": [
    "card_auth",
    (charged) => buildNotification(charged, "settlement"),
  ],
  "a refund": [
    "bca",
    (charged) => buildNotification(charged, "refund", { refund_amount: charged.gross_amount }),
  ],
  "a chargeback": ["card", (charged) => buildNotification(charged, "chargeback")],
  "a deny of a captured card payment": ["card", (charged) => buildNotification(charged, "deny")],
  "a failure": ["bca", (charged) => buildNotification(charged, "failure", { status_code: "202" })],
  "an unknown status": ["bca", (charged) => buildNotification(charged, "teleported")],
};

for (const [name, [kind, body]] of Object.entries(CHECKED)) {
  Deno.test(`notification: ${name} is checked at the gateway, whose state wins`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const charged = await payments.charge(kind);
    const before = await payments.read(charged.id);
    const checks = await countChecks(payments, async () => {
      const { status } = await notifyAndRead(payments, body(charged));
      assert.ok(["duplicate", "stale"].includes(status), status);
    });
    assert.equal(checks, 1);
    const { updated_at: _, ...after } = await payments.read(charged.id);
    const { updated_at: __, ...known } = before;
    assert.deepEqual(after, known);
  });
}

Deno.test("NOTIFICATION_CONFIRM=paid: a payment becomes paid only after the gateway confirms it", async () => {
  await using payments = await openRelayed({ databaseUrl, env: { NOTIFICATION_CONFIRM: "paid" } });
  const charged = await payments.charge("bca");
  assert.equal(
    (await notifyAndRead(payments, buildNotification(charged, "settlement"))).status,
    "duplicate",
  );
  assert.equal((await payments.read(charged.id)).is_paid, false);
  const body = await notificationAfter(payments, charged, "pay");
  const checks = await countChecks(payments, async () => {
    assert.equal((await notifyAndRead(payments, body)).status, "processed");
  });
  assert.equal(checks, 1);
  assert.equal((await payments.read(charged.id)).is_paid, true);
  const otherPayment = await payments.charge("bca");
  const checksOfExpiry = await countChecks(
    payments,
    () => notifyAndRead(payments, buildNotification(otherPayment, "expire")),
  );
  assert.equal(checksOfExpiry, 0, "unpaid states are trusted");
});

Deno.test("notification: an amount with a fee is checked at the gateway, and the original amount is stored", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const charged = await payments.charge("bca");
  await payments.sandbox.control(`transactions/${charged.transaction_id}/pay`);
  const fee = {
    gross_amount: "46500.00",
    metadata: {
      payment_ref: charged.id,
      extra_info: {
        gross_amount_info: { original_amount: "44000.00", gross_amount: "46500.00" },
      },
    },
  };
  payments.relay.intercept = async (_request, pass) => {
    const response = await pass();
    return Response.json({ ...await response.json(), ...fee });
  };
  assert.equal(
    (await notifyAndRead(payments, buildNotification(charged, "settlement", fee))).status,
    "processed",
  );
  const paid = await payments.read(charged.id);
  assert.deepEqual(
    [paid.gross_amount, paid.captured_amount, paid.net_amount],
    ["44000.00", "44000.00", "44000.00"],
  );
});

Deno.test("notification: an expired payment becomes paid only if the gateway confirms it", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const charged = await payments.charge("bca");
  await notifyAndRead(payments, buildNotification(charged, "expire"));
  // At the gateway the payment is still pending, so it becomes pending here too, not paid.
  assert.equal(
    (await notifyAndRead(payments, buildNotification(charged, "settlement"))).status,
    "processed",
  );
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");
  await notifyAndRead(payments, buildNotification(charged, "expire"));
  await payments.sandbox.control(`transactions/${charged.transaction_id}/pay`);
  assert.equal(
    (await notifyAndRead(payments, buildNotification(charged, "settlement"))).status,
    "processed",
  );
  assert.equal((await payments.read(charged.id)).transaction_status, "settlement");
});

Deno.test("notification: a repeat is a duplicate, an earlier state is stale; both are stored without a call to the gateway", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const charged = await payments.charge("bca");
  await notifyAndRead(payments, buildNotification(charged, "settlement"));
  const { updated_at } = await payments.read(charged.id);
  const checks = await countChecks(payments, async () => {
    const again = await notifyAndRead(payments, buildNotification(charged, "settlement"));
    assert.deepEqual([again.status, again.payment_id], ["duplicate", charged.id]);
    const staleNotification = await notifyAndRead(payments, buildNotification(charged, "pending"));
    assert.deepEqual([staleNotification.status, staleNotification.payment_id], [
      "stale",
      charged.id,
    ]);
  });
  assert.equal(checks, 0);
  assert.equal((await payments.read(charged.id)).updated_at, updated_at);
  assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
});

Deno.test("notification: a refund made outside the service is read from the gateway and stored", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const paid = await payments.paid("gopay");
  const body = { refund_key: "dashboard-1", amount: 4_000, reason: "Sorry" };
  const sentBefore = payments.sandbox.hooks.length;
  await payments.sandbox.post(`/v2/${paid.transaction_id}/refund`, body);
  await payments.sandbox.waitForWebhooks();
  const notification = payments.sandbox.hooks.slice(sentBefore).at(-1)!.body;
  assert.equal(notification.transaction_status, "partial_refund");
  assert.equal((await notifyAndRead(payments, notification)).status, "processed");
  const { refund_amount, net_amount, refunds } = await payments.read(paid.id);
  assert.deepEqual([refund_amount, net_amount], ["4000.00", "40000.00"]);
  assert.deepEqual(refunds.map(({ refund_key, amount }) => [refund_key, amount]), [
    ["dashboard-1", "4000.00"],
  ]);
  assert.equal((await notifyAndRead(payments, notification)).status, "duplicate");
  assert.equal(
    (await payments.events(paid.id)).filter((name) => name === "payment_refunded").length,
    1,
  );
});

Deno.test("notification: finds the payment if it arrives before the response to the charge", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const held = payments.relay.holdAnswer("POST /v2/charge");
  const charging = payments.charge("bca", { metadata: { cart: "c-1" }, custom_fields: ["mine"] });
  await held.arrived;
  const body = await latestNotification(payments);
  assert.equal(body.transaction_status, "pending");
  const notification = await notifyAndRead(payments, body);
  assert.equal(notification.status, "processed");
  const settled = await notifyAndRead(
    payments,
    sign({ ...body, transaction_status: "settlement", status_code: "200" }),
  );
  assert.equal(settled.status, "processed");
  held.release();
  const charged = await charging;
  assert.equal(notification.payment_id, charged.id);
  assert.equal(charged.transaction_status, "settlement");
  assert.deepEqual(charged.metadata, { cart: "c-1" });
  assert.equal(charged.custom_field1, "mine");
  assert.ok(charged.va_number, "the payment details come from the response");
  assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
  const [{ payments: rows }] = await payments.app.database.query((sql) =>
    sql`select count(*)::int as payments from gateway.payments where order_id = ${charged.order_id}`
  ) as unknown as [{ payments: number }];
  assert.equal(rows, 1);
});

Deno.test("notification: a charge that was marked as failed becomes paid if the gateway created it late", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  payments.relay.intercept = (request, pass) =>
    request.target.endsWith("/charge") ? new Response(null, { status: 502 }) : pass();
  const problem = await assertProblem(
    await payments.post("/charge/", { payment_type: "gopay", gross_amount: 44_000 }),
    400,
    "gateway_error",
  );
  now += 20 * 60_000;
  await payments.check(problem.payment_id!);
  const failed = await payments.read(problem.payment_id!);
  assert.equal(failed.transaction_status, "failure");
  // The gateway created the charge late.
  payments.relay.intercept = (_request, pass) => pass();
  const created = await payments.sandbox.post("/v2/charge", {
    payment_type: "gopay",
    transaction_details: { order_id: failed.order_id, gross_amount: 44_000 },
    metadata: { payment_ref: failed.id },
  });
  await payments.sandbox.control(`transactions/${created.transaction_id}/pay`);
  const body = await latestNotification(payments);
  const notification = await notifyAndRead(payments, body);
  assert.deepEqual([notification.status, notification.payment_id], ["processed", failed.id]);
  const recovered = await payments.read(failed.id);
  assert.equal(recovered.transaction_status, "settlement");
  assert.equal(recovered.transaction_id, created.transaction_id);
});

Deno.test("notification: adopts a transaction created outside the service, visible to staff, but not to users", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const order_id = `elsewhere-${randomUUID()}`;
  const created = await payments.sandbox.post("/v2/charge", {
    payment_type: "bank_transfer",
    bank_transfer: { bank: "bni" },
    transaction_details: { order_id, gross_amount: 70_000 },
    custom_field1: "from a link",
  });
  await payments.sandbox.control(`transactions/${created.transaction_id}/pay`);
  const body = await latestNotification(payments);
  const notification = await notifyAndRead(payments, body);
  assert.equal(notification.status, "processed");
  const id = notification.payment_id!;
  const adopted = await (await payments.get(`/payments/${id}/`, staff)).json();
  assert.deepEqual(
    [adopted.order_id, adopted.transaction_id, adopted.gross_amount, adopted.transaction_status],
    [order_id, created.transaction_id, "70000.00", "settlement"],
  );
  assert.deepEqual([adopted.bank, adopted.custom_field1], ["bni", "from a link"]);
  await assertProblem(await payments.get(`/payments/${id}/`), 404, "not_found");
  assert.deepEqual(await payments.transitions(id), [
    ">pending notification",
    "pending>settlement notification",
  ]);
  assert.deepEqual(await payments.events(id), ["payment_settled"]);
  assert.equal((await notifyAndRead(payments, body)).status, "duplicate");
});

Deno.test("notification: with an unknown transaction id, does not change the payment that has its order id", async () => {
  await using payments = await openRelayed({ databaseUrl });
  await payments.sandbox.control("settings", { reuse_order_id_after_deny: true }, "PATCH")
    .catch(() => {});
  const charged = await payments.charge("gopay");
  const body = buildNotification({ ...charged, transaction_id: randomUUID() }, "settlement");
  const notification = await notifyAndRead(payments, body);
  assert.deepEqual([notification.status, notification.payment_id], ["unmatched", null]);
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");
});

Deno.test("notification: is unmatched and answered with 200 if the gateway does not know the transaction", async () => {
  await using payments = await openPayments({ databaseUrl });
  const unknownPayment = {
    id: randomUUID(),
    order_id: `unknown-${randomUUID()}`,
    transaction_id: randomUUID(),
    gross_amount: "10000.00",
    payment_type: "gopay",
  };
  const notification = await notifyAndRead(
    payments,
    buildNotification(unknownPayment, "settlement"),
  );
  assert.deepEqual([notification.status, notification.payment_id], ["unmatched", null]);
});

Deno.test("GET /notifications/{pk}/: staff and viewers read one, other callers get forbidden", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const viewer = await app.createKey({ userId: "audit", isViewer: true });
  const charged = await payments.charge("bca");
  const stored = await notifyAndRead(payments, buildNotification(charged, "settlement"));
  const path = `/notifications/${stored.id}/`;
  for (const key of [staff, viewer]) {
    const read = await payments.get(path, key);
    assert.equal(read.status, 200, await read.clone().text());
    const notification = NotificationSchema.parse(await read.json());
    assert.deepEqual(
      [notification.id, notification.payment_id, notification.status],
      [stored.id, charged.id, "processed"],
    );
  }
  await assertProblem(await payments.get(path), 403, "forbidden");
  for (const id of [charged.id, "17"]) {
    await assertProblem(await payments.get(`/notifications/${id}/`, staff), 404, "not_found");
  }
});

Deno.test("notification: its customer details are not stored; unknown fields are", async () => {
  await using payments = await openPayments({ databaseUrl });
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const charged = await payments.charge("bca");
  await notifyAndRead(
    payments,
    buildNotification(charged, "settlement", {
      customer_details: { email: "budi@shop.example", full_name: "Budi Santoso" },
      pop_id: "a-new-member",
    }),
  );
  const list = await payments.get(`/notifications/?order_id=${charged.order_id}`, staff);
  const [{ raw_payload }] = await list.json();
  assert.deepEqual([raw_payload.customer_details, raw_payload.pop_id], [undefined, "a-new-member"]);
});

Deno.test("notification: neither its signature nor tokens in it are stored or returned", async () => {
  await using payments = await openPayments({ databaseUrl });
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const charged = await payments.charge("bca");
  const body = buildNotification(charged, "settlement", {
    saved_token_id: "481111-token-of-a-card",
    nested: { token_id: "another-token", card_number: "4811111111111114", note: "ok\u0000" },
    masked_card: "481111-1114",
    metadata: { subscription_ref: "01a1edb7-1925-7236-9178-5d5a6e196fa8" },
  });
  const { id } = await notifyAndRead(payments, body);
  const list = await payments.get(`/notifications/?order_id=${charged.order_id}`, staff);
  const text = await list.text();
  for (
    const secret of [body.signature_key, "token-of-a-card", "another-token", "4811111111111114"]
  ) {
    assert.ok(!text.includes(secret), secret);
  }
  const [shownNotification] = NotificationSchema.array().parse(JSON.parse(text));
  assert.equal(shownNotification!.id, id);
  assert.equal(shownNotification!.raw_payload.masked_card, "481111-1114");
  // The job that processes the notification needs this UUID, whose digits look like a card number.
  assert.deepEqual(shownNotification!.raw_payload.metadata, body.metadata);
  assert.deepEqual(shownNotification!.raw_payload.nested, { note: "ok" });
  assert.equal(shownNotification!.raw_payload.order_id, charged.order_id);
});

/** Kinds of notifications without a documented signature. */
const UNSIGNED: Record<string, Json> = {
  "a charge of a subscription": {
    event_name: "subscription.charge",
    transaction: {
      transaction_status: "capture",
      transaction_id: randomUUID(),
      status_code: "200",
    },
    subscription: { id: randomUUID(), status: "active" },
  },
  "a subscription": {
    id: randomUUID(),
    name: "S",
    schedule: { interval: 1 },
    status: "active",
  },
  "a linked account": {
    account_id: randomUUID(),
    account_status: "ENABLED",
    status_code: "200",
    signature_key: "invalid",
  },
};

for (const [name, body] of Object.entries(UNSIGNED)) {
  Deno.test(`notification: ${name} that the service does not know is accepted without being stored and without a call to the gateway`, async () => {
    await using payments = await openRelayed({ databaseUrl: await createDatabase() });
    const response = await notify(payments, body);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { status: "ok", notification_id: null });
    const [{ rows }] = await payments.app.database.query((sql) =>
      sql`select count(*)::int as rows from gateway.notifications`
    ) as unknown as [{ rows: number }];
    assert.equal(rows, 0);
    assert.deepEqual(payments.relay.asked(), []);
  });
}

Deno.test("notification: is stored and finished by a job if the gateway cannot be reached in time", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const charged = await payments.charge("card_auth");
  await payments.sandbox.control(`transactions/${charged.transaction_id}/cancel`).catch(() =>
    payments.sandbox.post(`/v2/${charged.transaction_id}/cancel`)
  );
  payments.relay.intercept = () => new Response("busy", { status: 503 });
  const notification = await notifyAndRead(payments, buildNotification(charged, "cancel"));
  assert.deepEqual([notification.status, notification.payment_id], ["received", null]);
  assert.equal((await jobsOf(payments.app, notification.id)).length, 1);
  payments.relay.intercept = (_request, pass) => pass();
  await runDueJobs(payments.app);
  assert.equal((await payments.read(charged.id)).transaction_status, "cancel");
  const [after] = await payments.app.database.query((sql) =>
    sql`select status, payment_id from gateway.notifications where id = ${notification.id}`
  );
  assert.deepEqual({ ...after }, { status: "processed", payment_id: charged.id });
});

Deno.test("notification replay: checks at the gateway and applies the gateway's state", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const order_id = `late-${randomUUID()}`;
  const unknownPayment = {
    id: randomUUID(),
    order_id,
    transaction_id: null,
    gross_amount: "44000.00",
    payment_type: "gopay",
  };
  const notification = await notifyAndRead(payments, buildNotification(unknownPayment, "pending"));
  assert.equal(notification.status, "unmatched");
  const created = await payments.sandbox.post("/v2/charge", {
    payment_type: "gopay",
    transaction_details: { order_id, gross_amount: 44_000 },
  });
  const path = `/notifications/${notification.id}/replay/`;
  await assertProblem(await payments.post(path), 403, "forbidden");
  const replayed = await payments.post(path, undefined, {}, staff);
  assert.equal(replayed.status, 200);
  const shownNotification = NotificationSchema.parse(await replayed.json());
  assert.equal(shownNotification.status, "processed");
  const adopted = await (await payments.get(`/payments/${shownNotification.payment_id}/`, staff))
    .json();
  assert.equal(adopted.transaction_id, created.transaction_id);
  const again = await payments.post(path, undefined, {}, staff);
  assert.equal(NotificationSchema.parse(await again.json()).status, "duplicate");
  payments.relay.intercept = () => new Response("busy", { status: 503 });
  await assertProblem(await payments.post(path, undefined, {}, staff), 400, "gateway_error");
  await assertProblem(
    await payments.post(`/notifications/${randomUUID()}/replay/`, undefined, {}, staff),
    404,
    "not_found",
  );
});
