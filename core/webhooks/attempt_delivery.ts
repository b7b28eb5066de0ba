/** One attempt at a delivery. */

import { batched } from "../../db/batched.ts";
import type { Database } from "../../db/database.ts";
import { type Attempted, attemptWrites, type DueDelivery } from "../../db/webhook_deliveries.ts";
import type { GatewayWebhookEndpoint } from "../../db/webhook_endpoints.ts";
import { viewEvent } from "../events/views.ts";
import type { Posted } from "./post.ts";
import { nextAttempt } from "./retry_times.ts";
import { isTaken, send, type SendDeps } from "./send.ts";

export interface AttemptDeps extends SendDeps {
  database: Database;
}

export async function attemptDelivery(
  deps: AttemptDeps,
  endpoint: GatewayWebhookEndpoint,
  delivery: DueDelivery,
  signal: AbortSignal,
): Promise<Posted> {
  const posted = await send(deps, endpoint, viewEvent(delivery.event), signal);
  const attempt = attempted(endpoint, delivery, posted, new Date(deps.clock()));
  await batched(deps.database, attemptWrites, attempt);
  return posted;
}

function attempted(
  endpoint: GatewayWebhookEndpoint,
  { attempts, due_at, event, resource_id }: DueDelivery,
  posted: Posted,
  now: Date,
): Attempted {
  const isDelivered = isTaken(posted);
  const next = isDelivered ? null : nextAttempt(attempts + 1, now);
  return {
    ...posted,
    event_id: event.id,
    endpoint_id: endpoint.id,
    resource_id,
    due_at,
    status: isDelivered ? "delivered" : next ? "pending" : "failed",
    attempts: attempts + 1,
    next_attempt_at: next,
    last_attempt_at: now,
    delivered_at: isDelivered ? now : null,
  };
}
