/** The texts of receipts in both languages. */

const INDONESIAN = {
  locale: "id",
  paidTitle: "Bukti pembayaran",
  refundTitle: "Bukti pengembalian dana",
  greeting: (name: string) => name === "" ? "Halo," : `Halo ${name},`,
  paidText: "Pembayaran Anda sudah kami terima. Terima kasih.",
  refundText: "Kami telah mengembalikan dana Anda. Bank atau dompet Anda dapat memerlukan " +
    "beberapa hari untuk menampilkannya.",
  merchant: "Toko",
  order: "Nomor pesanan",
  paid: "Jumlah dibayar",
  refunded: "Jumlah dikembalikan sejauh ini",
  time: "Waktu",
};

const ENGLISH: typeof INDONESIAN = {
  locale: "en-GB",
  paidTitle: "Payment receipt",
  refundTitle: "Refund receipt",
  greeting: (name) => name === "" ? "Hello," : `Hello ${name},`,
  paidText: "We have received your payment. Thank you.",
  refundText: "We have refunded your money. Your bank or wallet can take some days to show it.",
  merchant: "Shop",
  order: "Order",
  paid: "Amount paid",
  refunded: "Amount refunded so far",
  time: "Time",
};

export const RECEIPT_WORDS = { id: INDONESIAN, en: ENGLISH };

export type Language = keyof typeof RECEIPT_WORDS;
