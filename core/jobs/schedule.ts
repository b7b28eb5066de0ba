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
  /** What it returns is kept as JSON, until the next tick. */
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
    const outcome = await outcomeOf(entry);
    if (outcome.failure) log.error("tick_failed", outcome.failure.reason, { task });
    const end = {
      task,
      minute,
      finished_at: new Date(clock()),
      result: JSON.stringify(outcome.value) ?? null,
      error: outcome.failure ? errorText(outcome.failure.reason) : null,
    };
    await database.query((sql) => endTick(sql, end), "end tick");
  } catch (error) {
    log.error("tick_interrupted", error, { task });
  }
}

async function outcomeOf(
  entry: ScheduleEntry,
): Promise<{ value?: unknown; failure?: { reason: unknown } }> {
  try {
    return { value: await entry.run() };
  } catch (reason) {
    return { failure: { reason } };
  }
}
