/** QRIS: one code that every Indonesian wallet can scan. */

import { qrString } from "./qr_string.ts";
import { object, oneOf } from "../http/validate.ts";
import type { Details, Transaction } from "../transactions/transaction.ts";
import { DAY, MINUTE } from "../world/time.ts";
import { Common, defineMethod, pending } from "./method.ts";

export const qris = defineMethod({
  name: "qris",
  paymentType: "qris",
  schema: Common.extend({
    qris: object({ acquirer: oneOf(["gopay", "airpay shopee"]).nullish() }).nullish(),
  }),
  start: ({ qris }, world) =>
    pending("QRIS transaction is created", {
      acquirer: qris?.acquirer ?? "gopay",
      reference: world.random.hex(32),
    }),
  fields(transaction, view, world) {
    const { id, details, settledAt } = transaction;
    const { acquirer, reference } = details;
    if (view === "operation") {
      const url = world.publicUrl();
      const get = (name: string, path: string) => ({ name, method: "GET", url: url + path });
      return {
        acquirer,
        qr_string: qrString(transaction),
        actions: [
          get("generate-qr-code", `/v2/qris/${id}/qr-code`),
          get("generate-qr-code-v2", `/v4/qris/${reference}/qr-code`),
        ],
      };
    }
    if (settledAt === null) return { acquirer };
    return {
      acquirer,
      issuer: details.issuer ?? (acquirer === "gopay" ? "gopay" : "airpay shopee"),
      transaction_type: isOnUs(details) ? "on-us" : "off-us",
      merchant_cross_reference_id: crossReference(transaction),
      ...acquirer !== "gopay" && { shopeepay_reference_number: reference, reference_id: id },
    };
  },
  expiry: ({ acquirer }) => ({
    usual: 15 * MINUTE,
    most: acquirer === "gopay" ? 7 * DAY : 5 * DAY,
  }),
  refunds: { isDirect: true, isPartial: true, days: (details) => isOnUs(details) ? 45 : 7 },
});

/** Scanned with the acquirer's own wallet. */
function isOnUs({ issuer, acquirer }: Details): boolean {
  return !issuer || issuer === acquirer;
}

function crossReference({ id }: Transaction): string {
  return id.replaceAll("-", "").slice(0, 25);
}
