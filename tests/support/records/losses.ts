/** A database that loses one statement of many, and tells nobody which. */

import { type Database, DatabaseUnavailable } from "../../../db/database.ts";

/** Whether it is lost on its way there, or its answer on the way back: it is done then. */
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
    /** From now on the so manieth is. */
    lose(number: number, what: Loss) {
      countdown = number;
      loss = what;
    },
    /** Whether one was lost; none is any more. */
    mend(): boolean {
      const isStruck = countdown === 0;
      countdown = Infinity;
      return isStruck;
    },
    wrapDatabase: (database: Database): Database => ({
      ...database,
      query: (work, name) => losing(() => database.query(work, name)),
      transaction: (work, name) => losing(() => database.transaction(work, name)),
    }),
  };
}
