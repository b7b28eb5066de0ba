/** What makes the sandbox tell the merchant something: a call, a happening, or time. */

export const CAUSES = [
  "charge",
  "cancel",
  "expire",
  "approve",
  "deny",
  "capture",
  "refund",
  "direct_refund",
  "confirm_refund",
  "pay",
  "three_ds",
  "fail",
  "expiry",
  "settle",
  "chargeback",
  "reverse",
  "invoice",
  "subscription",
  "subscription_charge",
  "account",
] as const;

export type Cause = (typeof CAUSES)[number];
