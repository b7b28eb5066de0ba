/** How the pages write amounts and times, and what they call methods, banks and stores. */

import type { MethodName, Transaction } from "../../world/transaction.ts";
import { wib } from "../../engine/time.ts";

export function rupiah(amount: number): string {
  return `Rp ${String(amount).replaceAll(/\B(?=(\d{3})+$)/g, ".")}`;
}

export function time(at: number): string {
  return `${wib(at)} WIB`;
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

const NAMES: Record<string, string> = {
  bca: "BCA",
  bni: "BNI",
  bri: "BRI",
  cimb: "CIMB Niaga",
  permata: "Permata",
  mandiri: "Mandiri",
  indomaret: "Indomaret",
  alfamart: "Alfamart",
};

/** A bank or a store by its own spelling. */
export function properName(name: unknown): string {
  return NAMES[String(name)] ?? String(name);
}

/** What of the method tells this transaction from others: its bank, its store, its card. */
export function methodDetail({ method, details }: Transaction): string {
  switch (method) {
    case "credit_card":
      return String(details.masked ?? "");
    case "bank_transfer":
    case "permata":
      return properName(details.bank);
    case "cstore":
      return properName(details.store);
    case "qris":
      return String(details.issuer ?? details.acquirer ?? "");
    default:
      return "";
  }
}
