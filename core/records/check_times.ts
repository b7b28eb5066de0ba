/** When to look at the gateway for what became of a record. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A call whose end is unknown is looked into after this; longer than any call takes. */
export const UNANSWERED_CHECK_MS = MINUTE;

/** The gateway's parts hear of each other, and may take their time. */
export const SLOWNESS_MS = HOUR;

export function soon(now: number): Date {
  return new Date(now + MINUTE);
}

const [SHORTEST, LONGEST] = [5 * MINUTE, 6 * HOUR];

/** The next look at what waits for its customer: the older it is, the later. */
export function nextCheck(createdAt: Date, now: Date): Date {
  const age = now.getTime() - createdAt.getTime();
  return new Date(now.getTime() + Math.min(Math.max(age / 4, SHORTEST), LONGEST));
}
