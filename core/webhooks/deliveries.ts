/**
 * Deliveries of an endpoint or an event. Staff and viewers can list them; only staff can resend
 * them.
 */

import {
  type DeliveryStatus,
  listDeliveries,
  listDeliveriesOfEvent,
  resendDelivery,
} from "../../db/webhooks/deliveries.ts";
import { type Caller, requireReadAll } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { Service } from "../service.ts";
import { findForReader, findForStaff } from "./endpoints.ts";
import { type DeliveryView, viewDelivery } from "./views.ts";

export { DELIVERY_STATUSES } from "../../db/webhooks/deliveries.ts";

export interface DeliveryOptions {
  status: DeliveryStatus | null;
  limit: number;
  /** The last delivery of the previous page. */
  before: string | null;
}

export async function listWebhookDeliveries(
  service: Service,
  caller: Caller,
  endpointId: string,
  { limit, ...filter }: DeliveryOptions,
): Promise<{ deliveries: DeliveryView[]; next: string | null }> {
  await findForReader(service, caller, endpointId);
  const options = { ...filter, endpointId, limit: limit + 1 };
  const rows = await service.database.query(
    (sql) => listDeliveries(sql, options),
    "list deliveries",
  );
  const deliveries = rows.slice(0, limit).map(viewDelivery);
  return { deliveries, next: rows.length > limit ? deliveries.at(-1)!.id : null };
}

/** A delivery, and the endpoint that it goes to. */
export interface EventDelivery extends DeliveryView {
  endpoint: { id: string; url: string };
}

/** The deliveries of an event are listed for at most this many endpoints. */
const MAX_ENDPOINTS = 100;

export async function listEventDeliveries(
  { database }: Pick<Service, "database">,
  caller: Caller,
  eventId: string,
): Promise<EventDelivery[]> {
  requireReadAll(caller);
  const rows = await database.query(
    (sql) => listDeliveriesOfEvent(sql, eventId, MAX_ENDPOINTS),
    "list deliveries of event",
  );
  return rows.map((row) => ({
    ...viewDelivery(row),
    endpoint: { id: row.endpoint_id, url: row.url },
  }));
}

/** Sends the same message with the same id again, and resets its attempts. */
export async function resendWebhookDelivery(
  service: Service,
  caller: Caller,
  endpointId: string,
  eventId: string,
): Promise<DeliveryView> {
  const endpoint = await findForStaff(service, caller, endpointId);
  const options = { endpointId, eventId, now: new Date(service.clock()) };
  const delivery = await service.database.query((sql) => resendDelivery(sql, options), "resend");
  if (!delivery) throw new ServiceError("not_found");
  if (endpoint.disabled_reason === null) service.waker.wakeEndpoints([endpointId]);
  return viewDelivery(delivery);
}
