/** Registers the cron of the service. A tick waits until the service has started. */

/** Runs the scheduled tasks that are due. */
export type RunTick = () => Promise<void>;

export interface Crons {
  /** Runs the ticks that wait, and all later ones. */
  start(run: RunTick): void;
  /** Makes every tick do nothing, because the service cannot start. The cron stays registered. */
  skip(): void;
  /** Removes the cron. */
  stop(): void;
}

/** One cron for all tasks: Deno Deploy limits the number of crons, and charges for each run. */
export const CRON = { name: "schedule", time: "* * * * *" };

/**
 * Call it before anything is awaited: Deno Deploy evaluates the entry point to find the crons, even
 * if no database can be reached and no settings exist.
 */
export function registerCrons(): Crons {
  const removal = new AbortController();
  const ready = Promise.withResolvers<RunTick>();
  Deno.cron(CRON.name, CRON.time, { signal: removal.signal }, async () => {
    const run = await ready.promise;
    await run();
  });
  return {
    start: ready.resolve,
    skip: () => ready.resolve(() => Promise.resolve()),
    stop: () => removal.abort(),
  };
}
