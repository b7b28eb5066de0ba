/** For how long the gateway may not know of a charge that it is about to make. */

const MINUTE = 60_000;

const GRACE_MS = 15 * MINUTE;

/**
 * DANA's transactions are not found by their order id at all, so their absence proves nothing before
 * the last of them can no longer be paid, which is after a day.
 */
const DANA_GRACE_MS = 25 * 60 * MINUTE;

/** From then on a charge that the gateway knows nothing of was never made. */
export function graceEnd(payment: { payment_type: string; sent_at: Date }): Date {
  const grace = payment.payment_type === "dana" ? DANA_GRACE_MS : GRACE_MS;
  return new Date(payment.sent_at.getTime() + grace);
}
