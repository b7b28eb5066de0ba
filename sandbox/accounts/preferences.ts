/** The merchant's preferences: which payment methods the account has. */

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
  return {
    payment_channels: Object.entries(CHANNELS).map(([name, type]) => ({
      name,
      enabled: !settings.inactive_payment_types.includes(type),
    })),
  };
}
