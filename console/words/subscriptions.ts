/** The texts of the pages of subscriptions. */

import type { SubscriptionAction, SubscriptionStatus } from "../../core/subscriptions/states.ts";

export const SUBSCRIPTIONS_IN_ENGLISH = {
  title: "Subscriptions",
  statuses: {
    pending: "Not confirmed",
    active: "Active",
    inactive: "Ended",
    disabled: "Paused",
    cancelled: "Cancelled",
    failed: "Failed",
  } satisfies Record<SubscriptionStatus, string>,
  none: "No subscriptions were found.",
  noneOnPage: "No subscriptions match on this page. Continue with the next page.",
  plan: "Plan",
  every: (interval: number, unit: "day" | "week" | "month") =>
    interval === 1 ? `every ${unit}` : `every ${interval} ${unit}s`,
  cycles: "Charges so far",
  cycleOf: (current: number, last: number | null) =>
    last === null ? `${current}, no end` : `${current} of ${last}`,
  start: "Starts",
  next: "Next charge",
  gatewayId: "Id at the gateway",
  charges: "Charges",
  noCharges: "Nothing was charged yet.",
  unconfirmed:
    "The gateway has not confirmed this subscription, so it is not known whether it exists there. " +
    "The service checks this automatically. Do not create it again before the result is known.",
  failed: "The gateway rejected this subscription. It charges nothing.",
  ended: "The gateway has ended this subscription: all charges were made, or a charge and all " +
    "its retries failed.",
  noActions: "This subscription cannot be changed in its current state.",
  checked: "The subscription and its charges were checked at the gateway.",
  notCheckedYet: "The gateway has not confirmed this subscription yet, so it could not be checked.",
  actionNames: {
    disable: "Pause",
    enable: "Resume",
    cancel: "Cancel the subscription",
  } satisfies Record<SubscriptionAction, string>,
  effects: {
    disable: (plan, next) => [
      next === null
        ? `The charges of ${plan} stop.`
        : `The charges of ${plan} stop. The charge of ${next} is not made.`,
      "If a charge has failed and the gateway is retrying it, the retries continue.",
      "You can resume the subscription later.",
    ],
    enable: (plan) => [
      `The customer is charged again: ${plan}.`,
      "Charges that were missed during the pause are not made later.",
    ],
    cancel: (plan, next) => [
      next === null
        ? `The charges of ${plan} end permanently.`
        : `The charges of ${plan} end permanently. The charge of ${next} is not made.`,
      "The gateway also stops retrying a failed charge. Earlier charges are not refunded.",
      "A cancelled subscription cannot be resumed.",
    ],
  } satisfies Record<SubscriptionAction, (plan: string, next: string | null) => string[]>,
  done: {
    disable: "The subscription is paused.",
    enable: "The subscription is active again.",
    cancel: "The subscription is cancelled.",
  } satisfies Record<SubscriptionAction, string>,
  outcomeUnknown:
    "The gateway did not confirm the result. The service repeats the request until the gateway " +
    "answers; the subscription shows the result when it is known. You do not have to do anything.",
};

export const SUBSCRIPTIONS_IN_INDONESIAN: typeof SUBSCRIPTIONS_IN_ENGLISH = {
  title: "Langganan",
  statuses: {
    pending: "Belum dikonfirmasi",
    active: "Aktif",
    inactive: "Berakhir",
    disabled: "Dijeda",
    cancelled: "Dibatalkan",
    failed: "Gagal",
  },
  none: "Tidak ada langganan yang ditemukan.",
  noneOnPage: "Tidak ada langganan yang cocok di halaman ini. Lanjutkan ke halaman berikutnya.",
  plan: "Paket",
  every: (interval, unit) => {
    const name = { day: "hari", week: "minggu", month: "bulan" }[unit];
    return interval === 1 ? `setiap ${name}` : `setiap ${interval} ${name}`;
  },
  cycles: "Tagihan sejauh ini",
  cycleOf: (current, last) => last === null ? `${current}, tanpa batas` : `${current} dari ${last}`,
  start: "Mulai",
  next: "Tagihan berikutnya",
  gatewayId: "ID di gateway",
  charges: "Tagihan",
  noCharges: "Belum ada tagihan.",
  unconfirmed:
    "Gateway belum mengonfirmasi langganan ini, jadi belum diketahui apakah langganan ini ada di " +
    "sana. Layanan memeriksanya secara otomatis. Jangan membuatnya lagi sebelum hasilnya diketahui.",
  failed: "Gateway menolak langganan ini. Tidak ada yang ditagih.",
  ended:
    "Gateway telah mengakhiri langganan ini: semua tagihan sudah dibuat, atau sebuah tagihan " +
    "dan semua percobaan ulangnya gagal.",
  noActions: "Langganan ini tidak dapat diubah dalam status sekarang.",
  checked: "Langganan dan tagihannya telah diperiksa di gateway.",
  notCheckedYet: "Gateway belum mengonfirmasi langganan ini, jadi belum dapat diperiksa.",
  actionNames: {
    disable: "Jeda",
    enable: "Lanjutkan",
    cancel: "Batalkan langganan",
  },
  effects: {
    disable: (plan, next) => [
      next === null
        ? `Tagihan ${plan} dihentikan.`
        : `Tagihan ${plan} dihentikan. Tagihan pada ${next} tidak dibuat.`,
      "Jika sebuah tagihan gagal dan gateway sedang mencobanya lagi, percobaan itu berlanjut.",
      "Langganan dapat dilanjutkan nanti.",
    ],
    enable: (plan) => [
      `Pelanggan ditagih lagi: ${plan}.`,
      "Tagihan yang terlewat selama jeda tidak ditagihkan kemudian.",
    ],
    cancel: (plan, next) => [
      next === null
        ? `Tagihan ${plan} dihentikan secara permanen.`
        : `Tagihan ${plan} dihentikan secara permanen. Tagihan pada ${next} tidak dibuat.`,
      "Gateway juga berhenti mencoba tagihan yang gagal. Pembayaran sebelumnya tidak dikembalikan.",
      "Langganan yang dibatalkan tidak dapat dilanjutkan.",
    ],
  },
  done: {
    disable: "Langganan dijeda.",
    enable: "Langganan aktif lagi.",
    cancel: "Langganan dibatalkan.",
  },
  outcomeUnknown:
    "Gateway tidak mengonfirmasi hasilnya. Layanan mengulangi permintaan sampai gateway menjawab; " +
    "langganan menampilkan hasilnya setelah diketahui. Anda tidak perlu melakukan apa pun.",
};
