/** The request that creates a Snap page: its schema, and the times in it. */

import { checkItemTotal } from "../charges/charge.ts";
import { CARD_BANKS } from "../charges/methods/credit_card.ts";
import { Common } from "../charges/methods/method.ts";
import { addInterval, DAY, parseTime, SECOND } from "../engine/time.ts";
import { invalid } from "../http/refusal.ts";
import { flag, integer, list, object, oneOf, rupiah, text, validate } from "../http/validate.ts";
import type { SnapExpiry, SnapRequest } from "../world/records.ts";
import type { World } from "../world/world.ts";

const UNITS = ["second", "minute", "hour", "day"] as const;
const PLURALS = ["seconds", "minutes", "hours", "days"] as const;

const Expiry = object({
  start_time: text(30).refine((time) => parseTime(time) !== null, "format is invalid").nullish(),
  duration: integer(1, 1_000_000_000),
  unit: oneOf([...UNITS, ...PLURALS]).transform((unit) =>
    unit.replace(/s$/, "") as SnapExpiry["unit"]
  ),
});

const Request = Common.omit({ payment_type: true, custom_expiry: true }).extend({
  transaction_details: object({
    order_id: text(50).regex(/^[\w~.-]*$/, "may contain only letters, digits and the marks -_~."),
    gross_amount: rupiah(),
    currency: oneOf(["IDR"]).nullish(),
  }),
  enabled_payments: list(text(50), 100).nullish(),
  credit_card: object({
    secure: flag().nullish(),
    bank: oneOf(CARD_BANKS).nullish(),
    channel: text(20).nullish(),
    type: oneOf(["authorize", "authorize_capture"]).nullish(),
    whitelist_bins: list(text(20), 1000).nullish(),
    blacklist_bins: list(text(20), 1000).nullish(),
    installment: object({ required: flag().nullish() }).nullish(),
    save_card: flag().nullish(),
  }).nullish(),
  user_id: text(255).nullish(),
  callbacks: object({ finish: text(255).nullish(), error: text(255).nullish() }).nullish(),
  expiry: Expiry.nullish(),
  page_expiry: Expiry.nullish(),
});

const DEFAULT_LIFETIME = DAY;
const MAX_LIFETIME = 7 * DAY;

export interface ParsedRequest {
  orderId: string;
  amount: number;
  expiresAt: number;
  request: SnapRequest;
}

export function parseSnapRequest(
  { settings }: Pick<World, "settings">,
  body: unknown,
  now: number,
): ParsedRequest {
  const { transaction_details, ...request } = validate(Request, body ?? {});
  checkItemTotal({ ...request, transaction_details });
  const expiresAt = pageExpiry(request, now);
  const minLifetime = settings.snap_min_expiry_seconds * SECOND;
  const isTooShort = (expiry?: SnapExpiry | null) =>
    expiry && addInterval(0, expiry.duration, expiry.unit) < minLifetime;
  if (isTooShort(request.page_expiry)) throw invalid("page_expiry is below minimum threshold");
  // With a start time in the past, the time may be over.
  if (isTooShort(request.expiry) || expiresAt <= now) {
    throw invalid("expiry is below minimum threshold");
  }
  const { order_id: orderId, gross_amount: amount } = transaction_details;
  return { orderId, amount, expiresAt, request };
}

/** Without a start time, `expiry` applies only to the payment, so the page has its default. */
function pageExpiry({ page_expiry, expiry }: SnapRequest, now: number): number {
  if (page_expiry) return endOf(page_expiry, now);
  return expiry?.start_time ? endOf(expiry, now) : now + DEFAULT_LIFETIME;
}

/** When a payment that is confirmed now expires; null if the merchant did not request it. */
export function paymentExpiry(
  { request: { expiry }, createdAt }: { request: SnapRequest; createdAt: number },
  now: number,
): number | null {
  if (!expiry) return null;
  return endOf(expiry, expiry.start_time ? createdAt : now);
}

/** More than 7 days after `from` are cut to 7 days, as the gateway does. */
function endOf({ start_time, duration, unit }: SnapExpiry, from: number): number {
  const start = start_time ? parseTime(start_time)! : from;
  return Math.min(addInterval(start, duration, unit), from + MAX_LIFETIME);
}
