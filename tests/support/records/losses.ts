/** A database that loses one statement or its response; its caller cannot tell which. */

import { type Database, DatabaseUnavailable } from "../../../db/connection/database.ts";

/** Whether the statement is lost before it runs, or its response after it ran. */
export const LOSSES = ["statement", "answer"] as const;

export type Loss = (typeof LOSSES)[number];

export function createLossyDatabase() {
  let countdown = Infinity;
  let loss: Loss = "statement";

  async function runOrLose<T>(run: () => Promise<T>): Promise<T> {
    if (countdown === 0 || --countdown > 0) return await run();
    if (loss === "answer") await run();
    throw new DatabaseUnavailable(`The ${loss} was lost`);
  }

  return {
    /** Loses the statement with this number, counted from now. */
    lose(number: number, lost: Loss) {
      countdown = number;
      loss = lost;
    },
    /** Stops losing statements. Returns whether one was lost. */
    stop(): boolean {
      const wasLost = countdown === 0;
      countdown = Infinity;
      return wasLost;
    },
    wrapDatabase: (database: Database): Database => ({
      ...database,
      query: (work, name) => runOrLose(() => database.query(work, name)),
      transaction: (work, name) => runOrLose(() => database.transaction(work, name)),
    }),
  };
}
