/**
 * Webhook deliveries: the model, and the statements that find due deliveries and record attempts.
 */

import { MAX, NIL } from "uuid";
import type { Batched } from "../records/batched.ts";
import type { Sql } from "../connection/database.ts";
import { firstColumnIs } from "../records/list_walk.ts";
import type { GatewayEvent } from "../events/events.ts";
import { Statement } from "../records/statement.ts";

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
 * Whether a row that was found by its key is pending. PostgreSQL does not recognize the condition
 * of the indexes of pending deliveries, so it can't choose to read all of those.
 */
const isPending = (row: string) => `coalesce(${row}.status, '') = 'pending'`;

/**
 * Stores the results of attempts. When a delivery ends, later ones of its resource that waited for
 * it become due. Those that were attempted already keep the time of their retry.
 */
export const attemptWrites: Batched<DeliveryAttempt, void> = {
  name: "record webhook attempts",
  conflictKeys: ({ event_id, endpoint_id }) => [`${event_id} ${endpoint_id}`],
  async run(sql, attempts) {
    const statement = new Statement({ isBatch: true });
    const text = `
      with attempted as materialized (
        select * from json_to_recordset(${statement.json(attempts)}) as attempted(
          event_id uuid, endpoint_id uuid, resource_id uuid, sequence integer, due_at timestamptz,
          status text, attempts integer, next_attempt_at timestamptz, status_code integer, answer text,
          error text, duration_ms integer, last_attempt_at timestamptz, delivered_at timestamptz)
      ), recorded as (
        update gateway.webhook_deliveries delivery
        set status = attempted.status, attempts = attempted.attempts,
          next_attempt_at = attempted.next_attempt_at, status_code = attempted.status_code,
          answer = attempted.answer, error = attempted.error,
          duration_ms = attempted.duration_ms, last_attempt_at = attempted.last_attempt_at,
          delivered_at = attempted.delivered_at
        from attempted
        -- Without the array, a plan made for a small table reads all rows.
        where delivery.event_id = any(array(select event_id from attempted))
          and delivery.event_id = attempted.event_id
          and delivery.endpoint_id = attempted.endpoint_id and ${isPending("delivery")}
          and date_trunc('milliseconds', delivery.next_attempt_at) = attempted.due_at
      ), later as materialized (
        select found.event_id, found.endpoint_id, attempted.last_attempt_at
        from attempted, lateral (
          select event_id, endpoint_id from gateway.webhook_deliveries
          where attempted.status <> 'pending' and endpoint_id = attempted.endpoint_id
            and resource_id = attempted.resource_id and sequence > attempted.sequence
            and status = 'pending' and attempts = 0
            and next_attempt_at > attempted.last_attempt_at
          order by endpoint_id, resource_id, sequence offset 0
        ) found
      )
      update gateway.webhook_deliveries waiting set next_attempt_at = later.last_attempt_at
      from later
      where waiting.event_id = any(array(select event_id from later))
        and waiting.event_id = later.event_id and waiting.endpoint_id = later.endpoint_id
        and ${isPending("waiting")}`;
    await statement.run(sql, text);
    return attempts.map(() => undefined);
  },
};
