/** Deliveries of events to webhook endpoints: the model, and the statements that staff need. */

import { MAX, NIL } from "uuid";
import type { Sql } from "./database.ts";

export interface GatewayWebhookDelivery {
  /** By which, beside its endpoint, it is known. */
  event_id: string;
  endpoint_id: string;
  event_name: string;
  resource_id: string;
  sequence: number;
  status: DeliveryStatus;
  attempts: number;
  /** Null: it is over. */
  next_attempt_at: Date | null;
  /** Of the last attempt: what the endpoint answered, or why it did not, and how long that took. */
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
  /** Null: of whichever status. */
  status: DeliveryStatus | null;
  /** Only those of events before this one. */
  before: string | null;
  limit: number;
}

/** Newest first; each page is found by an index (see `listPayments`). */
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
      where (endpoint_id, status, event_id) < (${endpointId}::uuid, wanted_status, ${
    before ?? MAX
  }::uuid)
        and (endpoint_id, status, event_id) >= (${endpointId}::uuid, wanted_status, ${NIL}::uuid)
      order by endpoint_id desc, status desc, event_id desc limit ${limit}
    ) found
    order by found.event_id desc limit ${limit}`;
}

/**
 * To be sent at once, however it stood, with all attempts before it again; null: there is none. What
 * was over takes its place in the order of its resource again.
 */
export async function resendDelivery(
  sql: Sql,
  { endpointId, eventId, now }: { endpointId: string; eventId: string; now: Date },
): Promise<GatewayWebhookDelivery | null> {
  const [delivery] = await sql<[GatewayWebhookDelivery?]>`
    update gateway.webhook_deliveries
    set status = 'pending', attempts = 0, delivered_at = null,
      -- Never when it was: by that an attempt which is under way sees that it is to be sent anew.
      next_attempt_at = case when next_attempt_at = ${now}
        then ${now} - interval '1 millisecond' else ${now} end
    where event_id = ${eventId} and endpoint_id = ${endpointId}
    returning *`;
  return delivery ?? null;
}

export interface Hastening {
  endpointId: string;
  now: Date;
  /** What was tried since then keeps its time. */
  since: Date;
  limit: number;
}

/** Brings forward what waits to be tried again, some at a time; how many. */
export async function hastenDeliveries(
  sql: Sql,
  { endpointId, now, since, limit }: Hastening,
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

/** Of an endpoint that was deleted, some at a time; how many. */
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
