/** Amounts, times, numbers and addresses as the payment page shows them. */

import type { PageModel } from "./model.ts";

export type Language = PageModel["language"];

/** Whole rupiah, such as `Rp 275.000`; the price of a discount is negative. */
export function rupiah(amount: number): string {
  const grouped = String(Math.abs(amount)).replaceAll(/\B(?=(\d{3})+$)/g, ".");
  return `${amount < 0 ? "−" : ""}Rp ${grouped}`;
}

/** Round millions and billions in words, such as `Rp 20 juta`, because limits are compared. */
export function shortRupiah(amount: number, units: { million: string; billion: string }): string {
  if (amount >= 1e9 && amount % 1e9 === 0) return `Rp ${amount / 1e9} ${units.billion}`;
  if (amount >= 1e6 && amount % 1e6 === 0) return `Rp ${amount / 1e6} ${units.million}`;
  return rupiah(amount);
}

const LOCALES = { id: "id-ID", en: "en-GB" };

/** Western Indonesia Time, such as `18 Nov 2026, 21:03 WIB`. */
export function jakartaTime(at: Date, language: Language): string {
  const timeZone = "Asia/Jakarta";
  const day = at.toLocaleDateString(LOCALES[language], { dateStyle: "medium", timeZone });
  const time = at.toLocaleTimeString(LOCALES[language], { timeStyle: "short", timeZone });
  return `${day}, ${time} WIB`;
}

/** Up to this length, a number can be read at once. */
const UNGROUPED = 6;

/** `12345678901` as `1234`, `5678`, `901`: people compare and type numbers in groups of four. */
export function groupsOfFour(number: string): string[] {
  if (number.length <= UNGROUPED) return [number];
  return number.match(/.{1,4}/gu) ?? [];
}

/** The address of a web page; null for others, such as `javascript:`. */
export function webAddress(url: string | null): string | null {
  return url !== null && /^https?:$/.test(URL.parse(url)?.protocol ?? "") ? url : null;
}

/** These run code, or show content in the name of this page or of the browser. */
const UNSAFE = /^(javascript|data|vbscript|file|blob|filesystem|about|view-source):$/;

/** The address of a page or of an app, such as `gojek://…`; null if it is not safe to open. */
export function appAddress(url: string | null): string | null {
  const protocol = url === null ? undefined : URL.parse(url)?.protocol;
  return protocol === undefined || UNSAFE.test(protocol) ? null : url;
}
