/** Uploads reports of the gateway and compares them, as staff and the workers do. */

import assert from "node:assert/strict";
import { newId } from "../../../core/ids.ts";
import { createReconcile } from "../../../core/reports/reconcile.ts";
import type { GatewayJob } from "../../../db/jobs/jobs.ts";
import type { TestAppOptions } from "../app.ts";
import type { Json } from "../gateway/sandbox.ts";
import { noonClock, openAtNoon } from "../noon.ts";
import { openPayments, type TestPayments } from "../payments/payments.ts";

export { today } from "../noon.ts";

export interface TestReports extends TestPayments {
  staff: string;
}

export async function openReports(options: Partial<TestAppOptions> = {}): Promise<TestReports> {
  const payments = await openAtNoon((noon) => openPayments({ ...noon, ...options }));
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  return Object.assign(payments, { staff });
}

export type Body = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

export async function upload({ app, staff }: TestReports, body: Body, query = "", key = staff) {
  return await app.as(key, `/reconciliations/${query}`, {
    method: "POST",
    body,
    headers: { "Content-Type": "text/csv" },
  });
}

/** Runs the job of a reconciliation, as a worker does. */
export async function runJob(
  { app }: TestPayments,
  id: string,
  stopping = new AbortController().signal,
) {
  const context = { signal: new AbortController().signal, stopping };
  return await createReconcile(app.service).run({ subject_id: id } as GatewayJob, context);
}

/** Uploads a file and compares it; returns the reconciliation and its differences. */
export async function reconcile(reports: TestReports, body: Body, query = "") {
  const response = await upload(reports, body, query);
  assert.equal(response.status, 202, await response.clone().text());
  const { id } = await response.json();
  assert.ok(response.headers.get("location")!.endsWith(`/reconciliations/${id}/`));
  await runJob(reports, id);
  const read = async (path: string) =>
    await (await reports.get(`/reconciliations/${id}/${path}`, reports.staff)).json();
  return { ...await read(""), differences: await read("differences/") } as Json;
}

export async function queuedChecks({ app }: TestPayments): Promise<Json[]> {
  return await app.database.query((sql) =>
    sql`
      select subject_id, lane, run_at from gateway.jobs
      where task = 'check_payment_status' and status = 'queued' and lane = 'checks'
      order by run_at, subject_id`
  );
}

/** Inserts payments that are paid here with 1,000, and returns a file that says 2,000. */
export async function insertDifferent({ app }: TestPayments, count: number): Promise<string> {
  const now = new Date(noonClock());
  const ids = Array.from({ length: count }, () => newId(now));
  await app.database.query((sql) =>
    sql`
      insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type,
        gross_amount, captured_amount, currency, transaction_status, sent_at, created_at,
        updated_at)
      select id, 'alice', 'o-' || number, 't-' || number, 'gopay', 1000, 1000, 'IDR', 'settlement',
        ${now}, ${now}, ${now}
      from unnest(${sql.array(ids)}::uuid[]) with ordinality wanted (id, number)`
  );
  const lines = ids.map((_, index) => `o-${index + 1},t-${index + 1},2000\n`);
  return `order_id,transaction_id,amount\n${lines.join("")}`;
}

/** Line numbers and results of the differences. */
export function differencesOf({ differences }: Json): [number | null, string][] {
  return differences.map(({ line, result }: Json) => [line, result]);
}
