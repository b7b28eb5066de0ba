/** Amounts as Rp 44.000, times in Jakarta, and the names of methods and statuses. */

import type { CardView } from "../../core/payments/card.ts";
import { bankName } from "../../core/payments/payment_types.ts";
import type { Words } from "../words/words.ts";

export { rupiah } from "../../core/money.ts";
export { bankName } from "../../core/payments/payment_types.ts";

/** Amounts in rupiah have no cents. */
export function wholeRupiah(amount: string): bigint {
  return BigInt(amount.replace(/\.00$/, ""));
}

/** For axes: `Rp 12 M`, or `Rp 12 jt` in Indonesian. */
export function compactRupiah(amount: number, locale: string): string {
  const format = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
  return `Rp ${format.format(amount)}`;
}

const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** Western Indonesia Time, such as `16 Nov 2026, 21:03 WIB`; with seconds `21:03:05`. */
export function jakartaTime(
  iso: string,
  locale: string,
  timeStyle: "short" | "medium" = "short",
): string {
  const format = FORMATS.getOrInsertComputed(
    `${locale} ${timeStyle}`,
    () =>
      new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle, timeZone: "Asia/Jakarta" }),
  );
  return `${format.format(new Date(iso))} WIB`;
}

/** A day without a time, such as `31 Dec 2026` for `2026-12-31`. */
export function dayName(day: string, locale: string): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" });
  return format.format(new Date(`${day}T00:00Z`));
}

/** Such as `16 Nov 2026 14:03:05 UTC`. */
export function utcTime(iso: string): string {
  return new Date(iso).toUTCString().replace(/^\w+, /, "").replace("GMT", "UTC");
}

/**
 * `payment_type` and `bank` as people write them: `bank_transfer` of `bca` is
 * `BCA virtual account`.
 */
export function methodName(words: Words, type: string, bank: string | null = null): string {
  if (type === "bank_transfer") {
    return bank === null ? words.account : words.virtualAccountOf(bankName(bank));
  }
  return (words.methods as Record<string, string>)[type] ?? BRANDS[type] ??
    type.replaceAll("_", " ");
}

/** Methods and stores whose name is the same in all languages. */
export const BRANDS: Record<string, string> = {
  gopay: "GoPay",
  shopeepay: "ShopeePay",
  dana: "DANA",
  ovo: "OVO",
  qris: "QRIS",
  akulaku: "Akulaku",
  kredivo: "Kredivo",
  indomaret: "Indomaret",
  alfamart: "Alfamart",
};

/** The brand and the number of a card, such as `Visa 481111-1114`. */
export function cardName({ brand, masked_number }: CardView): string {
  const name = brand && (CARD_BRANDS[brand] ?? brand);
  return [name, masked_number].filter(Boolean).join(" ");
}

const CARD_BRANDS: Record<string, string> = {
  visa: "Visa",
  mastercard: "Mastercard",
  jcb: "JCB",
  amex: "American Express",
  unionpay: "UnionPay",
};

/** The bank that processes a card payment; null: another method, or the bank is not known. */
export function cardBankName(
  { payment_type, bank }: { payment_type: string; bank?: string | null },
): string | null {
  return payment_type === "credit_card" && bank ? bankName(bank) : null;
}

/** Whether the customer confirmed the card payment; null: the gateway has not said it. */
export function threeDSecureName({ paymentPage }: Words, card: CardView | null): string | null {
  const result = card?.three_d_secure ?? null;
  return result && ((paymentPage.threeDSecure as Record<string, string>)[result] ?? result);
}

/** A status of a payment; one that the service does not know stays as the gateway sent it. */
export function paymentStatusName({ statuses }: Words, status: string): string {
  return (statuses as Record<string, string>)[status] ?? status;
}

export function fraudStatusName({ paymentsPage }: Words, status: string): string {
  return (paymentsPage.fraudStatuses as Record<string, string>)[status] ?? status;
}
