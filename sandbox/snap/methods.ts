/** The payment methods of a Snap page. */

import { isChannelEnabled } from "../accounts/preferences.ts";
import type { SnapRequest } from "../world/records.ts";
import type { World } from "../world/world.ts";

/** For each method that needs no card, its fields in the charge request. */
const CHARGES = {
  bca_va: { payment_type: "bank_transfer", bank_transfer: { bank: "bca" } },
  bni_va: { payment_type: "bank_transfer", bank_transfer: { bank: "bni" } },
  bri_va: { payment_type: "bank_transfer", bank_transfer: { bank: "bri" } },
  cimb_va: { payment_type: "bank_transfer", bank_transfer: { bank: "cimb" } },
  permata_va: { payment_type: "bank_transfer", bank_transfer: { bank: "permata" } },
  echannel: {
    payment_type: "echannel",
    echannel: { bill_info1: "Payment:", bill_info2: "Online purchase" },
  },
  gopay: { payment_type: "gopay" },
  shopeepay: { payment_type: "shopeepay" },
  dana: { payment_type: "dana" },
  other_qris: { payment_type: "qris" },
  indomaret: { payment_type: "cstore", cstore: { store: "indomaret" } },
  alfamart: { payment_type: "cstore", cstore: { store: "alfamart" } },
} as const;

export type OtherMethod = keyof typeof CHARGES;
export type SnapMethod = "credit_card" | "google_pay" | OtherMethod;

export const SNAP_METHODS = [
  "credit_card",
  "google_pay",
  ...Object.keys(CHARGES) as OtherMethod[],
] as const;

export function chargeFields(method: OtherMethod) {
  return CHARGES[method];
}

/** Methods that the merchant requested and the page of the sandbox cannot show. */
export function missingMethods({ enabled_payments }: SnapRequest): string[] {
  const known: readonly string[] = [...SNAP_METHODS, "qris"];
  return (enabled_payments ?? []).filter((name) => !known.includes(name));
}

/** The methods that the page shows, in the order in which it shows them. */
export function offeredMethods(
  world: Pick<World, "settings">,
  { enabled_payments, credit_card }: SnapRequest,
): SnapMethod[] {
  // The gateway accepts both names, and ignores names that it does not know.
  const wanted = enabled_payments?.map((name) => name === "qris" ? "other_qris" : name);
  const canUseGooglePay = credit_card?.secure === true && !credit_card.installment?.required;
  return SNAP_METHODS.filter((method) =>
    (!wanted || wanted.length === 0 || wanted.includes(method)) &&
    isChannelEnabled(world, method === "google_pay" ? "credit_card" : method) &&
    (method !== "google_pay" || canUseGooglePay)
  );
}
