/** Checks of the database, of the gateway account in it, and of the clocks. */

import { meansNoWrites, poolUse } from "../../db/connection/database.ts";
import { findAccount } from "../../db/access/gateway_account.ts";
import { findPending, OLDEST_POSTGRES } from "../../db/migrations/migrate.ts";
import { hasTrigramIndex } from "../../db/payments/search.ts";
import { findDashboardUses, listDeniedTables, readServerState } from "../../db/reports/doctor.ts";
import { checkWrites } from "../../db/reports/status.ts";
import { NOTIFICATION_PATH } from "../gateway/notification_url.ts";
import { MAX_SKEW_MS } from "../time/clock_check.ts";
import {
  type Examined,
  fault,
  type Found,
  notTested,
  ok,
  problemText,
  warning,
  type WithDatabase,
} from "./check_result.ts";

export async function checkDatabase(
  { database, databaseProblem, migrations }: Examined,
): Promise<Found> {
  if (!database) return fault("database_unreachable", { problem: databaseProblem ?? "" });
  try {
    const { version, major } = await database.query(readServerState, "read server state");
    if (major < OLDEST_POSTGRES) return fault("database_old", { version });
    const pending = await database.query((sql) => findPending(sql, migrations), "find pending");
    return pending.length === 0
      ? ok("database_ok", { version })
      : fault("database_pending", { count: pending.length });
  } catch (error) {
    return fault("database_unreachable", { problem: problemText(error) });
  }
}

export async function checkPrivileges({ database }: WithDatabase): Promise<Found> {
  const denied = await database.query(listDeniedTables, "list denied tables");
  return denied.length === 0
    ? ok("privileges_ok")
    : fault("privileges_missing", { tables: denied.join(", ") });
}

export function checkPooling({ database }: WithDatabase): Found {
  const mode = poolUse(database)?.pooling;
  if (mode === undefined) return notTested("pooling_unknown");
  return mode === "none" ? ok("pooling_none") : ok("pooling_used", { mode });
}

export async function checkSearch({ database }: WithDatabase): Promise<Found> {
  return await database.query(hasTrigramIndex, "find trigram index")
    ? ok("search_ok")
    : warning("search_by_prefix");
}

export async function checkReplication({ database }: WithDatabase): Promise<Found> {
  const { is_standby, standbys } = await database.query(readServerState, "read server state");
  return is_standby ? fault("replication_standby") : ok("replication_ok", { standbys });
}

export async function checkDatabaseWrites({ database }: WithDatabase): Promise<Found> {
  try {
    await database.transaction(checkWrites);
    return ok("writes_ok");
  } catch (error) {
    if (!meansNoWrites(error)) throw error;
    return fault("writes_refused", { problem: problemText(error) });
  }
}

/** Whether the settings are for the gateway account that the database belongs to. */
export async function checkAccount({ database, config }: WithDatabase): Promise<Found> {
  const { environment } = config.gateway;
  const account = await database.query(findAccount, "find account");
  if (!account) return notTested("account_unbound");
  if (account.environment !== environment) {
    return fault("account_other", { stored: account.environment, environment });
  }
  return ok("account_ok", { environment, merchant: account.merchant_id ?? "–" });
}

export async function checkClocks(
  { clockCheck }: Pick<WithDatabase, "clockCheck">,
): Promise<Found> {
  const { database, gateway } = await clockCheck.measure();
  const toSeconds = (ms: number) => Math.round(Math.abs(ms) / 1_000);
  if (Math.abs(gateway ?? 0) > MAX_SKEW_MS) {
    return fault("clock_database", { seconds: toSeconds(gateway!) });
  }
  // The service decides nothing by the clock of its host.
  if (Math.abs(database) > MAX_SKEW_MS) {
    return warning("clock_host", { seconds: toSeconds(database) });
  }
  return gateway === null ? ok("clock_without_gateway") : ok("clock_ok");
}

/** The gateway documents no URL per request for these. */
export async function checkDashboardUrl(
  { database, publicUrl }: WithDatabase,
): Promise<Found> {
  const uses = await database.query(findDashboardUses, "find dashboard uses");
  const names = Object.entries(uses).filter(([, isUsed]) => isUsed)
    .map(([name]) => name.replaceAll("_", " "));
  if (names.length === 0) return ok("dashboard_unused");
  const url = (publicUrl ?? "https://…") + NOTIFICATION_PATH;
  return notTested("dashboard_used", { uses: names.join(", "), url });
}
