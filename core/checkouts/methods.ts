/** The payment methods that a checkout can offer. */

export const METHOD_IDS = [
  "qris",
  "gopay",
  "shopeepay",
  "ovo",
  "bca_va",
  "bni_va",
  "bri_va",
  "cimb_va",
  "permata_va",
  "echannel",
  "indomaret",
  "alfamart",
  "akulaku",
  "kredivo",
] as const;

export type MethodId = typeof METHOD_IDS[number];
