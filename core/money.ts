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

/** Hundredths of a rupiah, which only fees have: `56050` as `"560.50"`. */
export function formatCents(cents: number | bigint): string {
  const digits = String(cents < 0 ? -cents : cents).padStart(3, "0");
  return `${cents < 0 ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** What is left of an amount in rupiah after fees in hundredths of a rupiah. */
export function minusFees(amount: number, feeCents: number): string {
  return formatCents(BigInt(amount) * 100n - BigInt(feeCents));
}

/** `"10000.00"` or `"10000"` as `10000`; null for other text, such as fractions of a rupiah. */
export function parseMoney(text: string | null): number | null {
  const [, whole] = text?.match(/^(\d{1,13})(?:\.0+)?$/) ?? [];
  return whole === undefined ? null : Number(whole);
}

/** With the currency before it, and `,00` or `,-` after it. */
const WRITTEN_AMOUNT =
  /^(?:(?:rp|idr)\.?\s*)?(\d{1,13}|\d{1,3}(?:\.\d{3}){1,4})(?:,(?:00|-{1,2}))?$/i;

/**
 * An amount as people in Indonesia write it: `275000`, `275.000` or `Rp 275.000,00` as `275000`;
 * null for other text. `275,000` is refused, because the comma begins a fraction.
 */
export function parseRupiah(text: string): number | null {
  const [, digits] = text.trim().match(WRITTEN_AMOUNT) ?? [];
  return digits === undefined ? null : Number(digits.replaceAll(".", ""));
}

/** For people: `"44000.00"` as `Rp 44.000`. */
export function rupiah(amount: string): string {
  const [, sign, whole, fraction] = amount.match(/^(-?)(\d+)(?:\.(\d+))?$/)!;
  const grouped = whole!.replaceAll(/\B(?=(\d{3})+$)/g, ".");
  const cents = fraction && /[1-9]/.test(fraction) ? `,${fraction}` : "";
  return `${sign ? "−" : ""}Rp ${grouped}${cents}`;
}
