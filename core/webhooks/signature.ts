/** Secrets of endpoints, and what is signed with them (Standard Webhooks). */

import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import type { GatewayWebhookEndpoint } from "../../db/webhook_endpoints.ts";
import type { SecretBox } from "../secret_box.ts";

const SECRET_BYTES = 32;

export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
}

export function sealSecret(secrets: SecretBox, secret: string, endpointId: string): string {
  return secrets.seal(secret, aboutEndpoint(endpointId));
}

/** Those that count now; null where the newest cannot be read. */
export function openSecrets(
  secrets: SecretBox,
  { id, secret, previous_secret, previous_secret_until }: GatewayWebhookEndpoint,
  now: Date,
): string[] | null {
  const current = secrets.open(secret, aboutEndpoint(id));
  if (current === null) return null;
  if (!previous_secret || !previous_secret_until || previous_secret_until <= now) return [current];
  const previous = secrets.open(previous_secret, aboutEndpoint(id));
  return previous === null ? [current] : [current, previous];
}

export interface SignedMessage {
  id: string;
  body: string;
}

/** Each secret has a signature of its own: a receiver takes the message by any of them. */
export function signatureHeaders(
  { id, body }: SignedMessage,
  secrets: string[],
  now: Date,
): Record<string, string> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
    "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(" "),
  };
}

function aboutEndpoint(id: string): string {
  return `webhook endpoint ${id}`;
}
