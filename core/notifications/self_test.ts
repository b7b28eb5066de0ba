/**
 * The self-test of the doctor (`core/doctor/`): a signed notification to `PUBLIC_URL`. It is stored
 * like every notification, with an order id that begins with `doctor:`. This service refuses a
 * colon in order ids, so none of its charges has such an id. It is about no payment, and lists and
 * figures leave it out.
 */

import { isSelfTestOrder, SELF_TEST_PREFIX } from "../../db/payments/notifications.ts";
import type { JsonObject } from "../gateway/json.ts";

export { isSelfTestOrder };

export function newSelfTestOrder(): string {
  return SELF_TEST_PREFIX + crypto.randomUUID();
}

/** The payload of a self-test says which headers were sent, and fills the body to its size. */
export interface SelfTestPayload extends JsonObject {
  sent_headers: Record<string, string>;
  filler: string;
}

/**
 * What is stored of a self-test: the headers that did not arrive as they were sent, and the length
 * of the filler instead of the filler.
 */
export function withoutFiller(
  { sent_headers, filler, ...payload }: JsonObject,
  headers: Headers,
): JsonObject {
  const sent = typeof sent_headers === "object" && sent_headers !== null ? sent_headers : {};
  const lost = Object.entries(sent).filter(([name, value]) => headers.get(name) !== value);
  return {
    ...payload,
    lost_headers: lost.map(([name]) => name),
    filler_length: typeof filler === "string" ? filler.length : 0,
  };
}
