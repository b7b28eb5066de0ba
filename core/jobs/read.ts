/** `readJob` and `listJobs`: jobs as callers see them, without their input. */

import { findJob, type GatewayJob, type JobStatus, listJobs as list } from "../../db/jobs/jobs.ts";
import { type Caller, canReadAll, requireReadAll } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { readPage } from "../lists/page.ts";
import { completePayment } from "../records/stored_payment.ts";
import type { Service } from "../service.ts";

export { JOB_STATUSES } from "../../db/jobs/jobs.ts";

export type JobView = ReturnType<typeof viewJob>;

export function viewJob(job: Omit<GatewayJob, "payload" | "secret">) {
  return {
    id: job.id,
    task: job.task,
    status: job.status,
    attempts: job.attempts,
    result: viewResult(job.result as JobResult),
    error: job.error,
    created_at: job.created_at.toISOString(),
    updated_at: job.updated_at.toISOString(),
  };
}

/** Every task returns an object or null. */
type JobResult = Record<string, unknown> | null;

function viewResult(result: JobResult): JobResult {
  if (!result?.payment) return result;
  return { ...result, payment: completePayment(result.payment) };
}

/** Only its owner, staff and viewers can see a job. */
export async function readJob(service: Service, caller: Caller, id: string): Promise<JobView> {
  const job = await requireJob(service, id);
  if (!canReadAll(caller) && job.user_id !== caller.userId) throw new ServiceError("not_found");
  return viewJob(job);
}

export async function requireJob({ database }: Service, id: string): Promise<GatewayJob> {
  const job = await database.query((sql) => findJob(sql, id), "find job");
  if (!job) throw new ServiceError("not_found");
  return job;
}

export interface JobFilter {
  task: string | null;
  status: JobStatus | null;
  limit: number;
  /** The id of the last job of the previous page; null: the first page. */
  before: string | null;
}

export interface JobPage {
  jobs: JobView[];
  /** The `before` of the next page; null on the last page. */
  next: string | null;
}

export async function listJobs(
  { database }: Service,
  caller: Caller,
  { limit, ...filter }: JobFilter,
): Promise<JobPage> {
  requireReadAll(caller);
  const { rows, next } = await readPage(
    limit,
    (limit) => database.query((sql) => list(sql, { ...filter, limit }), "list jobs"),
  );
  return { jobs: rows.map(viewJob), next };
}
