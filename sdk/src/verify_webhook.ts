/** Tells the service's webhooks from anybody else's (Standard Webhooks, by Web Crypto alone). */

import type { Event } from "#api/types";

/** The headers as they came: those of `fetch`, of Node, or of a framework. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

/** The body as it came: parsing and writing it again breaks the signature. */
export type WebhookBody = string | Uint8Array;

/** The webhook is not the service's, or too old to be believed. */
export class WebhookError extends Error {
  override readonly name: string = "WebhookError";
}

/** How far the clocks may be apart, and how long somebody who listens in can send it again. */
const TOLERANCE_SECONDS = 5 * 60;

/**
 * The event that a webhook brings, once its signature holds.
 *
 * @param secret The endpoint's: `whsec_…`.
 */
export async function verifyWebhook(
  secret: string,
  headers: WebhookHeaders,
  rawBody: WebhookBody,
): Promise<Event> {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) =>
    readHeader(headers, `webhook-${name}`)
  );
  if (!id || !timestamp || !signatures) throw new WebhookError("The webhook is not signed");
  const age = Date.now() / 1000 - Number(timestamp);
  // So written, a time that is no number is refused, too.
  if (!(Math.abs(age) <= TOLERANCE_SECONDS)) {
    throw new WebhookError("The webhook is too old, or from the future");
  }
  const body = textOf(rawBody);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  if (!await isSigned(secret, signatures, signed)) {
    throw new WebhookError("The webhook's signature does not hold");
  }
  return JSON.parse(body) as Event;
}

function textOf(rawBody: WebhookBody): string {
  if (typeof rawBody === "string") return rawBody;
  // Who is at fault here is not the sender, so it is no `WebhookError`.
  if (!ArrayBuffer.isView(rawBody)) {
    throw new TypeError("The body has to be as it came, text or bytes, not what was parsed of it");
  }
  return new TextDecoder().decode(rawBody);
}

/** Whether one of the signatures holds; while a secret is replaced there are two. */
async function isSigned(
  secret: string,
  signatures: string,
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const raw = decodeBase64(secret.replace(/^whsec_/, ""));
  if (!raw?.length) throw new WebhookError("The secret has to be the endpoint's own: whsec_…");
  const key = await crypto.subtle.importKey(
    "raw",
    raw,
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["verify"],
  );
  for (const each of signatures.split(" ")) {
    const [version, encoded = ""] = each.split(",");
    const signature = version === "v1" && decodeBase64(encoded);
    // Compares in constant time.
    if (signature && await crypto.subtle.verify("HMAC", key, signature, signed)) return true;
  }
  return false;
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

/** By what they can do: those of another realm, or of a library, are not of this `Headers`. */
function isHeaders(headers: WebhookHeaders): headers is Headers {
  return typeof headers.get === "function";
}
