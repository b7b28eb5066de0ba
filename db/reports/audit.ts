/** The audit trail: what callers changed, tried to change, or exported. */

import { NIL } from "uuid";
import { actorNameSql } from "../access/api_keys.ts";
import type { Batched } from "../records/batched.ts";
import { columnNames, fixed, type RowOf, typesOf } from "../records/columns.ts";
import type { Sql } from "../connection/database.ts";
import { idRange, newestInRange, ownerPrefix } from "../records/list_walk.ts";
import type { GatewayPayment } from "../payments/payments.ts";
import type { OwnerFilter } from "../records/records.ts";
import { Statement } from "../records/statement.ts";

export const AUDIT_OUTCOMES = ["changed", "refused", "exported"] as const;

export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

const AUDIT_COLUMNS = {
  id: fixed<string>(),
  /** `api_key:<prefix>` or `jwt:<subject>`. */
  actor: fixed<string>(),
  user_id: fixed<string>(),
  /** The method and the route, such as `POST /payments/{pk}/refund/`. */
  action: fixed<string>(),
  resource_id: fixed<string | null>(),
  outcome: fixed<AuditOutcome>(),
  /** The HTTP status. */
  status: fixed<number>(),
  /** The error code of the response; null: it was not an error. */
  code: fixed<string | null>(),
  /** How many refused requests the entry stands for; 1 for the other outcomes. */
  attempts: fixed<number>(),
  /** The id of the first of these requests. */
  request_id: fixed<string>(),
  created_at: fixed<Date>(),
};

export interface AuditEntry extends RowOf<typeof AUDIT_COLUMNS> {}

const TYPES = typesOf(AUDIT_COLUMNS, {
  uuid: ["id"],
  integer: ["status", "attempts"],
  timestamptz: ["created_at"],
});

/** An entry with the name of its actor; null: the key of the actor is unknown. */
export interface NamedAuditEntry extends AuditEntry {
  actor_name: string | null;
}

export const auditInserts: Batched<AuditEntry, void> = {
  name: "insert audit entry",
  conflictKeys: () => [],
  async run(sql, entries) {
    await insertAuditEntries(sql, entries);
    return entries.map(() => undefined);
  },
};

export async function insertAuditEntries(sql: Sql, entries: AuditEntry[]): Promise<void> {
  const statement = new Statement();
  const names = columnNames(AUDIT_COLUMNS).join(", ");
  await statement.run(
    sql,
    `insert into gateway.audit (${names})
    select ${names} from ${statement.arrays(entries, TYPES)} on conflict do nothing`,
  );
}

/** Null: any value. */
export interface AuditFilter {
  actor: string | null;
  resourceId: string | null;
  outcome: AuditOutcome | null;
  /** Absent: any value. */
  action?: string | null;
  /** Ids from this one, inclusive. */
  first: string;
  /** Ids before this one. */
  end: string;
  limit: number;
}

/**
 * Newest first. `newestInRange` in `list_walk.ts` explains the form of the conditions. Entries
 * before `first` match, and are left out after the limit, so that the limit ends the scan.
 */
export async function listAuditEntries(sql: Sql, filter: AuditFilter): Promise<NamedAuditEntry[]> {
  const { actor, resourceId, action = null, outcome, first, end, limit } = filter;
  const [column, value] = actor !== null
    ? ["actor", actor]
    : resourceId !== null
    ? ["resource_id", resourceId]
    : action !== null
    ? ["action", action]
    : ["outcome", outcome];
  const [name, prefix, order] = value === null
    ? [sql``, sql``, sql``]
    : [sql`${sql(column!)},`, sql`${value}::text,`, sql`${sql(column!)} desc,`];
  return await sql<NamedAuditEntry[]>`
    select newest.*, ${actorNameSql(sql, "newest.actor")} as actor_name from (
      select * from gateway.audit
      where (${name} id) < (${prefix} ${end}::uuid) and (${name} id) >= (${prefix} ${NIL}::uuid)
        and (id < ${first}::uuid or (
          (${resourceId}::text is null or resource_id = ${resourceId})
          and (${action}::text is null or action = ${action})
          and (${outcome}::text is null or outcome = ${outcome})))
      order by ${order} id desc limit ${limit}
    ) newest
    where id >= ${first}::uuid order by id desc`;
}

export interface ChargeRow extends
  Pick<
    GatewayPayment,
    "id" | "user_id" | "created_by" | "is_refused" | "created_at"
  > {
  /** The name of the actor. */
  created_by_name: string | null;
}

export interface ScannedCharges {
  charges: (Omit<ChargeRow, "created_at"> & { created_at: string })[];
  /** If there may be more charges: the id of the oldest payment that was read. Null: no more. */
  scannedTo: string | null;
}

/** How many payments a page reads at most. Payments that no caller created are skipped. */
const MAX_SCANNED = 2_000;

/**
 * The payments that callers created, newest first. There is no index by actor, because every charge
 * would have to update it. The caller passes the actor's user as `owner` instead, and at most
 * `MAX_SCANNED` payments of that user are read. The limit is the number of payments in the range,
 * because before version 18 PostgreSQL does not stop at `first` (see `newestInRange`).
 */
export async function scanCharges(
  sql: Sql,
  { actor, outcome, first, end, limit }: Omit<AuditFilter, "resourceId">,
  owner: OwnerFilter,
  maxScanned = MAX_SCANNED,
): Promise<ScannedCharges> {
  const [ownerColumn, ownerValue, ownerOrder] = owner === null
    ? [sql``, sql``, sql``]
    : [sql`user_id,`, sql`${owner}::text,`, sql`user_id desc,`];
  const bounds = { firstId: first, endId: end, after: null };
  const range = idRange("payments", ownerPrefix(sql, owner), bounds);
  const [found] = await sql<[ScannedCharges]>`
    with scanned as materialized (
      select id, user_id, created_by, is_refused, created_at from gateway.payments
      where (${ownerColumn} id) < (${ownerValue} ${end}::uuid)
        and (${ownerColumn} id) >= (${ownerValue} ${NIL}::uuid)
      order by ${ownerOrder} id desc
      limit (select count(*) from (${newestInRange(sql, range, maxScanned)}) in_range)
    ), charge as (
      select scanned.*, ${actorNameSql(sql, "scanned.created_by")} as created_by_name from scanned
      where created_by is not null and (${actor}::text is null or created_by = ${actor})
        and (${outcome}::text is null
          or ${outcome} = case when is_refused then 'refused' else 'changed' end)
      order by id desc limit ${limit}
    )
    select coalesce((select json_agg(charge order by charge.id desc) from charge), '[]') as charges,
      (select id from scanned order by id desc limit 1 offset ${maxScanned - 1}) as "scannedTo"`;
  return found;
}

/** The payment with this id, if a caller created it. */
export async function findCharge(sql: Sql, id: string): Promise<ChargeRow | null> {
  const [charge] = await sql<[ChargeRow?]>`
    select id, user_id, created_by, is_refused, created_at,
      ${actorNameSql(sql, "created_by")} as created_by_name
    from gateway.payments
    where id = ${id} and created_by is not null`;
  return charge ?? null;
}

/** The user of the API key with this prefix; null: there is no such key. */
export async function findKeyUser(sql: Sql, prefix: string): Promise<string | null> {
  const [key] = await sql<[{ user_id: string }?]>`
    select user_id from gateway.api_keys where prefix = ${prefix}`;
  return key?.user_id ?? null;
}
