/** Webhook endpoints and deliveries as the API shows them, without secrets. */

import type { GatewayWebhookDelivery } from "../../db/webhooks/deliveries.ts";
import type { GatewayWebhookEndpoint } from "../../db/webhooks/endpoints.ts";
import type { EventName } from "../events/names.ts";

export type EndpointView = ReturnType<typeof viewEndpoint>;

export function viewEndpoint(endpoint: GatewayWebhookEndpoint) {
  return {
    id: endpoint.id,
    url: endpoint.url,
    event_names: endpoint.event_names as EventName[] | null,
    description: endpoint.description,
    enabled: endpoint.disabled_reason === null,
    disabled_reason: endpoint.disabled_reason,
    failing_since: endpoint.failing_since?.toISOString() ?? null,
    previous_secret_until: endpoint.previous_secret_until?.toISOString() ?? null,
    created_at: endpoint.created_at.toISOString(),
    updated_at: endpoint.updated_at.toISOString(),
  };
}

export type DeliveryView = ReturnType<typeof viewDelivery>;

export function viewDelivery(delivery: GatewayWebhookDelivery) {
  return {
    id: delivery.event_id,
    event_name: delivery.event_name as EventName,
    resource_id: delivery.resource_id,
    sequence: delivery.sequence,
    status: delivery.status,
    attempts: delivery.attempts,
    next_attempt_at: delivery.next_attempt_at?.toISOString() ?? null,
    last_attempt_at: delivery.last_attempt_at?.toISOString() ?? null,
    status_code: delivery.status_code,
    answer: delivery.answer,
    error: delivery.error,
    duration_ms: delivery.duration_ms,
    delivered_at: delivery.delivered_at?.toISOString() ?? null,
    created_at: delivery.created_at.toISOString(),
  };
}
