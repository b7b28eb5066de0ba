/** A database that loses one statement, or the response to one, without saying which. */

import { type Database, DatabaseUnavailable } from "../../../db/database.ts";

/** Whether the statement is lost before it runs, or its response after it ran. */
export const LOSSES = ["statement", "answer"] as const;

export type Loss = (typeof LOSSES)[number];

export function createLossyDatabase() {
  let countdown = Infinity;
  let loss: Loss = "statement";

  async function losing<T>(run: () => Promise<T>): Promise<T> {
    if (countdown === 0 || --countdown > 0) return await run();
    if (loss === "answer") await run();
    throw new DatabaseUnavailable(`The ${loss} was lost`);
  }

  return {
    /** Loses the statement with this number, counted from now. */
    lose(number: number, what: Loss) {
      countdown = number;
      loss = what;
    },
    /** Stops losing statements. Returns whether one was lost. */
    stop(): boolean {
      const wasLost = countdown === 0;
      countdown = Infinity;
      return wasLost;
    },
    wrapDatabase: (database: Database): Database => ({
      ...database,
      query: (work, name) => losing(() => database.query(work, name)),
      transaction: (work, name) => losing(() => database.transaction(work, name)),
    }),
  };
}
