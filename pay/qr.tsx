/** QR codes: drawn in the page as SVG, and as an image to save. */

import { Buffer } from "node:buffer";
import { crc32, deflateSync } from "node:zlib";
import { encode, type QrCodeGenerateResult } from "uqr";

/** The white border that scanners need, in modules. */
const QUIET_ZONE = 4;

/** Pixels of a module in the image: wide enough to be scanned from a photo gallery. */
const SCALE = 10;

/** Scanners read any mask, and comparing all eight takes far longer than the rest of the page. */
const MASK = 2;

/** Null if the text is too long for a QR code. */
export function encodeQr(text: string): QrCodeGenerateResult | null {
  try {
    return encode(text, { ecc: "M", border: QUIET_ZONE, maskPattern: MASK });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return null;
  }
}

/** One path for all modules, a stroke for each run of dark ones: a third of the size of squares. */
export function QrCode({ qr, label }: { qr: QrCodeGenerateResult; label: string }) {
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${qr.size} ${qr.size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <path fill="#fff" d={`M0 0h${qr.size}v${qr.size}H0z`} />
      <path stroke="#000" d={qr.data.map(pathOfRow).join("")} />
    </svg>
  );
}

function pathOfRow(row: boolean[], y: number): string {
  const text = row.map((isDark) => (isDark ? "1" : "0")).join("");
  let end = 0;
  return Array.from(text.matchAll(/1+/g), ({ 0: run, index }, number) => {
    const move = number === 0 ? `M${index} ${y}.5` : `m${index - end} 0`;
    end = index + run.length;
    return `${move}h${run.length}`;
  }).join("");
}

/** A PNG image, because galleries and the scanners of banks do not read SVG. */
export function drawQrImage(text: string): Uint8Array<ArrayBuffer> | null {
  const qr = encodeQr(text);
  if (qr === null) return null;
  const width = qr.size * SCALE;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(width, 4);
  // One bit for each pixel: 0 is black, 1 is white.
  header[8] = 1;
  const rows = qr.data.flatMap((row) => Array<Buffer>(SCALE).fill(rowOfPixels(row)));
  return Uint8Array.from(Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.concat(rows))),
    chunk("IEND", Buffer.alloc(0)),
  ]));
}

/** Begins with the byte that says that the row is not filtered. */
function rowOfPixels(row: boolean[]): Buffer {
  const bits = row.map((isDark) => (isDark ? "0" : "1").repeat(SCALE)).join("");
  const bytes = bits.match(/.{1,8}/g)!.map((byte) => parseInt(byte.padEnd(8, "1"), 2));
  return Buffer.from([0, ...bytes]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
