/**
 * The statements that read what happened to records: transitions, refunds, notifications, events.
 */

import { MAX, NIL } from "uuid";
import { actorNameSql } from "../access/api_keys.ts";
import type { Sql } from "../connection/database.ts";
import type { GatewayEvent } from "../events/events.ts";
import type { GatewayNotification } from "../payments/notifications.ts";
import type { GatewayPayment, GatewayRefund } from "../payments/payments.ts";
import { type History, type OwnerFilter, RECOUNT } from "../records/records.ts";
import type { GatewayWebhookDelivery } from "../webhooks/deliveries.ts";

/** A payment that a timeline includes. */
export type TimelinePayment = Pick<
  GatewayPayment,
  "id" | "order_id" | "payment_type" | "bank" | "store" | "gross_amount"
>;

/** The newest payments of an invoice or a subscription. */
export async function listLinkedPayments(
  sql: Sql,
  link: "invoice_id" | "subscription_id" | "checkout_id",
  id: string,
  owner: OwnerFilter,
  limit: number,
): Promise<TimelinePayment[]> {
  // Materialized: otherwise PostgreSQL could choose an index for the order and read more rows.
  return await sql<TimelinePayment[]>`
    with found as materialized (
      select id, order_id, payment_type, bank, store, gross_amount, user_id
      from gateway.payments where ${sql(link)} = ${id}
    )
    select * from found where ${owner}::text is null or user_id = ${owner}
    order by id desc limit ${limit}`;
}

export interface TimelineTransition extends History {
  /** The name of the actor, if a caller caused the transition. */
  actor_name: string | null;
}

/** This function and those below return the newest rows, newest first. */
export async function listTransitions(
  sql: Sql,
  ids: readonly string[],
  limit: number,
): Promise<TimelineTransition[]> {
  return await sql<TimelineTransition[]>`
    with found as materialized (
      select entry.* from unnest(${sql.array([...ids])}::uuid[]) record_id
      join gateway.history entry on entry.resource_id = record_id
    )
    select found.*, ${actorNameSql(sql, "found.actor")} as actor_name
    from found where source <> ${RECOUNT} order by id desc limit ${limit}`;
}

export interface TimelineRefund extends GatewayRefund {
  created_by_name: string | null;
}

export async function listRefundsOf(
  sql: Sql,
  paymentIds: readonly string[],
  limit: number,
): Promise<TimelineRefund[]> {
  return await sql<TimelineRefund[]>`
    select refund.*, ${actorNameSql(sql, "refund.created_by")} as created_by_name
    from unnest(${sql.array([...paymentIds])}::uuid[]) wanted cross join lateral (
      select * from gateway.refunds where payment_id = wanted
      order by (created_at, id) desc limit ${limit}
    ) refund
    order by (refund.created_at, refund.id) desc limit ${limit}`;
}

/** `includeUnmatched`: also notifications of the same order that belong to no payment. */
export async function listNotificationsOf(
  sql: Sql,
  payments: readonly Pick<TimelinePayment, "id" | "order_id">[],
  includeUnmatched: boolean,
  limit: number,
): Promise<GatewayNotification[]> {
  // An order can have several payments: its notifications are read once.
  const orders = [...new Set(payments.map(({ order_id }) => order_id))];
  const ids = payments.map(({ id }) => id);
  return await sql<GatewayNotification[]>`
    select notification.* from unnest(${sql.array(orders)}::text[]) wanted cross join lateral (
      select * from gateway.notifications
      where (order_id, id) < (wanted, ${MAX}::uuid) and (order_id, id) >= (wanted, ${NIL}::uuid)
        and (payment_id = any(${sql.array(ids)}::uuid[])
          or (${includeUnmatched} and payment_id is null))
      order by order_id desc, id desc limit ${limit}
    ) notification
    order by notification.id desc limit ${limit}`;
}

export type TimelineDelivery =
  & Pick<
    GatewayWebhookDelivery,
    | "endpoint_id"
    | "status"
    | "attempts"
    | "status_code"
    | "error"
  >
  & {
    next_attempt_at: string | null;
    last_attempt_at: string | null;
    delivered_at: string | null;
    /** The address of the endpoint. */
    url: string;
  };

export interface TimelineEvent
  extends Pick<GatewayEvent, "id" | "name" | "resource_id" | "sequence" | "created_at"> {
  /** Times are text, because they arrive as JSON. */
  deliveries: TimelineDelivery[];
}

export async function listEventsOf(
  sql: Sql,
  ids: readonly string[],
  limit: number,
): Promise<TimelineEvent[]> {
  return await sql<TimelineEvent[]>`
    select event.id, event.name, event.resource_id, event.sequence, event.created_at,
      coalesce((
        select json_agg(delivery order by delivery.endpoint_id) from (
          select delivery.*, endpoint.url from gateway.webhook_deliveries delivery
          join gateway.webhook_endpoints endpoint on endpoint.id = delivery.endpoint_id
          where delivery.event_id = event.id
        ) delivery
      ), '[]') as deliveries
    from unnest(${sql.array([...ids])}::uuid[]) record_id cross join lateral (
      select * from gateway.events where resource_id = record_id
      order by resource_id desc, sequence desc limit ${limit}
    ) event
    order by event.created_at desc, event.id desc limit ${limit}`;
}
