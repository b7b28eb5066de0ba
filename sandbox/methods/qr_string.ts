/** The text inside a QRIS code: EMV's merchant-presented format, check sum included. */

import type { Transaction } from "../transactions/transaction.ts";

export function qrString({ id, orderId, amount }: Transaction): string {
  const merchant = field("00", "ID.CO.SANDBOX.WWW") + field("01", "936009140000000000") +
    field("02", id.replaceAll("-", "").slice(0, 15)) + field("03", "UMI");
  const text = field("00", "01") + field("01", "12") + field("26", merchant) +
    field("52", "5999") + field("53", "360") + field("54", String(amount)) + field("58", "ID") +
    field("59", "Sandbox Merchant") + field("60", "JAKARTA") + field("61", "10110") +
    field("62", field("01", printable(orderId).slice(0, 25)) + field("05", id.slice(0, 8))) +
    // The check sum covers its own tag and length.
    "6304";
  return text + checkSum(text);
}

function field(tag: string, value: string): string {
  return tag + String(value.length).padStart(2, "0") + value;
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}

/** CRC-16/CCITT-FALSE, as EMV wants it. */
function checkSum(text: string): string {
  let crc = 0xffff;
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i) << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
    }
  }
  return (crc & 0xffff).toString(16).toUpperCase().padStart(4, "0");
}
