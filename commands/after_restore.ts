/**
 * `deno task after-restore`: prepares a database that was restored from a backup, before the
 * service starts on it.
 */

import type { Config } from "../core/config/config.ts";
import { PUBLISHER_LOCK } from "../core/events/position_publisher.ts";
import { dayInWib } from "../core/gateway/times.ts";
import { SEQUENCE_STEP } from "../core/records/restored.ts";
import { findEndOfBackup, insertRestore, skipSequences } from "../db/access/restores.ts";
import type { Database, Sql } from "../db/connection/database.ts";
import { withoutSecrets } from "../db/connection/server_urls.ts";
import { makeChecksDue } from "../db/records/records.ts";
import { openCommandDatabase } from "./migrate.ts";
import { Failure } from "./terminal.ts";

const USAGE = `Usage: after-restore
Run it after the database lost its newest changes (a restored backup, or a failover without
synchronous replication), while all instances are stopped.`;

/** A pending payment takes about 0.2 ms; a database can have a million. */
const DEADLINE_MS = 30 * 60_000;

export async function run(readConfig: () => Config, args: string[]): Promise<void> {
  if (args.length > 0) throw new Failure(USAGE);
  const config = readConfig();
  await using opened = await openCommandDatabase(config, DEADLINE_MS);
  const { endsAt, checks } = await prepare(opened.database);
  if (endsAt === null) return console.log(noPayments(config));
  const counts = Object.entries(checks).map(([table, count]) => `${count} ${table}`);
  console.log(`The backup ends at ${endsAt.toISOString()}.
The service will check at the gateway: ${counts.join(", ")}.
Next: step 4 of docs/restoring.md (check what was open). Then start the service and upload the \
gateway's reports from ${dayInWib(endsAt)} on.`);
}

function noPayments({ databaseUrl }: Config): string {
  const place = databaseUrl === null ? "the embedded database" : withoutSecrets(databaseUrl);
  return `There are no payments in ${place}. If you expected some, check DATABASE_URL.`;
}

/** In one transaction. Throws a `Failure` if the service runs. */
async function prepare(database: Database) {
  return await database.transaction(async (sql) => {
    await requireStopped(sql);
    const endsAt = await findEndOfBackup(sql);
    const checks = await makeChecksDue(sql);
    await skipSequences(sql, SEQUENCE_STEP);
    await insertRestore(sql);
    return { endsAt, checks };
  });
}

/**
 * A running instance read the time of the last restore at its start, so it must restart. It holds
 * its own lock, or the publisher's.
 */
async function requireStopped(sql: Sql): Promise<void> {
  const [row] = await sql<[{ is_free: boolean }]>`
    select pg_try_advisory_xact_lock(${PUBLISHER_LOCK.toString()}::bigint)
      and not exists (
        select from gateway.instances where not pg_try_advisory_xact_lock_shared(holder)
      ) as is_free`;
  if (row.is_free) return;
  throw new Failure(
    "The service runs on this database. Stop all instances, and run this command again.",
  );
}
