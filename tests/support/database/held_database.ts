/** A database whose statements wait where a test wants two requests to meet. */

import type { Database } from "../../../db/database.ts";
import type { Held } from "../gateway/relay.ts";
import { inTime } from "../until.ts";

export interface HeldDatabase {
  wrapDatabase(database: Database): Database;
  /** Keeps the next query of this name back until it is released. */
  holdNext(name: string): Held;
}

export function createHeldDatabase(): HeldDatabase {
  const waiting = new Map<string, { arrive: () => void; held: Promise<void> }>();
  return {
    wrapDatabase: (database) => ({
      ...database,
      async query(work, name = "") {
        const hold = waiting.get(name);
        waiting.delete(name);
        hold?.arrive();
        await hold?.held;
        return await database.query(work, name);
      },
    }),
    holdNext(name) {
      const arrived = Promise.withResolvers<void>();
      const held = Promise.withResolvers<void>();
      waiting.set(name, { arrive: arrived.resolve, held: held.promise });
      return {
        get arrived() {
          return inTime(`"${name}" is kept back`, arrived.promise);
        },
        release: held.resolve,
      };
    },
  };
}

/** Has what is written to payments undone, after a test has looked at it from outside. */
export function createUndoing() {
  const atWork: { during?: () => Promise<void> } = {};
  return {
    atWork,
    wrapDatabase: (database: Database): Database => ({
      ...database,
      query: (work, name) =>
        name === "write payment" && atWork.during
          ? database.transaction(async (sql) => {
            await work(sql);
            await atWork.during!();
            throw new Error("rolled back");
          })
          : database.query(work, name),
    }),
  };
}
