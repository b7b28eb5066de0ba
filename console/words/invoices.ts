/** The texts of the pages of invoices. */

import type { InvoiceStatus } from "../../core/invoices/states.ts";

export const INVOICES_IN_ENGLISH = {
  title: "Invoices",
  statuses: {
    pending: "Not confirmed",
    draft: "Draft",
    sent: "Open",
    partial: "Partly paid",
    overdue: "Overdue",
    paid: "Paid",
    void: "Void",
    failed: "Failed",
  } satisfies Record<InvoiceStatus, string>,
  none: "No invoices were found.",
  noneOnPage: "No invoices match on this page. Continue with the next page.",
  number: "Invoice number",
  orderId: "Order id",
  due: "Due",
  dueFrom: "Due from",
  dueTo: "Due to",
  createdFrom: "Created from",
  createdTo: "Created to",
  paid: "Paid",
  notes: "Notes",
  total: "Total",
  gatewayId: "Id at the gateway",
  customerId: "Customer id",
  voidReason: "Voided because",
  pdf: "PDF",
  link: "Payment link",
  linkHelp: "Send this link to the customer. The gateway does not send it.",
  payments: "Payments",
  noPayments: "The customer has not started a payment yet.",
  unconfirmed:
    "The gateway has not confirmed this invoice, so it is not known whether it exists there. The " +
    "service checks this automatically; the payment link appears here when it is known. Do not " +
    "create the invoice again before that.",
  failed: "The gateway rejected this invoice. The customer cannot pay it.",
  noActions: "This invoice cannot be voided in its current state.",
  checked: "The invoice was checked at the gateway.",
  notCheckedYet: "The gateway has not confirmed this invoice yet, so it could not be checked.",
  void: "Void the invoice",
  voidEffects: (amount: string, customer: string) => [
    `The payment link stops working: ${customer} can no longer pay ${amount}.`,
    "A payment that the customer has already started can still arrive, usually within 24 hours. " +
    "The invoice is then paid.",
    "A void invoice cannot be opened again. Create a new one instead.",
  ],
  voidReasonHelp: "Optional; stored with the invoice and sent to the gateway",
  voided: "The invoice is void.",
  voidUnknown:
    "The gateway did not confirm whether the invoice is void. The service checks it automatically; " +
    "the invoice shows the result when it is known. You can send this form again: the invoice is " +
    "voided only once.",
  create: "Create an invoice",
  customer: "Customer",
  phoneHelp: "Such as 0812 3456 7890 or +62 812 3456 7890",
  dueHelp: "The last day to pay. It ends at midnight WIB.",
  numberHelp: "The customer sees it. Leave it empty to get a new number.",
  orderHelp: "The id of your order. Leave it empty to get a new id.",
  notesHelp: "The customer sees this text below the items.",
  priceHelp:
    "Price for one, in whole rupiah, such as 75000, 75.000 or Rp 75.000. For a discount, press " +
    "“Add a discount”.",
  discount: "Discount",
  addDiscount: "Add a discount",
  optional: "optional",
  line: (number: number) => `Line ${number}`,
  discountLine: (number: number) => `Line ${number}: discount, is subtracted`,
  moreLines: "Add a line",
  noMoreLines: (most: number) =>
    `This form has at most ${most} lines. Use the API for longer invoices.`,
  review: "Continue",
  reviewTitle: "Check the invoice",
  createEffects: (amount: string) => [
    `The gateway creates an invoice of ${amount} and a payment link for it.`,
    "The customer gets no message. Copy the link on the next page and send it.",
    "You can void the invoice, but not change it.",
  ],
  change: "Change",
  created: "The invoice was created. Copy its payment link and send it to the customer.",
  createUnknown:
    "The gateway did not confirm whether it created the invoice. The service checks it " +
    "automatically. You can send this form again: the invoice is created only once.",
  keyUsed: "This form was already used for another invoice. Nothing was created now.",
  amountChanged: "The total is not the one that was shown. Nothing was created; check it again.",
  fixErrors: "Nothing was created. Correct the marked fields.",
  openInvoice: "Open the invoice",
};

export const INVOICES_IN_INDONESIAN: typeof INVOICES_IN_ENGLISH = {
  title: "Invoice",
  statuses: {
    pending: "Belum dikonfirmasi",
    draft: "Draf",
    sent: "Terbuka",
    partial: "Dibayar sebagian",
    overdue: "Lewat jatuh tempo",
    paid: "Lunas",
    void: "Dibatalkan",
    failed: "Gagal",
  },
  none: "Tidak ada invoice yang ditemukan.",
  noneOnPage: "Tidak ada invoice yang cocok di halaman ini. Lanjutkan ke halaman berikutnya.",
  number: "Nomor invoice",
  orderId: "ID pesanan",
  due: "Jatuh tempo",
  dueFrom: "Jatuh tempo dari",
  dueTo: "Jatuh tempo sampai",
  createdFrom: "Dibuat dari",
  createdTo: "Dibuat sampai",
  paid: "Dibayar",
  notes: "Catatan",
  total: "Total",
  gatewayId: "ID di gateway",
  customerId: "ID pelanggan",
  voidReason: "Alasan pembatalan",
  pdf: "PDF",
  link: "Tautan pembayaran",
  linkHelp: "Kirim tautan ini ke pelanggan. Gateway tidak mengirimnya.",
  payments: "Pembayaran",
  noPayments: "Pelanggan belum memulai pembayaran.",
  unconfirmed:
    "Gateway belum mengonfirmasi invoice ini, jadi belum diketahui apakah invoice ini ada di sana. " +
    "Layanan memeriksanya secara otomatis; tautan pembayaran muncul di sini setelah diketahui. " +
    "Jangan membuat invoice ini lagi sebelum itu.",
  failed: "Gateway menolak invoice ini. Pelanggan tidak dapat membayarnya.",
  noActions: "Invoice ini tidak dapat dibatalkan dalam status sekarang.",
  checked: "Invoice telah diperiksa di gateway.",
  notCheckedYet: "Gateway belum mengonfirmasi invoice ini, jadi belum dapat diperiksa.",
  void: "Batalkan invoice",
  voidEffects: (amount, customer) => [
    `Tautan pembayaran berhenti berfungsi: ${customer} tidak dapat lagi membayar ${amount}.`,
    "Pembayaran yang sudah dimulai pelanggan masih dapat masuk, biasanya dalam 24 jam. Invoice " +
    "kemudian menjadi lunas.",
    "Invoice yang dibatalkan tidak dapat dibuka lagi. Buatlah invoice baru.",
  ],
  voidReasonHelp: "Opsional; disimpan bersama invoice dan dikirim ke gateway",
  voided: "Invoice telah dibatalkan.",
  voidUnknown:
    "Gateway tidak mengonfirmasi apakah invoice dibatalkan. Layanan memeriksanya secara otomatis; " +
    "invoice menampilkan hasilnya setelah diketahui. Anda dapat mengirim formulir ini lagi: invoice " +
    "hanya dibatalkan sekali.",
  create: "Buat invoice",
  customer: "Pelanggan",
  phoneHelp: "Misalnya 0812 3456 7890 atau +62 812 3456 7890",
  dueHelp: "Hari terakhir untuk membayar, sampai tengah malam WIB.",
  numberHelp: "Terlihat oleh pelanggan. Kosongkan untuk mendapat nomor baru.",
  orderHelp: "ID pesanan Anda. Kosongkan untuk mendapat ID baru.",
  notesHelp: "Pelanggan melihat teks ini di bawah daftar barang.",
  priceHelp:
    "Harga satuan dalam rupiah bulat, misalnya 75000, 75.000, atau Rp 75.000. Untuk diskon, tekan " +
    "“Tambah diskon”.",
  discount: "Diskon",
  addDiscount: "Tambah diskon",
  optional: "opsional",
  line: (number) => `Baris ${number}`,
  discountLine: (number) => `Baris ${number}: diskon, dikurangkan dari total`,
  moreLines: "Tambah baris",
  noMoreLines: (most) =>
    `Formulir ini memuat paling banyak ${most} baris. Gunakan API untuk invoice yang lebih panjang.`,
  review: "Lanjutkan",
  reviewTitle: "Periksa invoice",
  createEffects: (amount) => [
    `Gateway membuat invoice sebesar ${amount} beserta tautan pembayarannya.`,
    "Pelanggan tidak mendapat pesan. Salin tautan di halaman berikutnya, lalu kirimkan.",
    "Invoice dapat dibatalkan, tetapi tidak dapat diubah.",
  ],
  change: "Ubah",
  created: "Invoice telah dibuat. Salin tautan pembayarannya dan kirimkan ke pelanggan.",
  createUnknown:
    "Gateway tidak mengonfirmasi apakah invoice dibuat. Layanan memeriksanya secara otomatis. Anda " +
    "dapat mengirim formulir ini lagi: invoice hanya dibuat sekali.",
  keyUsed: "Formulir ini sudah dipakai untuk invoice lain. Tidak ada yang dibuat sekarang.",
  amountChanged: "Totalnya berbeda dari yang ditampilkan. Tidak ada yang dibuat; periksa lagi.",
  fixErrors: "Tidak ada yang dibuat. Perbaiki kolom yang ditandai.",
  openInvoice: "Buka invoice",
};
