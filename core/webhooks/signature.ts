/** The secrets of endpoints, and the signatures made with them (Standard Webhooks). */

import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import type { GatewayWebhookEndpoint } from "../../db/webhooks/endpoints.ts";
import type { SecretBox } from "../secrets/secret_box.ts";

const SECRET_BYTES = 32;

export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
}

export function sealSecret(secrets: SecretBox, secret: string, endpointId: string): string {
  return secrets.seal(secret, sealContext(endpointId));
}

/** Null: it cannot be decrypted. */
export function openSecret(
  secrets: SecretBox,
  { id, secret }: Pick<GatewayWebhookEndpoint, "id" | "secret">,
): string | null {
  return secrets.open(secret, sealContext(id));
}

/** The valid secrets, newest first; null if the newest cannot be decrypted. */
export function openSecrets(
  secrets: SecretBox,
  endpoint: GatewayWebhookEndpoint,
  now: Date,
): string[] | null {
  const { id, previous_secret, previous_secret_until } = endpoint;
  const current = openSecret(secrets, endpoint);
  if (current === null) return null;
  if (!previous_secret || !previous_secret_until || previous_secret_until <= now) return [current];
  const previous = secrets.open(previous_secret, sealContext(id));
  return previous === null ? [current] : [current, previous];
}

export interface SignedMessage {
  id: string;
  body: string;
}

/** One signature for each secret: a receiver accepts the message if any of them is valid. */
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

/** Binds a secret to its endpoint. Do not change the text: stored secrets would be unreadable. */
function sealContext(endpointId: string): string {
  return `webhook endpoint ${endpointId}`;
}
