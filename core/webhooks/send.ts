/** Sends one event to one endpoint, stores the result, and plans the next attempt. */

import { Buffer } from "node:buffer";
import {
  type DeliveryAttempt,
  type DueDelivery,
  storeAttempt,
} from "../../db/webhooks/deliveries.ts";
import type { GatewayWebhookEndpoint } from "../../db/webhooks/endpoints.ts";
import { viewEvent } from "../events/read.ts";
import type { Service } from "../service.ts";
import { countDelivery } from "../telemetry/telemetry.ts";
import type { PostResult } from "../posting/post.ts";
import { openSecrets, signatureHeaders } from "./signature.ts";

/** The body is serialized once: the receiver verifies the signature of exactly these bytes. */
export async function send(
  { clock, secrets, poster }: Pick<Service, "clock" | "secrets" | "poster">,
  endpoint: GatewayWebhookEndpoint,
  event: { id: string },
  signal?: AbortSignal,
): Promise<PostResult> {
  const now = new Date(clock());
  const opened = openSecrets(secrets, endpoint, now);
  if (opened === null) return UNREADABLE_SECRET;
  const body = JSON.stringify(event);
  const headers = signatureHeaders({ id: event.id, body }, opened, now);
  return await poster.post({ url: endpoint.url, headers, body: Buffer.from(body) }, signal);
}

const UNREADABLE_SECRET: PostResult = {
  status_code: null,
  answer: null,
  error: "The endpoint's secret cannot be decrypted, because the gateway server key has changed. " +
    "Rotate the secret.",
  duration_ms: 0,
};

/** Whether the receiver confirmed the webhook: any 2xx status. */
export function isAccepted({ status_code }: PostResult): boolean {
  return status_code !== null && status_code >= 200 && status_code < 300;
}

export async function attemptDelivery(
  service: Service,
  endpoint: GatewayWebhookEndpoint,
  delivery: DueDelivery,
  signal: AbortSignal,
): Promise<PostResult> {
  const result = await send(service, endpoint, viewEvent(delivery.event), signal);
  const attempt = newAttempt(endpoint, delivery, result, new Date(service.clock()));
  await service.database.query((sql) => storeAttempt(sql, attempt), "store webhook attempt");
  countDelivery(attempt.status === "pending" ? "retry" : attempt.status);
  return result;
}

function newAttempt(
  endpoint: GatewayWebhookEndpoint,
  { attempts, due_at, event, resource_id }: DueDelivery,
  result: PostResult,
  now: Date,
): DeliveryAttempt {
  const isDelivered = isAccepted(result);
  const next = isDelivered ? null : nextAttempt(attempts + 1, now);
  return {
    ...result,
    event_id: event.id,
    endpoint_id: endpoint.id,
    resource_id,
    sequence: event.sequence,
    due_at,
    status: isDelivered ? "delivered" : next ? "pending" : "failed",
    attempts: attempts + 1,
    next_attempt_at: next,
    last_attempt_at: now,
    delivered_at: isDelivered ? now : null,
  };
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The delay after each attempt: ten attempts in a little more than three days. */
const DELAYS_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** Deliveries that failed at the same time are not retried at the same time. */
const JITTER = 0.1;

/** Null: that was the last attempt. */
function nextAttempt(attempts: number, now: Date): Date | null {
  const delay = DELAYS_MS[attempts - 1];
  if (delay === undefined) return null;
  return new Date(now.getTime() + delay * (1 + JITTER * (2 * Math.random() - 1)));
}
