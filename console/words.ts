/** The texts of the console, in English and in Bahasa Indonesia. */

import type { Role } from "../core/auth/caller.ts";
import type { PaymentAction, PaymentStatus } from "../core/payments/states.ts";

export const LANGUAGES = ["en", "id"] as const;

export type Language = (typeof LANGUAGES)[number];

export interface Words {
  language: string;
  locale: string;
  console: string;
  payments: string;
  sessions: string;
  signIn: string;
  signOut: string;
  signInHelp: string;
  credential: string;
  wrongCredential: string;
  signInForDevelopment: string;
  development: string;
  roles: Record<Exclude<Role, "user">, string>;
  theme: string;
  themes: { auto: string; light: string; dark: string };
  search: string;
  searchHelp: string;
  filter: string;
  reset: string;
  status: string;
  method: string;
  email: string;
  from: string;
  to: string;
  any: string;
  order: string;
  customer: string;
  amount: string;
  created: string;
  nextPage: string;
  noPayments: string;
  noPaymentsOnPage: string;
  invalidFilter: string;
  statuses: Record<PaymentStatus, string>;
  challenged: string;
  unpaid: string;
  details: string;
  requested: string;
  captured: string;
  refunded: string;
  net: string;
  transaction: string;
  name: string;
  phone: string;
  expires: string;
  settled: string;
  user: string;
  gatewayMessage: string;
  customerSees: string;
  account: string;
  billKey: string;
  billerCode: string;
  paymentCode: string;
  paymentLink: string;
  qrCode: string;
  items: string;
  item: string;
  price: string;
  quantity: string;
  subtotal: string;
  refunds: string;
  reason: string;
  refundStatuses: Record<"pending" | "succeeded" | "denied" | "failed", string>;
  actions: string;
  noActions: string;
  checkStatus: string;
  checked: string;
  actionNames: Record<PaymentAction, string>;
  /** What an action does; for the confirmation. */
  actionEffects: Record<PaymentAction, string>;
  /** After an action. */
  done: Record<PaymentAction, string>;
  amountToRefund: string;
  amountToCapture: string;
  atMost: string;
  reasonHelp: string;
  back: string;
  viewersCannotAct: string;
  outcomeUnknown: string;
  failed: string;
  notFound: string;
  signedIn: string;
  lastUsed: string;
  ends: string;
  key: string;
  thisSession: string;
  end: string;
  yes: string;
}

const EN: Words = {
  language: "English",
  locale: "en-GB",
  console: "Console",
  payments: "Payments",
  sessions: "Sessions",
  signIn: "Sign in",
  signOut: "Sign out",
  signInHelp: "Use a staff or viewer API key, or a JWT of your organization.",
  credential: "API key or JWT",
  wrongCredential: "This key or JWT is not valid, or it is not a staff or viewer credential.",
  signInForDevelopment: "Sign in with the development key",
  development: "Development",
  roles: { staff: "Staff", viewer: "Viewer" },
  theme: "Appearance",
  themes: { auto: "Like the system", light: "Light", dark: "Dark" },
  search: "Search",
  searchHelp: "Order id, transaction id, email, phone or virtual account",
  filter: "Filter",
  reset: "Reset",
  status: "Status",
  method: "Method",
  email: "Email",
  from: "From",
  to: "To",
  any: "Any",
  order: "Order",
  customer: "Customer",
  amount: "Amount",
  created: "Created",
  nextPage: "Next page",
  noPayments: "No payments were found.",
  noPaymentsOnPage: "No payments match on this page. Continue with the next page.",
  invalidFilter: "The filter is not valid:",
  statuses: {
    pending: "Pending",
    authorize: "Authorized",
    capture: "Captured",
    settlement: "Paid",
    deny: "Declined",
    failure: "Failed",
    cancel: "Cancelled",
    expire: "Expired",
    partial_refund: "Partly refunded",
    refund: "Refunded",
    partial_chargeback: "Partial chargeback",
    chargeback: "Chargeback",
  },
  challenged: "Needs a review",
  unpaid: "Not paid",
  details: "Details",
  requested: "Requested",
  captured: "Captured",
  refunded: "Refunded",
  net: "Net",
  transaction: "Transaction",
  name: "Name",
  phone: "Phone",
  expires: "Expires",
  settled: "Settled",
  user: "User",
  gatewayMessage: "Message of the gateway",
  customerSees: "What the customer sees",
  account: "Virtual account",
  billKey: "Bill key",
  billerCode: "Company code",
  paymentCode: "Payment code",
  paymentLink: "Payment page",
  qrCode: "QR code",
  items: "Items",
  item: "Item",
  price: "Price",
  quantity: "Quantity",
  subtotal: "Subtotal",
  refunds: "Refunds",
  reason: "Reason",
  refundStatuses: {
    pending: "Outcome not known yet",
    succeeded: "Succeeded",
    denied: "Declined by the bank",
    failed: "Failed",
  },
  actions: "Actions",
  noActions: "This payment cannot be changed in its current state.",
  checkStatus: "Check the status at the gateway",
  checked: "The status was checked at the gateway.",
  actionNames: {
    cancel: "Cancel",
    expire: "Expire now",
    refund: "Refund",
    capture: "Capture",
    approve: "Approve",
    deny: "Deny",
  },
  actionEffects: {
    cancel: "The customer can no longer pay. A card that is not settled yet is not charged.",
    expire:
      "The customer can no longer pay. The payment expires now instead of at its expiry time.",
    refund: "The amount goes back to the customer. A refund cannot be undone.",
    capture: "The card is charged with this amount. The rest of the authorization is released.",
    approve: "The card payment is accepted, although the fraud detection has challenged it.",
    deny: "The card payment is rejected. The card is not charged.",
  },
  done: {
    cancel: "The payment is cancelled.",
    expire: "The payment has expired.",
    refund: "The refund was requested.",
    capture: "The payment is captured.",
    approve: "The payment is approved.",
    deny: "The payment is denied.",
  },
  amountToRefund: "Amount to refund",
  amountToCapture: "Amount to capture",
  atMost: "At most",
  reasonHelp: "Optional; the gateway stores it with the refund",
  back: "Back",
  viewersCannotAct: "You are signed in as a viewer. Viewers change nothing.",
  outcomeUnknown:
    "The gateway did not confirm the result. The service checks it automatically; the payment shows " +
    "the result when it is known. Sending this form again does not repeat the action.",
  failed: "This did not work",
  notFound: "This page does not exist.",
  signedIn: "Signed in",
  lastUsed: "Last used",
  ends: "Ends",
  key: "Key",
  thisSession: "This session",
  end: "End",
  yes: "Yes",
};

const ID: Words = {
  language: "Bahasa Indonesia",
  locale: "id-ID",
  console: "Konsol",
  payments: "Pembayaran",
  sessions: "Sesi",
  signIn: "Masuk",
  signOut: "Keluar",
  signInHelp: "Gunakan API key staf atau pengamat, atau JWT organisasi Anda.",
  credential: "API key atau JWT",
  wrongCredential: "Key atau JWT ini tidak valid, atau bukan milik staf atau pengamat.",
  signInForDevelopment: "Masuk dengan key pengembangan",
  development: "Pengembangan",
  roles: { staff: "Staf", viewer: "Pengamat" },
  theme: "Tampilan",
  themes: { auto: "Ikuti sistem", light: "Terang", dark: "Gelap" },
  search: "Cari",
  searchHelp: "ID pesanan, ID transaksi, email, telepon, atau virtual account",
  filter: "Saring",
  reset: "Atur ulang",
  status: "Status",
  method: "Metode",
  email: "Email",
  from: "Dari",
  to: "Sampai",
  any: "Semua",
  order: "Pesanan",
  customer: "Pelanggan",
  amount: "Jumlah",
  created: "Dibuat",
  nextPage: "Halaman berikutnya",
  noPayments: "Tidak ada pembayaran yang ditemukan.",
  noPaymentsOnPage:
    "Tidak ada pembayaran yang cocok di halaman ini. Lanjutkan ke halaman berikutnya.",
  invalidFilter: "Saringan tidak valid:",
  statuses: {
    pending: "Menunggu",
    authorize: "Diotorisasi",
    capture: "Ditangkap",
    settlement: "Lunas",
    deny: "Ditolak",
    failure: "Gagal",
    cancel: "Dibatalkan",
    expire: "Kedaluwarsa",
    partial_refund: "Dikembalikan sebagian",
    refund: "Dikembalikan",
    partial_chargeback: "Chargeback sebagian",
    chargeback: "Chargeback",
  },
  challenged: "Perlu ditinjau",
  unpaid: "Belum dibayar",
  details: "Rincian",
  requested: "Diminta",
  captured: "Ditangkap",
  refunded: "Dikembalikan",
  net: "Bersih",
  transaction: "Transaksi",
  name: "Nama",
  phone: "Telepon",
  expires: "Kedaluwarsa",
  settled: "Diselesaikan",
  user: "Pengguna",
  gatewayMessage: "Pesan dari gateway",
  customerSees: "Yang dilihat pelanggan",
  account: "Virtual account",
  billKey: "Nomor tagihan",
  billerCode: "Kode perusahaan",
  paymentCode: "Kode pembayaran",
  paymentLink: "Halaman pembayaran",
  qrCode: "Kode QR",
  items: "Barang",
  item: "Barang",
  price: "Harga",
  quantity: "Banyaknya",
  subtotal: "Subtotal",
  refunds: "Pengembalian dana",
  reason: "Alasan",
  refundStatuses: {
    pending: "Hasil belum diketahui",
    succeeded: "Berhasil",
    denied: "Ditolak oleh bank",
    failed: "Gagal",
  },
  actions: "Tindakan",
  noActions: "Pembayaran ini tidak dapat diubah dalam status sekarang.",
  checkStatus: "Periksa status di gateway",
  checked: "Status telah diperiksa di gateway.",
  actionNames: {
    cancel: "Batalkan",
    expire: "Akhiri sekarang",
    refund: "Kembalikan dana",
    capture: "Tangkap",
    approve: "Setujui",
    deny: "Tolak",
  },
  actionEffects: {
    cancel: "Pelanggan tidak dapat membayar lagi. Kartu yang belum diselesaikan tidak ditagih.",
    expire:
      "Pelanggan tidak dapat membayar lagi. Pembayaran berakhir sekarang, bukan pada waktunya.",
    refund: "Jumlah ini kembali ke pelanggan. Pengembalian tidak dapat dibatalkan.",
    capture: "Kartu ditagih sebesar jumlah ini. Sisa otorisasi dilepaskan.",
    approve: "Pembayaran kartu diterima, walaupun dicurigai oleh deteksi penipuan.",
    deny: "Pembayaran kartu ditolak. Kartu tidak ditagih.",
  },
  done: {
    cancel: "Pembayaran dibatalkan.",
    expire: "Pembayaran telah berakhir.",
    refund: "Pengembalian dana telah diminta.",
    capture: "Pembayaran telah ditangkap.",
    approve: "Pembayaran disetujui.",
    deny: "Pembayaran ditolak.",
  },
  amountToRefund: "Jumlah yang dikembalikan",
  amountToCapture: "Jumlah yang ditangkap",
  atMost: "Paling banyak",
  reasonHelp: "Opsional; gateway menyimpannya bersama pengembalian dana",
  back: "Kembali",
  viewersCannotAct: "Anda masuk sebagai pengamat. Pengamat tidak mengubah apa pun.",
  outcomeUnknown:
    "Gateway tidak mengonfirmasi hasilnya. Layanan memeriksanya secara otomatis; pembayaran " +
    "menampilkan hasilnya setelah diketahui. Mengirim formulir ini lagi tidak mengulangi tindakan.",
  failed: "Ini tidak berhasil",
  notFound: "Halaman ini tidak ada.",
  signedIn: "Masuk",
  lastUsed: "Terakhir digunakan",
  ends: "Berakhir",
  key: "Key",
  thisSession: "Sesi ini",
  end: "Akhiri",
  yes: "Ya",
};

const WORDS: Record<Language, Words> = { en: EN, id: ID };

export function wordsOf(language: Language): Words {
  return WORDS[language];
}

/** The first language of the browser that the console has; English if it has none of them. */
export function chooseLanguage(cookie: string | undefined, acceptLanguage: string | undefined) {
  const wanted = [cookie, ...(acceptLanguage ?? "").split(",")];
  const found = wanted.map((each) => each?.trim().slice(0, 2).toLowerCase());
  return LANGUAGES.find((language) => found.find(isLanguage) === language) ?? "en";
}

export function isLanguage(text: string | undefined): text is Language {
  return (LANGUAGES as readonly (string | undefined)[]).includes(text);
}
