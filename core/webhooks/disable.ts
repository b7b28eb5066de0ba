/** Disables an endpoint that takes nothing any more, and tells of it. */

import type { Database } from "../../db/database.ts";
import { type DisabledReason, disableEndpoint, type GatewayWebhookEndpoint } from "../../db/webhook_endpoints.ts";
import type { Clock } from "../clock.ts";
import type { Events } from "../events/hub.ts";
import type { EventPublisher } from "../events/publisher.ts";
import { newId } from "../ids.ts";
import type { JobQueue } from "../jobs/queue.ts";
import { dispatchAfterCommit } from "../records/change.ts";
import { viewEndpoint } from "./views.ts";

export interface DisableDeps {
  database: Database;
  clock: Clock;
  jobQueue: JobQueue;
  publisher: EventPublisher;
  /** Who listens to what happens. */
  events: Events;
}

/** The endpoint as it is after that. */
export async function disable(
  deps: DisableDeps,
  endpoint: GatewayWebhookEndpoint,
  reason: DisabledReason,
): Promise<GatewayWebhookEndpoint> {
  const now = new Date(deps.clock());
  const disabled = { ...endpoint, disabled_reason: reason, updated_at: now };
  const event = {
    id: newId(now),
    name: "webhook_endpoint_disabled",
    resource: "webhook_endpoint" as const,
    resource_id: endpoint.id,
    sequence: endpoint.event_count + 1,
    user_id: null,
    data: { ...viewEndpoint(disabled), notification_id: null },
    created_at: now,
  };
  const jobs = deps.events.jobsFor([event], now);
  const written = await deps.database.query(
    (sql) => disableEndpoint(sql, disabled, { event, jobs }),
    "disable endpoint",
  );
  if (!written.isWritten) return endpoint;
  dispatchAfterCommit(deps, { events: [event] }, written);
  return disabled;
}
