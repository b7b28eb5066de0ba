/** Webhook endpoints: the model, and the statements that read and change them. */

import { MAX } from "uuid";
import type { Sql } from "../connection/database.ts";
import type { NewEvent } from "../events/events.ts";
import {
  type BuildRecordWrite,
  NO_SIDE_EFFECTS,
  type WriteResult,
  writeWithSideEffects,
} from "../writing/side_effects.ts";

export interface GatewayWebhookEndpoint {
  id: string;
  url: string;
  /** Null: every event. */
  event_names: string[] | null;
  description: string | null;
  /** Why it is disabled; null: it is enabled. */
  disabled_reason: DisabledReason | null;
  /** Since when every attempt has failed; null: the last attempt succeeded, or there was none. */
  failing_since: Date | null;
  /** Encrypted. */
  secret: string;
  /** The secret before the last rotation, encrypted. Deliveries are signed with both for a day. */
  previous_secret: string | null;
  previous_secret_until: Date | null;
  event_count: number;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

export const DISABLED_REASONS = ["requested", "gone", "failing"] as const;

export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** False: an endpoint with this id exists. */
export async function insertEndpoint(sql: Sql, endpoint: GatewayWebhookEndpoint): Promise<boolean> {
  const { count } = await sql`
    insert into gateway.webhook_endpoints ${sql({ ...endpoint })} on conflict do nothing`;
  return count > 0;
}

export async function findEndpoint(sql: Sql, id: string): Promise<GatewayWebhookEndpoint | null> {
  const [endpoint] = await sql<[GatewayWebhookEndpoint?]>`
    select * from gateway.webhook_endpoints where id = ${id}`;
  return endpoint ?? null;
}

/** Newest first. */
export async function listEndpoints(
  sql: Sql,
  { before, limit }: { before: string | null; limit: number },
): Promise<GatewayWebhookEndpoint[]> {
  return await sql<GatewayWebhookEndpoint[]>`
    select * from gateway.webhook_endpoints
    where id < ${before ?? MAX} and deleted_at is null
    order by id desc limit ${limit}`;
}

/** Endpoints whose last attempt failed, or that the service has disabled because of failures. */
export const IS_FAILING = `deleted_at is null and (disabled_reason in ('gone', 'failing')
  or disabled_reason is null and failing_since is not null)`;

/** Newest first. */
export async function listFailingEndpoints(
  sql: Sql,
  { before, limit }: { before: string | null; limit: number },
): Promise<GatewayWebhookEndpoint[]> {
  return await sql<GatewayWebhookEndpoint[]>`
    select * from gateway.webhook_endpoints
    where id < ${before ?? MAX} and ${sql.unsafe(IS_FAILING)}
    order by id desc limit ${limit}`;
}

export type EndpointChanges = Partial<
  Omit<GatewayWebhookEndpoint, "id" | "created_at" | "event_count">
>;

/** Null: the endpoint does not exist, was deleted, or was changed after `unchangedSince`. */
export async function changeEndpoint(
  sql: Sql,
  id: string,
  changes: EndpointChanges,
  unchangedSince: Date | null = null,
): Promise<GatewayWebhookEndpoint | null> {
  const [endpoint] = await sql<[GatewayWebhookEndpoint?]>`
    update gateway.webhook_endpoints set ${sql(changes)}
    where ${isUnchanged(sql, id, unchangedSince)} returning *`;
  return endpoint ?? null;
}

type SecretChange = Pick<
  GatewayWebhookEndpoint,
  "secret" | "previous_secret_until" | "updated_at"
>;

/**
 * The current secret becomes the previous one, in the same statement: of several concurrent
 * rotations, each keeps the secret of the one before. Null: as for `changeEndpoint`.
 */
export async function rotateSecret(
  sql: Sql,
  id: string,
  change: SecretChange,
  unchangedSince: Date | null,
): Promise<GatewayWebhookEndpoint | null> {
  const [endpoint] = await sql<[GatewayWebhookEndpoint?]>`
    update gateway.webhook_endpoints set previous_secret = secret, ${sql(change)}
    where ${isUnchanged(sql, id, unchangedSince)} returning *`;
  return endpoint ?? null;
}

function isUnchanged(sql: Sql, id: string, since: Date | null) {
  return sql`id = ${id} and deleted_at is null and (${since}::timestamptz is null
      or date_trunc('milliseconds', updated_at) = ${since})`;
}

/** Sets `failing_since` of the endpoint, unless its URL was changed meanwhile. */
export async function recordEndpointHealth(
  sql: Sql,
  { id, url, failing_since }: Pick<GatewayWebhookEndpoint, "id" | "url" | "failing_since">,
): Promise<void> {
  await sql`
    update gateway.webhook_endpoints set failing_since = ${failing_since}
    where id = ${id} and url = ${url}`;
}

/** Removes the row of an endpoint that is marked as deleted. */
export async function removeEndpoint(sql: Sql, id: string): Promise<void> {
  await sql`delete from gateway.webhook_endpoints where id = ${id} and deleted_at is not null`;
}

/** Disables an endpoint and writes the event, unless the endpoint was changed meanwhile. */
export async function disableEndpoint(
  sql: Sql,
  endpoint: GatewayWebhookEndpoint,
  event: NewEvent,
): Promise<WriteResult> {
  const { id, url, event_count, failing_since, disabled_reason, updated_at } = endpoint;
  const buildUpdate: BuildRecordWrite = (statement) => [
    `changed as (
      update gateway.webhook_endpoints
      set disabled_reason = ${statement.value(disabled_reason)}, event_count = event_count + 1,
        updated_at = ${statement.value(updated_at)}
      where id = ${statement.value(id)} and event_count = ${
      statement.value(String(event_count))
    }::int
        and disabled_reason is null and deleted_at is null
        and url = ${statement.value(url)}
        and failing_since is not distinct from ${statement.value(failing_since)}
      returning id
    )`,
  ];
  const write = { ...NO_SIDE_EFFECTS, record: endpoint, events: [event] };
  const [written] = await writeWithSideEffects(sql, buildUpdate, [write]);
  return written!;
}

/** Endpoints that need a delivery job: those with due deliveries, and those marked as deleted. */
export async function listEndpointsWithWork(sql: Sql, now: Date): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from gateway.webhook_endpoints endpoint
    where deleted_at is not null or disabled_reason is null and exists (
      select from gateway.webhook_deliveries
      where endpoint_id = endpoint.id and status = 'pending' and next_attempt_at <= ${now})`;
  return rows.map(({ id }) => id);
}
