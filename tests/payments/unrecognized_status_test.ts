import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { expireStalePayments } from "../../core/payments/expire_stale_payments.ts";
import { findNotification } from "../../db/payments/notifications.ts";
import { findPayment } from "../../db/payments/statements.ts";
import { StatusSchema } from "../../routes/status/schemas.ts";
import { createDatabase } from "../support/database/database.ts";
import {
  buildNotification,
  findSentNotification,
  notifyAndRead,
} from "../support/gateway/notifications.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { chargeRequest, parsePayment } from "../support/payments/payments.ts";
import { assertNoContradictions } from "../support/records/contradictions.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const STATUS = "GET /v2/:id/status";
const CHARGE = "POST /v2/charge";

/** `partial_settlement` appears in the gateway's documentation, without a definition. */
const UNKNOWN = ["partial_settlement", "teleported"];

interface AlteredPayments extends RelayedPayments {
  /** From now on, the gateway's responses to these calls have this transaction status. */
  report(status: string, ...calls: string[]): void;
  /** From now on, the gateway's responses are not changed. */
  reportKnown(): void;
  advance(ms: number): void;
  /** Queues the checks that are due, and runs all due jobs. */
  sweep(): Promise<void>;
  unrecognized(): Promise<Json>;
  logged(): Json[];
}

async function openAltered(): Promise<AlteredPayments> {
  let aheadMs = 0;
  const payments = await openRelayed({
    databaseUrl: await createDatabase(),
    now: () => Date.now() + aheadMs,
  });
  const { app, relay, get } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  return {
    ...payments,
    report(status, ...calls) {
      relay.intercept = async (request, pass) => {
        const response = await pass();
        if (!calls.includes(nameOf(request))) return response;
        const body = await response.json();
        // Errors have no transaction whose status could be changed.
        return Response.json(body.transaction_id ? { ...body, transaction_status: status } : body);
      };
    },
    reportKnown: () => void (relay.intercept = (_request, pass) => pass()),
    advance: (ms) => void (aheadMs += ms),
    async sweep() {
      await checkPendingPayments(app.service);
      while (await runDueJobs(app) > 0);
    },
    unrecognized: async () =>
      StatusSchema.parse(await (await get("/status/", staff)).json()).unrecognized,
    logged: () => app.logged().filter(({ event }) => event === "unrecognized_status"),
  };
}

for (const status of UNKNOWN) {
  for (const known of ["pending", "settlement"]) {
    Deno.test(`check_status: a ${known} payment keeps its status and is checked again if the gateway reports ${status}, which is logged and shown in /status/`, async () => {
      await using payments = await openAltered();
      const { id } = await (known === "pending" ? payments.charge() : payments.paid());
      const before = await payments.read(id);
      const events = await payments.events(id);
      payments.report(status, STATUS);
      for (let checks = 0; checks < 3; checks++) {
        const response = await payments.get(`/payments/${id}/check_status/`);
        assert.equal(response.status, 200, await response.clone().text());
        const { payment, gateway_response } = await response.json();
        assert.equal(gateway_response.transaction_status, status);
        const { updated_at: _, ...kept } = payment;
        const { updated_at: __, ...expected } = before;
        assert.deepEqual(kept, expected);
      }
      assert.deepEqual(await payments.unrecognized(), {
        payments: 1,
        examples: [{ payment_id: id, gateway_status: status }],
      });
      const [logged, ...more] = payments.logged();
      assert.deepEqual([logged.level, logged.payment_id, more], ["error", id, []]);
      assert.match(logged.error.message, new RegExp(`"${status}"`));
      assert.deepEqual(await payments.events(id), events);

      // Sweeps check the payment again. At first the gateway still reports the unknown status.
      for (let sweeps = 0; sweeps < 2; sweeps++) {
        const checks = payments.relay.times(STATUS);
        payments.advance(6 * 60 * MINUTE);
        await payments.sweep();
        assert.ok(payments.relay.times(STATUS) > checks, "the payment was checked");
      }
      assert.equal((await payments.read(id)).transaction_status, known);

      payments.report("deny", STATUS);
      payments.advance(6 * 60 * MINUTE);
      await payments.sweep();
      assert.equal((await payments.read(id)).transaction_status, "deny");
      assert.deepEqual(await payments.unrecognized(), { payments: 0, examples: [] });
      assert.equal(payments.logged().length, 1);
    });
  }

  Deno.test(`notification: a settled payment keeps its status if the gateway confirms ${status}, and is checked until a known status is reported`, async () => {
    await using payments = await openAltered();
    const paid = await payments.paid();
    payments.report(status, STATUS);
    const notification = await notifyAndRead(payments, buildNotification(paid, status));
    assert.deepEqual([notification.status, notification.payment_id], ["processed", paid.id]);
    assert.match(notification.error_message!, new RegExp(`"${status}"`));
    assert.equal((await payments.read(paid.id)).transaction_status, "settlement");
    assert.equal((await payments.unrecognized()).payments, 1);

    // A report of the payment's current state also clears the unrecognized status.
    payments.reportKnown();
    payments.advance(6 * 60 * MINUTE);
    await payments.sweep();
    assert.equal((await payments.unrecognized()).payments, 0);
    const checks = payments.relay.times(STATUS);
    payments.advance(DAY);
    await payments.sweep();
    assert.equal(payments.relay.times(STATUS), checks, "no check is left");
  });

  Deno.test(`charge: stays pending and is checked again if the gateway answers it with ${status}, which is logged and shown in /status/`, async () => {
    await using payments = await openAltered();
    payments.report(status, CHARGE, STATUS);
    const request = await chargeRequest(payments.sandbox, "bca");
    const key = { "Idempotency-Key": randomUUID() };
    const charged = await parsePayment(await payments.post("/charge/", request, key), 201);
    const payment_id = charged.id;
    assert.ok(charged.transaction_id && charged.va_number, "the customer can pay it");
    assert.deepEqual(await payments.unrecognized(), {
      payments: 1,
      examples: [{ payment_id, gateway_status: status }],
    });
    assert.deepEqual(payments.logged().map((line) => line.payment_id), [payment_id]);
    const replayed = await payments.post("/charge/", request, key);
    assert.deepEqual(await parsePayment(replayed, 201), charged);
    assert.equal(payments.relay.times(CHARGE), 1);
    for (let days = 0; days < 2; days++) {
      payments.advance(DAY);
      await payments.sweep();
    }
    const { transaction_status, transaction_id, is_paid } = await payments.read(payment_id);
    assert.deepEqual([transaction_status, is_paid], ["pending", false]);
    assert.ok(payments.relay.times(STATUS) > 0, "the payment was checked");
    assert.deepEqual((await payments.unrecognized()).examples, [
      { payment_id, gateway_status: status },
    ]);
    await payments.sandbox.control(`transactions/${transaction_id}/pay`);
    payments.reportKnown();
    assert.equal((await payments.refresh(payment_id)).is_paid, true);
    assert.deepEqual(await payments.events(payment_id), ["payment_settled"]);
    assert.equal((await payments.unrecognized()).payments, 0);
  });

  Deno.test(`notification: a transaction created outside the service waits while the gateway reports ${status}, and is adopted later`, async () => {
    await using payments = await openAltered();
    const order_id = randomUUID();
    await payments.sandbox.paid("bca", { transaction_details: { order_id } });
    const body = await findSentNotification(payments, order_id, "settlement");
    payments.report(status, STATUS);
    const { id, status: firstStatus } = await notifyAndRead(payments, body);
    assert.equal(firstStatus, "received");
    const reread = () => payments.app.database.query((sql) => findNotification(sql, id));
    for (let days = 0; days < 6; days++, payments.advance(DAY)) await payments.sweep();
    assert.equal((await reread())!.status, "received");
    payments.reportKnown();
    await payments.sweep();
    const adopted = (await reread())!;
    assert.equal(adopted.status, "processed");
    assert.deepEqual(await payments.events(adopted.payment_id!), ["payment_settled"]);
  });
}

Deno.test("refund: sends one payment_refunded if the gateway accepts it and reports an unknown status", async () => {
  await using payments = await openAltered();
  const { id } = await payments.paid();
  payments.report(UNKNOWN[0]!, STATUS);
  const response = await payments.post(`/payments/${id}/refund/`, { amount: 1_000 }, newKey());
  assert.equal(response.status, 200, await response.clone().text());
  await response.body?.cancel();
  const countRefunds = async () =>
    (await payments.events(id)).filter((name) => name === "payment_refunded").length;
  assert.equal((await payments.read(id)).refund_amount, "1000.00");
  assert.equal(await countRefunds(), 1);
  await assertNoContradictions(payments.app.database);
  payments.reportKnown();
  assert.equal((await payments.refresh(id)).transaction_status, "partial_refund");
  assert.equal(await countRefunds(), 1);
  await assertNoContradictions(payments.app.database);
});

Deno.test("expire_stale_payments: does not expire a payment while its status at the gateway is not known", async () => {
  await using payments = await openAltered();
  const { id } = await payments.charge("gopay");
  payments.report("partial_settlement", STATUS);
  await payments.refresh(id);
  payments.advance(2 * DAY);
  assert.equal(await expireStalePayments(payments.app.service), 0);
  await payments.sweep();
  assert.equal(payments.relay.times("POST /v2/:id/expire"), 0);
  assert.equal((await payments.read(id)).transaction_status, "pending");
});

Deno.test("check_pending_payments: after its expiry, checks a payment whose status at the gateway is not known", async () => {
  await using payments = await openAltered();
  const { id } = await payments.charge("gopay");
  payments.report("partial_settlement", STATUS);
  // This sweep is so late that it also checks payments that could be expired.
  payments.advance(DAY);
  await payments.sweep();
  assert.equal((await payments.unrecognized()).payments, 1);
  for (let sweeps = 0; sweeps < 3; sweeps++) {
    const checks = payments.relay.times(STATUS);
    payments.advance(6 * 60 * MINUTE);
    await payments.sweep();
    assert.equal(payments.relay.times(STATUS), checks + 1);
  }
  assert.equal((await payments.read(id)).transaction_status, "pending");
});

Deno.test("unrecognized status: is kept if a later report names another amount", async () => {
  await using payments = await openAltered();
  const { id } = await payments.paid();
  payments.report("partial_settlement", STATUS);
  await payments.refresh(id);
  payments.relay.intercept = async (_request, pass) =>
    Response.json({ ...await (await pass()).json(), gross_amount: "1.00" });
  await payments.refresh(id);
  const stored = await payments.app.database.query((sql) => findPayment(sql, id));
  assert.equal(stored!.unrecognized_status, "partial_settlement");
});
