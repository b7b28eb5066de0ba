/** Records whether attempts to an endpoint succeed, and disables an endpoint that keeps failing. */

import { serializeByKey } from "../../concurrency/serialize_by_key.ts";
import {
  type DisabledReason,
  disableEndpoint,
  findEndpoint,
  type GatewayWebhookEndpoint,
  recordEndpointHealth,
} from "../../db/webhooks/endpoints.ts";
import { newId } from "../ids.ts";
import { dispatchAfterCommit } from "../records/change.ts";
import type { PostResult } from "../posting/post.ts";
import type { Service } from "../service.ts";
import { isAccepted } from "./send.ts";
import { viewEndpoint } from "./views.ts";

/** The result of an attempt, and the URL it was sent to. */
export type AttemptResult = PostResult & { url: string };

/** An endpoint is disabled if all attempts have failed for this long. */
const MAX_FAILING_MS = 24 * 60 * 60 * 1_000;

/** 410 Gone: the receiver asks for no more deliveries. */
const GONE = 410;

/** How long a cached endpoint is used. A change on this instance invalidates it at once. */
export const FRESH_MS = 1_000;

/** The endpoint of a running delivery job. */
export interface EndpointCache {
  /** At most `FRESH_MS` old; null: it was deleted. */
  read(): Promise<GatewayWebhookEndpoint | null>;
  invalidate(): void;
  recordResult(result: AttemptResult): Promise<void>;
}

/** `onRead` is called each time the endpoint was read from the database. */
export function createEndpointCache(
  service: Service,
  id: string,
  onRead: () => void,
): EndpointCache {
  let endpoint: GatewayWebhookEndpoint | null = null;
  let readAt = -Infinity;
  return {
    async read() {
      if (performance.now() - readAt > FRESH_MS) {
        readAt = performance.now();
        endpoint = await service.database.query((sql) => findEndpoint(sql, id), "find endpoint");
        onRead();
      }
      return endpoint;
    },
    invalidate: () => void (readAt = -Infinity),
    // One at a time: each result must be applied to the endpoint that the previous result changed.
    recordResult: (result) =>
      serializeByKey(id, async () => {
        const known = endpoint;
        const updated = known && await updateHealth(service, known, result);
        // The endpoint may have been read again meanwhile; that state is newer.
        if (endpoint === known) endpoint = updated;
      }),
  };
}

/** Returns the changed endpoint. Ignores the result of an attempt to an earlier URL. */
async function updateHealth(
  service: Service,
  endpoint: GatewayWebhookEndpoint,
  result: AttemptResult,
): Promise<GatewayWebhookEndpoint> {
  const { id, url, failing_since, disabled_reason } = endpoint;
  if (result.url !== url || disabled_reason !== null) return endpoint;
  const now = new Date(service.clock());
  const isFailing = !isAccepted(result);
  if (result.status_code === GONE) return await disable(service, endpoint, "gone");
  if (isFailing && failing_since && now.getTime() - failing_since.getTime() >= MAX_FAILING_MS) {
    return await disable(service, endpoint, "failing");
  }
  // The first failure sets `failing_since`, and one success clears it.
  if (isFailing === (failing_since !== null)) return endpoint;
  const health = { id, url, failing_since: isFailing ? now : null };
  await service.database.query(
    (sql) => recordEndpointHealth(sql, health),
    "store health of endpoint",
  );
  return { ...endpoint, ...health };
}

/** Disables the endpoint and publishes the event for it. */
async function disable(
  service: Service,
  endpoint: GatewayWebhookEndpoint,
  reason: DisabledReason,
): Promise<GatewayWebhookEndpoint> {
  const now = new Date(service.clock());
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
    subscribers: service.events.tasksFor("webhook_endpoint_disabled"),
  };
  const written = await service.database.query(
    (sql) => disableEndpoint(sql, disabled, event),
    "disable endpoint",
  );
  if (!written.isWritten) return endpoint;
  dispatchAfterCommit(service, { events: [event] }, written);
  return disabled;
}
