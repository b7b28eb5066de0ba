/** The texts of the pages of reports and reconciliation. */

import type {
  DifferenceResult,
  DifferenceView,
  ReconciliationView,
} from "../../core/reports/reconciliations.ts";
import type { ReportColumn } from "../../core/reports/report_file.ts";
import type { StatsView } from "../../core/reports/stats.ts";

export const REPORTS_IN_ENGLISH = {
  reportsPage: {
    title: "Reports",
    empty: "No payments in this period. Choose another one.",
    interval: "Interval",
    intervals: {
      hour: "Hour",
      day: "Day",
      week: "Week",
      month: "Month",
    } satisfies Record<StatsView["interval"], string>,
    byInterval: {
      hour: "By hour",
      day: "By day",
      week: "By week",
      month: "By month",
    } satisfies Record<StatsView["interval"], string>,
    groupBy: "Group by",
    groups: {
      payment_type: "Method",
      bank: "Bank",
      transaction_status: "Status",
      user_id: "User",
      none: "No groups",
    } satisfies Record<StatsView["group_by"][number] | "none", string>,
    zone: "Time zone",
    show: "Show",
    /** When an interval begins. */
    begin: "From",
    payments: "Payments",
    paid: "Paid",
    successRate: "Success rate",
    gross: "Paid amount",
    refunded: "Refunded",
    chargedBack: "Charged back",
    net: "Net",
    fees: "Gateway fees",
    payout: "Net after fees",
    noBank: "No bank",
    noUser: "No user",
    other: "Other",
    noChart: "The period is too long for a chart.",
    totals: "Totals",
    moreGroups: "The exported files have the other groups.",
    asOf: "As of",
    explanation:
      "The numbers of payments and the success rate refer to the time of creation; amounts refer " +
      "to the time when they were paid, refunded or charged back. Gateway fees are those that " +
      "compared settlement reports name, at the time when the payment was paid; until a report " +
      "names its fee, a payment counts without one. A partial chargeback counts as 0 until the " +
      "gateway reports its amount.",
  },
  reconciliationPage: {
    title: "Reconciliation",
    purpose: "Compare the gateway's settlement reports with the payments that are stored here.",
    empty: "No report was uploaded yet.",
    upload: "Upload a report",
    uploading: "Upload",
    file: "Report (CSV)",
    fileHelp: "At most 64 MiB. The file changes no payment.",
    options: "Column names and options",
    columnsHelp:
      "Columns are found by their usual headers. If your report has others, enter them here.",
    columns: {
      order_id: "Order id",
      transaction_id: "Transaction id",
      amount: "Amount",
      type: "Type",
      status: "Status",
      refund_key: "Refund key",
      fee: "Fee",
      net: "Net amount",
      time: "Time",
    } satisfies Record<ReportColumn, string>,
    confirmChecks: "Check up to 100,000 payments with differences at the gateway, instead of 1,000",
    tooLarge: "The file is larger than 64 MiB. Upload it in parts.",
    interrupted: "The connection was interrupted. Upload the file again.",
    nothingUsed: "Nothing of the file was used.",
    known: "This file was uploaded before. This is its result.",
    period: "Period",
    noDays: "Without dates",
    lines: "Lines",
    differences: "Differences",
    by: "Uploaded by",
    statuses: {
      queued: "Waiting",
      running: "Comparing",
      succeeded: "Compared",
    } satisfies Record<ReconciliationView["status"], string>,
    agrees: "Agrees",
    differs: "Has differences",
    report: "Report",
    comparing: "Comparing the report with the payments",
    comparedLines: "Compared lines",
    reload: "Refresh",
    comparisonFailed: "The comparison has failed. Retry its job:",
    results: {
      matched: "Agrees",
      amount_differs: "Other amount",
      status_differs: "Other status",
      listed_twice: "Listed twice",
      missing_here: "Missing here",
      missing_there: "Missing in the report",
    } satisfies Record<DifferenceResult | "matched", string>,
    meanings: {
      amount_differs: "The payment or refund is stored here with another amount.",
      status_differs:
        "It has another state here: for example, the payment is not paid, or the refund is pending.",
      listed_twice: "An earlier line of the report is about the same settlement, refund, " +
        "chargeback or status. Ask the gateway whether it is paid out, or taken back, twice.",
      missing_here: "There is no such payment or refund here. If the gateway has it, take it over.",
      missing_there: "The payment was settled on the days of the report, but is not in it.",
    } satisfies Record<DifferenceResult, string>,
    queuedChecks: "Payments with differences that are checked at the gateway, one per second",
    noDifferences: "No differences.",
    /** The label of the choice between `states`. */
    show: "Show",
    states: { open: "Open", done: "Done", all: "All" },
    noneOf: {
      open: "No open differences.",
      done: "No difference is marked as done.",
    },
    allDone: "All done",
    markDone: "Mark as done",
    reopen: "Open again",
    takeOver: "Take over",
    takeOverAll: "Take over all that are missing here",
    takeOverEffects: [
      "The service asks the gateway for the transaction and stores it as a payment, with the state " +
      "that the gateway reports. Its events are sent to webhooks.",
      "If the gateway does not have the transaction, or its record differs from the report, nothing " +
      "is stored.",
      "The difference is marked as done, with your name.",
    ],
    takeOverAllEffects: [
      "A job asks the gateway for each transaction that is missing here, one after the other, and " +
      "stores it as a payment, with the state that the gateway reports. Their events are sent to " +
      "webhooks.",
      "Differences that cannot be taken over stay open. The job says why.",
      "The other ones are marked as done, with your name.",
    ],
    takenOver: (order: string) => `${order} is taken over and marked as done.`,
    takingOver:
      "A job takes over the transactions. Reload this page to see what is left; the page " +
      "Jobs shows the result.",
    /** Followed by a user and a time. */
    doneBy: "Done by",
    doneAt: "Done at",
    resolved: (order: string) => `${order} is marked as done.`,
    reopened: (order: string) => `${order} is open again.`,
    alreadyDone: (order: string, user: string, time: string) =>
      `${order} was already marked as done by ${user}, ${time}. Nothing was changed.`,
    alreadyOpen: (order: string) => `${order} was already open. Nothing was changed.`,
    line: "Line",
    kind: "Kind",
    kinds: {
      settlement: "Settlement",
      refund: "Refund",
      chargeback: "Chargeback",
      status: "Status only",
    } satisfies Record<DifferenceView["kind"], string>,
    inFile: "In the report",
    here: "Here",
    check: "Check at the gateway",
    checked: "Checked at the gateway.",
    byDay: "Fees and net by day",
    day: "Day",
    noDay: "Without a date",
    gross: "Gross",
    fee: "Fees",
    net: "Net",
    /** Followed by the names of columns. */
    notInReport: "Not in the report",
    moreDays: "The exported files have all days.",
  },
};

export const REPORTS_IN_INDONESIAN: typeof REPORTS_IN_ENGLISH = {
  reportsPage: {
    title: "Laporan",
    empty: "Tidak ada pembayaran dalam periode ini. Pilih periode lain.",
    interval: "Interval",
    intervals: { hour: "Jam", day: "Hari", week: "Minggu", month: "Bulan" },
    byInterval: { hour: "Per jam", day: "Per hari", week: "Per minggu", month: "Per bulan" },
    groupBy: "Kelompokkan menurut",
    groups: {
      payment_type: "Metode",
      bank: "Bank",
      transaction_status: "Status",
      user_id: "Pengguna",
      none: "Tanpa kelompok",
    },
    zone: "Zona waktu",
    show: "Tampilkan",
    begin: "Mulai",
    payments: "Pembayaran",
    paid: "Lunas",
    successRate: "Tingkat keberhasilan",
    gross: "Jumlah dibayar",
    refunded: "Dikembalikan",
    chargedBack: "Chargeback",
    net: "Neto",
    fees: "Biaya gateway",
    payout: "Neto setelah biaya",
    noBank: "Tanpa bank",
    noUser: "Tanpa pengguna",
    other: "Lainnya",
    noChart: "Periode ini terlalu panjang untuk grafik.",
    totals: "Total",
    moreGroups: "Kelompok lainnya ada di berkas ekspor.",
    asOf: "Per",
    explanation:
      "Pembayaran dan tingkat keberhasilan dihitung menurut waktu pembuatan; jumlah uang " +
      "menurut waktu dibayar, dikembalikan, atau chargeback. Biaya gateway diambil dari laporan " +
      "settlement yang sudah dibandingkan, menurut waktu pembayaran; selama belum ada laporannya, " +
      "pembayaran dihitung tanpa biaya. Chargeback sebagian dihitung 0 sampai gateway melaporkan " +
      "jumlahnya.",
  },
  reconciliationPage: {
    title: "Rekonsiliasi",
    purpose: "Bandingkan laporan settlement dari gateway dengan pembayaran yang tersimpan di sini.",
    empty: "Belum ada laporan yang diunggah.",
    upload: "Unggah laporan",
    uploading: "Pengunggahan",
    file: "Laporan (CSV)",
    fileHelp: "Maksimal 64 MiB. Berkas ini tidak mengubah pembayaran.",
    options: "Nama kolom dan pilihan",
    columnsHelp:
      "Kolom dikenali dari judul yang lazim. Jika judul di laporan Anda berbeda, tuliskan di sini.",
    columns: {
      order_id: "ID pesanan",
      transaction_id: "ID transaksi",
      amount: "Jumlah",
      type: "Jenis",
      status: "Status",
      refund_key: "Refund key",
      fee: "Biaya",
      net: "Jumlah neto",
      time: "Waktu",
    },
    confirmChecks: "Periksa hingga 100.000 pembayaran dengan selisih di gateway, bukan 1.000",
    tooLarge: "Berkas lebih besar dari 64 MiB. Unggah dalam beberapa bagian.",
    interrupted: "Koneksi terputus. Unggah berkas ini lagi.",
    nothingUsed: "Tidak ada isi berkas yang digunakan.",
    known: "Berkas ini sudah pernah diunggah. Ini hasilnya.",
    period: "Periode",
    noDays: "Tanpa tanggal",
    lines: "Baris",
    differences: "Selisih",
    by: "Diunggah oleh",
    statuses: { queued: "Menunggu", running: "Sedang dibandingkan", succeeded: "Selesai" },
    agrees: "Cocok",
    differs: "Ada selisih",
    report: "Laporan",
    comparing: "Membandingkan laporan dengan pembayaran",
    comparedLines: "Baris yang dibandingkan",
    reload: "Muat ulang",
    comparisonFailed: "Perbandingan gagal. Ulangi pekerjaannya:",
    results: {
      matched: "Cocok",
      amount_differs: "Jumlah berbeda",
      status_differs: "Status berbeda",
      listed_twice: "Tercatat dua kali",
      missing_here: "Tidak ada di sini",
      missing_there: "Tidak ada di laporan",
    },
    meanings: {
      amount_differs: "Pembayaran atau pengembalian dana tersimpan di sini dengan jumlah lain.",
      status_differs:
        "Statusnya lain di sini: misalnya, pembayaran belum lunas, atau pengembalian dana tertunda.",
      listed_twice: "Baris sebelumnya di laporan sudah memuat settlement, pengembalian dana, " +
        "chargeback, atau status yang sama. Tanyakan kepada gateway apakah dibayarkan atau ditarik dua kali.",
      missing_here:
        "Pembayaran atau pengembalian dana ini tidak ada di sini. Jika ada di gateway, " +
        "ambil alih.",
      missing_there:
        "Settlement pembayaran ini terjadi pada periode laporan, tetapi tidak ada di laporan.",
    },
    queuedChecks: "Pembayaran dengan selisih yang diperiksa di gateway, satu per detik",
    noDifferences: "Tidak ada selisih.",
    show: "Tampilkan",
    states: { open: "Terbuka", done: "Selesai", all: "Semua" },
    noneOf: {
      open: "Tidak ada selisih yang terbuka.",
      done: "Tidak ada selisih yang ditandai selesai.",
    },
    allDone: "Semua selesai",
    markDone: "Tandai selesai",
    reopen: "Buka lagi",
    takeOver: "Ambil alih",
    takeOverAll: "Ambil alih semua yang tidak ada di sini",
    takeOverEffects: [
      "Layanan menanyakan transaksi ini kepada gateway dan menyimpannya sebagai pembayaran, dengan " +
      "status dari gateway. Peristiwanya dikirim ke webhook.",
      "Jika gateway tidak memiliki transaksi ini, atau catatannya berbeda dari laporan, tidak ada " +
      "yang disimpan.",
      "Selisih ini ditandai selesai, dengan nama Anda.",
    ],
    takeOverAllEffects: [
      "Sebuah pekerjaan menanyakan setiap transaksi yang tidak ada di sini kepada gateway, satu per " +
      "satu, dan menyimpannya sebagai pembayaran, dengan status dari gateway. Peristiwanya dikirim " +
      "ke webhook.",
      "Selisih yang tidak dapat diambil alih tetap terbuka. Pekerjaan itu menyebutkan alasannya.",
      "Selisih lainnya ditandai selesai, dengan nama Anda.",
    ],
    takenOver: (order) => `${order} diambil alih dan ditandai selesai.`,
    takingOver: "Sebuah pekerjaan mengambil alih transaksi. Muat ulang halaman ini untuk melihat " +
      "sisanya; halaman Pekerjaan menunjukkan hasilnya.",
    doneBy: "Diselesaikan oleh",
    doneAt: "Selesai pada",
    resolved: (order) => `${order} ditandai selesai.`,
    reopened: (order) => `${order} dibuka lagi.`,
    alreadyDone: (order, user, time) =>
      `${order} sudah ditandai selesai oleh ${user}, ${time}. Tidak ada yang diubah.`,
    alreadyOpen: (order) => `${order} memang masih terbuka. Tidak ada yang diubah.`,
    line: "Baris",
    kind: "Jenis",
    kinds: {
      settlement: "Settlement",
      refund: "Pengembalian dana",
      chargeback: "Chargeback",
      status: "Hanya status",
    },
    inFile: "Di laporan",
    here: "Di sini",
    check: "Periksa di gateway",
    checked: "Telah diperiksa di gateway.",
    byDay: "Biaya dan jumlah neto per hari",
    day: "Hari",
    noDay: "Tanpa tanggal",
    gross: "Bruto",
    fee: "Biaya",
    net: "Neto",
    notInReport: "Tidak ada di laporan",
    moreDays: "Semua hari ada di berkas ekspor.",
  },
};
