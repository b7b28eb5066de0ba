/** What needs attention, with the page of the console that shows exactly that. */

import type { Attention } from "../../core/status/attention.ts";
import type { AttentionReason } from "../words/overview.ts";

export interface AttentionEntry {
  reason: AttentionReason;
  /** Null: cannot be counted. */
  count: number | null;
  /** The path in the console, with its filters. */
  path: string;
}

/** Only what needs attention now, the most urgent first. */
export function listAttention(attention: Attention): AttentionEntry[] {
  const { gateway, differingReports } = attention;
  const entry = (reason: AttentionReason, count: number | null, path: string) => ({
    reason,
    count,
    path,
  });
  return [
    entry("gatewayDown", gateway === "closed" ? 0 : null, "/status/"),
    entry("missingNotifications", attention.areMissing ? null : 0, "/status/"),
    entry(
      "challenged",
      attention.challenged,
      "/payments/?fraud_status=challenge&status=capture&status=authorize",
    ),
    entry("unansweredPayments", attention.unansweredPayments, "/payments/?outcome=unknown"),
    entry("ownerlessPayments", attention.ownerlessPayments, "/payments/?owner=none"),
    entry("paidTwice", attention.checkoutsPaidTwice, "/checkouts/?alert=paid_twice"),
    entry("paidLate", attention.checkoutsPaidLate, "/checkouts/?alert=paid_late"),
    entry("pendingRefunds", attention.pendingRefunds, "/refunds/?status=pending"),
    ...differingReports.map(({ id, differences }) =>
      entry("differences", differences, `/reconciliations/${id}/`)
    ),
    entry("failingEndpoints", attention.failingEndpoints, "/webhooks/?health=failing"),
    entry("failedNotifications", attention.failedNotifications, "/notifications/?status=failed"),
    entry("failedJobs", attention.failedJobs, "/jobs/?status=failed"),
    entry("contradictions", attention.contradictions, "/status/"),
  ].filter(({ count }) => count !== 0);
}
