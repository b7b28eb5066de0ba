/** Jobs as callers see them: what is to be done stays inside, what came of it is told. */

import type { GatewayJob } from "../../db/jobs.ts";

export type JobView = ReturnType<typeof viewJob>;

export function viewJob(job: Omit<GatewayJob, "payload" | "secret">) {
  return {
    id: job.id,
    task: job.task,
    status: job.status,
    attempts: job.attempts,
    // Of every task there is it is an object, where there is any.
    result: job.result as Record<string, unknown> | null,
    error: job.error,
    created_at: job.created_at.toISOString(),
    updated_at: job.updated_at.toISOString(),
  };
}
