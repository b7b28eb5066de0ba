import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { NotificationSchema } from "../../routes/notifications/schemas.ts";
import { createDatabase } from "../support/database/database.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { notified, notify, sign, telling } from "../support/gateway/notifications.ts";
import {
  type ChargeKind,
  openPayments,
  type Payment,
  type TestPayments,
} from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";

const databaseUrl = await createDatabase();

const STATUS = "GET /v2/:id/status";

/** How often the gateway was asked by what `work` does. */
async function asksDuring({ relay }: RelayedPayments, work: () => Promise<unknown>) {
  const before = relay.times(STATUS);
  await work();
  return relay.times(STATUS) - before;
}

/** The gateway's own notification of what happens to a transaction there. */
async function toldBy(
  { sandbox }: TestPayments,
  { transaction_id }: Payment,
  control: string,
  body?: Json,
): Promise<Json> {
  await sandbox.settled();
  const known = sandbox.hooks.length;
  await sandbox.control(`transactions/${transaction_id}/${control}`, body);
  await sandbox.settled();
  const told = sandbox.hooks.slice(known).at(-1);
  assert.ok(told, "the gateway told of it");
  return told.body;
}

async function latestHook({ sandbox }: TestPayments): Promise<Json> {
  await sandbox.settled();
  return sandbox.hooks.at(-1)!.body;
}

Deno.test("what the gateway tells is recorded, changes the payment and is told on, at once", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const charged = await payments.charge("bca");
  const body = await toldBy(payments, charged, "pay");
  const asks = await asksDuring(payments, async () => {
    const told = await notified(payments, body);
    assert.deepEqual([told.status, told.payment_id], ["processed", charged.id]);
    assert.equal(told.error_message, null);
  });
  assert.equal(asks, 0, "it fits, so nobody is asked");
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

Deno.test("an event that a notification brought about names it, and holds the payment as it is then", async () => {
  await using payments = await openPayments({ databaseUrl });
  const charged = await payments.charge("bca");
  const { id } = await notified(payments, telling(charged, "settlement"));
  const rows = await payments.app.database.query((sql) =>
    sql`select name, data from gateway.events where resource_id = ${charged.id} order by sequence`
  );
  const [received, settled] = rows.map(({ data }) => data);
  assert.equal(received.notification_id, null);
  assert.deepEqual(settled, { ...await payments.read(charged.id), notification_id: id });
});

/** What is charged, what is told of it, what comes of that, and what the payment is then. */
const BELIEVED: [ChargeKind, string, string, string][] = [
  ["bca", "pending", "duplicate", "pending"],
  ["bca", "settlement", "processed", "settlement"],
  ["gopay", "deny", "processed", "deny"],
  ["bca", "cancel", "processed", "cancel"],
  ["bca", "expire", "processed", "expire"],
  ["card_3ds", "capture", "processed", "capture"],
];

for (const [kind, told, outcome, status] of BELIEVED) {
  Deno.test(`a ${kind} charge that is told to be ${told} is ${outcome}, without asking`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const charged = await payments.charge(kind);
    const asks = await asksDuring(payments, async () => {
      assert.equal((await notified(payments, telling(charged, told))).status, outcome);
    });
    assert.equal(asks, 0);
    assert.equal((await payments.read(charged.id)).transaction_status, status);
  });
}

Deno.test("statuses are the same in whatever case", async () => {
  await using payments = await openPayments({ databaseUrl });
  const charged = await payments.charge("bca");
  const body = telling(charged, "settlement", { transaction_status: "SETTLEMENT" });
  assert.equal((await notified(payments, body)).status, "processed");
  assert.equal((await payments.read(charged.id)).transaction_status, "settlement");
});

/** Signed, but not to be believed: the gateway says that nothing of it is so. */
const DOUBTED: Record<string, [ChargeKind, (charged: Payment) => Json]> = {
  "a status that its code does not mean": [
    "bca",
    (charged) => telling(charged, "settlement", { status_code: "201" }),
  ],
  "a cancel with the code of a payment": [
    "bca",
    (charged) => telling(charged, "cancel", { status_code: "200" }),
  ],
  "a challenge, of which the code says no more than that it waits": [
    "card_3ds",
    (charged) => telling(charged, "challenge"),
  ],
  "a card that was settled without a capture": [
    "card_3ds",
    (charged) => telling(charged, "settlement"),
  ],
  "a card that was captured and is settled": ["card", (charged) => telling(charged, "settlement")],
  "a capture of what is no card": ["bca", (charged) => telling(charged, "capture")],
  "a payment by DANA, which has the same code when it waits": [
    "dana",
    (charged) => telling(charged, "settlement"),
  ],
  "a settlement with refunds in it": [
    "gopay",
    (charged) =>
      telling(charged, "settlement", {
        refunds: [{ refund_key: "mine", refund_amount: "44000.00" }],
      }),
  ],
  "a capture that fraud detection said nothing of": [
    "card_3ds",
    (charged) => telling(charged, "capture", { fraud_status: undefined }),
  ],
  "a settlement that fraud detection denies": [
    "bca",
    (charged) => telling(charged, "settlement", { fraud_status: "deny" }),
  ],
  "another amount": ["bca", (charged) => telling(charged, "settlement", { gross_amount: "1.00" })],
  "another currency": ["bca", (charged) => telling(charged, "settlement", { currency: "USD" })],
  "a hold that is captured": ["card_auth", (charged) => telling(charged, "capture")],
  "a hold that is settled": ["card_auth", (charged) => telling(charged, "settlement")],
  "a refund": [
    "bca",
    (charged) => telling(charged, "refund", { refund_amount: charged.gross_amount }),
  ],
  "a chargeback": ["card", (charged) => telling(charged, "chargeback")],
  "a card that was captured and is denied": ["card", (charged) => telling(charged, "deny")],
  "a failure": ["bca", (charged) => telling(charged, "failure", { status_code: "202" })],
  "a state that nobody knows": ["bca", (charged) => telling(charged, "teleported")],
};

for (const [what, [kind, body]] of Object.entries(DOUBTED)) {
  Deno.test(`${what} is asked about, and the gateway's word counts`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const charged = await payments.charge(kind);
    const before = await payments.read(charged.id);
    const asks = await asksDuring(payments, async () => {
      const { status } = await notified(payments, body(charged));
      assert.ok(["duplicate", "stale"].includes(status), status);
    });
    assert.equal(asks, 1);
    const { updated_at: _, ...after } = await payments.read(charged.id);
    const { updated_at: __, ...known } = before;
    assert.deepEqual(after, known);
  });
}

Deno.test("with NOTIFICATION_CONFIRM=paid the gateway is asked before anything is paid", async () => {
  await using payments = await openRelayed({ databaseUrl, env: { NOTIFICATION_CONFIRM: "paid" } });
  const charged = await payments.charge("bca");
  assert.equal((await notified(payments, telling(charged, "settlement"))).status, "duplicate");
  assert.equal((await payments.read(charged.id)).is_paid, false);
  const body = await toldBy(payments, charged, "pay");
  const asks = await asksDuring(payments, async () => {
    assert.equal((await notified(payments, body)).status, "processed");
  });
  assert.equal(asks, 1);
  assert.equal((await payments.read(charged.id)).is_paid, true);
  const other = await payments.charge("bca");
  const none = await asksDuring(payments, () => notified(payments, telling(other, "expire")));
  assert.equal(none, 0, "that nothing was paid is believed");
});

Deno.test("a fee on top makes another amount: the gateway is asked, and the ledger has the original", async () => {
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
  assert.equal((await notified(payments, telling(charged, "settlement", fee))).status, "processed");
  const paid = await payments.read(charged.id);
  assert.deepEqual(
    [paid.gross_amount, paid.captured_amount, paid.net_amount],
    ["44000.00", "44000.00", "44000.00"],
  );
});

Deno.test("a payment that expired is paid after all only when the gateway itself says so", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const charged = await payments.charge("bca");
  await notified(payments, telling(charged, "expire"));
  // The gateway has it as pending, so that it never expired.
  assert.equal((await notified(payments, telling(charged, "settlement"))).status, "processed");
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");
  await notified(payments, telling(charged, "expire"));
  await payments.sandbox.control(`transactions/${charged.transaction_id}/pay`);
  assert.equal((await notified(payments, telling(charged, "settlement"))).status, "processed");
  assert.equal((await payments.read(charged.id)).transaction_status, "settlement");
});

Deno.test("the same again is a duplicate, what steps back is stale; both are kept and ask nobody", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const charged = await payments.charge("bca");
  await notified(payments, telling(charged, "settlement"));
  const { updated_at } = await payments.read(charged.id);
  const asks = await asksDuring(payments, async () => {
    const again = await notified(payments, telling(charged, "settlement"));
    assert.deepEqual([again.status, again.payment_id], ["duplicate", charged.id]);
    const late = await notified(payments, telling(charged, "pending"));
    assert.deepEqual([late.status, late.payment_id], ["stale", charged.id]);
  });
  assert.equal(asks, 0);
  assert.equal((await payments.read(charged.id)).updated_at, updated_at);
  assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
});

Deno.test("refunds that are told of are fetched: those of the dashboard become rows, too", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const paid = await payments.paid("gopay");
  const body = { refund_key: "dashboard-1", amount: 4_000, reason: "Sorry" };
  const known = payments.sandbox.hooks.length;
  await payments.sandbox.post(`/v2/${paid.transaction_id}/refund`, body);
  await payments.sandbox.settled();
  const told = payments.sandbox.hooks.slice(known).at(-1)!.body;
  assert.equal(told.transaction_status, "partial_refund");
  assert.equal((await notified(payments, told)).status, "processed");
  const { refund_amount, net_amount, refunds } = await payments.read(paid.id);
  assert.deepEqual([refund_amount, net_amount], ["4000.00", "40000.00"]);
  assert.deepEqual(refunds.map(({ refund_key, amount }) => [refund_key, amount]), [
    ["dashboard-1", "4000.00"],
  ]);
  assert.equal((await notified(payments, told)).status, "duplicate");
  assert.equal(
    (await payments.events(paid.id)).filter((name) => name === "payment_refunded").length,
    1,
  );
});

Deno.test("a notification that overtakes the answer to the charge finds the payment waiting", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const held = payments.relay.holdAnswer("POST /v2/charge");
  const charging = payments.charge("bca", { metadata: { cart: "c-1" }, custom_fields: ["mine"] });
  await held.arrived;
  const body = await latestHook(payments);
  assert.equal(body.transaction_status, "pending");
  const told = await notified(payments, body);
  assert.equal(told.status, "processed");
  const settled = await notified(
    payments,
    sign({ ...body, transaction_status: "settlement", status_code: "200" }),
  );
  assert.equal(settled.status, "processed");
  held.release();
  const charged = await charging;
  assert.equal(told.payment_id, charged.id);
  assert.equal(charged.transaction_status, "settlement");
  assert.deepEqual(charged.metadata, { cart: "c-1" });
  assert.equal(charged.custom_field1, "mine");
  assert.ok(charged.va_number, "what the customer pays with came with the answer");
  assert.deepEqual(await payments.events(charged.id), ["payment_received", "payment_settled"]);
  const [{ payments: rows }] = await payments.app.database.query((sql) =>
    sql`select count(*)::int as payments from gateway.payments where order_id = ${charged.order_id}`
  ) as unknown as [{ payments: number }];
  assert.equal(rows, 1);
});

Deno.test("a charge that was given up and made after all comes back with its notification", async () => {
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
  const given = await payments.read(problem.payment_id!);
  assert.equal(given.transaction_status, "failure");
  // The gateway had it in its line all the while.
  payments.relay.intercept = (_request, pass) => pass();
  const made = await payments.sandbox.post("/v2/charge", {
    payment_type: "gopay",
    transaction_details: { order_id: given.order_id, gross_amount: 44_000 },
    metadata: { payment_ref: given.id },
  });
  await payments.sandbox.control(`transactions/${made.transaction_id}/pay`);
  const body = await latestHook(payments);
  const told = await notified(payments, body);
  assert.deepEqual([told.status, told.payment_id], ["processed", given.id]);
  const back = await payments.read(given.id);
  assert.equal(back.transaction_status, "settlement");
  assert.equal(back.transaction_id, made.transaction_id);
});

Deno.test("a transaction that was made elsewhere is adopted, for staff alone to see", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const order_id = `elsewhere-${randomUUID()}`;
  const made = await payments.sandbox.post("/v2/charge", {
    payment_type: "bank_transfer",
    bank_transfer: { bank: "bni" },
    transaction_details: { order_id, gross_amount: 70_000 },
    custom_field1: "from a link",
  });
  await payments.sandbox.control(`transactions/${made.transaction_id}/pay`);
  const body = await latestHook(payments);
  const told = await notified(payments, body);
  assert.equal(told.status, "processed");
  const id = told.payment_id!;
  const adopted = await (await payments.get(`/payments/${id}/`, staff)).json();
  assert.deepEqual(
    [adopted.order_id, adopted.transaction_id, adopted.gross_amount, adopted.transaction_status],
    [order_id, made.transaction_id, "70000.00", "settlement"],
  );
  assert.deepEqual([adopted.bank, adopted.custom_field1], ["bni", "from a link"]);
  await assertProblem(await payments.get(`/payments/${id}/`), 404, "not_found");
  assert.deepEqual(await payments.transitions(id), [
    ">pending notification",
    "pending>settlement notification",
  ]);
  assert.deepEqual(await payments.events(id), ["payment_settled"]);
  assert.equal((await notified(payments, body)).status, "duplicate");
});

Deno.test("another transaction of a known order is another payment, and changes nothing of the first", async () => {
  await using payments = await openRelayed({ databaseUrl });
  await payments.sandbox.control("settings", { reuse_order_id_after_deny: true }, "PATCH")
    .catch(() => {});
  const charged = await payments.charge("gopay");
  const body = telling({ ...charged, transaction_id: randomUUID() }, "settlement");
  const told = await notified(payments, body);
  assert.deepEqual([told.status, told.payment_id], ["unmatched", null]);
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");
});

Deno.test("what the gateway itself knows nothing of is unmatched, and answered with 200", async () => {
  await using payments = await openPayments({ databaseUrl });
  const stranger = {
    id: randomUUID(),
    order_id: `nobodys-${randomUUID()}`,
    transaction_id: randomUUID(),
    gross_amount: "10000.00",
    payment_type: "gopay",
  };
  const told = await notified(payments, telling(stranger, "settlement"));
  assert.deepEqual([told.status, told.payment_id], ["unmatched", null]);
});

Deno.test("no signature and no token is kept of a notification, or shown", async () => {
  await using payments = await openPayments({ databaseUrl });
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const charged = await payments.charge("bca");
  const body = telling(charged, "settlement", {
    saved_token_id: "481111-token-of-a-card",
    nested: { token_id: "another-token", card_number: "4811111111111114", note: "ok\u0000" },
    masked_card: "481111-1114",
  });
  const { id } = await notified(payments, body);
  const list = await payments.get(`/notifications/?order_id=${charged.order_id}`, staff);
  const text = await list.text();
  for (
    const secret of [body.signature_key, "token-of-a-card", "another-token", "4811111111111114"]
  ) {
    assert.ok(!text.includes(secret), secret);
  }
  const [shown] = NotificationSchema.array().parse(JSON.parse(text));
  assert.equal(shown!.id, id);
  assert.equal(shown!.raw_payload.masked_card, "481111-1114");
  assert.deepEqual(shown!.raw_payload.nested, { note: "ok" });
  assert.equal(shown!.raw_payload.order_id, charged.order_id);
});

/** Of the kinds that the gateway signs in no known way, if at all. */
const UNSIGNED: Record<string, Json> = {
  "a cycle of a subscription": {
    event_name: "subscription.charge",
    transaction: {
      transaction_status: "capture",
      transaction_id: randomUUID(),
      status_code: "200",
    },
    subscription: { id: randomUUID(), status: "active" },
  },
  "a bare subscription": {
    id: randomUUID(),
    name: "S",
    schedule: { interval: 1 },
    status: "active",
  },
  "a linked account": {
    account_id: randomUUID(),
    account_status: "ENABLED",
    status_code: "200",
    signature_key: "whatever",
  },
};

for (const [what, body] of Object.entries(UNSIGNED)) {
  Deno.test(`${what} that is not known here is taken, and nothing is kept or asked`, async () => {
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

Deno.test("a gateway that cannot be asked in time costs nothing: taken, kept, and finished by a job", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const charged = await payments.charge("card_auth");
  await payments.sandbox.control(`transactions/${charged.transaction_id}/cancel`).catch(() =>
    payments.sandbox.post(`/v2/${charged.transaction_id}/cancel`)
  );
  payments.relay.intercept = () => new Response("busy", { status: 503 });
  const told = await notified(payments, telling(charged, "cancel"));
  assert.deepEqual([told.status, told.payment_id], ["received", null]);
  assert.equal((await jobsOf(payments.app, told.id)).length, 1);
  payments.relay.intercept = (_request, pass) => pass();
  await runDueJobs(payments.app);
  assert.equal((await payments.read(charged.id)).transaction_status, "cancel");
  const [after] = await payments.app.database.query((sql) =>
    sql`select status, payment_id from gateway.notifications where id = ${told.id}`
  );
  assert.deepEqual({ ...after }, { status: "processed", payment_id: charged.id });
});

Deno.test("staff have one processed again: the gateway is asked, and its answer applied", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const order_id = `late-${randomUUID()}`;
  const stranger = {
    id: randomUUID(),
    order_id,
    transaction_id: null,
    gross_amount: "44000.00",
    payment_type: "gopay",
  };
  const told = await notified(payments, telling(stranger, "pending"));
  assert.equal(told.status, "unmatched");
  const made = await payments.sandbox.post("/v2/charge", {
    payment_type: "gopay",
    transaction_details: { order_id, gross_amount: 44_000 },
  });
  const path = `/notifications/${told.id}/replay/`;
  await assertProblem(await payments.post(path), 403, "forbidden");
  const replayed = await payments.post(path, undefined, {}, staff);
  assert.equal(replayed.status, 200);
  const shown = NotificationSchema.parse(await replayed.json());
  assert.equal(shown.status, "processed");
  const adopted = await (await payments.get(`/payments/${shown.payment_id}/`, staff)).json();
  assert.equal(adopted.transaction_id, made.transaction_id);
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
