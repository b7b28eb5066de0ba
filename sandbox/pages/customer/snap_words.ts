/** The texts of Snap pages in English and Indonesian. */

import type { OtherMethod } from "../../snap/methods.ts";
import type { SnapState } from "../../snap/pages.ts";
import type { SnapLanguage } from "../../world/records.ts";
import type { Status } from "../../world/transaction.ts";

/** What is wrong with the customer's last entry. */
export const PROBLEMS = [
  "number",
  "expiry",
  "cvv",
  "not_accepted",
  "outdated",
  "order",
  "invalid",
] as const;

export type Problem = (typeof PROBLEMS)[number];

export interface SnapWords {
  merchant: string;
  payment: string;
  order: string;
  status: string;
  payBefore: string;
  items: string;
  total: string;
  card: string;
  number: string;
  expiry: string;
  cvv: string;
  save: string;
  savedCards: string;
  anotherCard: string;
  pay: (amount: string) => string;
  googlePay: string;
  or: string;
  others: string;
  continue: string;
  missing: (names: string) => string;
  testCards: string;
  testCardHint: string;
  outcomes: Record<"accepted" | "without_code" | "denied" | "funds" | "challenged", string>;
  problems: Record<Problem, string>;
  failures: Partial<Record<Status, string>>;
  ended: Record<Exclude<SnapState, "open">, [title: string, text: string]>;
  unknown: [title: string, text: string];
  goToBank: string;
  goToPayment: string;
  back: string;
  statuses: Partial<Record<Status, string>>;
}

const EN: SnapWords = {
  merchant: "Sandbox Merchant",
  payment: "Payment",
  order: "Order",
  status: "Status",
  payBefore: "Pay before",
  items: "Items",
  total: "Total",
  card: "Card",
  number: "Card number",
  expiry: "Expiry date (MM/YY)",
  cvv: "CVV",
  save: "Save this card for my next payment",
  savedCards: "Saved cards",
  anotherCard: "Use another card",
  pay: (amount) => `Pay ${amount}`,
  googlePay: "Pay with Google Pay",
  or: "or",
  others: "Other methods",
  continue: "Continue",
  missing: (names) => `Not available in this sandbox: ${names}`,
  testCards: "Test cards",
  testCardHint: "Click a card to fill in the form. Other numbers than test cards are accepted.",
  outcomes: {
    accepted: "accepted",
    without_code: "accepted without a code",
    denied: "declined by the bank",
    funds: "insufficient funds",
    challenged: "accepted, but challenged",
  },
  problems: {
    number: "Check the card number.",
    expiry: "Check the expiry date.",
    cvv: "Check the CVV: the three or four digits on the card.",
    not_accepted: "The merchant does not accept this card. Use another card.",
    outdated: "This card does not support the current version of 3-D Secure. Use another card.",
    order: "This order already has another payment. Go back to the merchant.",
    invalid: "The payment could not be started. Check your entries.",
  },
  failures: {
    deny: "The payment was declined. Try again, or use another card.",
    failure: "The bank did not respond. Try again, or use another card.",
    expire: "The card was not confirmed in time. Try again.",
  },
  ended: {
    in_progress: ["Payment in progress", "A payment of this order has begun. Wait for its result."],
    paid: ["Paid", "This order is paid. Thank you."],
    failed: ["Payment failed", "The payment was declined. Go back to the merchant."],
    expired: ["This page has expired", "The time to pay has run out. No payment was made."],
    cancelled: ["Payment cancelled", "The merchant cancelled this payment."],
    replaced: ["This link is no longer valid", "The merchant opened a new page for this order."],
  },
  unknown: ["Payment not found", "No payment page has this address."],
  goToBank: "Continue to the bank",
  goToPayment: "Show how to pay",
  back: "Back to the merchant",
  statuses: { pending: "waiting", authorize: "authorized", capture: "paid", settlement: "paid" },
};

const ID: SnapWords = {
  merchant: "Sandbox Merchant",
  payment: "Pembayaran",
  order: "Pesanan",
  status: "Status",
  payBefore: "Bayar sebelum",
  items: "Rincian",
  total: "Total",
  card: "Kartu",
  number: "Nomor kartu",
  expiry: "Masa berlaku (BB/TT)",
  cvv: "CVV",
  save: "Simpan kartu ini untuk pembayaran berikutnya",
  savedCards: "Kartu tersimpan",
  anotherCard: "Pakai kartu lain",
  pay: (amount) => `Bayar ${amount}`,
  googlePay: "Bayar dengan Google Pay",
  or: "atau",
  others: "Metode lain",
  continue: "Lanjutkan",
  missing: (names) => `Tidak tersedia di sandbox ini: ${names}`,
  testCards: "Kartu uji",
  testCardHint: "Klik kartu untuk mengisi formulir. Nomor selain kartu uji diterima.",
  outcomes: {
    accepted: "diterima",
    without_code: "diterima, tanpa kode",
    denied: "ditolak bank",
    funds: "dana tidak cukup",
    challenged: "diterima, tetapi perlu ditinjau",
  },
  problems: {
    number: "Periksa nomor kartu.",
    expiry: "Periksa masa berlaku.",
    cvv: "Periksa CVV: tiga atau empat angka pada kartu.",
    not_accepted: "Merchant tidak menerima kartu ini. Pakai kartu lain.",
    outdated: "Kartu ini tidak mendukung versi terbaru 3-D Secure. Pakai kartu lain.",
    order: "Pembayaran lain memakai pesanan ini. Kembali ke merchant.",
    invalid: "Pembayaran tidak dapat dimulai. Periksa kembali data Anda.",
  },
  failures: {
    deny: "Pembayaran ditolak. Coba lagi, atau pakai kartu lain.",
    failure: "Bank tidak merespons. Coba lagi, atau pakai kartu lain.",
    expire: "Waktu konfirmasi kartu sudah habis. Coba lagi.",
  },
  ended: {
    in_progress: [
      "Pembayaran sedang diproses",
      "Pembayaran pesanan ini sudah dimulai. Tunggu hasilnya.",
    ],
    paid: ["Lunas", "Pesanan ini sudah dibayar. Terima kasih."],
    failed: ["Pembayaran gagal", "Pembayaran ditolak. Kembali ke merchant."],
    expired: [
      "Halaman ini sudah kedaluwarsa",
      "Waktu pembayaran sudah habis. Tidak ada pembayaran yang dilakukan.",
    ],
    cancelled: ["Pembayaran dibatalkan", "Merchant membatalkan pembayaran ini."],
    replaced: ["Tautan ini tidak berlaku lagi", "Merchant membuka halaman baru untuk pesanan ini."],
  },
  unknown: ["Pembayaran tidak ditemukan", "Tidak ada halaman pembayaran di alamat ini."],
  goToBank: "Lanjut ke halaman bank",
  goToPayment: "Lihat cara bayar",
  back: "Kembali ke merchant",
  statuses: {
    pending: "menunggu",
    authorize: "dana ditahan",
    capture: "lunas",
    settlement: "lunas",
  },
};

export const SNAP_WORDS: Record<SnapLanguage, SnapWords> = { en: EN, id: ID };

/** The names of methods are the same in both languages. */
export const OTHER_METHOD_NAMES: Record<OtherMethod, string> = {
  bca_va: "BCA Virtual Account",
  bni_va: "BNI Virtual Account",
  bri_va: "BRI Virtual Account",
  cimb_va: "CIMB Niaga Virtual Account",
  permata_va: "Permata Virtual Account",
  echannel: "Mandiri Bill",
  gopay: "GoPay",
  shopeepay: "ShopeePay",
  dana: "DANA",
  other_qris: "QRIS",
  indomaret: "Indomaret",
  alfamart: "Alfamart",
};
