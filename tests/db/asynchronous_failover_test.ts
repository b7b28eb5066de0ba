/** What is lost if the primary does not wait for its standby, and how it is found again. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { dayInWib } from "../../core/gateway/times.ts";
import { callService } from "../support/client.ts";
import { startUntilUp } from "../support/crash/start_until_up.ts";
import { runSql } from "../support/database/database.ts";
import { type DatabasePair, hasPatroni, type Member, startPair } from "../support/database/pair.ts";
import { type Json, openSandbox } from "../support/gateway/sandbox.ts";
import type { ServiceProcess } from "../support/service.ts";
import { until } from "../support/until.ts";

const SERVER_KEY = "Mid-server-of-a-loss";
const STAFF_KEY = "gk_" + "a".repeat(43);

function call(service: ServiceProcess, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${STAFF_KEY}`, "Content-Type": "application/json" };
  return callService(service.url + path, { ...init, headers: { ...headers, ...init.headers } });
}

/** The caller is told that it has happened. */
async function post(
  service: ServiceProcess,
  path: string,
  body: Json,
  key: string = randomUUID(),
): Promise<Json> {
  const headers = { "Idempotency-Key": key };
  const response = await call(service, path, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, await response.clone().text());
  return await response.json();
}

async function get(service: ServiceProcess, path: string): Promise<Json> {
  const response = await call(service, path);
  assert.equal(response.status, 200, path);
  return await response.json();
}

async function untilFirstResponse(service: ServiceProcess): Promise<void> {
  await until("the service has the new primary", async () => {
    const response = await call(service, "/health/ready/");
    await response.body?.cancel();
    return response.status === 200;
  });
}

/** The standby gets no more changes. */
async function stopReplication(pair: DatabasePair): Promise<void> {
  const primary = await pair.primary();
  // The standby may know it before its connection is ended, and cannot open another one.
  await runSql(primary.superuserUrl, "alter role replicator nologin");
  await runSql(primary.superuserUrl, "select pg_terminate_backend(pid) from pg_stat_replication");
  await until(
    "the standby is disconnected",
    async () => (await listStandbys(primary)).length === 0,
  );
}

async function listStandbys({ superuserUrl }: Member): Promise<unknown[]> {
  return await runSql(superuserUrl, "select application_name from pg_stat_replication");
}

/** Uploads the gateway's report and waits for the comparison. */
async function reconcile(service: ServiceProcess, report: string): Promise<Json> {
  const response = await call(service, "/reconciliations/", {
    method: "POST",
    headers: { "Content-Type": "text/csv" },
    body: report,
  });
  assert.equal(response.status, 202);
  const { id } = await response.json();
  await until(
    "the report is compared",
    async () => (await get(service, `/reconciliations/${id}/`)).status === "succeeded",
  );
  return { id, differences: await get(service, `/reconciliations/${id}/differences/`) };
}

Deno.test({
  name:
    "asynchronous replication: a failover loses acknowledged payments, and notifications, retries and the gateway's report find exactly those",
  ignore: !await hasPatroni("the test of asynchronous replication is"),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using pair = await startPair({ isSynchronous: false });
    await using sandbox = await openSandbox({ serverKey: SERVER_KEY });
    await using service = await startUntilUp({
      HOST: "127.0.0.1",
      DATABASE_URL: pair.url,
      GATEWAY_BASE_URL: sandbox.url,
      GATEWAY_SERVER_KEY: SERVER_KEY,
      BOOTSTRAP_STAFF_KEY: STAFF_KEY,
      PUBLIC_URL: sandbox.receiver.url,
    }, { hasOwnDeadline: true });
    sandbox.receiver.answer = ({ text }) =>
      callService(`${service.url}/notification/`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: text,
      });
    const charge = (key?: string, orderId: string = randomUUID()) =>
      post(service, "/charge/", {
        payment_type: "gopay",
        gross_amount: 44_000,
        order_id: orderId,
      }, key);
    const pay = async ({ transaction_id }: Json) => {
      await sandbox.control(`transactions/${transaction_id}/pay`);
      await sandbox.waitForWebhooks();
    };
    const find = (payment: Json): Promise<Json[]> =>
      get(service, `/payments/?order_id=${payment.order_id}`);

    const kept = await charge();
    await pay(kept);
    await pair.untilBothStream();

    await stopReplication(pair);
    const paid = [await charge(), await charge()];
    for (const payment of paid) await pay(payment);
    const pending = await charge();
    const key = randomUUID();
    const retried = await charge(key);
    const refund = { amount: 10_000, reason: "Out of stock" };
    await post(service, `/payments/${kept.id}/refund/`, refund);
    for (const payment of [kept, ...paid]) {
      const [{ transaction_status }] = await find(payment) as [Json];
      assert.match(transaction_status, /^(settlement|partial_refund)$/);
    }

    assert.equal((await listStandbys(await pair.primary())).length, 0, "it stays disconnected");
    const former = await pair.primary();
    const standby = pair.members.find((each) => each !== former)!;
    await former.kill();
    await until("the standby is promoted", async () => await pair.primary() === standby);
    await untilFirstResponse(service);
    // All of this was acknowledged.
    for (const payment of [...paid, pending, retried]) {
      assert.deepEqual(await find(payment), [], "the payment is lost");
    }
    const [{ transaction_status }] = await find(kept) as [Json];
    assert.equal(transaction_status, "settlement", "its refund is lost");

    // The gateway's next notification about a lost payment creates it again, without its owner.
    await pay(pending);
    await until("the notification is processed", async () => (await find(pending)).length === 1);
    const [adopted] = await find(pending) as [Json];
    assert.deepEqual([adopted.transaction_status, adopted.user_id], ["settlement", null]);

    // A caller who repeats the request with its key and order id gets the same transaction.
    const again = await charge(key, retried.order_id);
    assert.equal(again.transaction_id, retried.transaction_id);
    await pay(again);

    const day = dayInWib(new Date());
    const { id, differences } = await reconcile(service, await sandbox.settlementReport(day));
    const found = differences.map(({ result, order_id, kind }: Json) => [result, order_id, kind]);
    const settlement = (payment: Json) => ["missing_here", payment.order_id, "settlement"];
    assert.deepEqual(
      found.toSorted(),
      [...paid.map(settlement), ["missing_here", kept.order_id, "refund"]].toSorted(),
    );

    const { id: job } = await post(service, `/reconciliations/${id}/take-over/`, undefined);
    await until(
      "the job has ended",
      async () => (await get(service, `/jobs/${job}/`)).status === "succeeded",
    );
    const { result } = await get(service, `/jobs/${job}/`);
    assert.deepEqual([result.taken_over, result.failed], [3, 0]);
    const [refunded] = await find(kept) as [Json];
    assert.equal(refunded.transaction_status, "partial_refund");
    for (const payment of paid) {
      const [{ transaction_status }] = await find(payment) as [Json];
      assert.equal(transaction_status, "settlement");
    }
  },
});
