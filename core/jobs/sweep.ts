/**
 * Runs what no carrier brought: jobs that are due, and those whose worker is gone. Here and now, since
 * where instances sleep (Deno Deploy), this may be the one moment in which one is awake.
 */

import type { Database } from "../../db/database.ts";
import { listDueJobs } from "../../db/jobs.ts";
import { within } from "../../db/within.ts";
import type { Clock } from "../clock.ts";
import type { Deliver } from "./carrier.ts";

/** In one sweep; what is left over is the next one's. */
const MOST_JOBS = 500;

/** How long a sweep waits for what it found: the next one must not find it still at it. */
const LONGEST_MS = 50_000;

export interface SweepDeps {
  database: Database;
  clock: Clock;
  deliver: Deliver;
}

/** How many there were. */
export async function sweepJobs({ database, clock, deliver }: SweepDeps): Promise<number> {
  const now = new Date(clock());
  const due = await database.query((sql) => listDueJobs(sql, now, MOST_JOBS), "list due jobs");
  await within(LONGEST_MS, Promise.all(due.map(({ id }) => deliver(id))));
  return due.length;
}
