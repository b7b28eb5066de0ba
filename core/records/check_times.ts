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

/** The first look at what the gateway has answered; no other is sooner after the one before. */
export const FIRST_CHECK_MS = 5 * MINUTE;

const LONGEST_MS = 6 * HOUR;

/** How long after its time the gateway may take to end a payment, before it is told to. */
export const EXPIRY_GRACE_MS = MINUTE;

/**
 * The next look at what waits for its customer: the older it is, the later, but not long after it can
 * no longer be paid.
 */
export function nextCheck(createdAt: Date, now: Date, expiryTime: Date | null = null): Date {
  const age = now.getTime() - createdAt.getTime();
  const next = now.getTime() + Math.min(Math.max(age / 4, FIRST_CHECK_MS), LONGEST_MS);
  const over = (expiryTime?.getTime() ?? Infinity) + EXPIRY_GRACE_MS;
  return new Date(over > now.getTime() ? Math.min(next, over) : next);
}
