/**
 * Messages of the core about fields and states, in Bahasa Indonesia. As with gettext, the English
 * message is the key; `{}` stands for a value. The API has these messages in English only.
 */

import { MAX_AMOUNT, rupiah } from "../../core/money.ts";

/** A message of the core with its amounts as people write them, such as `Rp 44.000`. */
export function writeAmounts(message: string): string {
  return message
    .replace(/(?<=^must be at most )\d+(?=, the )|(?<=add up to at most )\d+$/, rupiah)
    .replace(`must be at most ${MAX_AMOUNT}`, `must be at most ${rupiah(String(MAX_AMOUNT))}`)
    .replace(/(?<=rupiah from )(\d+) to (\d+)/, (_, from, to) => `${rupiah(from)} to ${rupiah(to)}`)
    .replaceAll(/\b\d+\.00\b/g, rupiah)
    // Not only amounts have such limits.
    .replace(/(?<=^must be at most )\d{4,}$|(?<=whole number from \d+ to )\d{4,}$/, grouped);
}

function grouped(number: string): string {
  return rupiah(number).replace("Rp ", "");
}

/** A message that is not in the table stays English. */
export function translateToIndonesian(message: string): string {
  return translate(message, INDONESIAN_PATTERNS);
}

/** Without words of the API, such as the names of its fields. */
export function translateToPlainEnglish(message: string): string {
  return translate(message, ENGLISH_PATTERNS);
}

function translate(message: string, patterns: ReturnType<typeof patternsOf>): string {
  for (const { pattern, translation } of patterns) {
    const found = pattern.exec(message);
    if (!found) continue;
    const values = found.slice(1);
    return translation.replaceAll("{}", () => values.shift() ?? "");
  }
  return message;
}

/** What the console says instead of a message that only fits a program. */
export const MESSAGES_IN_PLAIN_ENGLISH: Readonly<Record<string, string>> = {
  "must be a whole number above 0":
    "must be an amount from Rp 1 to Rp 9.999.999.999.999, such as 75.000",
  "must be a whole number of rupiah from {} to {}":
    "must be an amount from {} to {}, such as 75.000",
  "must be later than {}": "must be later than the start of the range",
  "must not be {} than {}": "must not be {} than the start of the range",
  "must start with the country code and contain only digits, such as {}":
    "must be a phone number, such as 0812 3456 7890",
  "must have at most {} elements": "must have at most {} lines",
  "The order id {}, or one of {} to ~{}, is already in use. Send another order_id.":
    "The order id {}, or one of {} to ~{}, is already in use. Enter another one.",
  "is already used by another invoice; send another number, or omit it":
    "is already used by another invoice; enter another number, or leave it empty",
  "Order id {} is already in use. Send a new order_id, or retry with the original Idempotency-Key.":
    "Order id {} is already in use. Enter another one, or leave it empty.",
  "The gateway already has a transaction with this order id. Send a new order_id.":
    "The gateway already has a transaction with this order id. Enter another one.",
  "needs created_from, at most {} days before created_to (default: now), or a filter by customer, order, transaction, virtual account, invoice or subscription":
    "needs a period of at most {} days, or a filter by customer, order, transaction, virtual " +
    "account, invoice or subscription",
};

/** The first pattern that fits is used, so a specific message comes before a general one. */
export const MESSAGES_IN_INDONESIAN: Readonly<Record<string, string>> = {
  // Fields.
  "is required": "wajib diisi",
  "must not be empty": "tidak boleh kosong",
  "must be at most {} characters long": "paling banyak {} karakter",
  "must be at most {} characters": "paling banyak {} karakter",
  "must have at least {} characters": "paling sedikit {} karakter",
  "must be 1-255 printable characters": "harus 1–255 karakter yang dapat dicetak",
  "must not contain control characters": "tidak boleh berisi karakter kontrol",
  "must be sent only once": "hanya boleh dikirim sekali",
  "must be an email address": "harus berupa alamat email",
  "must be a phone number with at least {} digits":
    "harus berupa nomor telepon, paling sedikit {} angka",
  "must start with the country code and contain only digits, such as {}":
    "harus berupa nomor telepon, misalnya 0812 3456 7890",
  "must be a virtual account number": "harus berupa nomor virtual account",
  "must contain only letters, digits and - _ ~ . and must not be . or ..":
    "hanya boleh berisi huruf, angka, dan - _ ~ . serta tidak boleh . atau ..",
  "must be one of {}": "harus salah satu dari {}",
  "must have at most {} values": "paling banyak {} nilai",
  "must have at most {} elements": "paling banyak {} baris",
  "is not known; did you mean {}?": "tidak dikenal; maksud Anda {}?",
  "must be a UUID": "harus berupa UUID",
  "must be the id of a payment, an invoice or a subscription":
    "harus berupa ID pembayaran, invoice, atau langganan",
  "must be a cursor from a Link header": "tidak valid; mulai dari halaman pertama",
  "belongs to a list with other filters; start without it":
    "berasal dari daftar dengan filter lain; mulai dari halaman pertama",

  // Numbers and amounts.
  "must be a whole number above 0":
    "harus berupa jumlah dari Rp 1 sampai Rp 9.999.999.999.999, misalnya 75.000",
  "must be a whole number of rupiah from {} to {}":
    "harus berupa jumlah dari {} sampai {}, misalnya 75.000",
  "must be an amount of at most {}, such as {}":
    "harus berupa jumlah paling banyak {}, misalnya {}",
  "must have discounts of at most {}": "jumlah diskon paling banyak {}",
  "must be a whole number from {} to {}": "harus berupa bilangan bulat dari {} sampai {}",
  "must be at most {}, the amount left to refund":
    "paling banyak {}, yaitu sisa yang dapat dikembalikan",
  "must be at most {}, the authorized amount": "paling banyak {}, yaitu jumlah yang diotorisasi",
  "must add up to more than 0": "jumlahnya harus lebih dari 0",
  "must add up to at most {}": "jumlahnya paling banyak {}",
  "must be at most {}": "paling banyak {}",

  // Days, times and filters.
  "must be a date such as {}": "harus berupa tanggal, misalnya {}",
  "must be a day such as {}, or a time such as {}":
    "harus berupa tanggal, misalnya {}, atau waktu, misalnya {}",
  "must be a day such as {}": "harus berupa tanggal, misalnya {}",
  "must be in the years {} to {}": "harus dalam tahun {} sampai {}",
  "must be a time such as {}": "harus berupa waktu, misalnya {}",
  "must be today or later in Western Indonesia Time (UTC+7)":
    "harus hari ini atau setelahnya (WIB)",
  "must be later than {}": "harus setelah awal periode",
  "must not be {} than {}": "tidak boleh kurang dari batas awal",
  "needs created_from, at most {} days before created_to (default: now), or a filter by customer, order, transaction, virtual account, invoice or subscription":
    "memerlukan periode paling lama {} hari, atau filter menurut pelanggan, pesanan, transaksi, " +
    "virtual account, invoice, atau langganan",
  "gives more than {} intervals; use a longer one":
    "lebih dari {} interval; pilih interval yang lebih panjang",
  "gives more than {} rows; use a longer interval":
    "menghasilkan lebih dari {} baris; pilih interval yang lebih panjang",

  // Checkouts, invoices and webhook endpoints.
  "must be from 2 minutes to 30 days in the future": "harus dari 2 menit sampai 30 hari ke depan",
  "The order id {}, or one of {} to ~{}, is already in use. Send another order_id.":
    "ID pesanan {}, atau salah satu dari {} sampai ~{}, sudah dipakai. Pakai ID lain.",
  "is already used by another invoice; send another number, or omit it":
    "sudah dipakai invoice lain; pakai nomor lain, atau kosongkan",
  "Order id {} is already in use. Send a new order_id, or retry with the original Idempotency-Key.":
    "ID pesanan {} sudah dipakai. Pakai ID lain, atau kosongkan.",
  "The gateway already has a transaction with this order id. Send a new order_id.":
    "Gateway sudah memiliki transaksi dengan ID pesanan ini. Pakai ID lain.",
  "must be a URL such as {}": "harus berupa URL, misalnya {}",
  "must be a URL, such as {}": "harus berupa URL, misalnya {}",
  "must begin with https:// or http://": "harus diawali https:// atau http://",
  "must begin with https://": "harus diawali https://",
  "must not contain a user name or password": "tidak boleh berisi nama pengguna atau kata sandi",
  "must not contain a fragment (#…)": "tidak boleh berisi fragmen (#…)",
  "must not have the port 0": "tidak boleh memakai port 0",
  "must be a public address": "harus berupa alamat publik",
  "must not be localhost": "tidak boleh localhost",
  "must resolve to public addresses only": "harus mengarah ke alamat publik saja",
  "is missing; open the form again": "tidak ada; buka lagi formulir",
  "is too old; load the form again": "terlalu lama; muat ulang formulir",

  // Webhooks and notifications.
  "The connection was refused": "Koneksi ditolak",
  "The connection was closed before a response arrived": "Koneksi ditutup sebelum ada jawaban",
  "The host is unreachable": "Host tidak dapat dihubungi",
  "The host resolves to a private address": "Host mengarah ke alamat privat",
  "The host name does not resolve": "Nama host tidak ditemukan",
  "Only https URLs are allowed": "Hanya URL https yang diizinkan",
  "The response is not valid HTTP": "Jawaban bukan HTTP yang valid",
  "The certificate is not valid: {}": "Sertifikat tidak valid: {}",
  "The TLS handshake failed": "Jabat tangan TLS gagal",
  "The connection failed: {}": "Koneksi gagal: {}",
  "The connection failed": "Koneksi gagal",
  "No response within {} s": "Tidak ada jawaban dalam {} detik",
  "The gateway's record differs from the notification.": "Catatan gateway berbeda dari notifikasi.",
  "The gateway's record of the transaction is incomplete.":
    "Catatan transaksi di gateway tidak lengkap.",
  'The gateway reports the status "{}", which the service does not know. The payment keeps its status and is checked again.':
    'Gateway melaporkan status "{}", yang tidak dikenal layanan. Status pembayaran tetap, dan diperiksa lagi.',

  // Reports of the gateway.
  "is missing; choose a report": "belum dipilih; pilih laporan",
  "is empty; send the report as CSV": "kosong; pilih laporan CSV",
  "was incomplete; send the form again": "tidak lengkap; kirim formulir lagi",
  "was incomplete": "tidak lengkap",
  "must be UTF-8; export the report as CSV UTF-8": "harus UTF-8; ekspor laporan sebagai CSV UTF-8",
  "has more than {} days; send it in parts": "lebih dari {} hari; unggah dalam beberapa bagian",
  "has lines from {} to {}, more than {} days; correct the times, or send it in parts":
    "memiliki baris dari {} sampai {}, lebih dari {} hari; perbaiki waktunya, atau unggah dalam beberapa bagian",
  "line {}: the amounts of one day are too large to add up":
    "baris {}: jumlah dalam satu hari terlalu besar",
  "line {}": "baris {}",
  "{}: the file has several such columns, {}": "{}: berkas memiliki beberapa kolom seperti itu, {}",
  "{}: the file has no column {}": "{}: berkas tidak memiliki kolom {}",
  "name the column of {}; the file has {}": "sebutkan nama kolom {}; berkas berisi {}",
  "has {} cells, but the header has {}": "memiliki {} sel, tetapi judulnya {}",
  "has no order id or transaction id": "tidak memiliki ID pesanan atau ID transaksi",
  "has an invalid id": "memiliki ID yang tidak valid",
  "has an invalid amount: {}; use whole rupiah such as {}":
    "memiliki jumlah yang tidak valid: {}; pakai rupiah bulat, misalnya {}",
  "has an invalid fee: {}": "memiliki biaya yang tidak valid: {}",
  "has an invalid net: {}": "memiliki jumlah bersih yang tidak valid: {}",
  "has an invalid time: {}; use {} or {}": "memiliki waktu yang tidak valid: {}; pakai {} atau {}",
  "has an unknown type: {}": "memiliki jenis yang tidak dikenal: {}",
  "has an unknown status: {}": "memiliki status yang tidak dikenal: {}",
  "is not valid CSV: {}": "bukan CSV yang valid: {}",
  "Maximum size of a report is {} MiB. Send it in parts.":
    "Ukuran laporan paling besar {} MiB. Unggah dalam beberapa bagian.",
  "The same file was uploaded at the same time. Send it again to get its result.":
    "Berkas yang sama sedang diunggah. Unggah lagi untuk melihat hasilnya.",

  // Taking over differences.
  "The gateway has no transaction {}, which line {} of the file names. Check that the file is a report of this gateway account.":
    "Gateway tidak memiliki transaksi {} yang disebut baris {} berkas ini. Pastikan berkas ini laporan dari akun gateway yang sama.",
  "The gateway's transaction {} has other ids than line {} of the file: order {}, transaction {}. Look it up at the gateway.":
    "ID transaksi {} di gateway berbeda dari baris {} berkas: pesanan {}, transaksi {}. Periksa di gateway.",
  "The gateway's record of transaction {} is incomplete, or has a status that the service does not know ({}). Look it up at the gateway.":
    "Catatan transaksi {} di gateway tidak lengkap, atau statusnya tidak dikenal layanan ({}). Periksa di gateway.",
  "Another line has the same {} of payment {}. Ask the gateway whether it is paid out twice.":
    "Baris lain memuat {} yang sama untuk pembayaran {}. Tanyakan kepada gateway apakah dibayarkan dua kali.",
  "The gateway's record differs from line {} of the file: the line is a {} of {}, and the gateway reports {} with the status {}. Look it up at the gateway, and mark the difference as resolved when it is explained.":
    "Catatan gateway berbeda dari baris {} berkas: baris itu {} sebesar {}, sedangkan gateway melaporkan {} dengan status {}. Periksa di gateway, lalu tandai selisih ini selesai setelah jelas.",
  "It is not clear whether the transaction of order {} belongs to payment {}, whose charge the gateway has not answered. Retry when that charge has a result.":
    "Belum jelas apakah transaksi pesanan {} milik pembayaran {}, yang belum dijawab gateway. Coba lagi setelah pembayaran itu ada hasilnya.",
  "Only a difference with the result missing_here can be taken over; this one is {}. Check its payment at the gateway instead.":
    "Hanya selisih dengan hasil missing_here yang dapat diambil alih; yang ini {}. Periksa pembayarannya di gateway.",
  "The difference is marked as resolved. Open it again before you take it over.":
    "Selisih ini sudah ditandai selesai. Buka lagi sebelum diambil alih.",
  "The file is not compared yet. Retry when its status is succeeded.":
    "Berkas ini belum selesai dibandingkan. Coba lagi setelah selesai.",

  // States of payments, invoices and subscriptions.
  "Virtual accounts have no refunds; return the money by bank transfer.":
    "Pembayaran lewat virtual account tidak dapat dikembalikan melalui gateway; kembalikan uangnya dengan transfer bank.",
  "{} virtual accounts have no refunds; return the money by bank transfer.":
    "Pembayaran lewat virtual account {} tidak dapat dikembalikan melalui gateway; kembalikan uangnya dengan transfer bank.",
  "Mandiri bills have no refunds; return the money by bank transfer.":
    "Pembayaran lewat Mandiri Bill tidak dapat dikembalikan melalui gateway; kembalikan uangnya dengan transfer bank.",
  "Payments at {} have no refunds; return the money by bank transfer.":
    "Pembayaran di {} tidak dapat dikembalikan melalui gateway; kembalikan uangnya dengan transfer bank.",
  "A payment with status {} cannot be cancelled. Refund it instead.":
    "Pembayaran berstatus {} tidak dapat dibatalkan. Kembalikan dananya.",
  "A payment with status {} cannot be cancelled.":
    "Pembayaran berstatus {} tidak dapat dibatalkan.",
  "Only a pending payment can be expired; this one has the status {}.":
    "Hanya pembayaran yang menunggu yang dapat diakhiri; statusnya sekarang {}.",
  "Only an authorized card payment can be captured; this one has the status {}.":
    "Hanya pembayaran kartu yang diotorisasi yang dapat ditagih; statusnya sekarang {}.",
  "Only a challenged payment can be approved or denied.":
    "Hanya pembayaran yang perlu ditinjau yang dapat disetujui atau ditolak.",
  "The full amount is already refunded or being refunded.":
    "Seluruh dana sudah atau sedang dikembalikan.",
  "A captured payment cannot be refunded before it is settled. Cancel it instead.":
    "Dana pembayaran kartu belum dapat dikembalikan sebelum settlement. Batalkan saja pembayarannya.",
  "A payment with status {} cannot be refunded.":
    "Dana pembayaran berstatus {} tidak dapat dikembalikan.",
  "The gateway rejected the request: {}": "Gateway menolak permintaan: {}",
  "An invoice with status {} cannot be voided. Refund its payment instead.":
    "Invoice berstatus {} tidak dapat dibatalkan. Kembalikan dana pembayarannya.",
  "An invoice with status {} cannot be voided.": "Invoice berstatus {} tidak dapat dibatalkan.",
  "A checkout with status {} cannot be cancelled. Refund its payment instead.":
    "Checkout berstatus {} tidak dapat dibatalkan. Kembalikan dana pembayarannya.",
  "A checkout with status {} cannot be cancelled.": "Checkout berstatus {} tidak dapat dibatalkan.",
  "The gateway has not confirmed yet that the customer's payment is closed. Retry later.":
    "Gateway belum mengonfirmasi bahwa pembayaran pelanggan sudah ditutup. Coba lagi nanti.",
  "A subscription that is {} cannot be {}.":
    "Tindakan ini tidak dapat dilakukan pada langganan berstatus {}.",
  "The gateway has not confirmed this subscription yet. Retry later.":
    "Gateway belum mengonfirmasi langganan ini. Coba lagi nanti.",

  // Keys, jobs, endpoints and load.
  "{} is the last valid staff key. Create another one first, with the command `keys create --user ID --staff`.":
    "{} adalah key staf terakhir yang masih berlaku. Buat yang lain dulu dengan perintah " +
    "`keys create --user ID --staff`.",
  "Another job of this task is already queued for the same resource, so no retry is needed.":
    "Pekerjaan lain untuk hal yang sama sudah menunggu, jadi tidak perlu diulang.",
  "Only a failed job can be retried; this one is {}.":
    "Hanya pekerjaan yang gagal yang dapat diulang; statusnya sekarang {}.",
  "The request is more than 23 hours old and can no longer be processed. Read the job's error for its last known result.":
    "Permintaan ini sudah lebih dari 23 jam dan tidak dapat diproses lagi. Lihat hasil terakhir pada " +
    "kesalahan pekerjaan.",
  "The card token was erased when the job ended. To retry, the caller has to send the same request with the same Idempotency-Key.":
    "Token kartu dihapus saat pekerjaan berakhir. Pemanggil API harus mengirim permintaan yang sama " +
    "dengan Idempotency-Key yang sama.",
  "The endpoint was changed after this page was shown. Load the page again.":
    "Endpoint diubah setelah halaman ini ditampilkan. Muat ulang halaman.",
  "You have {} open exports, and the limit is {}. Wait until one has ended.":
    "Anda memiliki {} ekspor yang berjalan, dan batasnya {}. Tunggu sampai salah satunya selesai.",
  "The service has no room for more exports. Retry in {} s.":
    "Layanan tidak dapat menjalankan ekspor lagi. Coba lagi dalam {} detik.",
  "The statistics are being computed from all payments. Retry in {} s; GET /status/ shows the progress of update_stats.":
    "Statistik sedang dihitung dari semua pembayaran. Coba lagi dalam {} detik.",
  "Retry in {} s.": "Coba lagi dalam {} detik.",
};

const INDONESIAN_PATTERNS = patternsOf(MESSAGES_IN_INDONESIAN);
const ENGLISH_PATTERNS = patternsOf(MESSAGES_IN_PLAIN_ENGLISH);

function patternsOf(messages: Readonly<Record<string, string>>) {
  return Object.entries(messages).map(([message, translation]) => ({
    pattern: new RegExp(`^${message.split("{}").map(escape).join("(.+)")}$`, "s"),
    translation,
  }));
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
