import assert from "node:assert/strict";
import { displayPrefix } from "../../core/secrets/api_key.ts";
import { CHALLENGED_CARD, type Json, savedCard } from "../support/gateway/sandbox.ts";
import { findSentNotification } from "../support/gateway/notifications.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";

interface Acting extends TestPayments {
  staff: string;
  /** The actors of the record's transitions, as `pending>settlement actor`. */
  actors(id: string): Promise<string[]>;
}

async function openActing(): Promise<Acting> {
  const payments = await openPayments();
  return {
    ...payments,
    staff: await payments.app.createKey({ userId: "ops", isStaff: true }),
    async actors(id) {
      const rows = await payments.app.database.query((sql) =>
        sql`select from_status, to_status, actor from gateway.history
          where resource_id = ${id} order by id`
      );
      return rows.map(({ from_status, to_status, actor }) =>
        `${from_status ?? ""}>${to_status} ${actor}`
      );
    },
  };
}

const actorOf = (key: string) => `api_key:${displayPrefix(key)}`;

async function expectOk(response: Response): Promise<Json> {
  assert.ok(response.ok, await response.clone().text());
  return await response.json();
}

/** For each action: prepares a payment, acts as staff, and returns the payment's id. */
const ACTIONS: Record<string, (payments: Acting) => Promise<string>> = {
  async cancel({ charge, post, staff }) {
    const { id } = await charge();
    await expectOk(await post(`/payments/${id}/cancel/`, {}, {}, staff));
    return id;
  },
  async expire({ charge, post, staff }) {
    const { id } = await charge();
    await expectOk(await post(`/payments/${id}/expire/`, {}, {}, staff));
    return id;
  },
  async capture({ charge, post, staff }) {
    const { id } = await charge("card_auth");
    await expectOk(await post(`/payments/${id}/capture/`, {}, {}, staff));
    return id;
  },
  async refund({ paid, post, staff }) {
    const { id } = await paid();
    await expectOk(await post(`/payments/${id}/refund/`, {}, {}, staff));
    return id;
  },
  async approve(payments) {
    const id = await chargeChallenged(payments);
    await expectOk(await payments.post(`/reviews/${id}/approve/`, {}, {}, payments.staff));
    return id;
  },
  async deny(payments) {
    const id = await chargeChallenged(payments);
    await expectOk(await payments.post(`/reviews/${id}/deny/`, {}, {}, payments.staff));
    return id;
  },
  async check_status({ charge, get, sandbox, staff }) {
    const { id, transaction_id } = await charge();
    await sandbox.control(`transactions/${transaction_id}/pay`);
    await expectOk(await get(`/payments/${id}/check_status/`, staff));
    return id;
  },
};

async function chargeChallenged({ charge, sandbox }: Acting): Promise<string> {
  return (await charge("card", { token_id: await sandbox.token(CHALLENGED_CARD) })).id;
}

for (const [action, run] of Object.entries(ACTIONS)) {
  Deno.test(`actor: ${action} stores the key prefix of its caller, which may differ from that of the charge`, async () => {
    await using payments = await openActing();
    const actors = await payments.actors(await run(payments));
    assert.match(actors[0]!, new RegExp(`^>pending ${actorOf(payments.key)}$`));
    assert.match(actors.at(-1)!, new RegExp(` ${actorOf(payments.staff)}$`));
  });
}

Deno.test("actor: an asynchronous charge stores the caller who requested it", async () => {
  await using payments = await openActing();
  const body = { payment_type: "gopay", gross_amount: 44_000, order_id: "async-1" };
  await expectOk(await payments.post("/charge/", body, { Prefer: "respond-async" }));
  await runDueJobs(payments.app);
  const [payment] = await expectOk(await payments.get("/payments/?order_id=async-1"));
  for (const each of await payments.actors(payment.id)) {
    assert.ok(each.endsWith(actorOf(payments.key)), each);
  }
});

Deno.test("actor: a task is stored by its name, and a notification by its id", async () => {
  await using payments = await openActing();
  const checked = await payments.charge();
  await payments.sandbox.control(`transactions/${checked.transaction_id}/pay`);
  await payments.check(checked.id);
  assert.equal(
    (await payments.actors(checked.id)).at(-1),
    "pending>settlement task:check_payment_status",
  );
  const notified = await payments.charge();
  await payments.sandbox.control(`transactions/${notified.transaction_id}/pay`);
  const body = await findSentNotification(payments, notified.order_id, "settlement");
  const { notification_id } = await expectOk(await payments.post("/notification/", body));
  assert.equal(
    (await payments.actors(notified.id)).at(-1),
    `pending>settlement notification:${notification_id}`,
  );
});

Deno.test("actor: invoices and subscriptions store the callers who created and changed them", async () => {
  await using payments = await openActing();
  const { post, key, staff, sandbox } = payments;
  const invoice = await expectOk(
    await post("/invoices/", {
      customer_name: "Budi",
      due_date: "2099-12-31",
      items: [{ description: "Beans", price: 75_000, quantity: 1 }],
    }),
  );
  await expectOk(await post(`/invoices/${invoice.id}/void/`, { reason: "Mistake" }, {}, staff));
  const subscription = await expectOk(
    await post("/subscriptions/", {
      name: "coffee-club",
      amount: 150_000,
      payment_type: "credit_card",
      token: await savedCard(sandbox),
      interval: 1,
      interval_unit: "month",
    }),
  );
  await expectOk(await post(`/subscriptions/${subscription.id}/disable/`, {}, {}, staff));
  for (const { id } of [invoice, subscription]) {
    const actors = await payments.actors(id);
    assert.ok(actors[0]!.endsWith(actorOf(key)), actors[0]);
    assert.ok(actors.at(-1)!.endsWith(actorOf(staff)), actors.at(-1));
  }
});
