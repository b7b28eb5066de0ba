/** The texts of the payment page. The English ones define the type of the others. */

import type { Language } from "./format.ts";

const ENGLISH = {
  languageName: "English",
  languages: "Language",
  skip: "Skip to payment",
  titleOf: (heading: string, shop: string) => `${heading} · ${shop}`,

  total: "Total",
  order: "Order",
  orderFor: "For",
  orderDetails: "Order details",
  units: { million: "million", billion: "billion" },

  copy: "Copy",
  copied: "Copied",
  copyOf: (label: string) => `Copy ${label.toLowerCase()}`,
  payBefore: "Pay before",
  timeLeft: "Time left",
  days: "days",

  choose: {
    title: "How would you like to pay?",
    groups: {
      qr: "QRIS and e-wallets",
      card: "Credit or debit card",
      bank: "Bank transfer (virtual account)",
      store: "Pay at a store",
      later: "Pay later",
    },
    hints: {
      qris: "Any bank or e-wallet app",
      credit_card: "Visa, Mastercard, JCB",
      echannel: "Mandiri Bill Payment",
      store: "Cash at the till",
      later: "In instalments",
    },
    between: (min: string, max: string) => `${min} – ${max}`,
    from: (min: string) => `From ${min}`,
    upTo: (max: string) => `Up to ${max}`,
    none: "There is no way to pay this amount here.",
    noneHelp: (shop: string) => `Please contact ${shop}.`,
    phone: "Phone number of your OVO account",
    phoneHelp: "Keep your phone at hand: OVO will ask you to confirm there.",
    phoneUnknown: "This number has no OVO account. Please check it.",
    phoneDigits: "A phone number of 8 to 15 digits",
    withOvo: "Pay with OVO",
  },
  notices: {
    method_refused: (method: string) =>
      `${method} isn’t available at the moment. Please choose another way to pay.`,
    method_failed: (method: string) =>
      `Your ${method} payment didn’t go through. Try again, or choose another way to pay.`,
    attempt_expired: (method: string) =>
      `The time to pay with ${method} has run out. Please choose again.`,
    phone_unknown: (method: string) =>
      `We couldn’t find an ${method} account with that number. Check it, or choose another way.`,
    closed: (method: string) =>
      `Your ${method} payment was closed. Please don’t use its number or code any more.`,
  },
  noticeWithoutMethod:
    "Please choose how to pay again, and don’t use an earlier number or code any more.",

  card: {
    name: "card",
    title: "Pay by card",
    help: "You’ll enter your card details on Midtrans’s secure page and then come back here. " +
      "The shop never sees your card number.",
    open: "Enter card details",
    again: "Try again with a card",
    toBank: "Continue to the bank",
    failed: "The card payment didn’t go through. Try again with this card or another one, or " +
      "choose another way to pay.",
    inProcess:
      "Your bank is verifying the card. Complete the verification on the bank’s page, or " +
      "wait here for the result.",
    notices: {
      method_refused:
        "Card payments aren’t available at the moment. Please choose another way to pay.",
      method_failed: "The card payment didn’t go through. Try again, or choose another way to pay.",
      attempt_expired: "The time to pay by card has run out. Please choose again.",
      closed: "Your card payment was closed. If the card page is still open in another tab, " +
        "please close it.",
      cards_denied:
        "Your card payments were declined several times. Please choose another way to pay.",
    },
  },

  waiting: {
    starting: (method: string) => `Preparing your ${method} payment`,
    startingHelp: "This usually takes a few seconds.",
    repeatHelp: "Does it take longer? Try again. You won’t be charged twice.",
    repeat: "Try again",
    closing: (method: string) => `Closing your ${method} payment`,
    closingHelp:
      "You can choose another way to pay in a moment. Please don’t pay with the old number or code.",
    closingCardHelp: "Your bank may still be verifying the card. This can take up to 15 minutes. " +
      "After that, you can choose another way to pay.",
  },
  processing: {
    title: "We’re processing your payment",
    help: "There is nothing more for you to do. You will see the result here.",
    helpWith: (method: string) => `${method} is confirming your payment.`,
    cardUnderReview: "Your card payment is being reviewed.",
  },

  pay: {
    bank: (bank: string) => `Transfer to a ${bank} virtual account`,
    bill: "Pay with Mandiri",
    scan: "Scan to pay",
    wallet: (wallet: string) => `Pay with ${wallet}`,
    ovo: "Confirm in the OVO app",
    store: (store: string) => `Pay at ${store}`,
    later: (name: string) => `Continue with ${name}`,
  },
  vaNumber: "Virtual account number",
  billerCode: "Company code",
  billKey: "Payment code",
  paymentCode: "Payment code",
  amount: "Amount",
  howToPay: "How to pay",
  menusDiffer: "The names of menus may differ slightly.",
  channels: { mobile: "Mobile banking", atm: "ATM", internet: "Internet banking" },
  qrLabel: "QR code of this payment",
  saveQr: "Save QR code",
  qrTooLong: "The QR code can’t be shown. Please choose another way to pay.",
  qrisSteps: [
    "Open any bank or e-wallet app and choose *Scan* or *QRIS*.",
    "Scan this code. On the same phone: save it, then pick it from your gallery in the app.",
    "Check the shop and the amount, then confirm.",
  ],
  openApp: (wallet: string) => `Open ${wallet}`,
  onThisPhone: (wallet: string) => `Have ${wallet} on this device?`,
  orScan: "Or scan with another phone",
  scanWith: (wallet: string) => `Scan this code with the ${wallet} app.`,
  scanWithCamera: (wallet: string) => `Scan with your phone’s camera to open ${wallet}.`,
  appHelp: (wallet: string) => `Confirm in ${wallet}, then come back to this page.`,
  useAPhone: (wallet: string) =>
    `Open this page on the phone that has ${wallet}, or choose another way to pay.`,
  ovoSteps: [
    "Open the *OVO* app. A payment request is waiting there.",
    "Check the shop and the amount.",
    "Confirm within one minute.",
  ],
  ovoHelp: "No request? Open the notifications in the app (the bell).",
  storeSteps: (store: string, shop: string) => [
    `Go to any ${store}.`,
    `Tell the cashier: *“I’d like to pay for an online order from ${shop}, through Midtrans.”*`,
    "Show or read out the payment code.",
    "Pay, and keep the receipt.",
  ],
  storeNames: { indomaret: "Indomaret", alfamart: "Alfamart, Alfamidi or Dan+Dan" },
  laterHelp: (name: string) =>
    `You’ll choose your instalments on ${name}’s own page. Then open this page again to see the result.`,
  continueTo: (name: string) => `Continue to ${name}`,
  missing: "The details of this payment aren’t available yet.",

  waitingForYou: "Waiting for your payment",
  updatesItself: "This page updates by itself as soon as you have paid.",
  comeBack: "You can close this page and open the same link again, on any device.",
  havePaid: "I have paid",
  checkAgain: "Check again",
  checking: "Checking…",
  notYet: "No payment yet. It can take a minute to arrive.",
  cannotCheck: "No connection. Please try again.",
  change: "Choose another way to pay",
  changeLater: "You can choose another way to pay when this request has run out.",
  cannotChange: "The way to pay can’t be changed any more.",
  backTo: (shop: string) => `Back to ${shop}`,

  paid: {
    title: "Payment received",
    thanks: (name: string) => `Thank you, ${name}.`,
    thankYou: "Thank you.",
    late: (shop: string) =>
      `Your payment arrived after the deadline. Please ask ${shop} whether your order still goes ahead.`,
    receipt: "Receipt",
    paidTo: "Paid to",
    paidWith: "Paid with",
    virtualAccount: (bank: string) => `${bank} virtual account`,
    card: "Card",
    paidAt: "Paid on",
    reference: "Reference",
    amount: "Amount paid",
    print: "Print or save receipt",
    done: "You can close this page.",
  },
  expired: {
    title: "The time to pay has run out",
    help: "Please don’t pay with the old number or code any more.",
    next: (shop: string) => `To buy again, place a new order at ${shop}.`,
    already: "Already paid? It can take a few minutes to arrive. Check again here.",
  },
  cancelled: {
    title: "This payment was cancelled",
    help: "Please don’t pay with the old number or code any more.",
    next: (shop: string) => `If you still want to buy, place a new order at ${shop}.`,
    already: "Already paid? It can take a few minutes to arrive. Check again here.",
  },
  failed: {
    title: "The payment didn’t go through",
    help: "If money was taken from your account, contact the shop and give them the order number.",
    next: (shop: string) => `To try again, go back to ${shop}.`,
    already: "Already paid? It can take a few minutes to arrive. Check again here.",
  },
  problems: {
    unknown: {
      title: "Payment not found",
      help: "The link may be incomplete, or the payment ended some time ago. Open it again from " +
        "the shop.",
    },
    unavailable: {
      title: "The page can’t be shown right now",
      help: "Nothing was lost. Please try again in a moment.",
    },
    again: "Try again",
  },
};

export type Words = typeof ENGLISH;

const INDONESIAN: Words = {
  languageName: "Indonesia",
  languages: "Bahasa",
  skip: "Langsung ke pembayaran",
  titleOf: (heading, shop) => `${heading} · ${shop}`,

  total: "Total",
  order: "Pesanan",
  orderFor: "Untuk",
  orderDetails: "Rincian pesanan",
  units: { million: "juta", billion: "miliar" },

  copy: "Salin",
  copied: "Tersalin",
  copyOf: (label) => `Salin ${label.toLowerCase()}`,
  payBefore: "Bayar sebelum",
  timeLeft: "Sisa waktu",
  days: "hari",

  choose: {
    title: "Pilih cara bayar",
    groups: {
      qr: "QRIS dan e-wallet",
      card: "Kartu kredit atau debit",
      bank: "Transfer bank (virtual account)",
      store: "Bayar di gerai",
      later: "Bayar nanti",
    },
    hints: {
      qris: "Semua aplikasi bank dan e-wallet",
      credit_card: "Visa, Mastercard, JCB",
      echannel: "Mandiri Bill Payment",
      store: "Tunai di kasir",
      later: "Bisa dicicil",
    },
    between: (min, max) => `${min} – ${max}`,
    from: (min) => `Mulai ${min}`,
    upTo: (max) => `Sampai ${max}`,
    none: "Belum ada cara bayar untuk jumlah ini.",
    noneHelp: (shop) => `Silakan hubungi ${shop}.`,
    phone: "Nomor HP akun OVO Anda",
    phoneHelp: "Siapkan HP Anda: OVO akan meminta konfirmasi di sana.",
    phoneUnknown: "Nomor ini belum terdaftar di OVO. Coba periksa lagi.",
    phoneDigits: "Nomor HP dengan 8 sampai 15 angka",
    withOvo: "Bayar dengan OVO",
  },
  notices: {
    method_refused: (method) =>
      `${method} sedang tidak bisa dipakai. Silakan pilih cara bayar lain.`,
    method_failed: (method) =>
      `Pembayaran dengan ${method} tidak berhasil. Coba lagi, atau pilih cara bayar lain.`,
    attempt_expired: (method) =>
      `Waktu untuk membayar dengan ${method} sudah habis. Silakan pilih lagi.`,
    phone_unknown: (method) =>
      `Nomor itu belum terdaftar di ${method}. Periksa nomornya, atau pilih cara bayar lain.`,
    closed: (method) =>
      `Pembayaran ${method} sudah ditutup. Jangan gunakan lagi nomor atau kodenya.`,
  },
  noticeWithoutMethod:
    "Silakan pilih lagi cara bayar, dan jangan gunakan nomor atau kode sebelumnya.",

  card: {
    name: "kartu",
    title: "Bayar dengan kartu",
    help: "Isi data kartu di halaman Midtrans yang aman. Setelah itu Anda kembali ke sini. Toko " +
      "tidak melihat nomor kartu Anda.",
    open: "Isi data kartu",
    again: "Coba lagi dengan kartu",
    toBank: "Lanjut ke halaman bank",
    failed: "Pembayaran dengan kartu tidak berhasil. Coba lagi dengan kartu ini atau kartu lain, " +
      "atau ganti cara bayar.",
    inProcess:
      "Bank sedang memverifikasi kartu Anda. Selesaikan verifikasi di halaman bank, atau " +
      "tunggu hasilnya di sini.",
    notices: {
      method_refused:
        "Pembayaran dengan kartu sedang tidak tersedia. Silakan pilih cara bayar lain.",
      method_failed:
        "Pembayaran dengan kartu tidak berhasil. Coba lagi, atau pilih cara bayar lain.",
      attempt_expired: "Waktu untuk membayar dengan kartu sudah habis. Silakan pilih lagi.",
      closed:
        "Pembayaran dengan kartu sudah ditutup. Kalau halaman kartunya masih terbuka di tab " +
        "lain, silakan tutup.",
      cards_denied:
        "Pembayaran dengan kartu sudah beberapa kali ditolak. Silakan pilih cara bayar lain.",
    },
  },

  waiting: {
    starting: (method) => `Menyiapkan pembayaran dengan ${method}`,
    startingHelp: "Biasanya hanya beberapa detik.",
    repeatHelp: "Lebih lama dari itu? Coba lagi. Anda tidak akan ditagih dua kali.",
    repeat: "Coba lagi",
    closing: (method) => `Menutup pembayaran dengan ${method}`,
    closingHelp:
      "Sebentar lagi Anda bisa memilih cara bayar lain. Jangan bayar ke nomor atau kode yang lama.",
    closingCardHelp: "Bank mungkin masih memverifikasi kartu Anda. Ini bisa memakan waktu hingga " +
      "15 menit. Setelah selesai, Anda bisa memilih cara bayar lain.",
  },
  processing: {
    title: "Pembayaran Anda sedang diproses",
    help: "Anda tidak perlu melakukan apa-apa lagi. Hasilnya akan tampil di sini.",
    helpWith: (method) => `${method} sedang mengonfirmasi pembayaran Anda.`,
    cardUnderReview: "Pembayaran Anda dengan kartu sedang ditinjau.",
  },

  pay: {
    bank: (bank) => `Transfer ke virtual account ${bank}`,
    bill: "Bayar lewat Mandiri",
    scan: "Scan untuk bayar",
    wallet: (wallet) => `Bayar dengan ${wallet}`,
    ovo: "Konfirmasi di aplikasi OVO",
    store: (store) => `Bayar di ${store}`,
    later: (name) => `Lanjutkan di ${name}`,
  },
  vaNumber: "Nomor virtual account",
  billerCode: "Kode perusahaan",
  billKey: "Kode bayar",
  paymentCode: "Kode pembayaran",
  amount: "Jumlah",
  howToPay: "Cara bayar",
  menusDiffer: "Nama menu bisa sedikit berbeda.",
  channels: { mobile: "Mobile banking", atm: "ATM", internet: "Internet banking" },
  qrLabel: "Kode QR pembayaran ini",
  saveQr: "Simpan kode QR",
  qrTooLong: "Kode QR tidak bisa ditampilkan. Silakan pilih cara bayar lain.",
  qrisSteps: [
    "Buka aplikasi bank atau e-wallet apa saja, lalu pilih *Scan* atau *QRIS*.",
    "Scan kode ini. Kalau di HP yang sama: simpan kodenya, lalu pilih dari galeri di aplikasi.",
    "Periksa nama toko dan jumlahnya, lalu konfirmasi.",
  ],
  openApp: (wallet) => `Buka ${wallet}`,
  onThisPhone: (wallet) => `Ada ${wallet} di perangkat ini?`,
  orScan: "Atau scan dengan HP lain",
  scanWith: (wallet) => `Scan kode ini dengan aplikasi ${wallet}.`,
  scanWithCamera: (wallet) => `Scan dengan kamera HP untuk membuka ${wallet}.`,
  appHelp: (wallet) => `Konfirmasi di ${wallet}, lalu kembali ke halaman ini.`,
  useAPhone: (wallet) =>
    `Buka halaman ini di HP yang ada ${wallet}-nya, atau pilih cara bayar lain.`,
  ovoSteps: [
    "Buka aplikasi *OVO*. Permintaan pembayaran sudah menunggu di sana.",
    "Periksa nama toko dan jumlahnya.",
    "Konfirmasi dalam satu menit.",
  ],
  ovoHelp: "Belum ada permintaan? Buka notifikasi di aplikasi (ikon lonceng).",
  storeSteps: (store, shop) => [
    `Datang ke gerai ${store} mana saja.`,
    `Bilang ke kasir: *“Mau bayar belanja online di ${shop}, lewat Midtrans.”*`,
    "Tunjukkan atau sebutkan kode pembayarannya.",
    "Bayar, lalu simpan struknya.",
  ],
  storeNames: { indomaret: "Indomaret", alfamart: "Alfamart, Alfamidi, atau Dan+Dan" },
  laterHelp: (name) =>
    `Pilih cicilan Anda di halaman ${name}. Setelah selesai, buka lagi halaman ini untuk melihat hasilnya.`,
  continueTo: (name) => `Lanjut ke ${name}`,
  missing: "Rincian pembayaran ini belum tersedia.",

  waitingForYou: "Menunggu pembayaran Anda",
  updatesItself: "Halaman ini berubah sendiri begitu pembayaran Anda masuk.",
  comeBack: "Halaman ini boleh ditutup. Buka lagi lewat link yang sama, di perangkat mana pun.",
  havePaid: "Saya sudah bayar",
  checkAgain: "Cek lagi",
  checking: "Mengecek…",
  notYet: "Pembayaran belum masuk. Kadang perlu waktu sekitar satu menit.",
  cannotCheck: "Tidak ada koneksi. Silakan coba lagi.",
  change: "Ganti cara bayar",
  changeLater: "Anda bisa memilih cara bayar lain setelah waktu permintaan ini habis.",
  cannotChange: "Cara bayar tidak bisa diganti lagi.",
  backTo: (shop) => `Kembali ke ${shop}`,

  paid: {
    title: "Pembayaran berhasil",
    thanks: (name) => `Terima kasih, ${name}.`,
    thankYou: "Terima kasih.",
    late: (shop) =>
      `Pembayaran Anda masuk setelah batas waktu. Tanyakan ke ${shop} apakah pesanan Anda tetap diproses.`,
    receipt: "Bukti pembayaran",
    paidTo: "Dibayar ke",
    paidWith: "Dibayar dengan",
    virtualAccount: (bank) => `Virtual account ${bank}`,
    card: "Kartu",
    paidAt: "Waktu bayar",
    reference: "Nomor referensi",
    amount: "Jumlah dibayar",
    print: "Cetak atau simpan bukti",
    done: "Halaman ini boleh ditutup.",
  },
  expired: {
    title: "Waktu pembayaran sudah habis",
    help: "Jangan bayar lagi ke nomor atau kode yang lama.",
    next: (shop) => `Kalau masih ingin membeli, buat pesanan baru di ${shop}.`,
    already: "Sudah bayar? Kadang perlu beberapa menit. Cek lagi di sini.",
  },
  cancelled: {
    title: "Pembayaran ini dibatalkan",
    help: "Jangan bayar lagi ke nomor atau kode yang lama.",
    next: (shop) => `Kalau masih ingin membeli, buat pesanan baru di ${shop}.`,
    already: "Sudah bayar? Kadang perlu beberapa menit. Cek lagi di sini.",
  },
  failed: {
    title: "Pembayaran tidak berhasil",
    help: "Kalau saldo Anda terpotong, hubungi toko dan sebutkan nomor pesanan Anda.",
    next: (shop) => `Untuk mencoba lagi, kembali ke ${shop}.`,
    already: "Sudah bayar? Kadang perlu beberapa menit. Cek lagi di sini.",
  },
  problems: {
    unknown: {
      title: "Pembayaran tidak ditemukan",
      help: "Mungkin link-nya tidak lengkap, atau pembayarannya sudah lama selesai. Coba buka " +
        "lagi dari toko.",
    },
    unavailable: {
      title: "Halaman belum bisa ditampilkan",
      help: "Tidak ada yang hilang. Silakan coba lagi sebentar lagi.",
    },
    again: "Coba lagi",
  },
};

const WORDS = { id: INDONESIAN, en: ENGLISH };

export const LANGUAGES = Object.keys(WORDS) as Language[];

export function wordsOf(language: Language): Words {
  return WORDS[language];
}
