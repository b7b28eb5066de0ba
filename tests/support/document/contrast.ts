/** Measures the contrast of the texts on a page. */

import type { Json } from "../gateway/sandbox.ts";

/** The minimum of WCAG 1.4.3, level AA. */
const MIN_CONTRAST = 4.5;

/** The brightness of the page's background, from 0 to 1. */
export async function brightness(page: Json): Promise<number> {
  return (await page.evaluate(inspect)).brightness;
}

/** The visible texts with too little contrast, each with its contrast. */
export async function faintTexts(page: Json): Promise<string[]> {
  const { texts } = await page.evaluate(inspect);
  return texts.filter(({ contrast }: Json) => contrast < MIN_CONTRAST)
    .map(({ contrast, text }: Json) => `${contrast.toFixed(2)} ${text}`);
}

/** Runs in the page, so it cannot use anything outside itself. */
function inspect() {
  const { document, getComputedStyle, NodeFilter, innerHeight } = globalThis as Json;
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  /** Red, green, blue and opacity, each up to 255, for any CSS color. */
  function pixel(color: string): number[] {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  }

  function luminance(color: number[]): number {
    const [red, green, blue] = color.map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  }

  /** The nearest opaque background color. */
  function backgroundOf(element: Json): number[] {
    for (let each = element; each; each = each.parentElement) {
      const color = pixel(getComputedStyle(each).backgroundColor);
      if (color[3]! > 230) return color;
    }
    return pixel("white");
  }

  function isVisible(element: Json): boolean {
    const { width, top, bottom } = element.getBoundingClientRect();
    return width > 1 && bottom > 0 && top < innerHeight &&
      element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  }

  const texts: { text: string; contrast: number }[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement, textContent } = walker.currentNode;
    const text = textContent.trim();
    if (!text || !isVisible(parentElement)) continue;
    const colors = [pixel(getComputedStyle(parentElement).color), backgroundOf(parentElement)];
    const [dark, light] = colors.map(luminance).toSorted((a, b) => a - b);
    texts.push({ text, contrast: (light! + 0.05) / (dark! + 0.05) });
  }
  return { brightness: luminance(backgroundOf(document.body)), texts };
}
