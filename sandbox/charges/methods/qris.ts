/** QRIS: a QR code that every Indonesian wallet can scan, and the EMV string inside it. */

import { DAY, MINUTE } from "../../engine/time.ts";
import { object, oneOf } from "../../http/validate.ts";
import type { Details, Transaction } from "../../world/transaction.ts";
import { Common, defineMethod, pending } from "./method.ts";

export const qris = defineMethod({
  name: "qris",
  paymentType: "qris",
  schema: Common.extend({
    qris: object({ acquirer: oneOf(["gopay", "airpay shopee"]).nullish() }).nullish(),
  }),
  start: ({ qris }, world) =>
    pending("Qris transaction is created", {
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
    standard: 15 * MINUTE,
    max: acquirer === "gopay" ? 7 * DAY : 5 * DAY,
  }),
  refunds: { isDirect: true, isPartial: true, days: (details) => isOnUs(details) ? 45 : 7 },
});

/** Whether the code was scanned with the acquirer's own wallet. */
function isOnUs({ issuer, acquirer }: Details): boolean {
  return !issuer || issuer === acquirer;
}

function crossReference({ id }: Transaction): string {
  return id.replaceAll("-", "").slice(0, 25);
}

export function qrString({ id, orderId, amount }: Transaction): string {
  const merchant = field("00", "ID.CO.SANDBOX.WWW") + field("01", "936009140000000000") +
    field("02", id.replaceAll("-", "").slice(0, 15)) + field("03", "UMI");
  const text = field("00", "01") + field("01", "12") + field("26", merchant) +
    field("52", "5999") + field("53", "360") + field("54", String(amount)) + field("58", "ID") +
    field("59", "Sandbox Merchant") + field("60", "JAKARTA") + field("61", "10110") +
    field("62", field("01", printable(orderId).slice(0, 25)) + field("05", id.slice(0, 8))) +
    // The checksum covers its own tag and length.
    "6304";
  return text + checksum(text);
}

function field(tag: string, value: string): string {
  return tag + String(value.length).padStart(2, "0") + value;
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}

/** CRC-16/CCITT-FALSE, as EMV requires. */
function checksum(text: string): string {
  let crc = 0xffff;
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i) << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
    }
  }
  return (crc & 0xffff).toString(16).toUpperCase().padStart(4, "0");
}
