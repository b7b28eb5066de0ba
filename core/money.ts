/**
 * Money: integers of whole rupiah in the service and in requests, decimal strings in the responses
 * of the API and of the gateway.
 */

/** The largest accepted amount: 13 digits, far below the limit of exact integers. */
export const MAX_AMOUNT = 9_999_999_999_999;

/** Whether this is an amount that can be paid: whole rupiah, more than none. */
export function isAmount(amount: number): boolean {
  return Number.isSafeInteger(amount) && amount > 0;
}

/** `10000` as `"10000.00"`. */
export function formatMoney(amount: number): string {
  return `${amount}.00`;
}

/** `"10000.00"` or `"10000"` as `10000`; null for other text, such as fractions of a rupiah. */
export function parseMoney(text: string | null): number | null {
  const [, whole] = text?.match(/^(\d{1,13})(?:\.0+)?$/) ?? [];
  return whole === undefined ? null : Number(whole);
}

/** For people: `"44000.00"` as `Rp 44.000`. */
export function rupiah(amount: string): string {
  const [, sign, whole, fraction] = amount.match(/^(-?)(\d+)(?:\.(\d+))?$/)!;
  const grouped = whole!.replaceAll(/\B(?=(\d{3})+$)/g, ".");
  const cents = fraction && /[1-9]/.test(fraction) ? `,${fraction}` : "";
  return `${sign ? "−" : ""}Rp ${grouped}${cents}`;
}
