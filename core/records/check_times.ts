/** When a record is checked at the gateway. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Calls with an unknown outcome are checked after this time, which is longer than any call takes.
 */
export const UNANSWERED_CHECK_MS = MINUTE;

/** How long a payment may take to show on its invoice or subscription at the gateway. */
export const PROPAGATION_MS = HOUR;

export function inOneMinute(now: number): Date {
  return new Date(now + MINUTE);
}

/** The first interval of `nextCheck`, and the shortest, unless the record expires earlier. */
export const FIRST_CHECK_MS = 5 * MINUTE;

/** The longest interval of `nextCheck`. */
export const MAX_CHECK_INTERVAL_MS = 6 * HOUR;

/** How long the gateway may take to expire a payment after the payment's expiry time. */
export const EXPIRY_GRACE_MS = MINUTE;

/**
 * Other reports can arrive during a check. If the check's response may be outdated, the check is
 * repeated; this is the maximum number of checks.
 */
export const MAX_CHECKS = 3;

/**
 * The next check of a record that waits for the customer: after a quarter of the record's age, but
 * at least 5 minutes and at most 6 hours. If the record expires earlier: a minute after its expiry.
 */
export function nextCheck(createdAt: Date, now: Date, expiryTime: Date | null = null): Date {
  const age = now.getTime() - createdAt.getTime();
  const next = now.getTime() + Math.min(Math.max(age / 4, FIRST_CHECK_MS), MAX_CHECK_INTERVAL_MS);
  const expired = (expiryTime?.getTime() ?? Infinity) + EXPIRY_GRACE_MS;
  return new Date(expired > now.getTime() ? Math.min(next, expired) : next);
}
