/**
 * `check_invariants`: compares stored rows with each other, and stores the records that contradict
 * what is always true. Checks recently changed records in each run, and all others within a day.
 */

import { NIL } from "uuid";
import * as db from "../../db/reports/invariants.ts";
import { firstIdAt } from "../ids.ts";
import type { Service } from "../service.ts";
import { startOfJakartaDay } from "../reports/count_payments.ts";

/** How long the steps of a run may take: one percent of the minute until the next run. */
const BUDGET_MS = 600;

/** How many records one step checks. */
const BATCH = 500;

/** All records are checked in this number of runs, which takes less than a day. */
const RUNS_PER_WALK = 1_000;

/** A row becomes visible at most this long after its `updated_at`, including clock differences. */
const VISIBLE_AFTER_MS = 60_000;

/** Events that are about to be deleted are not checked. */
const PRUNE_MARGIN_MS = 60 * 60_000;

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

export interface InvariantsRun {
  /** How many records were checked. */
  checked: number;
  /** How many different contradictions were found. */
  contradictions: number;
  /** The age of the oldest change whose record is not checked yet. */
  lag_seconds: number;
  /**
   * How long the slowest check of all records of a kind, or of all statistics, takes: the last one,
   * or the running one if it takes longer already.
   */
  walk_seconds: number;
}

type CheckService = Pick<Service, "database" | "clock" | "keep">;

interface Check {
  service: CheckService;
  run: InvariantsRun;
  /** What was found so far. Several checks can find the same. */
  found: Set<string>;
  batch: number;
  /** The events of all records created after this time are still stored. */
  eventsSince: Date;
  /** Changes without a history entry are visible up to this time. */
  visibleTo: Date;
}

/** Each step is a few short statements. What it has checked is stored before it ends. */
type Steps = AsyncGenerator<void>;

/**
 * Does one step of each check in turn, so that neither many changes nor many records keep the other
 * checks from going on. At the end of the budget, the next run continues.
 */
export async function checkInvariants(
  service: CheckService,
  { budgetMs = BUDGET_MS, batch = BATCH } = {},
): Promise<InvariantsRun> {
  const deadline = performance.now() + budgetMs;
  const { database, clock, keep } = service;
  const run = { checked: 0, contradictions: 0, lag_seconds: 0, walk_seconds: 0 };
  const visibleTo = new Date(clock() - VISIBLE_AFTER_MS);
  const keptSince = new Date(clock() - keep.events * DAY_MS + PRUNE_MARGIN_MS);
  const eventsSince = await database.query(
    (sql) => db.findEventsSince(sql, keptSince, new Date(clock())),
    "find oldest event",
  );
  const check: Check = { service, run, found: new Set(), batch, eventsSince, visibleTo };
  const checks = [
    checkHistory(check),
    checkUpdated(check),
    recheckContradictions(check),
    ...db.CHECKED_RESOURCES.map((resource) => walkRecords(check, resource)),
    walkStatistics(check),
  ];
  // Each run begins with another check: a run may have time for one step only.
  const first = Math.floor(clock() / 60_000) % checks.length;
  const waiting = [...checks.slice(first), ...checks.slice(0, first)];
  do {
    const steps = waiting.shift()!;
    const { done } = await steps.next();
    if (!done) waiting.push(steps);
  } while (waiting.length > 0 && performance.now() < deadline);
  const oldest = await database.query(
    (sql) => db.findOldestUnchecked(sql, visibleTo),
    "find oldest change",
  );
  run.lag_seconds = oldest ? secondsSince(check, oldest) : 0;
  run.walk_seconds = await measureWalks(check);
  return run;
}

/** Checks the records with contradictions again: they may be repaired. */
async function* recheckContradictions(check: Check): Steps {
  const { database } = check.service;
  const known = await database.query(
    (sql) => db.listContradictions(sql, check.batch),
    "list contradictions",
  );
  await checkRecords(check, known);
  yield;
  const hours = known.filter(({ resource }) => resource === db.STATISTICS);
  for (const id of new Set(hours.map(({ resource_id }) => resource_id))) {
    await checkHour(check, timeOfId(id));
    yield;
  }
}

/** Checks the records with new entries in the history. */
async function* checkHistory(check: Check): Steps {
  const { database } = check.service;
  const end = await database.query(db.markEndOfHistory, "mark end of history");
  let after = await findCursor(check, db.HISTORY_CURSOR) ?? end.id;
  let isComplete = true;
  let entries: db.HistoryEntry[];
  do {
    entries = await database.query(
      (sql) => db.listHistoryTo(sql, end, after, check.batch),
      "list changes",
    );
    await checkRecords(check, entries);
    isComplete &&= entries.every(({ is_final }) => is_final);
    after = entries.at(-1)?.id ?? after;
    // Otherwise an entry with a lower id may still become visible.
    if (isComplete) await storeCursor(check, db.HISTORY_CURSOR, after);
    yield;
  } while (entries.length === check.batch);
}

/**
 * Checks the records whose refunds or attempts may have changed: the history has no entry about
 * that.
 */
async function* checkUpdated(check: Check): Steps {
  const { database } = check.service;
  const { visibleTo } = check;
  let after = await findCursor(check, db.UPDATED_CURSOR) ?? visibleTo.toISOString();
  let changes: db.Change[];
  do {
    changes = await database.query(
      (sql) => db.listUpdatedAfter(sql, after, check.batch),
      "list changes",
    );
    await checkRecords(check, changes);
    after = changes.at(-1)?.updated_at ?? visibleTo.toISOString();
    const isVisible = new Date(after) < visibleTo;
    await storeCursor(check, db.UPDATED_CURSOR, isVisible ? after : visibleTo.toISOString());
    yield;
  } while (changes.length >= check.batch);
}

/** Checks the next records in the order of their ids; after the last one, the first again. */
async function* walkRecords(check: Check, resource: db.CheckedResource): Steps {
  const { database } = check.service;
  let after = await findCursor(check, resource);
  if (after === null) await beginWalk(check, resource);
  let left = await database.query((sql) => db.estimateRecords(sql, resource), "count records") /
    RUNS_PER_WALK;
  do {
    const ids = await database.query(
      (sql) => db.listIdsAfter(sql, resource, after ?? NIL, check.batch),
      "list ids",
    );
    await checkRecords(check, ids.map((resource_id) => ({ resource, resource_id })));
    after = ids.length < check.batch ? null : ids.at(-1)!;
    left -= ids.length;
    await storeCursor(check, resource, after);
    if (after === null) await endWalk(check, resource);
    yield;
  } while (after !== null && left > 0);
}

/** Checks the statistics of the next hours; after the last hour, the first again. */
async function* walkStatistics(check: Check): Steps {
  const { database, clock } = check.service;
  const [firstId] = await database.query(
    (sql) => db.listIdsAfter(sql, "payment", NIL, 1),
    "list ids",
  );
  if (firstId === undefined) return;
  const first = startOfJakartaDay(timeOfId(firstId).getTime());
  const end = startOfJakartaDay(clock());
  let left = (end - first) / HOUR_MS / RUNS_PER_WALK;
  const cursor = await findCursor(check, db.STATISTICS);
  if (cursor === null) await beginWalk(check, db.STATISTICS);
  let hour = cursor === null ? first : Number(cursor) + HOUR_MS;
  for (; hour < end && left > 0; hour += HOUR_MS, left--) {
    await checkHour(check, new Date(hour));
    await storeCursor(check, db.STATISTICS, String(hour));
    yield;
  }
  if (hour < end) return;
  await storeCursor(check, db.STATISTICS, null);
  await endWalk(check, db.STATISTICS);
}

type Walk = db.CheckedResource | typeof db.STATISTICS;

/** Cursors that have the time at which a walk began, and the seconds that the last one took. */
const beganOf = (walk: Walk) => `${walk} began`;
const tookOf = (walk: Walk) => `${walk} took`;

async function beginWalk(check: Check, walk: Walk) {
  await storeCursor(check, beganOf(walk), new Date(check.service.clock()).toISOString());
}

async function endWalk(check: Check, walk: Walk) {
  await storeCursor(check, tookOf(walk), String(await findDuration(check, walk)));
  await storeCursor(check, beganOf(walk), null);
}

/** The seconds since the walk began; 0: none is running. */
async function findDuration(check: Check, walk: Walk): Promise<number> {
  const began = await findCursor(check, beganOf(walk));
  return began === null ? 0 : secondsSince(check, new Date(began));
}

async function measureWalks(check: Check): Promise<number> {
  const seconds: number[] = [];
  for (const walk of [...db.CHECKED_RESOURCES, db.STATISTICS] as const) {
    seconds.push(await findDuration(check, walk), Number(await findCursor(check, tookOf(walk))));
  }
  return Math.max(...seconds);
}

function secondsSince({ service: { clock } }: Check, time: Date): number {
  return Math.max(0, Math.round((clock() - time.getTime()) / 1_000));
}

async function checkHour(check: Check, start: Date) {
  const end = new Date(start.getTime() + HOUR_MS);
  const day = startOfJakartaDay(start.getTime());
  const found = await check.service.database.query(
    (sql) =>
      db.findStatisticsContradictions(sql, {
        start,
        end,
        ids: [firstIdAt(start), firstIdAt(end)],
        dayEnd: day === start.getTime() ? new Date(day + DAY_MS) : null,
      }),
    "check statistics",
  );
  await store(check, [firstIdAt(start)], found);
}

/** Checks the records in these rows; other rows are ignored. */
async function checkRecords(
  check: Check,
  rows: readonly { resource: string; resource_id: string }[],
) {
  for (const resource of db.CHECKED_RESOURCES) {
    const ids = rows.filter((row) => row.resource === resource).map((row) => row.resource_id);
    if (ids.length === 0) continue;
    const checked = [...new Set(ids)];
    const found = await check.service.database.query(
      (sql) => db.findContradictions(sql, resource, checked, check.eventsSince),
      "check invariants",
    );
    await store(check, checked, found);
  }
}

async function store(
  { service: { database, clock }, run, found: allFound }: Check,
  checked: readonly string[],
  found: readonly db.Contradiction[],
) {
  await database.query(
    (sql) => db.storeContradictions(sql, checked, found, new Date(clock())),
    "store contradictions",
  );
  run.checked += checked.length;
  for (const { resource_id, invariant } of found) allFound.add(`${resource_id} ${invariant}`);
  run.contradictions = allFound.size;
}

function findCursor({ service: { database } }: Check, name: string): Promise<string | null> {
  return database.query((sql) => db.findCursor(sql, name), "find cursor");
}

function storeCursor({ service: { database } }: Check, name: string, lastId: string | null) {
  return database.query((sql) => db.storeCursor(sql, name, lastId), "store cursor");
}

/** Ids start with the time of their creation in milliseconds. */
function timeOfId(id: string): Date {
  return new Date(parseInt(id.replace("-", "").slice(0, 12), 16));
}
