/** What happens to a transaction outside the merchant's reach: customers pay, banks change their minds. */

import { finishThreeDs, isWaitingForThreeDs } from "../cards/authorization.ts";
import { Refusal } from "../http/refusal.ts";
import { EDGES, move } from "../transactions/transactions.ts";
import type { Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";
import { settle } from "./due.ts";
import { GOPAY_HOLD } from "./methods/gopay.ts";
import { confirmRefund } from "./refunds.ts";

export interface Particulars {
  /** What the customer pays on top, where the merchant has it so: the amount then includes it. */
  fee?: number | null;
  /** The wallet a QRIS code was scanned with. */
  issuer?: string | null;
  /** How 3-D Secure ends. */
  result?: "success" | "failure" | null;
  /** Part of the amount, where a part can be meant. */
  amount?: number | null;
}

interface Happening {
  /** Whether it can happen to a transaction in the state it is in. */
  can(transaction: Transaction): boolean;
  happen(world: World, transaction: Transaction, particulars: Particulars): Transaction;
}

/** Whose provider can say no; a bank account or a till is simply not paid to (G§10). */
const DENIABLE = ["credit_card", "gopay", "shopeepay", "qris", "ovo", "akulaku", "kredivo"];

export const HAPPENINGS = {
  pay: {
    can: (transaction) =>
      transaction.method === "credit_card"
        ? isWaitingForThreeDs(transaction)
        : isPending(transaction),
    happen: (world, transaction, particulars) =>
      transaction.method === "credit_card"
        ? finishThreeDs(world, transaction, true)
        : pay(world, transaction, particulars),
  },
  pay_again: {
    can: ({ method, status }) =>
      (method === "bank_transfer" || method === "permata") && status === "settlement",
    happen: payAgain,
  },
  deny: {
    can: (transaction) => isPending(transaction) && DENIABLE.includes(transaction.method),
    happen: (world, transaction) =>
      move(world, transaction, "deny", "deny", {
        message: "Transaction is denied by the customer or the provider",
      }),
  },
  expire: {
    can: isPending,
    happen: (world, transaction) => move(world, transaction, "expire", "expiry"),
  },
  fail: {
    // Only a card's bank fails to answer; any other pending one is just not paid (G§10).
    can: (transaction) => isPending(transaction) && transaction.method === "credit_card",
    happen: (world, transaction) => move(world, transaction, "failure", "fail"),
  },
  three_ds: {
    can: isWaitingForThreeDs,
    happen: (world, transaction, { result }) =>
      finishThreeDs(world, transaction, result !== "failure"),
  },
  settle: {
    can: ({ status }) => status === "capture",
    happen: settle,
  },
  chargeback: {
    can: ({ method, status }) => method === "credit_card" && EDGES[status].includes("chargeback"),
    happen: chargeback,
  },
  reverse: {
    can: ({ method, status, details }) =>
      status === "settlement" &&
      (method === "echannel" || details.bank === "permata" || details.store === "indomaret"),
    happen: (world, transaction) => move(world, transaction, "deny", "reverse"),
  },
  confirm_refund: {
    can: ({ refunds }) => refunds.some(({ confirmedAt }) => confirmedAt === null),
    happen: confirmRefund,
  },
} satisfies Record<string, Happening>;

export type HappeningName = keyof typeof HAPPENINGS;

export function letHappen(
  world: World,
  name: HappeningName,
  transaction: Transaction,
  particulars: Particulars = {},
): Transaction {
  const happening: Happening = HAPPENINGS[name];
  if (!happening.can(transaction)) {
    throw new Refusal(412, "The transaction is not in a state in which this can happen");
  }
  return happening.happen(world, transaction, particulars);
}

function isPending({ status }: Transaction): boolean {
  return status === "pending";
}

function pay(world: World, transaction: Transaction, { fee, issuer }: Particulars): Transaction {
  const isHeld = transaction.details.isPreAuth === true;
  return move(world, transaction, isHeld ? "authorize" : "settlement", "pay", {
    ...isHeld && { expiresAt: world.clock.now() + GOPAY_HOLD },
    ...fee && withFee(transaction, fee),
    ...issuer && { details: { ...transaction.details, issuer } },
  });
}

/** A number that was paid once can be, again and again, where the bank has it so (G§3.4). */
function payAgain(world: World, transaction: Transaction): Transaction {
  const now = world.clock.now();
  const child = world.transactions.put({
    ...transaction,
    id: world.random.uuid(),
    orderId: world.random.uuid(),
    createdAt: now,
    settledAt: now,
    parentId: transaction.parentId ?? transaction.id,
  });
  world.notifier.transaction(child, "pay");
  return child;
}

function chargeback(world: World, transaction: Transaction, { amount }: Particulars): Transaction {
  const isPart = typeof amount === "number" && amount < transaction.amount &&
    transaction.status === "settlement";
  return move(world, transaction, isPart ? "partial_chargeback" : "chargeback", "chargeback");
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
