/** `prune`: deletes what is over and older than it is to be kept, in small steps. */

import { NIL } from "uuid";
import type { Database } from "../db/database.ts";
import {
  PRUNED_TABLES,
  type PrunedTable,
  pruneKeys,
  type PruneStep,
  pruneTable,
} from "../db/prune.ts";
import type { Clock } from "./clock.ts";
import type { Keep } from "./config/config.ts";
import { firstIdAt } from "./first_id_at.ts";
import { keysSince } from "./idempotency/keys.ts";

export interface PruneDeps {
  database: Database;
  clock: Clock;
  /** How many days what is over is kept. */
  keep: Keep;
}

/** Each step is a statement of its own, and takes some milliseconds; what is left over is for the next run. */
const STEP = { rows: 500, most: 1_000 };

const DAY_MS = 24 * 60 * 60 * 1_000;

/** How many of each were deleted. */
export async function prune(deps: PruneDeps, step = STEP): Promise<Keep> {
  const deleted = { jobs: 0, notifications: 0, events: 0, keys: 0 };
  for (const table of PRUNED_TABLES) deleted[table] = await pruneAll(deps, table, step);
  deleted.keys = await pruneAllKeys(deps, step);
  return deleted;
}

async function pruneAll(
  { database, clock, keep }: PruneDeps,
  table: PrunedTable,
  step: typeof STEP,
): Promise<number> {
  const before = daysBefore(clock(), keep[table]);
  const end = firstIdAt(before);
  let deleted = 0;
  let after: string | null = NIL;
  for (let count = 0; count < step.most && after !== null; count++) {
    const range: PruneStep = { after, end, before, limit: step.rows };
    const done = await database.query((sql) => pruneTable(sql, table, range), `prune ${table}`);
    deleted += done.deleted;
    after = done.last;
  }
  return deleted;
}

async function pruneAllKeys({ database, clock, keep }: PruneDeps, step: typeof STEP) {
  const now = new Date(clock());
  // Callers were promised that long, whatever is set.
  const before = new Date(Math.min(+daysBefore(clock(), keep.keys), +keysSince(now)));
  let deleted = 0;
  for (let count = 0; count < step.most; count++) {
    const range = { before, now, limit: step.rows };
    const done = await database.query((sql) => pruneKeys(sql, range), "prune keys");
    deleted += done;
    if (done < step.rows) break;
  }
  return deleted;
}

/** Never before 1970, where ids begin. */
function daysBefore(now: number, days: number): Date {
  return new Date(Math.max(0, now - days * DAY_MS));
}
