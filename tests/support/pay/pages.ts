/** Payment pages of every screen and method, without a service. */

import {
  type ChargedMethodId,
  METHOD_IDS,
  type MethodId,
} from "../../../core/checkouts/methods.ts";
import { CHARGED_METHODS } from "../checkouts/checkouts.ts";
import type { PageModel, Screen, ShownPayment } from "../../../pay/model.ts";

const NOW = new Date("2026-11-18T03:00:00Z");

const NO_PAYMENT: ShownPayment = {
  va_number: null,
  bill_key: null,
  biller_code: null,
  payment_code: null,
  qr_string: null,
  qrPath: null,
  deeplink_url: null,
  redirect_url: null,
  expiry_time: new Date("2026-11-19T03:00:00Z"),
};

/** As long as those of the gateway. */
export const QR_STRING = "00020101021226620014COM.GO-JEK.WWW011993600914349306420021027GO12345678" +
  "0303UKE51440014ID.CO.QRIS.WWW0215ID20190222949050303UKE5204581253033605406275000" +
  "5802ID5914Toko Kopi Nusa6007JAKARTA61051212062475036a1b2c3d4-e5f6-4718-8293-a4b5c6d7e8f9" +
  "0703A016304B2F1";

const PAYMENTS: Record<ChargedMethodId, Partial<ShownPayment>> = {
  qris: { qr_string: QR_STRING },
  gopay: {
    qrPath: "/pay/tok_en-1/qr",
    deeplink_url: "gojek://gopay/merchanttransfer?tref=1509110800474199656LMVO",
  },
  shopeepay: { deeplink_url: "https://wsa.wallet.airpay.co.id/universal-link/wallet/pay?ref=1" },
  ovo: { expiry_time: new Date("2026-11-18T03:00:55Z") },
  bca_va: { va_number: "81234567890123456" },
  bni_va: { va_number: "9888123456789012" },
  bri_va: { va_number: "262151234567890123" },
  cimb_va: { va_number: "2810123456789012" },
  permata_va: { va_number: "8562123456789012" },
  echannel: { biller_code: "70012", bill_key: "778347787706" },
  indomaret: { payment_code: "25811234567890" },
  alfamart: { payment_code: "025811234567" },
  akulaku: { redirect_url: "https://api.example.com/v2/akulaku/redirect/1" },
  kredivo: { redirect_url: "https://api.example.com/v2/kredivo/redirect/1" },
};

const LIMITS: Partial<Record<MethodId, [number | null, number | null]>> = {
  qris: [null, 10_000_000],
  gopay: [null, 20_000_000],
  shopeepay: [null, 20_000_000],
  ovo: [null, 99_999_999],
  bca_va: [10_000, 20_000_000_000],
  cimb_va: [null, 250_000_000],
  indomaret: [10_000, 5_000_000],
  alfamart: [null, 5_000_000],
  akulaku: [5_000, null],
};

export function chooseScreen(
  overrides: Partial<Extract<Screen, { type: "choose" }>> = {},
): Screen {
  const methods = METHOD_IDS.map((id) => {
    const [min, max] = LIMITS[id] ?? [null, null];
    return { id, min, max };
  });
  return { type: "choose", methods, notice: null, noticeMethod: null, phone: null, ...overrides };
}

export function cardScreen(overrides: Partial<Extract<Screen, { type: "card" }>> = {}): Screen {
  return {
    type: "card",
    url: "https://app.example.com/snap/v3/redirection/1?language=id",
    endsAt: new Date("2026-11-18T04:00:00Z"),
    state: "ready",
    change: "now",
    ...overrides,
  };
}

export function instructionsScreen(
  method: ChargedMethodId,
  overrides: Partial<ShownPayment> = {},
): Screen {
  const payment = { ...NO_PAYMENT, ...PAYMENTS[method], ...overrides };
  const change = method === "ovo" ? "later" : method === "kredivo" ? "never" : "now";
  return { type: "instructions", method, payment, change };
}

export function paidScreen(overrides: Partial<Extract<Screen, { type: "paid" }>> = {}): Screen {
  return {
    type: "paid",
    method: "bca_va",
    amount: 275_000,
    paidAt: new Date("2026-11-18T03:12:41Z"),
    isLate: false,
    paymentId: "0193c0de-7a11-7000-8000-00000000cafe",
    finishUrl: "https://shop.example.com/thanks?checkout=1",
    ...overrides,
  };
}

/** Every screen, with every method or variant that changes it, by a name. */
export const SCREENS: Record<string, Screen> = {
  choose: chooseScreen(),
  "choose-none": chooseScreen({ methods: [] }),
  ...Object.fromEntries(
    (["method_refused", "method_failed", "attempt_expired", "closed"] as const).map((notice) => [
      `choose-${notice}`,
      chooseScreen({ notice, noticeMethod: "bca_va" }),
    ]),
  ),
  "choose-phone_unknown": chooseScreen({
    notice: "phone_unknown",
    noticeMethod: "ovo",
    phone: "081234567890",
  }),
  ...Object.fromEntries(
    (["method_refused", "method_failed", "attempt_expired", "closed", "cards_denied"] as const)
      .map((notice) => [
        `choose-card-${notice}`,
        chooseScreen({ notice, noticeMethod: "credit_card" }),
      ]),
  ),
  "choose-without-method": chooseScreen({ notice: "closed" }),
  "waiting-starting": {
    type: "waiting",
    reason: "starting",
    method: "bca_va",
    repeat: { phone: null },
  },
  "waiting-starting-charge": {
    type: "waiting",
    reason: "starting",
    method: "bca_va",
    repeat: null,
  },
  "waiting-closing": { type: "waiting", reason: "closing", method: "gopay", repeat: null },
  "waiting-closing-card": {
    type: "waiting",
    reason: "closing",
    method: "credit_card",
    repeat: null,
  },
  "confirm-bank": {
    type: "confirm",
    by: "bank",
    url: "https://api.example.com/v2/3ds/redirect/1",
    endsAt: new Date("2026-11-18T03:10:00Z"),
  },
  "confirm-dana": {
    type: "confirm",
    by: "dana",
    url: "https://app.example.com/dana/1",
    endsAt: null,
  },
  ...Object.fromEntries(CHARGED_METHODS.map((id) => [`pay-${id}`, instructionsScreen(id)])),
  "pay-credit_card": cardScreen(),
  "pay-credit_card-failed": cardScreen({ state: "failed" }),
  "pay-credit_card-in_process": cardScreen({ state: "in_process", change: "never" }),
  "pay-gopay-string": instructionsScreen("gopay", { qr_string: QR_STRING }),
  "pay-shopeepay-app": instructionsScreen("shopeepay", { deeplink_url: "shopeeid://pay?ref=1" }),
  "pay-qris-long": instructionsScreen("qris", { qr_string: "x".repeat(5_000) }),
  "pay-bca_va-missing": instructionsScreen("bca_va", { va_number: null, expiry_time: null }),
  "pay-gopay-missing": instructionsScreen("gopay", { qrPath: null, deeplink_url: null }),
  "pay-kredivo-missing": instructionsScreen("kredivo", { redirect_url: null }),
  processing: { type: "processing", method: "akulaku" },
  "processing-card": { type: "processing", method: "credit_card" },
  "processing-unknown": { type: "processing", method: null },
  paid: paidScreen(),
  "paid-partly": paidScreen({ amount: 150_000, method: "credit_card" }),
  "paid-late": paidScreen({ isLate: true, finishUrl: null, method: "credit_card" }),
  expired: { type: "expired" },
  cancelled: { type: "cancelled" },
  failed: { type: "failed" },
};

export function pageModel(screen: Screen, overrides: Partial<PageModel> = {}): PageModel {
  return {
    language: "id",
    path: "/pay/tok_en-1",
    merchant: { name: "Kopi Nusantara", color: "#0f766e", logoPath: null },
    order: {
      order_id: "KN-20261118-0042",
      gross_amount: 275_000,
      items: [
        { name: "Kopi Gayo, biji, 1 kg", price: 120_000, quantity: 2 },
        { name: "Ongkos kirim", price: 45_000, quantity: 1 },
        { name: "Diskon pelanggan setia", price: -10_000, quantity: 1 },
      ],
      customer_name: "Siti Utami",
    },
    expiresAt: new Date("2026-11-19T03:00:00Z"),
    now: NOW,
    cancelUrl: "https://shop.example.com/cart",
    stateKey: "state-1",
    screen,
    ...overrides,
  };
}
