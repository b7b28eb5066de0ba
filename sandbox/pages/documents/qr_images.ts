/** `/v2/qris/{id}/qr-code` and similar links of a charge: the QR code as a PNG image. */

import type { Context, Hono } from "hono";
import { Buffer } from "node:buffer";
import { crc32, deflateSync } from "node:zlib";
import { encode } from "uqr";
import { qrString } from "../../charges/methods/qris.ts";
import { first } from "../../engine/store.ts";
import { Refusal } from "../../http/refusal.ts";
import type { MethodName, Transaction } from "../../world/transaction.ts";
import type { World } from "../../world/world.ts";

/** Pixels per module. */
const SCALE = 8;
/** White border that scanners need, in modules. */
const QUIET_ZONE = 4;

export function addQrImages(pages: Hono, world: World): void {
  pages.get("/v2/qris/:id/qr-code", (c) => image(c, findById(world, c.req.param("id"), "qris")));
  pages.get("/v2/gopay/:id/qr-code", (c) => image(c, findById(world, c.req.param("id"), "gopay")));
  pages.get(
    "/v4/qris/:reference/qr-code",
    (c) => image(c, findByReference(world, c.req.param("reference"))),
  );
}

/** Path of a transaction's QR image; null if it has none. */
export function qrPath({ id, method, details }: Transaction): string | null {
  const hasCode = method === "qris" || (method === "gopay" && details.kind === "one_time");
  return hasCode ? `/v2/${method}/${id}/qr-code` : null;
}

function findById(world: World, id: string, method: MethodName): Transaction | undefined {
  const transaction = world.transactions.get(id);
  return transaction?.method === method ? transaction : undefined;
}

function findByReference(world: World, reference: string) {
  const transaction = first(world.transactions.find(`reference:${reference}`));
  return transaction?.method === "qris" ? transaction : undefined;
}

function image(c: Context, transaction: Transaction | undefined) {
  if (!transaction || qrPath(transaction) === null) throw new Refusal(404);
  const { data } = encode(qrString(transaction), { ecc: "M", border: QUIET_ZONE });
  return c.body(writePng(enlarge(data)), 200, {
    "Content-Type": "image/png",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  });
}

function enlarge(modules: boolean[][]): boolean[][] {
  const repeat = <T>(list: T[]) => list.flatMap((each) => Array<T>(SCALE).fill(each));
  return repeat(modules.map(repeat));
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/**
 * Writes a black-and-white PNG. Each row is a list of pixels (true is dark); all rows have the same
 * length.
 */
function writePng(rows: boolean[][]): Uint8Array<ArrayBuffer> {
  const width = rows[0]!.length;
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, rows.length);
  // Bit depth 1, greyscale, standard compression and filters, not interlaced.
  header.set([1, 0, 0, 0, 0], 8);
  return Buffer.concat([
    Uint8Array.from(SIGNATURE),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(pack(rows, width))),
    chunk("IEND", new Uint8Array()),
  ]);
}

/**
 * Packs eight pixels into a byte, leftmost in the highest bit; each row starts with filter type 0.
 */
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
