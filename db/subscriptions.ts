/** Subscriptions: the model, and the statements that read and write them. */

import type { Sql } from "./database.ts";
import { inserting, writing } from "./record_writes.ts";
import { pageOf, type RecordFilter } from "./records.ts";

export interface GatewaySubscription {
  id: string;
  user_id: string;
  /** Null until the gateway has answered. */
  gateway_subscription_id: string | null;
  name: string;
  payment_type: string;
  amount: number;
  currency: string;
  interval: number;
  interval_unit: IntervalUnit;
  /** Null: without end. */
  max_interval: number | null;
  /** Cycles that were begun. */
  current_interval: number;
  start_time: Date | null;
  next_execution_at: Date | null;
  status: SubscriptionStatus;
  /** The action that the gateway was asked for and has not answered yet: it will be asked again. */
  intent: SubscriptionAction | null;
  /** When it was disabled or cancelled; null while it is not. */
  ended_at: Date | null;
  customer_first_name: string | null;
  customer_last_name: string | null;
  customer_email: string | null;
  customer_phone: string | null;
  metadata: Record<string, unknown> | null;
  /** When it was first sent to the gateway, or about to be. */
  sent_at: Date;
  /** When the gateway was last asked about it. */
  checked_at: Date | null;
  /** When to ask the gateway, should nobody have heard from it until then. */
  check_at: Date | null;
  event_count: number;
  version: number;
  created_at: Date;
  updated_at: Date;
}

/**
 * - `pending`: the gateway has not answered to its creation;
 * - `active`: its customer is charged time and again;
 * - `inactive`: the gateway ended it;
 * - `disabled`, `cancelled`: we did, for now or for good;
 * - `failed`: the gateway refused it.
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

type Column = keyof GatewaySubscription;

const CHANGING_COLUMNS = [
  "gateway_subscription_id",
  "name",
  "amount",
  "interval",
  "current_interval",
  "start_time",
  "next_execution_at",
  "status",
  "intent",
  "ended_at",
  "check_at",
  "event_count",
  "updated_at",
] as const satisfies readonly Column[];

const COLUMNS = [
  "id",
  "user_id",
  "payment_type",
  "currency",
  "interval_unit",
  "max_interval",
  "customer_first_name",
  "customer_last_name",
  "customer_email",
  "customer_phone",
  "metadata",
  "sent_at",
  "checked_at",
  "created_at",
  ...CHANGING_COLUMNS,
  "version",
] as const satisfies readonly Column[];

// Does not compile when one is missing.
const _isComplete: Column extends (typeof COLUMNS)[number] ? true : never = true;

/** The statements by which subscriptions are made, and changed. */
export const subscriptionInserts = inserting<GatewaySubscription>({
  resource: "subscription",
  table: "subscriptions",
  columns: COLUMNS,
  status: "status",
  source: "create",
  orderOf: () => null,
  items: null,
});

export const subscriptionWrites = writing<GatewaySubscription>(
  "subscriptions",
  CHANGING_COLUMNS,
);

export async function findSubscription(
  sql: Sql,
  id: string,
  owner: string | null = null,
): Promise<GatewaySubscription | null> {
  const [row] = await sql<[GatewaySubscription?]>`
    select * from gateway.subscriptions
    where id = ${id} and (${owner}::text is null or user_id = ${owner})`;
  return row ?? null;
}

/** The one that the gateway knows by this id. */
export async function findSubscriptionAtGateway(
  sql: Sql,
  gatewaySubscriptionId: string,
): Promise<GatewaySubscription | null> {
  const [row] = await sql<[GatewaySubscription?]>`
    select * from gateway.subscriptions
    where gateway_subscription_id = ${gatewaySubscriptionId}`;
  return row ?? null;
}

/** Several may have one name, of different callers even. */
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

export async function listSubscriptions(
  sql: Sql,
  options: RecordFilter,
): Promise<GatewaySubscription[]> {
  return await sql<GatewaySubscription[]>`
    select * from (${pageOf(sql, "subscriptions", options)}) subscription order by id desc`;
}

/** Those that there may be news of; first those that were looked at the longest ago. */
export async function listSubscriptionsToCheck(
  sql: Sql,
  { endedSince, limit }: { endedSince: Date; limit: number },
): Promise<Pick<GatewaySubscription, "id" | "user_id">[]> {
  return await sql<GatewaySubscription[]>`
    select id, user_id from gateway.subscriptions
    where check_at is not null and gateway_subscription_id is not null
      and (ended_at is null or ended_at > ${endedSince})
    order by checked_at nulls first, id limit ${limit}`;
}

/** Those of the gateway's transactions that nobody was told of yet, in the same order. */
export async function listUntold(sql: Sql, transactionIds: string[]): Promise<string[]> {
  const told = await sql<{ transaction_id: string }[]>`
    select transaction_id from gateway.subscription_charges
    where transaction_id = any(${sql.array(transactionIds)}::text[])`;
  const known = new Set(told.map(({ transaction_id }) => transaction_id));
  return transactionIds.filter((id) => !known.has(id));
}

/** Somebody looks at a subscription now; by itself no change of it, so its version stays. */
export async function noteLook(sql: Sql, id: string, now: Date): Promise<void> {
  await sql`update gateway.subscriptions set checked_at = ${now} where id = ${id}`;
}

/**
 * Takes the right to look at a subscription now, where nobody did for so long; else tells when it was
 * looked at last. Of many who try at once, one gets it.
 */
export async function claimLook(
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
