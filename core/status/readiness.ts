/** `checkReadiness`: whether the database responds and has all migrations. */

import { type Database, DatabaseUnavailable } from "../../db/database.ts";
import { findPending, type Migration } from "../../db/migrations.ts";

export { DatabaseUnavailable };

export interface ReadinessDeps {
  database: Database;
  migrations: Migration[];
}

export type Readiness =
  | { database: "down"; migrations?: undefined; cause: unknown }
  | { database: "up"; migrations: "pending" | "applied"; cause?: undefined };

export async function checkReadiness({ database, migrations }: ReadinessDeps): Promise<Readiness> {
  try {
    const pending = await database.query((sql) => findPending(sql, migrations));
    return { database: "up", migrations: pending.length > 0 ? "pending" : "applied" };
  } catch (cause) {
    if (!(cause instanceof DatabaseUnavailable)) throw cause;
    return { database: "down", cause };
  }
}
