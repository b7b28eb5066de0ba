/** The texts of the page of a payment that other pages do not have. */

export interface PaymentWords {
  amounts: string;
  chargedBack: string;
  unknownChargeback: string;
  store: string;
  paid: string;
  invoice: string;
  subscription: string;
  metadata: string;
  /** The charge was not confirmed. */
  chargeUnknown: string;
  /** A refund was not confirmed. */
  refundUnknown(amount: string): string;
  /** What an action does; for the confirmation. */
  effects: {
    cancelPending(amount: string): string[];
    cancelAuthorized(amount: string): string[];
    cancelCaptured(amount: string): string[];
    expire(amount: string, expiry: string | null): string[];
    refund(limit: string, method: string): string[];
    capture(limit: string): string[];
    approve(amount: string): string[];
    deny(amount: string): string[];
    markDenied(amount: string): string[];
  };
  markDenied: string;
  markedDenied: string;
  answers: string;
  showAnswers: string;
  answersHelp: string;
  currentAnswer: string;
  askGateway: string;
  noTransaction: string;
  notificationsHere: string;
  noNotifications: string;
}

export const PAYMENT_IN_ENGLISH: PaymentWords = {
  amounts: "Amounts",
  chargedBack: "Charged back",
  unknownChargeback: "The gateway has not reported the amount yet",
  store: "Store",
  paid: "Paid",
  invoice: "Invoice",
  subscription: "Subscription",
  metadata: "Metadata",
  chargeUnknown:
    "The gateway has not confirmed this charge, so it is not known whether the customer can pay. " +
    "The service asks the gateway automatically, the first time after one minute, and shows the " +
    "result here. Do not charge the customer again before that.",
  refundUnknown: (amount) =>
    `The gateway has not confirmed a refund of ${amount}. The service asks the gateway ` +
    "automatically and shows the result here. Do not refund this amount again before that.",
  effects: {
    cancelPending: (amount) => [
      `The customer can no longer pay ${amount}.`,
      "A cancelled payment cannot be opened again. Create a new one instead.",
    ],
    cancelAuthorized: (amount) => [
      `The bank releases the reserved ${amount}. The card is not charged.`,
      "This cannot be undone.",
    ],
    cancelCaptured: (amount) => [
      `The card payment of ${amount} is reversed before it is settled. The customer pays nothing, ` +
      "and you get nothing.",
      "This cannot be undone.",
    ],
    expire: (amount, expiry) => [
      expiry === null
        ? `The customer can no longer pay ${amount}. The payment expires now.`
        : `The customer can no longer pay ${amount}. The payment expires now instead of on ${expiry}.`,
      "An expired payment cannot be opened again. Create a new one instead.",
    ],
    refund: (limit, method) => [
      `The amount below goes back to the customer (${method}). You can refund ${limit} or a part ` +
      "of it.",
      "A refund cannot be undone.",
    ],
    capture: (limit) => [
      `The card is charged the amount below. You can capture ${limit} or a part of it.`,
      "The rest of the authorization is released and cannot be captured later.",
    ],
    approve: (amount) => [
      `The card payment of ${amount} is accepted, although the fraud detection has challenged it.`,
      "If it is fraud, the bank can take the amount back from you.",
    ],
    deny: (amount) => [
      `The card payment of ${amount} is rejected. The card is not charged.`,
      "This cannot be undone.",
    ],
    markDenied: (amount) => [
      `The refund of ${amount} ends as refused by the bank, and the amount can be refunded again.`,
      "The service asks the gateway first. If the gateway lists the refund, nothing is done.",
      "The gateway does not report the refusal. If the bank makes the refund after all and you have " +
      "refunded again, the customer is paid twice.",
    ],
  },
  markDenied: "Refused by the bank",
  markedDenied: "The refund is marked as refused by the bank.",
  answers: "Gateway answers",
  showAnswers: "Show",
  answersHelp: "As the gateway sent them, without signatures, tokens and card numbers.",
  currentAnswer: "Current answer",
  askGateway: "Ask the gateway now",
  noTransaction: "The gateway has no transaction for this payment.",
  notificationsHere: "Notifications",
  noNotifications: "The gateway has sent no notification for this order, or it was deleted.",
};

export const PAYMENT_IN_INDONESIAN: PaymentWords = {
  amounts: "Jumlah",
  chargedBack: "Chargeback",
  unknownChargeback: "Gateway belum melaporkan jumlahnya",
  store: "Toko",
  paid: "Dibayar",
  invoice: "Invoice",
  subscription: "Langganan",
  metadata: "Metadata",
  chargeUnknown:
    "Gateway belum mengonfirmasi tagihan ini, jadi belum diketahui apakah pelanggan dapat " +
    "membayar. Layanan menanyakannya secara otomatis, pertama kali setelah satu menit, dan " +
    "menampilkan hasilnya di sini. Jangan menagih pelanggan lagi sebelum itu.",
  refundUnknown: (amount) =>
    `Gateway belum mengonfirmasi pengembalian dana ${amount}. Layanan menanyakannya secara ` +
    "otomatis dan menampilkan hasilnya di sini. Jangan mengembalikan jumlah ini lagi sebelum itu.",
  effects: {
    cancelPending: (amount) => [
      `Pelanggan tidak dapat lagi membayar ${amount}.`,
      "Pembayaran yang dibatalkan tidak dapat dibuka lagi. Buatlah pembayaran baru.",
    ],
    cancelAuthorized: (amount) => [
      `Bank melepaskan ${amount} yang ditahan. Kartu tidak ditagih.`,
      "Tindakan ini tidak dapat diurungkan.",
    ],
    cancelCaptured: (amount) => [
      `Pembayaran kartu sebesar ${amount} dibatalkan sebelum settlement. Pelanggan tidak ` +
      "membayar apa pun, dan Anda tidak menerima apa pun.",
      "Tindakan ini tidak dapat diurungkan.",
    ],
    expire: (amount, expiry) => [
      expiry === null
        ? `Pelanggan tidak dapat lagi membayar ${amount}. Pembayaran kedaluwarsa sekarang.`
        : `Pelanggan tidak dapat lagi membayar ${amount}. Pembayaran kedaluwarsa sekarang, bukan ` +
          `pada ${expiry}.`,
      "Pembayaran yang kedaluwarsa tidak dapat dibuka lagi. Buatlah pembayaran baru.",
    ],
    refund: (limit, method) => [
      `Jumlah di bawah dikembalikan ke pelanggan (${method}). Anda dapat mengembalikan ${limit} ` +
      "atau sebagiannya.",
      "Pengembalian dana tidak dapat dibatalkan.",
    ],
    capture: (limit) => [
      `Kartu ditagih sebesar jumlah di bawah. Anda dapat menagih ${limit} atau sebagiannya.`,
      "Sisa otorisasi dilepaskan dan tidak dapat ditagih nanti.",
    ],
    approve: (amount) => [
      `Pembayaran kartu sebesar ${amount} diterima, walaupun ditandai oleh deteksi penipuan.`,
      "Jika ternyata penipuan, bank dapat menarik kembali jumlah itu dari Anda.",
    ],
    deny: (amount) => [
      `Pembayaran kartu sebesar ${amount} ditolak. Kartu tidak ditagih.`,
      "Tindakan ini tidak dapat diurungkan.",
    ],
    markDenied: (amount) => [
      `Pengembalian dana ${amount} berakhir karena ditolak bank, dan jumlah itu dapat dikembalikan ` +
      "lagi.",
      "Layanan menanyakan gateway terlebih dahulu. Jika gateway mencantumkan pengembalian dana ini, " +
      "tidak ada yang dilakukan.",
      "Gateway tidak melaporkan penolakan. Jika bank tetap melakukannya dan Anda sudah " +
      "mengembalikan dana lagi, pelanggan dibayar dua kali.",
    ],
  },
  markDenied: "Ditolak bank",
  markedDenied: "Pengembalian dana ditandai sebagai ditolak bank.",
  answers: "Jawaban gateway",
  showAnswers: "Tampilkan",
  answersHelp: "Seperti yang dikirim gateway, tanpa tanda tangan, token, dan nomor kartu.",
  currentAnswer: "Jawaban sekarang",
  askGateway: "Tanya gateway sekarang",
  noTransaction: "Gateway tidak memiliki transaksi untuk pembayaran ini.",
  notificationsHere: "Notifikasi",
  noNotifications: "Belum ada notifikasi gateway untuk pesanan ini, atau notifikasi itu dihapus.",
};
