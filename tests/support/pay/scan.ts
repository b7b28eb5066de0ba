/** Reads the QR code on a page like the camera of a phone: from its pixels. */

import { Buffer } from "node:buffer";
import { JSQR } from "../tools.ts";
import type { Page } from "./browser.ts";

/** Null: no code can be read. `page` is an empty page, in which the picture is decoded. */
export async function scanElement(element: Page, page: Page): Promise<string | null> {
  await element.scrollIntoViewIfNeeded();
  const picture: Buffer = await element.screenshot();
  const expression = `(${decode})("${picture.toString("base64")}")`;
  const { width, height, reds } = await page.evaluate(expression);
  const pixels = Array.from(Buffer.from(reds, "base64")).flatMap((red) => [red, red, red, 255]);
  const { default: read } = (await import(JSQR)).default;
  return read(new Uint8ClampedArray(pixels), width, height)?.data ?? null;
}

/** Only the red part of each pixel: codes are black and white. */
const decode = `async (base64) => {
  const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const { width, height } = bitmap;
  const canvas = new OffscreenCanvas(width, height).getContext("2d");
  canvas.drawImage(bitmap, 0, 0);
  const { data } = canvas.getImageData(0, 0, width, height);
  const reds = data.filter((_, index) => index % 4 === 0);
  return { width, height, reds: btoa(Array.from(reds, (red) => String.fromCharCode(red)).join("")) };
}`;
