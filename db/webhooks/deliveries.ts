/**
 * Webhook deliveries: the model, and the statements that find due deliveries and record attempts.
 */

import { MAX, NIL } from "uuid";
import type { Sql } from "../connection/database.ts";
import { firstColumnIs } from "../records/list_walk.ts";
import type { GatewayEvent } from "../events/events.ts";

export interface GatewayWebhookDelivery {
  /** Identifies the delivery, together with the endpoint. */
  event_id: string;
  endpoint_id: string;
  event_name: string;
  resource_id: string;
  sequence: number;
  status: DeliveryStatus;
  attempts: number;
  /** Null: it is delivered or has failed. */
  next_attempt_at: Date | null;
  /**
   * This and the next four describe the last attempt: the endpoint's response, or why there was
   * none.
   */
  status_code: number | null;
  answer: string | null;
  error: string | null;
  duration_ms: number | null;
  last_attempt_at: Date | null;
  delivered_at: Date | null;
  created_at: Date;
}

export const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export interface DeliveryFilter {
  endpointId: string;
  /** Null: any. */
  status: DeliveryStatus | null;
  /** Only deliveries of events before this one. */
  before: string | null;
  limit: number;
}

/** Newest first. `newestInRange` in `list_walk.ts` explains the form of the conditions. */
export async function listDeliveries(
  sql: Sql,
  { endpointId, status, before, limit }: DeliveryFilter,
): Promise<GatewayWebhookDelivery[]> {
  const statuses = status === null ? DELIVERY_STATUSES : [status];
  return await sql<GatewayWebhookDelivery[]>`
    select found.*
    from unnest(${sql.array([...statuses])}::text[]) wanted_status
    cross join lateral (
      select * from gateway.webhook_deliveries
      where ${firstColumnIs(sql, "endpoint_id", sql`${endpointId}::uuid`)}
        and (status, event_id) < (wanted_status, ${before ?? MAX}::uuid)
        and (status, event_id) >= (wanted_status, ${NIL}::uuid)
      order by endpoint_id desc, status desc, event_id desc limit ${limit}
    ) found
    order by found.event_id desc limit ${limit}`;
}

/** The deliveries of an event to endpoints that are not deleted; the newest endpoints first. */
export async function listDeliveriesOfEvent(
  sql: Sql,
  eventId: string,
  limit: number,
): Promise<(GatewayWebhookDelivery & { url: string })[]> {
  return await sql<(GatewayWebhookDelivery & { url: string })[]>`
    select delivery.*, endpoint.url
    from gateway.webhook_deliveries delivery
    join gateway.webhook_endpoints endpoint on endpoint.id = delivery.endpoint_id
    where delivery.event_id = ${eventId} and endpoint.deleted_at is null
    order by delivery.endpoint_id desc limit ${limit}`;
}

/**
 * Makes a delivery of any status pending and due now, and resets its attempt count; null: it does
 * not exist. Later events of the same resource wait for it again, and it waits again for earlier
 * ones.
 */
export async function resendDelivery(
  sql: Sql,
  { endpointId, eventId, now }: { endpointId: string; eventId: string; now: Date },
): Promise<GatewayWebhookDelivery | null> {
  const [delivery] = await sql<[GatewayWebhookDelivery?]>`
    update gateway.webhook_deliveries
    set status = 'pending', attempts = 0, delivered_at = null,
      -- Always another time than before: a running attempt notices the resend by this change.
      next_attempt_at = case when next_attempt_at = ${now}
        then ${now} - interval '1 millisecond' else ${now} end
    where event_id = ${eventId} and endpoint_id = ${endpointId}
    returning *`;
  return delivery ?? null;
}

export interface ResumeOptions {
  endpointId: string;
  now: Date;
  /** Deliveries that were attempted after this keep their time. */
  since: Date;
  limit: number;
}

/** Of the deliveries that wait for a retry, makes up to `limit` due now; returns how many. */
export async function resumeDeliveries(
  sql: Sql,
  { endpointId, now, since, limit }: ResumeOptions,
): Promise<number> {
  const { count } = await sql`
    update gateway.webhook_deliveries set next_attempt_at = ${now}
    where endpoint_id = ${endpointId} and status = 'pending' and event_id = any(array(
      select event_id from gateway.webhook_deliveries
      where endpoint_id = ${endpointId} and status = 'pending' and next_attempt_at > ${now}
        and last_attempt_at < ${since}
      order by next_attempt_at desc limit ${limit}))`;
  return count;
}

/** Deletes deliveries of a deleted endpoint, up to `limit`; returns how many. */
export async function deleteDeliveries(
  sql: Sql,
  { endpointId, limit }: { endpointId: string; limit: number },
): Promise<number> {
  const { count } = await sql`
    delete from gateway.webhook_deliveries
    where endpoint_id = ${endpointId} and event_id = any(array(
      select event_id from gateway.webhook_deliveries
      where endpoint_id = ${endpointId} order by endpoint_id, status, event_id limit ${limit}))`;
  return count;
}

export interface DueDelivery extends Pick<GatewayWebhookDelivery, "attempts" | "resource_id"> {
  /** If the stored time differs when the attempt ends, the delivery was resent meanwhile. */
  due_at: Date;
  event: GatewayEvent;
}

export interface DueDeliveries {
  deliveries: DueDelivery[];
  /** When to call again: now if there may be more, null if no delivery becomes due later. */
  next: Date | null;
}

export interface DueOptions {
  endpointId: string;
  now: Date;
  /** Resources with a delivery in progress. */
  except: string[];
  limit: number;
}

/**
 * A delivery waits for this many attempts of each earlier one of its resource. With the delays of
 * the attempts, that keeps the order if the receiver is down for half an hour. Without this limit,
 * a receiver that rejects one event would get the later ones only after days of retries.
 */
const ATTEMPTS_IN_ORDER = 4;

/**
 * Finds due deliveries: for each resource the pending one with the lowest sequence number, if it is
 * due. If that one waits for a retry, the later deliveries of the resource are postponed to its
 * time. A delivery that was attempted `ATTEMPTS_IN_ORDER` times delays no other.
 */
export async function findDueDeliveries(
  sql: Sql,
  { endpointId, now, except, limit }: DueOptions,
): Promise<DueDeliveries> {
  const rows = await sql<DueRow[]>`
    with due as materialized (
      select event_id, resource_id, sequence
      from gateway.webhook_deliveries
      where endpoint_id = ${endpointId} and status = 'pending' and next_attempt_at <= ${now}
        and resource_id <> all(${sql.array(except)}::uuid[])
      order by endpoint_id, next_attempt_at limit ${limit}
    ), ahead as materialized (
      select due.*, first.event_id as first_id, first.next_attempt_at as first_attempt_at,
        first.attempts as first_attempts, first.next_attempt_at <= ${now} as is_first_due
      from due cross join lateral (
        select event_id, next_attempt_at, attempts from gateway.webhook_deliveries
        where status = 'pending'
          -- One row value, so that only the index of pending deliveries by resource fits.
          and (endpoint_id, resource_id, sequence) >= (${endpointId}::uuid, due.resource_id, 0)
          and (endpoint_id, resource_id, sequence)
            <= (${endpointId}::uuid, due.resource_id, due.sequence)
          and (attempts < ${ATTEMPTS_IN_ORDER} or event_id = due.event_id)
        order by endpoint_id, resource_id, sequence limit 1
      ) first
    ), postponed as (
      update gateway.webhook_deliveries delivery
      set next_attempt_at = ahead.first_attempt_at
      from ahead
      where delivery.event_id = ahead.event_id and delivery.endpoint_id = ${endpointId}
        and not ahead.is_first_due
    ), chosen as (
      select distinct on (resource_id)
        first_id as event_id, first_attempts as attempts, first_attempt_at as due_at
      from ahead
      where is_first_due
      order by resource_id, sequence
    ), next as (
      select case when exists (select from due) then ${now} else (
        select next_attempt_at from gateway.webhook_deliveries
        where endpoint_id = ${endpointId} and status = 'pending' and next_attempt_at > ${now}
        order by endpoint_id, next_attempt_at limit 1
      ) end as next
    )
    select next.next, chosen.attempts, chosen.due_at, event.*
    from next left join chosen on true left join gateway.events event on event.id = chosen.event_id
    order by chosen.due_at, chosen.event_id`;
  const { next } = rows[0]!;
  const deliveries = rows.filter(({ id }) => id !== null)
    .map(({ attempts, due_at, next: _, ...event }) => ({
      attempts,
      due_at,
      resource_id: event.resource_id,
      event,
    }));
  return { deliveries, next };
}

interface DueRow extends GatewayEvent {
  attempts: number;
  due_at: Date;
  next: Date | null;
}

/** The result of an attempt. */
export interface DeliveryAttempt extends Omit<GatewayWebhookDelivery, "event_name" | "created_at"> {
  /**
   * As `findDueDeliveries` returned it. If the stored time differs by now, the result is not
   * stored.
   */
  due_at: Date;
}

/**
 * Stores the result of an attempt. When a delivery ends, later ones of its resource that waited for
 * it become due. Those that were attempted already keep the time of their retry.
 */
export async function storeAttempt(sql: Sql, attempt: DeliveryAttempt): Promise<void> {
  const { event_id, endpoint_id, last_attempt_at } = attempt;
  await sql`
    with stored as (
      update gateway.webhook_deliveries
      set status = ${attempt.status}, attempts = ${attempt.attempts},
        next_attempt_at = ${attempt.next_attempt_at}, status_code = ${attempt.status_code},
        answer = ${attempt.answer}, error = ${attempt.error},
        duration_ms = ${attempt.duration_ms}, last_attempt_at = ${last_attempt_at},
        delivered_at = ${attempt.delivered_at}
      where event_id = ${event_id} and endpoint_id = ${endpoint_id}
        -- With status = 'pending', a plan can read all pending deliveries of the endpoint.
        and status || '' = 'pending'
        and date_trunc('milliseconds', next_attempt_at) = ${attempt.due_at}
    )
    update gateway.webhook_deliveries set next_attempt_at = ${last_attempt_at}
    where ${attempt.status}::text <> 'pending' and endpoint_id = ${endpoint_id}
      and resource_id = ${attempt.resource_id} and sequence > ${attempt.sequence}
      and status = 'pending' and attempts = 0 and next_attempt_at > ${last_attempt_at}`;
}
