/** `prune`: deletes finished rows that are older than their retention, in small batches. */

import { NIL } from "uuid";
import {
  expireWaitingDeliveries,
  findPruneCursor,
  PRUNED_TABLES,
  type PrunedTable,
  pruneKeys,
  type PruneStep,
  pruneTable,
  storePruneCursor,
} from "../../db/jobs/prune.ts";
import { findOldReconciliation } from "../../db/reports/reconciliations.ts";
import { removeMissedHandlers } from "../../db/events/handlers.ts";
import type { RetentionDays } from "../config/config.ts";
import { oldestValidKey } from "../idempotency/keys.ts";
import { firstIdAt } from "../ids.ts";
import { deleteReconciliation } from "../reports/reconciliations.ts";
import type { Service } from "../service.ts";

/** Each batch is one short statement. Rows beyond the maximum are left to the next run. */
const BATCHES = { rows: 500, max: 1_000 };

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Returns the number of deleted rows of each kind, and of expired deliveries. Also removes the
 * handlers that no instance has any more.
 */
export async function prune(
  service: Service,
  batches = BATCHES,
): Promise<Record<keyof RetentionDays, number>> {
  const deleted: Record<keyof RetentionDays, number> = {
    ...{ jobs: 0, notifications: 0, events: 0, audit: 0, keys: 0, deliveries: 0 },
    reconciliations: 0,
  };
  // First, because an event is kept while one of its deliveries is pending.
  deleted.deliveries = await expireDeliveries(service, batches);
  for (const table of PRUNED_TABLES) deleted[table] = await pruneAll(service, table, batches);
  deleted.keys = await pruneAllKeys(service, batches);
  deleted.reconciliations = await pruneReconciliations(service, batches);
  await service.database.query(removeMissedHandlers, "remove handlers");
  return deleted;
}

/**
 * Continues where the last run ended. Otherwise each run could spend all its batches on old rows
 * that must still be kept.
 */
async function pruneAll(
  { database, clock, keep }: Service,
  table: PrunedTable,
  batches: typeof BATCHES,
): Promise<number> {
  // A repeated asynchronous request returns its job, so the job is kept as long as its idempotency
  // key.
  const days = table === "jobs" ? Math.max(keep.jobs, keep.keys) : keep[table];
  const before = daysBefore(clock(), days);
  const end = firstIdAt(before);
  const cursor = await database.query((sql) => findPruneCursor(sql, table), "find prune cursor");
  let deleted = 0;
  let after: string | null = cursor ?? NIL;
  for (let count = 0; count < batches.max && after !== null; count++) {
    const range: PruneStep = { after, end, before, limit: batches.rows };
    const done = await database.query((sql) => pruneTable(sql, table, range), `prune ${table}`);
    deleted += done.deleted;
    after = done.last;
  }
  if (after !== cursor) {
    await database.query((sql) => storePruneCursor(sql, table, after), "store prune cursor");
  }
  return deleted;
}

async function expireDeliveries(
  { database, clock, keep }: Service,
  batches: typeof BATCHES,
): Promise<number> {
  const before = daysBefore(clock(), keep.deliveries);
  const range = { end: firstIdAt(before), before, limit: batches.rows };
  let expired = 0;
  for (let count = 0; count < batches.max; count++) {
    const done = await database.query(
      (sql) => expireWaitingDeliveries(sql, range),
      "expire deliveries",
    );
    expired += done;
    if (done < batches.rows) break;
  }
  return expired;
}

async function pruneAllKeys({ database, clock, keep }: Service, batches: typeof BATCHES) {
  const before = oldestValidKey({ keep }, new Date(clock()));
  let deleted = 0;
  for (let count = 0; count < batches.max; count++) {
    const range = { before, limit: batches.rows };
    const done = await database.query((sql) => pruneKeys(sql, range), "prune keys");
    deleted += done;
    if (done < batches.rows) break;
  }
  return deleted;
}

/** An upload takes minutes. An unfinished upload older than this was interrupted by a crash. */
const MAX_UPLOAD_DAYS = 1;

/** Deletes old reconciliations with their lines, and interrupted uploads. */
async function pruneReconciliations(
  { database, clock, keep }: Service,
  batches: typeof BATCHES,
): Promise<number> {
  const now = clock();
  const age = {
    end: firstIdAt(daysBefore(now, keep.reconciliations)),
    abandonedEnd: firstIdAt(daysBefore(now, MAX_UPLOAD_DAYS)),
  };
  let deleted = 0;
  for (; deleted < batches.max; deleted++) {
    const id = await database.query(
      (sql) => findOldReconciliation(sql, age),
      "find old reconciliation",
    );
    if (id === null) break;
    await deleteReconciliation(database, id);
  }
  return deleted;
}

/** Not before 1970: the timestamps in ids start there. */
function daysBefore(now: number, days: number): Date {
  return new Date(Math.max(0, now - days * DAY_MS));
}
