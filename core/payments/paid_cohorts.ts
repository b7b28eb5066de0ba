/** Which payments can be refunded, and when paid payments are checked again, by type. No I/O. */

import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { Cohort } from "../../db/payments/paid_checks.ts";
import type { RecheckConfig } from "../config/config.ts";
import { bankName } from "./payment_types.ts";

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 24 * 3_600;

/** Methods whose bank or store can reverse a settled payment within minutes. */
const REVERSIBLE = [
  { payment_type: "bank_transfer", bank: "permata" },
  // Payments that were created outside of the service can have this type.
  { payment_type: "permata" },
  { payment_type: "echannel" },
  { payment_type: "cstore", store: "indomaret" },
];

/**
 * The days after which a payment can no longer be refunded; see "Refunds" in docs/gateway.md. Some
 * types have two windows, and the service cannot always tell which one applies.
 */
const REFUND_WINDOWS: Record<string, readonly number[]> = {
  gopay: [45, 180],
  qris: [45, 365],
  shopeepay: [365],
  dana: [45],
  ovo: [7],
  akulaku: [180],
  kredivo: [14],
  credit_card: [180],
};

/** Whether the gateway can refund payments of this type. */
export function isRefundableType(paymentType: string): boolean {
  return Object.hasOwn(REFUND_WINDOWS, paymentType);
}

/**
 * Why the gateway cannot refund a payment, and what to do instead; null: it can, or the payment has
 * a type that the service does not know.
 */
export function noRefundReason(
  { payment_type, bank, store }: Pick<GatewayPayment, "payment_type" | "bank" | "store">,
): string | null {
  switch (payment_type) {
    case "bank_transfer":
      return bank === null
        ? "Virtual accounts have no refunds; return the money by bank transfer."
        : `${bankName(bank)} virtual accounts have no refunds; return the money by bank transfer.`;
    case "permata":
      return "Permata virtual accounts have no refunds; return the money by bank transfer.";
    case "echannel":
      return "Mandiri bills have no refunds; return the money by bank transfer.";
    case "cstore":
      return `Payments at ${
        STORES[store ?? ""] ?? "a store"
      } have no refunds; return the money by bank transfer.`;
    default:
      return null;
  }
}

const STORES: Record<string, string> = { indomaret: "Indomaret", alfamart: "Alfamart" };

const WEEK_DAYS = 7;

export function paidCohorts({ minutes, days, cardDays }: RecheckConfig): Cohort[] {
  const reversals = REVERSIBLE.map((method) => ({
    bank: null,
    store: null,
    ...method,
    after_seconds: minutes * MINUTE_SECONDS,
    is_urgent: true,
  }));
  const refunds = Object.entries(REFUND_WINDOWS).flatMap(([payment_type, windows]) => {
    const checkedDays = new Set([
      ...days,
      // A day later, so that the check finds a refund of the last day.
      ...windows.map((end) => end + 1),
      ...payment_type === "credit_card" ? weeklyUntil(cardDays) : [],
    ]);
    return [...checkedDays].sort((a, b) => a - b).map((day) => ({
      payment_type,
      after_seconds: day * DAY_SECONDS,
      bank: null,
      store: null,
      is_urgent: false,
    }));
  });
  return [...reversals, ...refunds];
}

/** Every seventh day, and the last day. */
function weeklyUntil(lastDay: number): number[] {
  if (lastDay === 0) return [];
  const weeks = Math.floor(lastDay / WEEK_DAYS);
  return [...Array.from({ length: weeks }, (_, index) => (index + 1) * WEEK_DAYS), lastDay];
}
