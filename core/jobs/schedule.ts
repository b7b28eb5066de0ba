/** What happens by the clock: entries of a table, and their ticks, each run by one instance. */

import { claimTick, endTick } from "../../db/cron_runs.ts";
import type { Database } from "../../db/database.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { errorText } from "./error_text.ts";

export interface ScheduleEntry {
  name: string;
  /** Five fields, UTC. */
  cron: string;
  run(): Promise<unknown>;
}

const MINUTE_MS = 60_000;

/** A timer may fire a moment early, and still means the minute that is about to begin. */
const EARLY_MS = 1_000;

export interface TickDeps {
  database: Database;
  clock: Clock;
  log: Log;
}

/** Runs an entry, unless another instance has this minute's tick. Never fails: it records and logs. */
export async function tick({ database, clock, log }: TickDeps, entry: ScheduleEntry) {
  const task = entry.name;
  try {
    const now = clock();
    const minute = new Date(Math.floor((now + EARLY_MS) / MINUTE_MS) * MINUTE_MS);
    const claim = { task, minute, started_at: new Date(now) };
    if (!await database.query((sql) => claimTick(sql, claim), "claim tick")) return;
    const error = await failureOf(entry);
    if (error !== null) log.error("tick_failed", error, { task });
    const end = {
      task,
      minute,
      finished_at: new Date(clock()),
      error: error === null ? null : errorText(error),
    };
    await database.query((sql) => endTick(sql, end), "end tick");
  } catch (error) {
    log.error("tick_interrupted", error, { task });
  }
}

async function failureOf(entry: ScheduleEntry): Promise<unknown> {
  try {
    await entry.run();
    return null;
  } catch (error) {
    return error ?? new Error("It failed without a reason");
  }
}
