/** All payment methods, by `payment_type`. */

import type { MethodName } from "../../world/transaction.ts";
import { creditCard } from "./credit_card.ts";
import { gopay } from "./gopay.ts";
import type { Method } from "./method.ts";
import { bankTransfer, cstore, echannel, permata } from "./pay_by_number.ts";
import { qris } from "./qris.ts";
import { akulaku, dana, kredivo, ovo, shopeepay } from "./wallets_and_paylater.ts";

export const METHODS: Record<MethodName, Method> = {
  credit_card: creditCard,
  bank_transfer: bankTransfer,
  permata,
  echannel,
  gopay,
  shopeepay,
  ovo,
  dana,
  qris,
  cstore,
  akulaku,
  kredivo,
};

/** Methods that the gateway offers and the sandbox merchant has not activated. */
export const NOT_ACTIVATED = [
  "bca_klikpay",
  "bca_klikbca",
  "cimb_clicks",
  "bri_epay",
  "danamon_online",
  "uob_ezpay",
  "mandiri_clickpay",
];
