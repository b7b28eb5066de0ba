/** Formats amounts and times, and names methods, banks and stores. */

import { formatWib } from "../../engine/time.ts";
import type { MethodName, Transaction } from "../../world/transaction.ts";

export function formatRupiah(amount: number): string {
  return `Rp ${String(amount).replaceAll(/\B(?=(\d{3})+$)/g, ".")}`;
}

export function formatTime(at: number): string {
  return `${formatWib(at)} WIB`;
}

export const METHOD_NAMES: Record<MethodName, string> = {
  credit_card: "Card",
  bank_transfer: "Bank transfer",
  permata: "Bank transfer",
  echannel: "Mandiri bill",
  gopay: "GoPay",
  shopeepay: "ShopeePay",
  ovo: "OVO",
  dana: "DANA",
  qris: "QRIS",
  cstore: "Store",
  akulaku: "Akulaku",
  kredivo: "Kredivo",
};

const DISPLAY_NAMES: Record<string, string> = {
  bca: "BCA",
  bni: "BNI",
  bri: "BRI",
  cimb: "CIMB Niaga",
  permata: "Permata",
  mandiri: "Mandiri",
  indomaret: "Indomaret",
  alfamart: "Alfamart",
};

/** The name of a bank or store as it is written in public. */
export function displayName(name: unknown): string {
  return DISPLAY_NAMES[String(name)] ?? String(name);
}

/** The bank, store, wallet or card of a transaction. */
export function methodDetail({ method, details }: Transaction): string {
  switch (method) {
    case "credit_card":
      return String(details.masked ?? "");
    case "bank_transfer":
    case "permata":
      return displayName(details.bank);
    case "cstore":
      return displayName(details.store);
    case "qris":
      return String(details.issuer ?? details.acquirer ?? "");
    default:
      return "";
  }
}
