/** The customers, goods and habits of the demo's shop. The same at each run. */

/** Repeatable random numbers (mulberry32), so that each demo shows the same shop. */
export interface Dice {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number; both limits are included. */
  between(min: number, max: number): number;
  pick<T>(list: readonly T[]): T;
  /** True with this probability. */
  chance(probability: number): boolean;
}

export function createDice(seed: number): Dice {
  let state = seed;
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
  return {
    next,
    between: (min, max) => min + Math.floor(next() * (max - min + 1)),
    pick: (list) => list[Math.floor(next() * list.length)]!,
    chance: (probability) => next() < probability,
  };
}

const FIRST_NAMES = [
  ...["Budi", "Siti", "Agus", "Dewi", "Rina", "Andi", "Putri", "Joko", "Wulan", "Hendra", "Maya"],
  ...["Fajar", "Lestari", "Rizky", "Nur", "Yusuf", "Ayu", "Bayu", "Citra", "Dimas", "Eka", "Galih"],
];

const LAST_NAMES = [
  ...["Santoso", "Wijaya", "Pratama", "Utami", "Hidayat", "Saputra", "Lestari", "Nugroho"],
  ...["Kusuma", "Siregar", "Simanjuntak", "Halim", "Maulana", "Permata", "Gunawan", "Rahman"],
];

export interface Customer {
  first_name: string;
  last_name: string;
  email: string;
  phone: string;
}

/** Regular customers: most orders come from people who have ordered before. */
export function createCustomers(dice: Dice, count: number): Customer[] {
  return Array.from({ length: count }, (_, index) => {
    const first_name = dice.pick(FIRST_NAMES);
    const last_name = dice.pick(LAST_NAMES);
    const email = `${first_name}.${last_name}${index}@example.com`.toLowerCase();
    return { first_name, last_name, email, phone: `+62812${dice.between(10_000_000, 99_999_999)}` };
  });
}

export const COMPANIES = [
  ...["PT Kopi Nusantara", "CV Maju Jaya", "PT Sinar Harapan", "Kafe Senja", "Hotel Melati"],
  ...["PT Boga Rasa", "Kedai Pagi", "Toko Sumber Rejeki", "PT Citra Boga", "Warung Bu Tini"],
];

const GOODS = [
  { id: "kopi-gayo", name: "Kopi Gayo, 250 g", price: 85_000 },
  { id: "kopi-toraja", name: "Kopi Toraja, 250 g", price: 95_000 },
  { id: "kopi-kintamani", name: "Kopi Kintamani, 1 kg", price: 310_000 },
  { id: "teh-melati", name: "Teh melati, 100 g", price: 35_000 },
  { id: "saringan-v60", name: "Saringan V60", price: 129_000 },
  { id: "penggiling", name: "Penggiling kopi", price: 465_000 },
  { id: "cangkir", name: "Cangkir keramik", price: 60_000 },
];

export interface Goods {
  id: string;
  name: string;
  price: number;
  quantity: number;
}

/** One to three different goods. */
export function fillCart(dice: Dice): Goods[] {
  const chosen = new Map<string, Goods>();
  for (let n = dice.between(1, 3); n > 0; n--) {
    const goods = dice.pick(GOODS);
    chosen.set(goods.id, { ...goods, quantity: dice.between(1, 2) });
  }
  return [...chosen.values()];
}

export function totalOf(cart: Goods[]): number {
  return cart.reduce((sum, { price, quantity }) => sum + price * quantity, 0);
}

/** How the customers pay. `weight`: how often, compared with the others. */
export const METHODS = [
  { weight: 30, charge: { payment_type: "qris" } },
  { weight: 16, charge: { payment_type: "gopay" } },
  { weight: 9, charge: { payment_type: "shopeepay", callback_url: "https://shop.example/back" } },
  { weight: 14, charge: { payment_type: "bank_transfer", bank: "bca" } },
  { weight: 6, charge: { payment_type: "bank_transfer", bank: "bni" } },
  { weight: 5, charge: { payment_type: "bank_transfer", bank: "bri" } },
  { weight: 3, charge: { payment_type: "bank_transfer", bank: "permata" } },
  { weight: 5, charge: { payment_type: "echannel" } },
  { weight: 3, charge: { payment_type: "cstore", store: "indomaret" } },
  { weight: 3, charge: { payment_type: "cstore", store: "alfamart" } },
  { weight: 16, charge: { payment_type: "credit_card" } },
] as const;

export type DemoMethod = (typeof METHODS)[number]["charge"];

const ALL_WEIGHTS = METHODS.reduce((sum, { weight }) => sum + weight, 0);

export function pickMethod(dice: Dice): DemoMethod {
  let left = dice.next() * ALL_WEIGHTS;
  return METHODS.find(({ weight }) => (left -= weight) < 0)!.charge;
}

export const REFUND_REASONS = [
  ...["Barang rusak saat dikirim", "Stok habis", "Pelanggan membatalkan pesanan"],
  ...["Barang salah kirim", "Ongkir dikembalikan"],
];
