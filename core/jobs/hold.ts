/**
 * Holds on to a job for as long as it is worked on. Leases are short, so that what a process was at
 * when it died is soon somebody else's; whoever lives renews them.
 */

import type { Database } from "../../db/database.ts";
import { type HeldJob, renewLease } from "../../db/jobs.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

export interface HoldDeps {
  database: Database;
  clock: Clock;
  log: Log;
  leaseMs: number;
}

/** The job's own `lease_until` goes along. */
export async function holding<T>(deps: HoldDeps, job: HeldJob, work: Promise<T>): Promise<T> {
  let renewal = Promise.resolve();
  // Two may fail before it is lost.
  const timer = setInterval(() => renewal = renew(deps, job), deps.leaseMs / 3);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    // Which lease it is has to be known to end it.
    await renewal;
  }
}

async function renew({ database, clock, log, leaseMs }: HoldDeps, job: HeldJob): Promise<void> {
  try {
    const until = new Date(clock() + leaseMs);
    const isHeld = await database.query((sql) => renewLease(sql, job, until), "renew lease");
    if (isHeld) job.lease_until = until;
  } catch (error) {
    log.error("job_lease_not_renewed", error, { job: job.id, task: job.task });
  }
}
