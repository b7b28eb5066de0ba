/** `GET /_sandbox/reports/settlement.csv`: what the gateway pays out for a day, with its fees. */

import { DAY, formatWib, parseTime } from "../engine/time.ts";
import { invalid } from "../http/refusal.ts";
import type { MethodName, Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";

const COLUMNS = [
  "date",
  "type",
  "order_id",
  "transaction_id",
  "payment_type",
  "gross_amount",
  "fee",
  "net_amount",
  "refund_key",
  "time",
];

/** Fees per method: a fixed amount in rupiah, and a share in hundredths of a percent. */
const FEES: Record<MethodName, { fixed: number; share: number }> = {
  credit_card: { fixed: 2_000, share: 290 },
  bank_transfer: { fixed: 4_000, share: 0 },
  permata: { fixed: 4_000, share: 0 },
  echannel: { fixed: 4_000, share: 0 },
  cstore: { fixed: 5_000, share: 0 },
  gopay: { fixed: 0, share: 200 },
  shopeepay: { fixed: 0, share: 200 },
  ovo: { fixed: 0, share: 200 },
  dana: { fixed: 0, share: 150 },
  qris: { fixed: 0, share: 70 },
  akulaku: { fixed: 0, share: 170 },
  kredivo: { fixed: 0, share: 230 },
};

interface Entry {
  type: "settlement" | "refund" | "chargeback";
  transaction: Transaction;
  /** Negative for refunds and chargebacks. */
  amount: number;
  fee: number;
  refundKey: string;
  at: number;
}

/** `date`: a day in Jakarta, as `yyyy-MM-dd`. */
export function settlementReport(world: World, date: string): string {
  const from = parseTime(`${date} 00:00:00 +0700`);
  if (from === null) throw invalid("date must be a day such as 2026-11-16");
  const entries = [...world.transactions.find(`day:${date}`)].flatMap(entriesOf)
    .filter(({ at }) => at >= from && at < from + DAY)
    .toSorted((a, b) => a.at - b.at);
  return [COLUMNS, ...entries.map((entry) => cells(date, entry))]
    .map((row) => row.map(quote).join(",") + "\r\n").join("");
}

/** The days of a transaction's report entries, as `yyyy-MM-dd`. */
export function reportDays(transaction: Transaction): string[] {
  return [...new Set(entriesOf(transaction).map(({ at }) => formatWib(at).slice(0, 10)))];
}

function entriesOf(transaction: Transaction): Entry[] {
  const { settledAt, amount, method, refunds, chargebacks = [] } = transaction;
  const common = { transaction, fee: 0, refundKey: "" };
  const { fixed, share } = FEES[method];
  return [
    ...settledAt === null ? [] : [{
      ...common,
      type: "settlement" as const,
      amount,
      fee: fixed + Math.round(amount * share / 10_000),
      at: settledAt,
    }],
    ...refunds.filter(({ isPending }) => !isPending).map(({ amount, key, createdAt }) => ({
      ...common,
      type: "refund" as const,
      amount: -amount,
      refundKey: key,
      at: createdAt,
    })),
    ...chargebacks.map(({ amount, at }) => ({
      ...common,
      type: "chargeback" as const,
      amount: -amount,
      at,
    })),
  ];
}

function cells(date: string, { type, transaction, amount, fee, refundKey, at }: Entry): string[] {
  const { orderId, id, method } = transaction;
  const sums = [amount, fee, amount - fee].map((sum) => `${sum}.00`);
  return [date, type, orderId, id, method, ...sums, refundKey, formatWib(at)];
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
