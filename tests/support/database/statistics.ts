/** Statistics of PostgreSQL, which counts with a delay. */

import type { Database } from "../../../db/connection/database.ts";

/** The size of the pool of a test's app. */
const CONNECTIONS = 4;

/**
 * Makes all connections of an app report what they have counted. By itself a connection reports it
 * only when it has been idle for 10 seconds.
 */
export async function reportStatistics(database: Database): Promise<void> {
  // The statements run at the same time, so each of them runs on another connection.
  const reports = Array.from(
    { length: CONNECTIONS },
    () => database.query((sql) => sql`select pg_stat_force_next_flush(), pg_sleep(0.05)`),
  );
  await Promise.all(reports);
}
