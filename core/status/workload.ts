/**
 * Reads the state of background work: jobs, schedule, deliveries, notifications, unknown outcomes.
 */

import { type CronRun, listCronRuns } from "../../db/jobs/cron_runs.ts";
import type { Sql } from "../../db/connection/database.ts";
import { findUnpublished } from "../../db/events/publication.ts";
import {
  type CheckoutAlerts,
  countCheckoutAlerts,
  countDisabledEndpoints,
  countFailedNotifications,
  countJobs,
  countOwnerless,
  countUnanswered,
  type FailedJob,
  findOldestDue,
  findReceived,
  findUndelivered,
  findUnrecognized,
  findUnsent,
  type JobCount,
  listLastFailures,
  type Unanswered,
  type UnrecognizedPayments,
} from "../../db/reports/status.ts";
import {
  countContradictions,
  type FoundContradiction,
  listContradictions,
} from "../../db/reports/invariants.ts";
import { MAX_COUNTED, type Waiting } from "../../db/records/waiting.ts";
import { type GatewayAttention, listCauses } from "../../db/reports/attention_causes.ts";
import {
  areMissing,
  type ExplainedMissing,
  readMissingNotifications,
} from "../attention/missing_notifications.ts";
import { alertsSince } from "../checkouts/read.ts";
import { ownerlessSince } from "../payments/read.ts";
import type { Service } from "../service.ts";

/** How many contradictions are listed. */
const MAX_EXAMPLES = 10;

export interface Workload {
  jobs: JobCount[];
  lastFailures: FailedJob[];
  /** When the oldest queued job became due; null if none is due. */
  oldestDue: Date | null;
  cronRuns: CronRun[];
  /** Committed events without a position. Lists and streams do not show them yet. */
  unpublished: Waiting;
  /** Events that wait for handlers in the embedding program. */
  undelivered: Waiting;
  /** Webhook deliveries that wait to be sent. */
  unsent: Waiting;
  disabledEndpoints: number;
  /** Notifications that are not processed yet. */
  received: Waiting;
  /** Notifications that the service gave up confirming. */
  failedNotifications: number;
  unanswered: Unanswered;
  /** Paid payments without an owner. */
  ownerless: number;
  checkouts: CheckoutAlerts;
  /** Payments whose status at the gateway is not known to the service. */
  unrecognized: UnrecognizedPayments;
  /** Records that contradict each other. */
  contradictions: { count: number; examples: FoundContradiction[] };
  /** The paid payments of the last hour, and how many of their notifications did not arrive. */
  missingNotifications: ExplainedMissing & { areMissing: boolean };
  /** The causes for attention that are raised. */
  attention: RaisedAttention[];
}

export type RaisedAttention = GatewayAttention & { since: Date };

export async function readWorkload(
  service: Pick<Service, "database" | "clock">,
): Promise<Workload> {
  const { database, clock } = service;
  // One query after the other, so that this never takes more than one connection of the pool.
  const read = <T>(work: (sql: Sql) => Promise<T>) => database.query(work, "read status");
  return {
    jobs: await read(countJobs),
    lastFailures: await read(listLastFailures),
    oldestDue: await read((sql) => findOldestDue(sql, new Date(clock()))),
    cronRuns: await read(listCronRuns),
    unpublished: await read(findUnpublished),
    undelivered: await read(findUndelivered),
    unsent: await read(findUnsent),
    disabledEndpoints: await read(countDisabledEndpoints),
    received: await read(findReceived),
    failedNotifications: await read(countFailedNotifications),
    unanswered: await read(countUnanswered),
    ownerless: await read((sql) => countOwnerless(sql, ownerlessSince(clock()))),
    checkouts: await read((sql) => countCheckoutAlerts(sql, alertsSince(clock()))),
    unrecognized: await read(findUnrecognized),
    contradictions: {
      count: await read((sql) => countContradictions(sql, MAX_COUNTED + 1)),
      examples: await read((sql) => listContradictions(sql, MAX_EXAMPLES)),
    },
    ...await readRaised(service),
  };
}

/** What is raised, and whether notifications do not arrive. */
export async function readRaised(
  service: Pick<Service, "database" | "clock">,
): Promise<Pick<Workload, "attention" | "missingNotifications">> {
  const causes = await service.database.query(listCauses, "read status");
  const raised = causes.filter((each): each is RaisedAttention => each.since !== null);
  const found = await readMissingNotifications(service);
  const stored = raised.find(({ cause }) => cause === "notifications_missing");
  return {
    attention: raised,
    missingNotifications: {
      ...found,
      areMissing: areMissing(found, stored !== undefined),
      // The window may have begun later than the problem.
      since: stored?.since ?? found.since,
    },
  };
}
