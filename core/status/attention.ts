/** `readAttention`: what staff should look at, for the console. For staff and viewers. */

import {
  type AttentionCounts,
  countAttention,
  type DifferingReport,
  listDifferingReports,
  MAX_ATTENTION,
} from "../../db/reports/attention.ts";
import { countContradictions } from "../../db/reports/invariants.ts";
import { type Caller, requireReadAll } from "../auth/caller.ts";
import type { BreakerState } from "../gateway/circuit_breaker.ts";
import { ownerlessSince, unansweredSince } from "../payments/read.ts";
import type { Service } from "../service.ts";
import { readRaised } from "./workload.ts";

export { MAX_ATTENTION };

/** A count above `MAX_ATTENTION` means "`MAX_ATTENTION` or more". */
export interface Attention extends AttentionCounts {
  /** Whether notifications do not arrive. */
  areMissing: boolean;
  /** The circuit breaker of this instance. */
  gateway: BreakerState;
  /** Newest first. */
  differingReports: DifferingReport[];
  /** Records that contradict each other. */
  contradictions: number;
}

/** Older reports are not shown: staff have seen their differences by then. */
const REPORT_DAYS = 30;

const DAY_MS = 86_400_000;

export async function readAttention(service: Service, caller: Caller): Promise<Attention> {
  requireReadAll(caller);
  const { database, clock, gateway } = service;
  const now = clock();
  const counts = await database.query(
    (sql) =>
      countAttention(sql, { createdBefore: unansweredSince(now), paidSince: ownerlessSince(now) }),
    "count attention",
  );
  const since = new Date(now - REPORT_DAYS * DAY_MS);
  const differingReports = await database.query(
    (sql) => listDifferingReports(sql, since),
    "list differing reports",
  );
  const contradictions = await database.query(
    (sql) => countContradictions(sql, MAX_ATTENTION + 1),
    "count contradictions",
  );
  const { missingNotifications } = await readRaised(service);
  return {
    ...counts,
    areMissing: missingNotifications.areMissing,
    gateway: gateway.breakerState(),
    differingReports,
    contradictions,
  };
}
