/** A request that bears an `Idempotency-Key`, and what comes of one. */

export interface KeyedAttempt {
  key: string;
  /** Method and path: a charge's key never answers a refund. */
  scope: string;
  /** Of what was asked for, so that the same key with another question is noticed. */
  bodyHash: Uint8Array;
  /** Its asker comes back by itself: what has but to wait is not over. */
  isTriedAgain?: boolean;
}

export interface Outcome<T> {
  body: T;
  /** True for an answer that was given before. */
  isReplayed: boolean;
}
