/** Money: whole rupiah as integers inside, decimal strings outside; never a fraction in between. */

/** The most that is taken: 13 digits, far below where integers stop being exact. */
export const MAX_AMOUNT = 9_999_999_999_999;

/** `10000` as `"10000.00"`. */
export function formatMoney(amount: number): string {
  return `${amount}.00`;
}

/** The whole rupiah of `"10000.00"`; null for anything that is not just that. */
export function parseMoney(text: string | null): number | null {
  const [, whole] = text?.match(/^(\d{1,13})(?:\.0+)?$/) ?? [];
  return whole === undefined ? null : Number(whole);
}
