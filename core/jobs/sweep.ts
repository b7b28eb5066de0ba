/**
 * Runs what no carrier brought: jobs that are due, and those whose worker is gone. Here and now, since
 * where instances sleep (Deno Deploy), this may be the one moment in which one is awake.
 */

import type { Database } from "../../db/database.ts";
import { listDueJobs } from "../../db/job_queries.ts";
import { JOB_RANKS, type JobRank } from "../../db/jobs.ts";
import { waitAtMost } from "../../db/within.ts";
import type { Clock } from "../clock.ts";
import type { Deliver } from "./queue.ts";

/** So many wait for their turn at once; when they had it, the next are looked for. */
const BATCH = 500;

/** How long a sweep goes on: the next one must not find it still at it. */
const LONGEST_MS = 50_000;

export interface SweepDeps {
  database: Database;
  clock: Clock;
  deliver: Deliver;
}

/** How many there were. Ranks have nothing to do with each other: one that is slow, or fails, is alone. */
export async function sweepJobs(deps: SweepDeps): Promise<number> {
  const deadline = performance.now() + LONGEST_MS;
  const sweeps = Object.values(JOB_RANKS).map((rank) => sweepRank(deps, rank, deadline));
  await Promise.allSettled(sweeps);
  const counts = await Promise.all(sweeps);
  return counts.reduce((sum, count) => sum + count);
}

async function sweepRank(
  { database, clock, deliver }: SweepDeps,
  rank: JobRank,
  deadline: number,
): Promise<number> {
  const found = new Set<string>();
  while (performance.now() < deadline) {
    const now = new Date(clock());
    const due = await database.query((sql) => listDueJobs(sql, rank, now, BATCH), "list due jobs");
    // Whoever had a turn, and is there still, has to wait for the next sweep.
    const jobs = due.filter(({ id }) => !found.has(id));
    if (jobs.length === 0) break;
    for (const { id } of jobs) found.add(id);
    const delivered = jobs.map(({ id, ...kind }) => deliver(id, kind));
    await waitAtMost(deadline - performance.now(), Promise.all(delivered));
    if (due.length < BATCH) break;
  }
  return found.size;
}
