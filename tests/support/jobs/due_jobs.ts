/** Runs the jobs of a test's app, which has no worker. */

import { OTHER_LANE_MS } from "../../../core/jobs/schedule.ts";
import { createWorker, type Worker } from "../../../core/jobs/worker.ts";
import { createTasks } from "../../../core/tasks/tasks.ts";
import { type GatewayJob, LANES, listJobsInOtherLanes } from "../../../db/jobs/jobs.ts";
import { IS_LEASED } from "../../../db/records/lease.ts";
import type { TestApp } from "../app.ts";

/** How many jobs run at a time. */
const RUNNING = 4;

/**
 * Publishes events and runs the jobs that are due by the app's clock, oldest first; returns the
 * number of jobs. Unlike the worker, it does not run jobs that become due meanwhile.
 */
export async function runDueJobs({ service, handlers, publishEvents }: TestApp): Promise<number> {
  await publishEvents();
  const tasks = createTasks(service, handlers);
  const worker = createWorker({ ...service, tasks, maxRunning: RUNNING });
  const now = new Date(service.clock());
  const due = await service.database.query((sql) =>
    sql<Pick<GatewayJob, "id" | "lane">[]>`
      select id, lane from gateway.jobs
      where run_at <= ${now} and lane = any(${[...worker.lanes]})
        and (status = 'queued' or (status = 'running' and not ${sql.unsafe(IS_LEASED)}))
      order by run_at`
  );
  const others = await service.database.query((sql) =>
    listJobsInOtherLanes(sql, worker.lanes, new Date(now.getTime() - OTHER_LANE_MS))
  );
  const shared: string[] = Object.values(LANES);
  const own = due.filter(({ lane }) => !shared.includes(lane)).map(({ id }) => id);
  const ids = due.filter(({ lane }) => shared.includes(lane)).map(({ id }) => id);
  // Tasks with their own lane have more places, and do not wait for other jobs.
  await Promise.all([runJobs(worker, [...ids, ...others]), ...own.map(worker.run)]);
  return due.length + others.length;
}

/** Runs these jobs, a few at a time, in this order. */
export async function runJobs(worker: Worker, ids: readonly string[]): Promise<void> {
  const waiting = ids.values();
  const runNext = async () => {
    for (const id of waiting) await worker.run(id);
  };
  await Promise.all(Array.from({ length: RUNNING }, runNext));
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
