/**
 * How to pay a virtual account or a Mandiri bill in the apps, machines and sites of each bank.
 * Texts between asterisks are names of menus; banks show most of them in Indonesian only.
 */

import type { Language } from "./format.ts";

export type Channel = "mobile" | "atm" | "internet";

export interface Guide {
  channel: Channel;
  /** The app or site; null: the bank's machine, which has no name. */
  name: string | null;
  steps: string[];
}

/** The methods that are paid at a bank. */
export type BankMethod = "bca_va" | "bni_va" | "bri_va" | "cimb_va" | "permata_va" | "echannel";

/** The menus that lead to the field for the number; empty: they differ too much to name them. */
const MENUS: Record<BankMethod, { name: string | null; channel: Channel; path: string[] }[]> = {
  bca_va: [
    { channel: "mobile", name: "BCA mobile", path: ["m-Transfer", "BCA Virtual Account"] },
    {
      channel: "atm",
      name: null,
      path: ["Transaksi Lainnya", "Transfer", "Ke Rek BCA Virtual Account"],
    },
    {
      channel: "internet",
      name: "KlikBCA",
      path: ["Transfer Dana", "Transfer ke BCA Virtual Account"],
    },
  ],
  bni_va: [
    {
      channel: "mobile",
      name: "BNI Mobile Banking",
      path: ["Transfer", "Virtual Account Billing"],
    },
    {
      channel: "atm",
      name: null,
      path: ["Menu Lainnya", "Transfer", "Rekening Tabungan", "Virtual Account Billing"],
    },
    {
      channel: "internet",
      name: "BNI Internet Banking",
      path: ["Transfer", "Virtual Account Billing"],
    },
  ],
  bri_va: [
    { channel: "mobile", name: "BRImo", path: ["BRIVA", "Pembayaran Baru"] },
    { channel: "atm", name: null, path: ["Transaksi Lain", "Pembayaran", "Lainnya", "BRIVA"] },
    { channel: "internet", name: "BRI Internet Banking", path: ["Pembayaran", "BRIVA"] },
  ],
  cimb_va: [
    { channel: "mobile", name: "OCTO", path: [] },
    { channel: "atm", name: null, path: ["Pembayaran", "Lanjut", "Virtual Account"] },
    { channel: "internet", name: "OCTO Clicks", path: [] },
  ],
  permata_va: [
    { channel: "mobile", name: "Permata Mobile", path: [] },
    {
      channel: "atm",
      name: null,
      path: ["Transaksi Lainnya", "Pembayaran", "Pembayaran Lainnya", "Virtual Account"],
    },
    { channel: "internet", name: "PermataNet", path: [] },
  ],
  echannel: [
    { channel: "mobile", name: "Livin’ by Mandiri", path: ["Bayar/VA"] },
    { channel: "atm", name: null, path: ["Bayar/Beli", "Lainnya", "Multipayment"] },
    { channel: "internet", name: "Mandiri Internet Banking", path: ["Bayar", "Multipayment"] },
  ],
};

const ENGLISH = {
  open: (name: string) => `Open *${name}* and log in.`,
  insertCard: "Insert your card and enter your PIN.",
  choose: (path: string) => `Choose ${path}.`,
  findMenu: "Find the menu to pay a *virtual account*, often below *Transfer* or *Payment*.",
  enterNumber: "Enter the *virtual account number*.",
  enterBill: "Enter the *company code*, then the *payment code*.",
  findBiller: "Find the company by its *company code*, then enter the *payment code*.",
  check: "Check the name and the amount.",
  enterAmount: "If you are asked, enter exactly the *amount*. Check the name.",
  confirm: {
    mobile: "Confirm with your PIN or password.",
    atm: "Confirm, and keep the receipt.",
    internet: "Confirm with your token or password.",
  },
};

const INDONESIAN: typeof ENGLISH = {
  open: (name) => `Buka *${name}*, lalu login.`,
  insertCard: "Masukkan kartu dan PIN Anda.",
  choose: (path) => `Pilih ${path}.`,
  findMenu: "Cari menu untuk membayar *virtual account*, biasanya di *Transfer* atau *Pembayaran*.",
  enterNumber: "Masukkan *nomor virtual account*.",
  enterBill: "Masukkan *kode perusahaan*, lalu *kode bayar*.",
  findBiller: "Cari perusahaannya dengan *kode perusahaan*, lalu masukkan *kode bayar*.",
  check: "Periksa nama dan jumlahnya.",
  enterAmount: "Kalau diminta, masukkan *jumlah* yang persis sama. Periksa namanya.",
  confirm: {
    mobile: "Konfirmasi dengan PIN atau kata sandi Anda.",
    atm: "Konfirmasi, lalu simpan struknya.",
    internet: "Konfirmasi dengan token atau kata sandi Anda.",
  },
};

const TEXTS = { id: INDONESIAN, en: ENGLISH };

export function guidesOf(method: BankMethod, language: Language): Guide[] {
  const texts = TEXTS[language];
  return MENUS[method].map(({ channel, name, path }) => ({
    channel,
    name,
    steps: [
      name === null ? texts.insertCard : texts.open(name),
      path.length === 0
        ? texts.findMenu
        : texts.choose(path.map((menu) => `*${menu}*`).join(" › ")),
      enter(method, channel),
      // A menu for transfers asks for the amount; one for bills shows it.
      path.length === 0 ? texts.enterAmount : texts.check,
      texts.confirm[channel],
    ],
  }));

  function enter(method: BankMethod, channel: Channel): string {
    if (method !== "echannel") return texts.enterNumber;
    return channel === "atm" ? texts.enterBill : texts.findBiller;
  }
}
