/** Pauses the service after a database call, as if its process were frozen at that moment. */

import type { Database } from "../../../db/connection/database.ts";
import { inTime } from "../until.ts";

export interface PausedCall {
  /** Pass it to the app that is to be paused. */
  wrapDatabase(database: Database): Database;
  /** Resolves when the database has done the call. */
  readonly arrived: Promise<void>;
  continue(): void;
}

/** Pauses after the first call with this name, such as `insert invoice`. */
export function pauseAfter(call: string): PausedCall {
  const arrived = Promise.withResolvers<void>();
  const paused = Promise.withResolvers<void>();
  return {
    wrapDatabase: (database) => ({
      ...database,
      query: async (work, name) => {
        const result = await database.query(work, name);
        if (name === call) {
          arrived.resolve();
          await paused.promise;
        }
        return result;
      },
    }),
    get arrived() {
      return inTime(`${call} is done`, arrived.promise);
    },
    continue: paused.resolve,
  };
}
