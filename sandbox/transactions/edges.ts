/** Every change of state a transaction can make (G§10), as data. */

import type { Status } from "./transaction.ts";

export const EDGES: Record<Status, readonly Status[]> = {
  pending: ["authorize", "capture", "settlement", "deny", "cancel", "expire", "failure"],
  authorize: ["capture", "settlement", "cancel", "expire", "deny"],
  // To itself: a challenge that is accepted.
  capture: ["capture", "settlement", "deny", "cancel"],
  // To deny: the reversal of a provider, minutes later.
  settlement: ["refund", "partial_refund", "chargeback", "partial_chargeback", "deny"],
  partial_refund: ["partial_refund", "refund"],
  partial_chargeback: ["chargeback"],
  deny: [],
  cancel: [],
  expire: [],
  failure: [],
  refund: [],
  chargeback: [],
};
