/** When a record is checked at the gateway. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Calls with an unknown outcome are checked after this time, which is longer than any call takes. */
export const UNANSWERED_CHECK_MS = MINUTE;

/** How long a payment may take to show on its invoice or subscription at the gateway. */
export const PROPAGATION_MS = HOUR;

export function inOneMinute(now: number): Date {
  return new Date(now + MINUTE);
}

/** The shortest time until a record that the gateway has confirmed is checked, and between two checks. */
export const FIRST_CHECK_MS = 5 * MINUTE;

const MAX_CHECK_INTERVAL_MS = 6 * HOUR;

/** How long after its expiry time the gateway may take to expire a payment by itself. */
export const EXPIRY_GRACE_MS = MINUTE;

/**
 * Other reports can arrive during a check. If the check's response may be outdated, the check is
 * repeated; this is the maximum number of checks.
 */
export const MAX_CHECKS = 3;

/**
 * The next check of a record that waits for its customer: after a quarter of its age, within bounds,
 * and no later than shortly after the record expires.
 */
export function nextCheck(createdAt: Date, now: Date, expiryTime: Date | null = null): Date {
  const age = now.getTime() - createdAt.getTime();
  const next = now.getTime() + Math.min(Math.max(age / 4, FIRST_CHECK_MS), MAX_CHECK_INTERVAL_MS);
  const expired = (expiryTime?.getTime() ?? Infinity) + EXPIRY_GRACE_MS;
  return new Date(expired > now.getTime() ? Math.min(next, expired) : next);
}
