/** The merchant's preferences: payment methods, and what the account's Snap pages do. */

import { Refusal } from "../http/refusal.ts";
import { flag, list, object, oneOf, text, validate } from "../http/validate.ts";
import type { World } from "../world/world.ts";

/** The gateway's names of the methods on its payment page, with their payment types. */
const CHANNELS: Record<string, string> = {
  credit_card: "credit_card",
  bca_va: "bank_transfer",
  bni_va: "bank_transfer",
  bri_va: "bank_transfer",
  permata_va: "bank_transfer",
  cimb_va: "bank_transfer",
  echannel: "echannel",
  gopay: "gopay",
  shopeepay: "shopeepay",
  other_qris: "qris",
  indomaret: "cstore",
  alfamart: "cstore",
  akulaku: "akulaku",
  kredivo: "kredivo",
};

export function describePreferences({ settings }: Pick<World, "settings">) {
  const { disabled_channels: _disabled, ...preferences } = settings.preferences;
  return {
    ...preferences,
    payment_channels: Object.keys(CHANNELS).map((name) => ({
      name,
      enabled: isChannelEnabled({ settings }, name),
    })),
  };
}

/** Whether the account has this method, and the merchant did not switch it off. */
export function isChannelEnabled({ settings }: Pick<World, "settings">, name: string): boolean {
  return !settings.inactive_payment_types.includes(CHANNELS[name] ?? name) &&
    !settings.preferences.disabled_channels.includes(name);
}

const returnUrl = text(255).regex(/^https?:\/\//, "must be an http or https URL").nullable();

const Update = object({
  finish_payment_return_url: returnUrl,
  error_payment_return_url: returnUrl,
  locale: oneOf(["en", "id"]),
  allow_retry: flag(),
  hide_order_id: flag(),
  other_va_processor: text(40),
  payment_channels: list(object({ name: text(40), enabled: flag() }), 100),
}).partial();

export function updatePreferences(world: World, body: unknown) {
  const { payment_channels = [], ...changes } = validate(Update, body ?? {});
  const disabled = new Set(world.settings.preferences.disabled_channels);
  for (const { name, enabled } of payment_channels) {
    if (!Object.hasOwn(CHANNELS, name)) {
      throw new Refusal(400, `Payment type ${name} is invalid for this merchant`);
    }
    if (enabled) disabled.delete(name);
    else disabled.add(name);
  }
  world.settings.preferences = {
    ...world.settings.preferences,
    ...changes,
    disabled_channels: [...disabled],
  };
  world.saveState();
  return describePreferences(world);
}
