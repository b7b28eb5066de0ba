/** Verifies webhook signatures (Standard Webhooks), using only Web Crypto. */

import type { Event } from "#api/types";

/** The request headers, as `Headers` or as an object, as in Node and most frameworks. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

/** The raw body: re-serialized JSON will not match the signature. */
export type WebhookBody = string | Uint8Array;

/** The signature is invalid or missing, or the timestamp is more than 5 minutes off. */
export class WebhookError extends Error {
  override readonly name: string = "WebhookError";
}

/** Allowed clock difference, which also limits replay attacks. */
const TOLERANCE_SECONDS = 5 * 60;

/**
 * Returns the event of a webhook, or throws a `WebhookError` if its signature or its timestamp is
 * invalid.
 *
 * @param secret The endpoint's secret, `whsec_…`.
 */
export async function verifyWebhook(
  secret: string,
  headers: WebhookHeaders,
  rawBody: WebhookBody,
): Promise<Event> {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) =>
    readHeader(headers, `webhook-${name}`)
  );
  if (!id || !timestamp || !signatures) {
    throw new WebhookError(
      "The webhook is not signed: webhook-id, webhook-timestamp or webhook-signature is missing",
    );
  }
  const age = Date.now() / 1000 - Number(timestamp);
  // Written so that a timestamp that is not a number (NaN) is rejected as well.
  if (!(Math.abs(age) <= TOLERANCE_SECONDS)) {
    throw new WebhookError(
      "The webhook's timestamp differs by more than 5 minutes from this machine's clock",
    );
  }
  const body = textOf(rawBody);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  if (!await isSigned(secret, signatures, signed)) {
    throw new WebhookError("The webhook's signature is invalid");
  }
  return JSON.parse(body) as Event;
}

function textOf(rawBody: WebhookBody): string {
  if (typeof rawBody === "string") return rawBody;
  // Not a `WebhookError`, because the mistake is in the receiving program.
  if (!ArrayBuffer.isView(rawBody)) {
    throw new TypeError("The body must be the raw text or bytes, not parsed JSON");
  }
  return new TextDecoder().decode(rawBody);
}

/** True if one signature is valid. During a secret rotation there are two. */
async function isSigned(
  secret: string,
  signatures: string,
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const key = await importSecret(secret, "verify");
  for (const each of signatures.split(" ")) {
    const [version, encoded = ""] = each.split(",");
    const signature = version === "v1" && decodeBase64(encoded);
    // Compares in constant time.
    if (signature && await crypto.subtle.verify("HMAC", key, signature, signed)) return true;
  }
  return false;
}

export function importSecret(secret: string, use: "sign" | "verify"): Promise<CryptoKey> {
  const raw = decodeBase64(secret.replace(/^whsec_/, ""));
  if (!raw?.length) throw new WebhookError("The secret must be the endpoint's secret: whsec_…");
  return crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, [use]);
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  if (isHeaders(headers)) return headers.get(name) ?? undefined;
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return Array.isArray(entry) ? entry[0] : entry;
}

/** Not `instanceof`: headers of another realm or library have another `Headers` class. */
function isHeaders(headers: WebhookHeaders): headers is Headers {
  return typeof headers.get === "function";
}
