/** Runs the jobs of a test's app, which has no worker. */

import { createWorker } from "../../../core/jobs/worker.ts";
import { createTasks } from "../../../core/tasks.ts";
import { listDueJobs, listDueRequests } from "../../../db/job_queries.ts";
import { type GatewayJob, JOB_RANKS } from "../../../db/jobs.ts";
import type { TestApp } from "../app.ts";

/**
 * Publishes events and runs the jobs that are due by the app's clock, oldest first; returns the
 * number of jobs.
 */
export async function runDueJobs({ deps, publishEvents }: TestApp): Promise<number> {
  await publishEvents();
  const worker = createWorker({ ...deps, tasks: createTasks(deps), maxRunning: 4 });
  const now = new Date(deps.clock());
  const due = await Promise.all(
    [
      ...Object.values(JOB_RANKS).map((rank) =>
        deps.database.query((sql) => listDueJobs(sql, rank, now, 1_000))
      ),
      deps.database.query((sql) => listDueRequests(sql, now, 1_000)),
    ],
  );
  const inOrder = due.flat().toSorted((a, b) => a.run_at.getTime() - b.run_at.getTime());
  await Promise.all(inOrder.map(({ id }) => worker.run(id)));
  return inOrder.length;
}

/**
 * Ends the leases of all running jobs. The app's clock cannot: leases end by the database's clock.
 */
export async function endJobLeases({ database }: TestApp): Promise<void> {
  await database.query((sql) =>
    sql`update gateway.jobs set lease_until = 'epoch' where status = 'running'`
  );
}

/** All jobs of a payment, oldest first, with those of its events. */
export async function jobsOf(
  { database, publishEvents }: TestApp,
  paymentId: string,
): Promise<GatewayJob[]> {
  await publishEvents();
  const rows = await database.query((sql) =>
    sql<GatewayJob[]>`
      select * from gateway.jobs where subject_id = ${paymentId} order by created_at, id`
  );
  return [...rows];
}
