import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { formatWib } from "../../core/gateway/times.ts";
import { adoptTransaction } from "../../core/payments/adopt.ts";
import { findNotification } from "../../db/payments/notifications.ts";
import { createDatabase } from "../support/database/database.ts";
import { findSentNotification, notifyAndRead, sign } from "../support/gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { type ChargeKind, chargeRequest, parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const MINUTE_MS = 60_000;

const databaseUrl = await createDatabase();

const CHARGE = "POST /v2/charge";

/** An instance whose clock is wrong, although it cannot know that. */
async function openWithWrongClock(minutes: number) {
  const time = { offsetMs: minutes * MINUTE_MS };
  const payments = await openRelayed({ databaseUrl, now: () => Date.now() + time.offsetMs });
  return Object.assign(payments, { time });
}

/** The gateway's notification without the metadata, which names the payment. */
function withoutMetadata({ metadata: _, ...body }: Json): Json {
  return sign(body);
}

async function rowsOfOrder({ app }: RelayedPayments, orderId: string): Promise<Json[]> {
  const rows = await app.database.query((sql) =>
    sql`select id, user_id, transaction_id, transaction_status, paid_at, captured_amount
      from gateway.payments where order_id = ${orderId} order by id`
  );
  return [...rows];
}

/** Fails unless the only paid payment of the order is this one, with one event and its owner. */
async function assertPaidOnce(payments: RelayedPayments, id: string): Promise<void> {
  const payment = await payments.read(id);
  assert.deepEqual([payment.transaction_status, payment.is_paid], ["settlement", true]);
  const [transaction] = await payments.transactions(payment.order_id);
  assert.equal(payment.transaction_id, transaction.transaction_id);
  const paid = (await rowsOfOrder(payments, payment.order_id)).filter((row) =>
    row.paid_at !== null || row.captured_amount !== null || row.transaction_id !== null
  );
  assert.deepEqual(paid.map((row) => [row.id, row.user_id]), [[id, "alice"]]);
  const events = await payments.app.database.query((sql) =>
    sql`select user_id from gateway.events where resource_id = ${id} and name = 'payment_settled'`
  );
  assert.deepEqual([...events], [{ user_id: "alice" }]);
}

async function payAndFindNotification(payments: RelayedPayments, order_id: string): Promise<Json> {
  const [{ transaction_id }] = await payments.transactions(order_id);
  await payments.sandbox.control(`transactions/${transaction_id}/pay`);
  return await findSentNotification(payments, order_id, "settlement");
}

for (const minutes of [-20, -3, 20]) {
  Deno.test(`notification: before the answer of a charge that was sent by a clock ${minutes} minutes off, waits for the answer`, async () => {
    await using payments = await openWithWrongClock(minutes);
    const order_id = randomUUID();
    const held = payments.relay.holdAnswer(CHARGE);
    const charging = payments.charge("gopay", { order_id });
    // Otherwise a failing test would end with an unhandled rejection.
    charging.catch(() => {});
    await held.arrived;
    const body = withoutMetadata(await payAndFindNotification(payments, order_id));
    const waiting = await notifyAndRead(payments, body);
    assert.deepEqual([waiting.status, waiting.payment_id], ["received", null]);
    assert.match(
      waiting.error_message!,
      /not clear whether the transaction of order .* belongs to/,
    );
    assert.equal((await rowsOfOrder(payments, order_id)).length, 1);
    // The job runs while the charge is still not answered.
    assert.ok(await runDueJobs(payments.app) > 0);
    assert.equal((await rowsOfOrder(payments, order_id)).length, 1);
    held.release();
    const { id } = await charging;
    payments.time.offsetMs += 2 * MINUTE_MS;
    await runDueJobs(payments.app);
    await assertPaidOnce(payments, id);
    const stored = await payments.app.database.query((sql) =>
      sql`select status, payment_id, error_message from gateway.notifications
        where id = ${waiting.id}`
    );
    assert.deepEqual([...stored], [{ status: "processed", payment_id: id, error_message: null }]);
  });

  Deno.test(`notification: about a charge that was sent by a clock ${minutes} minutes off and never answered, finds the payment by its metadata`, async () => {
    await using payments = await openWithWrongClock(minutes);
    const order_id = randomUUID();
    await payments.sandbox.fault("charge", "answer_lost");
    const body = { ...await chargeRequest(payments.sandbox, "gopay"), order_id };
    const problem = await assertProblem(
      await payments.post("/charge/", body),
      502,
      "gateway_unreachable",
    );
    const sent = await payAndFindNotification(payments, order_id);
    assert.equal((await notifyAndRead(payments, sent)).status, "processed");
    await assertPaidOnce(payments, problem.payment_id!);
  });
}

/** Creates a payment without an owner for the transaction of the order, as if it was unknown. */
async function adoptTooEarly(payments: RelayedPayments, order_id: string): Promise<string> {
  const [{ transaction_id }] = await payments.transactions(order_id);
  const { body } = await payments.app.gateway.getStatus(transaction_id);
  const report = { answer: body, source: "notification" } as const;
  return (await adoptTransaction(payments.app.service, report, null)).payment.id;
}

Deno.test("charge: gets 201 and takes over its transaction, which was adopted and paid before the answer", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const order_id = randomUUID();
  const held = payments.relay.holdAnswer(CHARGE);
  const headers = newKey();
  const request = { ...await chargeRequest(payments.sandbox, "gopay"), order_id };
  const charging = payments.post("/charge/", request, headers);
  await held.arrived;
  const notification = await payAndFindNotification(payments, order_id);
  const adoptedId = await adoptTooEarly(payments, order_id);
  const repeated = await notifyAndRead(payments, withoutMetadata(notification));
  assert.deepEqual([repeated.status, repeated.payment_id], ["duplicate", adoptedId]);
  held.release();
  const charged = await parsePayment(await charging, 201);
  assert.equal(charged.transaction_status, "settlement");
  await assertPaidOnce(payments, charged.id);
  assert.deepEqual(await payments.transitions(charged.id), [
    ">pending charge",
    "pending>settlement charge",
  ]);
  assert.equal((await payments.transitions(adoptedId)).at(-1), "settlement>failure charge");
  const staff = await payments.app.createKey({ isStaff: true });
  const adopted = await (await payments.get(`/payments/${adoptedId}/`, staff)).json();
  assert.deepEqual(
    [adopted.transaction_id, adopted.captured_amount, adopted.is_paid, adopted.status_message],
    [null, null, false, `The transaction belongs to payment ${charged.id}.`],
  );
  // The notifications of the transaction now belong to the payment.
  assert.equal((await notifyAndRead(payments, notification)).payment_id, charged.id);
  const replayed = await parsePayment(await payments.post("/charge/", request, headers), 201);
  assert.equal(replayed.id, charged.id);
});

Deno.test("check_payment_status: a payment that was marked as failed takes over its adopted transaction with the refunds", async (t) => {
  for (const hasMetadata of [true, false]) {
    await t.step(hasMetadata ? "by its payment_ref" : "by order id and time", async () => {
      await using payments = await openWithWrongClock(0);
      const { relay, sandbox, time } = payments;
      await sandbox.showMetadata(hasMetadata);
      const order_id = randomUUID();
      await sandbox.fault("charge", "answer_lost");
      const body = { ...await chargeRequest(sandbox, "gopay"), order_id };
      const { payment_id } = await (await payments.post("/charge/", body)).json();
      await payAndFindNotification(payments, order_id);
      const adoptedId = await adoptTooEarly(payments, order_id);
      const [{ transaction_id }] = await payments.transactions(order_id);
      await sandbox.post(`/v2/${transaction_id}/refund`, { refund_key: "r-1", amount: 4_000 });
      const refunded = await findSentNotification(payments, order_id, "partial_refund");
      assert.equal(
        (await notifyAndRead(payments, withoutMetadata(refunded))).payment_id,
        adoptedId,
      );
      relay.intercept = () =>
        Response.json({ status_code: "404", status_message: "Transaction doesn't exist." });
      time.offsetMs += 16 * MINUTE_MS;
      await payments.check(payment_id);
      assert.equal((await payments.read(payment_id)).transaction_status, "failure");
      relay.intercept = (_request, pass) => pass();
      await payments.check(payment_id);
      const found = await payments.read(payment_id);
      assert.deepEqual(
        [found.transaction_status, found.transaction_id, found.refund_amount, found.net_amount],
        ["partial_refund", transaction_id, "4000.00", "40000.00"],
      );
      assert.deepEqual(found.refunds.map(({ refund_key }) => refund_key), ["r-1"]);
      assert.deepEqual(await payments.events(payment_id), [
        "payment_failed",
        "payment_settled",
        "payment_refunded",
      ]);
      const rows = await rowsOfOrder(payments, order_id);
      assert.deepEqual(rows.filter((row) => row.paid_at !== null).map(({ id }) => id), [
        payment_id,
      ]);
    });
  }
});

Deno.test("paid payment without an owner: is counted in the status and the metrics until its owner turns up", async () => {
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
  });
  const { app, sandbox } = payments;
  const staff = await app.createKey({ isStaff: true });
  const counts = async () => {
    const { ownerless } = await (await payments.get("/status/", staff)).json();
    const metrics = await (await payments.get("/metrics", staff)).text();
    const [, gauge] = metrics.match(/^payment_gateway_payments_ownerless (\d+)$/m)!;
    return [ownerless.paid_payments, Number(gauge)];
  };
  const order_id = randomUUID();
  await sandbox.fault("charge", "answer_lost");
  const body = { ...await chargeRequest(sandbox, "gopay"), order_id };
  const { payment_id } = await (await payments.post("/charge/", body)).json();
  await sandbox.paid("bca", { transaction_details: { order_id: randomUUID() } });
  assert.deepEqual(await counts(), [0, 0]);
  await payAndFindNotification(payments, order_id);
  await adoptTooEarly(payments, order_id);
  assert.deepEqual(await counts(), [1, 1]);
  await payments.check(payment_id);
  await assertPaidOnce(payments, payment_id);
  assert.deepEqual(await counts(), [0, 0]);
});

Deno.test("adopted transaction: counts the refunded amount that the gateway reports, even if it lists no refund", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { relay, sandbox } = payments;
  const order_id = randomUUID();
  const { transaction_id } = await sandbox.paid("gopay", { transaction_details: { order_id } });
  await sandbox.post(`/v2/${transaction_id}/refund`, { refund_key: "r", amount: 4_000 });
  relay.intercept = async (_request, pass) => {
    const { refunds: _, ...rest } = await (await pass()).json();
    return Response.json({ ...rest, refund_amount: "4000.00" });
  };
  const sent = await findSentNotification(payments, order_id, "partial_refund");
  const { payment_id } = await notifyAndRead(payments, sent);
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const payment = await (await payments.get(`/payments/${payment_id}/`, staff)).json();
  assert.deepEqual([payment.transaction_status, payment.refund_amount], [
    "partial_refund",
    "4000.00",
  ]);
  assert.deepEqual(await payments.events(payment_id!), ["payment_settled", "payment_refunded"]);
});

Deno.test("notification: a payment_ref in it moves the adopted transaction to its payment", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const order_id = randomUUID();
  await payments.sandbox.fault("charge", "answer_lost");
  const body = { ...await chargeRequest(payments.sandbox, "dana"), order_id };
  const { payment_id } = await (await payments.post("/charge/", body)).json();
  const sent = await payAndFindNotification(payments, order_id);
  await adoptTooEarly(payments, order_id);
  assert.equal((await notifyAndRead(payments, sent)).payment_id, payment_id);
  await assertPaidOnce(payments, payment_id);
});

Deno.test("adopted transaction: moves with what settlement reports say about it", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { database } = payments.app;
  const order_id = randomUUID();
  await payments.sandbox.fault("charge", "answer_lost");
  const body = { ...await chargeRequest(payments.sandbox, "dana"), order_id };
  const { payment_id } = await (await payments.post("/charge/", body)).json();
  const sent = await payAndFindNotification(payments, order_id);
  const adoptedId = await adoptTooEarly(payments, order_id);
  const report = randomUUID();
  await database.query((sql) =>
    sql`insert into gateway.payment_fees (payment_id, item, fee_cents) values
      (${payment_id}, 'settlement', 100), (${adoptedId}, 'settlement', 100),
      (${adoptedId}, 'chargeback:1:500', 7)`
  );
  await database.query((sql) =>
    sql`insert into gateway.reported_lines
        (payment_id, reconciliation_id, line, kind, amount, result)
      values (${adoptedId}, ${report}, 1, 'settlement', 44000, 'matched')`
  );
  assert.equal((await notifyAndRead(payments, sent)).payment_id, payment_id);
  const fees = await database.query((sql) =>
    sql`select payment_id, item, fee_cents::int as fee from gateway.payment_fees
      where payment_id in (${payment_id}, ${adoptedId}) order by item`
  );
  assert.deepEqual([...fees], [
    { payment_id, item: "chargeback:1:500", fee: 7 },
    { payment_id, item: "settlement", fee: 100 },
  ]);
  const lines = await database.query((sql) =>
    sql`select payment_id from gateway.reported_lines where reconciliation_id = ${report}`
  );
  assert.deepEqual([...lines], [{ payment_id }]);
});

Deno.test("notification: moves an adopted transaction with a fee in its amount to the payment, which keeps its own amount", async () => {
  await using payments = await openWithWrongClock(0);
  const { app, relay, sandbox, time } = payments;
  const order_id = randomUUID();
  await sandbox.fault("charge", "answer_lost");
  const body = { ...await chargeRequest(sandbox, "gopay"), order_id };
  const { payment_id } = await (await payments.post("/charge/", body)).json();
  const sent = await payAndFindNotification(payments, order_id);
  relay.intercept = () =>
    Response.json({ status_code: "404", status_message: "Transaction doesn't exist." });
  time.offsetMs += 16 * MINUTE_MS;
  await payments.check(payment_id);
  assert.equal((await payments.read(payment_id)).transaction_status, "failure");
  // The charge reached the gateway late. The gateway's response does not name the payment or the
  // fee, so the transaction is adopted with the fee.
  const transaction_time = formatWib(new Date(Date.now() + 10 * MINUTE_MS)).slice(0, 19);
  const withFee = { gross_amount: "46500.00", transaction_time };
  relay.intercept = async (_request, pass) =>
    Response.json({ ...await (await pass()).json(), ...withFee, metadata: undefined });
  const first = await notifyAndRead(payments, withoutMetadata({ ...sent, ...withFee }));
  assert.notEqual(first.payment_id, payment_id);
  const extra_info = { gross_amount_info: { original_amount: "44000.00" } };
  const metadata = { payment_ref: payment_id, extra_info };
  const second = await notifyAndRead(payments, sign({ ...sent, ...withFee, metadata }));
  assert.equal(second.payment_id, payment_id);
  await assertPaidOnce(payments, payment_id);
  assert.equal((await payments.read(payment_id)).captured_amount, "44000.00");
  assert.deepEqual(app.logged().filter(({ event }) => event === "invariant_violated"), []);
});

for (const kind of ["gopay", "dana"] as const) {
  Deno.test(`notification: with a forged original amount, does not adopt the transaction of an unanswered ${kind} charge`, async (t) => {
    for (const fee of [0, 2_500]) {
      await t.step(`paid with a fee of ${fee}`, async () => {
        await using payments = await openRelayed({ databaseUrl });
        const { relay, sandbox } = payments;
        const order_id = randomUUID();
        await sandbox.fault("charge", "answer_lost");
        const body = { ...await chargeRequest(sandbox, kind), order_id };
        const { payment_id } = await (await payments.post("/charge/", body)).json();
        const gross_amount = `${44_000 + fee}.00`;
        const sent = sign({ ...await payAndFindNotification(payments, order_id), gross_amount });
        relay.intercept = async (request, pass) => {
          const answer = await pass();
          if (request.method !== "GET") return answer;
          return Response.json({ ...await answer.json(), gross_amount, metadata: undefined });
        };
        const withOriginal = (original_amount: number) => ({
          ...sent,
          metadata: { extra_info: { gross_amount_info: { original_amount } } },
        });
        // The signature does not cover the metadata, so the forged notification is accepted.
        const forged = await notifyAndRead(payments, withOriginal(1));
        assert.deepEqual(
          [forged.status, forged.payment_id],
          fee === 0 ? ["processed", payment_id] : ["received", null],
        );
        assert.equal((await rowsOfOrder(payments, order_id)).length, 1);
        await notifyAndRead(payments, withOriginal(44_000));
        await assertPaidOnce(payments, payment_id);
        assert.equal((await rowsOfOrder(payments, order_id)).length, 1);
      });
    }
  });
}

/** Status responses of a DANA transaction that do not show whose it is. */
const UNCLEAR: Record<string, Json> = {
  "without transaction_time": { transaction_time: undefined },
  "with a fee in the amount": { gross_amount: "46500.00", metadata: undefined },
};

for (const [name, change] of Object.entries(UNCLEAR)) {
  Deno.test(`notification: a DANA transaction ${name} is not adopted while its owner is unclear`, async () => {
    await using payments = await openWithWrongClock(0);
    const { relay, sandbox, time } = payments;
    const order_id = randomUUID();
    await sandbox.fault("charge", "answer_lost");
    const body = { ...await chargeRequest(sandbox, "dana" satisfies ChargeKind), order_id };
    const { payment_id } = await (await payments.post("/charge/", body)).json();
    const sent = withoutMetadata(await payAndFindNotification(payments, order_id));
    const { intercept } = relay;
    relay.intercept = async (request, pass) => {
      const answer = await pass();
      if (request.method !== "GET") return answer;
      return Response.json({ ...await answer.json(), ...change });
    };
    const waiting = await notifyAndRead(payments, sent);
    assert.equal(waiting.status, "received");
    // After 25 hours the payment counts as failed, but the transaction is still not adopted.
    for (const hours of [1, 26]) {
      time.offsetMs = hours * 60 * MINUTE_MS;
      await runDueJobs(payments.app);
      await payments.check(payment_id).catch(() => {});
      assert.equal((await rowsOfOrder(payments, order_id)).length, 1);
    }
    const staff = await payments.app.createKey({ isStaff: true });
    const status = await (await payments.get("/status/", staff)).json();
    assert.ok(status.notifications.received > 0, JSON.stringify(status));
    // As soon as the gateway states what was missing, the transaction belongs to the payment.
    relay.intercept = intercept;
    time.offsetMs += 2 * 60 * MINUTE_MS;
    await runDueJobs(payments.app);
    await assertPaidOnce(payments, payment_id);
  });
}

Deno.test("notification: while the owner of its transaction is unclear, is processed again for 7 days, at first soon and later every hour", async () => {
  let now = Date.now();
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
    now: () => now,
    // On a busy machine a statement may take long; a failed one would change the pauses.
    databaseDeadlineMs: 20_000,
  });
  const { app, relay, sandbox } = payments;
  const order_id = randomUUID();
  await sandbox.fault("charge", "answer_lost");
  const request = { ...await chargeRequest(sandbox, "dana" satisfies ChargeKind), order_id };
  await (await payments.post("/charge/", request)).body?.cancel();
  const sent = withoutMetadata(await payAndFindNotification(payments, order_id));
  relay.intercept = async ({ method }, pass) => {
    const answer = await pass();
    if (method !== "GET") return answer;
    return Response.json({ ...await answer.json(), ...UNCLEAR["with a fee in the amount"] });
  };
  const { id, created_at } = await notifyAndRead(payments, sent);
  const pauses: number[] = [];
  const read = async () => (await app.database.query((sql) => findNotification(sql, id)))!;
  while ((await read()).status === "received") {
    const [job] = await jobsOf(app, id);
    pauses.push(Math.round((job!.run_at.getTime() - now) / MINUTE_MS));
    now = Math.max(now, job!.run_at.getTime());
    await runDueJobs(app);
  }
  assert.deepEqual(pauses.slice(0, 8), [0, 1, 1, 2, 4, 8, 16, 32]);
  // After 64 minutes, until the notification is 7 days old.
  assert.deepEqual(pauses.slice(8, 175), Array(167).fill(60));
  const { status, error_message } = await read();
  assert.equal(status, "failed");
  assert.match(error_message!, /not clear whether/);
  assert.ok(now - created_at.getTime() >= 7 * 24 * 60 * MINUTE_MS);
});

Deno.test("notification: adopts a transaction that certainly belongs to another payment, although a charge of its order is not answered", async (t) => {
  await using payments = await openRelayed({ databaseUrl });
  const CERTAIN: Record<string, Json> = {
    "of another type": { payment_type: "shopeepay" },
    "of a smaller amount": { gross_amount: "1000.00" },
    "of another payment_ref": { metadata: { payment_ref: randomUUID() } },
  };
  for (const [name, change] of Object.entries(CERTAIN)) {
    await t.step(name, async () => {
      const order_id = randomUUID();
      await payments.sandbox.fault("charge", "answer_lost");
      const body = { ...await chargeRequest(payments.sandbox, "gopay"), order_id };
      const { payment_id } = await (await payments.post("/charge/", body)).json();
      const sent = await payAndFindNotification(payments, order_id);
      payments.relay.intercept = async (request, pass) => {
        const answer = await pass();
        if (request.method !== "GET") return answer;
        return Response.json({ ...await answer.json(), ...change });
      };
      const notification = await notifyAndRead(payments, withoutMetadata(sent));
      assert.equal(notification.status, "processed");
      assert.notEqual(notification.payment_id, payment_id);
      assert.equal((await payments.read(payment_id)).transaction_id, null);
      payments.relay.intercept = (_request, pass) => pass();
    });
  }
});

Deno.test("order with several transactions: each notification changes the payment of its own transaction, in any order", async (t) => {
  for (const isOwnFirst of [true, false]) {
    await t.step(
      isOwnFirst ? "its own is notified first" : "the other is notified first",
      async () => {
        await using payments = await openWithWrongClock(0);
        const { relay, sandbox, time } = payments;
        const order_id = randomUUID();
        await sandbox.fault("charge", "answer_lost");
        const body = { ...await chargeRequest(sandbox, "gopay"), order_id };
        const { payment_id } = await (await payments.post("/charge/", body)).json();
        const [own] = await payments.transactions(order_id);
        await sandbox.control(`transactions/${own.transaction_id}/deny`);
        // After a denial the gateway accepts the order id again, here from another program.
        const other = await sandbox.paid("gopay", { transaction_details: { order_id } });
        const notifyOwn = async () =>
          await notifyAndRead(payments, await findSentNotification(payments, order_id, "deny"));
        const settled = await findSentNotification(payments, order_id, "settlement");
        if (isOwnFirst) {
          assert.equal((await notifyOwn()).payment_id, payment_id);
          assert.equal((await notifyAndRead(payments, settled)).status, "processed");
        } else {
          const { intercept } = relay;
          relay.intercept = async (_request, pass) =>
            Response.json({
              ...await (await pass()).json(),
              transaction_time: "2026-01-31 17:05:09",
            });
          assert.equal((await notifyAndRead(payments, settled)).status, "received");
          relay.intercept = intercept;
          assert.equal((await notifyOwn()).payment_id, payment_id);
          time.offsetMs += MINUTE_MS;
          await runDueJobs(payments.app);
        }
        const payment = await payments.refresh(payment_id);
        assert.deepEqual(
          [payment.transaction_id, payment.transaction_status, payment.is_paid],
          [own.transaction_id, "deny", false],
        );
        const rows = await rowsOfOrder(payments, order_id);
        assert.deepEqual(
          rows.map((row) => [row.user_id, row.transaction_id, row.transaction_status]),
          [["alice", own.transaction_id, "deny"], [null, other.transaction_id, "settlement"]],
        );
      },
    );
  }
});
