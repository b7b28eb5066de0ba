/**
 * Leases: how long a worker's claim of a job, and a request's of an idempotency key, lasts. All
 * times are the database's: the clocks of instances differ. A lease also ends when the lock of its
 * instance is free (instance_lock.ts), so another instance takes over at once after a crash. The
 * former instance may still run. So each write is conditional on its `lease_id`.
 */

import type { ThisInstance } from "../connection/instance_lock.ts";

/** Columns of jobs and idempotency keys. Like `lease_until`, they are null without a lease. */
export interface Lease {
  /** Chosen before the claim: if the result of the claim is lost, the lease can still be ended. */
  lease_id: string;
  /** The token of the instance; null: the lease ends only when its time is over. */
  holder: number | null;
}

export function newLease(thisInstance: ThisInstance): Lease {
  return { lease_id: crypto.randomUUID(), holder: thisInstance.token() };
}

/** SQL: `lease_until` of a lease that begins now or is renewed. */
export function leaseEnd(leaseMs: number): string {
  return `now() + interval '${leaseMs} milliseconds'`;
}

/**
 * SQL: whether the row has a lease that is not over. A lease that ends in more than ten minutes was
 * set before the database's clock was set back.
 */
export const IS_LEASED = `(lease_until > now() and lease_until <= now() + interval '10 minutes'
    and pg_try_advisory_xact_lock_shared(holder) is not true) is true`;

/** SQL: the assignments that end a lease. */
export const END_LEASE = "lease_id = null, lease_until = null, holder = null";
