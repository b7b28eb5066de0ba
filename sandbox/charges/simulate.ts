/**
 * Simulated actions: what customers and banks do, and what the merchant does in the gateway's
 * dashboard.
 */

import { finishThreeDs, isWaitingForThreeDs } from "../cards/authorization.ts";
import { Refusal } from "../http/refusal.ts";
import { TRANSITIONS, transitionTo } from "../transactions/transactions.ts";
import { sumRefunds, type Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";
import { approve, capture, deny, isChallenged } from "./actions.ts";
import { settle } from "./due.ts";
import { GOPAY_HOLD } from "./methods/gopay.ts";
import { confirmRefund } from "./refunds.ts";

export interface ActionOptions {
  /** Fee that the customer pays in addition; it is added to the amount. */
  fee?: number | null;
  /** Wallet that scanned the QRIS code. */
  issuer?: string | null;
  /** Result of 3-D Secure. */
  result?: "success" | "failure" | null;
  /** Amount of a partial chargeback. */
  amount?: number | null;
}

interface SimulatedAction {
  /** Whether the state of the transaction allows the action. */
  isPossible(transaction: Transaction): boolean;
  run(world: World, transaction: Transaction, options: ActionOptions): Transaction;
}

/** Methods whose provider can deny a payment. With other methods, an unpaid payment expires. */
const DENIABLE = ["credit_card", "gopay", "shopeepay", "qris", "ovo", "akulaku", "kredivo"];

export const SIMULATED_ACTIONS = {
  pay: {
    isPossible: (transaction) =>
      transaction.method === "credit_card"
        ? isWaitingForThreeDs(transaction)
        : isPending(transaction),
    run: (world, transaction, options) =>
      transaction.method === "credit_card"
        ? finishThreeDs(world, transaction, true)
        : pay(world, transaction, options),
  },
  pay_again: {
    isPossible: ({ method, status }) =>
      (method === "bank_transfer" || method === "permata") && status === "settlement",
    run: payAgain,
  },
  deny: {
    isPossible: (transaction) =>
      isPending(transaction) ? DENIABLE.includes(transaction.method) : isChallenged(transaction),
    run(world, transaction) {
      if (isChallenged(transaction)) return runMerchantCall(world, transaction, deny);
      return transitionTo(world, transaction, "deny", "deny", {
        message: "Transaction is denied by the customer or the provider",
      });
    },
  },
  approve: {
    isPossible: isChallenged,
    run: (world, transaction) => runMerchantCall(world, transaction, approve),
  },
  capture: {
    isPossible: ({ status }) => status === "authorize",
    run: (world, transaction) =>
      runMerchantCall(
        world,
        transaction,
        () => capture(world, { transaction_id: transaction.id }, false),
      ),
  },
  expire: {
    isPossible: isPending,
    run: (world, transaction) => transitionTo(world, transaction, "expire", "expiry"),
  },
  fail: {
    // Only a card's bank can fail to respond; other pending transactions expire.
    isPossible: (transaction) => isPending(transaction) && transaction.method === "credit_card",
    run: (world, transaction) => transitionTo(world, transaction, "failure", "fail"),
  },
  three_ds: {
    isPossible: isWaitingForThreeDs,
    run: (world, transaction, { result }) =>
      finishThreeDs(world, transaction, result !== "failure"),
  },
  settle: {
    isPossible: ({ status }) => status === "capture",
    run: settle,
  },
  chargeback: {
    isPossible: ({ method, status }) =>
      method === "credit_card" && TRANSITIONS[status].includes("chargeback"),
    run: chargeback,
  },
  reverse: {
    isPossible: ({ method, status, details }) =>
      status === "settlement" &&
      (method === "echannel" || details.bank === "permata" || details.store === "indomaret"),
    run: (world, transaction) => transitionTo(world, transaction, "deny", "reverse"),
  },
  confirm_refund: {
    isPossible: ({ refunds }) => refunds.some(({ confirmedAt }) => confirmedAt === null),
    run: confirmRefund,
  },
} satisfies Record<string, SimulatedAction>;

export type SimulatedActionName = keyof typeof SIMULATED_ACTIONS;

export function simulate(
  world: World,
  name: SimulatedActionName,
  transaction: Transaction,
  options: ActionOptions = {},
): Transaction {
  const action: SimulatedAction = SIMULATED_ACTIONS[name];
  if (!action.isPossible(transaction)) {
    throw new Refusal(412, "This action is not possible in the current state of the transaction");
  }
  return action.run(world, transaction, options);
}

/** Runs a call of the merchant, as the gateway's dashboard does, and returns the new state. */
function runMerchantCall(
  world: World,
  { id }: Transaction,
  call: (world: World, id: string) => unknown,
): Transaction {
  call(world, id);
  return world.transactions.get(id)!;
}

function isPending({ status }: Transaction): boolean {
  return status === "pending";
}

function pay(world: World, transaction: Transaction, { fee, issuer }: ActionOptions): Transaction {
  const isPreAuth = transaction.details.isPreAuth === true;
  return transitionTo(world, transaction, isPreAuth ? "authorize" : "settlement", "pay", {
    ...isPreAuth && { expiresAt: world.clock.now() + GOPAY_HOLD },
    ...fee && withFee(transaction, fee),
    ...issuer && { details: { ...transaction.details, issuer } },
  });
}

/** Some virtual accounts can be paid more than once; each payment is a new transaction. */
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
  world.notifier.notifyTransaction(child, "pay");
  return child;
}

function chargeback(
  world: World,
  transaction: Transaction,
  { amount }: ActionOptions,
): Transaction {
  const isPartial = typeof amount === "number" && amount < transaction.amount &&
    transaction.status === "settlement";
  const { chargebacks = [] } = transaction;
  const before = chargebacks.reduce((sum, { amount }) => sum + amount, 0);
  const left = transaction.amount - sumRefunds(transaction) - before;
  return transitionTo(
    world,
    transaction,
    isPartial ? "partial_chargeback" : "chargeback",
    "chargeback",
    { chargebacks: [...chargebacks, { amount: isPartial ? amount : left, at: world.clock.now() }] },
  );
}

/** Adds the fee to the amount. Notifications are signed with the new amount. */
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
