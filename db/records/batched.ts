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
const batchers = new WeakMap<Database, Map<Batched<any, any>, Batcher<any, any>>>();

type Batcher<Item, Result> = (item: Item) => Promise<Result>;

export function batched<Item, Result>(
  database: Database,
  statement: Batched<Item, Result>,
  item: Item,
): Promise<Result> {
  let byStatement = batchers.get(database);
  if (!byStatement) batchers.set(database, byStatement = new Map());
  let batcher = byStatement.get(statement);
  if (!batcher) byStatement.set(statement, batcher = createBatcher(database, statement));
  return batcher(item);
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

function createBatcher<Item, Result>(
  database: Database,
  { name, conflictKeys, run }: Batched<Item, Result>,
): Batcher<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let running = 0;
  let parallelTimer: ReturnType<typeof setTimeout> | undefined;
  let gatherTimer: ReturnType<typeof setTimeout> | undefined;
  /** How many items the last batch had. */
  let lastSize = 1;
  /** The items that run alone, by their keys. Other items with these keys wait for them. */
  const aloneByKey = new Map<string, Waiting<Item, Result>>();
  /** The keys of the items in running batches. */
  const runningKeys = new Set<string>();

  /**
   * Runs the waiting calls as one batch, and then those that arrived during it. Calls with one of
   * `usedKeys` keep waiting.
   */
  async function runNext(usedKeys: Iterable<string> = []): Promise<void> {
    cancelParallel();
    cancelGather();
    const batch = takeBatch(usedKeys);
    scheduleParallel();
    if (batch.length === 0) return;
    lastSize = batch.length;
    running++;
    const keys = batch.flatMap(({ item }) => conflictKeys(item));
    for (const key of keys) runningKeys.add(key);
    const deadline = performance.now() + database.deadlineMs;
    const error = await runBatch(batch);
    running--;
    for (const key of keys) runningKeys.delete(key);
    if (error !== null) retryOrReject(batch, error, deadline);
    runNextIfReady();
  }

  function runNextIfReady(): void {
    if (isReady()) runInNoTrace(runningKeys);
    else if (waiting.length > 0) waitForMore();
  }

  function isReady(): boolean {
    if (running === 0) return waiting.length >= lastSize;
    return running === 1 && waiting.length >= OVERLAP_ITEMS;
  }

  /**
   * A batch serves several requests, so it belongs to no single trace; each request has its own
   * span.
   */
  function runInNoTrace(usedKeys?: Iterable<string>): void {
    context.with(ROOT_CONTEXT, () => runNext(usedKeys));
  }

  function waitForMore(): void {
    if (running === 0) gatherTimer ??= setTimeout(() => runInNoTrace(), GATHER_MS);
    else scheduleParallel();
  }

  function cancelGather(): void {
    clearTimeout(gatherTimer);
    gatherTimer = undefined;
  }

  function scheduleParallel(): void {
    if (waiting.length === 0) return;
    // Also runs calls with keys of the running batch: if that batch lost its connection, it may
    // never end.
    parallelTimer ??= setTimeout(() => runInNoTrace(), PARALLEL_AFTER_MS);
  }

  function cancelParallel(): void {
    clearTimeout(parallelTimer);
    parallelTimer = undefined;
  }

  /** Returns the error if the batch failed, otherwise null. */
  async function runBatch(batch: Waiting<Item, Result>[]): Promise<unknown> {
    try {
      const items = batch.map(({ item }) => item);
      const results = await database.query((sql) => run(sql, items), name);
      batch.forEach(({ resolve }, index) => resolve(results[index]!));
      return null;
    } catch (error) {
      return error;
    }
  }

  function retryOrReject(
    batch: Waiting<Item, Result>[],
    error: unknown,
    deadline: number,
  ): void {
    const canRetry = batch.length > 1 ? isRolledBack(error) : isLockTimeout(error);
    if (canRetry) runOneByOne(batch, error, deadline);
    else for (const { reject } of batch) reject(error);
  }

  /**
   * Runs each item alone, so that only the items that cause the error fail. An item whose row is
   * locked is tried again until the deadline. It gives its connection back after each try, and
   * other items with the same keys wait for it, so that locked rows do not use up the connections.
   */
  async function runOneByOne(
    batch: Waiting<Item, Result>[],
    error: unknown,
    deadline: number,
  ): Promise<void> {
    const unfinished = new Set(batch);
    const timer = setTimeout(() => {
      const message = `Not written within ${database.deadlineMs} ms`;
      const expiry = new DatabaseUnavailable(message, { cause: error });
      for (const each of unfinished) rejectWithFollowers(each, expiry);
      unfinished.clear();
    }, Math.max(deadline - performance.now(), 0));
    for (let [each] = unfinished; each; [each] = unfinished) {
      const keys = conflictKeys(each.item);
      if (keys.some((key) => (aloneByKey.get(key) ?? each) !== each)) {
        unfinished.delete(each);
        waiting.push(each);
        continue;
      }
      for (const key of keys) aloneByKey.set(key, each);
      const failure = await runBatch([each]);
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
    scheduleParallel();
  }

  /** Also rejects the items that wait for this one: otherwise their waiting time would double. */
  function rejectWithFollowers(expired: Waiting<Item, Result>, error: unknown): void {
    expired.reject(error);
    const keys = conflictKeys(expired.item).filter((key) => aloneByKey.get(key) === expired);
    for (const key of keys) aloneByKey.delete(key);
    const { followers = [], rest = [] } = Object.groupBy(
      waiting,
      ({ item }) => conflictKeys(item).some((key) => keys.includes(key)) ? "followers" : "rest",
    );
    waiting = rest;
    if (rest.length === 0) cancelParallel();
    for (const { reject } of followers) reject(error);
  }

  function takeBatch(usedKeys: Iterable<string>): Waiting<Item, Result>[] {
    const takenKeys = new Set([...aloneByKey.keys(), ...usedKeys]);
    if (waiting.length === 1 && takenKeys.size === 0) return waiting.splice(0);
    let size = 0;
    const { batch = [], rest = [] } = Object.groupBy(waiting, ({ item }) => {
      const keys = conflictKeys(item);
      const isFree = size < MAX_ITEMS && keys.every((key) => !takenKeys.has(key));
      for (const key of keys) takenKeys.add(key);
      if (isFree) size++;
      return isFree ? "batch" : "rest";
    });
    waiting = rest;
    return batch;
  }

  return async function add(item) {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    waiting.push({ item, resolve, reject });
    if (running === 0 && lastSize === 1) {
      runNext();
      return await promise;
    }
    runNextIfReady();
    return await inDatabaseSpan(name, () => promise);
  };
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
