/**
 * Statements that do the same for many at once. What comes alone runs at once; what comes while one
 * runs goes together in the next, so that under load PostgreSQL has statements and commits to do by
 * the dozen. Nobody ever waits for more to come.
 */

import { context, ROOT_CONTEXT } from "@opentelemetry/api";
import { type Database, DatabaseUnavailable, type Sql } from "./database.ts";
import { inDatabaseSpan } from "./span.ts";

export interface Batched<Item, Result> {
  /** As of a query. */
  name: string;
  /** What it changes: two that change the same do not go together, the later one waits. */
  touches(item: Item): string[];
  /** One statement, and a result for each item. */
  run(sql: Sql, items: Item[]): Promise<Result[]>;
}

/** More would hardly be faster, and each has to wait for all of them. */
const MAX_ITEMS = 64;

/** One that takes longer, such as for a row that somebody holds, holds nobody else up. */
const PATIENCE_MS = 20;

// deno-lint-ignore no-explicit-any -- Each statement has a line for what it takes.
const lines = new WeakMap<Database, Map<Batched<any, any>, Batcher<any, any>>>();

type Batcher<Item, Result> = (item: Item) => Promise<Result>;

export function batched<Item, Result>(
  database: Database,
  statement: Batched<Item, Result>,
  item: Item,
): Promise<Result> {
  let ofDatabase = lines.get(database);
  if (!ofDatabase) lines.set(database, ofDatabase = new Map());
  let line = ofDatabase.get(statement);
  if (!line) ofDatabase.set(statement, line = createBatcher(database, statement));
  return line(item);
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

function createBatcher<Item, Result>(
  database: Database,
  { name, touches, run }: Batched<Item, Result>,
): Batcher<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let running = 0;
  let impatience: ReturnType<typeof setTimeout> | undefined;

  /** Whoever waits goes now, and whoever comes meanwhile right after. */
  async function runNext(): Promise<void> {
    clearTimeout(impatience);
    impatience = undefined;
    const batch = takeBatch();
    waitOn();
    running++;
    await runSafely(batch);
    running--;
    // It belongs to no request's trace: each of those who wait has a span of its own.
    if (running === 0 && waiting.length > 0) context.with(ROOT_CONTEXT, runNext);
  }

  function waitOn(): void {
    if (waiting.length === 0) return;
    impatience ??= setTimeout(() => context.with(ROOT_CONTEXT, runNext), PATIENCE_MS);
  }

  async function runSafely(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      await runBatch(batch);
    } catch (error) {
      // One that cannot be done must not be the others' loss; what PostgreSQL refused is not done.
      const isRefused = !(error instanceof DatabaseUnavailable);
      if (isRefused && batch.length > 1) return await runEach(batch);
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
    const touched = new Set<string>();
    const { batch = [], rest = [] } = Object.groupBy(waiting, ({ item }, index) => {
      const things = touches(item);
      const isFree = index < MAX_ITEMS && things.every((thing) => !touched.has(thing));
      for (const thing of things) touched.add(thing);
      return isFree ? "batch" : "rest";
    });
    waiting = rest;
    return batch;
  }

  return async function line(item) {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    waiting.push({ item, resolve, reject });
    if (running === 0) {
      runNext();
      return await promise;
    }
    waitOn();
    return await inDatabaseSpan(name, () => promise);
  };
}
