/**
 * Combines calls of the same statement under load. A call runs at once if none is running; calls that
 * arrive while one runs are combined into the next. PostgreSQL then executes fewer statements and
 * commits, and no call waits for a batch to fill.
 */

import { context, ROOT_CONTEXT } from "@opentelemetry/api";
import { type Database, DatabaseUnavailable, type Sql } from "./database.ts";
import { inDatabaseSpan } from "./span.ts";

export interface Batched<Item, Result> {
  /** As in `Database.query`. */
  name: string;
  /** Two items with a key in common never go into the same batch: the later one waits. */
  conflictKeys(item: Item): string[];
  /** One statement, and a result for each item. */
  run(sql: Sql, items: Item[]): Promise<Result[]>;
}

/** Larger batches are hardly faster, and each item waits for the whole batch. */
const MAX_ITEMS = 64;

/** If a batch takes longer, for example because a row is locked, the next batch runs in parallel. */
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

  /** Runs the waiting calls as one batch, and then those that arrived during it. */
  async function runNext(): Promise<void> {
    clearTimeout(parallelTimer);
    parallelTimer = undefined;
    const batch = takeBatch();
    scheduleParallel();
    running++;
    await runSafely(batch);
    running--;
    // A batch serves several requests, so it belongs to no single trace; each request has its own span.
    if (running === 0 && waiting.length > 0) context.with(ROOT_CONTEXT, runNext);
  }

  function scheduleParallel(): void {
    if (waiting.length === 0) return;
    parallelTimer ??= setTimeout(() => context.with(ROOT_CONTEXT, runNext), PARALLEL_AFTER_MS);
  }

  async function runSafely(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      await runBatch(batch);
    } catch (error) {
      // PostgreSQL rejected the batch and wrote nothing: run the items one by one, so that only the
      // faulty one fails.
      const isRejected = !(error instanceof DatabaseUnavailable);
      if (isRejected && batch.length > 1) return await runEach(batch);
      for (const { reject } of batch) reject(error);
    }
  }

  async function runBatch(batch: Waiting<Item, Result>[]): Promise<void> {
    const items = batch.map(({ item }) => item);
    const results = await database.query((sql) => run(sql, items), name);
    batch.forEach(({ resolve }, index) => resolve(results[index]!));
  }

  async function runEach(batch: Waiting<Item, Result>[]): Promise<void> {
    for (const each of batch) await runBatch([each]).catch(each.reject);
  }

  function takeBatch(): Waiting<Item, Result>[] {
    if (waiting.length === 1) return waiting.splice(0);
    const takenKeys = new Set<string>();
    const { batch = [], rest = [] } = Object.groupBy(waiting, ({ item }, index) => {
      const keys = conflictKeys(item);
      const isFree = index < MAX_ITEMS && keys.every((key) => !takenKeys.has(key));
      for (const key of keys) takenKeys.add(key);
      return isFree ? "batch" : "rest";
    });
    waiting = rest;
    return batch;
  }

  return async function add(item) {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    waiting.push({ item, resolve, reject });
    if (running === 0) {
      runNext();
      return await promise;
    }
    scheduleParallel();
    return await inDatabaseSpan(name, () => promise);
  };
}
