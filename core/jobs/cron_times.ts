/** Cron expressions: how often a scheduled task runs, and when it runs next. */

const MINUTE_MS = 60_000;

export function minutesBetweenRuns(cron: string): number {
  const { step, minute } = parseCron(cron);
  return minute === null ? step : 60;
}

/** The first full minute after `now` at which the task is due. */
export function nextRun(cron: string, now: Date): Date {
  const { step, minute } = parseCron(cron);
  const first = Math.floor(now.getTime() / MINUTE_MS) + 1;
  const isDue = (each: number) => minute === null ? each % 60 % step === 0 : each % 60 === minute;
  const next = Array.from({ length: 60 }, (_, index) => first + index).find(isDue)!;
  return new Date(next * MINUTE_MS);
}

/** Supports three forms of schedule: every minute, every n minutes, hourly at a fixed minute. */
function parseCron(cron: string): { step: number; minute: number | null } {
  const match = cron.match(/^(?:(\*)(?:\/(\d+))?|(\d+)) \* \* \* \*$/);
  if (!match) throw new Error(`Unsupported cron expression "${cron}"`);
  const [, every, step, minute] = match;
  return { step: Number(step ?? 1), minute: every ? null : Number(minute) };
}
