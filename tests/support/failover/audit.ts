/** Compares what callers were told with the database and the gateway's books. */

import assert from "node:assert/strict";
import { callService } from "../client.ts";
import type { Database } from "../../../db/connection/database.ts";
import type { Json, TestSandbox } from "../gateway/sandbox.ts";
import { assertPaymentsMatchGateway } from "../payments/compare_with_gateway.ts";
import { assertNoContradictions } from "../records/contradictions.ts";
import type { ServiceProcess } from "../service.ts";
import { until } from "../until.ts";
import { type Acknowledged, transactionsOf } from "./load.ts";

export interface Books {
  database: Database;
  sandbox: TestSandbox;
  service: ServiceProcess;
  apiKey: string;
}

/**
 * No caller may be waiting. Fails if an acknowledged write is lost or changed, if a payment, a
 * refund or a transaction exists twice, or if one exists that no caller ordered.
 */
export async function assertNothingLostOrDoubled(
  books: Books,
  acknowledged: Acknowledged[],
): Promise<void> {
  const { database, sandbox } = books;
  const count = (kind: Acknowledged["kind"]) =>
    acknowledged.filter((each) => each.kind === kind).length;
  for (const each of acknowledged) {
    if (each.key !== "") await assertReplayed(books, each);
  }
  const [stored] = await database.query((sql) =>
    sql`
      select (select count(*)::int from gateway.payments) as payments,
        (select count(*)::int from gateway.payments where transaction_status = 'partial_refund')
          as refunded,
        (select count(*)::int from gateway.refunds where status = 'succeeded') as refunds,
        (select count(*)::int from gateway.refunds) as all_refunds,
        (select count(*)::int from gateway.checkouts) as checkouts,
        (select count(*)::int from gateway.checkouts where status = 'paid') as paid_checkouts`
  );
  assert.deepEqual(stored, {
    payments: count("charge") + count("choice"),
    refunded: count("refund"),
    refunds: count("refund"),
    all_refunds: count("refund"),
    checkouts: count("checkout"),
    paid_checkouts: count("checkout"),
  });
  for (const { kind, orderId } of acknowledged) {
    if (kind !== "refund" && kind !== "choice") continue;
    const transactions = await transactionsOf(sandbox, orderId);
    const status = kind === "refund" ? "partial_refund" : "settlement";
    const refunds = kind === "refund" ? ["10000.00"] : [];
    assert.deepEqual(
      transactions.map((each) => [
        each.transaction_status,
        (each.refunds ?? []).map((refund: Json) => refund.refund_amount),
      ]),
      [[status, refunds]],
    );
  }
  await assertPaymentsMatchGateway(database, sandbox);
  await assertNoContradictions(database);
}

/**
 * The service returns the same answer again, from its idempotency keys. It is asked again after a
 * 503: on a slow machine the database can exceed its time limit.
 */
async function assertReplayed({ service, apiKey }: Books, write: Acknowledged): Promise<void> {
  const { kind, path, body, key, status, answer } = write;
  await until(`the acknowledged ${kind} is answered`, async () => {
    const response = await callService(service.url + path, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${apiKey}`,
        "Content-Type": "application/json",
        "Idempotency-Key": key,
      },
      body: JSON.stringify(body),
    });
    const replayed = await response.json();
    if (response.status === 503) return false;
    assert.deepEqual(
      [response.status, response.headers.get("Idempotency-Replayed"), replayed],
      [status, "true", answer],
      `the acknowledged ${kind} is stored`,
    );
    return true;
  });
}
