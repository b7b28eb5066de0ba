/** What happens to a transaction outside the merchant's reach: customers pay, banks change their minds. */

import { finishThreeDs } from "../cards/three_ds.ts";
import { GOPAY_HOLD } from "../methods/gopay.ts";
import { Refusal } from "../http/refusal.ts";
import { confirmRefund, settle } from "../transactions/due.ts";
import { EDGES } from "../transactions/edges.ts";
import { move } from "../transactions/move.ts";
import type { Status, Transaction } from "../transactions/transaction.ts";
import type { World } from "../world/world.ts";

export interface Particulars {
  /** What the customer pays on top, where the merchant has it so: the amount then includes it. */
  fee?: number | null;
  /** The wallet a QRIS code was scanned with. */
  issuer?: string | null;
  /** Pays a number that was paid before: a transaction of its own. */
  again?: boolean | null;
  /** How 3-D Secure ends. */
  result?: "success" | "failure" | null;
  /** Part of the amount, where a part can be meant. */
  amount?: number | null;
}

/** Whose provider can say no; a bank account or a till is simply not paid to (G§10). */
const DENIABLE = ["credit_card", "gopay", "shopeepay", "qris", "ovo", "akulaku", "kredivo"];

type Happening = (world: World, transaction: Transaction, particulars: Particulars) => Transaction;

export const HAPPENINGS: Record<string, Happening> = {
  pay,
  deny: (world, transaction) => {
    if (!DENIABLE.includes(transaction.method)) throw refused();
    mustBe(transaction, "pending", "deny");
    return move(world, transaction, "deny", "deny", {
      message: "Transaction is denied by the customer or the provider",
    });
  },
  expire: (world, transaction) => {
    mustBe(transaction, "pending", "expire");
    return move(world, transaction, "expire", "expiry");
  },
  fail: (world, transaction) => {
    // Only a card's bank fails to answer; any other pending one is just not paid (G§10).
    if (transaction.method !== "credit_card") throw refused();
    mustBe(transaction, "pending", "failure");
    return move(world, transaction, "failure", "fail");
  },
  three_ds: (world, transaction, { result }) => {
    if (!transaction.details.threeDs || transaction.status !== "pending") throw refused();
    return finishThreeDs(world, transaction, result !== "failure");
  },
  settle: (world, transaction) => {
    if (transaction.status !== "capture") throw refused();
    return settle(world, transaction);
  },
  chargeback: (world, transaction, { amount }) => {
    const isPartial = typeof amount === "number" && amount < transaction.amount;
    if (transaction.method !== "credit_card") throw refused();
    const to = isPartial ? "partial_chargeback" : "chargeback";
    mustBe(transaction, null, to);
    return move(world, transaction, to, "chargeback");
  },
  reverse: (world, transaction) => {
    const { method, details } = transaction;
    const isReversible = method === "echannel" || details.bank === "permata" ||
      details.store === "indomaret";
    if (!isReversible || transaction.status !== "settlement") throw refused();
    return move(world, transaction, "deny", "reverse");
  },
  confirm_refund: (world, transaction) => {
    if (!transaction.refunds.some(({ confirmedAt }) => confirmedAt === null)) throw refused();
    return confirmRefund(world, transaction);
  },
};

function pay(world: World, transaction: Transaction, particulars: Particulars): Transaction {
  const { method, status } = transaction;
  if (particulars.again) return payAgain(world, transaction);
  if (method === "credit_card") return HAPPENINGS.three_ds!(world, transaction, particulars);
  mustBe(transaction, "pending", "settlement");
  if (status !== "pending") throw refused();
  const { fee, issuer } = particulars;
  const isHeld = transaction.details.isPreAuth === true;
  return move(world, transaction, isHeld ? "authorize" : "settlement", "pay", {
    ...isHeld && { expiresAt: world.clock.now() + GOPAY_HOLD },
    ...fee && withFee(transaction, fee),
    ...issuer && { details: { ...transaction.details, issuer } },
  });
}

/** A number that was paid once can be, again and again, where the bank has it so (G§3.4). */
function payAgain(world: World, transaction: Transaction): Transaction {
  if (transaction.method !== "bank_transfer" && transaction.method !== "permata") throw refused();
  if (transaction.status !== "settlement") throw refused();
  const { number: _number, ...parent } = transaction;
  const child = world.transactions.put({
    ...parent,
    id: world.random.uuid(),
    orderId: world.random.uuid(),
    status: "settlement",
    createdAt: world.clock.now(),
    settledAt: world.clock.now(),
    parentId: transaction.parentId ?? transaction.id,
  });
  world.notifier.transaction(child, "pay");
  return child;
}

/** The amount is then what the customer paid, fee included, and that is what is signed (G§9.1). */
function withFee({ amount, metadata }: Transaction, fee: number): Partial<Transaction> {
  const info = {
    original_amount: amount,
    gross_amount: amount + fee,
    customer_imposed_payment_fee: fee,
  };
  return {
    amount: amount + fee,
    metadata: { ...metadata, extra_info: { gross_amount_info: info } },
  };
}

function mustBe({ status }: Transaction, from: Status | null, to: Status): void {
  const isOpen = (from === null || status === from) && EDGES[status].includes(to);
  if (!isOpen) throw refused();
}

function refused(): Refusal {
  return new Refusal(412, "The transaction is not in a state in which this can happen");
}
