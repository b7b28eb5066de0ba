/** What the doctor reads about the database. */

import type { Sql } from "../connection/database.ts";

export interface ServerState {
  /** Such as `18.1`. */
  version: string;
  major: number;
  /** The server is a standby: it replays the changes of another server and accepts no writes. */
  is_standby: boolean;
  /** Standbys that are connected to this server. */
  standbys: number;
}

export async function readServerState(sql: Sql): Promise<ServerState> {
  const [row] = await sql<[ServerState]>`
    select split_part(current_setting('server_version'), ' ', 1) as version,
      current_setting('server_version_num')::int / 10000 as major,
      pg_is_in_recovery() as is_standby,
      (select count(*)::int from pg_stat_replication) as standbys`;
  return row;
}

/** The tables of the service that this role may not read or change. */
export async function listDeniedTables(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select tablename as name from pg_tables
    where schemaname = 'gateway' and tablename <> 'migrations' and not (
      has_schema_privilege('gateway', 'usage') and (
        select bool_and(has_table_privilege(format('gateway.%I', tablename), privilege))
        from unnest(array['select', 'insert', 'update', 'delete']) privilege))
    order by tablename`;
  return rows.map(({ name }) => name);
}

/** Which records exist whose notifications the gateway sends to the dashboard's URL. */
export interface DashboardUses {
  invoices: boolean;
  subscriptions: boolean;
  /** True if a GoPay subscription exists: it charges a linked account. */
  linked_accounts: boolean;
}

export async function findDashboardUses(sql: Sql): Promise<DashboardUses> {
  const [row] = await sql<[DashboardUses]>`
    select exists (select from gateway.invoices) as invoices,
      exists (select from gateway.subscriptions) as subscriptions,
      exists (select from gateway.subscriptions where payment_type = 'gopay') as linked_accounts`;
  return row;
}
