/** What can need the attention of staff: how each cause is found, and what to do about it. */

import type { Sql } from "../../db/connection/database.ts";
import {
  countAttention,
  countLastingFailures,
  countLastingUnknowns,
  listDifferingReports,
  MAX_ATTENTION,
} from "../../db/reports/attention.ts";
import { countContradictions } from "../../db/reports/invariants.ts";
import { findUnrecognized } from "../../db/reports/status.ts";
import type { AttentionCause } from "../events/attention.ts";
import { ownerlessSince } from "../payments/read.ts";
import type { Service } from "../service.ts";
import { areMissing, DOCTOR_PATH, readMissingNotifications } from "./missing_notifications.ts";

const MINUTE_MS = 60_000;

/** After 15 minutes a charge that the gateway does not know has failed, so its outcome is known. */
const UNKNOWN_MS = 20 * MINUTE_MS;

/** An endpoint may be down while it is updated. */
const FAILING_MS = 30 * MINUTE_MS;

/** Differences of older reports do not count: staff have seen them by then. */
const REPORT_MS = 30 * 24 * 60 * MINUTE_MS;

export interface CauseTexts {
  title: string;
  next_step: string;
  /** The page of the console that shows what it is about. */
  path: string;
}

export const CAUSES: Record<AttentionCause, CauseTexts> = {
  notifications_missing: {
    title: "Notifications of the gateway do not arrive",
    next_step: "Run `deno task doctor` or open the page Doctor of the console: it names the fault.",
    path: DOCTOR_PATH,
  },
  outcomes_unknown: {
    title: "Requests to the gateway have an unknown outcome",
    next_step: "The service keeps asking. Check the gateway's status page, and look the payments " +
      "up in its dashboard.",
    path: "/status/",
  },
  payments_ownerless: {
    title: "Customers paid, but no user, invoice or subscription explains the payments",
    next_step: "Find out which orders they pay, or refund them. If other programs use the same " +
      "gateway account, the payments may be theirs.",
    path: "/payments/?owner=none",
  },
  payments_unrecognized: {
    title: "The gateway reports a payment status that this version does not know",
    next_step: "The payments keep their last known status. Look them up in the gateway's " +
      "dashboard, and update the service.",
    path: "/status/",
  },
  checkouts_paid_twice: {
    title: "Customers paid a checkout twice",
    next_step: "Refund one of the two payments of each checkout.",
    path: "/checkouts/?alert=paid_twice",
  },
  checkouts_paid_late: {
    title: "Customers paid a checkout after it had expired or was cancelled",
    next_step: "Deliver the order, or refund the payment.",
    path: "/checkouts/?alert=paid_late",
  },
  report_differences: {
    title: "A report of the gateway differs from the stored payments",
    next_step: "Open the reconciliation, and resolve its differences.",
    path: "/reconciliations/",
  },
  notifications_failed: {
    title: "Notifications could not be confirmed with the gateway",
    next_step: "Read their errors, and replay them.",
    path: "/notifications/?status=failed",
  },
  webhook_endpoints_failing: {
    title: "Webhook endpoints do not accept events",
    next_step: "Repair the receiver. Enable the endpoint again if the service has disabled it.",
    path: "/webhooks/?health=failing",
  },
  jobs_failed: {
    title: "Jobs failed permanently",
    next_step: "Read their errors, remove the cause, and retry them.",
    path: "/jobs/?status=failed",
  },
  invariants_violated: {
    title: "Stored records contradict each other",
    next_step:
      "Compare the records with the gateway's dashboard. A program changed the database, " +
      "or the service has a fault: report it.",
    path: "/status/",
  },
};

export interface FoundCause {
  /** How many records it is about; 0: it needs no attention. */
  count: number;
  /** Since when, if the records say so. */
  since: Date | null;
}

/** `raised`: the causes that are raised so far. */
export async function findCauses(
  service: Pick<Service, "database" | "clock">,
  raised: ReadonlySet<string>,
): Promise<Record<AttentionCause, FoundCause>> {
  const { database, clock } = service;
  const now = clock();
  const ago = (ms: number) => new Date(now - ms);
  const read = <T>(work: (sql: Sql) => Promise<T>) => database.query(work, "count attention");
  const missing = await readMissingNotifications(service);
  const areNowMissing = areMissing(missing, raised.has("notifications_missing"));
  const counts = await read((sql) =>
    countAttention(sql, { createdBefore: ago(UNKNOWN_MS), paidSince: ownerlessSince(now) })
  );
  const unknowns = await read((sql) => countLastingUnknowns(sql, ago(UNKNOWN_MS)));
  const reports = await read((sql) => listDifferingReports(sql, ago(REPORT_MS)));
  const unrecognized = await read(findUnrecognized);
  const failingEndpoints = await read((sql) => countLastingFailures(sql, ago(FAILING_MS)));
  const contradictions = await read((sql) => countContradictions(sql, MAX_ATTENTION + 1));
  const found = (count: number, since: Date | null = null) => ({ count, since });
  const unrecognizedCount = Math.min(unrecognized.count, MAX_ATTENTION + 1);
  return {
    // While it lasts in a quiet hour, there is nothing to count.
    notifications_missing: found(areNowMissing ? Math.max(1, missing.missing) : 0, missing.since),
    outcomes_unknown: found(Object.values(unknowns).reduce((sum, count) => sum + count, 0)),
    payments_ownerless: found(counts.ownerlessPayments),
    payments_unrecognized: found(unrecognizedCount),
    checkouts_paid_twice: found(counts.checkoutsPaidTwice),
    checkouts_paid_late: found(counts.checkoutsPaidLate),
    report_differences: found(reports.reduce((sum, { differences }) => sum + differences, 0)),
    notifications_failed: found(counts.failedNotifications),
    webhook_endpoints_failing: found(failingEndpoints),
    jobs_failed: found(counts.failedJobs),
    invariants_violated: found(contradictions),
  };
}
