/** Fetches the image of a QR code from the gateway, for methods that give no text to draw. */

import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { Service } from "../service.ts";

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 300_000;

export interface QrImage {
  type: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Null: there is none, it is not on the gateway's own host, or the gateway does not send it. */
export async function fetchQrImage(
  { gateway }: Service,
  { qr_url }: GatewayPayment,
): Promise<QrImage | null> {
  const url = qr_url === null ? null : URL.parse(qr_url);
  if (!url || url.origin !== new URL(gateway.baseUrl).origin) return null;
  try {
    const response = await fetch(url, {
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const type = response.headers.get("content-type") ?? "";
    const isImage = response.ok && /^image\/(png|svg\+xml|jpeg)\b/.test(type);
    const bytes = new Uint8Array(await response.arrayBuffer());
    return isImage && bytes.length <= MAX_BYTES ? { type, bytes } : null;
  } catch {
    // The gateway is down. The page offers the button to the wallet's app.
    return null;
  }
}
