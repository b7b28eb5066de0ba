/** Hands out again what no carrier brought: jobs that are due, and those whose worker is gone. */

import type { Database } from "../../db/database.ts";
import { listDueJobs } from "../../db/jobs.ts";
import type { Clock } from "../clock.ts";
import type { Carrier } from "./carrier.ts";

/** In one sweep; what is left over is the next one's. */
const MOST_JOBS = 500;

export interface SweepDeps {
  database: Database;
  carrier: Carrier;
  clock: Clock;
}

export async function sweepJobs({ database, carrier, clock }: SweepDeps): Promise<void> {
  const now = new Date(clock());
  const due = await database.query((sql) => listDueJobs(sql, now, MOST_JOBS), "list due jobs");
  for (const job of due) carrier.carry(job);
}
