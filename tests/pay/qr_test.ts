import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { inflateSync } from "node:zlib";
import { drawQrImage, encodeQr } from "../../pay/qr.tsx";
import { renderPage } from "../../pay/page.tsx";
import { instructionsScreen, pageModel, QR_STRING } from "../support/pay/pages.ts";
import { JSQR } from "../support/tools.ts";

/** Reads a code like a scanner; `isDark` says which modules are dark. */
async function scan(size: number, isDark: (x: number, y: number) => boolean) {
  const scale = 4;
  const width = size * scale;
  const pixels = new Uint8ClampedArray(width * width * 4).fill(255);
  for (let index = 0; index < width * width; index++) {
    const [x, y] = [index % width, Math.floor(index / width)];
    if (isDark(Math.floor(x / scale), Math.floor(y / scale))) {
      pixels.fill(0, index * 4, index * 4 + 3);
    }
  }
  const { default: read } = (await import(JSQR)).default;
  return read(pixels, width, width)?.data;
}

Deno.test("pay QR code: scanners read the drawing of the page", async () => {
  const html = renderPage(pageModel(instructionsScreen("qris")));
  const [, path] = html.match(/<path stroke="#000" d="([^"]*)"/)!;
  const size = Number(html.match(/class="qr" viewBox="0 0 (\d+)/)![1]);
  const dark = new Set<string>();
  let [x, y] = [0, 0];
  for (const [, move, first, second, run] of path!.matchAll(/([Mm])(\d+) (\d+)(?:\.5)?h(\d+)/g)) {
    [x, y] = move === "M" ? [Number(first), Number(second)] : [x + Number(first), y];
    const end = x + Number(run);
    for (; x < end; x++) dark.add(`${x} ${y}`);
  }
  assert.equal(await scan(size, (x, y) => dark.has(`${x} ${y}`)), QR_STRING);
});

Deno.test("pay QR code: scanners read the image to save", async () => {
  const image = Buffer.from(drawQrImage(QR_STRING)!);
  const width = image.readUInt32BE(16);
  const scale = width / encodeQr(QR_STRING)!.size;
  const rows = inflateSync(image.subarray(41, 41 + image.readUInt32BE(33)));
  const bytesOfRow = 1 + Math.ceil(width / 8);
  assert.equal(rows.length, width * bytesOfRow);
  const isDark = (x: number, y: number) => {
    const byte = rows[y * scale * bytesOfRow + 1 + Math.floor(x * scale / 8)]!;
    return (byte >> (7 - x * scale % 8) & 1) === 0;
  };
  assert.equal(await scan(width / scale, isDark), QR_STRING);
});

Deno.test("pay QR code: a text that is too long has no code", () => {
  assert.equal(encodeQr("x".repeat(5_000)), null);
  assert.equal(drawQrImage("x".repeat(5_000)), null);
});
