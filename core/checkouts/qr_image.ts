/** Fetches the image of a QR code from the gateway, for methods that give no text to draw. */

import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { Service } from "../service.ts";

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 300_000;

export interface QrImage {
  type: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Null: there is none, it is not on a host of the gateway, or the gateway does not send it. */
export async function fetchQrImage(
  { gateway }: { gateway: Pick<Service["gateway"], "baseUrl"> },
  { qr_url }: Pick<GatewayPayment, "qr_url">,
): Promise<QrImage | null> {
  const url = qr_url === null ? null : URL.parse(qr_url);
  if (!url || !isOfGateway(url, gateway.baseUrl)) return null;
  try {
    const response = await fetch(url, {
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const type = response.headers.get("content-type") ?? "";
    const isImage = response.ok && /^image\/(png|svg\+xml|jpeg)\b/.test(type);
    const bytes = await readBytes(response, isImage ? MAX_BYTES : 0);
    return isImage && bytes ? { type, bytes } : null;
  } catch {
    // The gateway is down. The page offers the button to the wallet's app.
    return null;
  }
}

/** The hosts from which the gateway sends images of its newer QR codes, by the host of its API. */
const IMAGE_HOSTS: Record<string, string> = {
  "https://api.midtrans.com": "https://merchants-app.midtrans.com",
  "https://api.sandbox.midtrans.com": "https://merchants-app.sbx.midtrans.com",
};

export function isOfGateway({ origin }: URL, baseUrl: string): boolean {
  const own = new URL(baseUrl).origin;
  return origin === own || origin === IMAGE_HOSTS[own];
}

/** Null: the body is longer than the limit. */
async function readBytes(
  { body }: Response,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const bytes = new Uint8Array(limit);
  let length = 0;
  // Leaving the loop early cancels the body and closes the connection.
  for await (const chunk of body ?? []) {
    if (length + chunk.length > limit) return null;
    bytes.set(chunk, length);
    length += chunk.length;
  }
  return bytes.slice(0, length);
}
