/**
 * Combines calls of the same statement under load. A single call runs at once; calls that arrive
 * while one runs are combined into the next statement. PostgreSQL then executes fewer statements
 * and commits. The callers of a batch get their results together and often call again together, so
 * the next batch waits up to 2 ms until it is as large as the last one. Under high load two batches
 * run at a time, so that PostgreSQL has work while this process builds the next batch.
 */

import { context, ROOT_CONTEXT } from "@opentelemetry/api";
import {
  codeOf,
  type Database,
  DatabaseUnavailable,
  LOCK_TIMEOUT,
  type Sql,
} from "../connection/database.ts";
import { inDatabaseSpan } from "../connection/span.ts";

export interface Batched<Item, Result> {
  /** The name of the statement in traces. */
  name: string;
  /** Two items with a key in common never go into the same batch: the later one waits. */
  conflictKeys(item: Item): string[];
  /** Runs one statement, which must not wait long for locked rows; returns a result per item. */
  run(sql: Sql, items: Item[]): Promise<Result[]>;
}

/** Larger batches are hardly faster, and each item waits for the whole batch. */
const MAX_ITEMS = 64;

/** While one batch runs, a second one starts when this many items wait. */
const OVERLAP_ITEMS = 16;

/** How long a batch waits at most to become as large as the last one. */
const GATHER_MS = 2;

/**
 * If a batch takes longer, for example because a row is locked, the next batch runs in parallel.
 */
const PARALLEL_AFTER_MS = 20;

// deno-lint-ignore no-explicit-any -- Each statement has its own item and result types.
type AnyBatcher = Batcher<any, any>;

// deno-lint-ignore no-explicit-any -- As above.
const batchers = new WeakMap<Database, Map<Batched<any, any>, AnyBatcher>>();

export function batched<Item, Result>(
  database: Database,
  statement: Batched<Item, Result>,
  item: Item,
): Promise<Result> {
  let byStatement = batchers.get(database);
  if (!byStatement) batchers.set(database, byStatement = new Map());
  let batcher = byStatement.get(statement);
  if (!batcher) byStatement.set(statement, batcher = createBatcher(database, statement));
  return add(batcher, item);
}

/** The calls of one statement. */
interface Batcher<Item, Result> {
  database: Database;
  statement: Batched<Item, Result>;
  waiting: Waiting<Item, Result>[];
  /** How many batches run. */
  running: number;
  /** The keys of the items in running batches. */
  runningKeys: Set<string>;
  /** The items that run alone, by their keys. Other items with these keys wait for them. */
  aloneByKey: Map<string, Waiting<Item, Result>>;
  /** How many items the last batch had. */
  lastSize: number;
  parallelTimer: ReturnType<typeof setTimeout> | undefined;
  gatherTimer: ReturnType<typeof setTimeout> | undefined;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

function createBatcher<Item, Result>(
  database: Database,
  statement: Batched<Item, Result>,
): Batcher<Item, Result> {
  return {
    database,
    statement,
    waiting: [],
    running: 0,
    runningKeys: new Set(),
    aloneByKey: new Map(),
    lastSize: 1,
    parallelTimer: undefined,
    gatherTimer: undefined,
  };
}

async function add<Item, Result>(batcher: Batcher<Item, Result>, item: Item): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  batcher.waiting.push({ item, resolve, reject });
  if (batcher.running === 0 && batcher.lastSize === 1) {
    runNext(batcher);
    return await promise;
  }
  runNextIfReady(batcher);
  return await inDatabaseSpan(batcher.statement.name, () => promise);
}

/**
 * Runs the waiting calls as one batch, and then those that arrived during it. Calls with one of
 * `usedKeys` keep waiting.
 */
async function runNext<Item, Result>(
  batcher: Batcher<Item, Result>,
  usedKeys: Iterable<string> = [],
): Promise<void> {
  const { database, statement, runningKeys } = batcher;
  cancelParallel(batcher);
  cancelGather(batcher);
  const batch = takeBatch(batcher, usedKeys);
  scheduleParallel(batcher);
  if (batch.length === 0) return;
  batcher.lastSize = batch.length;
  batcher.running++;
  const keys = batch.flatMap(({ item }) => statement.conflictKeys(item));
  for (const key of keys) runningKeys.add(key);
  const deadline = performance.now() + database.deadlineMs;
  const error = await runBatch(batcher, batch);
  batcher.running--;
  for (const key of keys) runningKeys.delete(key);
  if (error !== null) retryOrReject(batcher, batch, error, deadline);
  runNextIfReady(batcher);
}

function takeBatch<Item, Result>(
  batcher: Batcher<Item, Result>,
  usedKeys: Iterable<string>,
): Waiting<Item, Result>[] {
  const { waiting, statement } = batcher;
  const takenKeys = new Set([...batcher.aloneByKey.keys(), ...usedKeys]);
  if (waiting.length === 1 && takenKeys.size === 0) return waiting.splice(0);
  let size = 0;
  const { batch = [], rest = [] } = Object.groupBy(waiting, ({ item }) => {
    const keys = statement.conflictKeys(item);
    const isFree = size < MAX_ITEMS && keys.every((key) => !takenKeys.has(key));
    for (const key of keys) takenKeys.add(key);
    if (isFree) size++;
    return isFree ? "batch" : "rest";
  });
  batcher.waiting = rest;
  return batch;
}

/** Returns the error if the batch failed, otherwise null. */
async function runBatch<Item, Result>(
  { database, statement }: Batcher<Item, Result>,
  batch: Waiting<Item, Result>[],
): Promise<unknown> {
  try {
    const items = batch.map(({ item }) => item);
    const results = await database.query((sql) => statement.run(sql, items), statement.name);
    batch.forEach(({ resolve }, index) => resolve(results[index]!));
    return null;
  } catch (error) {
    return error;
  }
}

function runNextIfReady(batcher: AnyBatcher): void {
  if (isReady(batcher)) runInNoTrace(batcher, batcher.runningKeys);
  else if (batcher.waiting.length > 0) waitForMore(batcher);
}

function isReady({ running, waiting, lastSize }: AnyBatcher): boolean {
  if (running === 0) return waiting.length >= lastSize;
  return running === 1 && waiting.length >= OVERLAP_ITEMS;
}

/**
 * A batch serves several requests, so it belongs to no single trace; each request has its own
 * span.
 */
function runInNoTrace(batcher: AnyBatcher, usedKeys?: Iterable<string>): void {
  context.with(ROOT_CONTEXT, () => runNext(batcher, usedKeys));
}

function waitForMore(batcher: AnyBatcher): void {
  if (batcher.running > 0) scheduleParallel(batcher);
  else batcher.gatherTimer ??= setTimeout(() => runInNoTrace(batcher), GATHER_MS);
}

function cancelGather(batcher: AnyBatcher): void {
  clearTimeout(batcher.gatherTimer);
  batcher.gatherTimer = undefined;
}

function scheduleParallel(batcher: AnyBatcher): void {
  if (batcher.waiting.length === 0) return;
  // Also runs calls with keys of the running batch: if that batch lost its connection, it may
  // never end.
  batcher.parallelTimer ??= setTimeout(() => runInNoTrace(batcher), PARALLEL_AFTER_MS);
}

function cancelParallel(batcher: AnyBatcher): void {
  clearTimeout(batcher.parallelTimer);
  batcher.parallelTimer = undefined;
}

function retryOrReject<Item, Result>(
  batcher: Batcher<Item, Result>,
  batch: Waiting<Item, Result>[],
  error: unknown,
  deadline: number,
): void {
  const canRetry = batch.length > 1 ? isRolledBack(error) : isLockTimeout(error);
  if (canRetry) runOneByOne(batcher, batch, error, deadline);
  else for (const { reject } of batch) reject(error);
}

/**
 * Runs each item alone, so that only the items that cause the error fail. An item whose row is
 * locked is tried again until the deadline. It gives its connection back after each try, and other
 * items with the same keys wait for it, so that locked rows do not use up the connections.
 */
async function runOneByOne<Item, Result>(
  batcher: Batcher<Item, Result>,
  batch: Waiting<Item, Result>[],
  error: unknown,
  deadline: number,
): Promise<void> {
  const { database, statement, aloneByKey } = batcher;
  const unfinished = new Set(batch);
  const timer = setTimeout(() => {
    const message = `Not written within ${database.deadlineMs} ms`;
    const expiry = new DatabaseUnavailable(message, { cause: error });
    for (const each of unfinished) rejectWithFollowers(batcher, each, expiry);
    unfinished.clear();
  }, Math.max(deadline - performance.now(), 0));
  for (let [each] = unfinished; each; [each] = unfinished) {
    const keys = statement.conflictKeys(each.item);
    if (keys.some((key) => (aloneByKey.get(key) ?? each) !== each)) {
      unfinished.delete(each);
      batcher.waiting.push(each);
      continue;
    }
    for (const key of keys) aloneByKey.set(key, each);
    const failure = await runBatch(batcher, [each]);
    const hasExpired = !unfinished.delete(each);
    if (hasExpired) return;
    if (isLockTimeout(failure)) {
      // Runs again after the others. Until then, no other item with its keys runs.
      unfinished.add(each);
      continue;
    }
    for (const key of keys) aloneByKey.delete(key);
    if (failure !== null) each.reject(failure);
  }
  clearTimeout(timer);
  scheduleParallel(batcher);
}

/** Also rejects the items that wait for this one: otherwise their waiting time would double. */
function rejectWithFollowers<Item, Result>(
  batcher: Batcher<Item, Result>,
  expired: Waiting<Item, Result>,
  error: unknown,
): void {
  const { statement, aloneByKey } = batcher;
  expired.reject(error);
  const keys = statement.conflictKeys(expired.item)
    .filter((key) => aloneByKey.get(key) === expired);
  for (const key of keys) aloneByKey.delete(key);
  const { followers = [], rest = [] } = Object.groupBy(
    batcher.waiting,
    ({ item }) =>
      statement.conflictKeys(item).some((key) => keys.includes(key)) ? "followers" : "rest",
  );
  batcher.waiting = rest;
  if (rest.length === 0) cancelParallel(batcher);
  for (const { reject } of followers) reject(error);
}

/** The SQLSTATE of a statement that took too long. */
const STATEMENT_TIMEOUT = "57014";

/** Whether PostgreSQL rejected or cancelled the statement: nothing is written, a retry is safe. */
function isRolledBack(error: unknown): boolean {
  if (!(error instanceof DatabaseUnavailable)) return true;
  return isLockTimeout(error) || codeOf(error.cause) === STATEMENT_TIMEOUT;
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && codeOf(error.cause) === LOCK_TIMEOUT;
}
