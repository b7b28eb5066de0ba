/** The texts of the overview. */

export const OVERVIEW_IN_ENGLISH = {
  title: "Overview",
  today: "Today",
  yesterday: "Yesterday",
  lastWeek: "A week ago",
  /** Followed by a time of day. */
  comparison: "Each day from midnight to",
  /** Followed by a time. */
  asOf: "As of",
  paid: "Paid",
  paidCount: "Paid payments",
  successRate: "Success rate",
  chargebacks: "Chargebacks",
  computing: "The figures are being computed from all payments. They appear here in a few minutes.",
  chart: "Paid by method, last 30 days",
  nothingPaid: "Nothing was paid in the last 30 days.",
  otherMethods: "Other methods",
  day: "Day",
  newest: "Newest payments",
  allPayments: "All payments",
  attention: "Needs attention",
  nothing: "Nothing needs attention.",
  /** After a number. */
  orMore: "or more",
  reasons: {
    gatewayDown: "The gateway does not respond",
    challenged: "Card payments to review",
    unansweredPayments: "Payments with an unknown outcome",
    ownerlessPayments: "Paid payments without an owner",
    paidTwice: "Checkouts that were paid twice",
    paidLate: "Checkouts that were paid late",
    pendingRefunds: "Refunds with an unknown outcome",
    differences: "Differences in gateway reports",
    failingEndpoints: "Failing webhook endpoints",
    failedNotifications: "Failed notifications",
    failedJobs: "Failed jobs",
  },
};

/** What can need attention. */
export type AttentionReason = keyof typeof OVERVIEW_IN_ENGLISH.reasons;

export const OVERVIEW_IN_INDONESIAN: typeof OVERVIEW_IN_ENGLISH = {
  title: "Ringkasan",
  today: "Hari ini",
  yesterday: "Kemarin",
  lastWeek: "Seminggu lalu",
  comparison: "Setiap hari dari tengah malam sampai pukul",
  asOf: "Data per",
  paid: "Dibayar",
  paidCount: "Pembayaran lunas",
  successRate: "Tingkat keberhasilan",
  chargebacks: "Chargeback",
  computing: "Angka sedang dihitung dari semua pembayaran. Hasilnya tampil dalam beberapa menit.",
  chart: "Dibayar per metode, 30 hari terakhir",
  nothingPaid: "Tidak ada pembayaran lunas dalam 30 hari terakhir.",
  otherMethods: "Metode lain",
  day: "Hari",
  newest: "Pembayaran terbaru",
  allPayments: "Semua pembayaran",
  attention: "Perlu perhatian",
  nothing: "Tidak ada yang perlu perhatian.",
  orMore: "atau lebih",
  reasons: {
    gatewayDown: "Gateway tidak merespons",
    challenged: "Pembayaran kartu yang perlu ditinjau",
    unansweredPayments: "Pembayaran yang hasilnya belum diketahui",
    ownerlessPayments: "Pembayaran lunas tanpa pemilik",
    paidTwice: "Checkout yang dibayar dua kali",
    paidLate: "Checkout yang terlambat dibayar",
    pendingRefunds: "Pengembalian dana yang hasilnya belum diketahui",
    differences: "Selisih dalam laporan gateway",
    failingEndpoints: "Endpoint webhook yang gagal",
    failedNotifications: "Notifikasi yang gagal",
    failedJobs: "Pekerjaan yang gagal",
  },
};
