/** `createReadinessCheck`: whether the database responds, has all migrations and accepts writes. */

import { type Database, DatabaseUnavailable, meansNoWrites } from "../../db/connection/database.ts";
import { findPending, type Migration } from "../../db/migrations/migrate.ts";
import { checkWrites } from "../../db/reports/status.ts";

export { DatabaseUnavailable };

export type Readiness =
  | { database: "down" | "read_only"; migrations?: undefined; cause: unknown }
  | { database: "up"; migrations: "pending" | "applied"; cause?: undefined };

/** The probe is public, so it writes at most once in this time. */
const WRITE_INTERVAL_MS = 1_000;

/** Concurrent calls share one check. */
export function createReadinessCheck(
  service: { database: Database; migrations: Migration[] },
): () => Promise<Readiness> {
  let checking: Promise<Readiness> | null = null;
  let wroteAt = -Infinity;

  async function check(): Promise<Readiness> {
    const { database, migrations } = service;
    try {
      const pending = await database.query((sql) => findPending(sql, migrations));
      if (pending.length > 0) return { database: "up", migrations: "pending" };
      if (performance.now() - wroteAt > WRITE_INTERVAL_MS) {
        await database.transaction(checkWrites);
        wroteAt = performance.now();
      }
      return { database: "up", migrations: "applied" };
    } catch (cause) {
      if (!(cause instanceof DatabaseUnavailable)) throw cause;
      return { database: meansNoWrites(cause) ? "read_only" : "down", cause };
    }
  }

  return () => checking ??= check().finally(() => checking = null);
}
