/** A database that holds calls by name, so that a test can make two requests overlap. */

import type { Database } from "../../../db/connection/database.ts";
import type { Held } from "../gateway/relay.ts";
import { inTime } from "../until.ts";

export interface HeldDatabase {
  wrapDatabase(database: Database): Database;
  /** Holds the next query or transaction of this name until it is released. */
  holdNext(name: string): Held;
}

export function createHeldDatabase(): HeldDatabase {
  const waiting = new Map<string, { arrive: () => void; held: Promise<void> }>();

  async function pass(name: string): Promise<void> {
    const hold = waiting.get(name);
    waiting.delete(name);
    hold?.arrive();
    await hold?.held;
  }

  return {
    wrapDatabase: (database) => ({
      ...database,
      async query(work, name = "") {
        await pass(name);
        return await database.query(work, name);
      },
      async transaction(work, name = "") {
        await pass(name);
        return await database.transaction(work, name);
      },
    }),
    holdNext(name) {
      const arrived = Promise.withResolvers<void>();
      const held = Promise.withResolvers<void>();
      waiting.set(name, { arrive: arrived.resolve, held: held.promise });
      return {
        get arrived() {
          return inTime(`"${name}" is held`, arrived.promise);
        },
        release: held.resolve,
      };
    },
  };
}

/**
 * While `beforeRollback` is set, each write of a payment calls it in its open transaction, which is
 * then rolled back.
 */
export function createRollbackDatabase() {
  const hooks: { beforeRollback?: () => Promise<void> } = {};
  return {
    hooks,
    wrapDatabase: (database: Database): Database => ({
      ...database,
      query: (work, name) =>
        name === "write payment" && hooks.beforeRollback
          ? database.transaction(async (sql) => {
            await work(sql);
            await hooks.beforeRollback!();
            throw new Error("rolled back");
          })
          : database.query(work, name),
    }),
  };
}
