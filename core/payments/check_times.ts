/** When to look at the gateway for what became of a payment. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A call whose end is unknown is looked into after this; longer than any call takes. */
export const UNANSWERED_CHECK_MS = MINUTE;

/** For so long after a charge the gateway may not know a transaction that it is about to make. */
const GRACE_MS = 15 * MINUTE;

/**
 * DANA's transactions are not found by their order id at all, so their absence proves nothing before
 * the last of them can no longer be paid, which is after a day.
 */
const DANA_GRACE_MS = 25 * HOUR;

/** From then on a charge that the gateway knows nothing of was never made. */
export function graceEnd(payment: { payment_type: string; sent_at: Date }): Date {
  const grace = payment.payment_type === "dana" ? DANA_GRACE_MS : GRACE_MS;
  return new Date(payment.sent_at.getTime() + grace);
}

const [SHORTEST, LONGEST] = [5 * MINUTE, 6 * HOUR];

/** The next look at a payment that waits for its customer: the older it is, the later. */
export function nextCheck(createdAt: Date, now: Date): Date {
  const age = now.getTime() - createdAt.getTime();
  return new Date(now.getTime() + Math.min(Math.max(age / 4, SHORTEST), LONGEST));
}
