/** What staff do about the problems that actions of the console can have, by error code. */

import type { ErrorCode } from "../../core/errors.ts";

/** The core says more about these problems: its detail follows the text. */
export const WITH_DETAIL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "validation_error",
  "invalid_state",
  "refund_denied",
  "capture_denied",
  "gateway_error",
  "gateway_validation",
  "payload_too_large",
  "rate_limited",
  "unavailable",
]);

export const PROBLEMS_IN_ENGLISH = {
  /** Codes without a text are shown with the core's own text, which is English. */
  texts: {
    validation_error: "Something in the form is not valid.",
    invalid_state: "This is not possible now.",
    duplicate_order: "This order id is already in use. Choose another one.",
    refund_denied:
      "The bank declined the refund, and nothing was refunded. Try again later, or pay the customer " +
      "back in another way.",
    capture_denied:
      "The bank declined the capture. Try again, capture a smaller amount, or cancel the payment.",
    gateway_error:
      "The gateway returned an error. Check the status at the gateway, then try again.",
    gateway_validation: "The gateway rejected this. Change what you entered, and send it again.",
    gateway_authentication:
      "The gateway rejected the server key of this service. Ask your operators to check it.",
    gateway_rate_limited: "The gateway accepts no more requests now. Try again in a minute.",
    gateway_unreachable: "The gateway cannot be reached. Try again later.",
    gateway_timeout:
      "The gateway did not respond in time. Load the page again in a minute, and check what has " +
      "happened before you try again.",
    forbidden: "You are not permitted to do this. Sign in with a staff key.",
    not_found: "This page or record does not exist, or it was deleted.",
    idempotency_in_progress:
      "This form is being processed. Load the page again in a few seconds to see the result.",
    idempotency_key_reused:
      "This form was already sent with other values, and nothing was done. Open it again.",
    payload_too_large: "This is too large.",
    unsupported_media_type: "The form was not sent completely. Load the page again.",
    rate_limited: "Too many requests were sent. Wait a moment.",
    internal_error:
      "An unexpected error occurred. Check whether the action was done before you try again. If it " +
      "happens again, give your operators the request id below.",
    unavailable: "The service is temporarily unavailable. Try again in a few seconds.",
  } satisfies Partial<Record<ErrorCode, string>>,
  overloaded: "The service is overloaded. Nothing was done. Try again in a few seconds.",
  foreignForm: "The form is too old or comes from another site. Load the page again.",
};

export const PROBLEMS_IN_INDONESIAN: typeof PROBLEMS_IN_ENGLISH = {
  texts: {
    validation_error: "Ada isian formulir yang tidak valid.",
    invalid_state: "Ini tidak dapat dilakukan sekarang.",
    duplicate_order: "ID pesanan ini sudah dipakai. Pilih ID lain.",
    refund_denied:
      "Bank menolak pengembalian dana, dan tidak ada dana yang dikembalikan. Coba lagi nanti, atau " +
      "kembalikan dana kepada pelanggan dengan cara lain.",
    capture_denied:
      "Bank menolak penagihan kartu. Coba lagi, tagih jumlah yang lebih kecil, atau batalkan " +
      "pembayaran.",
    gateway_error: "Gateway mengembalikan kesalahan. Periksa status di gateway, lalu coba lagi.",
    gateway_validation: "Gateway menolak permintaan ini. Ubah isian Anda, lalu kirim lagi.",
    gateway_authentication:
      "Gateway menolak server key layanan ini. Minta tim operasional memeriksanya.",
    gateway_rate_limited: "Gateway sedang membatasi permintaan. Coba lagi dalam satu menit.",
    gateway_unreachable: "Gateway tidak dapat dihubungi. Coba lagi nanti.",
    gateway_timeout:
      "Gateway tidak merespons tepat waktu. Muat ulang halaman dalam satu menit, dan periksa hasilnya " +
      "sebelum mencoba lagi.",
    forbidden: "Anda tidak diizinkan melakukan ini. Masuk dengan key staf.",
    not_found: "Halaman atau data ini tidak ada, atau sudah dihapus.",
    idempotency_in_progress:
      "Formulir ini sedang diproses. Muat ulang halaman dalam beberapa detik untuk melihat hasilnya.",
    idempotency_key_reused:
      "Formulir ini sudah pernah dikirim dengan isian lain, dan tidak ada yang dilakukan. Buka lagi " +
      "formulirnya.",
    payload_too_large: "Ukurannya terlalu besar.",
    unsupported_media_type: "Formulir tidak terkirim lengkap. Muat ulang halaman.",
    rate_limited: "Terlalu banyak permintaan. Tunggu sebentar.",
    internal_error:
      "Terjadi kesalahan yang tidak terduga. Periksa apakah tindakan sudah dilakukan sebelum mencoba " +
      "lagi. Jika terulang, berikan ID permintaan di bawah ini kepada tim operasional.",
    unavailable: "Layanan sedang tidak tersedia. Coba lagi dalam beberapa detik.",
  },
  overloaded: "Layanan kelebihan beban. Tidak ada yang dilakukan. Coba lagi dalam beberapa detik.",
  foreignForm: "Formulir ini terlalu lama atau berasal dari situs lain. Muat ulang halaman.",
};
