/** The payment types, and the names by which callers look for them. */

import { nearestName } from "../fields/input.ts";

/** The types that can be charged. */
export const PAYMENT_TYPES = [
  "credit_card",
  "bank_transfer",
  "echannel",
  "gopay",
  "shopeepay",
  "ovo",
  "dana",
  "qris",
  "cstore",
  "akulaku",
  "kredivo",
] as const;

export type PaymentType = (typeof PAYMENT_TYPES)[number];

/** Types of the gateway that only payments created elsewhere have, such as those of invoices. */
export const OTHER_PAYMENT_TYPES = [
  "bca_klikpay",
  "bca_klikbca",
  "bri_epay",
  "cimb_clicks",
  "danamon_online",
  "google_pay",
  "mandiri_clickpay",
  "uob_ezpay",
] as const;

/** The types that a list can always be filtered by. */
export const LISTED_TYPES: readonly string[] = [...PAYMENT_TYPES, ...OTHER_PAYMENT_TYPES];

/** A bank as people write it: `bca` as `BCA`, `permata` as `Permata`. */
export function bankName(bank: string): string {
  return BANKS[bank] ?? bank.toUpperCase();
}

/** Banks whose name is not an abbreviation in capitals. */
const BANKS: Readonly<Record<string, string>> = {
  permata: "Permata",
  mandiri: "Mandiri",
  danamon: "Danamon",
  maybank: "Maybank",
  mega: "Mega",
  seabank: "SeaBank",
  saqu: "Saqu",
};

/** What callers send for a type: a brand, a bank, a store, or the name in another service. */
const COMMON_NAMES: Readonly<Record<PaymentType, readonly string[]>> = {
  credit_card: [
    "card",
    "cards",
    "cc",
    "credit",
    "debit",
    "debit_card",
    "visa",
    "mastercard",
    "jcb",
  ],
  bank_transfer: [
    ...["bank", "va", "virtual_account", "transfer", "bca", "bni", "bri", "cimb", "permata"],
    ...["bca_va", "bni_va", "bri_va", "cimb_va", "permata_va"],
  ],
  echannel: ["mandiri", "mandiri_va", "mandiri_bill", "bill", "bill_payment"],
  gopay: ["gojek", "go_pay"],
  shopeepay: ["shopee", "spay", "airpay"],
  ovo: [],
  dana: [],
  qris: ["qr", "qr_code"],
  cstore: ["indomaret", "alfamart", "store", "convenience_store", "minimarket"],
  akulaku: [],
  kredivo: [],
};

/** The error text for a payment type that is not one of `types`. */
export function describeUnknownType(sent: unknown, types: readonly string[]): string {
  const meant = typeof sent === "string" ? typeMeantBy(sent) : null;
  return meant !== null && types.includes(meant)
    ? `is not known; did you mean ${meant}?`
    : `must be one of ${types.join(", ")}`;
}

function typeMeantBy(name: string): string | null {
  const written = name.slice(0, 64).toLowerCase().replaceAll(/[ -]/g, "_");
  const named = PAYMENT_TYPES.find((type) => COMMON_NAMES[type].includes(written));
  return named ?? nearestName(written, PAYMENT_TYPES);
}
