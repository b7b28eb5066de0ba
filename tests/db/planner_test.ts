import assert from "node:assert/strict";
import { MAX, NIL } from "uuid";
import type { Caller } from "../../core/auth/caller.ts";
import { newPayment } from "../../core/payments/new_payment.ts";
import { readTerms } from "../../core/payments/search.ts";
import { readPaymentStats } from "../../core/reports/stats.ts";
import { countCheckouts } from "../../db/reports/checkout_stats.ts";
import { countAttention, countLastingUnknowns } from "../../db/reports/attention.ts";
import { findMissingNotifications } from "../../db/reports/missing_notifications.ts";
import { listAuditEntries, scanCharges } from "../../db/reports/audit.ts";
import { type Database, openDatabase, type Sql } from "../../db/connection/database.ts";
import { BEFORE_ALL, readEventsAfter } from "../../db/events/positions.ts";
import { findUnpublished, publishBatch } from "../../db/events/publication.ts";
import { listEvents } from "../../db/events/events.ts";
import { NO_LOCK } from "../../db/connection/instance_lock.ts";
import { listCheckoutsWithAlert } from "../../db/billing/checkouts.ts";
import { listInvoices } from "../../db/billing/invoices.ts";
import {
  findOutcomes,
  hasDueJob,
  insertRequest,
  LANES,
  listJobs,
  listJobsInOtherLanes,
} from "../../db/jobs/jobs.ts";
import { claimAbandonedJobs, claimDueJobs, claimJob, giveTurns } from "../../db/jobs/claims.ts";
import { listPaidPayments } from "../../db/payments/paid_checks.ts";
import { listNotifications } from "../../db/payments/notifications.ts";
import { listOwnerless, listPayments, listUnanswered } from "../../db/payments/lists.ts";
import {
  searchBeginnings,
  searchExact,
  searchNewest,
  searchParts,
} from "../../db/payments/search.ts";
import * as invariants from "../../db/reports/invariants.ts";
import * as lines from "../../db/reports/reconciliation_lines.ts";
import * as reconciliations from "../../db/reports/reconciliations.ts";
import * as stats from "../../db/reports/stats.ts";
import {
  findPayment,
  listDuePayments,
  listStalePayments,
  listUnansweredOfOrder,
  paymentLookups,
  paymentReads,
  readOrderUse,
} from "../../db/payments/statements.ts";
import { paymentWrites } from "../../db/writing/payment_writes.ts";
import { listRefunds } from "../../db/payments/refunds.ts";
import { findUnrecognized } from "../../db/reports/status.ts";
import { listSubscriptions } from "../../db/billing/subscriptions.ts";
import {
  listEventsOf,
  listLinkedPayments,
  listNotificationsOf,
  listRefundsOf,
  listTransitions,
} from "../../db/reports/timelines.ts";
import {
  type DeliveryAttempt,
  findDueDeliveries,
  listDeliveries,
  storeAttempt,
} from "../../db/webhooks/deliveries.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { PATIENT_DEADLINE_MS } from "../support/database/pools.ts";
import { publishAll } from "../support/events/publication.ts";
import { newJob } from "../support/jobs/jobs.ts";
import { isPartial } from "../support/share.ts";

const ROWS = 2_000;

const NOW = new Date("2026-03-05T00:00:00Z");

/** Above the ids and times of all rows. */
const LAST = "01ffffff-ffff-7fff-bfff-ffffffffffff";
const LAST_TIME = new Date("2027-01-01T00:00:00Z");

const ANY = { owner: null, after: null, limit: 10 };

const ANY_DIFFERENCE = { result: null, isResolved: null, after: null, limit: 10 };

const ALL_EVENTS = {
  names: null,
  resourceId: null,
  order: "newest_first",
  after: null,
  limit: 10,
} as const;

/** Far fewer rows than the tables have, but enough for each of these statements. */
const MAX_READ = 500;

/**
 * How many pages more a statement may read in tables that are five times as large. Its rows can be
 * on more pages there, and an index can keep entries of deleted rows while other tests run. A scan
 * would read hundreds of pages more.
 */
const MAX_ADDED = 50;

const STATEMENTS: Record<string, (sql: Sql) => Promise<unknown>> = {
  "find a payment": (sql) => findPayment(sql, idOf(7)),
  "find payments": (sql) =>
    paymentReads.run(sql, [7, 8, 9].map((number) => ({ id: idOf(number), owner: "u1" }))),
  "find payments of notifications": (sql) =>
    paymentLookups.run(sql, [{ order_id: "o7", transaction_id: "t7", payment_ref: null }]),
  "read the use of an order id": (sql) => readOrderUse(sql, payment(), "t7"),
  "list unanswered payments of an order": (sql) => listUnansweredOfOrder(sql, "o7"),
  // With a version that is not the stored one, the statement finds the payment and writes nothing.
  "update a payment": (sql) =>
    paymentWrites.run(sql, [{ ...NO_SIDE_EFFECTS, record: { ...payment(), version: 9 } }]),
  "list unanswered payments": (sql) =>
    listUnanswered(sql, { createdBefore: NOW, before: null, limit: 10 }),
  "list payments without an owner": (sql) =>
    listOwnerless(sql, { paidSince: NOW, before: null, limit: 10 }),
  "list checkouts that were paid twice": (sql) =>
    listCheckoutsWithAlert(sql, "paid_twice", { paidSince: NOW, before: null, limit: 10 }, 50),
  "list checkouts that were paid late": (sql) =>
    listCheckoutsWithAlert(sql, "paid_late", { paidSince: NOW, before: null, limit: 10 }, 50),
  "count checkouts": (sql) =>
    countCheckouts(sql, { owner: null, firstIds: [idOf(1), idOf(51)], endId: idOf(101) }),
  // Three times as many checkouts of all users are in this range.
  "count checkouts of a user": (sql) =>
    countCheckouts(sql, { owner: "u1", firstIds: [idOf(1), idOf(301)], endId: idOf(601) }),
  "count what needs attention": (sql) =>
    countAttention(sql, { createdBefore: NOW, paidSince: NOW }, 50),
  "find missing notifications": (sql) =>
    findMissingNotifications(sql, { from: new Date(NOW.getTime() - 3_600_000), to: NOW }, 10),
  "count lasting unknown outcomes": (sql) => countLastingUnknowns(sql, NOW, 50),
  "list payments": (sql) => listPayments(sql, ANY),
  "list payments of a user since a time": (sql) =>
    listPayments(sql, { ...ANY, owner: "u1", firstId: LAST }),
  "list payments of a user settled since a time": (sql) =>
    listPayments(sql, { ...ANY, owner: "u1", settled_from: LAST_TIME }),
  "list payments of a status since a time": (sql) =>
    listPayments(sql, { ...ANY, status: ["settlement"], firstId: LAST }),
  "list payments of an email address since a time": (sql) =>
    listPayments(sql, { ...ANY, customer_email: "c7@shop.example", firstId: LAST }),
  "list jobs of a task and a rare status": (sql) =>
    listJobs(sql, { task: "task", status: "running", before: null, limit: 10 }),
  "list deliveries of a rare status": (sql) =>
    listDeliveries(sql, { endpointId: idOf(1), status: "failed", before: null, limit: 10 }),
  "list payments of a user and status": (sql) =>
    listPayments(sql, { ...ANY, owner: "u1", status: ["deny"] }),
  "search the newest payments": (sql) =>
    searchNewest(sql, { owner: null, terms: readTerms("o1777") }, 50),
  "search the newest payments of a user": (sql) =>
    searchNewest(sql, { owner: "u1", terms: readTerms("o1777") }, 50),
  "search older payments of a user": (sql) =>
    searchNewest(sql, { owner: "u1", terms: readTerms("o1777") }, 50, idOf(777)),
  "search payments by a part of an order id": (sql) =>
    searchParts(sql, { owner: null, terms: readTerms("o1777") }),
  "search payments of a user by a part of an email address": (sql) =>
    searchParts(sql, { owner: "u1", terms: readTerms("c1777@shop") }),
  "search payments by the beginning of an order id": (sql) =>
    searchBeginnings(sql, { owner: null, terms: readTerms("o1777") }),
  "search payments by phone number, card or amount": (sql) =>
    searchExact(sql, { owner: "u1", terms: readTerms("7777") }),
  "list payments of a status": (sql) => listPayments(sql, { ...ANY, status: ["deny"] }),
  "list payments of a user and type": (sql) =>
    listPayments(sql, { ...ANY, owner: "u1", payment_type: ["akulaku"] }),
  "list payments due for a check": (sql) =>
    listDuePayments(sql, { now: NOW, staleSince: NOW, overdueSince: NOW, limit: 10 }),
  "list stale payments": (sql) => listStalePayments(sql, { now: NOW, staleSince: NOW, limit: 10 }),
  "list payments of a type": (sql) => listPayments(sql, { ...ANY, payment_type: ["akulaku"] }),
  "list payments of an email address": (sql) =>
    listPayments(sql, { ...ANY, owner: "u1", customer_email: "c7@shop.example" }),
  "list payments of a transaction": (sql) => listPayments(sql, { ...ANY, transaction_id: "t7" }),
  "list payments by settlement": (sql) => listPayments(sql, { ...ANY, settled_to: NOW }),
  "list payments of a user by settlement": (sql) =>
    listPayments(sql, { ...ANY, owner: "u1", settled_to: NOW }),
  "list payments with a fraud alert": (sql) =>
    listPayments(sql, { ...ANY, owner: "u1", fraud_status: "challenge" }),
  "list payments of several statuses and types": (sql) =>
    listPayments(sql, {
      ...ANY,
      status: ["deny", "settlement"],
      payment_type: ["akulaku", "qris"],
    }),
  "list events of a rare name since a time": (sql) =>
    listEvents(sql, {
      ...ALL_EVENTS,
      names: ["rare"],
      createdFrom: { time: NOW, nearId: idOf(7) },
    }),
  "list payments of an order": (sql) => listPayments(sql, { ...ANY, order_id: "o7" }),
  "list paid payments that are due for a check": (sql) =>
    listPaidPayments(sql, [PAID_COHORT], { now: NOW, lookBackSeconds: 86_400, limit: 10 }),
  "list paid payments before one is due for a check": (sql) =>
    listPaidPayments(sql, [PAID_COHORT], {
      now: new Date("2026-03-04T00:00:00Z"),
      lookBackSeconds: 86_400,
      limit: 10,
    }),
  "read events": (sql) =>
    readEventsAfter(sql, BEFORE_ALL, { names: null, resourceId: null, userId: null }, 10),
  "read events of a user": (sql) =>
    readEventsAfter(sql, BEFORE_ALL, { names: null, resourceId: null, userId: "u1" }, 10),
  "read events of a rare name": (sql) =>
    readEventsAfter(sql, BEFORE_ALL, { names: ["rare"], resourceId: null, userId: null }, 10),
  "list events": (sql) => listEvents(sql, ALL_EVENTS),
  "list events of a rare name": (sql) => listEvents(sql, { ...ALL_EVENTS, names: ["rare"] }),
  "list events of a resource": (sql) => listEvents(sql, { ...ALL_EVENTS, resourceId: idOf(7) }),
  "publish events": (sql) => publishBatch(sql, 10),
  "count unpublished events": (sql) => findUnpublished(sql),
  "find due deliveries": (sql) =>
    findDueDeliveries(sql, { endpointId: idOf(1), now: NOW, except: [], limit: 10 }),
  "claim due jobs": (sql) => claimDueJobs(sql, FREE_PLACES, CLAIM),
  "claim due requests": (sql) => claimDueJobs(sql, [{ lane: LANES.requests, count: 2 }], CLAIM),
  "claim due jobs of an empty lane": (sql) =>
    claimDueJobs(sql, [{ lane: LANES.checks, count: 10 }], CLAIM),
  "claim abandoned jobs": (sql) => claimAbandonedJobs(sql, FREE_PLACES, CLAIM),
  "claim a job": (sql) => claimJob(sql, idOf(7), CLAIM),
  "give turns": (sql) => giveTurns(sql, NOW),
  "find a due job of a lane": (sql) => hasDueJob(sql, LANES.recovery, NOW),
  "list jobs in other lanes": (sql) => listJobsInOtherLanes(sql, Object.values(LANES), NOW),
  "insert a request": (sql) => insertRequest(sql, newJob({ user_id: "u1" })),
  "find payments with an unrecognized status": findUnrecognized,
  "list invoices": (sql) => listInvoices(sql, ANY),
  "list invoices of a user and rare statuses": (sql) =>
    listInvoices(sql, { ...ANY, owner: "u1", status: ["void", "failed"] }),
  "list invoices of an email address": (sql) =>
    listInvoices(sql, { ...ANY, owner: "u1", customer_email: "c7@shop.example" }),
  "list invoices of a number": (sql) => listInvoices(sql, { ...ANY, invoice_number: "n7" }),
  "list invoices of an order": (sql) => listInvoices(sql, { ...ANY, order_id: "o7" }),
  "list invoices by due date": (sql) => listInvoices(sql, { ...ANY, dueTo: NOW }),
  "list invoices of a user by due date": (sql) =>
    listInvoices(sql, { ...ANY, owner: "u1", dueTo: NOW }),
  "list subscriptions": (sql) => listSubscriptions(sql, ANY),
  "list subscriptions of a user and a rare status": (sql) =>
    listSubscriptions(sql, { ...ANY, owner: "u1", status: ["inactive"] }),
  "list subscriptions of a name": (sql) => listSubscriptions(sql, { ...ANY, name: "s7" }),
  "list subscriptions of a user and a rare type": (sql) =>
    listSubscriptions(sql, { ...ANY, owner: "u1", payment_type: "gopay" }),
  "list notifications": (sql) => listNotifications(sql, { after: null, limit: 10 }),
  "list notifications of a rare status": (sql) =>
    listNotifications(sql, { after: null, limit: 10, status: ["failed", "unmatched"] }),
  "list notifications of an order": (sql) =>
    listNotifications(sql, { after: null, limit: 10, order_id: "o7" }),
  "list refunds": (sql) => listRefunds(sql, ANY_REFUND),
  "list refunds of a user": (sql) => listRefunds(sql, { ...ANY_REFUND, owner: "u1" }),
  "list refunds of a user since a time": (sql) =>
    listRefunds(sql, { ...ANY_REFUND, owner: "u1", createdFrom: LAST_TIME, firstId: LAST }),
  "list refunds of a payment": (sql) => listRefunds(sql, { ...ANY_REFUND, paymentId: idOf(7) }),
  "read transitions of a timeline": (sql) => listTransitions(sql, [idOf(7), idOf(8)], 500),
  "read refunds of a timeline": (sql) => listRefundsOf(sql, [idOf(7), idOf(8)], 500),
  "read notifications of a timeline": (sql) =>
    listNotificationsOf(sql, [{ id: idOf(7), order_id: "o7" }], true, 500),
  "read events of a timeline": (sql) => listEventsOf(sql, [idOf(7), idOf(8)], 500),
  "read payments of an invoice's timeline": (sql) =>
    listLinkedPayments(sql, "invoice_id", idOf(7), "u1", 100),
  "list audit entries": (sql) => listAuditEntries(sql, ANY_AUDIT),
  "list audit entries of an actor": (sql) =>
    listAuditEntries(sql, { ...ANY_AUDIT, actor: "jwt:rare" }),
  "list audit entries of a resource": (sql) =>
    listAuditEntries(sql, { ...ANY_AUDIT, resourceId: idOf(7) }),
  "list audit entries of an outcome": (sql) =>
    listAuditEntries(sql, { ...ANY_AUDIT, outcome: "changed" }),
  "list audit entries of an actor since a time": (sql) =>
    listAuditEntries(sql, { ...ANY_AUDIT, actor: "jwt:u", first: LAST }),
  "list audit entries of an actor and a rare outcome between two times": (sql) =>
    listAuditEntries(sql, {
      ...ANY_AUDIT,
      actor: "jwt:u",
      outcome: "changed",
      first: idOf(1_700),
      end: idOf(1_710),
    }),
  "list audit entries of an action since a time": (sql) =>
    listAuditEntries(sql, { ...ANY_AUDIT, action: "POST /keys/", first: LAST }),
  "list audit entries of an outcome since a time": (sql) =>
    listAuditEntries(sql, { ...ANY_AUDIT, outcome: "refused", first: LAST }),
  "scan charges of a user": (sql) => scanCharges(sql, ANY_AUDIT, "u1", 100),
  "scan charges of a user since a time": (sql) =>
    scanCharges(sql, { ...ANY_AUDIT, first: LAST }, "u1", 100),
  "scan charges": (sql) => scanCharges(sql, ANY_AUDIT, null, 100),
  "list reconciliations": (sql) =>
    reconciliations.listReconciliations(sql, { before: null, limit: 10 }),
  "find a reconciliation": (sql) => reconciliations.findReconciliation(sql, idOf(7)),
  "find a reconciliation of a file": (sql) => reconciliations.findByFile(sql, new Uint8Array(32)),
  "find an old reconciliation": (sql) =>
    reconciliations.findOldReconciliation(sql, { end: idOf(1), abandonedEnd: MAX }),
  "list lines of a report": (sql) => lines.listLines(sql, REPORT, 100, 10),
  "find candidates of lines": (sql) =>
    lines.findCandidates(sql, [
      { ...LINE, line: 1, order_id: "o7", transaction_id: "t7" },
      { ...LINE, line: 2, order_id: "o8" },
    ]),
  "list lines that were compared": (sql) =>
    lines.listCompared(sql, REPORT, [idOf(7), idOf(8)], 200),
  "list lines of other files": (sql) =>
    lines.listOfOtherFiles(sql, idOf(2), [idOf(7), idOf(8)], 200),
  "delete reported lines": (sql) => lines.deleteReported(sql, REPORT, 10),
  "store results of lines": (sql) => lines.storeResults(sql, REPORT, [COMPARED]),
  "list settled payments of a report": (sql) =>
    lines.listSettled(sql, REPORT, {
      after: { settlement_time: "2026-03-03T00:00:00Z", payment_id: NIL },
      end: NOW,
      hasTypes: false,
      limit: 10,
    }),
  "list payments with differences": (sql) => lines.listDifferent(sql, REPORT, NIL, 10),
  "delete lines that agree": (sql) =>
    lines.deleteLines(sql, REPORT, { which: "matched", after: 0, limit: 10 }),
  "list differences": (sql) => lines.listDifferences(sql, REPORT, ANY_DIFFERENCE),
  "list open differences": (sql) =>
    lines.listDifferences(sql, REPORT, { ...ANY_DIFFERENCE, isResolved: false }),
  "list resolved differences": (sql) =>
    lines.listDifferences(sql, REPORT, { ...ANY_DIFFERENCE, isResolved: true }),
  "find a difference": (sql) => lines.findDifference(sql, REPORT, 7),
  "mark a difference as resolved": (sql) =>
    lines.markDifference(sql, REPORT, 8, { at: NOW, by: "u" }),
  "mark a difference as open": (sql) => lines.markDifference(sql, REPORT, 9, null),
  "list differences of a rare result": (sql) =>
    lines.listDifferences(sql, REPORT, { ...ANY_DIFFERENCE, result: "amount_differs" }),
  "delete lines of a report": (sql) =>
    lines.deleteLines(sql, REPORT, { which: "all", after: 200_000, limit: 10 }),
  "find the progress of statistics": stats.findProgress,
  "list payments to count": (sql) => stats.listPaymentIds(sql, idOf(7), 10),
  "list changed payments to count": (sql) => stats.listChanged(sql, 7, 10),
  "read payments to count": (sql) => stats.readPayments(sql, [idOf(7), idOf(8)]),
  "store how payments are counted": (sql) =>
    stats.storeCounts(sql, [{ id: idOf(7), counts: COUNTS }]),
  "add figures": (sql) => stats.addDeltas(sql, "hourly_payment_stats", [DELTA]),
  "read statistics": (sql) => stats.readStats(sql, STATS, true),
  "read statistics of a user": (sql) => stats.readStats(sql, { ...STATS, owner: "u1" }, true),
  "read statistics by user and type": (sql) =>
    stats.readStats(sql, { ...STATS, groups: ["user_id", "payment_type"] }, true),
  "read statistics of days in another time zone": (sql) => readDays(sql, []),
  "read statistics of days in another time zone by user": (sql) => readDays(sql, ["user_id"]),
  "check payments": (sql) => checkRecords(sql, "payment"),
  "check invoices": (sql) => checkRecords(sql, "invoice"),
  "check subscriptions": (sql) => checkRecords(sql, "subscription"),
  "check checkouts": (sql) => checkRecords(sql, "checkout"),
  "list records to check": (sql) => invariants.listIdsAfter(sql, "payment", idOf(7), 10),
  "find the end of the history": invariants.markEndOfHistory,
  "list changes to check": (sql) =>
    invariants.listHistoryTo(sql, { id: "1000000", transaction: "1" }, "7", 10),
  "find the oldest change to check": (sql) => invariants.findOldestUnchecked(sql, LAST_TIME),
  "list updates to check": (sql) => invariants.listUpdatedAfter(sql, LAST_TIME.toISOString(), 10),
  "find the oldest event": (sql) => invariants.findEventsSince(sql, NOW, NOW),
  "check statistics of an hour": (sql) =>
    invariants.findStatisticsContradictions(sql, {
      start: new Date("2026-01-05T17:00:00Z"),
      end: new Date("2026-01-05T18:00:00Z"),
      ids: [idOf(7), idOf(9)],
      dayEnd: new Date("2026-01-06T17:00:00Z"),
    }),
  "find outcomes of jobs": (sql) => findOutcomes(sql, [idOf(7), idOf(8)], NOW),
};

function checkRecords(sql: Sql, resource: invariants.CheckedResource) {
  return invariants.findContradictions(sql, resource, [idOf(7), idOf(8)], NOW);
}

const CLAIM = { now: NOW, leaseMs: 30_000, thisInstance: NO_LOCK };

const FREE_PLACES = [LANES.requests, LANES.recovery, LANES.checks, "deliver x"].map((lane) => ({
  lane,
  count: 2,
}));

/** All lines belong to this report. */
const REPORT = idOf(1);

const LINE: lines.FileLine = {
  line: 1,
  kind: "settlement",
  order_id: null,
  transaction_id: null,
  refund_key: null,
  status: null,
  amount: 1_000,
  fee_cents: null,
  net_cents: null,
  day: null,
};

const COMPARED: lines.ComparedLine = {
  ...LINE,
  line: 9,
  result: "missing_here",
  payment_id: idOf(9),
  refund_id: null,
  known_amount: null,
  known_status: null,
};

const COUNTS: stats.PaymentCounts = {
  user_id: "u1",
  payment_type: "qris",
  bank: null,
  transaction_status: "settlement",
  hours: [],
};

const DELTA: stats.StatsDelta = {
  scope: "u:u1",
  start: new Date("2026-01-01T07:00:00Z"),
  payment_type: "qris",
  bank: "",
  transaction_status: "settlement",
  created_count: 1,
  paid_count: 1,
  gross_amount: 1,
  refund_amount: 0,
  chargeback_amount: 0,
  fee_cents: 0,
  pay_ranges: [],
  pay_counts: [],
};

const STATS: stats.StatsQuery = {
  owner: null,
  parts: [{
    table: "hourly_payment_stats",
    from: new Date("2026-01-01T00:00:00Z"),
    to: new Date("2026-01-01T10:00:00Z"),
    added_to: 0,
    subtracted_from: null,
  }],
  groups: [],
  limit: 10,
};

async function readDays(sql: Sql, group_by: stats.StatsGroup[]): Promise<void> {
  const database = { query: (run: (sql: Sql) => unknown) => run(sql) } as unknown as Database;
  const days = { from: "2026-02-01", to: "2026-02-15", interval: "day" } as const;
  const input = { ...days, time_zone: "Asia/Makassar", group_by };
  await readPaymentStats({ database, clock: () => NOW.getTime() }, STAFF, input);
}

const STAFF: Caller = {
  userId: "carol",
  isStaff: true,
  isViewer: false,
  credential: "api_key",
  keyPrefix: null,
};

const ANY_REFUND = {
  owner: null,
  statuses: null,
  paymentId: null,
  createdFrom: null,
  firstId: null,
  createdTo: null,
  minAmount: null,
  maxAmount: null,
  before: null,
  limit: 10,
};

const ANY_AUDIT = { actor: null, resourceId: null, outcome: null, first: NIL, end: MAX, limit: 10 };

const PAID_COHORT = {
  payment_type: "qris",
  after_seconds: 86_400,
  bank: null,
  store: null,
  is_urgent: false,
};

const NO_SIDE_EFFECTS = {
  history: [],
  events: [],
  refunds: [],
  charges: [],
  attempts: [],
  notifications: [],
  jobs: [],
  key: null,
};

function payment() {
  return {
    ...newPayment({ payment_type: "qris", gross_amount: 1_000, order_id: "o7" }, "u1", NOW),
    id: idOf(7),
  };
}

function idOf(number: number): string {
  return `01900000-0000-7000-8000-${number.toString(16).padStart(12, "0")}`;
}

/** The same id, of a number that SQL computes. */
function idSql(number: string): string {
  return `('01900000-0000-7000-8000-' || lpad(to_hex(${number}), 12, '0'))::uuid`;
}

function insertRows(from: number, to: number): string {
  const id = idSql("i");
  const endpoint = `'${idOf(1)}'::uuid`;
  const rows = `from generate_series(${from}, ${to}) i`;
  // From 2026-01-01 on, as those of the statistics.
  const hourMs = "(1767225600000 + i::bigint * 3600000)";
  // Larger tables have no more rows with a rare value.
  const rare = (every: number, rest: number) => `(i % ${every} = ${rest} and i <= ${ROWS})`;
  return `
    insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type, gross_amount,
      currency, transaction_status, fraud_status, customer_email, customer_phone, settlement_time,
      paid_at, check_at, sent_at, created_at, updated_at)
    select ${id}, 'u' || i % 3, 'o' || i, 't' || i,
      case when ${rare(1000, 0)} then 'akulaku' else 'qris' end, 1000, 'IDR',
      case when ${rare(1000, 1)} then 'deny' else 'settlement' end,
      case when ${
    rare(100, 1)
  } then 'challenge' end, 'c' || i % 10 || '@shop.example', '0812' || i % 10,
      timestamptz '2026-03-03' + i * interval '1 minute',
      timestamptz '2026-03-03' + i * interval '1 minute',
      case when ${rare(100, 0)} then timestamptz '2026-03-01' end, now(), now(), now() ${rows};
    insert into gateway.refunds (id, payment_id, refund_key, amount, is_direct, status, created_at,
      updated_at)
    select ${id}, ${id}, 'key', 1, false, 'succeeded', now(), now() ${rows} where i = 1 or i > 10;
    -- Refunds of other payments that wait for the bank, older than all others.
    insert into gateway.refunds (id, payment_id, refund_key, amount, is_direct, status, status_code,
      created_at, updated_at)
    select ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, gen_random_uuid(), 'key', 1,
      false, 'pending', '201', now(), timestamptz '2026-03-01' ${rows};
    insert into gateway.history (resource, resource_id, to_status, source, created_at)
    select 'payment', ${id}, 'settlement', 'notification', now() ${rows};
    insert into gateway.notifications (id, payment_id, order_id, transaction_status, status_code,
      gross_amount, status, raw_payload, created_at)
    select ${id}, ${id}, 'o' || i, 'settlement', '200', '1', 'processed', '{}', now() ${rows};
    insert into gateway.checkouts (id, user_id, order_id, status, gross_amount, currency, expires_at,
      ended_at, payment_id, extra_payment_id, is_late, created_at, updated_at)
    select ${id}, 'u' || i % 3, 'o' || i, 'paid', 1000, 'IDR', now(), now(), ${id},
      case when ${rare(100, 0)} then ${id} end, ${rare(100, 1)}, now(), now() ${rows};
    insert into gateway.invoices (id, user_id, invoice_number, order_id, status, customer_name,
      customer_email, total_amount, currency, due_date, due_at, sent_at, created_at, updated_at)
    select ${id}, 'u' || i % 3, 'n' || i, 'o' || i,
      case when ${
    rare(1000, 0)
  } then 'void' else 'sent' end, 'c', 'c' || i % 10 || '@shop.example', 1,
      'IDR', '2026-03-03', timestamptz '2026-03-03' + i * interval '1 minute', now(), now(), now()
    ${rows};
    insert into gateway.subscriptions (id, user_id, name, payment_type, amount, currency, interval,
      interval_unit, status, sent_at, created_at, updated_at)
    select ${id}, 'u' || i % 3, 's' || i,
      case when ${rare(1000, 0)} then 'gopay' else 'credit_card' end, 1, 'IDR', 1, 'month',
      case when ${rare(1000, 1)} then 'inactive' else 'active' end, now(), now(), now() ${rows};
    insert into gateway.reconciliations (id, user_id, status, summary, is_confirmed, file_hash,
      created_at)
    select ${id}, 'u', 'succeeded', '{}', false, sha256(i::text::bytea), timestamptz '2026-03-06'
    ${rows};
    insert into gateway.reconciliation_lines (reconciliation_id, line, kind, amount, result,
      payment_id, refund_id, resolved_at)
    select '${REPORT}'::uuid, i, 'refund', 1000,
      case when ${rare(1000, 0)} then 'amount_differs' else 'missing_here' end, ${id}, ${id},
      case when ${rare(1000, 0)} then now() end ${rows};
    insert into gateway.reconciliation_lines (reconciliation_id, line, kind, amount, result,
      payment_id)
    select '${REPORT}'::uuid, 100000 + i, 'refund', 1000, 'listed_twice', '${idOf(7)}'::uuid
    ${rows};
    insert into gateway.reported_lines (payment_id, reconciliation_id, line, kind, amount, result)
    select ${id}, '${REPORT}'::uuid, i, 'settlement', 1000, 'matched' ${rows};
    insert into gateway.hourly_payment_stats
    select scope, timestamptz '2026-01-01' + i * interval '1 hour', 'qris', '', status, 1, 1, 1, 0,
      0, '{0}', '{1}'
    from generate_series(${from}, ${to}) i, unnest(array['*', 'u:u1', 'u:u2']) scope,
      unnest(array['', 'settlement']) status;
    insert into gateway.daily_payment_stats
    select scope, timestamptz '2025-12-31 17:00Z' + i * interval '1 day', 'qris', '', status, 24, 24,
      24, 0, 0, '{0}', '{24}'
    from generate_series(${from}, ${to}) i, unnest(array['*', 'u:u1', 'u:u2']) scope,
      unnest(array['', 'settlement']) status;
    insert into gateway.counted_payments
    select ${id}, json_build_object('hours', json_build_array(
      json_build_object('hour', ${hourMs}), json_build_object('hour', ${hourMs} + 3600000)))
    ${rows};
    insert into gateway.audit (id, actor, user_id, action, resource_id, outcome, status, request_id,
      created_at)
    select ${id}, case when ${
    rare(1000, 0)
  } then 'jwt:rare' else 'jwt:u' end, 'u', 'POST /keys/', ${id},
      case when ${rare(1000, 0)} then 'changed' else 'refused' end, 200, 'r', now() ${rows};
    insert into gateway.events (id, name, resource, resource_id, sequence, user_id, data, created_at)
    select ${id}, case when ${rare(1000, 0)} then 'rare' else 'frequent' end, 'payment', ${id}, 1,
      'u' || i % 3, '{}', now() ${rows};
    insert into gateway.event_outbox (event_id) select ${id} ${rows};
    insert into gateway.jobs (id, task, subject_id, payload, status, run_at, created_at, updated_at)
    select ${id}, 'task', ${id}, '{}', case when ${rare(100, 0)} then 'queued' else 'succeeded' end,
      timestamptz '2026-03-01', now(), now() ${rows};
    insert into gateway.jobs (id, task, payload, lane, run_at, created_at, updated_at)
    select gen_random_uuid(), 'task', '{}', lane, timestamptz '2026-04-01', now(), now()
    from generate_series(${from}, ${to}) i,
      unnest(array['requests', 'recovery', 'checks', 'deliver x']) lane;
    insert into gateway.jobs (id, task, payload, user_id, lane, turn, status, run_at, created_at,
      updated_at)
    select gen_random_uuid(), 'request', '{}', 'u' || i % 3, 'requests', i,
      case when i % 3 = 1 then 'queued' else 'succeeded' end, timestamptz '2026-03-01', now(), now()
    ${rows};
    insert into gateway.webhook_deliveries (event_id, endpoint_id, event_name, resource_id, sequence,
      status, next_attempt_at, created_at)
    select ${id}, ${endpoint}, 'frequent', ${id}, 1,
      case when ${rare(100, 0)} then 'pending' else 'delivered' end, timestamptz '2026-03-01', now()
    ${rows}`;
}

interface Reads {
  /** Index entries and rows. */
  rows: number;
  /** Pages of tables and indexes: a scan can skip entries without counting them as read. */
  blocks: number;
}

/** What the connection has read since it last reported its statistics. */
async function readSoFar(sql: Sql): Promise<Reads> {
  const [row] = await sql<[Reads]>`
    select sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))::int
        as rows,
      sum(pg_stat_get_xact_blocks_fetched(oid))::int as blocks
    from pg_class where relnamespace = 'gateway'::regnamespace`;
  return row;
}

async function measure(database: Database, run: (sql: Sql) => Promise<unknown>): Promise<Reads> {
  return await database.transaction(async (sql) => {
    const before = await readSoFar(sql);
    await run(sql);
    const after = await readSoFar(sql);
    return { rows: after.rows - before.rows, blocks: after.blocks - before.blocks };
  });
}

Deno.test("planner settings: statements that were planned on small tables read few rows of large ones", async () => {
  const url = await createDatabase({ isNew: true });
  const tables = [
    ...[
      "payments",
      "payment_filters",
      "payment_search_keys",
      "refunds",
      "events",
      "published_events",
      "event_outbox",
      "jobs",
      "webhook_deliveries",
      "history",
      "notifications",
      "checkouts",
      "invoices",
      "subscriptions",
      "audit",
      "reconciliations",
      "reconciliation_lines",
      "reported_lines",
      "hourly_payment_stats",
      "daily_payment_stats",
      "counted_payments",
    ],
  ];
  for (const table of tables) {
    await runSql(url, `alter table gateway.${table} set (autovacuum_enabled = false)`);
  }
  await runSql(url, insertRows(1, 10));
  await runSql(url, "analyze");
  const open = () => openDatabase({ url, poolSize: 1, deadlineMs: PATIENT_DEADLINE_MS });
  const [plannedEarly, plannedLate] = [open(), open()];
  try {
    for (const run of Object.values(STATEMENTS)) await plannedEarly.query(run);
    const connections = Object.entries({ early: plannedEarly, late: plannedLate });
    const blocks = new Map<string, number>();
    for (const [from, to] of [[11, ROWS], [ROWS + 51, 5 * ROWS]] as const) {
      await runSql(url, insertRows(from, to));
      await publishAll(plannedLate);
      await runSql(url, insertRows(to + 1, to + 50));
      for (const [name, run] of Object.entries(STATEMENTS)) {
        for (const [when, database] of connections) {
          const statement = `${name}, planned ${when}`;
          const read = await measure(database, run);
          assert.ok(read.rows <= MAX_READ, `${statement}: ${read.rows} rows read`);
          const added = read.blocks - (blocks.get(statement) ?? read.blocks);
          // A larger index can have another level, for each row that is looked up.
          assert.ok(
            added <= MAX_ADDED + read.rows / 2,
            `${statement}: ${added} pages more in a larger table`,
          );
          blocks.set(statement, read.blocks);
        }
      }
    }
  } finally {
    await plannedEarly.close();
    await plannedLate.close();
  }
});

const ATTEMPT: DeliveryAttempt = {
  event_id: idOf(7),
  endpoint_id: idOf(1),
  resource_id: idOf(7),
  sequence: 1,
  due_at: new Date("2026-03-01T00:00:00Z"),
  status: "delivered",
  attempts: 1,
  next_attempt_at: null,
  status_code: 200,
  answer: null,
  error: null,
  duration_ms: 1,
  last_attempt_at: NOW,
  delivered_at: NOW,
};

Deno.test("planner settings: storing an attempt of a webhook reads few rows while 20,000 deliveries wait", async () => {
  const url = await createDatabase({ isNew: true });
  await runSql(url, "alter table gateway.webhook_deliveries set (autovacuum_enabled = false)");
  await runSql(
    url,
    `insert into gateway.webhook_deliveries (event_id, endpoint_id, event_name, resource_id,
       sequence, status, created_at)
     select gen_random_uuid(), gen_random_uuid(), 'payment_settled', gen_random_uuid(), 1,
       'delivered', now() from generate_series(1, 10)`,
  );
  await runSql(url, "analyze");
  const open = () => openDatabase({ url, poolSize: 1, deadlineMs: PATIENT_DEADLINE_MS });
  const [plannedEarly, plannedLate] = [open(), open()];
  const store = (sql: Sql) => storeAttempt(sql, ATTEMPT);
  try {
    await plannedEarly.query(store);
    // Events of 100 resources, for 10 endpoints.
    await runSql(
      url,
      `insert into gateway.webhook_deliveries (event_id, endpoint_id, event_name, resource_id,
         sequence, next_attempt_at, created_at)
       select ${idSql("event")}, ${idSql("endpoint")}, 'payment_settled', ${idSql("event % 100")},
         event / 100 + 1, timestamptz '2026-03-01', now()
       from generate_series(1, 2000) event, generate_series(1, 10) endpoint`,
    );
    for (const [when, database] of Object.entries({ early: plannedEarly, late: plannedLate })) {
      const { rows, blocks } = await measure(database, store);
      const read = `planned ${when}: ${rows} rows, ${blocks} pages`;
      assert.ok(rows <= MAX_READ && blocks <= MAX_READ, read);
    }
  } finally {
    await plannedEarly.close();
    await plannedLate.close();
  }
});

const CLAIMS = Object.entries(STATEMENTS).filter(([name]) => /claim|turns|lane/.test(name));

/** How many jobs wait in each lane. */
const WAITING = isPartial ? 10_000 : 50_000;

Deno.test("planner settings: claims read few rows while very many jobs wait, half of them for a later time", async () => {
  const url = await createDatabase({ isNew: true });
  await runSql(url, "alter table gateway.jobs set (autovacuum_enabled = false)");
  await runSql(url, "analyze");
  const open = () => openDatabase({ url, poolSize: 1, deadlineMs: PATIENT_DEADLINE_MS });
  const [plannedEarly, plannedLate] = [open(), open()];
  try {
    for (const [, run] of CLAIMS) await plannedEarly.query(run);
    await runSql(
      url,
      `insert into gateway.jobs (id, task, payload, user_id, lane, turn, run_at, created_at,
         updated_at)
       select gen_random_uuid(), 'task', '{}', 'u1', lane,
         case when lane = 'requests' and i % 2 = 0 then i else 0 end,
         case i % 2 when 0 then timestamptz '2026-03-01' else timestamptz '2026-04-01' end,
         now(), now()
       from generate_series(1, ${WAITING}) i,
         unnest(array['requests', 'recovery', 'checks', 'deliver x']) lane`,
    );
    for (const [when, database] of Object.entries({ early: plannedEarly, late: plannedLate })) {
      for (const [name, run] of CLAIMS) {
        const { rows, blocks } = await measure(database, run);
        const read = `${name}, planned ${when}: ${rows} rows, ${blocks} pages`;
        assert.ok(rows <= MAX_READ && blocks <= MAX_READ, read);
      }
    }
  } finally {
    await plannedEarly.close();
    await plannedLate.close();
  }
});
