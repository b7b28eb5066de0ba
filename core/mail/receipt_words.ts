/** The texts of receipts in both languages. */

const INDONESIAN = {
  locale: "id",
  paidTitle: "Bukti pembayaran",
  refundTitle: "Bukti pengembalian dana",
  greeting: (name: string) => name === "" ? "Halo," : `Halo ${name},`,
  paidText: "Pembayaran Anda sudah kami terima. Terima kasih.",
  refundText: "Kami telah mengirim pengembalian dana kepada Anda. Mungkin perlu beberapa hari " +
    "sampai dana terlihat di rekening bank atau e-wallet Anda.",
  merchant: "Toko",
  order: "Nomor pesanan",
  paid: "Jumlah dibayar",
  refunded: "Total dana yang sudah dikembalikan",
  time: "Waktu",
};

const ENGLISH: typeof INDONESIAN = {
  locale: "en-GB",
  paidTitle: "Payment receipt",
  refundTitle: "Refund receipt",
  greeting: (name) => name === "" ? "Hello," : `Hello ${name},`,
  paidText: "We have received your payment. Thank you.",
  refundText: "We have sent you a refund. It may take a few days to appear in your bank account " +
    "or e-wallet.",
  merchant: "Shop",
  order: "Order",
  paid: "Amount paid",
  refunded: "Amount refunded so far",
  time: "Time",
};

export const RECEIPT_WORDS = { id: INDONESIAN, en: ENGLISH };

export type Language = keyof typeof RECEIPT_WORDS;
