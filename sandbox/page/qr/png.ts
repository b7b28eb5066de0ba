/** A picture in black and white as a PNG file, one bit a pixel. */

import { Buffer } from "node:buffer";
import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** Each row a list of pixels, true where it is dark; all rows are of one length. */
export function png(rows: boolean[][]): Uint8Array<ArrayBuffer> {
  const width = rows[0]!.length;
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, rows.length);
  // One bit, grey; what follows is the only compression, filter and order there are.
  header.set([1, 0, 0, 0, 0], 8);
  return Buffer.concat([
    Uint8Array.from(SIGNATURE),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(pack(rows, width))),
    chunk("IEND", new Uint8Array()),
  ]);
}

/** Eight pixels a byte, the leftmost on top; a zero before each row says it is not filtered. */
function pack(rows: boolean[][], width: number): Uint8Array {
  const stride = 1 + Math.ceil(width / 8);
  const bytes = new Uint8Array(stride * rows.length);
  for (const [y, row] of rows.entries()) {
    for (const [x, isDark] of row.entries()) {
      if (!isDark) bytes[y * stride + 1 + (x >> 3)]! |= 0x80 >> (x & 7);
    }
  }
  return bytes;
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const named = Buffer.concat([new TextEncoder().encode(type), data]);
  const framed = new Uint8Array(named.length + 8);
  const view = new DataView(framed.buffer);
  view.setUint32(0, data.length);
  framed.set(named, 4);
  view.setUint32(named.length + 4, crc32(named));
  return framed;
}
