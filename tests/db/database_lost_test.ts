import assert from "node:assert/strict";
import { createDatabase } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { newKey } from "../support/idempotency.ts";
import { operationOf, OPERATIONS, timesDone } from "../support/payments/operations.ts";
import { assertProblem } from "../support/problem.ts";
import { until } from "../support/until.ts";

const databaseUrl = await createDatabase({ isNew: true });

function untilDatabaseResponds({ app }: RelayedPayments): Promise<void> {
  const responds = () => app.database.query((sql) => sql`select 1`).then(() => true, () => false);
  return until("the database responds", responds);
}

/** For captures and refunds, the crash test of payments proves the same. */
for (const operation of (["charge", "cancel", "expire"] as const).map(operationOf)) {
  Deno.test(`${operation.name}: if the database connection breaks during the gateway call, a retry completes the operation once`, async () => {
    const { proxy, url } = throughProxy(databaseUrl);
    await using _ = proxy;
    await using payments = await openRelayed({ databaseUrl: url });
    const { relay, post } = payments;
    const prepared = await operation.prepare(payments);
    const headers = newKey();
    const { intercept } = relay;
    relay.intercept = async (request, pass) => {
      const answer = await pass();
      if (nameOf(request) === operation.call) proxy.cut();
      return answer;
    };
    const answer = await post(prepared.path, prepared.body, headers);
    assert.ok(answer.headers.has("Retry-After"));
    const problem = await assertProblem(answer, 503, "unavailable");
    assert.deepEqual([problem.order_id, problem.outcome], [prepared.orderId, "unknown"]);
    const id = problem.payment_id!;
    relay.intercept = intercept;
    proxy.restore();
    await untilDatabaseResponds(payments);

    // The instance knows that the request has ended: the retry does not wait for its lease.
    const retried = await post(prepared.path, prepared.body, headers);
    assert.equal(retried.status, operation.status, await retried.clone().text());
    assert.equal(operation.paymentIn(await retried.json()).id, id);
    assert.equal(await timesDone(payments, operation, prepared), 1);
    assert.equal(
      relay.times(operation.call),
      1,
      "the retry finds the result at the gateway and does not send the call again",
    );
  });

  Deno.test(`${operation.name}: if the database connection breaks during the gateway call, the check task completes the operation without a retry`, async () => {
    const { proxy, url } = throughProxy(databaseUrl);
    await using _ = proxy;
    let now = Date.now();
    await using payments = await openRelayed({ databaseUrl: url, now: () => now });
    const { relay, post } = payments;
    const prepared = await operation.prepare(payments);
    const { intercept } = relay;
    relay.intercept = async (request, pass) => {
      const answer = await pass();
      if (nameOf(request) === operation.call) proxy.cut();
      return answer;
    };
    const answer = await post(prepared.path, prepared.body);
    const { payment_id } = await assertProblem(answer, 503, "unavailable");
    relay.intercept = intercept;
    proxy.restore();
    await untilDatabaseResponds(payments);
    now += 2 * 60_000;
    const [row] = await payments.app.database.query((sql) =>
      sql`select check_at from gateway.payments where id = ${payment_id!}`
    );
    assert.ok(row!.check_at.getTime() <= now, "the payment is due for a check");
    await payments.check(payment_id!);
    const payment = await payments.read(payment_id!);
    const [transaction] = await payments.transactions(prepared.orderId);
    assert.equal(payment.transaction_id, transaction.transaction_id);
    assert.equal(payment.transaction_status, transaction.transaction_status);
    assert.equal(payment.refund_amount, transaction.refund_amount ?? "0.00");
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });
}

Deno.test("gateway: is not called while the database is unreachable", async () => {
  const { proxy, url } = throughProxy(databaseUrl);
  await using _ = proxy;
  await using payments = await openRelayed({ databaseUrl: url });
  const preparedOperations = await Promise.all(
    OPERATIONS.map(async ({ call, prepare }) => ({ call, ...await prepare(payments) })),
  );
  const before = payments.relay.received.length;
  proxy.cut();
  await Promise.all(preparedOperations.map(async ({ path, body }) => {
    const answer = await payments.post(path, body, newKey());
    assert.ok(answer.headers.has("Retry-After"));
    await assertProblem(answer, 503, "unavailable");
  }));
  assert.equal(payments.relay.received.length, before);
});
