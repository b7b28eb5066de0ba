/** Limits how many connections of the pool one kind of work uses. */

import { createLimiter } from "../../concurrency/limiter.ts";
import type { Database } from "./database.ts";

/**
 * At most `max` calls run at a time; others wait here instead of in the queue of the pool. So they
 * do not delay other callers of `database`, and their deadline begins when it is their turn.
 */
export function limitStatements(database: Database, max: number): Database {
  const limiter = createLimiter(max);
  async function inTurn<T>(run: () => Promise<T>): Promise<T> {
    const release = await limiter.acquire();
    try {
      return await run();
    } finally {
      release();
    }
  }
  return {
    deadlineMs: database.deadlineMs,
    query: (work, name) => inTurn(() => database.query(work, name)),
    transaction: (work, name) => inTurn(() => database.transaction(work, name)),
    close: () => database.close(),
  };
}
