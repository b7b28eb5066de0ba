/** Subscriptions: the model, and the statements that read and write them. */

import { columnNames, fixed, mutable, mutableNames, type RowOf } from "../records/columns.ts";
import type { Sql } from "../connection/database.ts";
import {
  customerRange,
  idRange,
  type IndexRange,
  type ListBounds,
  mergedWalk,
  ownerPrefix,
  rangeWalk,
  readWalk,
  statesCte,
  type Walk,
  type WalkedPage,
} from "../records/list_walk.ts";
import { batchedInsert, batchedUpdate } from "../writing/record_writes.ts";
import type { OwnerFilter } from "../records/records.ts";

/**
 * - `pending`: the gateway has not confirmed the creation;
 * - `active`: the gateway charges the customer every interval;
 * - `inactive`: the gateway ended it;
 * - `disabled`, `cancelled`: a caller paused it, or ended it permanently;
 * - `failed`: the gateway rejected it.
 */
export const SUBSCRIPTION_STATUSES = [
  "pending",
  "active",
  "inactive",
  "disabled",
  "cancelled",
  "failed",
] as const;

export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number];

export const SUBSCRIPTION_ACTIONS = ["disable", "enable", "cancel"] as const;

export type SubscriptionAction = (typeof SUBSCRIPTION_ACTIONS)[number];

export const INTERVAL_UNITS = ["day", "week", "month"] as const;

export type IntervalUnit = (typeof INTERVAL_UNITS)[number];

/** A new column needs a migration and a line here; see `PAYMENT_COLUMNS`. */
export const SUBSCRIPTION_COLUMNS = {
  id: fixed<string>(),
  user_id: fixed<string>(),
  /** Null until the gateway has responded. */
  gateway_subscription_id: mutable<string | null>(),
  name: mutable<string>(),
  payment_type: fixed<string>(),
  amount: mutable<number>(),
  currency: fixed<string>(),
  interval: mutable<number>(),
  interval_unit: fixed<IntervalUnit>(),
  /** Null: no end. */
  max_interval: fixed<number | null>(),
  /** How many intervals have begun. */
  current_interval: mutable<number>(),
  start_time: mutable<Date | null>(),
  next_execution_at: mutable<Date | null>(),
  status: mutable<SubscriptionStatus>(),
  /** The requested action, until the gateway responds to it; the service retries it. Null: none. */
  intent: mutable<SubscriptionAction | null>(),
  /** When a caller stopped it, so when it was disabled or cancelled; null: it is neither. */
  ended_at: mutable<Date | null>(),
  customer_first_name: fixed<string | null>(),
  customer_last_name: fixed<string | null>(),
  customer_email: fixed<string | null>(),
  customer_phone: fixed<string | null>(),
  metadata: fixed<Record<string, unknown> | null>(),
  /** Written just before the subscription is sent to the gateway for the first time. */
  sent_at: fixed<Date>(),
  /** When it was last checked at the gateway. Only `recordCheck` and `claimCheck` update it. */
  checked_at: fixed<Date | null>(),
  /** Null: the scheduled sync skips it. If set, the sync checks it in the order of `checked_at`. */
  check_at: mutable<Date | null>(),
  /** The actor that created it (`core/auth/caller.ts`). */
  created_by: fixed<string | null>(),
  event_count: mutable<number>(),
  /** Incremented by every update. */
  version: fixed<number>(),
  created_at: fixed<Date>(),
  updated_at: mutable<Date>(),
};

export interface GatewaySubscription extends RowOf<typeof SUBSCRIPTION_COLUMNS> {}

export const subscriptionInserts = batchedInsert<GatewaySubscription>({
  resource: "subscription",
  table: "subscriptions",
  columns: columnNames(SUBSCRIPTION_COLUMNS),
  status: "status",
  source: "create",
  orderOf: () => null,
  items: null,
});

export const subscriptionWrites = batchedUpdate<GatewaySubscription>(
  "subscriptions",
  mutableNames(SUBSCRIPTION_COLUMNS),
);

export async function findSubscription(
  sql: Sql,
  id: string,
  owner: OwnerFilter = null,
): Promise<GatewaySubscription | null> {
  const [row] = await sql<[GatewaySubscription?]>`
    select * from gateway.subscriptions
    where id = ${id} and (${owner}::text is null or user_id = ${owner})`;
  return row ?? null;
}

export async function findSubscriptionByGatewayId(
  sql: Sql,
  gatewaySubscriptionId: string,
): Promise<GatewaySubscription | null> {
  const [row] = await sql<[GatewaySubscription?]>`
    select * from gateway.subscriptions
    where gateway_subscription_id = ${gatewaySubscriptionId}`;
  return row ?? null;
}

/** Several subscriptions, of one user or of several, can have the same name. */
export async function listSubscriptionsOfName(
  sql: Sql,
  name: string,
  limit: number,
): Promise<GatewaySubscription[]> {
  return await sql<GatewaySubscription[]>`
    select * from gateway.subscriptions
    where name = ${name} and gateway_subscription_id is not null
    order by id desc limit ${limit}`;
}

/** A missing member: any value. */
export interface SubscriptionConditions {
  /** One of these. */
  status?: readonly string[];
  name?: string;
  payment_type?: string;
  customer_email?: string;
  customer_phone?: string;
}

export interface SubscriptionFilter extends SubscriptionConditions, ListBounds {
  owner: OwnerFilter;
  limit: number;
}

/** Newest first. `list_walk.ts` explains how a filtered list is read. */
export async function listSubscriptions(
  sql: Sql,
  filter: SubscriptionFilter,
): Promise<WalkedPage<GatewaySubscription>> {
  const { owner, name = null, payment_type = null, limit } = filter;
  const { customer_email = null, customer_phone = null } = filter;
  const status = filter.status ? sql.array([...filter.status]) : null;
  return await readWalk(sql, chooseWalk(sql, filter), {
    table: "subscriptions",
    columns: columnNames(SUBSCRIPTION_COLUMNS),
    conditions: sql`
      (${owner}::text is null or record.user_id = ${owner})
      and (${status}::text[] is null or record.status = any(${status}))
      and (${name}::text is null or record.name = ${name})
      and (${payment_type}::text is null or record.payment_type = ${payment_type})
      and (${customer_email}::text is null
        or gateway.email_key(record.customer_email) = gateway.email_key(${customer_email}))
      and (${customer_phone}::text is null
        or gateway.phone_key(record.customer_phone) = gateway.phone_key(${customer_phone}))`,
    limit,
  });
}

function chooseWalk(sql: Sql, filter: SubscriptionFilter): Walk {
  const { owner, status, name, payment_type } = filter;
  const range = (prefix: IndexRange["prefix"]) => idRange("subscriptions", prefix, filter);
  if (name !== undefined) return rangeWalk(sql, range([["name", sql`${name}::text`]]), true);
  const customer = (["customer_email", "customer_phone"] as const).find((each) => filter[each]);
  if (customer) return rangeWalk(sql, customerRange(sql, "subscriptions", filter, customer), true);
  const ownersPrefix = ownerPrefix(sql, owner);
  if (status) {
    const byStatus = range([...ownersPrefix, ["status", sql`state.status`]]);
    return mergedWalk(sql, statesCte(sql, status), byStatus, payment_type !== undefined);
  }
  if (payment_type === undefined) return rangeWalk(sql, range(ownersPrefix), false);
  const byType = range([...ownersPrefix, ["payment_type", sql`${payment_type}::text`]]);
  return rangeWalk(sql, byType, false);
}

/** Subscriptions that can still change, the longest unchecked first. */
export async function listSubscriptionsToCheck(
  sql: Sql,
  { stoppedSince, limit }: { stoppedSince: Date; limit: number },
): Promise<Pick<GatewaySubscription, "id" | "user_id">[]> {
  return await sql<GatewaySubscription[]>`
    select id, user_id from gateway.subscriptions
    where check_at is not null and gateway_subscription_id is not null
      and (ended_at is null or ended_at > ${stoppedSince} or intent is not null)
    order by checked_at nulls first, id limit ${limit}`;
}

/** Returns the transactions without a `subscription_charged` event, in the given order. */
export async function listUnrecordedCharges(sql: Sql, transactionIds: string[]): Promise<string[]> {
  const recorded = await sql<{ transaction_id: string }[]>`
    select transaction_id from gateway.subscription_charges
    where transaction_id = any(${sql.array(transactionIds)}::text[])`;
  const known = new Set(recorded.map(({ transaction_id }) => transaction_id));
  return transactionIds.filter((id) => !known.has(id));
}

/** Records that the subscription is checked now, without incrementing its version. */
export async function recordCheck(sql: Sql, id: string, now: Date): Promise<void> {
  await sql`update gateway.subscriptions set checked_at = ${now} where id = ${id}`;
}

/**
 * Claims the check of a subscription, unless it was checked after `since`. Of several concurrent
 * calls, one gets the claim. `checked_at` is the time of the last check before this call.
 */
export async function claimCheck(
  sql: Sql,
  id: string,
  now: Date,
  since: Date,
): Promise<{ isClaimed: boolean; checked_at: Date | null }> {
  const [row] = await sql<[{ isClaimed: boolean; checked_at: Date | null }]>`
    with claimed as (
      update gateway.subscriptions set checked_at = ${now}
      where id = ${id} and (checked_at is null or checked_at <= ${since} or checked_at > ${now})
      returning id
    )
    select exists (select from claimed) as "isClaimed", checked_at
    from gateway.subscriptions where id = ${id}`;
  return row;
}
