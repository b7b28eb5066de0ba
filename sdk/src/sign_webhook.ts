/** Signs webhooks as the service does, for tests of your webhook handler. */

import type { Event } from "#api/types";
import { importSecret } from "./verify_webhook.ts";

export interface SignWebhookOptions {
  /** When the webhook is signed. Default: now. Use an old time to test that it is rejected. */
  signedAt?: Date;
}

/** A request body with the headers that `verifyWebhook` checks. */
export interface SignedWebhook {
  headers: Record<string, string>;
  body: string;
}

/**
 * Returns the request that the service would send for this event.
 *
 * @param secret The secret that your handler uses in the test, `whsec_…`.
 */
export async function signWebhook(
  secret: string,
  event: Event,
  { signedAt = new Date() }: SignWebhookOptions = {},
): Promise<SignedWebhook> {
  const body = JSON.stringify(event);
  const timestamp = Math.floor(signedAt.getTime() / 1000);
  const signed = new TextEncoder().encode(`${event.id}.${timestamp}.${body}`);
  const key = await importSecret(secret, "sign");
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
  return {
    headers: {
      "content-type": "application/json",
      "webhook-id": event.id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": `v1,${btoa(String.fromCharCode(...signature))}`,
    },
    body,
  };
}
