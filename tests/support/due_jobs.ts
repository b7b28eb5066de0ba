/** Runs the jobs of a test's app, which has no worker of its own. */

import { createWorker } from "../../core/jobs/worker.ts";
import { createTasks } from "../../core/tasks.ts";
import { type GatewayJob, listDueJobs } from "../../db/jobs.ts";
import type { TestApp } from "./app.ts";

/** Those that are due by the app's own clock, the oldest first; how many there were. */
export async function runDueJobs({ deps }: TestApp): Promise<number> {
  const worker = createWorker({ ...deps, tasks: createTasks(deps), maxRunning: 4 });
  const now = new Date(deps.clock());
  const due = await deps.database.query((sql) => listDueJobs(sql, now, 1_000));
  await Promise.all(due.map(({ id }) => worker.run(id)));
  return due.length;
}

/** All jobs about a payment, the oldest first. */
export async function jobsOf({ database }: TestApp, paymentId: string): Promise<GatewayJob[]> {
  const rows = await database.query((sql) =>
    sql<GatewayJob[]>`
      select * from gateway.jobs where subject_id = ${paymentId} order by created_at, id`
  );
  return [...rows];
}
