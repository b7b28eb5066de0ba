/** The stylesheet and the script of the payment page, which are served next to the pages. */

import { accentRules } from "./accent.ts";

/**
 * `pay.css` with the merchant's colour. The colour is a setting of the service, so one stylesheet
 * fits all pages; a strict content security policy allows no styles in the page itself.
 */
export async function readStylesheet(color: string | null): Promise<string> {
  const { default: text } = await import("./pay.css", { with: { type: "text" } });
  return text + accentRules(color);
}

export async function readScript(): Promise<string> {
  return (await import("./pay.js", { with: { type: "text" } })).default;
}
