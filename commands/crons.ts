/** Registers the crons of the service. A tick waits until the service has started. */

import { SCHEDULE_TIMES } from "../core/schedule_times.ts";

/** Runs a tick of the scheduled task with this name. */
export type RunTick = (task: string) => Promise<void>;

export interface Crons {
  /** Runs the ticks that wait, and all later ones. */
  start(run: RunTick): void;
  /** Makes every tick do nothing, because the service cannot start. The crons stay registered. */
  skip(): void;
  /** Removes the crons. */
  stop(): void;
}

/**
 * Call it before anything is awaited: Deno Deploy evaluates the entry point to find the crons, even
 * if no database can be reached and no settings exist.
 */
export function registerCrons(): Crons {
  const removal = new AbortController();
  const ready = Promise.withResolvers<RunTick>();
  for (const [task, time] of Object.entries(SCHEDULE_TIMES)) {
    Deno.cron(task, time, { signal: removal.signal }, async () => {
      const run = await ready.promise;
      await run(task);
    });
  }
  return {
    start: ready.resolve,
    skip: () => ready.resolve(() => Promise.resolve()),
    stop: () => removal.abort(),
  };
}
