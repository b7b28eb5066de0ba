/** The files of the payment page, which are served next to the pages: `pay.css`, … */

import { accentOf, accentRules } from "./accent.ts";
import type { PageModel } from "./model.ts";

/**
 * `pay.css` with the merchant's colour. The colour is a setting of the service, so one stylesheet
 * fits all pages; a strict content security policy allows no styles in the page itself.
 */
export async function readStylesheet(color: string | null): Promise<string> {
  const { default: text } = await import("./pay.css", { with: { type: "text" } });
  return text + accentRules(color);
}

/** `pay.js`. */
export async function readScript(): Promise<string> {
  return (await import("./pay.js", { with: { type: "text" } })).default;
}

/** `icon.svg`, for merchants without a logo: the first letter of the name in their colour. */
export function drawIcon({ name, color }: PageModel["merchant"]): string {
  const { fill, onFill } = accentOf(color);
  return String(
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">
      <rect width="64" height="64" rx="18" fill={fill} />
      <text
        x="32"
        y="45"
        fill={onFill}
        font-family="system-ui, sans-serif"
        font-size="36"
        font-weight="700"
        text-anchor="middle"
      >
        {firstLetter(name)}
      </text>
    </svg>,
  );
}

export function firstLetter(name: string): string {
  return name.match(/[\p{L}\p{N}]/u)?.[0].toUpperCase() ?? "";
}
