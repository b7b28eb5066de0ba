/** The merchant's colour: the rules that put it into the stylesheet, readable in both themes. */

/** The colours of `pay.css` on which the accent is used for text and lines. */
export const GROUNDS = {
  light: ["#f4f5f7", "#ffffff"],
  dark: ["#101318", "#191d24"],
};

/** Used if the merchant has no colour. */
const DEFAULT_COLOR = "#0b5fd0";

/** The contrast that WCAG requires for text. */
const TEXT_CONTRAST = 4.5;

export interface Accent {
  /** The background of the main button: the merchant's colour as it is. */
  fill: string;
  /** Text on `fill`: black or white. */
  onFill: string;
  /** Links, lines and focus: the colour, as far from the background as text has to be. */
  light: string;
  dark: string;
}

export function accentOf(color: string | null): Accent {
  const fill = parseColor(color) ?? DEFAULT_COLOR;
  return {
    fill,
    onFill: contrastOf(fill, "#ffffff") >= contrastOf(fill, "#000000") ? "#ffffff" : "#000000",
    light: mixUntilReadable(fill, "#000000", GROUNDS.light),
    dark: mixUntilReadable(fill, "#ffffff", GROUNDS.dark),
  };
}

/** The rules that follow `pay.css`. */
export function accentRules(color: string | null): string {
  const { fill, onFill, light, dark } = accentOf(color);
  return `:root{--fill:${fill};--on-fill:${onFill};--accent:${light}}\n` +
    `@media (prefers-color-scheme:dark){:root{--accent:${dark}}}\n`;
}

/** `#abc` or `#aabbcc` as `#aabbcc`; null for other text, so that it cannot add rules. */
function parseColor(color: string | null): string | null {
  const text = color?.trim().toLowerCase() ?? "";
  if (/^#[0-9a-f]{6}$/.test(text)) return text;
  return /^#[0-9a-f]{3}$/.test(text) ? text.replaceAll(/[0-9a-f]/g, "$&$&") : null;
}

function mixUntilReadable(color: string, end: string, grounds: string[]): string {
  for (let share = 0; share < 1; share += 0.02) {
    const mixed = mix(color, end, share);
    if (grounds.every((ground) => contrastOf(mixed, ground) >= TEXT_CONTRAST)) return mixed;
  }
  return end;
}

function mix(color: string, end: string, share: number): string {
  const [from, to] = [channelsOf(color), channelsOf(end)];
  const mixed = from.map((value, index) => Math.round(value + (to[index]! - value) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** The contrast ratio of WCAG: 1 to 21. */
export function contrastOf(one: string, other: string): number {
  const [darker, lighter] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (lighter! + 0.05) / (darker! + 0.05);
}

function luminanceOf(color: string): number {
  const [red, green, blue] = channelsOf(color).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function channelsOf(color: string): number[] {
  return [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16));
}
