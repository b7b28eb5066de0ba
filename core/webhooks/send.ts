/** Sends one event to one endpoint. */

import { Buffer } from "node:buffer";
import type { GatewayWebhookEndpoint } from "../../db/webhook_endpoints.ts";
import type { Clock } from "../clock.ts";
import type { SecretBox } from "../secret_box.ts";
import type { Posted, Poster } from "./post.ts";
import { openSecrets, signatureHeaders } from "./signature.ts";

export interface SendDeps {
  clock: Clock;
  secrets: SecretBox;
  poster: Poster;
}

/** What is sent is what is signed, byte by byte. */
export async function send(
  { clock, secrets, poster }: SendDeps,
  endpoint: GatewayWebhookEndpoint,
  event: { id: string },
  signal?: AbortSignal,
): Promise<Posted> {
  const now = new Date(clock());
  const known = openSecrets(secrets, endpoint, now);
  if (known === null) return UNREADABLE;
  const body = JSON.stringify(event);
  const headers = signatureHeaders({ id: event.id, body }, known, now);
  return await poster.post({ url: endpoint.url, headers, body: Buffer.from(body) }, signal);
}

const UNREADABLE: Posted = {
  status_code: null,
  answer: null,
  error: "Its secret was stored with another server key; rotate it",
  duration_ms: 0,
};

export function isTaken({ status_code }: Posted): boolean {
  return status_code !== null && status_code >= 200 && status_code < 300;
}
