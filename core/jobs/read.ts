/** `readJob` and `listJobs`: how things stand that are done, or were, outside of requests. */

import type { Database } from "../../db/database.ts";
import { findJob, type GatewayJob, type JobStatus, listJobs as list } from "../../db/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import { requireStaff } from "../auth/staff.ts";
import { ServiceError } from "../errors.ts";
import { readPage } from "../records/read.ts";
import { type JobView, viewJob } from "./views.ts";

export { JOB_STATUSES } from "../../db/jobs.ts";

export interface ReadDeps {
  database: Database;
}

/** To all but its owner and staff it does not exist. */
export async function readJob(deps: ReadDeps, caller: Caller, id: string): Promise<JobView> {
  const job = await find(deps, id);
  if (!caller.isStaff && job.user_id !== caller.userId) throw new ServiceError("not_found");
  return viewJob(job);
}

export async function find({ database }: ReadDeps, id: string): Promise<GatewayJob> {
  const job = await database.query((sql) => findJob(sql, id), "find job");
  if (!job) throw new ServiceError("not_found");
  return job;
}

export interface JobFilter {
  task: string | null;
  status: JobStatus | null;
  limit: number;
  /** The last job of the page before. */
  before: string | null;
}

export interface JobPage {
  jobs: JobView[];
  /** Where the next page begins, to be given as `before`; null on the last one. */
  next: string | null;
}

export async function listJobs(
  { database }: ReadDeps,
  caller: Caller,
  { limit, ...filter }: JobFilter,
): Promise<JobPage> {
  requireStaff(caller);
  const { rows, next } = await readPage(
    limit,
    (limit) => database.query((sql) => list(sql, { ...filter, limit }), "list jobs"),
  );
  return { jobs: rows.map(viewJob), next };
}
