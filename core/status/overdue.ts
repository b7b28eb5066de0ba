/** Whether something that happens by the clock has not happened when it should have. */

const MINUTE_MS = 60_000;

/** One tick may be missed, such as while all instances are replaced. */
const PATIENCE_TICKS = 2;

/** `since`: when it last began; where it never did, since when it could have. */
export function isOverdue(cron: string, since: Date, now: Date): boolean {
  const patience = PATIENCE_TICKS * minutesBetween(cron) + 1;
  return now.getTime() - since.getTime() > patience * MINUTE_MS;
}

/** Of the forms that the schedule uses: every minute, every n-th, and once an hour. */
function minutesBetween(cron: string): number {
  const [, every, step] = cron.match(/^(?:(\*)(?:\/(\d+))?|\d+) \* \* \* \*$/) ??
    unknownForm(cron);
  return every ? Number(step ?? 1) : 60;
}

function unknownForm(cron: string): never {
  throw new Error(`How often is "${cron}"?`);
}
