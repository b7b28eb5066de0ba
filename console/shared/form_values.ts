/** The values of a form that creates a record, as the user has entered them. */

import { parseRupiah } from "../../core/money.ts";
import type { Form } from "./base.tsx";

/** Without spaces around it; empty if the form has no such field. */
export function readText(form: Form, name: string): string {
  const value = form[name];
  // Browsers send line breaks of a text area as CRLF.
  return typeof value === "string" ? value.replaceAll("\r\n", "\n").trim() : "";
}

/** Whole numbers; other text stays text, which the schema refuses. */
export function parseNumber(text: string): number | string | undefined {
  if (text === "") return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

/** The longest amount that people write, such as `Rp 9.999.999.999.999,00`, and some spaces. */
export const AMOUNT_LENGTH = 30;

/** Amounts such as `75000` and `Rp 75.000`; other text stays text, which the schema refuses. */
export function parseAmount(text: string): number | string | undefined {
  return text === "" ? undefined : parseRupiah(text) ?? text;
}

/** Like `parseAmount`, also for discounts such as `-10.000` and `Rp -10.000`. */
export function parseSignedAmount(text: string): number | string | undefined {
  const [, currency = "", digits] = text.match(/^(rp\.?|idr)?\s*[-−](.+)$/i) ?? [];
  const amount = digits === undefined ? null : parseRupiah(`${currency}${digits}`);
  return amount === null ? parseAmount(text) : -amount;
}

/** Shorter numbers are incomplete, or short codes that receive no invoice. */
const MIN_PHONE_DIGITS = 8;

/** The schema refuses it, and the form shows what was entered. */
const NO_PHONE = "-";

/**
 * The digits of a phone number with the country code, as the gateway wants it: `0812-3456-789`,
 * `8123456789`, `+62 812 3456 789` and `+62 (0)812 3456 789` as `628123456789`.
 */
export function parsePhone(text: string): string {
  const digits = text.replaceAll(/[\s().-]/g, "");
  if (!/^\+?\d+$/.test(digits)) return NO_PHONE;
  const hasCountry = /^(\+|00)/.test(digits);
  const number = digits.replace(/^(\+|00)/, "").replace(/^(620|0)/, "62");
  const phone = hasCountry ? number : number.replace(/^8/, "628");
  return phone.length < MIN_PHONE_DIGITS ? NO_PHONE : phone;
}
