/** A subscription as the sandbox keeps it. */

import type { Stored } from "../world/table.ts";

export interface Subscription extends Stored {
  name: string;
  amount: number;
  currency: "IDR";
  paymentType: "credit_card" | "gopay";
  token: string;
  accountId: string | null;
  status: "active" | "inactive";
  /** Ended for good: its retries are dropped, and it cannot be enabled again. */
  isCancelled: boolean;
  createdAt: number;
  schedule: {
    interval: number;
    unit: "day" | "week" | "month";
    /** Cycles at most; null: without end. */
    maxInterval: number | null;
    startAt: number;
    /** Where cycles are counted from; moves when the interval is changed. */
    anchor: { at: number; cycle: number };
    /** Cycles that are over. */
    current: number;
    previousAt: number | null;
    nextAt: number | null;
  };
  retry: { interval: number; unit: "minute" | "hour" | "day"; maxInterval: number };
  /** The retry that is under way in the present cycle. */
  retrying: { count: number; nextAt: number } | null;
  transactionIds: string[];
  metadata: Record<string, unknown>;
  customer: Record<string, unknown> | null;
}
