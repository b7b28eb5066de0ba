/** The QR codes behind a charge's links, as pictures that a phone can scan. */

import type { Context, Hono } from "hono";
import { encode } from "uqr";
import { Refusal } from "../../http/refusal.ts";
import { qrString } from "../../methods/qr_string.ts";
import type { MethodName, Transaction } from "../../transactions/transaction.ts";
import type { World } from "../../world/world.ts";
import { png } from "./png.ts";

/** Pixels to a module: large enough for a screen, small enough for a phone's. */
const SCALE = 8;
/** The white that scanners need around a code, in modules. */
const QUIET_ZONE = 4;

export function addQrImages(pages: Hono, world: World): void {
  pages.get("/v2/qris/:id/qr-code", (c) => image(c, byId(world, c.req.param("id"), "qris")));
  pages.get("/v2/gopay/:id/qr-code", (c) => image(c, byId(world, c.req.param("id"), "gopay")));
  pages.get(
    "/v4/qris/:reference/qr-code",
    (c) => image(c, byReference(world, c.req.param("reference"), "qris")),
  );
  pages.get(
    "/v4/qris/gopay/:reference/qr-code",
    (c) => image(c, byReference(world, c.req.param("reference"), "gopay")),
  );
}

/** Where the picture of a transaction is; null where it has none. */
export function qrPath({ id, method, details }: Transaction): string | null {
  const hasCode = method === "qris" || (method === "gopay" && details.kind === "one_time");
  return hasCode ? `/v2/${method}/${id}/qr-code` : null;
}

function byId(world: World, id: string, method: MethodName): Transaction | undefined {
  const transaction = world.transactions.get(id);
  return transaction?.method === method ? transaction : undefined;
}

function byReference(world: World, reference: string, method: MethodName) {
  for (const transaction of world.transactions.newest()) {
    const isIt = transaction.details.reference === reference;
    if (isIt && transaction.method === method) return transaction;
  }
  return undefined;
}

function image(c: Context, transaction: Transaction | undefined) {
  if (!transaction || qrPath(transaction) === null) throw new Refusal(404);
  const { data } = encode(qrString(transaction), { ecc: "M", border: QUIET_ZONE });
  return c.body(png(enlarge(data)), 200, {
    "Content-Type": "image/png",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  });
}

function enlarge(modules: boolean[][]): boolean[][] {
  const repeat = <T>(list: T[]) => list.flatMap((each) => Array<T>(SCALE).fill(each));
  return repeat(modules.map(repeat));
}
