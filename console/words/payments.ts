/** The texts of the list of payments and of the page of a payment. */

import type { SearchedField, SearchLimit } from "../../core/payments/search.ts";

export const PAYMENTS_IN_ENGLISH = {
  filters: "Filters and columns",
  columns: "Columns",
  amountHelp: "To filter by amount, also choose a period of at most 31 days, or a customer.",
  outcomeUnknown: "Not known",
  noOwner: "None, paid in the last 30 days",
  labels: {
    q: "Search",
    from: "Created from",
    to: "Created until",
    settled_from: "Settled from",
    settled_to: "Settled until",
    min_amount: "Amount from (Rp)",
    max_amount: "Amount to (Rp)",
    order_id: "Order id",
    transaction_id: "Transaction id",
    va_number: "Virtual account",
    customer_email: "Email",
    customer_phone: "Phone",
    fraud_status: "Fraud check",
    user_id: "User",
    invoice_id: "Invoice id",
    subscription_id: "Subscription id",
    outcome: "Outcome",
    owner: "Owner",
    status: "Status",
    payment_type: "Method",
  },
  /** A column of the Excel file. */
  cardBank: "Bank of the card payment",
  columnNames: {
    amount: "Amount",
    refunded: "Refunded",
    net: "Net",
    fee: "Gateway fee",
    payout: "Net after fee",
    status: "Status",
    fraud: "Fraud check",
    order: "Order",
    customer: "Customer",
    name: "Name",
    phone: "Phone",
    method: "Method",
    code: "VA number or code",
    card: "Card",
    approval: "Approval code",
    created: "Created",
    settled: "Settled",
    transaction: "Transaction id",
    user: "User",
    id: "ID",
  },
  fraudStatuses: { accept: "Accepted", challenge: "Challenged", deny: "Denied" },
  searchesAll: "A search ignores the filters. Choosing a filter or period clears the search.",
  searchResult: {
    none: (text: string) => `No payment matches “${text}”.`,
    searched: (fields: string) => `Searched in: ${fields}.`,
    noneFound: (text: string) =>
      `“${text}” was not found, but not all older payments could be searched.`,
    limits: {
      matches: (count: string) =>
        `More payments match. The search considers the newest ${count}: type more characters to ` +
        "find older ones.",
      frequent: () =>
        "Many payments have such a text, so the search ended before the oldest ones. Type more " +
        "characters.",
      letters: () =>
        "In older payments, only the beginning of order id, email and name is searched. To find " +
        "other parts, type at least three letters A to Z or digits in a row.",
      extension: () =>
        "In older payments, only the beginning of order id, email and name is searched, because " +
        "the database has no pg_trgm. The page “Doctor” says what to do.",
    } satisfies Record<SearchLimit, (count: string) => string>,
    fields: {
      id: "payment id",
      order_id: "order id",
      transaction_id: "transaction id",
      customer_email: "email",
      customer_name: "name",
      customer_phone: "whole phone number",
      va_number: "virtual account",
      gross_amount: "amount",
      card: "last four digits of the card",
    } satisfies Record<SearchedField, string>,
  },
};

export const PAYMENTS_IN_INDONESIAN: typeof PAYMENTS_IN_ENGLISH = {
  filters: "Filter dan kolom",
  columns: "Kolom",
  amountHelp: "Untuk memfilter jumlah, pilih juga periode maksimal 31 hari, atau satu pelanggan.",
  outcomeUnknown: "Belum diketahui",
  noOwner: "Tidak ada, lunas dalam 30 hari terakhir",
  labels: {
    q: "Cari",
    from: "Dibuat dari",
    to: "Dibuat sampai",
    settled_from: "Settlement dari",
    settled_to: "Settlement sampai",
    min_amount: "Jumlah dari (Rp)",
    max_amount: "Jumlah sampai (Rp)",
    order_id: "ID pesanan",
    transaction_id: "ID transaksi",
    va_number: "Virtual account",
    customer_email: "Email",
    customer_phone: "Telepon",
    fraud_status: "Deteksi penipuan",
    user_id: "Pengguna",
    invoice_id: "ID invoice",
    subscription_id: "ID langganan",
    outcome: "Hasil",
    owner: "Pemilik",
    status: "Status",
    payment_type: "Metode",
  },
  cardBank: "Bank pembayaran kartu",
  columnNames: {
    amount: "Jumlah",
    refunded: "Dikembalikan",
    net: "Neto",
    fee: "Biaya gateway",
    payout: "Neto setelah biaya",
    status: "Status",
    fraud: "Deteksi penipuan",
    order: "Pesanan",
    customer: "Pelanggan",
    name: "Nama",
    phone: "Telepon",
    method: "Metode",
    code: "Nomor VA atau kode",
    card: "Kartu",
    approval: "Kode persetujuan",
    created: "Dibuat",
    settled: "Settlement",
    transaction: "ID transaksi",
    user: "Pengguna",
    id: "ID",
  },
  fraudStatuses: { accept: "Diterima", challenge: "Dicurigai", deny: "Ditolak" },
  searchesAll:
    "Pencarian mengabaikan filter. Memilih filter atau periode akan menghapus pencarian.",
  searchResult: {
    none: (text) => `Tidak ada pembayaran yang cocok dengan “${text}”.`,
    searched: (fields) => `Dicari di: ${fields}.`,
    noneFound: (text) =>
      `“${text}” tidak ditemukan, tetapi tidak semua pembayaran lama dapat dicari.`,
    limits: {
      matches: (count) =>
        `Masih ada pembayaran lain yang cocok. Pencarian hanya mencakup ${count} yang terbaru: ` +
        "ketik lebih banyak karakter untuk menemukan yang lebih lama.",
      frequent: () =>
        "Banyak pembayaran memiliki teks seperti ini, sehingga pencarian berakhir sebelum yang " +
        "terlama. Ketik lebih banyak karakter.",
      letters: () =>
        "Pada pembayaran lama, hanya awal ID pesanan, email, dan nama yang dicari. Untuk bagian " +
        "lain, ketik minimal tiga huruf A sampai Z atau angka berurutan.",
      extension: () =>
        "Pada pembayaran lama, hanya awal ID pesanan, email, dan nama yang dicari, karena basis " +
        "data tidak memiliki pg_trgm. Halaman “Doctor” menjelaskan langkah berikutnya.",
    },
    fields: {
      id: "ID pembayaran",
      order_id: "ID pesanan",
      transaction_id: "ID transaksi",
      customer_email: "email",
      customer_name: "nama",
      customer_phone: "nomor telepon lengkap",
      va_number: "virtual account",
      gross_amount: "jumlah",
      card: "empat digit terakhir kartu",
    },
  },
};

export const CUSTOMER_IN_ENGLISH = {
  sums: "Totals",
  count: "Payments",
  paidOf: (paid: number, count: number) => `${count}, ${paid} of them paid`,
  paid: "Paid",
  newest: (limit: string) => `The totals are those of the newest ${limit} payments.`,
  allPayments: "All payments of this customer",
  noRefunds: "There are no refunds.",
  noInvoices: "There are no invoices.",
  noSubscriptions: "There are no subscriptions.",
};

export const CUSTOMER_IN_INDONESIAN: typeof CUSTOMER_IN_ENGLISH = {
  sums: "Total",
  count: "Pembayaran",
  paidOf: (paid, count) => `${count}, ${paid} di antaranya lunas`,
  paid: "Dibayar",
  newest: (limit) => `Total dihitung dari ${limit} pembayaran terbaru.`,
  allPayments: "Semua pembayaran pelanggan ini",
  noRefunds: "Belum ada pengembalian dana.",
  noInvoices: "Belum ada invoice.",
  noSubscriptions: "Belum ada langganan.",
};

export const PAYMENT_IN_ENGLISH = {
  amounts: "Amounts",
  fee: "Gateway fee",
  payout: "Net after fee",
  chargedBack: "Charged back",
  unknownChargeback: "The gateway has not reported the amount yet",
  store: "Store",
  paid: "Paid",
  card: "Card",
  bank: "Bank",
  approvalCode: "Approval code",
  threeDSecure: {
    authenticated: "Authenticated by the customer",
    attempted: "Attempted; the card's bank did not take part",
    not_authenticated: "Not authenticated",
  },
  checkout: "Checkout",
  invoice: "Invoice",
  subscription: "Subscription",
  metadata: "Metadata",
  link: "Page for the customer",
  linkHelp: "The customer pays here, or sees the result. Send the link to this customer only.",
  chargeUnknown:
    "The gateway has not confirmed this charge, so it is not known whether the customer can pay. " +
    "The service asks the gateway automatically, the first time after one minute, and shows the " +
    "result here. Do not charge the customer again before that.",
  refundUnknown: (amount: string) =>
    `The gateway has not confirmed a refund of ${amount}. The service asks the gateway ` +
    "automatically and shows the result here. Do not refund this amount again before that.",
  /** What an action does; for the confirmation. */
  effects: {
    cancelPending: (amount: string) => [
      `The customer can no longer pay ${amount}.`,
      "A cancelled payment cannot be opened again. Create a new one instead.",
    ],
    cancelAuthorized: (amount: string) => [
      `The bank releases the reserved ${amount}. The card is not charged.`,
      "This cannot be undone.",
    ],
    cancelCaptured: (amount: string) => [
      `The card payment of ${amount} is reversed before it is settled. The customer pays nothing, ` +
      "and you get nothing.",
      "This cannot be undone.",
    ],
    expire: (amount: string, expiry: string | null) => [
      expiry === null
        ? `The customer can no longer pay ${amount}. The payment expires now.`
        : `The customer can no longer pay ${amount}. The payment expires now instead of on ${expiry}.`,
      "An expired payment cannot be opened again. Create a new one instead.",
    ],
    refund: (limit: string, method: string) => [
      `The amount below goes back to the customer (${method}). You can refund ${limit} or a part ` +
      "of it.",
      "A refund cannot be undone.",
    ],
    capture: (limit: string) => [
      `The card is charged the amount below. You can capture ${limit} or a part of it.`,
      "The rest of the authorization is released and cannot be captured later.",
    ],
    approve: (amount: string) => [
      `The card payment of ${amount} is accepted, although the fraud detection has challenged it.`,
      "If it is fraud, the bank can take the amount back from you.",
    ],
    deny: (amount: string) => [
      `The card payment of ${amount} is rejected. The card is not charged.`,
      "This cannot be undone.",
    ],
    markDenied: (amount: string) => [
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

export const PAYMENT_IN_INDONESIAN: typeof PAYMENT_IN_ENGLISH = {
  amounts: "Jumlah",
  fee: "Biaya gateway",
  payout: "Neto setelah biaya",
  chargedBack: "Chargeback",
  unknownChargeback: "Gateway belum melaporkan jumlahnya",
  store: "Toko",
  paid: "Dibayar",
  card: "Kartu",
  bank: "Bank",
  approvalCode: "Kode persetujuan",
  threeDSecure: {
    authenticated: "Terverifikasi oleh pelanggan",
    attempted: "Dicoba; bank penerbit kartu tidak ikut serta",
    not_authenticated: "Tidak diverifikasi",
  },
  checkout: "Checkout",
  invoice: "Invoice",
  subscription: "Langganan",
  metadata: "Metadata",
  link: "Halaman untuk pelanggan",
  linkHelp: "Pelanggan membayar atau melihat hasilnya di sini. Kirim hanya ke pelanggan ini.",
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
