/** Asynchronous charges and refunds (`Prefer: respond-async`) and their jobs. */

import type { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { PaymentSchema } from "../../../core/payments/schema.ts";
import { findJob, type GatewayJob } from "../../../db/jobs/jobs.ts";
import { RefundedSchema } from "../../../routes/payments/actions.ts";
import { JobSchema } from "../../../routes/jobs/schema.ts";
import { runSql } from "../database/database.ts";
import type { RelayedPayments } from "../gateway/relay.ts";
import { runDueJobs } from "../jobs/due_jobs.ts";
import { operationOf, type Prepared } from "./operations.ts";

export type Job = z.output<typeof JobSchema>;

export const ASYNC = { Prefer: "respond-async" };

/** The operations that can be asynchronous, with the task and the result of their jobs. */
export const ASYNC_OPERATIONS = [
  {
    operation: operationOf("charge"),
    task: "process_charge_async",
    resultOf: (text: string) => ({ payment: PaymentSchema.parse(JSON.parse(text)) }),
  },
  {
    operation: operationOf("refund"),
    task: "process_refund_async",
    resultOf: (text: string) => RefundedSchema.parse(JSON.parse(text)),
  },
];

export async function parseAcceptedJob(response: Response): Promise<Job> {
  const text = await response.text();
  assert.equal(response.status, 202, text);
  assert.equal(response.headers.get("Preference-Applied"), "respond-async");
  const job = JobSchema.parse(JSON.parse(text));
  assert.equal(response.headers.get("Location"), `/jobs/${job.id}/`);
  return job;
}

export async function readJob({ get }: RelayedPayments, id: string): Promise<Job> {
  const response = await get(`/jobs/${id}/`);
  assert.equal(response.status, 200);
  return JobSchema.parse(await response.json());
}

/** Sends the asynchronous request and runs its job once. */
export async function sendAsyncAndRun(
  payments: RelayedPayments,
  { path, body }: Pick<Prepared, "path" | "body">,
  headers = {},
): Promise<Job> {
  const { id } = await parseAcceptedJob(await payments.post(path, body, { ...ASYNC, ...headers }));
  await runDueJobs(payments.app);
  return await readJob(payments, id);
}

export async function rowOf({ app }: RelayedPayments, id: string): Promise<GatewayJob> {
  return (await app.database.query((sql) => findJob(sql, id)))!;
}

/** Puts the job into the state it has if its worker crashed just before storing the result. */
export async function simulateCrashBeforeResult(
  { databaseUrl }: RelayedPayments,
  id: string,
): Promise<void> {
  await runSql(
    databaseUrl,
    `update gateway.jobs set status = 'running', lease_until = 'epoch', result = null
     where id = '${id}'`,
  );
}

/** Runs the job each time it is due until it is no longer queued; `setNow` sets the app's clock. */
export async function runUntilFinished(
  payments: RelayedPayments,
  id: string,
  setNow: (now: number) => void,
): Promise<Job> {
  for (let job = await rowOf(payments, id); job.status === "queued";) {
    setNow(job.run_at.getTime());
    await runDueJobs(payments.app);
    job = await rowOf(payments, id);
  }
  return await readJob(payments, id);
}
