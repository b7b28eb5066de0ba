/** What a subscription is asked for with; checked by whoever takes it in. */

import type { IntervalUnit } from "../../db/subscriptions.ts";

export interface SubscriptionInput {
  name: string;
  amount: number;
  payment_type: SubscriptionPaymentType;
  /** Of a saved card, or of a linked wallet; passed on and kept nowhere. */
  token: string;
  /** Of the wallet. */
  gopay_account_id?: string;
  interval: number;
  interval_unit: IntervalUnit;
  /** Without end where left out. */
  max_interval?: number;
  /** One interval from now where left out. */
  start_time?: Date;
  retry_schedule?: RetrySchedule;
  customer_details?: {
    first_name?: string;
    last_name?: string;
    email?: string;
    phone?: string;
  };
  metadata?: Record<string, unknown>;
}

export const SUBSCRIPTION_PAYMENT_TYPES = ["credit_card", "gopay"] as const;

export type SubscriptionPaymentType = (typeof SUBSCRIPTION_PAYMENT_TYPES)[number];

export const RETRY_UNITS = ["minute", "hour", "day"] as const;

/** When a charge that failed is tried again. */
export interface RetrySchedule {
  interval: number;
  interval_unit: (typeof RETRY_UNITS)[number];
  /** How often; 0: never. */
  max_interval: number;
}

/** What can be changed of a subscription; the gateway wants the token again, whatever it is. */
export interface SubscriptionUpdate {
  token: string;
  name?: string;
  amount?: number;
  /** From the cycle after the next on. */
  interval?: number;
  retry_schedule?: RetrySchedule;
  gopay_account_id?: string;
}
